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
