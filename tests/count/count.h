/* SPDX-License-Identifier: Apache-2.0 */
/*
 * count: the works of hearsay-count, and what they share. A work prepares its data, calls
 * count_begin, does the same thing `units` times, and calls count_end. Between the two calls
 * callgrind counts instructions. All of a work runs in one thread, with fixed seeds and a clock
 * that stands still, so that two runs differ by almost nothing (tests/count/count.py).
 */
#pragma once

#include <stdint.h>

struct count_options {
    const char *data;      /* directory of UJIIndoorLoc, for the works that need it; borrowed */
    const char *directory; /* an empty directory for a database and a socket; borrowed */
};

/* Each work ends the program with a message if something fails. */
void count_query_campus(const struct count_options *options);
void count_query_town(const struct count_options *options);
void count_query_wifi(const struct count_options *options);
void count_query_x5(const struct count_options *options);
void count_query_dense(const struct count_options *options);
void count_query_mixed(const struct count_options *options);
void count_query_board(const struct count_options *options);
void count_deposit(const struct count_options *options);
void count_page(const struct count_options *options);
void count_start(const struct count_options *options);
void count_summary(const struct count_options *options);

/* Asks the hearsayd at 127.0.0.1:port for `count` queries, or deposits `count` messages, each after
 * the answer to the one before. */
void count_ask_queries(uint16_t port, uint32_t count);
void count_ask_deposits(uint16_t port, uint32_t count);

/*
 * count_begin starts counting. count_end stops counting, and prints "units N", so that the count
 * can be divided. Outside valgrind nothing is counted.
 */
void count_begin(void);
void count_end(uint64_t units);

/* Whether this program can tell callgrind when to count: it was compiled with valgrind's header. */
int count_can_measure(void);

/* Ends the program with exit status 1 after a message, printf-style. */
void count_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
