/* SPDX-License-Identifier: Apache-2.0 */
/*
 * missing: which states of a host a reader leaves out for now, and when it takes all states of the
 * host once more, because some may have room then.
 *
 * hearsayd may have no room for a message. And an access point that somebody has taken over may
 * publish as many ids as the stream takes: so a reader takes messages of up to twice `messages` of
 * the host in its own hearsayd, and a million rules and ids that are gone. Other ids above that are
 * left out, and the operator is told.
 */
#ifndef CLIENT_BRIDGE_HUB_MISSING_H
#define CLIENT_BRIDGE_HUB_MISSING_H

#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

#include "daemon/system/log.h"

enum {
    MISSING_GONE_MAX = 1000000,
    MISSING_ODD_MAX = 10000, /* states that no owner publishes */
    MISSING_FIRST_MS = 5000, /* until all is taken once more; each time twice as long, up to ... */
    MISSING_MOST_MS = 10 * 60 * 1000
};

struct missing {
    uv_timer_t timer;
    const char *host; /* borrowed */
    void (*again)(void *context);
    void *context;
    uint64_t wait_ms;
    uint64_t ids[2];     /* in the table: [true] of messages with content, [false] of all others */
    uint64_t ids_max[2]; /* of them */
    uint64_t odd;        /* states that no owner publishes, ever */
    uint64_t no_room;    /* what had no room, since all was taken last */
    uint64_t beyond;     /* states above the bound, since then */
    uint64_t no_room_before; /* the same, until then */
    uint64_t beyond_before;
    struct log_gate room_gate;
    struct log_gate bound_gate;
};

/* `again` is called when all states of the host shall come once more. */
void missing_init(struct missing *missing, uv_loop_t *loop, const char *host,
                  void (*again)(void *context), void *context);
void missing_stop(struct missing *missing); /* closes the timer */

/* What hearsayd stores of the host at most; 0: not known. It may have more room than before. */
void missing_greeted(struct missing *missing, uint64_t messages);

/* Whether an id that is new in the table may be taken. */
bool missing_admits(struct missing *missing, bool has_payload);
void missing_note_odd(struct missing *missing);
void missing_note_no_room(struct missing *missing, uint64_t changes);

/* All states have come, and hearsayd has what it takes of them. */
void missing_settled(struct missing *missing);

/* How many messages, bans and notices have no room, and how many states were above the bound. */
uint64_t missing_no_room(const struct missing *missing);
uint64_t missing_beyond(const struct missing *missing);

#endif
