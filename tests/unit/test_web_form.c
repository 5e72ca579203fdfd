/* SPDX-License-Identifier: Apache-2.0 */
/* Forms: what browsers send comes out as it was typed, and nothing else gets in. */
#include "client/web/form.h"

#include "tests/lib/check.h"
#include "tests/lib/rng.h"

/* Reads a text in a buffer of its exact size, so that a sanitizer sees a step beyond it. */
static bool read_text(const char *text, size_t bytes, char **out_buffer, struct form *out_form)
{
    char *buffer = malloc(bytes + 1);

    assert_non_null(buffer);
    memcpy(buffer, text, bytes);
    buffer[bytes] = 'x'; /* form_read needs no NUL there */
    *out_buffer = buffer;
    return form_read(buffer, bytes, out_form);
}

TEST(a_browsers_form_is_read)
{
    static const char text[] = "text=Gr%C3%BC%C3%9Fe+%26+mehr%0D%0A&t=jazz&&t=&now&f=a%3db";
    struct form form;
    char *buffer;

    assert_true(read_text(text, strlen(text), &buffer, &form));
    assert_int_equal(form.count, 5);
    assert_string_equal(form_find(&form, "text")->value, "Gr\xC3\xBC\xC3\x9F"
                                                         "e & mehr\r\n");
    assert_int_equal(form_find(&form, "text")->value_bytes, 16);
    const struct form_field *first = form_find(&form, "t");
    assert_string_equal(first->value, "jazz");
    const struct form_field *second = form_next(&form, first);
    assert_string_equal(second->value, "");
    assert_null(form_next(&form, second));
    assert_string_equal(form_find(&form, "now")->value, "");
    assert_string_equal(form_find(&form, "f")->value, "a=b");
    assert_null(form_find(&form, "id"));
    free(buffer);
}

/* Half a percent sign and a NUL are refused, so that no value ends early. */
TEST(wrong_encodings_are_refused)
{
    static const struct {
        const char *text;
        size_t bytes;
    } wrong[] = {
        {"a=%", 3},    {"a=%4", 4}, {"a=%4g", 5},    {"a=%g4", 5},  {"a=b%00c", 7}, {"%00=b", 5},
        {"a=b\0c", 5}, {"a=%2", 4}, {"a=%2&b=1", 8}, {"%=1&b=", 6}, {"a=%+1", 5},
    };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct form form;
        char *buffer;

        assert_false(read_text(wrong[i].text, wrong[i].bytes, &buffer, &form));
        free(buffer);
    }
}

TEST(fields_are_bounded)
{
    char text[2 * (FORM_FIELDS_MAX + 1)];
    struct form form;
    char *buffer;

    for (size_t i = 0; i < sizeof(text); i += 2) {
        memcpy(text + i, "a&", 2);
    }
    assert_true(read_text(text, sizeof(text) - 2, &buffer, &form));
    assert_int_equal(form.count, FORM_FIELDS_MAX);
    free(buffer);
    assert_false(read_text(text, sizeof(text), &buffer, &form));
    free(buffer);
}

/* Any value comes back as it was, whatever bytes but NUL it has. */
TEST(any_value_comes_back)
{
    static const char digits[] = "0123456789abcdef";
    struct rng rng;

    rng_init(&rng);
    for (int round = 0; round < 2000; round++) {
        char value[64];
        char text[2 + 3 * sizeof(value)] = "v=";
        size_t count = rng_below(&rng, sizeof(value));
        size_t used = 2;
        struct form form;
        char *buffer;

        for (size_t i = 0; i < count; i++) {
            unsigned char c = (unsigned char)(1 + rng_below(&rng, 255));
            bool is_safe = strchr("&+%=", c) == NULL || c == '=';

            value[i] = (char)c;
            if (is_safe && rng_chance(&rng, 50)) {
                text[used++] = (char)c;
            } else {
                text[used++] = '%';
                text[used++] = digits[c >> 4];
                text[used++] = digits[c & 15];
            }
        }
        assert_true(read_text(text, used, &buffer, &form));
        assert_int_equal(form.count, 1);
        assert_int_equal(form.fields[0].value_bytes, count);
        assert_memory_equal(form.fields[0].value, value, count);
        assert_int_equal(strlen(form.fields[0].value), count);
        free(buffer);
    }
}
