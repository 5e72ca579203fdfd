/* SPDX-License-Identifier: Apache-2.0 */
/*
 * persist_sqlite: implements persist.h with SQLite in WAL mode. One thread writes. Another thread
 * reads messages through a connection of its own, so that no read waits for a commit.
 */
#pragma once

#include <uv.h>

#include "daemon/store/persist.h"

struct persist_sqlite_options {
    uv_loop_t *loop;         /* borrowed */
    const char *directory;   /* directory of the database; exists, and the caller holds its lock
                                (datadir.h) */
    bool relaxed;            /* synchronous = NORMAL; else FULL */
    uint32_t scrub_after_ms; /* time from a removal to the truncation of the log, which may still
                                have the removed bytes; 0: 30 s */
    uint32_t gather_ms;      /* how long the writer waits for more operations before a commit */
    uint32_t group_us;       /* how long, after `gather_ms`, the writer waits at most until half as
                                many operations as usual wait (writer.c) */
    int64_t marks_max;       /* maximum number of tombstones; when it is exceeded, the tombstones
                                that expire soonest are deleted; 0: 100,000 */
    uint64_t log_bytes;      /* bytes of frames in the log at which a checkpoint runs; 0:
                                STORE_LOG_BYTES */
    uint64_t messages_max;   /* expected maximum number of messages; used with `bytes_max` */
    uint64_t
        bytes_max; /* expected maximum bytes of the payloads, media types and filters of
                      all messages together. A new store has pages of 1024 bytes if this
                      is at most 16 MiB, else of 4096. If the storage cannot hold `messages_max`
                      messages with these bytes, a warning is logged. 0: no warning */
    /*
     * Returns the bytes of free storage of the file system of `path`; NULL: store_space_free is
     * used. The writer's thread calls this function, too.
     */
    uint64_t (*free_bytes)(const char *path);
};

/*
 * Opens or creates DIRECTORY/messages.db, checks the database and starts the threads. Returns 0; or
 * -ERR_DAMAGED, -ERR_VERSION (a newer or an older hearsayd wrote the file), -ERR_STORAGE,
 * -ERR_NOMEM or -ERR_SYSTEM. On failure out_reason (PERSIST_REASON_BYTES) has a sentence for the
 * operator. With -ERR_DAMAGED and -ERR_VERSION the database is unchanged. If the threads cannot be
 * started, the function leaves a closing handle on the loop: run the loop once more.
 */
int persist_sqlite_open(const struct persist_sqlite_options *options, struct persist **out_persist,
                        char *out_reason);
