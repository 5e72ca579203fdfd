/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text: escapes text from other users for a terminal.
 *
 * Unsafe characters are controls, characters that change the direction of text, most invisible
 * characters, line separators, tags, private use characters, and some code points that are no
 * characters. A newline is printed as \n and a tab as \t. Every other unsafe character below 128,
 * and every byte that is not UTF-8, is printed as \x and two hexadecimal digits. An unsafe
 * character from 128 on is printed as \u{...}, for example \u{202e}. All other characters are
 * printed unchanged.
 *
 * The width of a character comes from a short table of wide and combining characters and does not
 * depend on the locale.
 */
#ifndef CLIENT_CLI_TERM_TEXT_H
#define CLIENT_CLI_TERM_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Returns whether all bytes are UTF-8 without NUL. */
bool text_is_utf8(const char *bytes, size_t length);

/* Removes bytes that are not UTF-8, such as the half of a character that was cut. */
void text_drop_invalid(char *text);

/*
 * Prints the escaped form of the text. `width` is the largest number of columns, 0 means no limit.
 * Longer text is cut and ends with an ellipsis. Returns the number of columns printed. The stream's
 * error flag shows write errors.
 */
size_t text_print(FILE *stream, const char *bytes, size_t length, size_t width);

/* Prints the escaped form of the text, without a limit of columns. Newlines and tabs are printed
 * unchanged. */
void text_print_lines(FILE *stream, const char *bytes, size_t length);

#endif
