/* SPDX-License-Identifier: Apache-2.0 */
/*
 * terminal: characters of other people's text as a terminal may show them.
 *
 * Unsafe characters are controls, characters that change the direction of text, most invisible
 * characters, line separators, tags, private use characters, and some code points that are no
 * characters. A newline is shown as \n and a tab as \t. Every other unsafe character below 128, and
 * every byte that is not UTF-8, is shown as \x and two hexadecimal digits. An unsafe character from
 * 128 on is shown as \u{...}, for example \u{202e}. All other characters are shown unchanged.
 *
 * The width of a character comes from a short table of wide and combining characters and does not
 * depend on the locale.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One character as it is shown. */
struct terminal_glyph {
    char shown[16]; /* with a NUL behind */
    size_t bytes;   /* of the input; at least 1 */
    size_t columns;
};

/*
 * Decodes the first code point of `length` bytes of UTF-8 (RFC 3629), length >= 1. Returns the
 * number of bytes of the code point, or 0 when the bytes do not start with a code point.
 */
size_t terminal_decode(const char *bytes, size_t length, uint32_t *out_code);

/* Whether a character is unsafe. O(log of the table). */
bool terminal_is_unsafe(uint32_t code);

/* The first character of `length` bytes, length >= 1, in its shown form. */
void terminal_next_glyph(const char *bytes, size_t length, struct terminal_glyph *out);
