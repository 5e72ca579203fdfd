/* SPDX-License-Identifier: Apache-2.0 */
/*
 * datadir: the data directory, which one daemon locks while it runs.
 */
#ifndef DAEMON_SYSTEM_DATADIR_H
#define DAEMON_SYSTEM_DATADIR_H

#include <stdbool.h>

/*
 * Makes the directory (0700, with missing parents) if it is not there, checks that it is ours and
 * that no one else may write to it, refuses a memory file system when durability asks for storage,
 * and locks it (flock on DIRECTORY/lock, held until the process ends or datadir_unlock).
 *
 * 0 with a descriptor in *out_lock; or -ERR_SYSTEM with a sentence for the operator in out_reason
 * (REASON_BYTES) that names the directory and the setting to change.
 */
int datadir_lock(const char *directory, bool needs_storage, int *out_lock, char *out_reason);
void datadir_unlock(int lock);

#endif
