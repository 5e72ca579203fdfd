/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/web_route_fixture.h"

#include "client/web/route/route.h"
#include "tests/lib/check.h"

struct web_route web_route;

/* --- memory that fails ------------------------------------------------------------------------ */

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *block, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *block, size_t bytes);

void *__wrap_malloc(size_t bytes)
{
    return web_route.fail_at > 0 && --web_route.fail_at == 0 ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return web_route.fail_at > 0 && --web_route.fail_at == 0 ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *block, size_t bytes)
{
    return web_route.fail_at > 0 && --web_route.fail_at == 0 ? NULL : __real_realloc(block, bytes);
}

/* Takes the phone's own values out of a page: each stands in a line behind the page's kind. */
static void show_own(char *page)
{
    char *at = strchr(page, '\n');

    if (at != NULL) {
        assert_int_equal(sscanf(at, "\nf=%32s\nid=%32s\nkey=%32s", web_route.shown.token,
                                web_route.shown.seed, web_route.shown.key),
                         3);
        *at = '\0';
    }
}

/* --- a fake HTTP ------------------------------------------------------------------------------ */

void http_exchange_set_context(struct http_exchange *exchange, void *context)
{
    exchange->context = context;
}

void *http_exchange_context(const struct http_exchange *exchange)
{
    return exchange->context;
}

void http_answer(struct http_exchange *exchange, const struct http_answer *answer)
{
    size_t bytes = answer->body_bytes < sizeof(exchange->body) - 1 ? answer->body_bytes
                                                                   : sizeof(exchange->body) - 1;

    assert_int_equal(exchange->status, 0);
    assert_null(exchange->context);
    exchange->status = answer->status;
    exchange->retry_after_s = answer->retry_after_s;
    exchange->max_age_s = answer->max_age_s;
    snprintf(exchange->location, sizeof(exchange->location), "%s",
             answer->location != NULL ? answer->location : "");
    snprintf(exchange->type, sizeof(exchange->type), "%s",
             answer->type != NULL ? answer->type : "");
    snprintf(exchange->vary, sizeof(exchange->vary), "%s",
             answer->vary != NULL ? answer->vary : "");
    if (bytes > 0) {
        memcpy(exchange->body, answer->body, bytes);
    }
    exchange->body[bytes] = '\0';
    if (answer->is_given) {
        free((void *)(uintptr_t)answer->body);
        if (strncmp(answer->type, "text/html", strlen("text/html")) == 0) {
            show_own(exchange->body);
        }
    }
}

size_t http_server_connections(const struct http_server *unused)
{
    (void)unused;
    return 0;
}

size_t live_stream_count(const struct live *unused)
{
    (void)unused;
    return 0;
}

/* --- a fake board ----------------------------------------------------------------------------- */

static void board_reply_with(board_done *done, void *context, enum board_outcome outcome)
{
    struct board_list list = {.version = web_route.board.version, .now_ms = 1000};
    static const struct board_message message = {.media_type = "text/plain"};
    static const struct hearsay_deposited stored = {.expires_ms = 5000};
    struct board_reply reply = {
        .outcome = outcome,
        .error = outcome == BOARD_DONE ? NULL : &web_route.board.error,
        .list = outcome == BOARD_DONE ? &list : NULL,
        .message = outcome == BOARD_DONE ? &message : NULL,
        .stored = outcome == BOARD_DONE ? &stored : NULL,
        .place = outcome == BOARD_DONE ? "place:bar\n" : NULL,
        .place_name = "The bar",
    };

    done(context, &reply);
}

void web_route_reply(enum board_outcome outcome)
{
    board_reply_with(web_route.board.done, web_route.board.context, outcome);
}

static void board_answer(board_done *done, void *context)
{
    web_route.board.done = done;
    web_route.board.context = context;
    if (!web_route.board.is_slow) {
        board_reply_with(done, context, web_route.board.outcome);
    }
}

const struct hearsay_welcome *board_welcome(const struct board *unused)
{
    (void)unused;
    return web_route.board.is_away ? NULL : &web_route.board.welcome;
}

bool board_is_connected(const struct board *unused)
{
    (void)unused;
    return !web_route.board.is_away;
}

bool board_has_room(const struct board *unused)
{
    (void)unused;
    return true;
}

bool board_now_ms(const struct board *unused, int64_t *out_now_ms)
{
    (void)unused;
    *out_now_ms = 1000;
    return !web_route.board.is_away;
}

void board_place(struct board *unused, const char *host, const struct http_address *client,
                 board_done *done, void *context)
{
    (void)unused;
    (void)host;
    (void)client;
    board_reply_with(done, context, web_route.board.place);
}

void board_places(struct board *unused, const char *host, const struct http_address *client,
                  board_done *done, void *context)
{
    struct board_reply reply = {.outcome = web_route.board.place, .place = "Bar\nThe hall\n"};

    (void)unused;
    (void)host;
    (void)client;
    done(context, &reply);
}

