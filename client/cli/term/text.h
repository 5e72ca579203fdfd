/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text: escapes other people's text for a terminal.
 *
 * Characters that move the cursor, change colours or reorder text are printed as ASCII escapes: \n,
 * \t, \x1b for bytes below 128 and for bytes that are not UTF-8, \u{202e} for the others. Column
 * widths come from a short table of wide and combining characters, without a locale.
 */
#ifndef CLIENT_CLI_TERM_TEXT_H
#define CLIENT_CLI_TERM_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Whether all bytes are UTF-8 without NUL. */
bool text_is_utf8(const char *bytes, size_t length);

/* Removes bytes that are not UTF-8, such as half a character where the text was cut. */
void text_drop_invalid(char *text);

/*
 * Prints the escaped form. width: columns at most, 0: no limit; longer text is cut and ends with an
 * ellipsis. Returns the columns written. Errors stay in the stream's error flag.
 */
size_t text_print(FILE *stream, const char *bytes, size_t length, size_t width);

/* The same without a width; newlines and tabs are not escaped. */
void text_print_lines(FILE *stream, const char *bytes, size_t length);

#endif
