/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_restore: a backup becomes the database of a data directory that has none. For the command
 * line, while no daemon runs on that directory (the caller holds its lock).
 */
#ifndef DAEMON_STORE_RESTORE_H
#define DAEMON_STORE_RESTORE_H

#include <stdint.h>

/*
 * Copies the file that is open for reading as `source` (`file` is its name for sentences), checks
 * the whole copy, every message by its checksum, and names it DIRECTORY/messages.db. The copy gets
 * a new store id: cursors of clients may point behind the end of the backup. 0 with the number of
 * messages; or negative with a sentence in out_reason (PERSIST_REASON_BYTES), and the directory is
 * unchanged.
 */
int store_restore(const char *directory, int source, const char *file, uint64_t *out_messages,
                  char *out_reason);

#endif
