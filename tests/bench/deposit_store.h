/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deposit_store: what a deposit costs the store, in this process, with and without the changes of a
 * host for copies (`replicate`).
 */
#pragma once

#include "tests/bench/bench.h"

/* The kinds of deposits that are measured. */
enum deposit_kind {
    DEPOSIT_PLAIN,      /* nothing goes for it */
    DEPOSIT_PLAIN_FED,  /* the same with changes */
    DEPOSIT_EVICTS,     /* the oldest message goes for it */
    DEPOSIT_EVICTS_FED, /* the same with changes */
    DEPOSIT_KINDS
};

/*
 * Stores `count` messages in a new database, then measures `count` deposits of this kind, in
 * batches of 256. Sets *out_us to the microseconds of CPU time that one takes: how long storage
 * takes to sync changes too much from run to run. Returns 0 or -1.
 */
int deposit_store_run(const struct bench_options *options, enum deposit_kind kind, size_t count,
                      double *out_us);
