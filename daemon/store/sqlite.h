/* SPDX-License-Identifier: Apache-2.0 */
/*
 * persist_sqlite: the implementation of persist.h on SQLite in WAL mode. One thread writes. Another
 * thread reads payloads and pages through a connection of its own, so that no read waits for a
 * commit.
 */
#ifndef DAEMON_STORE_SQLITE_H
#define DAEMON_STORE_SQLITE_H

#include <uv.h>

#include "daemon/store/persist.h"

struct persist_sqlite_options {
    uv_loop_t *loop;         /* borrowed */
    const char *directory;   /* of the database; exists, and is locked by the caller (datadir.h) */
    bool relaxed;            /* synchronous = NORMAL; else FULL */
    uint32_t scrub_after_ms; /* from a removal to the cut of the log with its bytes; 0: 30 s */
    uint32_t gather_ms;      /* how long a commit waits for more operations */
    int64_t marks_max;       /* tombstones; over it, those that expire soonest go; 0: 100,000 */
    uint64_t log_bytes;      /* size at which the log is checkpointed; 0: STORE_LOG_BYTES */
    uint64_t messages_max;   /* a warning is logged unless the storage can hold so many messages */
    uint64_t bytes_max;      /* with so many bytes in all; 0: not known */
    /* Gives the free storage of the file system; NULL: store_space_free. The writer's thread calls
       it, too. */
    uint64_t (*free_bytes)(const char *path);
};

/*
 * Opens or creates DIRECTORY/messages.db, checks it and starts the threads. 0; or negative with a
 * sentence for the operator in out_reason (PERSIST_REASON_BYTES) that says what to do:
 * -ERR_DAMAGED, -ERR_VERSION (a newer or an older hearsayd wrote it), -ERR_STORAGE, -ERR_NOMEM,
 * -ERR_SYSTEM. A database that is refused is not written to. If the threads cannot be started, a
 * handle is left closing: run the loop once more.
 */
int persist_sqlite_open(const struct persist_sqlite_options *options, struct persist **out_persist,
                        char *out_reason);

#endif
