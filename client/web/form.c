/* SPDX-License-Identifier: Apache-2.0 */
#include "client/web/form.h"

#include <string.h>

#include "core/base/hex.h"

/*
 * Decodes `bytes` of `text` in place: a plus sign is a blank, %XX is a byte. A decoded part is
 * never longer than its encoding. Returns false for a wrong percent sign or an encoded NUL.
 */
static bool text_decode(char *text, size_t bytes, size_t *out_bytes)
{
    size_t count = 0;

    for (size_t i = 0; i < bytes; i++) {
        char c = text[i];

        if (c == '+') {
            c = ' ';
        } else if (c == '%') {
            int high = bytes - i > 2 ? hex_digit(text[i + 1]) : -1;
            int low = bytes - i > 2 ? hex_digit(text[i + 2]) : -1;

            if (high < 0 || low < 0) {
                return false;
            }
            c = (char)(high * 16 + low);
            i += 2;
        }
        if (c == '\0') {
            return false;
        }
        text[count++] = c;
    }
    *out_bytes = count;
    return true;
}

/* Decodes one `name=value`, of `bytes` bytes. text[bytes] belongs to the part, for a NUL. */
static bool field_read(char *text, size_t bytes, struct form_field *out_field)
{
    static const char empty[] = "";
    char *equals = memchr(text, '=', bytes);
    size_t name_room = equals != NULL ? (size_t)(equals - text) : bytes;
    size_t name_bytes;
    struct form_field field = {.name = text, .value = empty};

    if (!text_decode(text, name_room, &name_bytes)) {
        return false;
    }
    if (equals != NULL) {
        char *value = equals + 1;

        if (!text_decode(value, bytes - name_room - 1, &field.value_bytes)) {
            return false;
        }
        value[field.value_bytes] = '\0';
        field.value = value;
    }
    text[name_bytes] = '\0';
    *out_field = field;
    return true;
}

bool form_read(char *text, size_t bytes, struct form *out_form)
{
    struct form form = {.count = 0};
    char *at = text;
    char *end = text + bytes;

    while (at < end) {
        char *ampersand = memchr(at, '&', (size_t)(end - at));
        char *stop = ampersand != NULL ? ampersand : end;

        if (stop > at) {
            if (form.count == FORM_FIELDS_MAX ||
                !field_read(at, (size_t)(stop - at), &form.fields[form.count])) {
                return false;
            }
            form.count++;
        }
        at = stop + 1;
    }
    *out_form = form;
    return true;
}

static const struct form_field *find_from(const struct form *form, size_t first, const char *name)
{
    for (size_t i = first; i < form->count; i++) {
        if (strcmp(form->fields[i].name, name) == 0) {
            return &form->fields[i];
        }
    }
    return NULL;
}

const struct form_field *form_find(const struct form *form, const char *name)
{
    return find_from(form, 0, name);
}

const struct form_field *form_next(const struct form *form, const struct form_field *field)
{
    return find_from(form, (size_t)(field - form->fields) + 1, field->name);
}

bool form_read_number(const char *text, uint64_t most, uint64_t *out_number)
{
    uint64_t number = 0;
    bool is_number = *text != '\0';

    for (; *text != '\0' && is_number; text++) {
        unsigned digit = (unsigned char)*text - (unsigned)'0';

        is_number = digit <= 9 && digit <= most && number <= (most - digit) / 10;
        number = number * 10 + digit;
    }
    if (is_number) {
        *out_number = number;
    }
    return is_number;
}

size_t form_count_characters(const char *text)
{
    size_t count = 0;

    for (; *text != '\0'; text++) {
        count += ((unsigned char)*text & 0xC0) != 0x80;
    }
    return count;
}

const struct form_report_kind form_report_kinds[FORM_REPORT_KINDS] = {
    [HEARSAY_REPORT_ILLEGAL] = {"illegal", "report.illegal"},
    [HEARSAY_REPORT_ABOUT_ME] = {"about-me", "report.about_me"},
    [HEARSAY_REPORT_HARASSMENT] = {"harassment", "report.harassment"},
    [HEARSAY_REPORT_SPAM] = {"spam", "report.spam"},
    [HEARSAY_REPORT_OTHER_KIND] = {"other", "report.other"},
};

enum hearsay_report_kind form_report_kind_of(const char *word)
{
    size_t kind = FORM_REPORT_KINDS - 1;

    while (kind > 0 && (word == NULL || strcmp(word, form_report_kinds[kind].word) != 0)) {
        kind--;
    }
    return (enum hearsay_report_kind)kind;
}
