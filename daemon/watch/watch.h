/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch: standing queries of clients. A watch pushes the messages that fit its query to its client.
 * On the loop thread.
 *
 *   deposit committed -> pending -> matched in a turn -> queued for a client -> pushed
 *   message stored before the watch began -> read in pages -> queued for a client -> pushed
 *
 * A queued match holds a few numbers, not the message. The message is looked up when the match can
 * be sent. A message that was withdrawn, has expired or is hidden by then is not sent.
 */
#pragma once

#include "core/standing/standing.h"
#include "daemon/host/requester.h"
#include "daemon/host/service.h"
#include "daemon/store/persist.h"
#include "proto/msg.h"

struct watch_catch;
struct watch_pending;

/* For an operator to see. */
struct watch_counts {
    uint64_t pushed;   /* matches that were sent, since the start */
    uint64_t left_out; /* matches not sent because their message was gone by then */
    uint64_t slow;     /* clients with watches that were dropped because they did not read */
    uint64_t failed;   /* clients with watches that were dropped because memory or storage failed */
    size_t matches;    /* that wait to be sent */
    size_t bytes;      /* upper bound of the output that these matches will take */
    size_t pending;    /* deposits that wait to be matched */
    uint32_t watches;  /* that clients have now */
};

enum { WATCH_WAITS = 16 }; /* requests Wait of all clients together */

/* All watches of a service: service->watch. */
struct watch_state {
    struct requester *waits[WATCH_WAITS]; /* wait.c: wait_count clients with a request Wait */
    uint32_t wait_count;
    int64_t newest_seq;           /* number of the newest committed message */
    uint64_t last_number;         /* of a watch */
    uint32_t filter_count;        /* filters of all watches */
    bool has_room;                /* some client got room since the last turn */
    struct watcher *watchers;     /* clients that watch, or did */
    struct watcher *ready;        /* clients with matches that wait for their turn to send */
    struct watch_catch *catching; /* watches that have pages to read, in turn */
    /* Paused watches with pages to read. A watch is paused if its client had queued matches, too
     * much output or no tokens when the next page was to be read. */
    struct watch_catch *paused;
    uint32_t reads;                /* pages that are being read */
    struct watch_pending *pending; /* deposits to be matched, in order of commit */
    size_t pending_bytes;
    struct watch_counts counts;
};

/* watch_init makes service->watch. Returns 0 or -ERR_NOMEM. watch_deinit frees service->watch,
 * which may be NULL, after all watches have ended. */
int watch_init(struct service *service);
void watch_deinit(struct service *service);

/* The terms of a new watch. The handler has checked them. */
struct watch_order {
    struct host *host;
    struct standing_terms terms; /* borrowed for the call */
    bool with_payload;
    int64_t since_ms; /* older messages are not pushed */
    uint64_t
        after_seq; /* stored messages that fit and have a number above this one are pushed, too */
};

struct watch_begun {
    uint64_t number; /* of the watch */
    uint64_t seq;    /* of the newest message when the watch began */
};

/* Begins a watch. Returns 0, WATCH_SESSION_FULL, WATCH_SERVER_FULL or -ERR_NOMEM. Sends no match
 * before it returns. */
enum {
    WATCH_SESSION_FULL = 1, /* the client would have more than watches_per_session filters */
    WATCH_SERVER_FULL       /* all clients together would have more than `watches` filters */
};
int watch_begin(struct service *service, struct requester *client, const struct watch_order *order,
                struct watch_begun *out_begun);

/* Filters of all watches of a client. */
uint32_t watch_filters_of(const struct requester *client);

/* Ends a watch of the client. Nothing more is sent for the watch. Returns false if the client has
 * no watch with this number. */
bool watch_end(struct service *service, struct requester *client, uint64_t number);

/* The client is gone: ends all its watches, and its request Wait. */
void watch_client_gone(struct service *service, struct requester *client);

/* Counts, for the figures, a client with a watch that is about to be dropped because it does not
 * read. Does nothing for a client without a watch. */
void watch_note_slow(struct service *service, const struct requester *client);

/* Adds the figures of watches to the answer to Stats. The figures are for all hosts together, so
 * that the answer fits a frame. */
void watch_add_figures(const struct service *service, struct figures *figures);

/* Whether the client has a watch, or a request Wait without an answer. The server does not close
 * the session of such a client because the client sends nothing. */
bool watch_is_watching(const struct requester *client);

/* Call this function when the client has read some of its output, so that its matches may be sent
 * again. Returns whether the next turn has work to do. */
bool watch_client_has_room(struct service *service, struct requester *client);

/*
 * Call this function once for each number `seq` that the store gives to a message, in ascending
 * order, unless watch_missed reports the message. `message` was deposited, released from review or
 * restored, and is in the index of its host. A later turn matches the message with the watches,
 * usually the next one. A client that got the message under an earlier number gets it again. If
 * `message` is NULL, the message is hidden or in no index, and only the number counts. Borrows
 * `message` for the call.
 */
void watch_numbered(struct service *service, struct host *host,
                    const struct persist_message *message, int64_t seq);

/*
 * A deposit was committed, but there was no memory to add it to the index of its host. So no watch
 * can push the deposit before it is deposited again or the daemon has restarted. The next turn
 * drops each client that watches the host.
 */
void watch_missed(struct service *service, const struct host *host);

/*
 * A message that watch_missed has reported was deposited again, and is in the index of its host
 * now. If it still has the largest number, it is matched as by watch_numbered. If not, the next
 * turn drops each client that watches the host, because the message may fit a watch. A client that
 * then resumes after a smaller number gets the message. Borrows `message` for the call.
 */
void watch_found(struct service *service, struct host *host, const struct persist_message *message);

/* Runs one turn: matches deposits, sends matches and begins to read pages, each up to a limit.
 * Drops clients for which too much is queued or memory has failed. */
void watch_turn(struct service *service);

/* Call this function about once a second. It lets paused watches go on, and regroups some standing
 * queries of each host. Returns whether queries are left to regroup. */
bool watch_tick(struct service *service);

/* Whether the next turn has something to do. */
bool watch_is_due(const struct service *service);

/* Returns the bytes of the deposits that wait to be matched. */
size_t watch_waiting_bytes(const struct service *service);

/* --- wait ------------------------------------------------------------------------------------- */

/*
 * The requests Wait, which are answered when a message of a host is new for the operator. A
 * message is new from its first report, or its deposit for review, until an answer counts it. After
 * a start all messages about which the operator has not decided are new.
 */

/*
 * Begins a request Wait with the number `id`, and answers it at once if a message is new already.
 * Returns 0. Returns WAIT_FULL if the client, or all clients together, have too many.
 */
enum { WAIT_FULL = 1 };
int wait_begin(struct service *service, struct requester *client, struct host *host, uint64_t id);

/* Answers all requests Wait of the host if a message is new. O(1) if none is. */
void wait_tell(struct service *service, struct host *host);

/* Ends the client's request Wait, if there is one, without an answer. */
void wait_end(struct service *service, struct requester *client);
