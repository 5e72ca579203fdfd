/* SPDX-License-Identifier: Apache-2.0 */
/*
 * persist_sqlite: persist on SQLite in WAL mode. One thread owns the writer, another reads payloads
 * and pages through its own connection, so that no read waits for a commit.
 */
#ifndef DAEMON_STORE_SQLITE_H
#define DAEMON_STORE_SQLITE_H

#include <uv.h>

#include "daemon/store/persist.h"

struct persist_sqlite_options {
    uv_loop_t *loop;         /* borrowed */
    const char *directory;   /* of the database; exists, and is locked by the caller (datadir.h) */
    bool relaxed;            /* synchronous = NORMAL; else FULL */
    uint32_t scrub_after_ms; /* removed messages' bytes leave the log so soon; 0: 30 s */
    uint32_t gather_ms;      /* operations wait so long for others, to share a commit */
    int64_t marks_max;       /* of withdrawn ids; over it, those that end soonest go; 0: 100,000 */
    uint64_t log_bytes;      /* size at which the log is checkpointed; 0: STORE_LOG_BYTES */
    uint64_t messages_max;   /* with bytes_max: what the storage should have room for, else there */
    uint64_t bytes_max;      /* is a warning in the log; 0: not known */
    /* Free storage of the database's file system, as store_space_free says it. Called by the
       writer's thread, too. NULL: store_space_free. */
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
