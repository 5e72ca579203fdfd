/* SPDX-License-Identifier: Apache-2.0 */
/*
 * datadir: the data directory of a daemon, and its lock.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

enum { DATADIR_PATH_BYTES = 4096 };

/*
 * Makes the data directory (0700), and its missing parents with the mode `parents`. out_path gets
 * the name without slashes at its end. *out_made: the directory itself is new. Returns 0, or
 * -ERR_SYSTEM with a sentence in out_reason (REASON_BYTES).
 */
int datadir_make(const char *directory, mode_t parents, char out_path[DATADIR_PATH_BYTES],
                 bool *out_made, char *out_reason);

/*
 * Makes the data directory (0700, with missing parents) if it does not exist. Checks that the
 * effective user of the process owns the directory, and that the mode of the directory gives no
 * write permission to its group or to others. If `needs_storage`, refuses a directory on tmpfs or
 * ramfs. Locks the directory: flock on DIRECTORY/lock, held until the process ends or
 * datadir_unlock.
 *
 * Returns 0 with a descriptor in *out_lock; or -ERR_SYSTEM with a sentence for the operator in
 * out_reason (REASON_BYTES).
 */
int datadir_lock(const char *directory, bool needs_storage, int *out_lock, char *out_reason);
void datadir_unlock(int lock);
