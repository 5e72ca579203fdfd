/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text of others never becomes markup, whatever its bytes are: what the writer puts out is UTF-8
 * without markup of the text's, without controls that reorder the page, and without towers of
 * marks. A writer that is out of memory or full stays so.
 */
#include <utf8proc.h>

#include "client/web/html.h"
#include "core/base/character.h"
#include "tests/lib/check.h"
#include "tests/lib/rng.h"

void *__real_realloc(void *block, size_t bytes);
void *__wrap_realloc(void *block, size_t bytes);

static unsigned fail_at; /* the call that fails, counted from 1; 0: none */

void *__wrap_realloc(void *block, size_t bytes)
{
    return fail_at > 0 && --fail_at == 0 ? NULL : __real_realloc(block, bytes);
}

static void check_bytes(struct html *html, const char *expected)
{
    assert_false(html_failed(html));
    assert_int_equal(html->count, strlen(expected));
    assert_memory_equal(html->bytes, expected, html->count);
    html_deinit(html);
}

#define TEXT(text, expected)                      \
    do {                                          \
        struct html html;                         \
        html_init(&html);                         \
        html_text(&html, text, sizeof(text) - 1); \
        check_bytes(&html, expected);             \
    } while (0)

#define MESSAGE(text, characters, lines, is_whole, expected)                             \
    do {                                                                                 \
        struct html html;                                                                \
        html_init(&html);                                                                \
        assert_int_equal(html_message(&html, text, sizeof(text) - 1, characters, lines), \
                         is_whole);                                                      \
        check_bytes(&html, expected);                                                    \
    } while (0)

#define JSON(text, expected)                      \
    do {                                          \
        struct html html;                         \
        html_init(&html);                         \
        html_json(&html, text, sizeof(text) - 1); \
        check_bytes(&html, expected);             \
    } while (0)

TEST(test_json)
{
    JSON("", "\"\"");
    JSON("<b>'a' & \"b\"\\c</b>", "\"<b>'a' & \\\"b\\\"\\\\c</b>\"");
    JSON("a\nb\r\nc\rd\te\0f\x1b\x7f", "\"a\\nb\\nc\\nd ef\"");
    JSON("\xe2\x80\xa8", "\"\\n\""); /* the line ends that scripts know */
    JSON("\xff\xc3\"", "\"\xef\xbf\xbd\xef\xbf\xbd\\\"\"");
    JSON("a\xe2\x80\xae"
         "b",
         "\"ab\"");
    JSON("a\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81", "\"a\xcc\x81\xcc\x81\xcc\x81\xcc\x81\"");
}

TEST(test_text)
{
    TEXT("plain", "plain");
    TEXT("<b>\"a\" & 'b'</b>", "&lt;b&gt;&#34;a&#34; &amp; &#39;b&#39;&lt;/b&gt;");
    TEXT("a\nb\r\nc\td\0e\x1b[1m\x7f\xc2\x85", "a b c de[1m");
    TEXT("\xff\xc3", "\xef\xbf\xbd\xef\xbf\xbd");
    TEXT("\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd");                 /* overlong */
    TEXT("\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"); /* a surrogate */
    TEXT("\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    TEXT("\xe2\x82<", "\xef\xbf\xbd\xef\xbf\xbd&lt;"); /* cut before a markup */
    TEXT("a\xe2\x80\xae"
         "b\xe2\x81\xa6"
         "c",
         "abc"); /* overrides, isolates */
    TEXT("\xe2\x80\x8f\xe2\x80\x8d\xd8\x9c\xef\xb8\x8f",
         "\xe2\x80\x8f\xe2\x80\x8d\xd8\x9c\xef\xb8\x8f");
    TEXT("\xf0\x9f\x8e\xb7 gr\xc3\xbc\xc3\x9f", "\xf0\x9f\x8e\xb7 gr\xc3\xbc\xc3\x9f");
}

TEST(test_marks)
{
#define ACUTE "\xcc\x81"
    TEXT("e" ACUTE ACUTE ACUTE ACUTE ACUTE ACUTE "x" ACUTE, "e" ACUTE ACUTE ACUTE ACUTE "x" ACUTE);
    /* A joiner between the marks does not make room for more. */
    TEXT("e" ACUTE ACUTE ACUTE ACUTE "\xe2\x80\x8d" ACUTE,
         "e" ACUTE ACUTE ACUTE ACUTE "\xe2\x80\x8d");
    TEXT("e" ACUTE ACUTE ACUTE ACUTE "\xf3\xa0\x81\x81" ACUTE,
         "e" ACUTE ACUTE ACUTE ACUTE "\xf3\xa0\x81\x81"); /* a tag, U+E0041 */
    for (uint32_t character = 0; character < 0x110000; character++) {
        utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)character);

        if (character_is_combining(character)) {
            assert_true(category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_ME ||
                        category == UTF8PROC_CATEGORY_CN);
        }
    }
    for (uint32_t character = 0x300; character <= 0x36f; character++) {
        assert_true(character_is_combining(character));
    }
    assert_true(character_is_combining(0x483) && character_is_combining(0x489));
    assert_true(character_is_combining(0x20dd) && character_is_combining(0xe01ef));
    assert_false(character_is_combining('a') || character_is_combining(0x2ff));
    assert_false(character_is_combining(0x370) || character_is_combining(0x10ffff));
}

