/* SPDX-License-Identifier: Apache-2.0 */
/* hex: hexadecimal digits. */
#pragma once

/*
 * Returns the value 0 to 15 of a hexadecimal digit, small or capital; -1 for any other character.
 */
static inline int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    char lower = (char)(c | 0x20); /* this bit is set in small ASCII letters, and not in capitals */
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}