void board_list(struct board *unused, const struct view *view, const struct http_address *client,
                board_done *done, void *context)
{
    (void)unused;
    assert_non_null(client);
    web_route.board.view = *view;
    web_route.board.version += web_route.board.keeps_list ? 0 : 1;
    board_answer(done, context);
}

void board_get(struct board *unused, const char *host, const uint8_t *id,
               const struct http_address *client, board_done *done, void *context)
{
    (void)unused;
    (void)host;
    assert_non_null(client);
    memcpy(web_route.board.id, id, sizeof(web_route.board.id));
    board_answer(done, context);
}

void board_answers(struct board *unused, const char *host, const uint8_t *id,
                   const struct http_address *client, board_done *done, void *context)
{
    board_get(unused, host, id, client, done, context);
}

void board_write(struct board *unused, const struct board_write *write, board_done *done,
                 void *context)
{
    struct web_route_board *board = &web_route.board;

    (void)unused;
    memcpy(board->id, write->id, sizeof(board->id));
    if (write->token != NULL) {
        memcpy(board->token, write->token, sizeof(board->token));
    }
    if (write->kind == BOARD_LEAVE) {
        board->leaves++;
        board->view = *write->view;
        board->ttl_s = write->ttl_s;
        board->is_answer = write->answers != NULL;
        board->epoch = write->epoch;
        if (board->is_answer) {
            memcpy(board->parent, write->answers, sizeof(board->parent));
        }
        assert_true(write->bytes < sizeof(board->text));
        memcpy(board->text, write->text, write->bytes);
        board->text[write->bytes] = '\0';
    } else if (write->kind == BOARD_REPORT) {
        board->kind = write->report_kind;
        snprintf(board->reason, sizeof(board->reason), "%s",
                 write->text != NULL ? write->text : "");
    }
    board_answer(done, context);
}

void board_forget(struct board *unused, const void *context)
{
    (void)unused;
    (void)context;
    web_route.board.forgotten++;
}

/* --- fake pages and live updates -------------------------------------------------------------- */

static void show_form(struct html *html, const struct page_form *form)
{
    web_route.shown.has_form = form != NULL;
    if (form != NULL) {
        html_raw(html, "\nf=");
        html_hole(html, HTML_HOLE_TOKEN);
        html_raw(html, "\nid=");
        html_hole(html, HTML_HOLE_SEED);
        html_raw(html, "\nkey=");
        html_hole(html, HTML_HOLE_KEY);
        snprintf(web_route.shown.text, sizeof(web_route.shown.text), "%s",
                 form->text != NULL ? form->text : "");
        web_route.shown.bytes_max = form->bytes_max;
    }
}

static void show_page(struct html *html, const struct page *page, const char *kind)
{
    memset(&web_route.shown, 0, sizeof(web_route.shown));
    web_route.written++;
    snprintf(web_route.shown.lang, sizeof(web_route.shown.lang), "%s", lang_tag(page->lang));
    html_raw(html, kind);
}

static void show_error(const struct page_error *error)
{
    if (error != NULL) {
        web_route.shown.notice = error->notice;
        web_route.shown.seconds = error->seconds;
        web_route.shown.excess = error->excess;
        web_route.shown.is_excess_of_bytes = error->is_excess_of_bytes;
        snprintf(web_route.shown.field, sizeof(web_route.shown.field), "%s",
                 error->field != NULL ? error->field : "");
        snprintf(web_route.shown.host, sizeof(web_route.shown.host), "%s",
                 error->host != NULL ? error->host : "");
        snprintf(web_route.shown.kept, sizeof(web_route.shown.kept), "%s",
                 error->kept != NULL ? error->kept : "");
    }
}

void page_write_list(struct html *html, const struct page *page, const struct page_list *list)
{
    show_page(html, page, "list");
    show_form(html, list->form);
    show_error(list->error);
}

void page_write_message(struct html *html, const struct page *page,
                        const struct page_message *message)
{
    show_page(html, page, "message");
    snprintf(web_route.shown.code, sizeof(web_route.shown.code), "%s",
             message->code != NULL ? message->code : "");
    show_error(message->error);
}

void page_begin_message(struct html *html, const struct page *page,
                        const struct page_message *message)
{
    page_write_message(html, page, message);
}

void page_end_message(struct html *html, const struct page *page,
                      const struct page_message *message)
{
    (void)page;
    show_form(html, message->form);
}

void page_write_text(struct html *html, const struct page *page, const struct board_list *list)
{
    (void)list;
    show_page(html, page, "text");
}

void page_write_json(struct html *html, const struct page *page, const struct board_list *list)
{
    (void)list;
    show_page(html, page, "json");
}

void page_write_feed(struct html *html, const struct page *page, const struct board_list *list,
                     const char *host)
{
    (void)list;
    show_page(html, page, host);
}

void page_write_draft(struct html *html, const struct page *page, const struct page_form *form)
{
    show_page(html, page, "draft");
    show_form(html, form);
}

