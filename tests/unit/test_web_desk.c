/* SPDX-License-Identifier: Apache-2.0 */
/* The moderators' page: every text is in every language, and what guests write stays text. */
#include "client/web/form.h"
#include "client/web/moderate/page.h"
#include "client/web/page.h"
#include "tests/lib/check.h"

#define OWN_SCRIPT "<script src=\"/moderate.js\" defer integrity=\"sha384-"
#define EVIL_TEXT              \
    {                          \
        EVIL, sizeof(EVIL) - 1 \
    }
#define FORM "<form method=\"post\" action=\"/0123/act\""
#define EVIL "<b a=\"1\" b='2'>&\x01\xff\xe2\x80\xae</b>"

static const uint8_t zero_id[HEARSAY_ID_BYTES];
static const uint8_t hash[HEARSAY_HASH_BYTES];

static struct hearsay_reported_message reported_of(const struct hearsay_report_reason *reasons,
                                                   size_t count)
{
    return (struct hearsay_reported_message){
        .id = {zero_id, sizeof(zero_id)},
        .media_type = hearsay_text("text/plain"),
        .payload = hearsay_bytes(EVIL, sizeof(EVIL) - 1),
        .deposited_ms = 1000,
        .expires_ms = 90000000,
        .reports = 3,
        .reasons = reasons,
        .reason_count = count,
    };
}

/* Writes the notices, the bans and the decisions. */
static void write_others(struct html *html, const struct desk *desk)
{
    static const char *const acts[] = {"hide",          "remove",      "restore",  "ban",
                                       "unban",         "notice",      "unnotice", "accept-open",
                                       "accept-review", "accept-auto", EVIL,       "accept-closed"};
    const struct hearsay_house_notice notices[] = {
        {.number = 1, .text = EVIL_TEXT, .lang = EVIL_TEXT, .since_ms = 1000},
        {.number = 2, .text = EVIL_TEXT, .until_ms = 90000000}};
    const struct hearsay_ban_entry bans[] = {{.payload_hash = hearsay_bytes(hash, sizeof(hash))},
                                             {.filter = hearsay_bytes(EVIL, 9)},
                                             {.payload_hash = hearsay_bytes(EVIL, 9)}};
    struct hearsay_decision decisions[sizeof(acts) / sizeof(acts[0])];

    for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++) {
        decisions[i] = (struct hearsay_decision){.number = i + 1,
                                                 .act = hearsay_text(acts[i]),
                                                 .kind = (enum hearsay_report_kind)i,
                                                 .reports = (uint32_t)i,
                                                 .reason = EVIL_TEXT,
                                                 .uid = i == 1 ? HEARSAY_UID_HUB : 0,
                                                 .web = i % 2 == 0};
    }
    decisions[0].id = hearsay_bytes(zero_id, sizeof(zero_id));
    for (size_t count = 0; count <= 2; count++) {
        desk_notices(html, desk, &(struct hearsay_noticed){notices, count}, EVIL);
        desk_bans(html, desk, &(struct hearsay_ban_list){bans, count + 1, true}, 50);
        desk_log(html, desk, &(struct hearsay_decision_list){decisions, 6 * count, true});
    }
}

