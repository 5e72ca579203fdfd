/* SPDX-License-Identifier: Apache-2.0 */
/* load_report: writes the figures of `hearsay-bench load`, as text or as one JSON object a line. */
#pragma once

#include "tests/bench/load_client.h"
#include "tests/bench/load_watch.h"

/* What one phase gave. */
struct load_phase {
    struct load_result results[LOAD_KINDS];
    double cpu_share;      /* of the daemon, of one core */
    double attacker_share; /* of attackers, or of what stands for them; 0: there were none */
    double peak_mib;
    double warm_s; /* the trend is of what comes after that */
    struct load_trend trend;
    bool has_trend;
};

void load_report_phase(bool json, const char *name, const struct load_phase *phase);

/*
 * The phases of one round, in this order: no other load; attackers; attackers of another daemon; a
 * process that uses as much CPU time as the attackers.
 */
enum load_turn { LOAD_QUIET, LOAD_ATTACKED, LOAD_ELSEWHERE, LOAD_CONTROL, LOAD_TURNS };
enum { LOAD_ROUNDS_MAX = 99 };

/* The 99th percentiles of all rounds, ms; zeroed it is empty. */
struct load_rounds {
    double p99_ms[LOAD_KINDS][LOAD_TURNS][LOAD_ROUNDS_MAX];
    size_t count;
};

extern const char *const load_turn_names[LOAD_TURNS];

/* Takes a phase of the round that is not yet counted. */
void load_rounds_add(struct load_rounds *rounds, enum load_turn turn,
                     const struct load_phase *phase);

/*
 * Writes the medians of the percentiles, and the medians of each round's ratios to its quiet phase.
 */
void load_report_rounds(bool json, const char *attack, const struct load_rounds *rounds);
