/* SPDX-License-Identifier: Apache-2.0 */
/*
 * label: one string of a context, `attribute:value`, for example wifi:a4:2b:8c:01:02:03.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { LABEL_BYTES_MAX = 240 };

/*
 * Checks that `length` bytes are a label: UTF-8 without NUL, at most LABEL_BYTES_MAX bytes; an
 * attribute [a-z][a-z0-9]*, a colon, and a value of at least one byte. Returns 0 or LABEL_REFUSED.
 * With LABEL_REFUSED, *out_reason is a text that says what is wrong (static storage). O(length).
 */
enum { LABEL_REFUSED = 1 };
int label_check(const char *bytes, size_t length, const char **out_reason);

/*
 * Returns the length in bytes of the UTF-8 character at the start of `bytes`, or 0 if `bytes` does
 * not start with a well-formed character. `length` is at least 1.
 */
size_t label_character(const char *bytes, size_t length);

/*
 * Returns whether `length` bytes are well-formed UTF-8 (RFC 3629: no surrogates, no overlong
 * forms).
 */
bool label_is_utf8(const char *bytes, size_t length);

/* The 32 digits of a geohash: 0-9 and b-z without i, l and o (Niemeyer 2008). */
enum { LABEL_GEOHASH_DIGITS = 32 };
extern const char label_geohash_digits[LABEL_GEOHASH_DIGITS + 1];
