/* SPDX-License-Identifier: Apache-2.0 */
/*
 * due: when a host tells its neighbours its next full word, and when it must show that it is there.
 * No I/O, no clock: all times are monotonic, in milliseconds.
 *
 * Each word goes to every access point of the hood, and a full word has 2.5 KB. So neighbours that
 * ask for full words cannot make a host tell as many as they like:
 *
 *   A neighbour asks for all hosts, as it has just begun. The host tells within a second or so that
 *   it is there. A full word follows, at least all_gap_ms after the full word before it.
 *   A neighbour asks for this host, as it has lost a word. A full word follows, at least DUE_GAP_MS
 *   after the one before it. After DUE_NAMED of them in a row the gap is all_gap_ms.
 *   A message has come that the groups cover. The host tells within DUE_GAP_MS how new it is, since
 *   neighbours rule a host out by the time of its newest message, too.
 */
#ifndef CLIENT_BRIDGE_ASK_DUE_H
#define CLIENT_BRIDGE_ASK_DUE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/bucket.h"

enum {
    DUE_GAP_MS = 1000, /* between two full words */
    DUE_SPREAD_MS = 200,
    DUE_STRETCH = 10,
    DUE_NAMED = 4 /* full words for neighbours that name the host, without the long gap */
};

struct due {
    uint64_t all_gap_ms; /* between two full words for neighbours that ask for all hosts */
    uint64_t full_ms;    /* a full word is due then; UINT64_MAX: none is due */
    uint64_t held_ms;    /* no full word before */
    uint64_t last_ms;    /* when the last full word was made; 0: never */
    uint64_t word_ms;    /* any word is due then; UINT64_MAX: none is due */
    uint64_t told_ms;    /* when the last word went out; 0: never */
    struct bucket named;
};

/* Nothing is due. all_gap_ms is at most a minute. */
void due_init(struct due *due, uint64_t all_gap_ms);

/* The host itself has a reason for a full word: it is due in least_ms, or later by the gap. */
void due_want(struct due *due, uint64_t now_ms, uint64_t least_ms);

/*
 * The host has something to say that needs no group: it is there, or a message has come that its
 * groups cover. A word is due in least_ms, or later: at least DUE_GAP_MS after the word before it.
 * If one is due already, it stays due when it is.
 */
void due_show(struct due *due, uint64_t now_ms, uint64_t least_ms);

/* hearsayd gave no groups: no full word is made within this time, and one is due then. */
void due_hold(struct due *due, uint64_t now_ms, uint64_t hold_ms);

/*
 * A neighbour asks for full words. is_named: of this host only. wait_ms is random and below
 * DUE_SPREAD_MS, so that not all hosts of a hood tell something at the same moment. A full word for
 * a neighbour that asks for all hosts waits DUE_STRETCH times as long.
 */
void due_ask(struct due *due, bool is_named, uint64_t now_ms, uint64_t wait_ms);

/* due_begin: a full word is being made. due_made: it was made. due_told: a word went out. */
void due_begin(struct due *due);
void due_made(struct due *due, uint64_t now_ms);
void due_told(struct due *due, uint64_t now_ms);

#endif
