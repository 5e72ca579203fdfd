/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every page in every state is a document that a strict reader accepts: elements close in order,
 * ids stand once, each field has a label, nothing is styled or scripted inline, nothing comes from
 * elsewhere. Text of others stays text on every page, and what was typed is still there after every
 * error. In a made-up language nothing is left in English.
 */
#include <ctype.h>
#include <time.h>

#include "client/web/statics.h"
#include "tests/lib/check.h"
#include "tests/lib/rng.h"
#include "tests/unit/web_reader.h"

void *__real_realloc(void *block, size_t bytes);
void *__wrap_realloc(void *block, size_t bytes);

static unsigned fail_at; /* the call that fails, counted from 1; 0: none */

void *__wrap_realloc(void *block, size_t bytes)
{
    return fail_at > 0 && --fail_at == 0 ? NULL : __real_realloc(block, bytes);
}

TEST(test_well_formed)
{
    for (size_t i = 0; i < web_pages_sample_count; i++) {
        for (size_t l = 0; l < lang_count(); l++) {
            struct web_pages_values values = web_pages_plain;

            values.typed = "kept";
            free(web_reader_read(&web_pages_samples[i], &values, lang_at(l)));
        }
    }
}

static const char *const attacks[] = {
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "' onmouseover='alert(1)",
    "</textarea><script>alert(1)</script>",
    "</title><svg onload=alert(1)>",
    "javascript:alert(1)",
    "&lt;script&gt;&#60;&quot;",
    "<!--",
    "]]>",
    "<![CDATA[",
    "--><script>",
    "\xff<script>\xc3",
    "\xe2\x80\xae<b>\xe2\x81\xa6",
    "{0}{1}<b>",
    "+ADw-script+AD4-",
    "a\x0b\"b",
};

TEST(test_attacks)
{
    for (size_t a = 0; a < sizeof(attacks) / sizeof(attacks[0]); a++) {
        struct web_pages_values values = {
            .messages = {attacks[a], attacks[a]},
            .typed = attacks[a],
            .notices = {attacks[a], attacks[a]},
            .topics = {attacks[a], attacks[a]},
            .media_type = attacks[a],
            .place_name = attacks[a],
            .title = attacks[a],
            .name = attacks[a],
            .operator_name = attacks[a],
            .contact = attacks[a],
            .rules = attacks[a],
            .sentence = attacks[a],
            .ssid = attacks[a],
            .password = attacks[a],
            .code = attacks[a],
        };

        values.offered.count = 1;
        (void)snprintf(values.offered.all[0].text, TOPICS_TEXT_BYTES, "%s", attacks[a]);
        (void)snprintf(values.offered.all[0].normalised, TOPICS_TEXT_BYTES, "%s", attacks[a]);
        for (size_t i = 0; i < web_pages_sample_count; i++) {
            free(web_reader_read(&web_pages_samples[i], &values, lang_at(a % lang_count())));
        }
    }
}

/* What a place says: each notice escaped, with its language, and nothing else. */
static void write_region(struct html *html, const struct page *page)
{
    html_raw(html, "<section class=\"card house\" id=\"house\" aria-live=\"polite\"");
    html_raw(html, page->notice_count == 0 ? " hidden>\n<h2>" : ">\n<h2>");
    lang_write(html, page->lang, "house.heading", NULL);
    html_raw(html, "</h2>\n");
    for (size_t i = 0; i < page->notice_count; i++) {
        html_raw(html, i == 0 ? "<p dir=\"auto\" lang=\"en\">" : "<p dir=\"auto\">");
        html_text(html, page->notices[i].text.text, page->notices[i].text.length);
        html_raw(html, "</p>\n");
    }
    html_raw(html, "</section>\n");
}

static size_t page_count(const struct html *html, const char *bytes, size_t count)
{
    const char *end = html->bytes + html->count;
    size_t found = 0;

    for (const char *at = html->bytes; (at = memmem(at, (size_t)(end - at), bytes, count)) != NULL;
         at++) {
        found++;
    }
    return found;
}