/* Writes everything that the page can have. */
static void write_all(struct html *html, const struct desk *desk)
{
    static const char *const modes[] = {"open", "review", "closed"};
    static const struct hearsay_report_reason reasons[] = {
        {HEARSAY_REPORT_SPAM, EVIL_TEXT},          {HEARSAY_REPORT_ILLEGAL, {NULL, 0}},
        {HEARSAY_REPORT_SPAM, {NULL, 0}},          {HEARSAY_REPORT_ABOUT_ME, {NULL, 0}},
        {HEARSAY_REPORT_OTHER_KIND, EVIL_TEXT},    {HEARSAY_REPORT_HARASSMENT, {NULL, 0}},
        {(enum hearsay_report_kind)99, EVIL_TEXT},
    };
    struct hearsay_reported_message all[5];
    const struct desk_act act = {
        .act = EVIL, .id = EVIL, .why = EVIL, .reason = EVIL, .page = EVIL};

    for (size_t i = 0; i < 5; i++) {
        all[i] = reported_of(reasons, sizeof(reasons) / sizeof(reasons[0]));
    }
    all[1].hidden = true;
    all[2].hidden = all[2].pending = true;
    all[2].reports = 0;
    all[2].reason_count = 0;
    all[3].hidden = true;
    all[3].destroyed_ms = 80000000;
    all[3].payload_omitted = true;
    all[4].media_type = hearsay_text("image/" EVIL);
    desk_begin(html, desk, &(struct desk_notice){.key = "error.refused", .value = EVIL});
    desk_login(html, desk, &act);
    for (size_t i = 0; i < 3; i++) {
        desk_board(
            html, desk,
            &(struct hearsay_accepting){.mode = hearsay_text(modes[i]),
                                        .source = hearsay_text(i == 0 ? "operator" : "schedule"),
                                        .until_ms = i == 1 ? 90000 : 0});
    }
    for (int list = 0; list < DESK_LISTS; list++) {
        for (uint64_t total = 0; total < 13; total += 4) {
            desk_list(
                html, desk, (enum desk_list)list, true,
                &(struct hearsay_reported_list){.messages = all,
                                                .message_count = total < 5 ? (size_t)total : 5,
                                                .total = total});
        }
    }
    for (size_t count = 0; count <= 5; count++) {
        const struct hearsay_reported_list page = {.messages = all,
                                                   .message_count = count,
                                                   .next = hearsay_bytes(EVIL, 9),
                                                   .previous = hearsay_bytes(EVIL, 9)};
        const struct desk_notice notice = {.key = "error.refused", .value = EVIL};

        assert_int_equal(desk_all(html, desk, &page, &act, &notice), count);
    }
    desk_empty(html, desk);
    write_others(html, desk);
    desk_end(html, desk, &act);
}

static struct desk desk_in(const char *language)
{
    return (struct desk){.places = "",
                         .where = "",
                         .lang = lang_find(language),
                         .language = language,
                         .title = "x",
                         .key = "01",
                         .token = "0123"};
}

TEST(test_every_text)
{
    for (size_t i = 0; i < lang_count(); i++) {
        const struct desk desk = {.places = "",
                                  .where = "",
                                  .lang = lang_at(i),
                                  .language = lang_tag(lang_at(i)),
                                  .title = EVIL,
                                  .key = "01",
                                  .token = "0123",
                                  .page = EVIL,
                                  .now_ms = 2000};
        struct html html;

        html_init(&html);
        write_all(&html, &desk);
        assert_false(html_failed(&html));
        html_text(&html, "", 0);
        char *text = strndup(html.bytes, html.count);
        assert_non_null(text);
        assert_null(strstr(text, ">moderate.")); /* a key that the language does not have */
        assert_null(strstr(text, "=\"moderate."));
        assert_null(strstr(text, "<b a"));
        const char *script = strstr(text, "<script");
        assert_non_null(script); /* the page's own, which nothing else can take the place of */
        assert_memory_equal(script, OWN_SCRIPT, sizeof(OWN_SCRIPT) - 1);
        assert_null(strstr(script + 1, "<script"));
        /* With it a browser gives nothing back after its own error page. */
        assert_null(strstr(text, "autocomplete=\"off\""));
        assert_null(strstr(text, "\x01"));
        assert_null(strstr(text, "\xe2\x80\xae"));
        assert_non_null(strstr(text, "&lt;b a=&#34;1&#34; b=&#39;2&#39;&gt;&amp;"));
        assert_non_null(strstr(text, "<option value=\"spam\" selected>"));
        free(text);
        html_deinit(&html);
    }
}

