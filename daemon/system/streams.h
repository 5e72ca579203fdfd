/* SPDX-License-Identifier: Apache-2.0 */
/* streams: the standard streams of a program. */
#ifndef DAEMON_SYSTEM_STREAMS_H
#define DAEMON_SYSTEM_STREAMS_H

#include <stdbool.h>

/*
 * Opens /dev/null for each standard stream that is closed. Otherwise a file or socket that is
 * opened later could get the descriptor of the stream, and writes to the stream would go there.
 * Reading from such an input, and writing to such an output, still fails.
 */
void streams_keep(void);

/* Returns whether everything that was printed to standard output has been written. If not, prints
 * the error to standard error, with the name `program` before the error. */
bool streams_finish(const char *program);

#endif
