/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_space: how much storage is free, and how much of it the store reserves for deleting.
 *
 * Deleting needs storage, too: a transaction writes pages to the log (WAL), and a checkpoint writes
 * the pages of the log into the database, which may grow. The store reserves free storage for both,
 * and refuses deposits that would use this reserve. The section "A full disk" of
 * docs/reliability.md explains the computation.
 */
#pragma once

#include "daemon/store/persist.h"

enum {
    /*
     * Bytes reserved for deleting, in addition to what the log may still grow and what a checkpoint
     * needs. About twice what the removal of a message of 1 MiB, the largest frame, writes to the
     * log.
     */
    STORE_SPACE_MARGIN = 2 * 1024 * 1024,
    /* With this many bytes of spare storage the deposits of a batch fit without unused pages of the
     * database: they have at most STORE_BATCH_BYTES of content, and a page each. */
    STORE_SPACE_PLENTY = 64 * 1024 * 1024
};

/* How much storage deposits may use. */
struct store_space_room {
    uint64_t page_bytes; /* of the database */
    uint64_t log;        /* bytes that fit into the log until its file exceeds its limit, or exceeds
                            its present size if that is larger */
    uint64_t reusable;   /* bytes of unused pages of the database, as far as they are counted */
    uint64_t spare;      /* bytes of free storage that is not reserved */
    uint64_t kept;       /* bytes of the reserve that operations other than deposits may use */
    bool is_closed;      /* so little storage is free that every new message is refused */
};

/* How much storage operations need. */
struct store_space_need {
    uint64_t page_bytes; /* set by the caller */
    uint64_t log;        /* bytes written to the log */
    uint64_t growth;     /* bytes by which the used part of the database grows */
};

/*
 * Returns the free bytes of the file system of `path`, without those that only root may use;
 * UINT64_MAX if statvfs does not tell.
 */
uint64_t store_space_free(const char *path);

/* Returns the size of a file in bytes; 0 if there is no file, or stat fails. */
uint64_t store_space_of_file(const char *path);

/*
 * Computes how much storage deposits may use. `free`: free bytes of the file system. `log_limit`:
 * the size at which the log is checkpointed. `log_bytes`: the present size of the log.
 * `page_bytes`: size of the pages of the database. `log_pages`: pages of the log that may not be in
 * the database yet. Sets `reusable` to 0; the caller may count these pages.
 */
void store_space_measure(uint64_t free, uint64_t log_limit, uint64_t log_bytes, uint64_t page_bytes,
                         uint64_t log_pages, struct store_space_room *out_room);

/* Whether the operation may store a message. */
bool store_space_is_deposit(const struct persist_op *op);

/*
 * Adds the storage that an operation needs to *need. This is an estimate: it does not count the
 * messages that a deposit evicts, and the sizes of messages that an operation deletes are not known
 * yet.
 */
void store_space_add(struct store_space_need *need, const struct persist_op *op);

/* Whether deposits with this need may be stored. */
bool store_space_fits(const struct store_space_room *room, const struct store_space_need *need);

/* Whether a transaction with this need may take a further operation that is no deposit. */
bool store_space_fits_log(const struct store_space_room *room, const struct store_space_need *need);

/*
 * Whether `room` bytes are enough for a store with `messages` messages, its log of `log_limit`
 * bytes and STORE_SPACE_MARGIN. `bytes`: filters, media types and payloads of the messages
 * together. `room`: the free storage plus the present size of the store. If false, out_reason
 * (PERSIST_REASON_BYTES) gets a sentence for the operator.
 */
bool store_space_suffices(const char *path, uint64_t messages, uint64_t bytes, uint64_t log_limit,
                          uint64_t room, char *out_reason);
