/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch: standing queries of clients. A watch pushes each new message that fits it. On the loop
 * thread.
 *
 *   deposit committed -> pending -> matched in the next turn -> queued for a client -> pushed
 *   message stored before the watch began -> read in pages -> queued for a client -> pushed
 *
 * A queued match is a few numbers. It becomes a message when its client has room for the message.
 * A message that was withdrawn, has expired or is hidden by then is no longer in the index, and is
 * not sent.
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
struct requester;
struct host;
struct service;
struct watch;
struct watch_catch;
struct watcher;
struct watch_pending;

/* For an operator to see. */
struct watch_counts {
    uint64_t pushed;   /* matches that were sent, since the start */
    uint64_t left_out; /* matches whose message was gone before they could be sent */
    uint64_t slow;     /* watching clients that were dropped because they did not read */
    uint64_t failed;   /* watching clients that were dropped because memory or storage failed */
    size_t matches;    /* that wait to be sent */
    size_t bytes;      /* of output that these will take */
    size_t pending;    /* deposits that wait to be matched */
    uint32_t watches;  /* that clients have now */
};

/* All watches of a service: service->watch. */
struct watch_state {
    int64_t newest_seq;            /* number of the newest committed message */
    uint64_t last_number;          /* of a watch */
    uint32_t filter_count;         /* filters of all watches */
    bool has_room;                 /* some client got room since the last turn */
    struct watcher *watchers;      /* clients that watch, or did */
    struct watcher *ready;         /* clients that have matches, and perhaps room for them */
    struct watch_catch *catching;  /* watches that have pages to read, in turn */
    struct watch_catch *paused;    /* the same, while their clients have no room or no tokens */
    uint32_t reads;                /* pages that are being read */
    struct watch_pending *pending; /* deposits to be matched, in order of commit */
    size_t pending_bytes;
    struct watch_counts counts;
};

/* Makes service->watch, and frees it. Between them the service may be used. watch_deinit comes
 * before service_free, after all clients are gone; NULL is fine. -ERR_NOMEM. */
int watch_init(struct service *service);
void watch_deinit(struct service *service);

/* What a client asks for; the handler has checked it. */
struct watch_order {
    struct host *host;
    struct standing_terms terms; /* borrowed for the call */
    bool with_payload;
    int64_t since_ms;   /* older messages are not pushed */
    uint64_t after_seq; /* messages after this number that are stored already are pushed, too */
};

struct watch_begun {
    uint64_t number; /* of the watch */
    uint64_t seq;    /* of the newest message when the watch began */
};

/* Begins a watch: 0, a refusal, or -ERR_NOMEM. Pushes nothing before it returns. */
enum {
    WATCH_SESSION_FULL = 1, /* the client would have more than watches_per_session filters */
    WATCH_SERVER_FULL       /* all clients together would have more than `watches` */
};
int watch_begin(struct service *service, struct requester *client, const struct watch_order *order,
                struct watch_begun *out_begun);

/* Filters of all watches of a client. */
uint32_t watch_filters_of(const struct requester *client);

/* Ends a watch: nothing more is sent for it. False: the client has no watch of this number. */
bool watch_end(struct service *service, struct requester *client, uint64_t number);

/* The client is gone: ends all its watches. */
void watch_client_gone(struct service *service, struct requester *client);

/* The client is about to be dropped because it does not read. Counts it if it watches. */
void watch_note_slow(struct service *service, const struct requester *client);

/* Adds the figures of watches to the answer to Stats, as sums over all hosts: the answer has to fit
 * a frame. O(clients that watch + watches that catch up) */
void watch_add_figures(const struct service *service, struct figures *figures);

/* Whether the client has a watch. If so, it may stay silent for long. */
bool watch_is_watching(const struct requester *client);

/* The client has read some of its output. Returns whether a turn has something to do for it. */
bool watch_client_has_room(struct service *service, struct requester *client);

/*
 * A message was committed under the number `seq`: it was deposited, released from review, or
 * restored. It is in the index of its host, and is matched in the next turn. A client that was
 * pushed the message under an earlier number gets it again. NULL: nobody may see the message; only
 * its number is taken. Borrows the message for the call. Call it once for each number, in ascending
 * order.
 */
void watch_numbered(struct service *service, struct host *host,
                    const struct persist_message *message, int64_t seq);

/*
 * A deposit was committed, but the index of its host had no memory for it. So no watch can push it,
 * now or later. The next turn drops each client that watches the host, and tells it why.
 */
void watch_missed(struct service *service, const struct host *host);

/* One turn of the loop: matches, reads and sends, each up to a limit. */
void watch_turn(struct service *service);

/* Call about once a second: rearranges some watches, for a millisecond or two. */
void watch_tick(struct service *service);

/* Whether the next turn has something to do. */
bool watch_is_due(const struct service *service);

/* Memory of deposits that wait to be matched; handler_is_congested bounds it. */
size_t watch_waiting_bytes(const struct service *service);

#endif
