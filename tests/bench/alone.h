/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alone: SQLite without a daemon. The daemon's own schema code makes the file and sets the pragmas.
 * The rows are the same as the daemon's. A transaction has 1,000 rows, which are on storage when
 * the transaction ends.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { ALONE_TRANSACTION_ROWS = 1000 };

struct alone_outcome {
    double seconds;      /* from the first BEGIN to the last COMMIT, without the time to generate
                            messages */
    double memory_bytes; /* that SQLite held at the end */
};

/*
 * Writes the messages 0 .. count - 1 of `seed` into a new database in `directory`. Returns 0 or -1.
 */
int alone_deposit(const char *directory, uint64_t seed, size_t count, struct alone_outcome *out);

struct alone_reading {
    double open_seconds; /* opening and checking */
    double read_seconds; /* every row but its payload's use, with its checksum */
    size_t rows;
};

/*
 * Opens a database of a daemon that has ended, and reads all rows as the daemon's start does.
 * Returns 0 or -1.
 */
int alone_read(const char *path, struct alone_reading *out);
