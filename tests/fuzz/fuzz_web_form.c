/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forms and the URLs of views. Values have no NUL and no byte beyond the text. A view that is read
 * writes a URL that reads as an equal view and writes the same URL.
 */
#include "client/web/form.h"
#include "client/web/view.h"
#include "tests/fuzz/fuzz.h"

static void check_form(const uint8_t *data, size_t size)
{
    char *text = (char *)fuzz_copy(data, size);
    struct form form;

    if (form_read(text, size, &form)) {
        size_t bytes = 0;

        FUZZ_CHECK(form.count <= FORM_FIELDS_MAX);
        for (size_t i = 0; i < form.count; i++) {
            const struct form_field *field = &form.fields[i];

            FUZZ_CHECK(strlen(field->value) == field->value_bytes);
            bytes += strlen(field->name) + field->value_bytes;
            FUZZ_CHECK(form_find(&form, field->name) <= field);
        }
        FUZZ_CHECK(bytes <= size);
    }
    free(text);
}

static void check_view(const uint8_t *data, size_t size)
{
    char *query = (char *)fuzz_copy(data, size);
    struct view view;
    struct view again;
    char url[VIEW_URL_BYTES];
    char url_again[VIEW_URL_BYTES];
    const char *field = NULL;

    if (view_read(query, &view, &field)) {
        view_write(&view, url);
        FUZZ_CHECK(url[0] == '/' && (url[1] == '\0' || url[1] == '?'));
        FUZZ_CHECK(strpbrk(url, "<>\"' ") == NULL);
        FUZZ_CHECK(view_read(url[1] == '?' ? url + 2 : "", &again, &field));
        FUZZ_CHECK(view_equal(&view, &again));
        view_write(&again, url_again);
        FUZZ_CHECK(strcmp(url, url_again) == 0);
    } else {
        FUZZ_CHECK(field != NULL);
    }
    free(query);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_form(data, size);
    check_view(data, size);
    return 0;
}
