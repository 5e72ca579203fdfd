/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service: all hosts of a hearsayd, and what the hosts share: store, clock, cache, limits,
 * counters. Handlers and watches act on this state. The service has no sockets and no loop. It
 * reads the time through a function, so that tests can set the time. All functions are called on
 * the loop thread.
 *
 *   open.c              makes a service, opens hosts, changes the configuration, frees the service
 *   service_messages.c  adds, removes, hides and shows messages
 *   service_clock.c     the host's clock
 *   set_clock.c         saves the host's clock and sets it forward
 *   upkeep.c            regular work: expiry, saving the clock, arranging indexes
 *   service.c           looks up hosts, remembers payloads, counts work
 */
#pragma once

#include "daemon/host/arrange.h"
#include "daemon/host/cache.h"
#include "daemon/host/clock.h"
#include "daemon/limits/metrics.h"
#include "daemon/limits/resume.h"
#include "daemon/limits/sender.h"
#include "daemon/system/block_pool.h"
#include "daemon/system/keyed_hash.h"
#include "proto/arena.h"

/* --- reports ---------------------------------------------------------------------------------- */

/*
 * Which sender has reported which message, so that each sender counts once for a message.
 * Kept in memory only, as keyed hashes of host, message and sender: no address can be read from the
 * hashes.
 *
 * The memory is bounded. There are two generations of hashes. If REPORTS_KEPT hashes were put into
 * the newer generation, the next report clears the older one, which becomes the newer one. A sender
 * whose hash was cleared may report the same message again. So may every sender after a restart.
 */

enum { REPORTS_KEPT = 8192, REPORTS_SLOTS = 2 * REPORTS_KEPT };

struct reports {
    uint8_t key[KEYED_HASH_KEY_BYTES];
    uint32_t used;                    /* hashes that were put into the newer generation */
    unsigned newer;                   /* index of the newer generation */
    uint64_t slots[2][REPORTS_SLOTS]; /* open addressing; 0: free */
};

/* Empty, with a random key. */
void reports_init(struct reports *reports);

/*
 * Records that a sender has reported a message. Returns false if this report is recorded already.
 * O(1)
 */
bool reports_note(struct reports *reports, uint32_t host, const uint8_t *id, uint32_t sender);

/* Removes the record of a report, because the report was not stored. */
void reports_forget(struct reports *reports, uint32_t host, const uint8_t *id, uint32_t sender);

/* --- service ---------------------------------------------------------------------------------- */

struct figures;
struct query_job;   /* daemon/handler/query.h */
struct watch_state; /* daemon/watch/watch.h */
struct ask_bridge;  /* daemon/watch/asks.h */
struct ask_wait;    /* daemon/watch/asks.h */

/* Functions of the server that the service and the handlers call. */
struct service_control {
    void *context;
    void (*add_figures)(void *context, struct figures *figures);
    /*
     * Reads the configuration again. Returns 0, or an error with a reason in out_reason
     * (CONFIG_REASON_BYTES).
     */
    int (*reload)(void *context, char *out_reason);
    /* Reports that a host has a new epoch: the server pushes the epoch to the clients. */
    void (*epoch_changed)(void *context, const struct host *host);
    /*
     * Reports that a host which a reload has added is open. This host is the last one of
     * service->hosts.
     */
    void (*host_opened)(void *context);
    /*
     * Reports that an operator has changed what gateways are told of a host: which deposits it
     * accepts, or its notices.
     */
    void (*host_changed)(void *context);
    /*
     * Reports that the host's clock was set forward by more than a minute. The server ends all
     * connections: clients that connect again get the new time and the new times of messages.
     */
    void (*clock_set)(void *context);
};

