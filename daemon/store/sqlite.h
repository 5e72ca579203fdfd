/* SPDX-License-Identifier: Apache-2.0 */
/*
 * persist_sqlite: implements persist.h with SQLite in WAL mode. One thread writes. Another thread
 * reads payloads and pages through its own connection, so that no read waits for a commit.
 */
#ifndef DAEMON_STORE_SQLITE_H
#define DAEMON_STORE_SQLITE_H

#include <uv.h>

#include "daemon/store/persist.h"

struct persist_sqlite_options {
    uv_loop_t *loop;         /* borrowed */
    const char *directory;   /* directory of the database; exists, and the caller holds its lock
                                (datadir.h) */
    bool relaxed;            /* synchronous = NORMAL; else FULL */
    uint32_t scrub_after_ms; /* from a removal to the cut of the log with its bytes; 0: 30 s */
    uint32_t gather_ms;      /* how long a commit waits for more operations */
    int64_t marks_max;       /* maximum number of tombstones; when it is exceeded, the tombstones
                                that expire soonest are deleted; 0: 100,000 */
    uint64_t log_bytes;      /* size at which the log is checkpointed; 0: STORE_LOG_BYTES */
    uint64_t messages_max;   /* expected maximum number of messages; with `bytes_max` set, a warning
                                is logged if the storage cannot hold this number of messages */
    uint64_t bytes_max;      /* expected maximum bytes of the payloads, media types and filters of
                                all messages together; 0: not known, and no warning about storage is
                                logged */
    /*
     * Returns the free storage of the file system; NULL: store_space_free is used. The writer's
     * thread also calls this function.
     */
    uint64_t (*free_bytes)(const char *path);
};

/*
 * Opens or creates DIRECTORY/messages.db, checks the database and starts the threads. Returns 0; or
 * -ERR_DAMAGED, -ERR_VERSION (a newer or an older hearsayd wrote the file), -ERR_STORAGE,
 * -ERR_NOMEM or -ERR_SYSTEM. On failure out_reason (PERSIST_REASON_BYTES) tells the operator what
 * to do. A refused database is not written to. If the threads cannot be started, the function
 * leaves a closing handle on the loop: run the loop once more.
 */
int persist_sqlite_open(const struct persist_sqlite_options *options, struct persist **out_persist,
                        char *out_reason);

#endif
