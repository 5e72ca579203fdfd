/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/label_form.h"

#include <string.h>

#include "core/base/character.h"
#include "core/base/label.h"

enum { ADDRESS_BYTES = 6, ADDRESS_TEXT_BYTES = 3 * ADDRESS_BYTES - 1, LEVEL_MAX = 12 };

static char lower_of(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_hex(char lower)
{
    return character_is_digit(lower) || (lower >= 'a' && lower <= 'f');
}

/* Whether a text is a level behind `@`: 2 to LEVEL_MAX without a zero in front. */
static bool is_level(const char *text)
{
    size_t length = strlen(text);

    if (length == 1) {
        return text[0] >= '2' && text[0] <= '9';
    }
    return length == 2 && text[0] == '1' && text[1] >= '0' && text[1] <= '0' + LEVEL_MAX - 10;
}

/*
 * Each function below writes to `out`, which has room for LABEL_BYTES_MAX + 1 bytes, the value that
 * clients write for a value. It returns false if they have none.
 */

/* Reads an address as clients do: with colons, with dashes, or with nothing between its bytes. */
static bool wifi_form(const char *value, char *out)
{
    const char *at = memchr(value, '@', strlen(value));
    size_t length = at != NULL ? (size_t)(at - value) : strlen(value);
    char separator = length == ADDRESS_TEXT_BYTES ? value[2] : '\0';
    size_t step = separator != '\0' ? 3 : 2;

    if ((separator != '\0' || length != 2 * (size_t)ADDRESS_BYTES) && separator != ':' &&
        separator != '-') {
        return false;
    }
    for (size_t i = 0; i < ADDRESS_BYTES; i++) {
        const char *byte = value + i * step;

        out[3 * i] = lower_of(byte[0]);
        out[3 * i + 1] = lower_of(byte[1]);
        out[3 * i + 2] = ':';
        if (!is_hex(out[3 * i]) || !is_hex(out[3 * i + 1]) ||
            (step == 3 && i + 1 < ADDRESS_BYTES && byte[2] != separator)) {
            return false;
        }
    }
    memcpy(out + ADDRESS_TEXT_BYTES, value + length, strlen(value + length) + 1);
    return value[length] == '\0' || is_level(value + length + 1);
}

static bool geo_form(const char *value, char *out)
{
    size_t length = strlen(value);
    bool is_right = length >= 6 && length <= 8;

    for (size_t i = 0; i < length; i++) {
        out[i] = lower_of(value[i]);
        is_right = is_right && memchr(label_geohash_digits, out[i], LABEL_GEOHASH_DIGITS) != NULL;
    }
    out[length] = '\0';
    return is_right;
}

/* Whether a text has digits where the pattern has 0, and else the bytes of the pattern. */
static bool has_pattern(const char *text, const char *pattern)
{
    size_t length = strlen(pattern);

    if (strlen(text) != length) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if (pattern[i] == '0' ? !character_is_digit(text[i]) : text[i] != pattern[i]) {
            return false;
        }
    }
    return true;
}

static bool time_form(const char *value, char *out)
{
    memcpy(out, value, strlen(value) + 1);
    return has_pattern(value, "0000-00-00T00") || has_pattern(value, "w0T00");
}

/* The steps for topics in docs/protocol.md, as far as ASCII takes them. A text with other
 * characters passes as it is, or has no form here if the steps would change it. */
static bool topic_form(const char *value, char *out)
{
    const char *from = value;
    char *to = out;
    bool is_plain = true;

    while (*from == '#' || is_space(*from)) {
        from++;
    }
    for (; *from != '\0'; from++) {
        is_plain = is_plain && (is_space(*from) || (*from >= ' ' && *from < 0x7f));
        if (!is_space(*from)) {
            *to++ = lower_of(*from);
        } else if (to[-1] != ' ') { /* `out` does not begin with a blank */
            *to++ = ' ';
        }
    }
    to -= to > out && to[-1] == ' ';
    *to = '\0';
    return to > out && (is_plain || strcmp(out, value) == 0);
}

struct form {
    const char *attribute;
    bool (*of)(const char *value, char *out); /* NULL: any value */
    const char *advice;                       /* where `of` has no value to name */
};

static const struct form forms[] = {
    {"wifi:", wifi_form, "clients write the six bytes of an address, as in wifi:a4:2b:8c:01:02:03"},
    {"geo:", geo_form, "clients write a geohash of 6 to 8 characters, as in geo:u281zd"},
    {"time:", time_form, "clients write an hour in UTC, as in time:2026-11-20T14 or time:w5T14"},
    {"topic:", topic_form,
     "clients write topics in lower case; `hearsay context --topic TEXT` prints the label"},
    {"place:", NULL, NULL},
};

/* Returns the form of the attribute with which a text of at least `length` bytes begins, or NULL.
 */
static const struct form *form_of(const char *text, size_t length)
{
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        size_t bytes = strlen(forms[i].attribute);

        if (length >= bytes && memcmp(text, forms[i].attribute, bytes) == 0) {
            return &forms[i];
        }
    }
    return NULL;
}

/* Writes a sentence of three parts, each of which may be empty; together they fit. */
static int form_refuse(char *out_sentence, const char *begin, const char *middle, const char *end)
{
    const char *const parts[] = {begin, middle, end};

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        size_t length = strlen(parts[i]);

        memcpy(out_sentence, parts[i], length + 1);
        out_sentence += length;
    }
    return LABEL_REFUSED;
}

int label_form_check(const char *bytes, size_t length, char out_sentence[LABEL_FORM_SENTENCE_BYTES])
{
    char value[LABEL_BYTES_MAX + 1];
    char right[LABEL_BYTES_MAX + 1];
    const char *reason = NULL;

    if (label_check(bytes, length, &reason) != 0) {
        return form_refuse(out_sentence, reason, "", "");
    }
    for (size_t i = 1; i < length; i++) {
        const struct form *second = form_of(bytes + i, length - i);

        if (is_space(bytes[i - 1]) && second != NULL) {
            return form_refuse(out_sentence, "`", second->attribute,
                               "` begins a second label: write a comma between labels, and in a "
                               "`here_file` each on a line of its own");
        }
    }
    const struct form *form = form_of(bytes, length);
    if (form == NULL || form->of == NULL) {
        return 0;
    }
    size_t attribute_bytes = strlen(form->attribute);
    memcpy(value, bytes + attribute_bytes, length - attribute_bytes);
    value[length - attribute_bytes] = '\0';
    if (!form->of(value, right)) {
        return form_refuse(out_sentence, form->advice, "", "");
    }
    if (strcmp(value, right) != 0) {
        return form_refuse(out_sentence, "clients write ", form->attribute, right);
    }
    return 0;
}