struct service_options {
    const struct alloc *alloc;                   /* borrowed */
    const struct config *config;                 /* copied */
    struct persist *persist;                     /* borrowed */
    uint64_t hash_seed;                          /* random */
    uint8_t sender_key[KEYED_HASH_KEY_BYTES];    /* random: key of the hashes of addresses */
    int64_t (*read_wall_ms)(void *context);      /* Unix time */
    int64_t (*read_monotonic_ms)(void *context); /* also counts while the machine is suspended */
    /* whether the system reports that its clock is synchronised; NULL: never */
    bool (*clock_synchronised)(void *context);
    void *clock_context;
    /* monotonic clock for latencies; NULL: milliseconds are used */
    uint64_t (*read_ns)(void *context);
    const struct service_control *control; /* borrowed; NULL: there is none */
    /*
     * borrowed: the worker, which rebuilds indexes on another thread (arrange.h). NULL: no index is
     * ever rebuilt. If there is a worker, `alloc` must be thread-safe
     */
    struct worker *worker;
    /*
     * borrowed: threads on which searches of queries go on beside the loop. NULL: all searches run
     * on the loop. If there are threads, `alloc` must be thread-safe
     */
    struct read_pool *read_pool;
};

/*
 * The comment above each group of fields names the file or the folder that changes most of them.
 */
struct service {
    /* open.c */
    const struct alloc *alloc;
    struct block_pool cursors; /* of `alloc`: the memory of searches */
    struct config config;      /* in force */
    struct persist *persist;
    struct persist_info store;
    int64_t (*read_wall_ms)(void *context);
    int64_t (*read_monotonic_ms)(void *context);
    bool (*clock_synchronised)(void *context);
    void *clock_context;
    uint64_t (*read_ns)(void *context);
    const struct service_control *control;
    struct read_pool *read_pool; /* or NULL; paused before an index changes */
    const struct bits_kernels *kernels;
    /* LIMIT_HOSTS elements, host_count in use, in the order of the configuration */
    struct host *hosts;
    /* number of open hosts; hosts that a reload has added are opened one after the other */
    size_t host_count;
    uint64_t hash_seed; /* of the first host; each host has its own */
    struct {
        struct persist_op op; /* creates the next host in the store */
        char name[LIMIT_HOST_BYTES + 1];
        char profile[PROFILE_TEXT_MAX];
        bool under_way;
    } opening;
    struct sender_limits sender_limits; /* from the configuration */

    /* service.c */
    struct cache *cache; /* service_messages.c drops entries */
    struct metrics metrics;
    /* number of jobs under way (service_work_begin), including arrange's job on the worker */
    uint32_t working;
    uint64_t turns; /* number of the last turn: see requester_turn */
    struct log_gate storage_gate;
    struct log_gate short_gate; /* its own, as refused deposits would hide what else fails */

    /* service_messages.c */
    struct usage usage; /* of all hosts */

    /*
     * room.c: the part of `usage` that is promised, because messages will be removed for new ones
     */
    struct usage leaving;

    /* set_clock.c */
    struct persist_op shift_op; /* sets the clock */
    bool is_setting_clock;      /* shift_op is under way */
    int64_t shift_seq;          /* no message that moves with the clock has a lower number */
    int64_t shift_saved_ms;     /* clock.shift_from_ms as the store has it: see persist_info */
    int64_t shift_compared_ms;  /* the host's clock at the last look at shift_saved_ms; -1: none */
    int64_t shift_retry_ms;     /* monotonic: no attempt to set the clock earlier */
    struct persist_op clock_op; /* saves the clock */
    int64_t clock_saved_ms;
    bool saving_clock;
    bool save_clock_again; /* another save begins when the current save is over */

    /* service_clock.c */
    struct clock_state clock;
    struct {
        /* the host's clock at the last call of service_tell_clock, which logs jumps of the clock */
        int64_t now_ms;
        int64_t monotonic_ms; /* the monotonic clock at that time */
        /* the log has a line about a jump that waits for confirmation */
        bool waiting;
        bool behind; /* the log says that the system's clock is behind, and it still is */
    } told;

    /* upkeep.c */
    struct persist_op sweep;
    struct persist_removed swept[PERSIST_EXPIRE_MAX];
    bool sweeping;
    int64_t next_expiry_ms; /* when the next message expires, as of the last sweep; 0: unknown */
    struct arrange arrange;
    bool stopping;