/* Fills `text`, which has 200 bytes, with attacks, words of the region and bytes at random. */
static const char *random_text(struct rng *rng, char *text)
{
    static const char *const pieces[] = {"</section>", "<section id=\"house\">", "</p>",
                                         "</li></ol>", "From the house",         "\" id=\"house",
                                         "\n"};
    size_t count = 0;

    for (uint32_t i = rng_below(rng, 6); i > 0 && count < 100; i--) {
        uint32_t kind = rng_below(rng, 3);
        const char *piece = kind == 0
                                ? attacks[rng_below(rng, sizeof(attacks) / sizeof(attacks[0]))]
                                : pieces[rng_below(rng, sizeof(pieces) / sizeof(pieces[0]))];

        if (kind == 2) {
            text[count++] = (char)(1 + rng_below(rng, 255));
        } else {
            count += (size_t)snprintf(text + count, 200 - count, "%s", piece);
        }
        assert_true(count < 200);
    }
    text[count] = '\0';
    return text;
}

/* No text of a guest and no media type gets into the region of the house, nor makes another one. */
TEST(test_house)
{
    struct rng rng;
    char texts[9][200];

    rng_init(&rng);
    for (unsigned round = 0; round < (rng_is_brief() ? 20U : 500U); round++) {
        struct web_pages_values values = web_pages_plain;
        const struct lang *lang = lang_at(rng_below(&rng, (uint32_t)lang_count()));
        struct view view;

        values.messages[0] = random_text(&rng, texts[0]);
        values.messages[1] = random_text(&rng, texts[1]);
        values.media_type = random_text(&rng, texts[2]);
        values.typed = random_text(&rng, texts[3]);
        values.topics[0] = random_text(&rng, texts[4]);
        values.title = random_text(&rng, texts[5]);
        values.place_name = values.title;
        values.notices[0] = rng_chance(&rng, 80) ? random_text(&rng, texts[6]) : NULL;
        values.notices[1] = rng_chance(&rng, 50) ? random_text(&rng, texts[7]) : NULL;
        values.sentence = random_text(&rng, texts[8]);
        for (size_t i = 0; i < web_pages_sample_count; i++) {
            struct page page = web_pages_page(&values, lang, &view);
            struct html html = {.count = 0};
            struct html region = {.count = 0};
            size_t is_list = strncmp(web_pages_samples[i].name, "list", 4) == 0;

            web_pages_samples[i].write(&html, &page, &values);
            write_region(&region, &page);
            assert_false(html_failed(&html) || html_failed(&region));
            assert_int_equal(page_count(&html, region.bytes, region.count), is_list);
            assert_int_equal(page_count(&html, "class=\"card house\"", 18), is_list);
            assert_int_equal(page_count(&html, "id=\"house\"", 10), is_list);
            html_deinit(&region);
            html_deinit(&html);
        }
    }
}

TEST(test_text_is_kept)
{
    static const char *const texts[] = {"Two\nlines, \"quoted\" & <b>", "\nfrom a line feed on",
                                        "0"};

    for (size_t t = 0; t < sizeof(texts) / sizeof(texts[0]); t++) {
        for (size_t i = 0; i < web_pages_sample_count; i++) {
            const struct web_pages_sample *sample = &web_pages_samples[i];
            struct web_pages_values values = web_pages_plain;
            struct web_reader *reader;
            bool is_line = strncmp(sample->name, "message-", 8) == 0; /* one line, not several */

            values.typed = is_line ? "0" : texts[t];
            reader = web_reader_read(sample, &values, lang_at(0));
            if (reader->has_typed != sample->keeps_text) {
                print_error("%s: the typed text is kept: %d\n", sample->name, reader->has_typed);
                fail();
            }
            free(reader);
        }
    }
}

/* A list of the longest texts of the worst bytes still fits into a page. */
TEST(test_worst_list)
{
    static char text[4097];
    struct web_pages_values values = web_pages_plain;

    memset(text, '"', sizeof(text) - 1);
    for (size_t i = 0; i < WEB_PAGES_MESSAGES_MAX - 1; i++) {
        values.messages[i] = text;
    }
    free(web_reader_read(&web_pages_samples[0], &values, lang_at(0)));
    for (size_t i = 0; i + 1 < sizeof(text); i++) {
        text[i] = i % 2 == 0 ? 'a' : '\n';
    }
    for (size_t i = 0; i < web_pages_sample_count; i++) {
        values.typed = text;
        values.rules = text;
        free(web_reader_read(&web_pages_samples[i], &values, lang_find("ar")));
    }
}

