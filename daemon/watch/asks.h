/* SPDX-License-Identifier: Apache-2.0 */
/*
 * asks: queries of a hood that wait for a bridge, which asks the hosts of other servers. A bridge
 * says which hoods it serves (Serve), gets the queries as pushes (Ask), and answers each
 * (Answered).
 *
 *   asks_begin -> asks_send, in the next turn -> asks_answered, or asks_over: the time is over
 *
 * The two functions on the right give a wait back to its caller, who owns the struct. Nothing here
 * calls back to end a wait.
 *
 * At most ASKS_SENT asks are at a bridge at a time. The others wait, and go out round robin by
 * sender. If its client goes, an ask for which the sender has paid goes on: the answer says how
 * many tokens come back. Nothing of an ask says who the client is. All functions are called on the
 * loop thread.
 */
#pragma once

#include "daemon/host/requester.h"
#include "daemon/host/service.h"

enum {
    ASKS_SENT = 32,    /* at one bridge */
    ASKS_MAX = 256,    /* of all clients together, and those that end in the next turn */
    ASKS_OF_ONE = 32,  /* of one sender */
    ASKS_PEERS = 4096, /* no bridge asks more */
    ASKS_FREE = 8,     /* peers that cost no tokens */
    ASKS_PAID = 56     /* peers of one ask that cost tokens */
};

/* One query that waits. The caller fills in the first six fields. */
struct ask_wait {
    struct service *service;
    struct requester *client;
    const struct host *host;
    int64_t until_ms; /* monotonic */
    /*
     * Writes the query to *out_query, in the arena of the service. Called when it is the turn of
     * this wait. Returns false if there is no memory; the wait then ends without an answer.
     */
    bool (*write)(struct ask_wait *wait, struct hearsay_query *out_query);
    /* who pays; kept (sender_keep) while the query waits. NULL: the client has no limits */
    struct sender *sender;
    struct ask_wait *prev, *next; /* service->asks.first */
    struct ask_bridge *bridge;    /* NULL: it has gone */
    uint64_t ask_id;              /* 0: not sent yet */
    uint32_t reserved;            /* tokens that the client has paid for peers */
};

/* A connection that serves hoods. */
struct ask_bridge {
    struct ask_bridge *prev, *next;
    struct requester *client;
    char hoods[LIMIT_HOSTS][LIMIT_HOST_BYTES + 1];
    size_t hood_count;
    uint32_t sent;  /* asks that are there */
    uint32_t peers; /* of its last answer; ASKS_PEERS before the first one */
};

/*
 * The client serves these hoods, and no others, from now on. A hood that another client serves goes
 * to this one. Returns 0 or -ERR_NOMEM.
 */
int asks_serve(struct service *service, struct requester *client, const struct hearsay_text *hoods,
               size_t hood_count);

/* Whether a bridge serves the hood of the host. */
bool asks_serves(const struct service *service, const struct host *host);

/*
 * Begins to wait. If ASKS_MAX wait already, an unsent ask of the sender with most
 * (core/base/fair.h) ends in the next turn without an answer. Returns false, and does nothing, if
 * no bridge serves the hood, or if too many asks wait: of this sender, or of all without one that
 * may end.
 */
bool asks_begin(struct ask_wait *wait);

/*
 * A bridge has answered. Returns the wait that is over now. NULL: nobody waits for this answer, and
 * nothing has changed.
 */
struct ask_wait *asks_answered(struct service *service, const struct requester *client,
                               const struct hearsay_answered *answered);

/* The client has gone: it serves no hoods. Its own waits are over, but for those that hold tokens.
 */
void asks_client_gone(struct service *service, struct requester *client);

/*
 * Returns a wait that is over without an answer: its time has passed, its bridge has gone, or its
 * client has gone and the wait holds no tokens. NULL: there is none. Call in each turn until NULL.
 */
struct ask_wait *asks_over(struct service *service);

/* Sends asks. Call in each turn, when no wait is over. */
void asks_send(struct service *service);

/* Returns when asks_over and asks_send have to be called again: monotonic, at once if in the past;
 * INT64_MAX: nothing waits. */
int64_t asks_next_ms(const struct service *service);

/* Forgets all bridges. No wait may be left. */
void asks_deinit(struct service *service);
