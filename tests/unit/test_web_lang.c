/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every language says everything: each has the same texts with the same places for values, and the
 * plurals that its grammar needs. (test_web_page.c finds a text that a page uses and no language
 * has: its key would stand on the page.)
 */
#include "client/web/lang.h"
#include "tests/lib/check.h"

static const char *const categories[] = {"zero", "one", "two", "few", "many", "other"};
enum { CATEGORIES = 6, KEY_BYTES = 64, NUMBERS = 250 };

/* A key without the category of a plural; whether there was one. */
static bool key_base(const char *key, char *out_base)
{
    const char *dot = strrchr(key, '.');

    (void)snprintf(out_base, KEY_BYTES, "%s", key);
    for (size_t i = 0; dot != NULL && i < CATEGORIES; i++) {
        char sibling[KEY_BYTES];

        (void)snprintf(sibling, sizeof(sibling), "%.*s.one", (int)(dot - key), key);
        if (strcmp(dot + 1, categories[i]) == 0 && lang_has(&lang_table[0], sibling)) {
            out_base[dot - key] = '\0';
            return true;
        }
    }
    return false;
}

/* Whether a category is one that some whole number has. */
static bool lang_needs(const struct lang *lang, const char *category)
{
    for (unsigned number = 0; number < NUMBERS; number++) {
        if (strcmp(lang_category(lang, number), category) == 0) {
            return true;
        }
    }
    return false;
}

static void check_placeholders(const struct lang *lang, const char *key, const char *english,
                               const char *text)
{
    static const char *const places[] = {"{0}", "{1}"};

    for (size_t i = 0; i < 2; i++) {
        if ((strstr(english, places[i]) == NULL) != (strstr(text, places[i]) == NULL)) {
            print_error("%s, %s: \"%s\", in English \"%s\"\n", lang_tag(lang), key, text, english);
            fail();
        }
    }
}

/* One, two and none may be words instead of {0}, but never what counts many numbers. */
static void check_plurals(const struct lang *lang, const char *base)
{
    char key[KEY_BYTES + 8];

    for (size_t i = 0; i < CATEGORIES; i++) {
        (void)snprintf(key, sizeof(key), "%s.%s", base, categories[i]);
        if (lang_has(lang, key) != lang_needs(lang, categories[i])) {
            print_error("%s: %s is missing, or is too much\n", lang_tag(lang), key);
            fail();
        }
        if (i >= 3 && lang_has(lang, key)) {
            assert_non_null(strstr(lang_text(lang, key), "{0}"));
        }
    }
}

TEST(test_numbers)
{
    static const struct {
        const char *tag;
        uint64_t number;
        const char *text;
    } rows[] = {{"en", 0, "0"},         {"en", 999, "999"},
                {"en", 1000, "1,000"},  {"en", 9500, "9,500"},
                {"de", 9500, "9.500"},  {"en", UINT64_MAX, "18,446,744,073,709,551,615"},
                {"ar", 12034, "12,034"}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[LANG_NUMBER_BYTES];

        lang_number(lang_find(rows[i].tag), rows[i].number, text);
        assert_string_equal(text, rows[i].text);
    }
}

TEST(test_complete)
{
    const struct lang *english = lang_at(0);
    unsigned missing = 0;

    assert_string_equal(lang_tag(english), "en");
    for (size_t l = 0; l < lang_count(); l++) {
        const struct lang *lang = lang_at(l);

        for (size_t i = 0; i < english->count; i++) {
            const char *key = english->entries[i].key;
            char base[KEY_BYTES];

            if (key_base(key, base)) {
                check_plurals(lang, base);
                continue;
            }
            if (!lang_has(lang, key)) {
                print_error("client/web/lang/%s.txt has no %s\n", lang_tag(lang), key);
                missing++; /* all that are missing are named */
                continue;
            }
            check_placeholders(lang, key, english->entries[i].text, lang_text(lang, key));
        }
        for (size_t i = 0; i < lang->count; i++) {
            char base[KEY_BYTES];

            assert_true(i == 0 || strcmp(lang->entries[i - 1].key, lang->entries[i].key) < 0);
            assert_true(key_base(lang->entries[i].key, base) ||
                        lang_has(english, lang->entries[i].key));
        }
    }
    assert_int_equal(missing, 0);
}

/* One thing has one word. */
TEST(test_words)
{
    static const char *const avoided[][2] = {{"de", "Access Point"}};

    for (size_t i = 0; i < sizeof(avoided) / sizeof(avoided[0]); i++) {
        const struct lang *lang = lang_find(avoided[i][0]);

        for (size_t j = 0; j < lang->count; j++) {
            assert_null(strstr(lang->entries[j].text, avoided[i][1]));
        }
    }
}

