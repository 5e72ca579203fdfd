/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/label.h"

#include <stdint.h>
#include <string.h>

#include "core/base/character.h"

const char label_geohash_digits[LABEL_GEOHASH_DIGITS + 1] = "0123456789bcdefghjkmnpqrstuvwxyz";

/*
 * Each row has a range of first bytes of UTF-8 characters, the range of the second byte, and the
 * length of the characters in bytes (RFC 3629, section 4). Together the ranges leave out overlong
 * forms, surrogates and numbers above U+10FFFF.
 */
struct utf8_form {
    uint8_t first_low, first_high;
    uint8_t second_low, second_high; /* 0 in the row of the characters of one byte */
    size_t length;
};

static const struct utf8_form utf8_forms[] = {
    {0x00, 0x7f, 0x00, 0x00, 1}, {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
    {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
    {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
};

size_t label_character(const char *bytes, size_t length)
{
    const uint8_t *at = (const uint8_t *)bytes;

    for (size_t i = 0; i < sizeof(utf8_forms) / sizeof(utf8_forms[0]); i++) {
        const struct utf8_form *form = &utf8_forms[i];

        if (at[0] < form->first_low || at[0] > form->first_high) {
            continue;
        }
        if (form->length > length) {
            return 0;
        }
        for (size_t j = 1; j < form->length; j++) {
            uint8_t low = j == 1 ? form->second_low : 0x80;
            uint8_t high = j == 1 ? form->second_high : 0xbf;

            if (at[j] < low || at[j] > high) {
                return 0;
            }
        }
        return form->length;
    }
    return 0;
}

/*
 * Returns the length of the run of ASCII bytes at the start of `at`, rounded down to a multiple of
 * 8. The loop tests 8 bytes at once.
 */
static size_t ascii_run(const uint8_t *at, size_t length)
{
    size_t run = 0;
    uint64_t word = 0;

    while (length - run >= sizeof(word)) {
        memcpy(&word, at + run, sizeof(word));
        if ((word & UINT64_C(0x8080808080808080)) != 0) {
            break;
        }
        run += sizeof(word);
    }
    return run;
}

bool label_is_utf8(const char *bytes, size_t length)
{
    size_t at = ascii_run((const uint8_t *)bytes, length);

    while (at < length) {
        size_t step = label_character(bytes + at, length - at);

        if (step == 0) {
            return false;
        }
        at += step;
    }
    return true;
}

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

/*
 * Returns why the attribute of a label is refused, or NULL if the attribute is valid. The attribute
 * is the first `colon` bytes.
 */
static const char *attribute_reason(const char *bytes, size_t colon)
{
    if (colon == 0) {
        return "the attribute before ':' is missing; a label is attribute:value";
    }
    if (!is_lower(bytes[0])) {
        return "the attribute must begin with a letter a-z";
    }
    for (size_t i = 1; i < colon; i++) {
        if (!is_lower(bytes[i]) && !character_is_digit(bytes[i])) {
            return "the attribute may hold only letters a-z and digits 0-9";
        }
    }
    return NULL;
}

static const char *label_reason(const char *bytes, size_t length)
{
    if (length == 0) {
        return "the label is empty; a label is attribute:value";
    }
    if (length > LABEL_BYTES_MAX) {
        return "the label is too long; at most 240 bytes are allowed";
    }
    if (memchr(bytes, '\0', length) != NULL) {
        return "the label holds a NUL byte; it must be UTF-8 text without one";
    }
    if (!label_is_utf8(bytes, length)) {
        return "the label is not well-formed UTF-8";
    }
    const char *colon = memchr(bytes, ':', length);
    if (colon == NULL) {
        return "the label has no ':'; a label is attribute:value";
    }
    size_t attribute_bytes = (size_t)(colon - bytes);
    const char *reason = attribute_reason(bytes, attribute_bytes);
    if (reason == NULL && attribute_bytes + 1 == length) {
        reason = "the value after ':' is missing; a label is attribute:value";
    }
    return reason;
}

int label_check(const char *bytes, size_t length, const char **out_reason)
{
    const char *reason = label_reason(bytes, length);

    if (reason != NULL) {
        *out_reason = reason;
        return LABEL_REFUSED;
    }
    return 0;
}