/* How often a word stands in the page. */
static size_t count_word(const struct html *html, const char *word)
{
    size_t count = 0;

    for (size_t i = 0; i + strlen(word) <= html->count; i++) {
        count += memcmp(html->bytes + i, word, strlen(word)) == 0;
    }
    return count;
}

/* The longest text that guests see whole, in as many bytes of HTML as can be, with `word` last. */
static size_t worst_text(char *text, const char *word)
{
    size_t count = 0;

    for (size_t line = 1; line < PAGE_MESSAGE_LINES; line++) {
        memcpy(text + count, "\"\n\n", 3); /* line ends are no characters */
        count += 3;
    }
    for (size_t i = PAGE_MESSAGE_LINES - 1; i + strlen(word) < PAGE_MESSAGE_CHARACTERS; i++) {
        text[count++] = '"';
    }
    memcpy(text + count, word, strlen(word));
    return count + strlen(word);
}

/* Whatever guests and reporters write, each list shows one message at least, none is cut where
 * guests see it whole, and the page says how many it leaves out. */
TEST(test_the_worst_lists)
{
    enum { MESSAGES = 50, REASONS = 16 };
    static char text[2 * PAGE_MESSAGE_CHARACTERS];
    static char words[1001];
    static struct hearsay_report_reason reasons[REASONS];
    static struct hearsay_reported_message all[MESSAGES];
    const struct desk desk = desk_in("ar");
    struct html html;

    memset(words, '\'', sizeof(words) - 1);
    memcpy(words + sizeof(words) - 5, "last", 4);
    for (size_t i = 0; i < REASONS; i++) {
        reasons[i] = (struct hearsay_report_reason){HEARSAY_REPORT_SPAM, hearsay_text(words)};
    }
    for (size_t i = 0; i < MESSAGES; i++) {
        all[i] = reported_of(reasons, REASONS);
        all[i].payload = hearsay_bytes(text, worst_text(text, "ILLEGAL"));
    }
    html_init(&html);
    desk_begin(&html, &desk, &(struct desk_notice){.key = NULL});
    for (int list = 0; list < DESK_LISTS; list++) {
        size_t before = count_word(&html, "ILLEGAL");

        desk_list(&html, &desk, (enum desk_list)list, true,
                  &(struct hearsay_reported_list){
                      .messages = all, .message_count = MESSAGES, .total = 1000000});
        assert_true(count_word(&html, "ILLEGAL") > before);
        assert_int_equal(count_word(&html, "name=\"reason\""), count_word(&html, "ILLEGAL"));
        assert_int_equal(count_word(&html, "last</p>"), REASONS * count_word(&html, "ILLEGAL"));
    }
    const struct hearsay_reported_list page = {.messages = all, .message_count = 20};
    const struct desk_notice nothing = {.key = NULL};
    size_t before = count_word(&html, "ILLEGAL");
    size_t shown = desk_all(&html, &desk, &page, &(struct desk_act){.act = NULL}, &nothing);

    assert_true(shown > 0 && shown < 20);
    assert_int_equal(count_word(&html, "ILLEGAL") - before, shown);
    desk_end(&html, &desk, &(struct desk_act){.act = NULL});
    assert_int_equal(count_word(&html, "\xe2\x80\xa6"), 0); /* nothing is cut */
    assert_false(html_failed(&html));
    html_deinit(&html);
}