    /* daemon/handler/ */
    struct reports *reports;      /* report.c: made with the first report */
    struct query_job *searches;   /* query_search.c: long searches that take turns */
    struct query_job *waiting;    /* query_search.c: long searches that wait to begin */
    uint64_t search_steps;        /* query_search.c: of all searches that take turns */
    bool has_searched;            /* query_search.c: a search has begun in this turn */
    uint32_t searching_elsewhere; /* query_search.c: searches in read_pool */
    size_t writing_bytes;         /* job.c: memory of deposits and withdrawals that wait */
    struct similar_job *similar;  /* similar.c: the request Similar that is under way; or NULL */
    bool checking;                /* check.c: a Check request runs; one at a time */

    /* daemon/watch/ */
    struct watch_state *watch; /* made by watch_init; NULL: not yet */
    struct {                   /* asks.c */
        struct ask_bridge *bridges;
        struct ask_wait *first; /* count of them */
        uint32_t count;
        uint64_t last_id;
        bool has_news; /* asks_over or asks_send has something to do */
    } asks;

    struct {              /* feed.c */
        uint32_t readers; /* requests Changes that wait, of all hosts */
        uint32_t copies;  /* answers to deposits that wait, of all hosts */
        bool has_news;    /* feed_turn has something to do */
    } feed;

    /* shared */
    struct arena arena; /* for one request or response; reset after it */
    struct senders *senders;
    struct resume resume;
};

/*
 * Makes a service, its hosts, and their indexes from the store. Returns 0; CONFIG_REFUSED if the
 * configuration cannot be used with this store, for example if a host's profile differs from the
 * profile of its stored messages; or a negative error if the store or memory fails. On failure
 * out_reason (CONFIG_REASON_BYTES) has the reason. Blocks; call only at the start.
 */
int service_new(const struct service_options *options, struct service **out_service,
                char *out_reason);

/* Frees a service. No work may be under way, and watch_deinit was called before. NULL is fine. */
void service_free(struct service *service);

/* Starts the host's clock from the time that the store has saved, and takes the system's clock over
 * where that needs no confirmation, before there are clients. Called by service_new only. */
void service_start_clock(struct service *service);

/*
 * Logs each of these events once: the host's clock was set forward by more than a minute, which
 * service_control.clock_set also reports; a jump of the system's clock waits for confirmation, or
 * does not wait any more.
 */
void service_tell_clock(struct service *service);

/*
 * Begins to set the host's clock forward if a step is due (clock_due_ms): the store moves the times
 * of messages, then memory does. Until the store has done so, sessions take no requests
 * (handler_is_congested). Called by service_sweep.
 */
void service_set_clock(struct service *service);

/*
 * Called before a deposit, a removal, or a notice with an end, is submitted: there is something now
 * that moves with the host's clock.
 * If the store does not have yet from which time on messages move after the next start, also saves
 * that; looks for that at most once in a millisecond. `now_ms`: what service_now_ms has returned.
 */
void service_hold_clock(struct service *service, int64_t now_ms);

/*
 * The time of the host's clock in Unix milliseconds. The clock never runs backwards while hearsayd
 * runs.
 */
int64_t service_now_ms(struct service *service);
bool service_clock_trusted(struct service *service);

/* The monotonic clock, for rates. */
int64_t service_monotonic_ms(struct service *service);
/*
 * The monotonic clock in nanoseconds, for latencies. Without `read_ns` in the options the precision
 * is a millisecond.
 */
uint64_t service_monotonic_ns(struct service *service);

/*
 * service_work_begin counts work that ends in a later turn of the loop. service_work_end counts the
 * work off. hearsayd closes the store only when no work is under way.
 */
void service_work_begin(struct service *service);
void service_work_end(struct service *service);

/*
 * Gives a sender the next turn number, which is larger than all earlier numbers. `turn` is of
 * requester_turn.
 */
