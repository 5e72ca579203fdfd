/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch: clients' standing queries, from a deposit's commit to the match that is sent. On the loop
 * thread.
 *
 *   watch.c        who watches; limits; deposits that are to be matched
 *   watch_queue.c  a client's matches on their way: queued, looked up, sent
 *   watch_catch.c  what came before a watch, read from the store
 *
 * A deposit that is committed waits in `pending` until its turn of the loop, when it is matched
 * together with the others. What it fits is queued as a few numbers, and becomes a message only
 * when its client has room for it: so what has gone meanwhile (withdrawn, expired, hidden: not in
 * the index any more) is not sent, and needs not be looked for in queues.
 */
#ifndef DAEMON_WATCH_WATCH_H
#define DAEMON_WATCH_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/standing/standing.h"
#include "daemon/store/persist.h"
#include "proto/msg.h"

struct figures;
struct handler_client;
struct host;
struct service;
struct watch;
struct watch_catch;
struct watcher;
struct watch_pending;

/* For an operator to see. */
struct watch_counts {
    uint64_t pushed;   /* matches, since the start */
    uint64_t left_out; /* that had gone before they could be pushed */
    uint64_t slow;     /* clients that were dropped while they watched: too much waited for them, */
    uint64_t failed;   /* ... or memory or storage failed, and something might have been missing */
    size_t matches;    /* that wait to be pushed, */
    size_t bytes;      /* ... and what they will take of the output */
    size_t pending;    /* deposits that wait to be matched */
    uint32_t watches;  /* that stand */
};

/* Part of the service. All zero but newest_seq: nobody watches. */
struct watch_state {
    int64_t newest_seq; /* of what was committed, as far as the loop knows */
    uint64_t last_number;
    uint32_t filter_count;         /* that stand */
    bool has_room;                 /* some client has, since the last turn */
    struct watcher *watchers;      /* clients that watch, or did */
    struct watcher *ready;         /* have matches, and perhaps room for them */
    struct watch_catch *catching;  /* watches that have something to read from the store, in turn */
    struct watch_catch *paused;    /* the same, of clients without room or tokens */
    uint32_t reads;                /* of these: under way */
    struct watch_pending *pending; /* deposits to be matched, in order of commit */
    size_t pending_bytes;
    struct watch_counts counts;
};

/*
 * Watch: what `request` asks, which was checked as far as a query is (handler_watch.c). Answers
 * with Watching or an error.
 */
void watch_begin(struct service *service, struct handler_client *client, struct host *host,
                 const struct msg_request *request, const struct standing_terms *terms);

/* Unwatch: false when the client has no such watch. Nothing of it is sent after. */
bool watch_end(struct service *service, struct handler_client *client, uint64_t number);

/* The client is gone, and with it all its watches. */
void watch_client_gone(struct service *service, struct handler_client *client);

/* The client is about to be dropped as it does not read: counted, if it watches. */
void watch_note_slow(struct service *service, const struct handler_client *client);

/* Adds what there is to say to the answer to Stats: of all hosts together, as the answer has to fit
 * a frame for many of them. O(clients that watch + watches that catch up) */
void watch_add_figures(const struct service *service, struct figures *figures);

/* Whether it has a watch: silence is no sign that it is gone then. */
bool watch_is_watching(const struct handler_client *client);

/* The client has taken some of its output. Whether there is something for it: in the next turn. */
bool watch_client_has_room(struct service *service, struct handler_client *client);

/*
 * A number was committed (store_database_take_number): the message, which is in the index of its host,
 * was deposited, released from review or restored under the number `seq`, and will be matched in
 * the next turn. Whoever was pushed it under an earlier number is pushed it under this one, too.
 * NULL: nobody sees the message now, only its number is taken. Borrows the message for the call.
 * For each number once, in ascending order.
 */
void watch_numbered(struct service *service, struct host *host,
                    const struct persist_message *message, int64_t seq);

/*
 * A deposit was committed, and there was no memory to take it into the index of its host. Nobody
 * can be told of it, now or when it is sent again, as others have been pushed since: who watches
 * the host is dropped in the next turn, and learns why.
 */
void watch_missed(struct service *service, const struct host *host);

/* Matches, reads and sends for a bounded while. */
void watch_turn(struct service *service);

/* To be called about once a second: arranges some watches anew, for a millisecond or two. */
void watch_tick(struct service *service);

/* Whether there is more to do at once. */
bool watch_is_due(const struct service *service);

/* Bytes held by deposits that wait to be matched: over a bound no more are taken. */
size_t watch_waiting_bytes(const struct service *service);

/* Before the hosts go: nobody may watch any more. */
void watch_deinit(struct service *service);

/* Frees what a host has for watches. */
void watch_host_deinit(struct host *host);

#endif
