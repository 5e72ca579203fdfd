/* SPDX-License-Identifier: Apache-2.0 */
#include "client/web/route/reading.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "client/web/qr.h"
#include "client/web/statics.h"

enum { STATIC_MAX_AGE_S = 86400, SECOND_MS = 1000, MESSAGE_PATH_BYTES = 3 };

/* --- what a reader asks for ------------------------------------------------------------------- */

/* Puts a language that the page has, as its own tag, in the place of the one that the URL names,
 * else none. So ever new tags do not make ever new pages, of which a poster costs much. */
static void keep_known_language(struct view *view)
{
    const struct lang *lang = lang_find(view->language);

    (void)snprintf(view->language, sizeof(view->language), "%s",
                   lang != NULL ? lang_tag(lang) : "");
}

/* Reads the fields of the URL into the visit. False: one is wrong, and the visit was answered. */
static bool read_view(struct visit *visit)
{
    const char *field = NULL;

    if (!view_read(visit->request->query, &visit->view, &field)) {
        if (field == NULL) {
            visit_answer_text(visit, 503, "Out of memory. Please try again.\n");
        } else {
            visit_fail(visit, 400, &(struct page_error){.notice = PAGE_FIELD, .field = field});
        }
        return false;
    }
    keep_known_language(&visit->view);
    if (strcmp(visit->request->path, "/poster") != 0) {
        visit->view.second[0] = '\0'; /* others get this page, too */
    }
    visit_choose_language(visit, visit->view.language);
    if (board_welcome(visit->router->board) != NULL && !visit_check_host(visit)) {
        bool is_elsewhere = visit_is_elsewhere(visit);
        visit_fail(visit, 404,
                   &(struct page_error){.notice = is_elsewhere ? PAGE_ELSEWHERE : PAGE_GONE,
                                        .host = visit->view.at});
        return false;
    }
    return true;
}

/* --- the list --------------------------------------------------------------------------------- */

static void list_failed(struct visit *visit, const struct board_reply *reply)
{
    struct visit_failure failure = visit_failure_of(visit, reply);
    struct page page;
    struct page_form form;
    struct html html;

    if (reply->outcome == BOARD_LIMITED || visit->format != VISIT_HTML) {
        visit_fail_reply(visit, reply); /* a page that is written once for all, or a sentence */
        return;
    }
    html_init(&html);
    visit_page(visit, &page);
    visit_form(visit, &form);
    page_write_list(
        &html, &page,
        &(struct page_list){.form = &form, .list = reply->list, .error = &failure.error});
    visit_answer_page(visit, failure.status, visit_retry_s(failure.status, &failure.error), &html);
}

struct list_parts {
    const struct page *page;
    struct page_list list;
    const char *host; /* by which the page was asked for */
};

static void write_list(void *context, struct html *html)
{
    const struct list_parts *parts = context;

    page_write_list(html, parts->page, &parts->list);
}

static void write_text(void *context, struct html *html)
{
    const struct list_parts *parts = context;

    page_write_text(html, parts->page, parts->list.list);
}

static void write_json(void *context, struct html *html)
{
    const struct list_parts *parts = context;

    page_write_json(html, parts->page, parts->list.list);
}

static void write_feed(void *context, struct html *html)
{
    const struct list_parts *parts = context;

    page_write_feed(html, parts->page, parts->list.list, parts->host);
}

static const struct {
    const char *type;
    void (*write)(void *context, struct html *html); /* gets a struct list_parts */
} formats[VISIT_FORMATS] = {
    [VISIT_HTML] = {NULL, write_list}, /* the type of each page */
    [VISIT_TEXT] = {"text/plain; charset=utf-8", write_text},
    [VISIT_JSON] = {"application/json", write_json},
    [VISIT_FEED] = {"application/atom+xml; charset=utf-8", write_feed},
};