TEST(test_messages)
{
    MESSAGE("one", 0, 0, true, "<p dir=\"auto\">one</p>");
    MESSAGE("a\nb", 0, 0, true, "<p dir=\"auto\">a</p><p dir=\"auto\">b</p>");
    MESSAGE("\n\na\r\n\r\nb\n", 0, 0, true,
            "<p dir=\"auto\">a</p><p class=\"gap\" dir=\"auto\">b</p>");
    MESSAGE("a\xe2\x80\xa8"
            "b",
            0, 0, true, "<p dir=\"auto\">a</p><p dir=\"auto\">b</p>");
    MESSAGE("\x01\x02\x01\x02"
            "abc\x01",
            4, 0, true, "<p dir=\"auto\">abc</p>"); /* which is all that is written */
    MESSAGE("abcd", 3, 0, false, "<p dir=\"auto\">abc</p>");
    MESSAGE("abc\n\n", 3, 0, true, "<p dir=\"auto\">abc</p>");
    MESSAGE("a\nb\nc", 0, 2, false, "<p dir=\"auto\">a</p><p dir=\"auto\">b</p>");
    MESSAGE("", 0, 0, true, "");
    MESSAGE("</p><script>", 0, 0, true, "<p dir=\"auto\">&lt;/p&gt;&lt;script&gt;</p>");
}

TEST(test_message_within)
{
    static const char text[] = " \n\ta<b\n\nc";
    struct html html;

    html_init(&html);
    html_raw(&html, "<h3>");
    assert_true(html_message_within(&html, "</h3>", text, sizeof(text) - 1, 0, 2));
    check_bytes(&html, "<h3>a&lt;b</h3><p class=\"gap\" dir=\"auto\">c</p>");
    html_raw(&html, "<h3>");
    assert_false(html_message_within(&html, "</h3>", text, sizeof(text) - 1, 0, 1));
    check_bytes(&html, "<h3>a&lt;b</h3>");
    html_raw(&html, "<h3>");
    assert_true(html_message_within(&html, "</h3>", " ", 1, 0, 1));
    check_bytes(&html, "<h3></h3>");
}

TEST(test_others)
{
    struct html html;

    html_init(&html);
    html_raw(&html, "<a");
    html_attribute(&html, "href", "/?t=\"><script>'&");
    html_raw(&html, ">");
    html_number(&html, UINT64_MAX);
    check_bytes(&html, "<a href=\"/?t=&#34;&gt;&lt;script&gt;&#39;&amp;\">18446744073709551615");

    html_url(&html, "a b/\xc3\xbc\0&~", 8);
    check_bytes(&html, "a%20b%2F%C3%BC%00%26");

    html_textarea(&html, "a\r\nb\n</textarea>", 16);
    check_bytes(&html, "a\nb\n&lt;/textarea&gt;");
}

/* --- random bytes ------------------------------------------------------------------------------
 */

/* Random bytes among which what matters is frequent. */
static size_t random_text(struct rng *rng, char *text, size_t room)
{
    static const char *const pieces[] = {"<",
                                         ">",
                                         "\"",
                                         "'",
                                         "&",
                                         "\n",
                                         "\r",
                                         "\xcc\x81",
                                         "\xe2\x80\xae",
                                         "\xe2\x81\xa9",
                                         "\xc2",
                                         "\xf0\x9f\x98\x80",
                                         "</p>",
                                         "<script>",
                                         "\xd9\x8b",
                                         "\xe2\x80\x8d",
                                         "\xef\xbf\xbf",
                                         "&lt;"};
    size_t count = 0;
    size_t wanted = rng_below(rng, (uint32_t)room - 16);

    while (count < wanted) {
        if (rng_chance(rng, 40)) {
            text[count++] = (char)rng_below(rng, 256);
        } else {
            const char *piece = pieces[rng_below(rng, sizeof(pieces) / sizeof(pieces[0]))];

            memcpy(text + count, piece, strlen(piece));
            count += strlen(piece);
        }
    }
    return count;
}

static bool is_escape(const char *text, size_t left)
{
    static const char *const escapes[] = {"&amp;", "&lt;", "&gt;", "&#34;", "&#39;"};

    for (size_t i = 0; i < sizeof(escapes) / sizeof(escapes[0]); i++) {
        if (left >= strlen(escapes[i]) && memcmp(text, escapes[i], strlen(escapes[i])) == 0) {
            return true;
        }
    }
    return false;
}

