/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_index: hearsay-bench index, which has options of its own and needs no daemon.
 */
#ifndef TESTS_BENCH_BENCH_INDEX_H
#define TESTS_BENCH_BENCH_INDEX_H

/* argv[0] is "index". 0, or -1 when something failed; it is on standard error then. */
int bench_index(int argc, char **argv);

#endif
