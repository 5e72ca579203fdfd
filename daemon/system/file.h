/* SPDX-License-Identifier: Apache-2.0 */
/* file: reading small files whole. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Reads a text file from a descriptor, at most `room` bytes. Some editors write a byte order mark
 * at the beginning of a file; it is left out. Returns the number of bytes in `buffer`, or -errno.
 */
ssize_t file_read_all(int fd, char *buffer, size_t room);

/* Opens a file, reads at most its first `room` bytes, and closes the file. Returns the number of
 * bytes, or -errno. */
ssize_t file_read(const char *path, char *buffer, size_t room);

/* Removes a Unix socket that no process listens on: a killed program leaves such a file. Returns
 * whether it was removed. `path` fits a struct sockaddr_un. */
bool file_remove_stale_socket(const char *path);

/* --- streams ---------------------------------------------------------------------------------- */

/* The standard streams of a program. */

/*
 * Opens /dev/null for each standard stream that is closed. Otherwise a file or socket that is
 * opened later could get the descriptor of the stream, and writes to the stream would go there.
 * Reading from such an input, and writing to such an output, still fails.
 */
void streams_keep(void);

/* Returns whether everything that was printed to standard output has been written. If not, prints
 * the error to standard error, with the name `program` before the error. */
bool streams_finish(const char *program);
