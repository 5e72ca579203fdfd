/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench: functions that the subcommands of hearsay-bench share. Each subcommand measures one thing
 * and writes its figures to a report. A comparison is made within one run, and both sides take
 * turns.
 */
#pragma once

#include "core/bits/bits.h"
#include "core/index/index.h"
#include "tests/bench/options.h"
#include "tests/bench/report.h"

struct bench_options {
    const char *hearsayd; /* the daemon's binary */
    const char *dir;      /* temporary directories are made here, and removed */
    uint32_t rounds;      /* repetitions; 0: the subcommand's own number */
    uint32_t count;       /* messages, or deposits in a round; 0: the subcommand's own number */
};

enum { BENCH_ROUNDS_MAX = 99, BENCH_COUNT_MAX = 1000000, BENCH_K_MAX = 1000 };

/* Returns options with the daemon in the same build directory, and the current directory. */
struct bench_options bench_standard(void);

/* The options of every subcommand that measures a daemon: --hearsayd, --dir and --json. */
enum { BENCH_ROWS = 3 };
void bench_rows(struct bench_options *options, bool *json, struct option_row out[BENCH_ROWS]);

/* The given number, or the standard one when none was given. */
static inline uint32_t bench_or(uint32_t given, uint32_t standard)
{
    return given != 0 ? given : standard;
}

/* Each function returns 0, or -1 after a message on standard error. */
int bench_deposit(const struct bench_options *options, struct report *report);
int bench_query(const struct bench_options *options, struct report *report);
int bench_memory(const struct bench_options *options, struct report *report);
int bench_filters(const struct bench_options *options, struct report *report);
int bench_flash(const struct bench_options *options, struct report *report);
int bench_ids(const struct bench_options *options, struct report *report);
int bench_cores(const struct bench_options *options, struct report *report);
int bench_start(const struct bench_options *options, struct report *report);
int bench_list(const struct bench_options *options, struct report *report);
int bench_encode(const struct bench_options *options, struct report *report);
int bench_joint(const struct bench_options *options, struct report *report);

/*
 * These subcommands have options of their own; argv[0] is the subcommand's name. Each function
 * returns 0, or -1 after a message on standard error.
 */
int bench_index(int argc, char **argv);
int bench_arrange(int argc, char **argv);
int bench_bound(int argc, char **argv);
int bench_epochs(int argc, char **argv);
int bench_hood(int argc, char **argv);
int bench_thesis(int argc, char **argv);
int bench_watch(int argc, char **argv);
int bench_load(int argc, char **argv);
int bench_similar(int argc, char **argv);
int bench_web(int argc, char **argv);
int bench_phones(int argc, char **argv);

/*
 * Returns the path of a program of this build, such as `daemon/hearsayd`, by the path of
 * hearsay-bench. The text is static; there is room for four.
 */
const char *bench_program(const char *name);

/* The profile that a text names. 0, or -1: it is said. */
int bench_profile(const char *text, struct profile *out);

/*
 * Returns the best kernels, or the kernels that HEARSAY_CPU names. Returns NULL after a message on
 * standard error if HEARSAY_CPU has an unknown name.
 */
const struct bits_kernels *bench_kernels(void);

/*
 * Makes an empty index. The pointers are borrowed. Returns 0, or -1 after a message on standard
 * error.
 */
int bench_index_new(const struct index_engine *engine, const struct profile *profile,
                    const struct bits_kernels *kernels, struct index **out);

/* Lets this process, and those that it starts, have so many descriptors. */
void bench_raise_descriptors(uint64_t wanted);

/* Writes what failed to standard error, printf-style, and returns -1. */
int bench_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
