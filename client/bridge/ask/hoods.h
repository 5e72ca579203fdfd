/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hoods: what the neighbours tell. Hears the summaries of each hood that a host here belongs to,
 * keeps them in circles, and asks for those that got lost.
 */
#ifndef CLIENT_BRIDGE_ASK_HOODS_H
#define CLIENT_BRIDGE_ASK_HOODS_H

#include <uv.h>

#include "client/bridge/ask/circle.h"
#include "client/bridge/ask/summary_limit.h"
#include "client/bridge/wire/wire.h"
#include "client/hearsay.h"

struct hoods;

struct hoods_events {
    void (*closes)(void *context); /* no search may be left after the call */
    void (*wanted)(void *context, const char *hood,
                   const char *host); /* a neighbour wants full
                                       * summaries of the host; "": of all */
};

/* All pointers are borrowed. NULL: no memory. */
struct hoods *hoods_new(uv_loop_t *loop, const struct bridge_config *config, struct wire *wire,
                        const struct hoods_events *events, void *context);
void hoods_joined(struct hoods *hoods);
void hoods_parted(struct hoods *hoods);
void hoods_stop(struct hoods *hoods); /* then hoods_free, when the loop has closed its handles */
void hoods_free(struct hoods *hoods); /* NULL is fine */

/*
 * hearsayd has greeted: its hosts are no neighbours, and their profiles are those of the circles.
 * The circles stay as they are if hearsayd has the same hosts as before, because the words of
 * neighbours have come meanwhile. False: no memory.
 */
bool hoods_meet(struct hoods *hoods, const struct hearsay_welcome *welcome);

/* The clock of hearsayd is so far ahead of the loop's. */
void hoods_set_clock(struct hoods *hoods, int64_t ahead_ms);
int64_t hoods_now_ms(const struct hoods *hoods);
int64_t hoods_monotonic_ms(const struct hoods *hoods); /* the loop's clock */

/* The circle of a host of hearsayd; NULL: there is none. */
struct circle *hoods_circle_of(const struct hoods *hoods, const char *host);

/* What of the summaries was dropped, and whose they were. */
const struct summary_limit *hoods_limit(const struct hoods *hoods);

/* The first circle; circle->next is the next one. NULL: there is none. */
const struct circle *hoods_first(const struct hoods *hoods);

#endif