static void list_done(void *context, const struct board_reply *reply)
{
    struct visit *visit = context;
    struct router *router = visit->router;
    struct page page;
    struct page_form form;

    if (reply->outcome != BOARD_DONE) {
        list_failed(visit, reply);
        return;
    }
    visit_page(visit, &page);
    visit_form(visit, &form);
    page.now_ms = reply->list->now_ms;
    /* The version of the list stands for the view, too, but for its language and what follows. */
    const uint64_t numbers[] = {reply->list->version,  (uintptr_t)page.lang,
                                page.is_clock_trusted, page.asks_to_stay,
                                page.notices_version,  form.bytes_max,
                                form.ttl_default_s,    form.ttl_max_s,
                                form.accept,           (uint64_t)form.accept_until_ms,
                                visit->format};
    const char *host = visit->format == VISIT_FEED ? visit->request->host : "";
    const char *const texts[] = {visit->view.language, page.store, page.here, host,
                                 visit->view.place_name};
    struct sheet_parts parts = {numbers, sizeof(numbers) / sizeof(numbers[0]), texts,
                                sizeof(texts) / sizeof(texts[0]),
                                1 + router_now_ms(router) / SECOND_MS};
    struct list_parts list = {&page, {.list = reply->list, .form = &form}, host};
    visit_answer_sheet(visit,
                       &(struct http_answer){.status = 200, .type = formats[visit->format].type},
                       sheets_take(&router->sheets, &parts, formats[visit->format].write, &list));
}

static void list_place_done(void *context, const struct board_reply *reply)
{
    struct visit *visit = context;

    if (reply->outcome != BOARD_DONE) {
        list_failed(visit, reply); /* without a place the list would be that of all places */
        return;
    }
    visit_take_place(visit, reply);
    board_list(visit->router->board, &visit->view, &visit->request->client, list_done, visit);
}

static void read_list(struct visit *visit, enum visit_format format)
{
    visit->format = format;
    if (read_view(visit)) {
        visit->view.at[0] = '\0'; /* of a message only: others get this list, too */
        visit_name_host(visit);
        board_place(visit->router->board, visit->view.host, &visit->request->client,
                    list_place_done, visit);
    }
}

/*
 * Whether a program wants text. It names text, or it takes all, as curl says. A browser names HTML
 * for a page. Its scripts may ask for a page by saying that they take all, but a browser names the
 * languages of its reader with each request. Who says nothing gets the page.
 */
static bool wants_text(const struct http_request *request)
{
    const char *accept = request->accept != NULL ? request->accept : "";

    return strstr(accept, "html") == NULL &&
           (strstr(accept, "text/plain") != NULL || strstr(accept, "text/*") != NULL ||
            (strstr(accept, "*/*") != NULL && request->accept_language == NULL));
}

void reading_list(struct visit *visit)
{
    read_list(visit, wants_text(visit->request) ? VISIT_TEXT : VISIT_HTML);
}

void reading_json(struct visit *visit)
{
    read_list(visit, VISIT_JSON);
}

void reading_feed(struct visit *visit)
{
    read_list(visit, VISIT_FEED);
}

/* --- live updates ----------------------------------------------------------------------------- */

static void events_list_done(void *context, const struct board_reply *reply)
{
    struct visit *visit = context;

    if (reply->outcome != BOARD_DONE) {
        visit_fail_reply(visit, reply);
        return;
    }
    http_exchange_set_context(visit->exchange, NULL);
    live_begin(visit->router->live, visit->exchange, visit->request, &visit->view);
    visit_free(visit);
}

/*
 * A stream may begin a watch at hearsayd, which no phone pays for because all phones share it. So
 * the list of the view is asked for first, in the phone's name: hearsayd refuses a phone that asks
 * for ever new views. Behind the page of the same view the list is cached, and costs nothing.
 */
static void events_place_done(void *context, const struct board_reply *reply)
{
    struct visit *visit = context;

    if (reply->outcome != BOARD_DONE) {
        visit_fail_reply(visit, reply);
        return;
    }
    visit_take_place(visit, reply);
    board_list(visit->router->board, &visit->view, &visit->request->client, events_list_done,
               visit);
}

void reading_events(struct visit *visit)
{
    if (read_view(visit)) {
        /* The stream has messages of this host only. Other hosts are asked only when a guest taps
         * "Around here". */
        visit->view.is_hood = false;
        visit_name_host(visit);
        board_place(visit->router->board, visit->view.host, &visit->request->client,
                    events_place_done, visit);
    }
}

/* --- one message ------------------------------------------------------------------------------ */

