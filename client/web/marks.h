/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marks: which characters are drawn over or under the one before. A page writes few of them in a
 * row, because many in a row cover the lines above and below.
 */
#ifndef CLIENT_WEB_MARKS_H
#define CLIENT_WEB_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether a character is a combining mark without a width of its own. O(log of the table). */
bool marks_is_combining(uint32_t character);

#endif
