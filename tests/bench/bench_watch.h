/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_watch: hearsay-bench watch, which has options of its own and needs no daemon.
 */
#ifndef TESTS_BENCH_BENCH_WATCH_H
#define TESTS_BENCH_BENCH_WATCH_H

/* argv[0] is "watch". 0, or -1 when something failed; it is on standard error then. */
int bench_watch(int argc, char **argv);

#endif
