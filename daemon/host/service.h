/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service: the hosts that a daemon serves, their messages and what they share: clock, store, cache,
 * limits. No socket and no loop in here; time comes through a function, so that tests can set it.
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
struct query_job;   /* daemon/handler/query.h */
struct watch_state; /* daemon/watch/watch.h */

/* What an administrator may ask of those above the service: the server. */
struct service_control {
    void *context;
    void (*add_figures)(void *context, struct figures *figures);
    /* Reads the configuration again: 0, or why not in out_reason (CONFIG_REASON_BYTES). */
    int (*reload)(void *context, char *out_reason);
    /* A host has a new epoch: clients are to be told. */
    void (*epoch_changed)(void *context, const struct host *host);
    /* A host was opened that a reload had added: it is the last one. */
    void (*host_opened)(void *context);
};

struct service_options {
    const struct alloc *alloc;             /* borrowed */
    const struct config *config;           /* copied */
    struct persist *persist;               /* borrowed */
    uint64_t hash_seed;                    /* random */
    uint8_t sender_key[SENDERS_KEY_BYTES]; /* random: the salt of addresses */
    void (*read_clocks)(void *context, int64_t *out_wall_ms, int64_t *out_monotonic_ms);
    bool (*clock_synchronised)(void *context); /* by the system; NULL: it never says so */
    void *clock_context;
    uint64_t (*read_ns)(void *context);    /* monotonic, for latencies; NULL: in whole ms */
    const struct service_control *control; /* borrowed; NULL: there is none */
    struct worker *worker; /* borrowed, for long work; NULL: messages are never arranged. With one,
                              `alloc` must be fit for several threads */
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
    size_t host_count;  /* fewer than are configured while one that a reload added is opened */
    uint64_t hash_seed; /* of the first; each has another one */
    struct {
        struct persist_op op; /* makes the next host in the store */
        char name[LIMIT_HOST_BYTES + 1];
        char profile[PROFILE_TEXT_MAX];
        bool under_way;
    } opening;
    struct usage usage;      /* of all hosts together */
    struct usage leaving;    /* of these, promised to make room */
    struct reports *reports; /* made with the first report */
    struct senders *senders;
    struct sender_limits sender_limits; /* from the configuration */
    struct arena arena;                 /* for one request's or response's passage */
    size_t writing_bytes;               /* held by operations that wait for the store */
    uint32_t working;                   /* operations and reads under way */
    struct query_job *searches;         /* of several steps, under way in turn */
    struct query_job *waiting;          /* ... that begin when fewer are under way */
    uint64_t turns;                     /* the number of the last one: see requester_turn */
    struct arrange arrange;
    struct watch_state *watch; /* made by watch_init; NULL: not yet */
    struct resume resume;
    struct persist_op sweep;
    struct persist_removed swept[PERSIST_EXPIRE_MAX];
    bool sweeping;
    struct persist_op clock_op; /* saves the clock */
    int64_t clock_saved_ms;
    bool saving_clock;
    bool save_clock_again; /* when that is over */
    struct {
        int64_t now_ms;       /* the host's clock when it was last looked at, for the log ... */
        int64_t monotonic_ms; /* ... with the monotonic one */
        bool waiting;         /* it was said that a jump of the system's clock waits */
    } told;
    struct log_gate storage_gate;
    bool checking; /* handler_check.c: one at a time */
    bool stopping;
};

/*
 * Makes the hosts and loads their messages from the store. CONFIG_REFUSED when a host's profile
 * differs from that of its stored messages (reason with file and line); negative when the store or
 * memory fails. The reason has CONFIG_REASON_BYTES. Blocks; for start-up.
 */
int service_new(const struct service_options *options, struct service **out_service,
                char *out_reason);

/* No work may be under way. NULL is fine. */
void service_free(struct service *service);

/* Starts the host's clock from what the store has saved; for service_new. */
void service_start_clock(struct service *service);

/* Logs that the host's clock was set forward, and that a jump of the system's clock waits for
 * confirmation, once each. */
void service_tell_clock(struct service *service);

/* The host's clock: never runs backwards. */
int64_t service_now_ms(struct service *service);
bool service_clock_trusted(struct service *service);

/* The monotonic clock, for rates. */
int64_t service_monotonic_ms(struct service *service);
/* The same, finer where that can be had: for latencies. */
uint64_t service_monotonic_ns(struct service *service);

/*
 * Some work begins, and ends in a callback: of the store, or of the worker. The daemon stops only
 * when no work is under way.
 */
void service_work_begin(struct service *service);
void service_work_end(struct service *service);

/* Something that began at began_ns was answered with success. */
void service_note(struct service *service, enum metric metric, uint64_t began_ns);

/* The host of that name, the first one when name is NULL; NULL when there is none such. */
struct host *service_host(struct service *service, const char *name);
struct host *service_host_numbered(struct service *service, uint32_t number);

/*
 * The labels of what is around a host become those of its configuration and those of a text
 * (here_new; NULL: none). 0 with *out_changed, HERE_REFUSED with a reason (HERE_REASON_BYTES),
 * -ERR_NOMEM; unless 0 they stay as they were.
 */
int service_set_here(struct service *service, struct host *host, const char *text, size_t length,
                     bool *out_changed, char *out_reason);

/*
 * A stored message comes: counted, and shown in its index or, by its state, kept hidden. Its id is
 * not there yet. As host_admit; unless 0, nothing has changed.
 */
int service_keep(struct service *service, struct host *host, const struct persist_message *message);

/* A message has left the store: out of index, counters and cache with it, shown or hidden. */
void service_forget(struct service *service, struct host *host, const uint8_t *id);

/* A stored message has got another state. -ERR_NOMEM: nobody sees it; HOST_NO_EPOCH: the same. */
int service_show(struct service *service, struct host *host, const struct persist_message *message);
void service_hide(struct service *service, struct host *host, const uint8_t *id);

/* Keeps a stored message's payload at hand, unless its id has gone, or has come anew, since it was
 * read. Only a cache: it may not fit, or be forgotten. */
void service_remember(struct service *service, const struct persist_message *message);

/* Media type and payload of a message from the cache; borrowed until something is remembered. */
bool service_recall(struct service *service, uint32_t host, const uint8_t *id,
                    struct persist_message *out_message);

/*
 * Takes a configuration that config_check_reload has passed. Hosts that it adds are opened one
 * after the other, each when the store has it; the log says so, or why not. A host that the store
 * has from before is not opened, as its messages are loaded at the start only.
 */
void service_reload(struct service *service, const struct config *config);

/*
 * To be called every few seconds: takes out a slice of the expired messages, and goes on with the
 * next slice by itself while there are more; saves the clock every ten minutes, and tells of its
 * jumps.
 */
void service_sweep(struct service *service);

/*
 * To be called about once a second, and in each turn of the loop, the first one included: messages
 * that were loaded, and those that came since, are arranged for quick queries. Whether there is
 * more to do in a turn.
 */
bool service_arrange(struct service *service);
bool service_turn(struct service *service);

/* Begins nothing by itself any more, and ends what takes long. What is under way still counts as
 * working until it is over. */
void service_stop(struct service *service);

/* Saves the clock now, so that it does not run backwards over a restart. */
void service_save_clock(struct service *service);

/* Tells the log that the storage failed somebody; many such failures in a row are one line. */
void service_storage_failed(struct service *service, const char *what, const char *reason);

#endif