/* The first view has at most 16 KiB, also where each of its 20 messages says how near it is, and in
 * Arabic, which has two bytes for a letter and more forms of plurals. */
TEST(test_first_view)
{
    enum { MESSAGES = 20, MESSAGE_BYTES = 200, HTML_MOST = 16 * 1024 };
    static const struct {
        const char *tag;
        size_t one_hour;    /* its text is another than that of "other" */
        const char *topics; /* each message has one; NULL: there are none */
    } rows[] = {
        {"en", 0, NULL},
        {"de", 0, NULL},
        {"fr", 0, NULL},
        {"ar", 1, NULL},
        {"en", 0, "Coffee, Lost + found, Help, Music, Events, Lifts"},
        {"de", 0, "Kaffee, Fundsachen, Hilfe, Musik, Termine, Mitfahren"},
        {"fr", 0, "Caf\u00e9, Objets trouv\u00e9s, Aide, Musique, Sorties, Trajets"},
        {"ar", 1,
         "\u0642\u0647\u0648\u0629, \u0645\u0641\u0642\u0648\u062f\u0627\u062a, "
         "\u0645\u0633\u0627\u0639\u062f\u0629, \u0645\u0648\u0633\u064a\u0642\u0649, "
         "\u0641\u0639\u0627\u0644\u064a\u0627\u062a, \u062a\u0648\u0635\u064a\u0644"},
    };
    static char text[MESSAGE_BYTES];
    struct board_message messages[MESSAGES];

    memset(text, 'x', sizeof(text));
    for (size_t i = 0; i < MESSAGES; i++) {
        messages[i] = (struct board_message){.media_type = "text/plain",
                                             .text = text,
                                             .bytes = sizeof(text),
                                             .deposited_ms = 1795345214150 - 3000000,
                                             .expires_ms = 1795345214150 + 80000000,
                                             .similarity_ppm = i % 2 == 0 ? 900000 : 300000};
        memset(messages[i].id, (int)(16 + i), sizeof(messages[i].id));
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct view view;
        struct page page = web_pages_page(&web_pages_plain, lang_find(rows[i].tag), &view);
        struct board_list list = {.messages = messages, .count = MESSAGES, .has_older = true};
        struct page_form form = {.ttl_default_s = 24 * 3600, .ttl_max_s = 7 * 24 * 3600};
        struct html html = {.count = 0};
        struct topics topics = {.count = 0};
        char why[TOPICS_WHY_BYTES];

        assert_true(rows[i].topics == NULL || topics_read(rows[i].topics, &topics, why));
        for (size_t m = 0; m < MESSAGES && topics.count > 0; m++) {
            messages[m].topics = 1U << m % topics.count;
        }
        page.topics = &topics;
        view.language[0] = '\0'; /* as a phone asks that has chosen none */
        (void)snprintf(view.store, sizeof(view.store), "%s", page.store); /* as visit.c does */
        page.notice_count = 0;
        page_write_list(&html, &page, &(struct page_list){.list = &list, .form = &form});
        assert_false(html_failed(&html));
        const char *very = lang_text(page.lang, "near.very");
        assert_int_equal(page_count(&html, very, strlen(very)), MESSAGES / 2);
        assert_int_equal(page_count(&html, "data-days-one", 13), 1);
        assert_int_equal(page_count(&html, "data-hours-one", 14), rows[i].one_hour);
        assert_int_equal(page_count(&html, "data-hours-zero", 15), 0); /* never said */
        print_message("%s: %zu bytes, %zu topics\n", rows[i].tag, html.count, topics.count);
        assert_in_range(html.count, MESSAGES * MESSAGE_BYTES, HTML_MOST);
        html_deinit(&html);
    }
}

/* How many bytes a page has, and in *out_names how often the name is in it. */
static size_t count_names(const struct web_pages_sample *sample, const char *name,
                          const struct lang *lang, size_t *out_names)
{
    struct web_pages_values values = web_pages_plain;
    struct html html = {.count = 0};
    struct view view;

    values.place_name = name;
    struct page page = web_pages_page(&values, lang, &view);
    sample->write(&html, &page, &values);
    assert_false(html_failed(&html));
    size_t count = html.count;
    *out_names = page_count(&html, "Main stage", 10);
    html_deinit(&html);
    return count;
}