static void check_property(const char *text, size_t count, bool has_lines)
{
    unsigned marks = 0;

    for (size_t at = 0; at < count;) {
        utf8proc_int32_t character;
        utf8proc_ssize_t length = utf8proc_iterate((const utf8proc_uint8_t *)text + at,
                                                   (utf8proc_ssize_t)(count - at), &character);

        assert_true(length > 0);
        assert_null(character < 128 ? strchr("<>\"'", character) : NULL);
        assert_true(character != '&' || is_escape(text + at, count - at));
        assert_true(character >= 0x20 || (has_lines && character == '\n'));
        assert_false(character >= 0x7f && character < 0xa0);
        assert_false(character >= 0x202a && character <= 0x202e);
        assert_false(character >= 0x2066 && character <= 0x2069);
        marks = character_is_combining((uint32_t)character) ? marks + 1 : 0;
        assert_true(marks <= 4);
        at += (size_t)length;
    }
}

/* Takes the writer's own paragraphs out of a message. */
static size_t without_paragraphs(char *text, size_t count)
{
    static const char *const ours[] = {"<p dir=\"auto\">", "<p class=\"gap\" dir=\"auto\">",
                                       "</p>"};
    size_t kept = 0;

    for (size_t at = 0; at < count;) {
        size_t skip = 0;

        for (size_t i = 0; i < 3; i++) {
            if (count - at >= strlen(ours[i]) && memcmp(text + at, ours[i], strlen(ours[i])) == 0) {
                skip = strlen(ours[i]);
            }
        }
        if (skip > 0) {
            text[kept++] = '.';
            at += skip;
        } else {
            text[kept++] = text[at++];
        }
    }
    return kept;
}

TEST(test_random)
{
    struct rng rng;
    char text[512];

    rng_init(&rng);
    for (unsigned i = 0; i < (rng_is_brief() ? 500U : 20000U); i++) {
        size_t count = random_text(&rng, text, sizeof(text));
        struct html html;

        html_init(&html);
        html_text(&html, text, count);
        check_property(html.bytes, html.count, false);
        html_deinit(&html);
        html_textarea(&html, text, count);
        check_property(html.bytes, html.count, true);
        html_deinit(&html);
        (void)html_message(&html, text, count, 1 + rng_below(&rng, 600), rng_below(&rng, 9));
        html.count = without_paragraphs(html.bytes, html.count);
        check_property(html.bytes, html.count, false);
        html_deinit(&html);
    }
}

/* --- limits ------------------------------------------------------------------------------------
 */

TEST(test_no_memory)
{
    unsigned failures = 0;

    for (unsigned n = 1;; n++) {
        struct html html;

        html_init(&html);
        fail_at = n;
        for (unsigned i = 0; i < 2000; i++) {
            html_string(&html, "<0123456789>");
        }
        if (!html_failed(&html)) {
            fail_at = 0;
            assert_int_equal(html.count, 2000 * strlen("&lt;0123456789&gt;"));
            html_deinit(&html);
            break;
        }
        failures++;
        html_raw(&html, "x");
        assert_true(html_failed(&html)); /* stays so, though memory is there again */
        html_deinit(&html);
    }
    assert_true(failures >= 3);
}

TEST(test_full)
{
    struct html html;

    html_init(&html);
    for (unsigned i = 0; i < HTML_BYTES_MAX / 8; i++) {
        html_raw(&html, "01234567");
    }
    assert_false(html_failed(&html));
    html_raw(&html, "8");
    assert_true(html_failed(&html));
    assert_int_equal(html.count, HTML_BYTES_MAX);
    html_deinit(&html);
}

/* The page keeps its holes: each copy is filled for another phone. */
TEST(test_holes)
{
    static const char *const values[HTML_HOLE_KINDS] = {
        [HTML_HOLE_TOKEN] = "00112233445566778899aabbccddeeff",
        [HTML_HOLE_SEED] = "ffffffffffffffffffffffffffffffff",
        [HTML_HOLE_KEY] = "",
    };
    struct html html;
    char copy[128] = "";

    html_init(&html);
    html_raw(&html, "<a>");
    html_hole(&html, HTML_HOLE_TOKEN);
    html_raw(&html, "<b>");
    html_hole(&html, HTML_HOLE_SEED);
    assert_int_equal(html.count, 3 + 32 + 3 + 32);
    memcpy(copy, html.bytes, html.count);
    html_fill(&html, values, copy);
    assert_string_equal(copy,
                        "<a>00112233445566778899aabbccddeeff<b>ffffffffffffffffffffffffffffffff");
    check_bytes(&html, "<a>00000000000000000000000000000000<b>00000000000000000000000000000000");
}