/* What guests see of a message, moderators see, however it is written. */
TEST(test_nothing_is_hidden)
{
    static const char reason[] = "1\n2\n3\n4\n5\n6\n7\n8\n9";
    static const struct hearsay_report_reason reasons[] = {
        {HEARSAY_REPORT_SPAM, {reason, sizeof(reason) - 1}}};
    static char text[3000];
    const struct desk desk = desk_in("en");
    struct hearsay_reported_message both[2] = {reported_of(reasons, 1), reported_of(NULL, 0)};
    struct html html;

    memset(text, 1, sizeof(text));
    memcpy(text + sizeof(text) - 7, "ILLEGAL", 7);
    both[0].payload = hearsay_bytes(text, sizeof(text));
    both[1].payload = hearsay_bytes(text + sizeof(text) - 187, 187);
    html_init(&html);
    for (size_t i = 0; i < 60; i++) {
        memcpy(text + sizeof(text) - 187 + 3 * i, "ok\n", 3);
    }
    desk_list(&html, &desk, DESK_REPORTED, true,
              &(struct hearsay_reported_list){.messages = both, .message_count = 2, .total = 2});
    assert_int_equal(count_word(&html, "ILLEGAL"), 2);
    assert_int_equal(count_word(&html, "8</p><p>\xe2\x80\xa6</p>"), 1); /* a cut has a sign */
    html_deinit(&html);
}

/* Enter in the field of the reason presses the first button of its form: that one must remove. */
TEST(test_enter_removes)
{
    const struct desk desk = desk_in("en");
    struct hearsay_reported_message one = reported_of(NULL, 0);
    struct html html;

    for (int hidden = 0; hidden < 2; hidden++) {
        one.hidden = one.pending = hidden == 1;
        html_init(&html);
        desk_list(
            &html, &desk, DESK_REPORTED, true,
            &(struct hearsay_reported_list){.messages = &one, .message_count = 1, .total = 1});
        html_text(&html, "", 0);
        char *text = strndup(html.bytes, html.count);
        assert_non_null(text);
        char *form = strstr(text, "name=\"reason\"");
        assert_non_null(form);
        *strstr(form, "</form>") = '\0';
        for (char *next = strstr(text, "<form"); next != NULL; next = strstr(next + 1, "<form")) {
            form = next;
        }
        char *button = strstr(form, "<button");
        assert_non_null(button);
        assert_memory_equal(button, "<button name=\"do\" value=\"remove\"", 32);
        assert_null(strstr(button + 1, "<button"));
        assert_memory_equal(form, FORM, sizeof(FORM) - 1);
        assert_non_null(strstr(form, "name=\"id\""));
        assert_non_null(strstr(form, "name=\"why\""));
        free(text);
        html_deinit(&html);
    }
}

/*
 * All messages: what was pressed in the list is answered in the message, where the browser goes, or
 * above the list if the message is not there. No element has the id of another one, though a
 * message stands in two lists.
 */
TEST(test_all_messages)
{
    static const char place[] = "id=\"m-07070707070707070707070707070707\"";
    struct desk desk = {.places = "",
                        .where = "",
                        .lang = lang_find("en"),
                        .language = "en",
                        .title = "x",
                        .key = "01",
                        .token = "0123",
                        .page = "6f00"};
    struct hearsay_reported_message both[2] = {reported_of(NULL, 0), reported_of(NULL, 0)};
    const struct desk_notice notice = {.key = "moderate.done_hide"};
    struct desk_act act = {.act = "hide", .page = "6f00"};
    const struct hearsay_reported_list page = {
        .messages = both, .message_count = 2, .total = 2, .next = hearsay_bytes("o\x0a\xff", 3)};
    uint8_t ids[2][HEARSAY_ID_BYTES];
    struct html html;

    memset(ids[0], 7, HEARSAY_ID_BYTES);
    memset(ids[1], 8, HEARSAY_ID_BYTES);
    both[0].id.data = ids[0];
    both[1].id.data = ids[1];
    both[1].hidden = both[1].pending = true;
    for (int on_page = 0; on_page < 2; on_page++) {
        ids[0][0] = on_page == 1 ? 7 : 6;
        act.id = "07070707070707070707070707070707";
        html_init(&html);
        desk_list(&html, &desk, DESK_REPORTED, true, &page);
        assert_int_equal(desk_all(&html, &desk, &page, &act, &notice), 2);
        assert_false(html_failed(&html));
        html_text(&html, "", 0);
        char *text = strndup(html.bytes, html.count);
        assert_non_null(text);
        assert_int_equal(count_word(&html, place), 1);
        assert_int_equal(count_word(&html, "Hidden."), 1);
        const char *from = strstr(text, place);
        assert_true(strstr(from, "Hidden.") < strstr(from, "class=\"text\""));
        char *list = strstr(text, "<section id=\"all\">");
        assert_int_equal(strstr(list, place) > strstr(list, "<ol"), on_page);
        assert_int_equal(count_word(&html, "id=\"why-"), 4);
        assert_int_equal(count_word(&html, "id=\"why-m-"), 2);
        assert_int_equal(count_word(&html, "name=\"p\" value=\"6f00\""), 4);
        assert_int_equal(count_word(&html, "name=\"p\" value=\"6f0aff\""), 1);
        assert_non_null(strstr(list, "value=\"hide\""));
        assert_non_null(strstr(list, "waits for you"));
        assert_null(strstr(list, "It is fine"));
        assert_null(strstr(list, ">Newer<"));
        free(text);
        html_deinit(&html);
    }
    html_init(&html);
    assert_int_equal(desk_all(&html, &desk, &(struct hearsay_reported_list){.total = 0}, &act,
                              &(struct desk_notice){.key = NULL}),
                     0);
    assert_int_equal(html.count, 0);
    html_deinit(&html);
}