/* Writes what is below the message, and answers. `answers` NULL: there are none, or `is_missing`.
 */
static void message_end(struct visit *visit, const struct board_list *answers, bool is_missing)
{
    bool can_answer = !visit->message.is_answer && visit->view.at[0] == '\0';
    struct page_message rest = {
        .message = &visit->message, .answers = answers, .lacks_answers = is_missing};
    struct page page;
    struct page_form form;
    struct html html = visit->html;

    html_init(&visit->html);
    if (can_answer) {
        secret_write_hex(visit->message.id, visit->re);
        (void)snprintf(visit->epoch, sizeof(visit->epoch), "%" PRIu64, visit->message.epoch);
        visit_form(visit, &form);
        rest.form = &form;
    }
    visit_page(visit, &page);
    page_end_message(&html, &page, &rest);
    visit_answer_page(visit, 200, 0, &html);
}

static void message_answers_done(void *context, const struct board_reply *reply)
{
    message_end(context, reply->list, reply->outcome != BOARD_DONE);
}

static void message_done(void *context, const struct board_reply *reply)
{
    struct visit *visit = context;
    struct page page;

    if (reply->outcome != BOARD_DONE) {
        visit_fail_reply(visit, reply);
        return;
    }
    visit->message = *reply->message;
    html_init(&visit->html);
    visit->message.text = visit->message.media_type = visit->message.host = NULL;
    visit_page(visit, &page);
    page_begin_message(&visit->html, &page, &(struct page_message){.message = reply->message});
    if (reply->message->answer_count == 0) {
        message_end(visit, NULL, false);
        return;
    }
    board_answers(visit->router->board, visit_host_at(visit), visit->message.id,
                  &visit->request->client, message_answers_done, visit);
}

void reading_message(struct visit *visit)
{
    uint8_t id[HEARSAY_ID_BYTES];

    if (!secret_read_hex(visit->request->path + MESSAGE_PATH_BYTES, id)) {
        visit_fail(visit, 404, &(struct page_error){.notice = PAGE_ADDRESS});
    } else if (read_view(visit)) {
        visit_name_host(visit);
        board_get(visit->router->board, visit_host_at(visit), id, &visit->request->client,
                  message_done, visit);
    }
}

/* --- about, poster, codes --------------------------------------------------------------------- */

/* Reads the view of a page of the configuration: which messages the reader looked at does not
 * matter there, so that all readers get one page. */
static bool fixed_view(struct visit *visit)
{
    if (!read_view(visit)) {
        return false;
    }
    visit->view.topic_count = 0;
    visit->view.is_now = false;
    visit->view.order = VIEW_NEWEST;
    visit->view.before_ms = INT64_MAX;
    return true;
}

static void write_about(void *context, struct html *html)
{
    const struct visit_fixed *fixed = context;
    const struct lang *lang = NULL;
    const char *rules = web_config_rules(fixed->visit->router->config, fixed->page->lang, &lang);

    page_write_about(html, fixed->page, rules[0] != '\0' ? rules : NULL, lang);
}

void reading_about(struct visit *visit)
{
    if (fixed_view(visit)) {
        visit_answer_fixed(visit, "about", &(struct http_answer){.status = 200}, NULL, write_about);
    }
}

enum { PAGE_URL_BYTES = NAMES_TEXT_BYTES + 48, POSTER_NAME_BYTES = 16 };

/*
 * Writes the URL of the page, by a numeric address where there is one: names fail on phones with a
 * DNS of their own. The digits of the store keep a phone from showing another place's page that it
 * has stored for this address.
 */
static void write_url(const struct visit *visit, const char *language, char *out_url)
{
    const struct hearsay_welcome *welcome = board_welcome(visit->router->board);
    char place[NAMES_TEXT_BYTES];
    char digits[SECRET_HEX_BYTES] = "";

    if (!names_write_numeric(&visit->router->names, place)) {
        (void)snprintf(place, sizeof(place), "%s", visit->router->name);
    }
    if (welcome != NULL) {
        secret_write_hex(welcome->store_id, digits);
    }
    (void)snprintf(out_url, PAGE_URL_BYTES, "http://%s/%s%.6s%s%s", place,
                   digits[0] != '\0' ? "?p=" : "", digits,
                   language[0] == '\0' ? ""
                   : digits[0] != '\0' ? "&l="
                                       : "?l=",
                   language);
}