/* The name of a place stands below the title, in the form and on the poster, whose link has it; a
 * page without one has nothing instead. */
TEST(test_the_name_of_a_place)
{
    for (size_t i = 0; i < web_pages_sample_count * lang_count(); i++) {
        const struct web_pages_sample *sample = &web_pages_samples[i / lang_count()];
        const struct lang *lang = lang_at(i % lang_count());
        const char *name = sample->name;
        bool is_list = strncmp(name, "list", 4) == 0;
        bool has_form = strcmp(name, "list") == 0;
        size_t names = 0;
        size_t without = count_names(sample, NULL, lang, &names);

        assert_int_equal(names, 0);
        size_t with = count_names(sample, "Main stage", lang, &names);
        if (has_form) {
            assert_int_equal(names, 2);
            assert_in_range(with, without + 20, without + 200);
        } else if (is_list || strncmp(name, "poster", 6) == 0) {
            assert_in_range(names, 1, 2);
        }
        assert_int_equal(count_names(sample, "", lang, &names), without);
    }
}

/* The list for programs, in each language: no text of ours has what HTML escapes, and none of
 * others reaches a terminal or the markup of a feed. */
TEST(test_programs)
{
    for (size_t a = 0; a < sizeof(attacks) / sizeof(attacks[0]) * lang_count(); a++) {
        const char *attack = attacks[a / lang_count()];
        struct board_message messages[] = {
            {.media_type = "text/plain", .text = attack, .bytes = strlen(attack), .host = attack},
            {.media_type = attack, .bytes = 7, .expires_ms = INT64_MAX, .similarity_ppm = 1000000},
            {.media_type = "text/plain", .is_omitted = true},
        };
        struct board_list list = {
            .messages = messages, .count = 3, .has_older = true, .age_ms = 9999};
        struct web_pages_values values = {.notices = {attack, attack}, .title = attack};
        struct view view;
        struct page page = web_pages_page(&values, lang_at(a % lang_count()), &view);
        struct html html = {.count = 0};

        page_write_text(&html, &page, &list);
        page_write_json(&html, &page, &list);
        assert_false(html_failed(&html));
        for (size_t i = 0; i < html.count; i++) {
            assert_true((unsigned char)html.bytes[i] >= 0x20 || html.bytes[i] == '\n');
        }
        assert_int_equal(page_count(&html, "\xe2\x80\xae", 3), 0); /* U+202E */
        assert_int_equal(page_count(&html, "&#39;", 5) + page_count(&html, "&amp;", 5), 0);
        html_deinit(&html);
        page_write_feed(&html, &page, &list, "hearsay.lan");
        assert_false(html_failed(&html));
        assert_int_equal(page_count(&html, "<entry>", 7), 3);
        assert_int_equal(page_count(&html, "<script", 7), 0);
        html_deinit(&html);
    }
}

/* --- a made-up language ----------------------------------------------------------------------- */

/* Writes a text with an accent on each letter and 40 in 100 more of it. */
static char *pseudo_text(const char *text)
{
    size_t length = strlen(text);
    char *out = calloc(1, 6 * length + 16);
    size_t count = 0;

    assert_non_null(out);
    for (size_t i = 0; i < length; i++) {
        if (isalpha((unsigned char)text[i])) {
            /* Fullwidth letters: U+FF21 and on, U+FF41 and on. */
            unsigned code = isupper((unsigned char)text[i]) ? 0xff21U + (unsigned)(text[i] - 'A')
                                                            : 0xff41U + (unsigned)(text[i] - 'a');

            out[count++] = (char)(0xe0 | code >> 12);
            out[count++] = (char)(0x80 | (code >> 6 & 0x3f));
            out[count++] = (char)(0x80 | (code & 0x3f));
        } else {
            out[count++] = text[i];
        }
    }
    for (size_t i = 0; i < (length * 2 + 4) / 5; i++) {
        out[count++] = '~';
    }
    return out;
}

/* An English that no page may break out of; to be freed with pseudo_free. */
static struct lang pseudo_new(void)
{
    const struct lang *english = lang_at(0);
    struct lang_entry *entries = calloc(english->count, sizeof(*entries));

