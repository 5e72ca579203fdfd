/* SPDX-License-Identifier: Apache-2.0 */
/*
 * campus: what the files of test_campus.c share: 1,000 access points, the hub between them, and
 * what is true.
 */
#pragma once

#include "core/hood/search.h"
#include "core/summary/bound.h"
#include "proto/codec/codec.h"
#include "tests/lib/rng.h"
#include "tests/sim/sim_check.h"

enum {
    SIDE = 32, /* hosts stand in a square, a point of the grid each */
    POINTS = SIDE * SIDE,
    HOSTS = 1000,
    ASKERS = 24, /* hosts from which people ask around */
    LIARS = 12,
    WORDS = 8, /* of a filter of 512 bits */
    HOST_GROUPS = 32,
    DELTAS_MAX = 16, /* then a full word is due */
    KEEPALIVE_S = 30,
    K_MAX = 20,
    PARTS_MAX = 2,
    ANSWER_MAX = 3 * K_MAX, /* messages of a liar's answer */
    SECOND_MS = 1000,
    MINUTE_MS = 60 * SECOND_MS,
    HOUR_MS = 60 * MINUTE_MS
};

#define CAMPUS_BEGINS_MS INT64_C(1767225600000) /* 1 January 2026 */

struct c_message {
    uint8_t id[MESSAGE_ID_BYTES];
    uint64_t filter[WORDS];
    int64_t deposited_ms; /* both by the clock of the host */
    int64_t expires_ms;
    uint64_t seq;
};

/* How a host lies. */
enum c_lie {
    LIE_NONE,
    LIE_ALL_ONES,  /* its summary claims everything */
    LIE_INVENTS,   /* its answers have messages that its summary does not cover */
    LIE_TWISTS,    /* its answers have messages that do not fit the query, twice, too many */
    LIE_GOES_BACK, /* it answers with a seq before that of its summary, or as another store */
    LIE_KINDS
};

struct c_host {
    uint8_t store_id[HOOD_STORE_ID_BYTES];
    uint64_t seq;
    struct c_message *messages; /* those that are there; owned */
    uint32_t count;
    uint32_t room;
    struct index *index;
    struct groups groups;

    /* What it has told: the groups of the last full word, and of the deltas since. */
    struct group told[HOOD_GROUPS_MAX];
    uint64_t told_filters[HOOD_GROUPS_MAX][WORDS];
    uint32_t told_count;
    uint32_t deltas;
    uint64_t told_seq;
    int64_t covered_ms; /* newest message since the last word that has no group there */
    bool has_to_tell;   /* a full word */

    int64_t clock_ms;   /* its clock is so far ahead */
    bool has_gone_back; /* its clock was set back since it had its store */
    int64_t cut_until_ms;
    int64_t silent_until_ms;
    int64_t restoring_until_ms;
    enum c_lie lie;
};

/* What an asker must know of a host, by the words that arrived: what is true, apart from
 * core/hood/. */
struct c_heard {
    bool is_met; /* some word arrived */
    bool is_known;
    uint8_t store_id[HOOD_STORE_ID_BYTES];
    uint64_t seq;
    int64_t as_of_ms;
};

struct c_asker {
    uint32_t host;
    struct hood *hood;
    struct c_heard heard[HOSTS];
};

/* What went over the hub, and what came of it. */
struct c_sums {
    uint64_t deposits, covered, full, deltas, keepalives, delivered, lost, bytes;
    uint64_t queries, refused, asked, waves, silent, incomplete, results, voids, faulty, stale;
    uint64_t cuts, silences, wipes, clocks, rebuilds, limited;
};

/* A fault that is planted to show that the test finds it: HEARSAY_CAMPUS_FAULT. */
enum c_fault { FAULT_NONE, FAULT_SKIP, FAULT_DELTA, FAULT_MERGE };

struct campus {
    struct rng rng;
    int64_t now_ms;
    struct profile profile;
    const struct bits_kernels *kernels;
    uint16_t bits[POINTS][4]; /* which the label of an access point sets */
    struct c_host hosts[HOSTS];
    struct c_asker askers[ASKERS];
    struct c_sums sums;
    enum c_fault fault;
};
extern struct campus campus;

/* --- campus_hosts.c --------------------------------------------------------------------------- */

void hosts_init(void);
void hosts_deinit(void);
int64_t host_now_ms(const struct c_host *host);
bool host_is_cut(const struct c_host *host);

/* The context of somebody near a host; and the bits of one access point that is seen there. */
void host_context(uint32_t number, uint64_t *out);
void host_label(uint32_t number, uint64_t *out);

void host_deposit(uint32_t number);
void host_withdraw(uint32_t number);
void host_expire(uint32_t number);
void host_wipe(uint32_t number);

/* --- campus_hub.c ----------------------------------------------------------------------------- */

/* Words that are due are sent; keepalives if it is time. */
void hub_tell(uint32_t number, bool is_keepalive_due);

/* A host has committed a message: a delta goes out, or the told groups cover the message. */
void hub_tell_message(uint32_t number, const struct c_message *message);

/* Delivers what has arrived by now. */
void hub_deliver(void);
void hub_deinit(void);

/* --- campus_ask.c ----------------------------------------------------------------------------- */

/* Somebody asks at an asker; the answer is held against what is true. */
void ask_around(struct c_asker *asker);
void ask_deinit(void);

/* --- campus_wire.c ---------------------------------------------------------------------------- */

/* A query as a bridge sends it, and as a peer reads it. `filters` has 2 * PARTS_MAX entries. */
void wire_encode_query(const struct index_query *query, struct similarity floor, struct bytes *out);
void wire_decode_query(const struct bytes *frame, struct arena *arena, struct index_query *query,
                       struct index_part *parts, uint64_t (*filters)[WORDS],
                       struct similarity *floor);

/* A peer's answer, and as the asker reads it: up to ANSWER_MAX messages, valid until the next. */
void wire_encode_answer(const struct hood_found *found, uint32_t count,
                        const struct hood_answer *answer, struct bytes *out);
uint32_t wire_decode_answer(const struct bytes *frame, struct arena *arena, struct hood_found *out,
                            struct hood_answer *answer);

/* --- campus_truth.c --------------------------------------------------------------------------- */

/* What a query must have found, gathered while it runs. */
struct c_truth {
    const struct index_query *query;
    struct nearest_candidate *list; /* every message that fits, of all that answered; owned */
    uint32_t count;
    uint32_t room;
};

void truth_begin(struct c_truth *truth, const struct index_query *query);

/* Returns whether a message fits the query. Writes its similarity to *out if so. */
bool truth_fit(const struct c_truth *truth, const uint8_t *id, const uint64_t *filter,
               int64_t deposited_ms, struct nearest_candidate *out);

/* All that a host has now; and what a liar said. */
void truth_add_host(struct c_truth *truth, uint32_t number, struct similarity floor);
void truth_add(struct c_truth *truth, const uint8_t *id, const uint64_t *filter,
               int64_t deposited_ms, uint32_t source);

/* The results are the best of all that was added. */
void truth_check(struct c_truth *truth, const struct nearest_candidate *results, uint32_t count);

/* No message of a skipped host, up to this seq, is better than the worst result. */
void truth_check_skipped(const struct c_truth *truth, uint32_t number, uint64_t seq,
                         const struct nearest_candidate *results, uint32_t count,
                         struct similarity floor);
void truth_deinit(struct c_truth *truth);
