/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answers: queries of neighbours for one host here. A bounded queue; hearsayd finds the answers. A
 * query costs the neighbour that asks as many tokens as it would cost a phone at hearsayd
 * (proto/price.h), and one more for each further ANSWERS_PAGE results that it asks for. Who asks is
 * in the subject of the query, where the servers of the hub have put it. No header says so: the
 * asker could write it itself.
 */
#ifndef CLIENT_BRIDGE_ASK_ANSWERS_H
#define CLIENT_BRIDGE_ASK_ANSWERS_H

#include "client/bridge/ask/rates.h"
#include "client/bridge/wire/wire.h"
#include "client/link/link.h"
#include "proto/msg.h"

enum {
    ANSWERS_QUEUE_MAX = 64, /* queries that wait */
    ANSWERS_SENT_MAX = 8,   /* queries at hearsayd */
    ANSWERS_OLD_MS = 250,   /* a query that waited so long is dropped: nobody waits for it */
    ANSWERS_PAGE = 64,
    ANSWERS_BYTES_MAX = 65536 /* of one query */
};

struct answers_query {
    char reply[WIRE_SUBJECT_BYTES];
    char asker[BRIDGE_NAME_BYTES]; /* see subject_asker */
    int64_t came_ms;
    uint8_t *letter; /* owned; NULL once it is at hearsayd */
    size_t size;
    uint64_t ticket;
};

/* The first four fields are the caller's. */
struct answers {
    const char *host;
    uint32_t per_minute; /* of each neighbour */
    struct wire *wire;
    struct link *link;                             /* NULL: hearsayd is away */
    struct answers_query queue[ANSWERS_QUEUE_MAX]; /* a ring */
    size_t first;
    size_t waiting;
    struct answers_query sent[ANSWERS_SENT_MAX]; /* ticket 0: free */
    struct rates rates;
    uint64_t answered;
    uint64_t refused;
};

/* A query of a neighbour has come. Monotonic time. */
void answers_take(struct answers *answers, const struct wire_message *message, int64_t now_ms);

/* Whether the response of hearsayd belongs to a query; if so, the answer goes out. */
bool answers_respond(struct answers *answers, const struct hearsay_response *response,
                     int64_t now_ms);

/* Forgets all queries: hearsayd or the hub is lost. */
void answers_clear(struct answers *answers);

#endif
