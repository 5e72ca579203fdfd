/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/web_pages.h"

#include <stdio.h>

#define PAGES_NOW_MS INT64_C(1795345214150)
#define PAGES_MIN_MS INT64_C(60000)

const struct web_pages_values web_pages_plain = {
    .messages =
        {
            "Tonight at eight: open stage in the back room. Bring a song, a poem, or just listen.",
            "Found: a grey scarf under table four. It is at the counter.",
            "Does anybody else come here on Tuesdays to play chess? I have a board with me.\n\n"
            "White beard, blue jacket, the table at the window.",
            "\xf0\x9f\x8e\xb7 Jazz on the square at nine, no entry fee",
            "\xd9\x87\xd9\x84 \xd9\x8a\xd8\xb9\xd8\xb1\xd9\x81 \xd8\xa3\xd8\xad\xd8\xaf "
            "\xd9\x85\xd8\xaa\xd9\x89 \xd9\x8a\xd8\xba\xd9\x84\xd9\x82 \xd8\xa7\xd9\x84\xd9\x85"
            "\xd9\x82\xd9\x87\xd9\x89\xd8\x9f",
            "The WiFi is better near the stairs.",
        },
    .notices = {"The bar closes at one. Last orders at half past twelve.",
                "\xd9\x8a\xd8\xba\xd9\x84\xd9\x82 \xd8\xa7\xd9\x84\xd9\x85\xd9\x82\xd9\x87\xd9\x89 "
                "\xd8\xa7\xd9\x84\xd8\xb3\xd8\xa7\xd8\xb9\xd8\xa9 \xd8\xa7\xd9\x84\xd9\x88\xd8\xa7"
                "\xd8\xad\xd8\xaf\xd8\xa9."},
    .typed = "Is there still a place at the long table?\nWe are five.",
    .topics = {"jazz", "coffee"},
    .offered = {.all = {{"Coffee", "coffee"}, {"Lost & found", "lost & found"}}, .count = 2},
    .media_type = "image/png",
    .title = "Caf\xc3\xa9 Lindenhof",
    .name = "hearsay.lan",
    .operator_name = "Caf\xc3\xa9 Lindenhof, Anna Berg",
    .contact = "at the counter, or anna@lindenhof.example",
    .rules = "Be kind.\nNo advertising.\nNo names and telephone numbers of others.",
    .sentence = "the payload has 4097 bytes; at most 4096 are allowed",
    .ssid = "Lindenhof Guests",
    .password = "apple-tree-17",
    .code = "K7QF3MZ2XN5RD4TB6WYHJ8PCVA",
};

struct page web_pages_page(const struct web_pages_values *values, const struct lang *lang,
                           struct view *view)
{
    static struct hearsay_house_notice notices[2];
    size_t count = 0;

    for (; count < 2 && values->notices[count] != NULL; count++) {
        notices[count] =
            (struct hearsay_house_notice){.number = 1,
                                          .text = hearsay_text(values->notices[count]),
                                          .lang = hearsay_text(count == 0 ? "en" : NULL)};
    }
    *view = (struct view){.order = VIEW_NEWEST, .before_ms = INT64_MAX};
    (void)snprintf(view->language, sizeof(view->language), "%s", lang_tag(lang));
    if (values->place_name != NULL) {
        (void)snprintf(view->place_name, sizeof(view->place_name), "%s", values->place_name);
    }
    return (struct page){
        .lang = lang,
        .title = values->title,
        .topics = &values->offered,
        .name = values->name,
        .store = "0123abcd",
        .here = "0123abce",
        .statics = "/s/0123456789abcdef/",
        .operator_name = values->operator_name,
        .contact = values->contact,
        .view = view,
        .now_ms = PAGES_NOW_MS,
        .is_clock_trusted = true,
        .ttl_max_s = 7 * 24 * 3600,
        .notices = notices,
        .notice_count = count,
    };
}

/* --- what pages show -------------------------------------------------------------------------- */

static const char pages_id[] = "00112233445566778899aabbccddeeff";