void service_take_turn(struct service *service, uint64_t *turn);

/*
 * Counts work that begins, and submits an operation to the store. The callback of the operation
 * must call service_work_end.
 */
void service_submit(struct service *service, struct persist_op *op);

/*
 * Counts a request that was answered with success, and the time since `began_ns`
 * (service_monotonic_ns).
 */
void service_note(struct service *service, enum metric metric, uint64_t began_ns);

/* Counts a query that was answered with success, and the comparisons of filters that it took. */
void service_note_query(struct service *service, uint64_t comparisons, uint64_t began_ns);

/*
 * Finds the host of this name. `name` NULL: the first host. Returns NULL if there is no such host.
 */
struct host *service_host(struct service *service, const char *name);
struct host *service_host_numbered(struct service *service, uint32_t number);

/* Returns how many bytes of a frame the here labels of one place may take. */
size_t service_here_frame_bytes(const struct config *config);

/*
 * Sets a host's here labels: the labels of its configuration, or the label that names the store if
 * the configuration says nothing about the place, and the labels in `text`, which may be empty
 * (here_new). Returns 0, and *out_changed tells whether the labels differ from before;
 * HERE_REFUSED with a reason (HERE_REASON_BYTES); or -ERR_NOMEM. On failure the labels stay as they
 * were.
 */
int service_set_here(struct service *service, struct host *host, const struct hearsay_text *text,
                     bool *out_changed, char *out_reason);

/*
 * Adds a stored message of a new id to moderation if needed, to the counters, and to its index
 * unless the message is hidden. Returns what host_admit returns. On failure nothing has changed.
 */
int service_keep(struct service *service, struct host *host, const struct persist_message *message);

/*
 * service_count adds one message of `bytes` to the usage of a host and of the service.
 * service_uncount subtracts the message.
 */
void service_count(struct service *service, struct host *host, uint32_t bytes);
void service_uncount(struct service *service, struct host *host, uint32_t bytes);

/*
 * Takes a message that the store has deleted, and the answers to it, out of memory: index,
 * counters, moderation, shares and cache.
 */
void service_forget(struct service *service, struct host *host, const uint8_t *id);

/*
 * Calls service_forget for each message of an open host that an operation has removed from the
 * store.
 */
void service_forget_removed(struct service *service, const struct persist_op *op);

/*
 * Hides a message in memory after the store has withheld it: sets state, reports and destroy_ms of
 * its entry in `moderation` to those of `message`. Without memory for an entry, the message leaves
 * memory until the next start.
 */
void service_withhold(struct service *service, struct host *host,
                      const struct persist_message *message);

/*
 * service_show adds a hidden message to its index after the store has made the message visible.
 * Returns what host_admit returns; after an error the message is in no index. service_hide removes
 * a message from its index and from the cache.
 */
int service_show(struct host *host, const struct persist_message *message);
void service_hide(struct service *service, struct host *host, const uint8_t *id);

/*
 * Put the payload of a stored message into the cache. service_remember_kept is for a message that
 * service_keep has just kept. service_remember is for a message that was stored earlier: it does
 * nothing if no index of the host has a message of this id and deposit time.
 */
void service_remember_kept(struct service *service, const struct persist_message *message);
void service_remember(struct service *service, const struct persist_message *message);

/*
 * Gets the media type and the payload of a message from the cache. Both point into the cache. They
 * are valid until the next call of service_remember, service_forget, service_forget_removed,
 * service_hide or service_reload. Returns false if the cache has no entry of the message.
 */
bool service_recall(struct service *service, uint32_t host, const uint8_t *id,
                    struct persist_message *out_message);

/*
 * Changes the configuration to one that config_check_reload has accepted. Begins to open the added
 * hosts one after the other, each after the store has made it, and logs a line for each. If a host
 * cannot be opened, the hosts behind it are not opened either. A host that the store has from an
 * earlier configuration cannot be opened, since messages are loaded only at the start.
 */
void service_reload(struct service *service, const struct config *config);

