/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare: when the messages of a host are compared with those of a reader (digest). Once an hour;
 * soon after the hub, hearsayd or servers of the hub were away, since then the hub may have lost
 * what it has acknowledged; and when a reader asks for it, which was without the hub itself. All is
 * published again when two comparisons in a row have found a difference.
 *
 * The heads of the host are the clock: one is accepted every 30 seconds.
 */
#ifndef CLIENT_BRIDGE_OWN_COMPARE_H
#define CLIENT_BRIDGE_OWN_COMPARE_H

#include <stdbool.h>
#include <stdint.h>

#include "client/bridge/own/digest.h"
#include "client/bridge/setup/config.h"
#include "client/bridge/wire/wire.h"

struct compare_events {
    void (*wanted)(void *context);  /* a reader asks: call compare_now where that is possible */
    void (*differs)(void *context); /* twice in a row: all must be published again */
};

struct compare {
    struct digest digest;
    struct wire_subscription *requests; /* of readers */
    const struct compare_events *events;
    void *context;
    char reader[BRIDGE_NAME_BYTES]; /* who is asked; "": whichever answers */
    unsigned heads_left;            /* to the next comparison; 0: it is due */
    unsigned pause;                 /* heads to the next one when no reader answers */
    unsigned different;             /* comparisons, one after the other */
    uint64_t different_total;
    int64_t
        since_s; /* wall clock: something was away then, and nothing was compared since; 0: no */
    bool is_doubted_again; /* while the comparison was under way */
};

/* False: no memory. `events` and `host` are borrowed. */
bool compare_init(struct compare *compare, struct wire *wire, const char *host,
                  const struct compare_events *events, void *context);
void compare_stop(struct compare *compare);

/* Something was away that may have lost states: a comparison is due at the second head. */
void compare_doubt(struct compare *compare);

/* A head was accepted. Returns whether a comparison is due: then call compare_now as soon as all
 * is published, or at a later head. */
bool compare_head(struct compare *compare);

/* Begins, unless a comparison is under way. now_ms is hearsayd's clock. */
void compare_now(struct compare *compare, struct link *link, int64_t now_ms);

/* hearsayd or the hub is away: what is under way ends without a result. */
void compare_end(struct compare *compare);

/* Whether the reply was for the comparison. */
bool compare_take_reply(struct compare *compare, const struct hearsay_reply *reply);

#endif
