/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service: all hosts of a daemon, and what they share: store, clock, cache, limits, counters. The
 * state that handlers and watches act on. It has no sockets and no loop; it reads time through a
 * function, so that tests can set the time. On the loop thread.
 *
 *   open.c      makes a service, opens hosts, takes a new configuration, ends the service
 *   messages    (service_messages.c) messages come, go, are hidden and shown
 *   clock       (service_clock.c) the host's clock
 *   upkeep.c    what the service does by itself: expiry, saving the clock, arranging indexes
 *   service.c   looks up hosts, remembers payloads, counts work
 */
#ifndef DAEMON_HOST_SERVICE_H
#define DAEMON_HOST_SERVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/config/config.h"
#include "daemon/host/arrange.h"
#include "daemon/host/cache.h"
#include "daemon/host/clock.h"
#include "daemon/host/host.h"
#include "daemon/host/reports.h"
#include "daemon/limits/metrics.h"
#include "daemon/limits/resume.h"
#include "daemon/limits/sender.h"
#include "daemon/store/persist.h"
#include "daemon/system/log.h"
#include "proto/arena.h"

struct figures;
struct requester;
struct query_job;   /* daemon/handler/query.h */
struct watch_state; /* daemon/watch/watch.h */

/* What the service and its handlers ask of the server above them. */
struct service_control {
    void *context;
    void (*add_figures)(void *context, struct figures *figures);
    /* Reads the configuration again: 0, or an error with out_reason (CONFIG_REASON_BYTES). */
    int (*reload)(void *context, char *out_reason);
    /* A host has a new epoch: pushes it to the clients. */
    void (*epoch_changed)(void *context, const struct host *host);
    /* A host that a reload added is open now. It is the last one. */
    void (*host_opened)(void *context);
};

struct service_options {
    const struct alloc *alloc;             /* borrowed */
    const struct config *config;           /* copied */
    struct persist *persist;               /* borrowed */
    uint64_t hash_seed;                    /* random */
    uint8_t sender_key[SENDERS_KEY_BYTES]; /* random: key of the hashes of addresses */
    void (*read_clocks)(void *context, int64_t *out_wall_ms, int64_t *out_monotonic_ms);
    bool (*clock_synchronised)(
        void *context); /* the system says that its clock is right; NULL: never */
    void *clock_context;
    uint64_t (*read_ns)(void *context); /* monotonic, for latencies; NULL: milliseconds are used */
    const struct service_control *control; /* borrowed; NULL: there is none */
    struct worker *worker; /* borrowed: runs long work on another thread. NULL: indexes are never
                              arranged. With a worker `alloc` must be thread-safe */
};

struct service {
    const struct alloc *alloc;
    struct config config; /* in force */
    struct persist *persist;
    struct persist_info store;
    struct cache *cache;
    struct clock_state clock;
    void (*read_clocks)(void *context, int64_t *out_wall_ms, int64_t *out_monotonic_ms);
    bool (*clock_synchronised)(void *context);
    void *clock_context;
    uint64_t (*read_ns)(void *context);
    const struct service_control *control;
    struct metrics metrics;
    const struct bits_kernels *kernels;
    struct host *hosts; /* host_count of LIMIT_HOSTS, in the order of the configuration */
    size_t host_count;  /* fewer than are configured while a host that a reload added is opened */
    uint64_t hash_seed; /* of the first host; each host has its own */
    struct {
        struct persist_op op; /* creates the next host in the store */
        char name[LIMIT_HOST_BYTES + 1];
        char profile[PROFILE_TEXT_MAX];
        bool under_way;
    } opening;
    struct usage usage;      /* of all hosts */
    struct usage leaving;    /* part of usage: promised to go for new messages, see room.h */
    struct reports *reports; /* made with the first report */
    struct senders *senders;
    struct sender_limits sender_limits; /* from the configuration */
    struct arena arena;                 /* for one request or response; reset after it */
    size_t writing_bytes;       /* memory of deposits and withdrawals that wait for the store */
    uint32_t working;           /* service_work_begin without its end */
    struct query_job *searches; /* long searches that take turns */
    struct query_job *waiting;  /* long searches that wait to begin */
    uint64_t turns;             /* number of the last turn: see requester_turn */
    struct arrange arrange;
    struct watch_state *watch; /* made by watch_init; NULL: not yet */
    struct resume resume;
    struct persist_op sweep;
    struct persist_removed swept[PERSIST_EXPIRE_MAX];
    bool sweeping;
    struct persist_op clock_op; /* saves the clock */
    int64_t clock_saved_ms;
    bool saving_clock;
    bool save_clock_again; /* when that save is over */
    struct {
        int64_t now_ms; /* for the log: the host's clock when service_tell_clock looked last */
        int64_t monotonic_ms; /* the monotonic clock at that time */
        bool waiting;         /* the log has a line that a jump of the system's clock waits */
    } told;
    struct log_gate storage_gate;
    bool checking; /* a Check request runs; one at a time */
    bool stopping;
};

