/* SPDX-License-Identifier: Apache-2.0 */
/* Texts for terminals and for JSON: nothing moves a cursor, no line is too wide, and nothing of a
 * text is lost in JSON. */
#include <time.h>

#include "client/web/plain.h"
#include "tests/lib/check.h"

static void check_bytes(struct html *html, const char *expected)
{
    assert_false(html_failed(html));
    html_raw(html, "|");
    print_message("%.*s\n", (int)html->count, html->bytes);
    assert_int_equal(html->count, strlen(expected) + 1);
    assert_memory_equal(html->bytes, expected, html->count - 1);
    html_deinit(html);
}

static void check_message(const char *text, size_t characters, size_t lines, bool is_whole,
                          const char *expected)
{
    struct html html;

    html_init(&html);
    assert_int_equal(plain_message(&html, text, strlen(text), characters, lines), is_whole);
    check_bytes(&html, expected);
}

TEST(lines_fit)
{
    static const char eighty[] = "aaaaaaaaa bbbbbbbbb ccccccccc ddddddddd eeeeeeeee fffffffff "
                                 "ggggggggg hhhhhhhh iii";
    char wide[3 * 50 + 1];

    check_message("", 9, 9, true, "");
    check_message(" one  two\r\nthree\n\n\n\nfour \n", 99, 9, true,
                  "  one two\n  three\n\n  four\n");
    check_message(
        eighty, 500, 9, true,
        "  aaaaaaaaa bbbbbbbbb ccccccccc ddddddddd eeeeeeeee fffffffff ggggggggg hhhhhhhh\n"
        "  iii\n");
    check_message("one two three", 5, 9, false, "  one tw\n");
    check_message("one\ntwo\nthree", 99, 2, false, "  one\n  two\n");
    for (size_t i = 0; i < 50; i++) { /* a character of two columns */
        memcpy(wide + 3 * i, "\xe6\xbc\xa2", 4);
    }
    struct html html;
    html_init(&html);
    assert_true(plain_message(&html, wide, strlen(wide), 500, 9));
    assert_memory_equal(html.bytes + 2 + 39 * 3, "\n  \xe6\xbc\xa2", 6); /* 80 columns */
    html_deinit(&html);
}

TEST(terminals_are_safe)
{
    struct html html;

    check_message("\x1b]0;pwned\a \xc2\x9b"
                  "2J \xe2\x80\xae"
                  "evil \xff",
                  99, 9, true, "  \\x1b]0;pwned\\x07 \\u{9b}2J \\u{202e}evil \\xff\n");
    html_init(&html);
    plain_string(&html, "<a> & \x1b[1m\n");
    check_bytes(&html, "<a> & \\x1b[1m\\n");
}

TEST(json_has_all)
{
    static const char text[] =
        "a\"b\\c\n\t\x1b\x7f\xc2\x9b\xe2\x80\xae\xf3\xa0\x80\x81\xff\xc3\xa9";
    struct html html;

    html_init(&html);
    plain_json(&html, text, sizeof(text) - 1);
    check_bytes(&html,
                "\"a\\\"b\\\\c\\n\\t\\u001b\\u007f\\u009b\\u202e\\udb40\\udc01\\ufffd\xc3\xa9\"");
}

TEST(times_are_utc)
{
    struct html html;

    html_init(&html);
    plain_time(&html, INT64_C(1795824321123));
    html_raw(&html, " ");
    plain_time(&html, INT64_MIN);
    html_raw(&html, " ");
    plain_time(&html, INT64_MAX);
    check_bytes(&html,
                sizeof(time_t) > 4
                    ? "2026-11-28T00:05:21.123Z 1970-01-01T00:00:00.000Z 9999-12-31T23:59:59.999Z"
                    : "2026-11-28T00:05:21.123Z 1970-01-01T00:00:00.000Z 2038-01-19T03:14:07.999Z");
}