/* The language that the reader has chosen, which the code of the page then carries; "": none. */
static const char *chosen_language(const struct visit *visit)
{
    return lang_find(visit->view.language) != NULL ? lang_tag(visit->lang) : "";
}

/* Makes the code of the page, or of the WiFi. False: there is none. */
static bool make_code(const struct visit *visit, bool is_join, char *out_svg)
{
    const struct web_config *config = visit->router->config;
    char text[QR_TEXT_BYTES];

    if (is_join) {
        return config->wifi_ssid[0] != '\0' &&
               qr_wifi_text(config->wifi_ssid, config->wifi_password, text) &&
               qr_svg(text, out_svg) == 0;
    }
    write_url(visit, chosen_language(visit), text);
    return qr_svg(text, out_svg) == 0;
}

static void write_code(void *context, struct html *html)
{
    const struct visit *visit = ((const struct visit_fixed *)context)->visit;
    const char *path = visit->request->path;
    char url[PAGE_URL_BYTES];
    char code[QR_SVG_BYTES];
    bool is_there;

    if (strcmp(path, "/qr/page.txt") == 0) {
        write_url(visit, chosen_language(visit), url);
        is_there = qr_terminal(url, code) == 0;
    } else {
        is_there = make_code(visit, strcmp(path, "/qr/join.svg") == 0, code);
    }
    html_raw(html, is_there ? code : "");
}

void reading_code(struct visit *visit)
{
    const char *path = visit->request->path;

    if (strcmp(path, "/qr/join.svg") == 0 && visit->router->config->wifi_ssid[0] == '\0') {
        visit_fail(visit, 404, &(struct page_error){.notice = PAGE_GONE});
        return;
    }
    visit_answer_fixed(visit, path,
                       &(struct http_answer){.status = 200,
                                             .type = strstr(path, ".svg") != NULL
                                                         ? "image/svg+xml"
                                                         : "text/plain; charset=utf-8"},
                       NULL, write_code);
}

/* The second language of the sheet: what the reader wants, else English; NULL: the same one. */
static const struct lang *poster_second(const struct visit *visit)
{
    const struct lang *wanted = lang_find(visit->view.second);
    const struct lang *second = wanted != NULL ? wanted : lang_at(0);

    return second != visit->lang ? second : NULL;
}

static void write_poster(void *context, struct html *html)
{
    const struct visit_fixed *fixed = context;
    const struct visit *visit = fixed->visit;
    const struct web_config *config = visit->router->config;
    const struct lang *second = poster_second(visit);
    char join[QR_SVG_BYTES];
    char open[QR_SVG_BYTES];
    char open_second[QR_SVG_BYTES];
    char url[PAGE_URL_BYTES];

    bool has_second = false;
    if (second != NULL) {
        write_url(visit, lang_tag(second), url);
        has_second = qr_svg(url, open_second) == 0;
    }
    /* Beside another language's code, this one is for its own language. */
    write_url(visit, second != NULL ? lang_tag(visit->lang) : chosen_language(visit), url);
    page_write_poster(
        html, fixed->page,
        &(struct page_poster){
            .join_svg = make_code(visit, true, join) ? join : NULL,
            .open_svg = qr_svg(url, open) == 0 ? open : NULL,
            .ssid = config->wifi_ssid[0] != '\0' ? config->wifi_ssid : NULL,
            .password = config->wifi_password[0] != '\0' ? config->wifi_password : NULL,
            .url = url,
            .second = second,
            .second_svg = has_second ? open_second : NULL,
        });
}

static void answer_poster(struct visit *visit)
{
    const struct lang *second = poster_second(visit);
    char name[POSTER_NAME_BYTES];

    (void)snprintf(name, sizeof(name), "poster %s", second != NULL ? lang_tag(second) : "");
    visit_answer_fixed(visit, name, &(struct http_answer){.status = 200}, NULL, write_poster);
}

/* Whether one of the lines is `name`. */
static bool lines_have(const char *lines, const char *name)
{
    size_t length = strlen(name);

    while (*lines != '\0') {
        size_t line = strcspn(lines, "\n");

        if (line == length && memcmp(lines, name, length) == 0) {
            return true;
        }
        lines += line + 1;
    }
    return false;
}

