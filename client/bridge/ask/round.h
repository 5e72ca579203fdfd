/* SPDX-License-Identifier: Apache-2.0 */
/*
 * round: one ask of hearsayd on its way: waves of queries to neighbours, their answers, the result
 * (core/hood/search.h decides who is asked). No I/O, no clock: queries go out by `send`, and times
 * come from the caller.
 *
 *   round_new -> round_begin -> send ... -> round_take ... -> done
 *                               round_tick when round_due_ms is over
 */
#ifndef CLIENT_BRIDGE_ASK_ROUND_H
#define CLIENT_BRIDGE_ASK_ROUND_H

#include "client/bridge/ask/circle.h"
#include "proto/letter.h"

enum {
    ROUND_WAVE_MS = 250,  /* a neighbour that has not answered by then is silent */
    ROUND_SILENT_MS = 50, /* so long a wave waits for neighbours that were silent just before */
    ROUND_MARGIN_MS = 20, /* hearsayd has the answer so long before it stops waiting */
    ROUND_KEPT_BYTES = 4 * 1024 * 1024, /* of payloads; others are left out */
    ROUND_REST_BYTES = 256 /* of an answer to hearsayd, beside its results: an upper bound */
};

struct round;

struct round_events {
    /* Sends a letter to a neighbour. False: it cannot be sent. Calls nothing of the round. */
    bool (*send)(void *context, struct round *round, uint32_t peer, const void *data, size_t size);
    /* The round is over; the caller frees it. `results` is borrowed for the call. NULL: there is no
     * answer. */
    void (*done)(void *context, struct round *round, const struct hearsay_results *results);
};

/*
 * Copies the ask. The circle and `events` are borrowed. frame_bytes is the most that an answer may
 * have. NULL: no memory, or the ask is none that can be asked.
 */
struct round *round_new(struct circle *circle, const struct hearsay_ask *ask, size_t frame_bytes,
                        const struct round_events *events, void *context, int64_t monotonic_ms);
void round_free(struct round *round); /* NULL is fine; at any time but within `send` */

void *round_owner(const struct round *round); /* `context` */
uint64_t round_ask_id(const struct round *round);
struct circle *round_circle(const struct round *round);
uint32_t round_waves(const struct round *round);

/* Sends the first wave. now_ms is by the clock of the circle's words. May call `done`. */
void round_begin(struct round *round, int64_t now_ms, int64_t monotonic_ms);

/* A neighbour has answered; NULL: it is not there, or has no answer. May send, and may call `done`.
 */
void round_take(struct round *round, uint32_t peer, const struct msg_peer_results *answer,
                int64_t monotonic_ms);

/* When round_tick has to be called: monotonic. It ends a wave or the round. INT64_MAX: the round
 * has not begun. */
int64_t round_due_ms(const struct round *round);
void round_tick(struct round *round, int64_t monotonic_ms);

#endif