    assert_non_null(entries);
    for (size_t i = 0; i < english->count; i++) {
        entries[i] = (struct lang_entry){.key = english->entries[i].key,
                                         .text = pseudo_text(english->entries[i].text)};
    }
    return (struct lang){.tag = "xx",
                         .name = "xx",
                         .is_right_to_left = true,
                         .entries = entries,
                         .count = english->count};
}

static void pseudo_free(struct lang *lang)
{
    for (size_t i = 0; i < lang->count; i++) {
        free((void *)(uintptr_t)lang->entries[i].text);
    }
    free((void *)(uintptr_t)lang->entries);
}

TEST(test_nothing_untranslated)
{
    struct web_pages_values values = {
        .messages = {"1", "2", "3"},
        .typed = "4",
        .topics = {"5", "6"},
        .media_type = "7/8",
        .title = "9",
        .name = "10",
        .operator_name = "11",
        .contact = "12",
        .rules = "13",
        .sentence = "14",
        .ssid = "15",
        .password = "16",
        .code = "17",
    };
    struct lang lang = pseudo_new();

    for (size_t i = 0; i < web_pages_sample_count; i++) {
        struct web_reader *reader = web_reader_read(&web_pages_samples[i], &values, &lang);

        for (size_t at = 0; at < reader->text_bytes; at++) {
            if (isalpha((unsigned char)reader->text[at])) {
                print_error("%s: not translated: %.60s\n", reader->page, reader->text + at);
                fail();
            }
        }
        free(reader);
    }
    pseudo_free(&lang);
}

/* --- what the lists say ----------------------------------------------------------------------- */

static bool sample_has(const char *name, const struct web_pages_values *values, const char *text)
{
    bool has = false;

    for (size_t i = 0; i < web_pages_sample_count; i++) {
        if (strcmp(web_pages_samples[i].name, name) == 0) {
            struct web_reader *reader = web_reader_read(&web_pages_samples[i], values, lang_at(0));

            has = strstr(reader->text, text) != NULL;
            free(reader);
        }
    }
    return has;
}

TEST(test_sentences)
{
    struct web_pages_values one = web_pages_plain;

    one.messages[0] = NULL;
    assert_true(sample_has("list", &web_pages_plain, "very near"));
    assert_true(sample_has("list", &web_pages_plain, "further away"));
    assert_false(sample_has("list", &one, "very near")); /* a single band says nothing */
    assert_false(sample_has("list-near", &web_pages_plain, "very near")); /* all are near */
    assert_true(sample_has("list", &web_pages_plain, "28 min ago"));
    assert_false(sample_has("list", &web_pages_plain, "about 28 min ago"));
    assert_true(sample_has("list-near", &web_pages_plain, "about 28 min ago"));
    assert_true(sample_has("list-near", &web_pages_plain, "gone in about 3 h"));
    assert_true(sample_has("list", &web_pages_plain, "3 sealed messages"));
    assert_true(sample_has("list", &web_pages_plain, "Everybody on this WiFi can read"));
    assert_true(sample_has("list", &web_pages_plain, "in 24 h, unless you choose another time"));
    assert_true(sample_has("list-no-match", &web_pages_plain, "by itself in 10 min."));
    assert_true(sample_has("list-empty", &web_pages_plain, "Nothing here yet."));
    assert_true(sample_has("list-closed", &web_pages_plain, "Try again in 8 h"));
    assert_true(sample_has("list-omitted", &web_pages_plain, "did not fit into the list"));
    assert_true(sample_has("list-omitted", &web_pages_plain, "Read on"));
    assert_true(sample_has("error-removed", &web_pages_plain, "Removed by the operator"));
    assert_true(sample_has("error-limited", &web_pages_plain, "in 2 min"));
    assert_true(sample_has("error-limited-soon", &web_pages_plain, "try again in a moment."));
    assert_true(sample_has("error-text", &web_pages_plain, "look at \u201cYour message\u201d"));
    assert_true(sample_has("error-answer", &web_pages_plain, "look at \u201cAnswer\u201d"));
    assert_true(sample_has("error-refused", &web_pages_plain, web_pages_plain.sentence));
    assert_true(sample_has("about", &web_pages_plain, "at the latest after 7 days"));
    assert_true(sample_has("about-nobody", &web_pages_plain, "has not said who they are"));
}

