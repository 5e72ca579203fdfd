/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host: one message store of hearsayd. A host has a profile, and one index for each epoch. An id
 * names one message of the host: no two epochs have a message of the same id. Answers are messages
 * that are in no index (answers.h). They can be read while the message that they answer can, so
 * whatever is done to that message is done to them. All functions are called on the loop thread.
 */
#pragma once

#include "core/filter/counting.h"
#include "core/index/worth.h"
#include "core/standing/standing.h"
#include "daemon/config/config.h"
#include "daemon/host/answers.h"
#include "daemon/host/here.h"
#include "daemon/host/here_map.h"
#include "daemon/host/moderation.h"
#include "daemon/host/rules.h"
#include "daemon/host/shares.h"
#include "daemon/system/log.h"

/* --- epoch ------------------------------------------------------------------------------------ */

/*
 * An epoch of a host in memory: its times, its key, the index and the summary of its
 * messages. Every host has epoch 0, which never ends.
 *
 * A query or a rebuild may use an index over many turns of the loop. Each counts as a user of the
 * epoch (epoch_use, epoch_leave). Requests cannot name an epoch that is over. An epoch that is over
 * is freed when its index has no messages and it has no users.
 */

struct epoch {
    uint64_t number;        /* 0: the open one */
    struct index *index;    /* messages are added by host_admit and removed by host_remove only */
    struct summary summary; /* of the messages in the index */
    uint32_t users;         /* number of queries and rebuilds that use the epoch */
    bool is_over;           /* requests cannot name it any more */
    uint32_t walks; /* number of index_walk_new that run; the index is not rebuilt meanwhile */
    /* the index has messages that were loaded at the start, and waits for its first rebuild */
    bool is_loaded;
    struct worth worth; /* arrange.c: of a rebuild of the index */
    /*
     * Unix time in milliseconds at which the epoch begins. Epoch 0 does not use starts_ms, ends_ms,
     * kept_ms and key.
     */
    int64_t starts_ms;
    int64_t ends_ms;
    int64_t kept_ms;
    uint8_t key[LIMIT_KEY_BYTES]; /* zero when the epoch is over */
};

/*
 * Makes an epoch without messages from `stored`; NULL: makes epoch 0. The caller owns *out_epoch.
 * The objects that `options` points to must outlive the epoch. Returns 0 or -ERR_NOMEM.
 */
int epoch_new(const struct persist_epoch *stored, const struct index_options *options,
              struct epoch **out_epoch);

/* The epoch is over: wipes its key. */
void epoch_end(struct epoch *epoch);

void epoch_free(struct epoch *epoch, const struct alloc *alloc); /* no users; NULL is fine */

void epoch_use(struct epoch *epoch);
void epoch_leave(struct epoch *epoch);

/* --- hide_rate -------------------------------------------------------------------------------- */

/*
 * Bounds how much reports may hide in an hour. A host has three of these tables. The first
 * one counts the reports that counted towards hide_after, for each sender and for each IPv6 /64 on
 * link. The second one counts the messages that reports have hidden. The third one counts those
 * that reports of the grave kinds have hidden: it bounds nothing, and only says when to warn. They
 * are in memory only, and gone after a restart.
 *
 * The memory is bounded: HIDE_RATE_KEPT entries are recorded. If all of them are less than an hour
 * old, hide_rate_allows returns false for everybody until the oldest one is an hour old.
 */

enum { HIDE_RATE_KEPT = 1000, HIDE_RATE_WINDOW_MS = 60 * 60 * 1000 };

struct hide {
    uint64_t by;
    int64_t at_ms;
};

struct hide_rate {
    /* owned: a ring of the latest HIDE_RATE_KEPT entries; NULL: none yet */
    struct hide *list;
    uint32_t count;
    uint32_t oldest;
    /* number of reports that hid no message because of the bound */
    uint64_t withheld;
    int64_t told_ms; /* time of the last warning in the log */
    bool was_told;
};

void hide_rate_deinit(struct hide_rate *rate, const struct alloc *alloc); /* a zeroed one is fine */

/*
 * Whether there may be one more entry of `by`: it has fewer than `per_hour` in the hour before
 * `now_ms` (monotonic clock), and all together have fewer than HIDE_RATE_KEPT. O(HIDE_RATE_KEPT)
 */
bool hide_rate_allows(const struct hide_rate *rate, uint64_t by, uint32_t per_hour, int64_t now_ms);

/*
 * Records an entry of `by`. Call only after hide_rate_allows returned true. Returns 0, or
 * -ERR_NOMEM with nothing recorded.
 */
int hide_rate_note(struct hide_rate *rate, const struct alloc *alloc, uint64_t by, int64_t now_ms);

/*
 * Counts a report that does not hide its message because hide_rate_allows has returned false.
 * Returns true at most once an hour: the caller then logs a warning.
 */
