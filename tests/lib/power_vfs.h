/* SPDX-License-Identifier: Apache-2.0 */
/*
 * power_vfs: a file system for SQLite that knows what would be left if the power failed now.
 *
 * It passes everything on to the real file system, except that nothing is synced there; and beside
 * it notes for each file what is on storage, and what was written, cut or deleted since and is only
 * on its way. A snapshot of that may be taken at any moment, from any thread, and be turned into
 * files as often as one likes, each time with another part of what was on its way:
 *
 *   - a write is cut into sectors; of each, all arrives, nothing, or its first bytes. What was
 *     there before stays otherwise; no byte arrives that was not written, and a gap that a file
 *     grows over is zeros;
 *   - a truncation happens or does not;
 *   - a file that was made or deleted since its directory was last synced is there or not. SQLite
 *     syncs the directory with the first sync of a new log or journal, and with some deletions;
 *   - the shared memory beside a log is gone.
 *
 * So it is with what our own code does in that directory with open, write, fsync, link, unlink and
 * rename, in executables that are linked with power_vfs_link_args. A content may have several
 * names; each of them arrives, or goes, by itself.
 *
 * For a whole test process: SQLite's register is global.
 */
#pragma once

#include <stddef.h>

#include "tests/lib/rng.h"

/* Once, before any other use of SQLite: it becomes the default. */
void power_vfs_install(void);

/* Forgets all files; those that are in the directory now are on storage. No file may be open there.
 */
void power_vfs_begin(const char *directory);

/* Is called before each change of a file, on the thread that makes it. NULL: nobody. */
void power_vfs_observe(void (*before_change)(void *context), void *context);

/* From now on syncs do nothing and say that they did, as some storage does. */
void power_vfs_ignore_syncs(bool ignored);

/* What is on storage and what is on its way. Owned; power_snapshot_free. */
struct power_snapshot;
struct power_snapshot *power_vfs_snapshot(void);
void power_snapshot_free(struct power_snapshot *snapshot); /* NULL is fine */

/* Writes files that a power cut might leave into an empty directory. */
void power_snapshot_restore(const struct power_snapshot *snapshot, struct rng *rng,
                            const char *directory);