void page_write_left(struct html *html, const struct page *page, const struct page_left *left)
{
    show_page(html, page, "left");
    snprintf(web_route.shown.code, sizeof(web_route.shown.code), "%s", left->code);
    snprintf(web_route.shown.id, sizeof(web_route.shown.id), "%s", left->id);
}

void page_write_done(struct html *html, const struct page *page, enum page_done done)
{
    show_page(html, page,
              done == PAGE_WITHDRAWN  ? "withdrawn"
              : done == PAGE_REPORTED ? "reported"
                                      : "stays");
}

void page_write_error(struct html *html, const struct page *page, const struct page_error *error,
                      const struct page_form *form)
{
    show_page(html, page, "error");
    show_form(html, form);
    show_error(error);
}

void page_write_about(struct html *html, const struct page *page, const char *rules,
                      const struct lang *rules_lang)
{
    (void)rules_lang;
    show_page(html, page, rules != NULL ? rules : "about");
    web_route.shown.ttl_max_s = page->ttl_max_s;
}

void page_write_poster(struct html *html, const struct page *page, const struct page_poster *poster)
{
    char text[300];

    snprintf(text, sizeof(text), "%s %s", poster->url,
             poster->second != NULL ? lang_tag(poster->second) : "alone");
    show_page(html, page, text);
}

void live_write_store(const struct hearsay_welcome *welcome, const char *host, const char *place,
                      char *out_store)
{
    (void)welcome;
    snprintf(out_store, LIVE_STORE_BYTES, "%s",
             place[0] != '\0'              ? HERE
             : strcmp(host, "garden") == 0 ? GARDEN
                                           : PLACE);
}

void live_begin(struct live *live, struct http_exchange *exchange,
                const struct http_request *request, const struct view *view)
{
    (void)live;
    (void)request;
    web_route.board.view = *view;
    http_answer(exchange, &(struct http_answer){.status = 200, .body = "events", .body_bytes = 6});
}

/* --- the fixture ------------------------------------------------------------------------------ */

int web_route_setup(void **state)
{
    (void)state;
    memset(&web_route.board, 0, sizeof(web_route.board));
    web_route.board.host = (struct hearsay_host){.name = "default", .accept = HEARSAY_ACCEPT_OPEN};
    web_route.board.welcome = (struct hearsay_welcome){
        .hosts = &web_route.board.host,
        .host_count = 1,
        .limits = {.ttl_max_s = 7 * 86400, .payload_bytes = 4096},
    };
    char reason[SETTINGS_REASON_BYTES];
    web_config_defaults(WEB_SECTION_WEB, &web_route.config);
    assert_int_equal(web_config_finish(&web_route.config, reason), 0);
    sheets_clear(&web_route.router.sheets, true);
    memset(&web_route.router, 0, sizeof(web_route.router));
    web_route.router.loop = &web_route.loop;
    web_route.router.config = &web_route.config;
    web_route.router.names = (struct names){
        .config = &web_route.config,
        .places = {{.family = 4, .address = {10, 0, 0, 1}, .port = 80}},
        .place_count = 1,
    };
    portal_init(&web_route.portal);
    web_route.router.portal = &web_route.portal;
    router_init(&web_route.router);
    return 0;
}

struct http_request web_route_request_of(const char *path)
{
    return (struct http_request){
        .path = path,
        .query = "",
        .host = "hearsay.lan",
        .body = "",
        .client = {.family = 4, .bytes = {10, 0, 0, 7}},
    };
}

unsigned web_route_send(const struct http_request *request)
{
    memset(&web_route.exchange, 0, sizeof(web_route.exchange));
    route_request(&web_route.router, &web_route.exchange, request);
    return web_route.exchange.status;
}

unsigned web_route_get(const char *path)
{
    static struct http_request request; /* there until a slow answer */

    request = web_route_request_of(path);
    return web_route_send(&request);
}

struct http_request web_route_form_of(const char *path, const char *fields, char *out_body)
{
    struct http_request request = web_route_request_of(path);
    char token[NONCE_TEXT_BYTES];

    nonce_write(&web_route.router.nonce, &request.client, router_now_ms(&web_route.router), token);
    snprintf(out_body, WEB_ROUTE_BODY_BYTES, "%s&f=%s", fields, token);
    request.method = HTTP_POST;
    request.origin = "http://hearsay.lan";
    request.content_type = "application/x-www-form-urlencoded";
    request.body = out_body;
    request.body_bytes = strlen(out_body);
    return request;
}

unsigned web_route_post(const char *path, const char *fields)
{
    char body[WEB_ROUTE_BODY_BYTES];
    struct http_request request = web_route_form_of(path, fields, body);

    return web_route_send(&request);
}

size_t web_route_count_sheets(void)
{
    size_t count = 0;

    for (size_t i = 0; i < SHEETS_MAX; i++) {
        count += web_route.router.sheets.all[i].html.bytes != NULL;
    }
    return count;
}