TEST(test_categories)
{
    const struct lang *arabic = lang_find("ar");
    const struct lang *german = lang_find("de");
    const struct lang *french = lang_find("fr");

    assert_non_null(arabic);
    assert_non_null(french);
    assert_non_null(german);
    /* The samples of CLDR. */
    assert_string_equal(lang_category(arabic, 0), "zero");
    assert_string_equal(lang_category(arabic, 1), "one");
    assert_string_equal(lang_category(arabic, 2), "two");
    assert_string_equal(lang_category(arabic, 3), "few");
    assert_string_equal(lang_category(arabic, 10), "few");
    assert_string_equal(lang_category(arabic, 103), "few");
    assert_string_equal(lang_category(arabic, 11), "many");
    assert_string_equal(lang_category(arabic, 99), "many");
    assert_string_equal(lang_category(arabic, 111), "many");
    assert_string_equal(lang_category(arabic, 100), "other");
    assert_string_equal(lang_category(arabic, 102), "other");
    assert_string_equal(lang_category(german, 0), "other");
    assert_string_equal(lang_category(german, 1), "one");
    assert_string_equal(lang_category(german, 2), "other");
    assert_string_equal(lang_category(french, 0), "one");
    assert_string_equal(lang_category(french, 1), "one");
    assert_string_equal(lang_category(french, 2), "other");
    assert_true(lang_is_right_to_left(arabic));
    assert_false(lang_is_right_to_left(german));
    assert_null(lang_find("xx"));
    assert_null(lang_find(""));
    assert_ptr_equal(lang_find("DE"), german);
}

static void check_choice(const char *accept, const char *tag)
{
    assert_string_equal(lang_tag(lang_choose(accept)), tag);
}

TEST(test_choice)
{
    check_choice(NULL, "en");
    check_choice("", "en");
    check_choice("sv", "en");
    check_choice("de", "de");
    check_choice("de-AT", "de");
    check_choice("AR-eg, en;q=0.5", "ar");
    check_choice("sv, ar;q=0.3, de;q=0.7", "de");
    check_choice("sv;q=0.9, *;q=0.1", "en");
    check_choice("fr-CA, en;q=0.5", "fr");
    check_choice("de;q=0, ar;q=0.001", "ar");
    check_choice("de;q=0", "en");
    check_choice("de;q=0.8,en;q=0.8", "de"); /* the first of equals */
    check_choice("ar ; q=0.5 , de ;q=0.25", "ar");
    check_choice("de;q=2, ar;q=1.5", "en");
    check_choice("de;q=, ar;q=x, ;;;,,,-", "en");
    check_choice("deutsch, arab", "en");
    check_choice("a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w,x,y,z,a,b,c,d,e,f,g,h,de", "en");
}

static void check_bytes(struct html *html, const char *expected)
{
    assert_false(html_failed(html));
    assert_int_equal(html->count, strlen(expected));
    assert_memory_equal(html->bytes, expected, html->count);
    html_deinit(html);
}

TEST(test_values)
{
    const struct lang *english = lang_find("en");
    struct html html;

    html_init(&html);
    lang_write(&html, english, "error.refused", "<script>");
    check_bytes(&html, "The message store did not accept it: <bdi>&lt;script&gt;</bdi>");
    lang_write(&html, english, "error.refused", "{0}{1}"); /* a value is not read again */
    check_bytes(&html, "The message store did not accept it: <bdi>{0}{1}</bdi>");
    lang_write(&html, english, "error.refused", NULL);
    check_bytes(&html, "The message store did not accept it: <bdi></bdi>");
    lang_write_count(&html, english, "item.bytes", 1);
    check_bytes(&html, "1 byte");
    lang_write_count(&html, lang_find("ar"), "item.bytes", 2);
    check_bytes(&html, "بايتان");
    assert_string_equal(lang_text(english, "no.such.key"), "no.such.key");
}

static void check_ago(uint64_t seconds, bool is_about, const char *expected)
{
    struct html html;

    html_init(&html);
    lang_write_ago(&html, lang_find("en"), seconds, is_about);
    check_bytes(&html, expected);
}

static void check_until(const char *tag, uint64_t seconds, bool is_about, const char *expected)
{
    struct html html;

    html_init(&html);
    lang_write_until(&html, lang_find(tag), seconds, is_about);
    check_bytes(&html, expected);
}

TEST(test_times)
{
    struct html html;

    check_ago(0, true, "just now");
    check_ago(59, false, "just now");
    check_ago(60, false, "1 min ago");
    check_ago(3599, true, "about 59 min ago");
    check_ago(3600, false, "1 h ago");
    check_ago(86399, false, "23 h ago");
    check_ago(86400, true, "about 1 day ago");
    check_ago(UINT64_MAX, false, "213503982334601 days ago");
    check_until("en", 0, false, "in 1 min");
    check_until("en", 89, false, "in 1 min");
    check_until("en", 3569, false, "in 59 min");
    check_until("en", 3570, false, "in 1 h");
    check_until("en", 3 * 3600 - 5, true, "in about 3 h");
    check_until("en", 86400, false, "in 24 h");
    check_until("en", 7 * 86400 - 5, false, "in 7 days");
    check_until("en", UINT64_MAX, false, "in 213503982334601 days");
    check_until("de", 86400 * 3, true, "in etwa 3 Tagen");
    check_until("ar", 7200, true, "بعد نحو ساعتين");
    check_until("fr", 7200, true, "dans environ 2\u00a0h"); /* on one line */
    html_init(&html);
    lang_write_with_until(&html, lang_find("en"), "left.goes", 3600, false);
    check_bytes(&html, "It disappears by itself in 1 h.");
    lang_write_with_lasts(&html, lang_find("en"), "about.time_max", 86400);
    check_bytes(&html,
                "A message disappears by itself when its time is over, at the latest after 24 "
                "hours.");
}