static struct page_form pages_form(const char *typed)
{
    return (struct page_form){
        .text = typed,
        .ttl_default_s = 24 * 3600,
        .ttl_max_s = 7 * 24 * 3600,
        .accept = HEARSAY_ACCEPT_OPEN,
    };
}

static struct board_message pages_message(const char *text, size_t number)
{
    struct board_message message = {
        .media_type = "text/plain",
        .text = text,
        .bytes = strlen(text),
        .deposited_ms = PAGES_NOW_MS - PAGES_MIN_MS * (int64_t)(number * number * 7),
        .expires_ms = PAGES_NOW_MS + PAGES_MIN_MS * (int64_t)(13 + 97 * number),
        .similarity_ppm = 800000U / (uint32_t)(1 + number),
        .topics = (uint32_t)number,
        .answer_count = number == 1 ? 2 : 0,
    };

    memset(message.id, (int)(number + 1), sizeof(message.id));
    return message;
}

/* A list of all messages of the values, one of another kind behind them. */
static struct board_list pages_list(const struct web_pages_values *values,
                                    struct board_message *out_messages)
{
    size_t count = 0;

    while (count < WEB_PAGES_MESSAGES_MAX - 1 && values->messages[count] != NULL) {
        out_messages[count] = pages_message(values->messages[count], count);
        count++;
    }
    out_messages[count] = pages_message("", count);
    out_messages[count].media_type = values->media_type;
    out_messages[count].text = NULL;
    out_messages[count].bytes = 812;
    return (struct board_list){
        .messages = out_messages,
        .count = count + 1,
        .sealed = 3,
        .has_older = true,
        .now_ms = PAGES_NOW_MS,
    };
}

static void write_list_of(struct html *html, const struct page *page,
                          const struct web_pages_values *values, const struct page_form *form,
                          const struct page_error *error)
{
    struct board_message messages[WEB_PAGES_MESSAGES_MAX];
    struct board_list list = pages_list(values, messages);

    page_write_list(html, page, &(struct page_list){.list = &list, .form = form, .error = error});
}

static void write_list(struct html *html, const struct page *page,
                       const struct web_pages_values *values)
{
    struct page_form form = pages_form(NULL);

    write_list_of(html, page, values, &form, NULL);
}

static void write_list_near(struct html *html, const struct page *page,
                            const struct web_pages_values *values)
{
    struct page_form form = pages_form(NULL);
    struct view view = *page->view;
    struct page here = *page;

    here.view = &view;
    here.is_clock_trusted = false;
    view.order = VIEW_NEAREST;
    view.is_now = true;
    view.topic_count = 2;
    for (size_t i = 0; i < 2; i++) {
        (void)snprintf(view.topics[i], sizeof(view.topics[i]), "%s", values->topics[i]);
    }
    write_list_of(html, &here, values, &form, NULL);
}

static void write_list_older(struct html *html, const struct page *page,
                             const struct web_pages_values *values)
{
    struct page_form form = pages_form(NULL);
    struct view view = *page->view;
    struct page here = *page;

    here.view = &view;
    here.asks_to_stay = true;
    view.before_ms = PAGES_NOW_MS;
    write_list_of(html, &here, values, &form, NULL);
}

static void write_list_empty(struct html *html, const struct page *page,
                             const struct web_pages_values *values)
{
    struct board_list list = {.now_ms = PAGES_NOW_MS, .age_ms = 30000};
    struct page_form form = pages_form(NULL);

    (void)values;
    form.accept = HEARSAY_ACCEPT_REVIEW;
    page_write_list(html, page, &(struct page_list){.list = &list, .form = &form});
}

static void write_list_no_match(struct html *html, const struct page *page,
                                const struct web_pages_values *values)
{
    struct board_list list = {.now_ms = PAGES_NOW_MS, .sealed = 1};
    struct page_form form = pages_form(NULL);
    struct view view = *page->view;
    struct page here = *page;

    form.ttl_default_s = form.ttl_max_s = 600; /* there is nothing to choose */
    here.view = &view;
    view.topic_count = 1;
    (void)snprintf(view.topics[0], sizeof(view.topics[0]), "%s", values->topics[0]);
    page_write_list(html, &here, &(struct page_list){.list = &list, .form = &form});
}

