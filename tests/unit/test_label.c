/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/label.h"

#include "tests/lib/check.h"

struct label_case {
    const char *bytes;
    size_t length;
    const char *reason; /* a part of it; NULL: a good label */
};
#define TEXT(text) (text), sizeof(text) - 1

static const struct label_case cases[] = {
    {TEXT("wifi:a4:2b:8c:01:02:03"), NULL},
    {TEXT("geo:u281zd"), NULL},
    {TEXT("time:2026-11-20T14"), NULL},
    {TEXT("a:b"), NULL},
    {TEXT("a1:b"), NULL},
    {TEXT("a::"), NULL},
    {TEXT("a: "), NULL},
    {TEXT("topic:caf\xc3\xa9"), NULL},
    {TEXT("topic:\xe2\x82\xac"), NULL},
    {TEXT("topic:\xf0\x9f\x8d\xb0"), NULL},
    {TEXT("topic:\xf4\x8f\xbf\xbf"), NULL}, /* U+10FFFF, the last */
    {TEXT(""), "empty"},
    {TEXT(":"), "attribute before ':' is missing"},
    {TEXT(":b"), "attribute before ':' is missing"},
    {TEXT("a"), "no ':'"},
    {TEXT("a:"), "value after ':' is missing"},
    {TEXT("1a:b"), "begin with a letter"},
    {TEXT("A:b"), "begin with a letter"},
    {TEXT("aB:b"), "only letters a-z and digits"},
    {TEXT("a-b:c"), "only letters a-z and digits"},
    {TEXT("a b:c"), "only letters a-z and digits"},
    {TEXT("\xc3\xa9:c"), "begin with a letter"},
    {TEXT("a\xc3\xa9:c"), "only letters a-z and digits"},
    {TEXT("a:b\0c"), "NUL"},
    {TEXT("\0"), "NUL"},
    {TEXT("a:\xff"), "UTF-8"},
    {TEXT("a:\x80"), "UTF-8"},
    {TEXT("a:\xc0\x80"), "UTF-8"},         /* overlong NUL */
    {TEXT("a:\xc1\xbf"), "UTF-8"},         /* overlong */
    {TEXT("a:\xe0\x9f\xbf"), "UTF-8"},     /* overlong */
    {TEXT("a:\xf0\x8f\xbf\xbf"), "UTF-8"}, /* overlong */
    {TEXT("a:\xed\xa0\x80"), "UTF-8"},     /* surrogate */
    {TEXT("a:\xed\xbf\xbf"), "UTF-8"},     /* surrogate */
    {TEXT("a:\xf4\x90\x80\x80"), "UTF-8"}, /* beyond U+10FFFF */
    {TEXT("a:\xf5\x80\x80\x80"), "UTF-8"},
    {TEXT("a:\xc3"), "UTF-8"}, /* cut off */
    {TEXT("a:\xe2\x82"), "UTF-8"},
    {TEXT("a:\xf0\x9f\x8d"), "UTF-8"},
    {TEXT("a:\xc3z"), "UTF-8"},
    {TEXT("a:\xe2\x82z"), "UTF-8"},
};

TEST(test_table)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *reason = NULL;
        int result = label_check(cases[i].bytes, cases[i].length, &reason);

        if (cases[i].reason == NULL) {
            assert_int_equal(result, 0);
            assert_null(reason); /* untouched */
            continue;
        }
        assert_int_equal(result, LABEL_REFUSED);
        assert_non_null(reason);
        if (strstr(reason, cases[i].reason) == NULL) {
            fail_msg("case %zu: \"%s\" does not say \"%s\"", i, reason, cases[i].reason);
        }
    }
}

/* 240 bytes are a label, 241 are not; only `length` bytes are looked at. */
TEST(test_length)
{
    char label[LABEL_BYTES_MAX + 2];
    const char *reason = NULL;

    memset(label, 'v', sizeof label);
    memcpy(label, "topic:", 6);
    assert_int_equal(label_check(label, LABEL_BYTES_MAX, &reason), 0);
    assert_int_equal(label_check(label, LABEL_BYTES_MAX + 1, &reason), LABEL_REFUSED);
    assert_non_null(strstr(reason, "240"));
    assert_int_equal(label_check(label, 7, &reason), 0);
    assert_int_equal(label_check(label, 6, &reason), LABEL_REFUSED);
}

/* What UTF-8 may encode, and nothing else, for every code point up to beyond the last. */
TEST(test_every_code_point)
{
    for (uint32_t c = 0; c < 0x120000; c++) {
        char bytes[4];
        size_t length = 4;
        bool good = c < 0x110000 && !(c >= 0xd800 && c <= 0xdfff);

        if (c < 0x80) {
            bytes[0] = (char)c;
            length = 1;
        } else if (c < 0x800) {
            bytes[0] = (char)(0xc0 | c >> 6);
            length = 2;
        } else if (c < 0x10000) {
            bytes[0] = (char)(0xe0 | c >> 12);
            length = 3;
        } else {
            bytes[0] = (char)(0xf0 | c >> 18);
        }
        for (size_t i = 1; i < length; i++) {
            bytes[i] = (char)(0x80 | (c >> (6 * (length - 1 - i)) & 0x3f));
        }
        assert_int_equal(label_is_utf8(bytes, length), good);
        if (length > 1) {
            assert_false(label_is_utf8(bytes, length - 1));
        }
    }
    assert_true(label_is_utf8("", 0));
}

/* Runs of ASCII are passed eight bytes at a time: what is wrong is found wherever it stands. */
TEST(test_every_place)
{
    for (size_t length = 1; length <= 40; length++) {
        for (size_t at = 0; at < length; at++) {
            char bytes[40];

            memset(bytes, 'a', sizeof bytes);
            assert_true(label_is_utf8(bytes, length));
            bytes[at] = '\x80';
            assert_false(label_is_utf8(bytes, length));
            if (at > 0) {
                bytes[at - 1] = '\xc3';
                assert_true(label_is_utf8(bytes, length));
                assert_false(label_is_utf8(bytes, at));
            }
        }
    }
}
