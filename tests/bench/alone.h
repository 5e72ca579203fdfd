/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alone: SQLite without a daemon around it: the same file, made by the daemon's own schema code
 * with its pragmas, and the same rows, in transactions of 1,000 that are on storage when they end.
 */
#ifndef TESTS_BENCH_ALONE_H
#define TESTS_BENCH_ALONE_H

#include <stddef.h>
#include <stdint.h>

enum { ALONE_TRANSACTION_ROWS = 1000 };

struct alone_outcome {
    double seconds;      /* from the first BEGIN to the last COMMIT, without making messages up */
    double memory_bytes; /* that SQLite held at the end */
};

/*
 * Writes the messages 0 .. count - 1 of `seed` into a new database in `directory`. 0 or -1.
 */
int alone_deposit(const char *directory, uint64_t seed, size_t count, struct alone_outcome *out);

struct alone_reading {
    double open_seconds; /* opening and checking */
    double read_seconds; /* every row but its payload's use, with its checksum */
    size_t rows;
};

/* Opens a database that a daemon made and has left, and reads all of it as a start does. 0 or -1.
 */
int alone_read(const char *path, struct alone_reading *out);

#endif