static void write_list_away(struct html *html, const struct page *page,
                            const struct web_pages_values *values)
{
    struct page_form form = pages_form(values->typed);

    page_write_list(html, page, &(struct page_list){.form = &form});
}

static void write_list_error(struct html *html, const struct page *page,
                             const struct web_pages_values *values)
{
    struct page_form form = pages_form(values->typed);
    struct page_error error = {.notice = PAGE_FIELD, .field = "t"};

    form.topics = values->topics[0];
    write_list_of(html, page, values, &form, &error);
}

static void write_list_closed(struct html *html, const struct page *page,
                              const struct web_pages_values *values)
{
    struct page_form form = pages_form(NULL);

    form.accept = HEARSAY_ACCEPT_CLOSED;
    form.accept_until_ms = PAGES_NOW_MS + 500 * PAGES_MIN_MS;
    write_list_of(html, page, values, &form, NULL);
}

static void write_message_of(struct html *html, const struct page *page,
                             const struct web_pages_values *values, size_t number,
                             const struct page_message *kept)
{
    struct board_message messages[WEB_PAGES_MESSAGES_MAX];
    struct page_message message = *kept;
    struct board_list list = pages_list(values, messages);

    message.message = &messages[number < list.count ? number : list.count - 1];
    page_write_message(html, page, &message);
}

/* With answers, and the form for one more. */
static void write_message_answers(struct html *html, const struct page *page,
                                  const struct web_pages_values *values)
{
    struct board_message messages[WEB_PAGES_MESSAGES_MAX];
    struct board_list list = pages_list(values, messages);
    struct page_form form = pages_form(values->typed);

    form.re = pages_id;
    form.epoch = "0";
    write_message_of(html, page, values, 1,
                     &(struct page_message){.form = &form, .answers = &list});
}

/* An answer, whose own page has neither. */
static void write_answer(struct html *html, const struct page *page,
                         const struct web_pages_values *values)
{
    struct board_message messages[WEB_PAGES_MESSAGES_MAX];

    (void)pages_list(values, messages);
    messages[0].is_answer = true;
    memset(messages[0].parent, 7, sizeof(messages[0].parent));
    page_write_message(html, page,
                       &(struct page_message){.message = &messages[0], .lacks_answers = true});
}

static void write_message(struct html *html, const struct page *page,
                          const struct web_pages_values *values)
{
    write_message_of(html, page, values, 2, &(struct page_message){.code = NULL});
}

static void write_message_kind(struct html *html, const struct page *page,
                               const struct web_pages_values *values)
{
    write_message_of(html, page, values, SIZE_MAX, &(struct page_message){.code = NULL});
}

static void write_message_code(struct html *html, const struct page *page,
                               const struct web_pages_values *values)
{
    struct page_error error = {.notice = PAGE_WRONG_CODE};

    write_message_of(html, page, values, 0,
                     &(struct page_message){.error = &error, .code = values->typed});
}

static void write_message_report(struct html *html, const struct page *page,
                                 const struct web_pages_values *values)
{
    struct page_error error = {.notice = PAGE_FIELD, .field = "why"};

    write_message_of(
        html, page, values, 0,
        &(struct page_message){.error = &error, .words = values->typed, .why = "spam"});
}

static void write_left(struct html *html, const struct page *page,
                       const struct web_pages_values *values)
{
    page_write_left(html, page,
                    &(struct page_left){.id = pages_id,
                                        .code = values->code,
                                        .expires_ms = PAGES_NOW_MS + 1440 * PAGES_MIN_MS});
}

static void write_left_pending(struct html *html, const struct page *page,
                               const struct web_pages_values *values)
{
    page_write_left(html, page,
                    &(struct page_left){.id = pages_id,
                                        .code = values->code,
                                        .expires_ms = PAGES_NOW_MS + 60 * PAGES_MIN_MS,
                                        .is_pending = true});
}

#define DONE(name, done)                                                 \
    static void write_##name(struct html *html, const struct page *page, \
                             const struct web_pages_values *values)      \
    {                                                                    \
        (void)values;                                                    \
        page_write_done(html, page, done);                               \
    }

