/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_load: hearsay-bench load, which has options of its own.
 */
#ifndef TESTS_BENCH_BENCH_LOAD_H
#define TESTS_BENCH_BENCH_LOAD_H

/* argv[0] is the subcommand's name; `hearsayd` the daemon to measure unless an option names
 * another. 0, or -1: it is said. */
int bench_load(int argc, char **argv, const char *hearsayd);

#endif
