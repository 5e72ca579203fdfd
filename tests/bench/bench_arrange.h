/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_arrange: hearsay-bench arrange, which has options of its own and needs no daemon.
 */
#ifndef TESTS_BENCH_BENCH_ARRANGE_H
#define TESTS_BENCH_BENCH_ARRANGE_H

/* argv[0] is "arrange". 0, or -1 when something failed; it is on standard error then. */
int bench_arrange(int argc, char **argv);

#endif
