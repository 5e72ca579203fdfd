/* SPDX-License-Identifier: Apache-2.0 */
/* file: reading small files whole. */
#ifndef DAEMON_SYSTEM_FILE_H
#define DAEMON_SYSTEM_FILE_H

#include <stddef.h>
#include <sys/types.h>

/* Reads from a descriptor until its end, at most `room` bytes. Returns the number of bytes, or
 * -errno. */
ssize_t file_read_all(int fd, char *buffer, size_t room);

/* Opens a file, reads at most its first `room` bytes, and closes the file. Returns the number of
 * bytes, or -errno. */
ssize_t file_read(const char *path, char *buffer, size_t room);

#endif
