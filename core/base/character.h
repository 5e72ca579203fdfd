/* SPDX-License-Identifier: Apache-2.0 */
/*
 * character: which characters of Unicode can be seen. A text in which nothing can be seen is an
 * empty card on the page for phones, on which a reader finds nothing to report; many combining
 * marks in a row cover the lines above and below.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool character_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Whether a character is a combining mark without a width of its own. O(log of the table). */
bool character_is_combining(uint32_t character);

/*
 * Whether nothing is seen of a character that stands alone: spaces, controls, formats such as
 * U+200B, variation selectors, fillers such as U+3164, the blank of Braille, and combining marks of
 * all kinds. A character that no version of Unicode has assigned yet can be seen, because it is
 * drawn as a box. O(log of the table).
 */
bool character_is_blank(uint32_t character);

/*
 * Whether `length` bytes of text have a character that can be seen. Bytes that are not UTF-8 can
 * be seen, because all readers write something in their place. O(length).
 */
bool character_any_seen(const char *text, size_t length);