DONE(withdrawn, PAGE_WITHDRAWN)
DONE(reported, PAGE_REPORTED)
DONE(stays, PAGE_STAYS)

/* An error with the form, and the text in it. */
#define ERROR(name, ...)                                                        \
    static void write_error_##name(struct html *html, const struct page *page,  \
                                   const struct web_pages_values *values)       \
    {                                                                           \
        struct page_form form = pages_form(values->typed);                      \
        form.ttl_s = 3600;                                                      \
        page_write_error(html, page, &(struct page_error){__VA_ARGS__}, &form); \
    }

ERROR(text, .notice = PAGE_FIELD, .field = "text")
ERROR(ttl, .notice = PAGE_FIELD, .field = "ttl")
ERROR(expired, .notice = PAGE_EXPIRED)
ERROR(moved, .notice = PAGE_MOVED)
ERROR(too_long, .notice = PAGE_TOO_LONG, .excess = 44)
ERROR(limited, .notice = PAGE_LIMITED, .seconds = 140)
ERROR(limited_soon, .notice = PAGE_LIMITED, .seconds = 3)
ERROR(away, .notice = PAGE_AWAY)
ERROR(full, .notice = PAGE_FULL, .until_ms = PAGES_NOW_MS + 90 * PAGES_MIN_MS)
ERROR(full_days, .notice = PAGE_FULL, .until_ms = PAGES_NOW_MS + 3 * 24 * 60 * PAGES_MIN_MS)
ERROR(full_unknown, .notice = PAGE_FULL)
ERROR(answers, .notice = PAGE_ANSWERS)
ERROR(refused, .notice = PAGE_REFUSED, .sentence = values->sentence)

static void write_error_answer(struct html *html, const struct page *page,
                               const struct web_pages_values *values)
{
    struct page_form form = pages_form(values->typed);

    form.re = pages_id;
    form.epoch = "0";
    page_write_error(html, page, &(struct page_error){.notice = PAGE_FIELD, .field = "text"},
                     &form);
}

static void write_error_closed(struct html *html, const struct page *page,
                               const struct web_pages_values *values)
{
    struct page_error error = {.notice = PAGE_CLOSED,
                               .until_ms = PAGES_NOW_MS + 240 * PAGES_MIN_MS};
    struct page_form form = pages_form(values->typed);

    form.accept = HEARSAY_ACCEPT_CLOSED;
    form.accept_until_ms = error.until_ms;
    page_write_error(html, page, &error, &form);
}

static void write_error_gone(struct html *html, const struct page *page,
                             const struct web_pages_values *values)
{
    (void)values;
    page_write_error(html, page, &(struct page_error){.notice = PAGE_GONE}, NULL);
}

static void write_error_address(struct html *html, const struct page *page,
                                const struct web_pages_values *values)
{
    (void)values;
    page_write_error(html, page, &(struct page_error){.notice = PAGE_ADDRESS}, NULL);
}

static void write_error_elsewhere(struct html *html, const struct page *page,
                                  const struct web_pages_values *values)
{
    (void)values;
    page_write_error(html, page, &(struct page_error){.notice = PAGE_ELSEWHERE, .host = "18"},
                     NULL);
}

static void write_list_omitted(struct html *html, const struct page *page,
                               const struct web_pages_values *values)
{
    struct page_form form = pages_form(NULL);
    struct board_message message = pages_message("", 1);
    struct board_list list = {.messages = &message, .count = 1, .now_ms = PAGES_NOW_MS};

    (void)values;
    message.media_type = "";
    message.text = NULL;
    message.is_omitted = true;
    page_write_list(html, page, &(struct page_list){.list = &list, .form = &form});
}

static void write_error_removed(struct html *html, const struct page *page,
                                const struct web_pages_values *values)
{
    (void)values;
    page_write_error(html, page, &(struct page_error){.notice = PAGE_REMOVED}, NULL);
}

static void write_error_moved_message(struct html *html, const struct page *page,
                                      const struct web_pages_values *values)
{
    struct page_error error = {.notice = PAGE_MOVED, .kept = values->code};

    page_write_error(html, page, &error, NULL);
}

