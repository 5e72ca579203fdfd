/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text of others on a page: whatever its bytes are, it adds no markup, no control that reorders the
 * page and no tower of marks, and the page stays UTF-8. The same holds for a value of an attribute,
 * a part of a URL and the inside of a text field.
 */
#include <utf8proc.h>

#include "client/web/html.h"
#include "core/base/character.h"
#include "tests/fuzz/fuzz.h"

static void check_character(utf8proc_int32_t character, bool has_lines)
{
    FUZZ_CHECK(character >= 128 || strchr("<>\"'", character) == NULL);
    FUZZ_CHECK(character >= 0x20 || (has_lines && character == '\n'));
    FUZZ_CHECK(character < 0x7f || character >= 0xa0);
    FUZZ_CHECK(character < 0x202a || character > 0x202e);
    FUZZ_CHECK(character < 0x2066 || character > 0x2069);
}

/* Checks what was written between the first `before` and the last `behind` bytes; frees it. */
static void check_inside(struct html *html, size_t before, size_t behind, bool has_lines)
{
    unsigned marks = 0;

    FUZZ_CHECK(html->has_failed || html->count >= before + behind);
    for (size_t at = before; !html->has_failed && at < html->count - behind;) {
        utf8proc_int32_t character;
        utf8proc_ssize_t length =
            utf8proc_iterate((const utf8proc_uint8_t *)html->bytes + at,
                             (utf8proc_ssize_t)(html->count - behind - at), &character);

        FUZZ_CHECK(length > 0);
        check_character(character, has_lines);
        marks = character_is_combining((uint32_t)character) ? marks + 1 : 0;
        FUZZ_CHECK(marks <= 4);
        at += (size_t)length;
    }
    html_deinit(html);
}

static void check_message(const char *text, size_t size)
{
    struct html html;
    size_t opened = 0;
    size_t closed = 0;

    html_init(&html);
    (void)html_message(&html, text, size, 500, 12);
    FUZZ_CHECK(!html_failed(&html));
    for (size_t i = 0; i < html.count; i++) {
        if (html.bytes[i] == '<') {
            bool closes = html.bytes[i + 1] == '/';

            opened += !closes;
            closed += closes;
            FUZZ_CHECK(html.bytes[i + (closes ? 2 : 1)] == 'p');
            FUZZ_CHECK(opened - closed <= 1);
        }
    }
    FUZZ_CHECK(opened == closed && opened <= 12);
    html_deinit(&html);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = (char *)fuzz_copy(data, size);
    struct html html;

    html_init(&html);
    html_text(&html, text, size);
    check_inside(&html, 0, 0, false);
    html_textarea(&html, text, size);
    check_inside(&html, 0, 0, true);
    html_attribute(&html, "a", text); /* up to its first NUL */
    check_inside(&html, strlen(" a=\""), 1, false);
    html_url(&html, text, size);
    for (size_t i = 0; i < html.count; i++) {
        FUZZ_CHECK(html.bytes[i] > ' ' && strchr("<>\"'&?#/", html.bytes[i]) == NULL);
    }
    html_deinit(&html);
    check_message(text, size);
    free(text);
    return 0;
}
