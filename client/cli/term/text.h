/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text: other people's text, made harmless for a terminal.
 *
 * What could move the cursor, change colours, or show text in another order than it stands is
 * written as an escape in ASCII: \n, \t, \x1b for bytes below 128 and for bytes that are not UTF-8,
 * \u{202e} for the rest. Widths follow a short table of wide and of combining characters; they need
 * no locale.
 */
#ifndef CLIENT_CLI_TERM_TEXT_H
#define CLIENT_CLI_TERM_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * The first code point of `length` >= 1 bytes of UTF-8 (RFC 3629) and how many bytes it takes; 0
 * where they do not begin with one.
 */
size_t text_decode(const char *bytes, size_t length, uint32_t *out_code);

/* Whether all of it is UTF-8, without NUL. */
bool text_is_utf8(const char *bytes, size_t length);

/* Drops bytes that are not UTF-8, such as half a character where text was cut. */
void text_drop_invalid(char *text);

/* Columns that the clean form takes; counts no further than just over `limit`. */
size_t text_columns(const char *bytes, size_t length, size_t limit);

/*
 * Writes the clean form. width: columns at most, 0 for no limit; what does not fit is cut and
 * replaced by an ellipsis. Returns the columns written. Errors stay in the stream's error flag.
 */
size_t text_print(FILE *stream, const char *bytes, size_t length, size_t width);

/* The same for several lines: newlines and tabs pass, and no width. */
void text_print_lines(FILE *stream, const char *bytes, size_t length);

#endif