/* The sheet says no name that is not the operator's, because anybody can write a link to it. */
static void poster_places_done(void *context, const struct board_reply *reply)
{
    struct visit *visit = context;

    if (reply->outcome != BOARD_DONE) {
        visit->view.place_name[0] = '\0';
        visit_fail_reply(visit, reply);
    } else if (!lines_have(reply->place, visit->view.place_name)) {
        visit->view.place_name[0] = '\0';
        visit_fail(visit, 404, &(struct page_error){.notice = PAGE_FIELD, .field = "place"});
    } else {
        answer_poster(visit);
    }
}

/* Reads `place` of the query, the name of the place that the sheet is for. False: it is too long
 * for a name, or memory is out. */
static bool read_poster_place(struct visit *visit)
{
    char text[VIEW_URL_BYTES + 1];
    struct form form;
    const struct form_field *field;

    (void)snprintf(text, sizeof(text), "%s", visit->request->query); /* view_read took it */
    if (!form_read(text, strlen(text), &form)) {
        return false;
    }
    field = form_find(&form, "place");
    if (field == NULL) {
        return true;
    }
    return (size_t)snprintf(visit->view.place_name, sizeof(visit->view.place_name), "%s",
                            field->value) < sizeof(visit->view.place_name);
}

void reading_poster(struct visit *visit)
{
    if (!fixed_view(visit)) {
        return;
    }
    if (!read_poster_place(visit)) {
        visit->view.place_name[0] = '\0';
        visit_fail(visit, 404, &(struct page_error){.notice = PAGE_FIELD, .field = "place"});
    } else if (visit->view.place_name[0] == '\0') {
        answer_poster(visit);
    } else {
        visit_name_host(visit);
        board_places(visit->router->board, visit->view.host, &visit->request->client,
                     poster_places_done, visit);
    }
}

/* --- files ------------------------------------------------------------------------------------ */

/* Whether a browser takes gzip: a plain word in its list, without a weight of zero. */
static bool takes_gzip(const char *accept)
{
    const char *at = accept != NULL ? strstr(accept, "gzip") : NULL;

    return at != NULL && strncmp(at + 4, ";q=0", 4) != 0;
}

static void answer_file(struct visit *visit, const char *name, uint32_t max_age_s)
{
    const struct statics_file *file = statics_find(name);

    if (file == NULL) {
        visit_fail(visit, 404, &(struct page_error){.notice = PAGE_GONE});
        return;
    }
    bool is_gzip = file->gzip_count > 0 && takes_gzip(visit->request->accept_encoding);
    visit_answer(visit, &(struct http_answer){
                            .status = 200,
                            .type = file->type,
                            .encoding = is_gzip ? "gzip" : NULL,
                            .max_age_s = max_age_s,
                            .body = is_gzip ? file->gzip : file->bytes,
                            .body_bytes = is_gzip ? file->gzip_count : file->count,
                            .is_static = true,
                        });
}

void reading_static(struct visit *visit)
{
    size_t prefix = strlen(visit->router->statics);

    if (strncmp(visit->request->path, visit->router->statics, prefix) != 0) {
        visit_fail(visit, 404, &(struct page_error){.notice = PAGE_GONE}); /* of another start */
        return;
    }
    answer_file(visit, visit->request->path + prefix, STATIC_MAX_AGE_S);
}

void reading_icon(struct visit *visit)
{
    answer_file(visit, "favicon.svg", 0);
}

void reading_robots(struct visit *visit)
{
    visit_answer_text(visit, 200, "User-agent: *\nDisallow: /\n");
}

/* For who watches over this machine: not for phones. */
void reading_health(struct visit *visit)
{
    const struct http_address *client = &visit->request->client;

    if (!web_address_is_loopback(client->family, client->bytes)) {
        visit_fail(visit, 404, &(struct page_error){.notice = PAGE_GONE});
    } else if (board_is_connected(visit->router->board)) {
        visit_answer_text(visit, 200, "ok\n");
    } else {
        visit_answer_text(visit, 503, "hearsayd is away\n");
    }
}