bool hide_rate_withhold(struct hide_rate *rate, int64_t now_ms);

/* --- host ------------------------------------------------------------------------------------- */

struct epoch_change;
struct feed_wait; /* daemon/watch/feed.h */
struct service;
struct host_groups;

/* Maximum number of epochs of a host, epoch 0 included. A query may have as many parts. */
enum { HOST_EPOCHS_MAX = LIMIT_PARTS };

struct host {
    const struct alloc *alloc; /* borrowed */
    struct config_host config;
    char profile_text[PROFILE_TEXT_MAX];
    uint32_t number; /* in the store */
    size_t filter_bytes;
    size_t filter_words;
    struct index_options index_options; /* of every epoch's index */
    struct read_pool *read_pool;        /* of the service; borrowed, or NULL */
    /* owned: epoch_count epochs; the first one is epoch 0 */
    struct epoch *epochs[HOST_EPOCHS_MAX];
    size_t epoch_count;
    struct here *here;         /* owned: the here labels, by service_set_here */
    struct here_map *here_map; /* owned: other here labels by address; NULL: none */
    struct rules rules;        /* the operator's bans, and the accept mode */
    enum accept told_accept;   /* accept_mode.c: what gateways know */
    int64_t told_accept_until_ms;
    struct moderation moderation; /* messages that are hidden, reported, pending or approved */
    struct answers answers;
    bool has_news;                /* an entry of `moderation` may have is_new */
    struct hide_rate hide_rate;   /* reports that have counted towards hide_after lately */
    struct hide_rate hidden_rate; /* messages that they have hidden lately, all by 0 */
    struct hide_rate grave_rate;  /* messages that grave reports have hidden lately, all by 0 */
    struct removed removed;       /* messages that the operator has removed */
    /* the current epoch: the newest one besides epoch 0; NULL: there is none */
    struct epoch *current;
    /* an epoch that waits for the store (epochs.c); NULL: none */
    struct epoch_change *change;
    struct usage usage;   /* of all epochs, with hidden messages and `waiting` */
    struct usage waiting; /* part of `usage`: messages that wait for the store */
    /*
     * The part of `usage` that is promised: messages that will be removed for new messages
     * (room.h).
     */
    struct usage leaving;
    struct shares shares; /* messages and bytes of each sender */
    struct {
        /* set when a deposit finds the host or the server full, cleared by room_tick */
        bool is_full;
        bool is_told; /* the log has a line about it */
        struct log_gate gate;
        int64_t next_ms;      /* when the next message expires, as room_next_ms found it */
        int64_t next_from_ms; /* from that moment on, room_next_ms looks again */
    } fullness;
    struct standing *standing;     /* owned: the watches; NULL before the first watch */
    struct {                       /* daemon/watch/feed.h */
        uint64_t turn;             /* raised when the host may have a change */
        uint64_t told;             /* the highest number that an answer to Changes has had */
        uint64_t whole;            /* `next` of the last answer to a bridge without `more` */
        uint64_t replicated;       /* the copies have all messages up to this number */
        uint64_t conflicts;        /* changes that Apply has left out */
        struct log_gate gate;      /* of the log line about a change that does not fit */
        struct feed_wait *readers; /* requests Changes that wait */
        struct feed_wait *copies;  /* answers to deposits that wait, by number */
        struct persist_op op;      /* lets the store number the changes; with `service` */
        struct service *service;
    } feed;
    uint32_t shifts;            /* how often host_shift has moved the times of messages */
    struct host_groups *groups; /* owned, by host_groups.c; NULL: no bridge has asked for them */
};

/*
 * Returns the number of here labels for a client with this address, and the labels in *out_labels.
 * If here_map has labels for the address, these are used. Otherwise a client that is known to be at
 * the access point (`is_here`, see requester_is_here) has the labels of `here`, and another client
 * has none. *out_labels points into `buffer`, which has LIMIT_LABELS elements, or into the host.
 * `buffer` may be NULL if the host has no here_map. The texts are borrowed from the host.
 */
size_t host_here(const struct host *host, const struct here_address *address, bool is_here,
                 struct hearsay_text *buffer, const struct hearsay_text **out_labels);

/*
 * Makes a host with epoch 0 and without messages. Returns 0 or -ERR_NOMEM. Borrows `alloc` and
 * `kernels`. The struct may not be moved afterwards.
 */
int host_init(struct host *host, const struct config_host *config, uint32_t number,
              const struct alloc *alloc, const struct bits_kernels *kernels, uint64_t hash_seed);
void host_deinit(struct host *host); /* a zeroed one is fine */

/* Bytes of a message that count against the caps: filter, media type and payload. */
uint32_t host_message_bytes(const struct persist_message *message);

/*
 * Whether `other` is another host of the hood of `host`. Both hosts have named this hood in the
 * configuration.
 */
