/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_restore: a backup becomes the database of a data directory that has none. For the command
 * line, while no daemon runs on that directory (the caller holds its lock).
 */
#ifndef DAEMON_STORE_RESTORE_H
#define DAEMON_STORE_RESTORE_H

#include <stdint.h>

/*
 * Copies the file that is open for reading as `source` (its name for sentences is `file`), checks
 * the copy whole, every message by its checksum, gives it a new store
 * id, since clients' cursors are of what came after the backup, and only then names it
 * DIRECTORY/messages.db. 0 with the number of messages; or negative with a sentence in out_reason
 * (PERSIST_REASON_BYTES), and the directory is as it was.
 */
int store_restore(const char *directory, int source, const char *file, uint64_t *out_messages,
                  char *out_reason);

#endif
