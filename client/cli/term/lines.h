/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lines: reads lines from a file descriptor. lines_next never blocks, unlike stdio. So the caller
 * can wait for the descriptor and for a socket at the same time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LINES_BYTES_MAX = 4 * 1024 * 1024 }; /* of one line */

struct lines {
    int fd;       /* borrowed */
    char *buffer; /* owned */
    size_t capacity;
    size_t start;    /* bytes before are returned already */
    size_t scanned;  /* bytes from start to here have no newline */
    size_t end;      /* end of the bytes read */
    bool ended;      /* the input's end was read */
    bool skipping;   /* within a line that is too long */
    uint64_t number; /* of the line returned last, from 1 */
    uint64_t bytes;  /* returned, newlines included */
};

/* Initialises the struct and reads nothing. The caller keeps `fd` open until lines_deinit. */
void lines_init(struct lines *lines, int fd);
void lines_deinit(struct lines *lines); /* a zeroed one is fine */

/*
 * Finds the next complete line in the buffer. The newline at the end of the line, and a carriage
 * return before the newline, are removed, and so is the mark of UTF-8 that some editors write in
 * front of the first line. The last line of the input may lack a newline. Returns:
 *
 *   0               *out_line is the line, borrowed until the next lines_read or lines_deinit
 *   LINES_MORE      no line is complete: call lines_read, then call again
 *   LINES_END       the input has no more lines
 *   LINES_TOO_LONG  line `number` exceeds the limit and was skipped: call again
 */
enum { LINES_MORE = 1, LINES_END = 2, LINES_TOO_LONG = 3 };
int lines_next(struct lines *lines, const char **out_line, size_t *out_length);

/*
 * Reads once from the descriptor. Blocks until there is something to read or the input ends.
 * Returns 0, or the value of errno.
 */
int lines_read(struct lines *lines);