bool host_is_neighbour(const struct host *host, const struct host *other);

/* Whether the store numbers the changes of the host, for copies. */
bool host_has_feed(const struct host *host);

/*
 * Whether messages that the host had in an earlier store may be missing: the host keeps changes,
 * and no bridge has said yet that the messages of the copies are back.
 */
bool host_is_restoring(const struct host *host);

/* Finds the epoch of this number. NULL: the host has no such epoch, or the epoch is over. */
struct epoch *host_epoch(const struct host *host, uint64_t number);

/*
 * Adds an epoch, and makes it the current one. From then on the host owns the epoch. The host must
 * have fewer than HOST_EPOCHS_MAX epochs.
 */
void host_add_epoch(struct host *host, struct epoch *epoch);

/* Frees each epoch that is over and has no users and no messages in its index. */
void host_drop_epochs(struct host *host);

/*
 * Adds a stored message to the index of its epoch, unless the index has a message of this id
 * already. An answer comes to the answers instead, also a hidden one. Returns 0; HOST_NO_EPOCH if
 * the host has no such epoch or the epoch is over; -ERR_NOMEM; or -ERR_DAMAGED if the filter does
 * not fit the profile. On failure nothing has changed.
 */
enum { HOST_NO_EPOCH = 1 };
int host_admit(struct host *host, const struct persist_message *message);

/*
 * Finds a message in the indexes of all epochs, which have no hidden messages; or an answer that is
 * not hidden, whose parent is found so, too. It expires when its parent does, at the latest.
 * Returns 0 or INDEX_NOT_FOUND. Each output may be NULL. out_filter has filter_words words; an
 * answer has the filter of its parent there. O(epochs)
 */
int host_find(const struct host *host, const uint8_t *id, struct epoch **out_epoch,
              struct index_item *out_item, uint64_t *out_filter);

/* Notes in a result how many bits a filter has in each section of the host's profile. */
void host_note_bits(const struct host *host, const uint64_t *filter, struct hearsay_result *out);

/*
 * Returns the id of the message that the message `id` answers, MESSAGE_ID_BYTES bytes, valid until
 * the answer is removed. NULL: there is no answer of this id.
 */
const uint8_t *host_parent(const struct host *host, const uint8_t *id);

/* As host_find, and finds an answer also if it, or its parent, is hidden. False: no such message.
 */
bool host_item(const struct host *host, const uint8_t *id, struct index_item *out_item);

/*
 * The scope by which watches of the host find a message (standing.h): its epoch, or for an answer a
 * number that stands for its parent. `parent` NULL: the message answers none.
 */
uint64_t host_scope(const struct host *host, uint64_t epoch, const uint8_t *parent);

/*
 * Whether the host has a message of this id, shown or hidden, that has not expired at `now_ms`.
 * With INT64_MIN expired messages count, too.
 */
bool host_has(const struct host *host, const uint8_t *id, int64_t now_ms);

/*
 * Removes a message from its index, or from the answers. Copies its item to *out_item, unless
 * out_item is NULL. Returns 0 or INDEX_NOT_FOUND.
 */
int host_remove(struct host *host, const uint8_t *id, struct index_item *out_item);

/* Hides a message: removes it from its index. An answer is kept, and is not shown any more. */
void host_hide(struct host *host, const uint8_t *id);

/*
 * Does in memory what PERSIST_SHIFT does in the store: the host's clock, which showed `before_ms`,
 * is set forward by `by_ms`. O(messages)
 */
void host_shift(struct host *host, int64_t before_ms, int64_t from_ms, int64_t by_ms);

/* Adds one message of `bytes` to a usage, or subtracts it. */
void usage_add(struct usage *usage, uint64_t bytes);
void usage_subtract(struct usage *usage, uint64_t bytes);

/* --- accept_mode ------------------------------------------------------------------------------ */

/*
 * The accept mode of a host: `open` (deposits are shown), `review` (deposits are held
 * until the operator has reviewed them) or `closed` (new messages are refused). The mode that the
 * operator has set overrides the schedule. The schedule overrides the key `accept` of the
 * configuration.
 */

/*
 * Returns the host's accept mode at `now_ms`. *out_source says what sets the mode: "operator",
 * "schedule" or "configuration" (static storage). *out_until_ms is the time in Unix milliseconds at
 * which the schedule's entry ends that sets the mode; or, if the configuration sets the mode, at
 * which the next entry with another mode begins; 0: the schedule does not change the mode.
 */
enum accept accept_mode_now(const struct host *host, int64_t now_ms, const char **out_source,
                            int64_t *out_until_ms);

/*
 * Whether the mode or its end differs from the last call for this host. A new host has told the
 * mode `open` without an end.
 */
bool accept_mode_changed(struct host *host, int64_t now_ms);
