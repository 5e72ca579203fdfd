/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host: one message store of hearsayd. A host has a profile, and one index for each epoch. An id
 * names one message of the host: no two epochs have a message of the same id. All functions are
 * called on the loop thread.
 */
#ifndef DAEMON_HOST_HOST_H
#define DAEMON_HOST_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "core/index/index.h"
#include "core/standing/standing.h"
#include "daemon/config/config.h"
#include "daemon/host/epoch.h"
#include "daemon/host/here.h"
#include "daemon/host/here_map.h"
#include "daemon/host/hide_rate.h"
#include "daemon/host/moderation.h"
#include "daemon/host/removed.h"
#include "daemon/host/rules.h"
#include "daemon/host/shares.h"
#include "daemon/store/persist.h"
#include "daemon/system/log.h"

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
    bool has_news;                /* an entry of `moderation` may have is_new */
    struct hide_rate hide_rate;   /* reports that have counted towards hide_after lately */
    struct hide_rate hidden_rate; /* messages that they have hidden lately, all by 0 */
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
 * already. Returns 0; HOST_NO_EPOCH if the host has no such epoch or the epoch is over; -ERR_NOMEM;
 * or -ERR_DAMAGED if the filter does not fit the profile. On failure nothing has changed.
 */
enum { HOST_NO_EPOCH = 1 };
int host_admit(struct host *host, const struct persist_message *message);

/*
 * Finds a message in the indexes of all epochs, which have no hidden messages. Returns 0 or
 * INDEX_NOT_FOUND. Each output may be NULL. out_filter has filter_words words. O(epochs)
 */
int host_find(const struct host *host, const uint8_t *id, struct epoch **out_epoch,
              struct index_item *out_item, uint64_t *out_filter);

/*
 * Whether the host has a message of this id, shown or hidden, that has not expired at `now_ms`.
 * With INT64_MIN expired messages count, too.
 */
bool host_has(const struct host *host, const uint8_t *id, int64_t now_ms);

/*
 * Removes a message from its index. Copies its item to *out_item, unless out_item is NULL. Returns
 * 0 or INDEX_NOT_FOUND.
 */
int host_remove(struct host *host, const uint8_t *id, struct index_item *out_item);

/*
 * Does in memory what PERSIST_SHIFT does in the store: the host's clock, which showed `before_ms`,
 * is set forward by `by_ms`. O(messages)
 */
void host_shift(struct host *host, int64_t before_ms, int64_t from_ms, int64_t by_ms);

/* Adds one message of `bytes` to a usage, or subtracts it. */
void usage_add(struct usage *usage, uint64_t bytes);
void usage_subtract(struct usage *usage, uint64_t bytes);

#endif
