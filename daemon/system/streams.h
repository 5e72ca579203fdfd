/* SPDX-License-Identifier: Apache-2.0 */
/* streams: the standard streams of a program. */
#ifndef DAEMON_SYSTEM_STREAMS_H
#define DAEMON_SYSTEM_STREAMS_H

#include <stdbool.h>

/*
 * Opens /dev/null for each standard stream that is closed. Otherwise the next file or socket would
 * get the descriptor of the stream, and the log would go there. Reading or writing such a stream
 * still fails.
 */
void streams_keep(void);

/* Returns whether everything that was printed to standard output has been written. If not, prints
 * the error, with the program's name before it. */
bool streams_finish(const char *program);

#endif
