/* SPDX-License-Identifier: Apache-2.0 */
/* Other people's text never moves a terminal's cursor, and never takes more columns than given. */
#include "client/cli/term/out.h"
#include "tests/lib/check.h"
#include "tests/lib/rng.h"

/* What text_print writes, owned. */
static char *printed(const char *bytes, size_t length, size_t width, size_t *out_columns)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    *out_columns = text_print(stream, bytes, length, width);
    assert_int_equal(fclose(stream), 0);
    return text;
}

static void check_clean(const char *bytes, size_t length, size_t width, const char *expected,
                        size_t columns)
{
    size_t got = 0;
    char *text = printed(bytes, length, width, &got);
    assert_string_equal(text, expected);
    assert_int_equal(got, columns);
    free(text);
}

#define CLEAN(text, width, expected, columns) \
    check_clean(text, sizeof(text) - 1, width, expected, columns)

TEST(test_escapes)
{
    CLEAN("plain", 0, "plain", 5);
    CLEAN("a\nb\tc", 0, "a\\nb\\tc", 7);
    CLEAN("\x1b[2Jx", 0, "\\x1b[2Jx", 8);
    CLEAN("a\0b", 0, "a\\x00b", 6);
    CLEAN("\x7f\r", 0, "\\x7f\\x0d", 8);
    CLEAN("\xc2\x9b"
          "1m",
          0, "\\u{9b}1m", 8); /* CSI in one character */
    CLEAN("\xe2\x80\xae"
          "evil",
          0, "\\u{202e}evil", 12);                   /* right to left */
    CLEAN("\xff\xc3", 0, "\\xff\\xc3", 8);           /* not UTF-8, and cut */
    CLEAN("\xed\xa0\x80", 0, "\\xed\\xa0\\x80", 12); /* a surrogate */
    CLEAN("\xc0\xaf", 0, "\\xc0\\xaf", 8);           /* overlong */
    CLEAN("gr\xc3\xbc\xc3\x9f", 0, "gr\xc3\xbc\xc3\x9f", 4);
}

TEST(test_widths)
{
    CLEAN("abcdef", 6, "abcdef", 6);
    CLEAN("abcdefg", 6, "abcde\xe2\x80\xa6", 6);
    CLEAN("\xe4\xb8\xad\xe6\x96\x87", 4, "\xe4\xb8\xad\xe6\x96\x87", 4);
    CLEAN("\xe4\xb8\xad\xe6\x96\x87", 3, "\xe4\xb8\xad\xe2\x80\xa6", 3);
    CLEAN("e\xcc\x81"
          "e",
          2,
          "e\xcc\x81"
          "e",
          2);
    CLEAN("ab\x1b", 4, "ab\xe2\x80\xa6", 3); /* an escape is not cut in two */
    CLEAN("", 1, "", 0);
}

/* Random bytes: what comes out is UTF-8 without controls, within the width. */
TEST(test_random)
{
    struct rng rng;
    rng_init(&rng);
    for (int round = 0; round < 5000; round++) {
        char bytes[40];
        size_t length = (size_t)rng_below(&rng, sizeof(bytes) + 1);
        size_t width = (size_t)rng_below(&rng, 30);
        for (size_t i = 0; i < length; i++) {
            bytes[i] = (char)rng_below(&rng, 256);
        }
        size_t columns = 0;
        char *text = printed(bytes, length, width, &columns);
        size_t size = strlen(text);
        assert_true(text_is_utf8(text, size));
        for (size_t i = 0; i < size; i++) {
            assert_true((unsigned char)text[i] >= 0x20 && text[i] != 0x7f);
        }
        assert_true(width == 0 || columns <= width);
        free(text);
    }
}

TEST(test_lines)
{
    static const char input[] = "one\n\ttwo\x1b[0m\n";
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    text_print_lines(stream, input, sizeof(input) - 1);
    assert_int_equal(fclose(stream), 0);
    assert_string_equal(text, "one\n\ttwo\\x1b[0m\n");
    free(text);
}

TEST(test_drop_invalid)
{
    char text[] = "gr\xc3\xbc\xc3";
    text_drop_invalid(text);
    assert_string_equal(text, "gr\xc3\xbc");
    char mixed[] = "\xff"
                   "a\x80"
                   "b";
    text_drop_invalid(mixed);
    assert_string_equal(mixed, "ab");
    assert_false(text_is_utf8("a\0b", 3));
}
