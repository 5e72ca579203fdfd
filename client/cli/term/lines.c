/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cli/term/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { READ_BYTES = 64 * 1024 };

void lines_init(struct lines *lines, int fd)
{
    memset(lines, 0, sizeof(*lines));
    lines->fd = fd;
}

void lines_deinit(struct lines *lines)
{
    free(lines->buffer);
    memset(lines, 0, sizeof(*lines));
}

/* Marks `length` bytes and the `ending` bytes behind them as returned. */
static void lines_give(struct lines *lines, size_t length, size_t ending)
{
    lines->start += length + ending;
    lines->scanned = lines->start;
    lines->bytes += length + ending;
}

static int give_line(struct lines *lines, size_t length, size_t ending, const char **out_line,
                     size_t *out_length)
{
    const char *line = lines->buffer + lines->start;
    lines_give(lines, length, ending);
    if (lines->skipping) {
        lines->skipping = false;
        return LINES_TOO_LONG; /* counted when it was found to be too long */
    }
    lines->number++;
    if (length > LINES_BYTES_MAX) {
        return LINES_TOO_LONG;
    }
    if (lines->number == 1 && length >= 3 && memcmp(line, "\xEF\xBB\xBF", 3) == 0) {
        line += 3;
        length -= 3;
    }
    *out_line = line;
    *out_length = length > 0 && line[length - 1] == '\r' ? length - 1 : length;
    return 0;
}

int lines_next(struct lines *lines, const char **out_line, size_t *out_length)
{
    size_t waiting = lines->end - lines->scanned;
    const char *newline =
        waiting > 0 ? memchr(lines->buffer + lines->scanned, '\n', waiting) : NULL;
    if (newline != NULL) {
        size_t length = (size_t)(newline - (lines->buffer + lines->start));
        return give_line(lines, length, 1, out_line, out_length);
    }
    lines->scanned = lines->end;
    size_t length = lines->end - lines->start;
    if (lines->ended) {
        return length == 0 && !lines->skipping ? LINES_END
                                               : give_line(lines, length, 0, out_line, out_length);
    }
    if (length > LINES_BYTES_MAX) {
        lines->number += lines->skipping ? 0 : 1;
        lines->skipping = true;
        lines_give(lines, length, 0);
    }
    return LINES_MORE;
}

/*
 * Makes room for READ_BYTES bytes in the buffer, behind the bytes that were read. Returns 0 or
 * ENOMEM.
 */
static int make_room(struct lines *lines)
{
    if (lines->start > 0) {
        memmove(lines->buffer, lines->buffer + lines->start, lines->end - lines->start);
        lines->end -= lines->start;
        lines->scanned -= lines->start;
        lines->start = 0;
    }
    if (lines->capacity - lines->end >= READ_BYTES) {
        return 0;
    }
    size_t capacity = 2 * lines->capacity + READ_BYTES;
    char *buffer = realloc(lines->buffer, capacity);
    if (buffer == NULL) {
        return ENOMEM;
    }
    lines->buffer = buffer;
    lines->capacity = capacity;
    return 0;
}

int lines_read(struct lines *lines)
{
    int status = make_room(lines);
    if (status != 0) {
        return status;
    }
    for (;;) {
        ssize_t got = read(lines->fd, lines->buffer + lines->end, READ_BYTES);
        if (got >= 0) {
            lines->ended = got == 0;
            lines->end += (size_t)got;
            return 0;
        }
        if (errno != EINTR) {
            return errno;
        }
    }
}