/* A browser gives back what was typed when a person comes back from its error page, but not in a
 * field with autocomplete="off". Only the code to withdraw, a secret, has it, where it is given and
 * where it is asked for. */
TEST(test_browsers_give_back_what_was_typed)
{
    static const char off[] = "autocomplete=\"off\"";
    size_t codes = 0;

    for (size_t i = 0; i < web_pages_sample_count; i++) {
        struct view view;
        struct page page = web_pages_page(&web_pages_plain, lang_at(0), &view);
        struct html html;

        html_init(&html);
        web_pages_samples[i].write(&html, &page, &web_pages_plain);
        char *text = strndup(html.bytes, html.count);
        assert_non_null(text);
        for (const char *at = strstr(text, off); at != NULL; at = strstr(at + 1, off)) {
            const char *tag = at;

            while (*tag != '<') {
                tag--;
            }
            assert_true(strncmp(tag, "<textarea id=\"code\"", 19) == 0 ||
                        strncmp(tag, "<textarea id=\"given\"", 20) == 0);
            codes++;
        }
        free(text);
        html_deinit(&html);
    }
    assert_true(codes > 0);
}

TEST(test_no_memory)
{
    for (size_t i = 0; i < web_pages_sample_count; i++) {
        unsigned failures = 0;
        bool has_failed = true;

        for (unsigned n = 1; has_failed; n++) {
            struct view view;
            struct page page = web_pages_page(&web_pages_plain, lang_at(1), &view);
            struct html html;

            html_init(&html);
            fail_at = n;
            web_pages_samples[i].write(&html, &page, &web_pages_plain);
            has_failed = fail_at == 0;
            assert_int_equal(html_failed(&html), has_failed);
            failures += has_failed;
            fail_at = 0;
            html_deinit(&html);
        }
        assert_true(failures > 0);
    }
}

/* Variables have one letter in all sheets; style.css, which every page has, sets each of them. */
static void check_variables(const struct statics_file *style, const struct statics_file *sheet)
{
    const unsigned char *end = sheet->bytes + sheet->count;
    const unsigned char *at = sheet->bytes;

    while ((at = memmem(at, (size_t)(end - at), "var(--", 6)) != NULL) {
        const char sets[] = {'-', '-', (char)at[6], ':'};

        assert_int_equal(at[7], ')');
        assert_non_null(memmem(style->bytes, style->count, sets, sizeof(sets)));
        at += 6;
    }
}

TEST(test_statics)
{
    const struct statics_file *style = statics_find("style.css");

    assert_non_null(style);
    assert_true(style->count <= 8 * 1024);
    assert_true(style->gzip_count < style->count);
    assert_memory_equal(style->gzip, "\x1f\x8b", 2);
    assert_non_null(statics_find("favicon.svg"));
    assert_null(statics_find("../style.css"));
    check_variables(style, style);
    check_variables(style, statics_find("moderate.css"));
    for (size_t i = 0; i + 4 < style->count; i++) { /* nothing from elsewhere */
        assert_int_not_equal(memcmp(style->bytes + i, "url(", 4), 0);
    }
}

/* Where the zone is known, the page says by the clock when messages are taken again. A time of the
 * day that is not within a day would be misread. */
TEST(test_times_of_the_day)
{
    assert_int_equal(setenv("TZ", "XYZ-1", 1), 0);
    tzset();
    assert_true(sample_has("list-closed", &web_pages_plain, "Open again at 20:20."));
    assert_true(sample_has("error-closed", &web_pages_plain, "Open again at 16:00."));
    assert_true(sample_has("error-full", &web_pages_plain, "is free about 13:30."));
    assert_true(sample_has("error-full-days", &web_pages_plain, "is free in about 3 days."));
    assert_int_equal(setenv("TZ", "UTC", 1), 0);
    tzset();
    assert_true(sample_has("error-closed", &web_pages_plain, "Try again in 4 h"));
    assert_true(sample_has("error-full", &web_pages_plain, "is free in about 2 h."));
    assert_true(sample_has("error-full-unknown", &web_pages_plain, "Please try again later."));
}

int main(void)
{
    (void)setenv("TZ", "UTC", 1);

    return check_run(NULL, NULL);
}
