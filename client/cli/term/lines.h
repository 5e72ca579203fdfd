/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lines: reads lines from a file descriptor. Unlike stdio it never blocks on its own, so the caller
 * can wait for the descriptor and a socket at the same time.
 */
#ifndef CLIENT_CLI_TERM_LINES_H
#define CLIENT_CLI_TERM_LINES_H

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

/* Reads nothing yet. fd is borrowed and must stay open until lines_deinit. */
void lines_init(struct lines *lines, int fd);
void lines_deinit(struct lines *lines); /* a zeroed one is fine */

/*
 * The next complete line in the buffer, without its newline and a carriage return before that: 0
 * with *out_line borrowed until the next call. LINES_MORE: call lines_read first. LINES_END: no
 * more lines. LINES_TOO_LONG: line `number` exceeds the limit and was skipped; call again. The last
 * line may lack its newline.
 */
enum { LINES_MORE = 1, LINES_END = 2, LINES_TOO_LONG = 3 };
int lines_next(struct lines *lines, const char **out_line, size_t *out_length);

/* Reads once; blocks while there is nothing to read. 0, or the errno. */
int lines_read(struct lines *lines);

#endif
