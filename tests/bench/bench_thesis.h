/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_thesis: hearsay-bench thesis, which has options of its own and needs no daemon.
 */
#ifndef TESTS_BENCH_BENCH_THESIS_H
#define TESTS_BENCH_BENCH_THESIS_H

/* argv[0] is "thesis". 0, or -1 when something failed; it is on standard error then. */
int bench_thesis(int argc, char **argv);

#endif
