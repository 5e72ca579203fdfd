/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text: escapes text from other users for a terminal.
 *
 * Characters that move the cursor, change colours or reorder text are printed as ASCII escapes. A
 * newline becomes \n and a tab \t. Other controls below 128 and bytes that are not UTF-8 become \x
 * and two hexadecimal digits. Other characters become \u{...}, for example \u{202e}. The width of a
 * character comes from a short table of wide and combining characters and does not depend on the
 * locale.
 */
#ifndef CLIENT_CLI_TERM_TEXT_H
#define CLIENT_CLI_TERM_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Whether all bytes are UTF-8 without NUL. */
bool text_is_utf8(const char *bytes, size_t length);

/* Removes bytes that are not UTF-8, such as the half of a character that was cut. */
void text_drop_invalid(char *text);

/*
 * Prints the escaped form of the text. `width` is the largest number of columns, 0 means no limit.
 * Longer text is cut and ends with an ellipsis. Returns the number of columns printed. The stream's
 * error flag shows write errors.
 */
size_t text_print(FILE *stream, const char *bytes, size_t length, size_t width);

/* Prints the escaped form of the text without a limit. Newlines and tabs are not escaped. */
void text_print_lines(FILE *stream, const char *bytes, size_t length);

#endif