/*
 * Makes the hosts and loads their messages from the store. CONFIG_REFUSED when a host's profile
 * differs from that of its stored messages (reason with file and line); negative when the store or
 * memory fails. The reason has CONFIG_REASON_BYTES. Blocks; for start-up.
 */
int service_new(const struct service_options *options, struct service **out_service,
                char *out_reason);

/* No work may be under way, and watch_deinit was called. NULL is fine. */
void service_free(struct service *service);

/* Starts the host's clock from what the store has saved; for service_new. */
void service_start_clock(struct service *service);

/* Logs, once each: the host's clock was set forward; a jump of the system's clock waits for
 * confirmation. */
void service_tell_clock(struct service *service);

/* The host's clock: never runs backwards. */
int64_t service_now_ms(struct service *service);
bool service_clock_trusted(struct service *service);

/* The monotonic clock, for rates. */
int64_t service_monotonic_ms(struct service *service);
/* The same in ns, if the options have read_ns, for latencies. */
uint64_t service_monotonic_ns(struct service *service);

/*
 * Some work begins, and ends in a callback: of the store, or of the worker. The daemon stops only
 * when no work is under way.
 */
void service_work_begin(struct service *service);
void service_work_end(struct service *service);

/* Counts a turn of the client's sender: requester_turn is the greatest of all afterwards. */
void service_take_turn(struct service *service, struct requester *client);

/* Submits an operation to the store as work that begins now. Its callback calls service_work_end.
 */
void service_submit(struct service *service, struct persist_op *op);

/* Counts a request that came at began_ns and was answered with success. */
void service_note(struct service *service, enum metric metric, uint64_t began_ns);

/* The host of this name, or the first host if name is NULL. NULL: there is no such host. */
struct host *service_host(struct service *service, const char *name);
struct host *service_host_numbered(struct service *service, uint32_t number);

/*
 * Sets a host's here labels: those of its configuration, and those of a text (here_new; NULL: no
 * text). 0 with *out_changed; HERE_REFUSED with a reason (HERE_REASON_BYTES); -ERR_NOMEM. On
 * failure the labels stay as they were.
 */
int service_set_here(struct service *service, struct host *host, const struct msg_text *text,
                     bool *out_changed, char *out_reason);

/*
 * Takes a stored message, whose id is new: counts it, and puts it into its index unless its state
 * hides it. Returns what host_admit returns. On failure nothing has changed.
 */
int service_keep(struct service *service, struct host *host, const struct persist_message *message);

/* One message of `bytes` comes to a host, or goes: changes the usage of the host and of the
 * service.
 */
void service_count(struct service *service, struct host *host, uint32_t bytes);
void service_uncount(struct service *service, struct host *host, uint32_t bytes);

/* A message has left the store: removes it from index, counters and cache. */
void service_forget(struct service *service, struct host *host, const uint8_t *id);

/* The same for all messages that an operation has removed. */
void service_forget_removed(struct service *service, const struct persist_op *op);

/* A stored message has a new state: shows or hides it. -ERR_NOMEM, HOST_NO_EPOCH: it stays hidden.
 */
int service_show(struct host *host, const struct persist_message *message);
void service_hide(struct service *service, struct host *host, const uint8_t *id);

/* Puts a stored message's payload into the cache, unless the message has gone since it was read, or
 * another one has its id. */
void service_remember(struct service *service, const struct persist_message *message);

/* Gets media type and payload from the cache. Borrowed until the next service_remember. False: the
 * cache has not got the message. */
bool service_recall(struct service *service, uint32_t host, const uint8_t *id,
                    struct persist_message *out_message);

/*
 * Takes a configuration that config_check_reload has passed. Opens the hosts that it adds, one
 * after the other, when the store has created them; the log has a line for each. A host that the
 * store already has is not opened: messages are loaded only at the start.
 */
void service_reload(struct service *service, const struct config *config);

/*
 * Call every few seconds. Removes expired messages, PERSIST_EXPIRE_MAX at a time, until none is
 * left; saves the clock every ten minutes; logs jumps of the clock.
 */
void service_sweep(struct service *service);

/*
 * Arranging: rebuilds the indexes of loaded and of new messages on the worker, for faster queries.
 * Call service_arrange about once a second, and service_turn in each turn of the loop from the
 * first one on. Both return whether the next turn has more to do.
 */
bool service_arrange(struct service *service);
bool service_turn(struct service *service);

/* From now on the service begins no work by itself. Cancels arranging. Work that is under way
 * counts until it is over. */
void service_stop(struct service *service);

/* Saves the clock in the store now, so that it does not run backwards over a restart. */
void service_save_clock(struct service *service);

/* Logs that the store failed: `what` failed, and the store's reason. Rate limited. */
void service_storage_failed(struct service *service, const char *what, const char *reason);

#endif