static void write_error_name(struct html *html, const struct page *page,
                             const struct web_pages_values *values)
{
    (void)values;
    page_write_error(html, page, &(struct page_error){.notice = PAGE_NAME}, NULL);
}

static void write_error_request(struct html *html, const struct page *page,
                                const struct web_pages_values *values)
{
    struct page_error error = {.notice = PAGE_FIELD, .field = "0"};

    (void)values;
    page_write_error(html, page, &error, NULL);
}

static void write_about(struct html *html, const struct page *page,
                        const struct web_pages_values *values)
{
    page_write_about(html, page, values->rules, lang_find("en"));
}

static void write_about_nobody(struct html *html, const struct page *page,
                               const struct web_pages_values *values)
{
    struct page nobody = *page;

    (void)values;
    nobody.operator_name = NULL;
    nobody.contact = NULL;
    nobody.ttl_max_s = 0;
    page_write_about(html, &nobody, NULL, NULL);
}

static const char pages_svg[] =
    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 29 29\"><path d=\"M4 4h7v7h-7zM18 "
    "4h7v7h-7zM4 18h7v7h-7zM13 13h4v4h-4zM19 19h5v2h-5z\"/></svg>";

static void write_poster(struct html *html, const struct page *page,
                         const struct web_pages_values *values)
{
    page_write_poster(html, page,
                      &(struct page_poster){.join_svg = pages_svg,
                                            .open_svg = pages_svg,
                                            .ssid = values->ssid,
                                            .password = values->password,
                                            .url = values->name,
                                            .second = page->lang != lang_at(0) ? lang_at(0) : NULL,
                                            .second_svg = pages_svg});
}

static void write_poster_open(struct html *html, const struct page *page,
                              const struct web_pages_values *values)
{
    page_write_poster(html, page, &(struct page_poster){.ssid = values->ssid, .url = values->name});
}

const struct web_pages_sample web_pages_samples[] = {
    {"list", write_list, false},
    {"list-near", write_list_near, false},
    {"list-older", write_list_older, false},
    {"list-empty", write_list_empty, false},
    {"list-no-match", write_list_no_match, false},
    {"list-away", write_list_away, true},
    {"list-error", write_list_error, true},
    {"list-closed", write_list_closed, false},
    {"list-omitted", write_list_omitted, false},
    {"message", write_message, false},
    {"message-answers", write_message_answers, true},
    {"answer", write_answer, false},
    {"message-kind", write_message_kind, false},
    {"message-code", write_message_code, true},
    {"message-report", write_message_report, true},
    {"left", write_left, false},
    {"left-pending", write_left_pending, false},
    {"withdrawn", write_withdrawn, false},
    {"reported", write_reported, false},
    {"stays", write_stays, false},
    {"error-text", write_error_text, true},
    {"error-ttl", write_error_ttl, true},
    {"error-expired", write_error_expired, true},
    {"error-moved", write_error_moved, true},
    {"error-moved-message", write_error_moved_message, false},
    {"error-too-long", write_error_too_long, true},
    {"error-limited", write_error_limited, true},
    {"error-limited-soon", write_error_limited_soon, true},
    {"error-answer", write_error_answer, true},
    {"error-away", write_error_away, true},
    {"error-full", write_error_full, true},
    {"error-full-days", write_error_full_days, true},
    {"error-full-unknown", write_error_full_unknown, true},
    {"error-answers", write_error_answers, true},
    {"error-refused", write_error_refused, true},
    {"error-closed", write_error_closed, true},
    {"error-gone", write_error_gone, false},
    {"error-address", write_error_address, false},
    {"error-elsewhere", write_error_elsewhere, false},
    {"error-removed", write_error_removed, false},
    {"error-name", write_error_name, false},
    {"error-request", write_error_request, false},
    {"about", write_about, false},
    {"about-nobody", write_about_nobody, false},
    {"poster", write_poster, false},
    {"poster-open", write_poster_open, false},
};
const size_t web_pages_sample_count = sizeof(web_pages_samples) / sizeof(web_pages_samples[0]);