/* Takes a PERSIST_EXPIRE that is done over into memory: forgets and counts what has gone. */
void service_take_expiry(struct service *service, const struct persist_op *op);

/*
 * Begins to remove expired messages, at most PERSIST_EXPIRE_MAX in one operation, until no expired
 * message is left. Sets the clock (service_set_clock) and saves it every ten minutes. Logs jumps of
 * the clock, and full hosts that have room again (room_tick). Call every few seconds.
 */
void service_sweep(struct service *service);

/*
 * Rebuilds the indexes of loaded and of new messages on the worker, for faster queries (arrange.h).
 * Call service_arrange about once a second, and service_turn in each turn of the loop from the
 * first turn on. Both return whether the next turn has more to do.
 */
bool service_arrange(struct service *service);
bool service_turn(struct service *service);

/*
 * Stops the regular work of the service, and cancels arranging. Work that is under way counts until
 * it has ended.
 */
void service_stop(struct service *service);

/*
 * Begins to save the host's clock in the store, so that the next start does not begin with an older
 * time.
 */
void service_save_clock(struct service *service);

/*
 * Logs that the store failed, at most one line in ten seconds. `what` names the work that failed.
 * `reason` is the store's reason; NULL: "failed".
 */
void service_storage_failed(struct service *service, const char *what, const char *reason);

/* The same of a deposit that was refused because free storage is short. */
void service_storage_short(struct service *service, const char *reason);

/* --- epochs ----------------------------------------------------------------------------------- */

/*
 * Begins and ends the epochs of the hosts. An epoch becomes the current one only after the
 * store has stored it, so that messages of this epoch are found after a restart. When the time
 * kept_ms of an epoch has come, requests cannot name the epoch any more. epochs_tick then wipes its
 * key from memory. A later sweep deletes the epoch and its key from the store. The messages of the
 * epoch expire at kept_ms at the latest, and sweeps delete them, too.
 *
 * All times are measured by the host's clock. While hearsayd runs, this clock never runs backwards,
 * so an epoch that is over does not come back.
 */

/*
 * Loads the stored epochs that are not over. Begins an epoch for each host that is configured to
 * have epochs and has no current epoch, or one whose time has ended, unless the host has
 * HOST_EPOCHS_MAX epochs. Returns 0, or a negative error with a reason. Blocks. Call once at the
 * start, before the messages are loaded.
 */
int epochs_load(struct service *service, char *out_reason);

/* Ends epochs whose time is over, and begins new ones. Call about once a second. */
void epochs_tick(struct service *service);

/*
 * Frees host->change, a change of the host's epochs that the store has not stored yet, if there is
 * one. The store must not be working on the operation of this change.
 */
void epochs_deinit(struct host *host);

/* --- host_groups ------------------------------------------------------------------------------ */

/*
 * The groups of a host's messages in epoch 0 (core/summary/groups.h), which a bridge
 * tells the other servers of the hood. A host has groups from the first time that a bridge asks for
 * them. They are made in slices from the index, and made again when half of their messages are not
 * there any more. Call all functions on the loop thread.
 */

struct groups;

enum { HOST_GROUPS_LATER = 1 };

/*
 * From now on the host has groups, as many as its configuration says. Returns 0 if host->groups
 * has every message, HOST_GROUPS_LATER if the groups are being made, -ERR_NOMEM.
 */
int host_groups_want(struct host *host);

/* Returns the groups, which have every message. NULL: there are none yet. */
const struct groups *host_groups_now(const struct host *host);

/* A message of epoch 0 has come, or has gone. */
void host_groups_add(struct host *host, const uint64_t *filter, int64_t deposited_ms);
void host_groups_remove(struct host *host);

/* Adds `by_ms` to the times of messages, as index_shift does. */
void host_groups_shift(struct host *host, int64_t from_ms, int64_t by_ms);

/* Makes groups for a while. Call in each turn. Returns whether the next turn has more to do. */
bool host_groups_turn(struct service *service);

void host_groups_deinit(struct host *host);
