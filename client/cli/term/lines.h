/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lines: lines out of a descriptor, so that one can wait for it and for a socket at once.
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
    size_t start;    /* given out up to here */
    size_t scanned;  /* no newline before here */
    size_t end;      /* filled up to here */
    bool ended;      /* the input's end was read */
    bool skipping;   /* within a line that is too long */
    uint64_t number; /* of the line given out last, from 1 */
    uint64_t bytes;  /* given out, with their newlines */
};

/* Nothing is read yet. fd is borrowed, and must stay open until lines_deinit. */
void lines_init(struct lines *lines, int fd);
void lines_deinit(struct lines *lines); /* a zeroed one is fine */

/*
 * The next line that is buffered whole, without its newline (and without a carriage return before
 * it): 0 with *out_line borrowed until the next call. LINES_MORE: read first. LINES_END.
 * LINES_TOO_LONG: line `number` is over the limit and was skipped; call again. The last line need
 * not end in a newline.
 */
enum { LINES_MORE = 1, LINES_END = 2, LINES_TOO_LONG = 3 };
int lines_next(struct lines *lines, const char **out_line, size_t *out_length);

/* Reads once, waiting where there is nothing yet. 0, or the errno. */
int lines_read(struct lines *lines);

#endif
