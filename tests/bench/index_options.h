/* SPDX-License-Identifier: Apache-2.0 */
/* index_options: the command line of hearsay-bench index. */
#pragma once

#include "core/index/engine.h"
#include "tests/bench/filters.h"

enum { INDEX_ENGINES_MAX = 4 };

/* An engine by the name it goes by here. */
struct index_contender {
    const char *name;
    const struct index_engine *engine;
};

struct index_bench_options {
    struct filters_options filters;
    struct profile profile;
    struct index_contender contenders[INDEX_ENGINES_MAX];
    size_t engine_count;
    uint32_t k;
    uint64_t budget;
    bool contains;   /* ask for one label of each query's */
    bool one_by_one; /* not arranged after the inserts */
    bool alone;      /* ask each engine alone, too */
    bool json;
    enum index_metric metric;
    const char *profile_text; /* what --profile said, or NULL */
    uint32_t bits;            /* ... -m and -d, or 0 */
    uint32_t hashes;
    const char *plot_directory;
};

/*
 * Reads the command line into *options, which holds the defaults, those of bench_default_profile
 * and bench_default_metric included. Returns what options_read returns; OPTIONS_REFUSED, too, for a
 * profile that is none.
 */
enum options_outcome index_options_read(int argc, char **argv, struct index_bench_options *options);
