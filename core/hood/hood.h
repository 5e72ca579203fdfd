/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hood: what an access point knows of its peers, the other access points around it. Each peer tells
 * its groups (core/summary/groups.h) in words: a full word has all groups, a later word only what
 * has come since. A search (search.h) finds out by the groups which peers can hold an answer.
 *
 *   peer             word
 *   start            full: groups, seq 7
 *   message 8        delta after 7: one group, seq 8          within 50 ms of the commit
 *   message 9        keepalive after 8: no groups, since they cover it; seq 9, newest_ms of message
 * 9 within 1 s, so at most one a second 30 s later       keepalive after 9: no groups, seq 9
 *
 * Words may get lost. Each word but a full one names the word before it (`after`), so a lost one is
 * noticed: the summary is void until a full word comes. A void summary rules out nothing.
 *
 * Peers are numbers below `peers_max`; the caller knows their names. All peers have the profile of
 * the hood. No function reads a clock: times come from the caller.
 */
#pragma once

#include "core/base/alloc.h"
#include "core/bits/bits.h"
#include "core/profile/profile.h"
#include "core/summary/groups.h"

struct hood;

enum {
    HOOD_PEERS_MAX = 4096,
    HOOD_GROUPS_MAX = 128, /* of one peer: those of a full word and of the deltas after it */
    HOOD_STORE_ID_BYTES = 16
};

/* Named outcomes. */
enum {
    HOOD_VOID = 1, /* learn: the peer's summary is void; ask the peer for a full word */
    HOOD_LATE = 2  /* learn: the word is older than the summary, and changed nothing */
};

struct hood_options {
    const struct alloc *alloc;          /* all are borrowed, and must outlive the hood */
    const struct profile *profile;      /* of all peers */
    const struct bits_kernels *kernels; /* see bits_select */
};

/* What a peer says. All times are by the peer's clock. */
struct hood_word {
    uint8_t store_id[HOOD_STORE_ID_BYTES];
    uint64_t seq;     /* with the words before, the groups cover all messages up to here */
    uint64_t after;   /* the seq of the word before this one; a full word has none */
    int64_t as_of_ms; /* when the peer knew that it was so */
    /* No message since the word before that has no group in this word was deposited later than
     * this. INT64_MIN: there is none. */
    int64_t newest_ms;
    bool is_full;
    const struct group *groups; /* borrowed during the call */
    uint32_t group_count;
};

/* Makes a hood without peers; peers have the numbers 0 .. peers_max - 1. Returns 0 or -ERR_NOMEM.
 */
int hood_new(const struct hood_options *options, uint32_t peers_max, struct hood **out_hood);
void hood_free(struct hood *hood); /* no search may be left; NULL is fine */

/*
 * Takes a word of a peer in. A peer that sends its first word joins the hood. `heard_ms` is the
 * caller's time. A full word replaces the peer's summary. A word that is not full extends the
 * summary, if no word between the two was lost. Returns 0, HOOD_LATE or HOOD_VOID. HOOD_VOID means
 * that a word was lost, that the peer has another store, that the groups are wrong or too many, or
 * that there is no memory.
 */
int hood_learn(struct hood *hood, uint32_t peer, const struct hood_word *word, int64_t heard_ms);

/* The peer leaves the hood: it is neither asked nor counted. Searches that asked it ignore it. */
void hood_drop(struct hood *hood, uint32_t peer);

/*
 * hood_count returns the number of peers; hood_knows whether the peer has a summary that is not
 * void; hood_is_faulty whether an answer of the peer has a message that its own summary did not
 * cover, since the last word that was full.
 */
uint32_t hood_count(const struct hood *hood);
bool hood_knows(const struct hood *hood, uint32_t peer);
bool hood_is_faulty(const struct hood *hood, uint32_t peer);

/* Returns the bytes of memory that the hood holds. O(peers). */
size_t hood_bytes(const struct hood *hood);
