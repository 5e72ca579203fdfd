/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_space: free storage, and how much of it the store reserves for deleting.
 *
 * Deleting needs storage, too. A transaction appends pages to the log (WAL). A checkpoint writes
 * the pages of the log into the database, which grows by the pages that it does not have yet. So
 * the store reserves free storage for both, and refuses deposits that would use this reserve.
 * docs/reliability.md has the arithmetic.
 */
#ifndef DAEMON_STORE_SPACE_H
#define DAEMON_STORE_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/store/persist.h"

enum {
    /* Reserved for deleting, besides the limit of the log. The removal of one message of 1 MiB, the
       largest frame, needs half of the margin. */
    STORE_SPACE_MARGIN = 2 * 1024 * 1024
};

/* How much storage deposits may use. */
struct store_space_room {
    uint64_t log;      /* bytes that the log may grow before it reaches its limit */
    uint64_t reusable; /* bytes of unused pages of the database */
    uint64_t spare;    /* bytes of free storage that is not reserved */
    uint64_t kept;     /* bytes of free storage that are reserved for deleting */
    bool is_closed;    /* so little storage is free that every deposit is refused */
};

/* How much storage operations need. */
struct store_space_need {
    uint64_t log;    /* bytes appended to the log */
    uint64_t growth; /* bytes by which the used part of the database grows */
};

/*
 * Free bytes of the file system of `path`; UINT64_MAX when the system does not tell. One system
 * call.
 */
uint64_t store_space_free(const char *path);

/* Bytes of a file; 0 where there is none. One system call. */
uint64_t store_space_of_file(const char *path);

/*
 * Computes how much storage deposits may use, of `free` bytes of free storage. `log_limit`: size at
 * which the log is checkpointed. `log_bytes`: size of the log's file. `log_pages`: pages of the log
 * that may not be in the database yet. `reusable_pages`: unused pages of the database.
 */
void store_space_measure(uint64_t free, uint64_t log_limit, uint64_t log_bytes, uint64_t log_pages,
                         uint64_t reusable_pages, struct store_space_room *out_room);

/*
 * Adds the need of an operation to *need. For a deposit it is an upper bound. For other operations
 * it is an estimate, since the messages that they delete are not known yet.
 */
void store_space_add(struct store_space_need *need, const struct persist_op *op);

/* Whether deposits with this need may be stored. */
bool store_space_fits(const struct store_space_room *room, const struct store_space_need *need);

/* Whether a transaction without deposits is likely to succeed with this need. */
bool store_space_fits_log(const struct store_space_room *room, const struct store_space_need *need);

/*
 * Whether a store with `messages` messages of `bytes` bytes in all, its log and the margin fit into
 * `room` bytes. `room` is the free storage and the present size of the store. False: with a
 * sentence for the operator in out_reason (PERSIST_REASON_BYTES).
 */
bool store_space_suffices(const char *path, uint64_t messages, uint64_t bytes, uint64_t log_limit,
                          uint64_t room, char *out_reason);

#endif
