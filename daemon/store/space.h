/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_space: free storage, and how much of it the store keeps for deleting.
 *
 * Deleting needs storage, too: a transaction appends pages to the log, and a checkpoint writes the
 * pages of the log into the database, which grows by those that it does not have yet. So deposits
 * end while there is still enough for both. docs/reliability.md has the arithmetic.
 */
#ifndef DAEMON_STORE_SPACE_H
#define DAEMON_STORE_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/store/persist.h"

enum {
    /* Kept free besides what the log may take. The removal of one message of a whole frame (1 MiB)
       fits into half of it. */
    STORE_SPACE_MARGIN = 2 * 1024 * 1024
};

/* What deposits may take. */
struct store_space_room {
    uint64_t log;      /* bytes of log, before it reaches its limit */
    uint64_t reusable; /* bytes of pages of the database that are not used */
    uint64_t spare;    /* bytes of free storage that is not kept */
    uint64_t kept;     /* bytes of free storage that only deleting may take */
    bool is_closed;    /* there is so little free storage that deposits may take nothing */
};

/* What deposits take, at most. */
struct store_space_need {
    uint64_t log;    /* bytes that they append to the log */
    uint64_t growth; /* bytes by which the used part of the database grows */
};

/*
 * Bytes that we may still write to the file system of `path`; UINT64_MAX where the system does not
 * say. One system call.
 */
uint64_t store_space_free(const char *path);

/* Bytes of a file; 0 where there is none. One system call. */
uint64_t store_space_of_file(const char *path);

/*
 * The room there is with `free` bytes of free storage. `log_limit`: size at which the log is
 * checkpointed; `log_bytes`: of its file; `log_pages`: pages in it that may not be in the database
 * yet; `reusable_pages`: pages of the database that are not used.
 */
void store_space_measure(uint64_t free, uint64_t log_limit, uint64_t log_bytes, uint64_t log_pages,
                         uint64_t reusable_pages, struct store_space_room *out_room);

/*
 * Adds what an operation takes. Of a deposit that is an upper bound; of the others an estimate,
 * since what they delete is not known yet.
 */
void store_space_add(struct store_space_need *need, const struct persist_op *op);

/* Whether deposits with this need may be stored. */
bool store_space_fits(const struct store_space_room *room, const struct store_space_need *need);

/* Whether a transaction with this need, without deposits, is likely to find the storage it needs.
 */
bool store_space_fits_log(const struct store_space_room *room, const struct store_space_need *need);

/*
 * Whether a store with `messages` messages of `bytes` bytes in all, its log and the margin fit into
 * `room` bytes: what is free, and what the store has already. If not, a sentence for the operator
 * comes in out_reason (PERSIST_REASON_BYTES).
 */
bool store_space_suffices(const char *path, uint64_t messages, uint64_t bytes, uint64_t log_limit,
                          uint64_t room, char *out_reason);

#endif