/* Each notice is in each language. */
TEST(test_notices)
{
    static const char *const keys[] = {
        "moderate.wrong",
        "moderate.limited",
        "moderate.expired",
        "moderate.ended",
        "moderate.foreign",
        "moderate.left",
        "moderate.away",
        "moderate.gone",
        "moderate.already",
        "moderate.done_accept",
        "moderate.done_hide",
        "moderate.done_show",
        "moderate.done_remove",
        "moderate.done_remove_until",
        "error.too_long",
        "error.refused",
        "moderate.done_show_banned",
        "moderate.done_notice",
        "moderate.done_unnotice",
        "moderate.done_unban",
        "moderate.five",
    };

    for (size_t i = 0; i < lang_count(); i++) {
        for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
            assert_true(lang_has(lang_at(i), keys[k]));
        }
    }
}

/* A kind of a later version counts as another one. */
TEST(test_an_unknown_kind)
{
    static const struct hearsay_report_reason reasons[] = {
        {HEARSAY_REPORT_SPAM, {NULL, 0}},
        {HEARSAY_REPORT_OTHER_KIND, {NULL, 0}},
        {(enum hearsay_report_kind)(HEARSAY_REPORT_OTHER_KIND + 1), {"loud", 4}}};
    const struct hearsay_reported_message message = reported_of(reasons, 3);
    const struct hearsay_decision decision = {.act = {"hide", 4}, .kind = reasons[2].kind};
    const struct desk desk = desk_in("en");
    struct html html;

    html_init(&html);
    desk_list(&html, &desk, DESK_REPORTED, true,
              &(struct hearsay_reported_list){.messages = &message, .message_count = 1});
    assert_int_equal(count_word(&html, "2 \xc3\x97 Something else<div"), 1);
    assert_int_equal(count_word(&html, "loud"), 1);
    assert_int_equal(count_word(&html, "<option value=\"other\" selected>"), 1);
    html_deinit(&html);
    html_init(&html);
    desk_log(&html, &desk, &(struct hearsay_decision_list){&decision, 1, false});
    assert_int_equal(count_word(&html, "Something else"), 1);
    html_deinit(&html);
}

TEST(test_kinds)
{
    assert_int_equal(form_report_kind_of("about-me"), HEARSAY_REPORT_ABOUT_ME);
    assert_int_equal(form_report_kind_of("other"), HEARSAY_REPORT_OTHER_KIND);
    assert_int_equal(form_report_kind_of("Spam"), 0);
    assert_int_equal(form_report_kind_of(NULL), 0);
}
