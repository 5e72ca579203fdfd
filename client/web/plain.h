/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plain: text of others where there is no HTML, for a terminal and for programs. No character of it
 * moves a cursor, changes a colour or the direction of what follows: each is written as
 * core/base/terminal.h says, and in JSON as \u and four digits.
 */
#pragma once

#include "client/web/html.h"

enum { PLAIN_COLUMNS = 80, PLAIN_INDENT = 2 };

/* Writes a text that ends with NUL, as part of a line. */
void plain_string(struct html *html, const char *text);

/*
 * Writes a message of `count` bytes in lines of at most PLAIN_COLUMNS columns, indented by
 * PLAIN_INDENT. Lines of its own stay; of several empty lines one is left. Stops behind
 * `characters_max` characters or `lines_max` lines. Returns whether the whole message was written.
 */
bool plain_message(struct html *html, const char *text, size_t count, size_t characters_max,
                   size_t lines_max);

/* Writes a string of JSON in its quotes. It has all characters of the text; a byte that is not
 * UTF-8 becomes U+FFFD. */
void plain_json(struct html *html, const char *text, size_t count);

/* Writes Unix milliseconds of the years 1970 to 9999 as 2026-11-20T14:05:09.123Z. Other times are
 * written as the nearest of these. */
void plain_time(struct html *html, int64_t ms);
