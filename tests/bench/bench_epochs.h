/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_epochs: hearsay-bench epochs, which has options of its own and needs no daemon.
 */
#ifndef TESTS_BENCH_BENCH_EPOCHS_H
#define TESTS_BENCH_BENCH_EPOCHS_H

/* argv[0] is "epochs". 0, or -1 when something failed; it is on standard error then. */
int bench_epochs(int argc, char **argv);

#endif
