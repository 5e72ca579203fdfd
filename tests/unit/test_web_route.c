/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Routes: which request is answered by what, what is refused, and that an error keeps what was
 * typed. Board, HTTP and pages are fakes: a page is a line that tells what it was given.
 */
#include "client/web/route/route.h"

#include <stdio.h>
#include <string.h>

#include <sodium.h>

#include "client/web/page.h"
#include "client/web/route/router.h"
#include "client/web/route/secret.h"
#include "tests/lib/check.h"

/* --- memory that fails ------------------------------------------------------------------------ */

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *block, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *block, size_t bytes);

static unsigned fail_at; /* the call that fails, counted from 1; 0: none */

void *__wrap_malloc(size_t bytes)
{
    return fail_at > 0 && --fail_at == 0 ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return fail_at > 0 && --fail_at == 0 ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *block, size_t bytes)
{
    return fail_at > 0 && --fail_at == 0 ? NULL : __real_realloc(block, bytes);
}

/* What the last page was given. */
static struct {
    char token[NONCE_TEXT_BYTES];
    char seed[SECRET_HEX_BYTES];
    char key[NONCE_TEXT_BYTES];
    char text[4096];
    char code[SECRET_CODE_TEXT_BYTES];
    char id[SECRET_HEX_BYTES];
    char lang[8];
    enum page_notice notice;
    uint64_t seconds;
    char field[32];
    char kept[200];
    bool has_form;
} shown;

static int written; /* pages */

/* Takes the phone's own values out of a page: each stands in a line behind the page's kind. */
static void show_own(char *page)
{
    char *at = strchr(page, '\n');

    if (at != NULL) {
        assert_int_equal(
            sscanf(at, "\nf=%32s\nid=%32s\nkey=%32s", shown.token, shown.seed, shown.key), 3);
        *at = '\0';
    }
}

/* --- a fake HTTP ------------------------------------------------------------------------------ */

struct http_exchange {
    void *context;
    unsigned status; /* 0: not answered yet */
    uint32_t retry_after_s;
    uint32_t max_age_s;
    char location[200];
    char body[8192];
};

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
    if (bytes > 0) {
        memcpy(exchange->body, answer->body, bytes);
    }
    exchange->body[bytes] = '\0';
    if (answer->is_given) {
        free((void *)(uintptr_t)answer->body);
        show_own(exchange->body);
    }
}

/* --- a fake board ----------------------------------------------------------------------------- */

/* What the board was asked last, and what it answers. */
static struct {
    struct hearsay_welcome welcome;
    struct hearsay_host host;
    bool is_away;
    bool is_slow; /* answers only to board_answer */
    bool keeps_list;
    enum board_outcome outcome;
    enum board_outcome place; /* of board_place */
    struct hearsay_error error;
    int leaves;
    uint8_t id[HEARSAY_ID_BYTES];
    uint8_t token[HEARSAY_TOKEN_BYTES];
    char text[2100];
    struct view view;
    uint32_t ttl_s;
    enum hearsay_report_kind kind;
    char reason[1001];
    board_done *done;
    void *context;
    int forgotten;
    uint64_t version; /* of the list */
} board;

static void board_reply_with(board_done *done, void *context, enum board_outcome outcome)
{
    struct board_list list = {.version = board.version, .now_ms = 1000};
    static const struct board_message message = {.media_type = "text/plain"};
    static const struct hearsay_deposited stored = {.expires_ms = 5000};
    struct board_reply reply = {
        .outcome = outcome,
        .error = outcome == BOARD_DONE ? NULL : &board.error,
        .list = outcome == BOARD_DONE ? &list : NULL,
        .message = outcome == BOARD_DONE ? &message : NULL,
        .stored = outcome == BOARD_DONE ? &stored : NULL,
        .place = outcome == BOARD_DONE ? "place:bar\n" : NULL,
    };

    done(context, &reply);
}

static void board_answer(board_done *done, void *context)
{
    board.done = done;
    board.context = context;
    if (!board.is_slow) {
        board_reply_with(done, context, board.outcome);
    }
}

const struct hearsay_welcome *board_welcome(const struct board *unused)
{
    (void)unused;
    return board.is_away ? NULL : &board.welcome;
}

bool board_is_connected(const struct board *unused)
{
    (void)unused;
    return !board.is_away;
}

bool board_now_ms(const struct board *unused, int64_t *out_now_ms)
{
    (void)unused;
    *out_now_ms = 1000;
    return !board.is_away;
}

void board_place(struct board *unused, const char *host, const struct http_address *client,
                 board_done *done, void *context)
{
    (void)unused;
    (void)host;
    (void)client;
    board_reply_with(done, context, board.place);
}

void board_list(struct board *unused, const struct view *view, const struct http_address *client,
                board_done *done, void *context)
{
    (void)unused;
    assert_non_null(client);
    board.view = *view;
    board.version += board.keeps_list ? 0 : 1;
    board_answer(done, context);
}

void board_get(struct board *unused, const char *host, const uint8_t *id, board_done *done,
               void *context)
{
    (void)unused;
    (void)host;
    memcpy(board.id, id, sizeof(board.id));
    board_answer(done, context);
}

void board_leave(struct board *unused, const struct http_address *client,
                 const struct board_leave *leave, board_done *done, void *context)
{
    (void)unused;
    (void)client;
    board.leaves++;
    board.view = *leave->view;
    board.ttl_s = leave->ttl_s;
    memcpy(board.id, leave->id, sizeof(board.id));
    memcpy(board.token, leave->token, sizeof(board.token));
    assert_true(leave->bytes < sizeof(board.text));
    memcpy(board.text, leave->text, leave->bytes);
    board.text[leave->bytes] = '\0';
    board_answer(done, context);
}

void board_withdraw(struct board *unused, const struct http_address *client, const char *host,
                    const uint8_t *id, const uint8_t *token, board_done *done, void *context)
{
    (void)unused;
    (void)client;
    (void)host;
    memcpy(board.id, id, sizeof(board.id));
    memcpy(board.token, token, sizeof(board.token));
    board_answer(done, context);
}

void board_report(struct board *unused, const struct http_address *client, const char *host,
                  const uint8_t *id, enum hearsay_report_kind kind, const char *reason,
                  board_done *done, void *context)
{
    (void)unused;
    (void)client;
    (void)host;
    (void)id;
    board.kind = kind;
    snprintf(board.reason, sizeof(board.reason), "%s", reason);
    board_answer(done, context);
}

void board_forget(struct board *unused, const void *context)
{
    (void)unused;
    (void)context;
    board.forgotten++;
}

/* The digits of this place, of its host "garden", and of another place. */
#define PLACE  "01234567"
#define GARDEN "01234568"
#define OTHER  "76543210"
#define HERE   "89abcdef" /* this place, for who is at place:bar */

/* --- fake pages and live updates -------------------------------------------------------------- */

static void show_form(struct html *html, const struct page_form *form)
{
    shown.has_form = form != NULL;
    if (form != NULL) {
        html_raw(html, "\nf=");
        html_hole(html, HTML_HOLE_TOKEN);
        html_raw(html, "\nid=");
        html_hole(html, HTML_HOLE_SEED);
        html_raw(html, "\nkey=");
        html_hole(html, HTML_HOLE_KEY);
        snprintf(shown.text, sizeof(shown.text), "%s", form->text != NULL ? form->text : "");
    }
}

static void show_page(struct html *html, const struct page *page, const char *kind)
{
    memset(&shown, 0, sizeof(shown));
    written++;
    snprintf(shown.lang, sizeof(shown.lang), "%s", lang_tag(page->lang));
    html_raw(html, kind);
}

static void show_error(const struct page_error *error)
{
    if (error != NULL) {
        shown.notice = error->notice;
        shown.seconds = error->seconds;
        snprintf(shown.field, sizeof(shown.field), "%s", error->field != NULL ? error->field : "");
        snprintf(shown.kept, sizeof(shown.kept), "%s", error->kept != NULL ? error->kept : "");
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
    snprintf(shown.code, sizeof(shown.code), "%s", message->code != NULL ? message->code : "");
    show_error(message->error);
}

void page_write_left(struct html *html, const struct page *page, const struct page_left *left)
{
    show_page(html, page, "left");
    snprintf(shown.code, sizeof(shown.code), "%s", left->code);
    snprintf(shown.id, sizeof(shown.id), "%s", left->id);
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

void page_write_about(struct html *html, const struct page *page, const char *rules)
{
    show_page(html, page, rules != NULL ? rules : "about");
}

void page_write_poster(struct html *html, const struct page *page, const struct page_poster *poster)
{
    show_page(html, page, poster->url);
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
    board.view = *view;
    http_answer(exchange, &(struct http_answer){.status = 200, .body = "events", .body_bytes = 6});
}

/* --- the fixture ------------------------------------------------------------------------------ */

static uv_loop_t loop;
static struct web_config config;
static struct router router;
static struct http_exchange exchange;

static int set_up(void **state)
{
    (void)state;
    memset(&board, 0, sizeof(board));
    board.host = (struct hearsay_host){.name = "default", .accept = HEARSAY_ACCEPT_OPEN};
    board.welcome = (struct hearsay_welcome){
        .hosts = &board.host,
        .host_count = 1,
        .limits = {.ttl_max_s = 7 * 86400, .payload_bytes = 4096},
    };
    char reason[SETTINGS_REASON_BYTES];
    web_config_defaults(&config);
    assert_int_equal(web_config_finish(&config, reason), 0);
    sheets_clear(&router.sheets);
    memset(&router, 0, sizeof(router));
    router.loop = &loop;
    router.config = &config;
    router.names = (struct names){
        .config = &config,
        .places = {{.family = 4, .address = {10, 0, 0, 1}, .port = 80}},
        .place_count = 1,
    };
    router_init(&router);
    return 0;
}

/* A request as a browser at 10.0.0.7 sends it. */
static struct http_request request_of(const char *path)
{
    return (struct http_request){
        .path = path,
        .query = "",
        .host = "hearsay.lan",
        .body = "",
        .client = {.family = 4, .bytes = {10, 0, 0, 7}},
    };
}

static unsigned send_request(const struct http_request *request)
{
    memset(&exchange, 0, sizeof(exchange));
    route_request(&router, &exchange, request);
    return exchange.status;
}

static unsigned get(const char *path)
{
    static struct http_request request; /* there until a slow answer */

    request = request_of(path);
    return send_request(&request);
}

/* A form as a browser sends it: with the token of its address, and its origin. */
static struct http_request form_of(const char *path, const char *fields, char *out_body)
{
    struct http_request request = request_of(path);
    char token[NONCE_TEXT_BYTES];

    nonce_write(&router.nonce, &request.client, router_now_ms(&router), token);
    snprintf(out_body, 4096, "%s&f=%s", fields, token);
    request.method = HTTP_POST;
    request.origin = "http://hearsay.lan";
    request.content_type = "application/x-www-form-urlencoded";
    request.body = out_body;
    request.body_bytes = strlen(out_body);
    return request;
}

static unsigned post(const char *path, const char *fields)
{
    char body[4096];
    struct http_request request = form_of(path, fields, body);

    return send_request(&request);
}

#define SEED "00112233445566778899aabbccddeeff"

/* --- reading ---------------------------------------------------------------------------------- */

static void paths_lead_to_pages(void **state)
{
    struct http_request request = request_of("/");
    (void)state;

    assert_int_equal(get("/"), 200);
    assert_string_equal(exchange.body, "list");
    assert_string_equal(board.view.place, "place:bar\n");
    request.query = "t=Jazz&o=near";
    assert_int_equal(send_request(&request), 200);
    assert_string_equal(board.view.topics[0], "jazz");
    assert_int_equal(get("/m/" SEED), 200);
    assert_string_equal(exchange.body, "message");
    assert_int_equal(board.id[1], 0x11);
    assert_int_equal(get("/about"), 200);
    assert_int_equal(get("/poster"), 200);
    assert_string_equal(exchange.body, "http://10.0.0.1/?p=000000");
    assert_int_equal(get("/events"), 200);
    assert_string_equal(exchange.body, "events");
    assert_int_equal(get("/robots.txt"), 200);
    assert_int_equal(get("/qr/page.svg"), 200);
    assert_int_equal(get("/qr/page.txt"), 200);
    assert_int_equal(get("/qr/join.svg"), 404); /* no WiFi is configured */
    assert_int_equal(get("/m/xyz"), 404);
    assert_int_equal(get("/stay"), 404); /* portal = off */
    assert_int_equal(get("/nothing"), 404);
    assert_int_equal(get("/leave"), 303);
    assert_string_equal(exchange.location, "/?p=01234567");
    request = request_of("/about");
    request.method = HTTP_POST;
    assert_int_equal(send_request(&request), 405);
}

static void files_are_of_this_start(void **state)
{
    char path[64];
    (void)state;

    snprintf(path, sizeof(path), "%sstyle.css", router.statics);
    assert_int_equal(get(path), 200);
    assert_int_equal(exchange.max_age_s, 86400);
    assert_int_equal(get("/s/0123456789abcdef/style.css"), 404);
    snprintf(path, sizeof(path), "%s../style.css", router.statics);
    assert_int_equal(get(path), 404);
}

static void wrong_urls_name_the_field(void **state)
{
    struct http_request request = request_of("/");
    (void)state;

    request.query = "o=up";
    assert_int_equal(send_request(&request), 400);
    assert_string_equal(shown.field, "o");
    request.query = "h=elsewhere";
    assert_int_equal(send_request(&request), 404);
}

static void languages_are_chosen(void **state)
{
    struct http_request request = request_of("/");
    (void)state;

    request.accept_language = "ar,en;q=0.5";
    assert_int_equal(send_request(&request), 200);
    assert_string_equal(shown.lang, "ar");
    snprintf(config.language, sizeof(config.language), "de");
    assert_int_equal(send_request(&request), 200);
    assert_string_equal(shown.lang, "de");
    request.query = "l=en";
    assert_int_equal(send_request(&request), 200);
    assert_string_equal(shown.lang, "en");
}

static void readers_are_limited(void **state)
{
    (void)state;

    config.reads_per_minute = 60;
    config.reads_burst = 3;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(get("/"), 200);
    }
    assert_int_equal(get("/"), 429);
    assert_int_equal(shown.notice, PAGE_LIMITED);
    assert_true(exchange.retry_after_s >= 1);
    assert_int_equal(get("/about"), 200);
    /* hearsayd's own rate holds where the configuration has none. */
    set_up(NULL);
    config.reads_per_minute = 0;
    board.welcome.limits.queries_per_minute = 60;
    board.welcome.limits.query_burst = 2;
    assert_int_equal(get("/"), 200);
    assert_int_equal(get("/"), 200);
    assert_int_equal(get("/"), 429);
}

static void outcomes_have_their_statuses(void **state)
{
    static const struct {
        enum board_outcome outcome;
        unsigned status;
        enum page_notice notice;
    } rows[] = {
        {BOARD_AWAY, 503, PAGE_AWAY},       {BOARD_BUSY, 503, PAGE_LIMITED},
        {BOARD_LIMITED, 429, PAGE_LIMITED}, {BOARD_GONE, 404, PAGE_GONE},
        {BOARD_REMOVED, 410, PAGE_REMOVED}, {BOARD_WRONG_CODE, 403, PAGE_WRONG_CODE},
        {BOARD_CLOSED, 403, PAGE_CLOSED},   {BOARD_FULL, 507, PAGE_FULL},
        {BOARD_REFUSED, 400, PAGE_REFUSED},
    };
    (void)state;

    board.error.retry_after_ms = 4200;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        board.outcome = rows[i].outcome;
        assert_int_equal(get("/"), rows[i].status);
        assert_int_equal(shown.notice, rows[i].notice);
        assert_int_equal(post("/leave", "text=Hello+you&id=" SEED), rows[i].status);
        assert_int_equal(shown.notice, rows[i].notice);
        assert_string_equal(shown.text, "Hello you"); /* nobody types it twice */
        assert_int_equal(exchange.retry_after_s > 0,
                         rows[i].status == 429 || rows[i].status == 503);
    }
}

/* Phones get one list with values of their own in it. Nothing of a phone reaches another one. */
static void phones_share_lists_only(void **state)
{
    struct http_request request = request_of("/");
    int before;
    (void)state;

    board.keeps_list = true;
    assert_int_equal(send_request(&request), 200);
    before = written;
    for (uint8_t i = 8; i < 50; i++) {
        char seed[SECRET_HEX_BYTES];
        char key[NONCE_TEXT_BYTES];

        memcpy(seed, shown.seed, sizeof(seed));
        memcpy(key, shown.key, sizeof(key));
        request.client.bytes[3] = i;
        assert_int_equal(send_request(&request), 200);
        assert_true(
            nonce_check(&router.nonce, &request.client, shown.token, router_now_ms(&router)));
        nonce_write_key(&router.nonce, &request.client, exchange.location);
        assert_string_equal(shown.key, exchange.location);
        assert_string_not_equal(shown.key, key);
        assert_string_not_equal(shown.seed, seed);
    }
    assert_int_equal(written, before);
    /* What was typed is shown to who typed it. */
    board.outcome = BOARD_FULL;
    assert_int_equal(post("/leave", "text=Hello&id=" SEED), 507);
    assert_string_equal(shown.text, "Hello");
    board.outcome = BOARD_DONE;
    before = written;
    assert_int_equal(send_request(&request), 200);
    assert_string_not_equal(shown.seed, SEED);
    assert_int_equal(written, before);
}

/* Whatever changes the page makes another one. */
static void a_list_is_shared_with_its_equals(void **state)
{
    struct http_request request = request_of("/");
    int before = written;
    (void)state;

    board.keeps_list = true;
    assert_int_equal(send_request(&request), 200);
    request.accept_language = "de";
    assert_int_equal(send_request(&request), 200);
    request.query = "l=de";
    assert_int_equal(send_request(&request), 200);
    board.version++;
    assert_int_equal(send_request(&request), 200);
    board.welcome.clock_trusted = true;
    assert_int_equal(send_request(&request), 200);
    board.host.accept = HEARSAY_ACCEPT_CLOSED;
    assert_int_equal(send_request(&request), 200);
    board.welcome.limits.ttl_default_s++;
    assert_int_equal(send_request(&request), 200);
    config.portal = WEB_PORTAL_OFFLINE;
    assert_int_equal(send_request(&request), 200);
    assert_int_equal(post("/stay", "x=1"), 200);
    assert_int_equal(send_request(&request), 200); /* without the form: it was written before */
    loop.time += 1000;
    assert_int_equal(send_request(&request), 200);
    sheets_clear(&router.sheets);
    assert_int_equal(send_request(&request), 200);
    assert_int_equal(written - before, 11); /* one of them for /stay */
    assert_int_equal(send_request(&request), 200);
    assert_int_equal(written - before, 11);
    loop.time -= 1000;
}

/* Who knows no place sees no list: without labels it would be that of all places. */
static void a_place_that_is_not_known_shows_nothing(void **state)
{
    (void)state;

    board.place = BOARD_BUSY;
    assert_int_equal(get("/"), 503);
    assert_int_equal(shown.notice, PAGE_LIMITED);
    assert_true(exchange.retry_after_s > 0);
    assert_int_equal(get("/events"), 503);
    assert_true(exchange.retry_after_s > 0);
    assert_int_equal(post("/leave", "text=Hello+you&id=" SEED), 503);
    assert_int_equal(board.view.before_ms, 0); /* nobody was asked for a list */
    assert_int_equal(board.leaves, 0);
}

/* Whatever memory a list needs may be missing: then the phone is told so, and others get theirs. */
static void a_list_without_memory(void **state)
{
    struct http_address client = request_of("/").client;
    unsigned failures = 0;
    (void)state;

    board.keeps_list = true;
    for (unsigned n = 1; n < 100; n++) {
        sheets_clear(&router.sheets);
        fail_at = n;
        assert_true(get("/") == 200 || exchange.status == 503);
        if (fail_at > 0) {
            break; /* no allocation was the nth one */
        }
        failures += exchange.status == 503;
        assert_int_equal(get("/"), 200);
        assert_true(nonce_check(&router.nonce, &client, shown.token, router_now_ms(&router)));
    }
    fail_at = 0;
    assert_true(failures >= 3); /* the visit, the page, the phone's copy */
}

static void health_is_for_this_machine(void **state)
{
    struct http_request request = request_of("/healthz");
    (void)state;

    assert_int_equal(send_request(&request), 404);
    request.client.bytes[0] = 127;
    assert_int_equal(send_request(&request), 200);
    board.is_away = true;
    assert_int_equal(send_request(&request), 503);
}

/* --- names and origins ------------------------------------------------------------------------ */

static void other_names_are_refused(void **state)
{
    static const char *const right[] = {"hearsay.lan", "HEARSAY.lan", "hearsay.lan:80", "10.0.0.1",
                                        "10.0.0.1:80"};
    static const char *const wrong[] = {
        "evil.example",        "hearsay.lan:81", "10.0.0.2", "localhost", "",
        "hearsay.lan.",        "hearsay.lan:",   "[::1]",    "a:b:c",     "hearsay.lan:80x",
        "10.0.0.1:99999999999"};
    struct http_request request = request_of("/");
    (void)state;

    for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
        request.host = right[i];
        assert_int_equal(send_request(&request), 200);
    }
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        request.host = wrong[i];
        assert_int_equal(send_request(&request), 421);
    }
    request.host = NULL;
    assert_int_equal(send_request(&request), 421);
}

static void localhost_is_for_loopback(void **state)
{
    struct http_request request = request_of("/");
    (void)state;

    router.names.places[0] =
        (struct web_config_listener){.family = 4, .address = {127, 0, 0, 1}, .port = 7118};
    request.host = "localhost:7118";
    assert_int_equal(send_request(&request), 200);
    request.host = "localhost";
    assert_int_equal(send_request(&request), 421);
}

/* Without internet all names lead here: phones are sent to ours, and POST gets nothing. */
static void a_portal_redirects(void **state)
{
    struct http_request request = request_of("/generate_204");
    (void)state;

    config.portal = WEB_PORTAL_OFFLINE;
    request.host = "connectivitycheck.gstatic.com";
    assert_int_equal(send_request(&request), 302);
    assert_string_equal(exchange.location, "http://hearsay.lan/");
    assert_int_equal(post("/stay", "x=1"), 200);
    assert_int_equal(send_request(&request), 204);
    request.method = HTTP_POST;
    assert_int_equal(send_request(&request), 421);
}

static void forged_forms_are_refused(void **state)
{
    static const char *const origins[] = {"null",
                                          "http://evil.example",
                                          "https://hearsay.lan",
                                          "http://hearsay.lan:81",
                                          "http://hearsay.lan.evil",
                                          ""};
    static const char fields[] = "text=Hello&id=" SEED;
    char body[4096];
    struct http_request request = form_of("/leave", fields, body);
    (void)state;

    for (size_t i = 0; i < sizeof(origins) / sizeof(origins[0]); i++) {
        request.origin = origins[i];
        assert_int_equal(send_request(&request), 403);
        assert_int_equal(shown.notice, PAGE_EXPIRED);
        assert_string_equal(shown.text, "Hello");
    }
    request = form_of("/leave", fields, body);
    request.content_type = "text/plain";
    assert_int_equal(send_request(&request), 400);
    request.content_type = NULL;
    assert_int_equal(send_request(&request), 400);
    request = form_of("/leave", fields, body);
    request.client.bytes[3]++;
    assert_int_equal(send_request(&request), 403);
    assert_string_equal(shown.text, "Hello");
    assert_string_equal(shown.seed, SEED);
    request = form_of("/leave", fields, body);
    nonce_init(&router.nonce); /* another start */
    assert_int_equal(send_request(&request), 403);
    assert_int_equal(board.leaves, 0);
    request = form_of("/leave", fields, body);
    request.origin = NULL;
    request.content_type = "application/x-www-form-urlencoded; charset=UTF-8";
    assert_int_equal(send_request(&request), 200);
    assert_int_equal(board.leaves, 1);
}

/* A form that was too old can be sent again as it is shown. */
static void an_old_form_is_sent_again(void **state)
{
    char body[4096];
    struct http_request request = form_of("/leave", "text=Hello&id=" SEED "&l=de", body);
    (void)state;

    nonce_init(&router.nonce);
    assert_int_equal(send_request(&request), 403);
    assert_string_equal(shown.lang, "de");
    request.body_bytes = (size_t)snprintf(body, sizeof(body), "text=%s&id=%s&f=%s", shown.text,
                                          shown.seed, shown.token);
    assert_int_equal(send_request(&request), 200);
    assert_string_equal(board.text, "Hello");
}

/* A phone that has come to another access point sends the form of the one before. */
static void a_phone_has_moved(void **state)
{
    char body[4096];
    struct http_request request = form_of(
        "/leave", "text=Hello&t=jazz&ttl=3600&h=garden&place=" OTHER "&id=" SEED "&l=de", body);
    (void)state;

    nonce_init(&router.nonce);
    assert_int_equal(send_request(&request), 409);
    assert_int_equal(shown.notice, PAGE_MOVED);
    assert_string_equal(shown.lang, "de");
    assert_string_equal(shown.text, "Hello");
    assert_string_not_equal(shown.seed, SEED);
    assert_int_equal(post("/leave", "text=Hello&place=" OTHER "&id=" SEED), 409); /* new store */
    assert_int_equal(board.leaves, 0);
    assert_int_equal(post("/report", "id=" SEED "&why=spam&text=Stop&place=" OTHER), 409);
    assert_int_equal(shown.notice, PAGE_MOVED);
    assert_false(shown.has_form);
    assert_string_equal(shown.kept, "Stop");
    assert_int_equal(post("/withdraw", "id=" SEED "&code=ABC&place=" OTHER), 409);
    assert_string_equal(shown.kept, "ABC");
}

/* One store may serve many places: another address, or the same one with other labels. */
static void a_phone_has_moved_within_a_store(void **state)
{
    static const char form[] = "text=Hello&place=" PLACE "&id=" SEED "&here=";
    char fields[200];
    char body[4096];
    (void)state;

    snprintf(fields, sizeof(fields), "%s" HERE, form);
    assert_int_equal(post("/leave", fields), 200);
    struct http_request stale = form_of("/leave", fields, body);
    stale.client.bytes[3]++;
    assert_int_equal(send_request(&stale), 403);
    assert_int_equal(shown.notice, PAGE_EXPIRED);
    snprintf(fields, sizeof(fields), "%s" OTHER, form);
    assert_int_equal(post("/leave", fields), 409);
    assert_int_equal(shown.notice, PAGE_MOVED);
    assert_string_equal(shown.text, "Hello");
    assert_string_not_equal(shown.seed, SEED);
    stale = form_of("/leave", fields, body);
    stale.client.bytes[3]++;
    assert_int_equal(send_request(&stale), 409);
    assert_int_equal(board.leaves, 1);
    stale = form_of("/withdraw", "id=" SEED "&code=AAAAAAAAAAAAAAAAAAAAAAAAAA&here=" OTHER, body);
    stale.client.bytes[3]++;
    assert_int_equal(send_request(&stale), 403);
    assert_int_equal(shown.notice, PAGE_EXPIRED);
}

/* Forms of this place are none of another: also of a second host, and of before hearsayd came. */
static void a_phone_has_not_moved(void **state)
{
    char body[4096];
    struct http_request request =
        form_of("/report", "id=" SEED "&why=spam&text=Stop&place=" PLACE, body);
    struct hearsay_host hosts[] = {board.host, board.host};
    (void)state;

    assert_int_equal(post("/leave", "text=Hello&place=" PLACE "&id=" SEED), 200);
    assert_int_equal(post("/leave", "text=Hello&place=&id=" SEED), 200);
    hosts[1].name = "garden";
    board.welcome.hosts = hosts;
    board.welcome.host_count = 2;
    assert_int_equal(post("/leave", "text=Hello&h=garden&place=" GARDEN "&id=" SEED), 200);
    assert_int_equal(post("/leave", "text=Hello&h=garden&place=" PLACE "&id=" SEED), 409);
    nonce_init(&router.nonce);
    assert_int_equal(send_request(&request), 403);
    assert_int_equal(shown.notice, PAGE_EXPIRED);
    assert_string_equal(shown.kept, "Stop");
    board.is_away = true;
    board.outcome = BOARD_AWAY;
    assert_int_equal(post("/leave", "text=Hello&place=" OTHER "&id=" SEED), 503);
}

/* --- writing ---------------------------------------------------------------------------------- */

static void a_message_is_left(void **state)
{
    uint8_t code[SECRET_CODE_BYTES];
    uint8_t token[HEARSAY_TOKEN_BYTES];
    char id[SECRET_HEX_BYTES];
    (void)state;

    assert_int_equal(post("/leave", "text=a%0D%0Ab%0Dc+%0A&t=Jazz,+Blues&now=1&ttl=3600&id=" SEED),
                     200);
    assert_string_equal(exchange.body, "left");
    assert_string_equal(board.text, "a\nb\nc");
    assert_int_equal(board.ttl_s, 3600);
    assert_int_equal(board.view.topic_count, 2);
    assert_true(board.view.is_now);
    assert_string_equal(board.view.place, "place:bar\n");
    secret_write_hex(board.id, id);
    assert_string_equal(shown.id, id);
    assert_string_not_equal(shown.id, SEED); /* the id is public, the seed is not */
    assert_true(secret_read_code(shown.code, code));
    secret_token(code, token);
    assert_memory_equal(token, board.token, sizeof(token));
}

/* A double tap and a reload are the same message with the same code; other content is not. */
static void the_same_form_is_one_message(void **state)
{
    uint8_t id[HEARSAY_ID_BYTES];
    char code[SECRET_CODE_TEXT_BYTES];
    (void)state;

    assert_int_equal(post("/leave", "text=Hello&id=" SEED), 200);
    memcpy(id, board.id, sizeof(id));
    memcpy(code, shown.code, sizeof(code));
    assert_int_equal(post("/leave", "text=Hello&id=" SEED), 200);
    assert_memory_equal(id, board.id, sizeof(id));
    assert_string_equal(code, shown.code);
    assert_int_equal(post("/leave", "text=Hello!&id=" SEED), 200);
    assert_memory_not_equal(id, board.id, sizeof(id));
    assert_int_equal(post("/leave", "text=Hello&t=jazz&id=" SEED), 200);
    assert_memory_not_equal(id, board.id, sizeof(id));
    assert_int_equal(post("/leave", "text=Hello&ttl=60&id=" SEED), 200);
    assert_memory_not_equal(id, board.id, sizeof(id));
}

/* Who reloads the answer after the message was withdrawn does not bring it back unasked. */
static void a_withdrawn_message_asks_again(void **state)
{
    (void)state;

    board.outcome = BOARD_REFUSED;
    board.error.code = HEARSAY_CODE_ALREADY_EXISTS;
    assert_int_equal(post("/leave", "text=Hello&id=" SEED), 403);
    assert_int_equal(shown.notice, PAGE_EXPIRED);
    assert_string_equal(shown.text, "Hello");
    assert_string_not_equal(shown.seed, SEED);
    assert_int_equal(strlen(shown.seed), 32);
    assert_int_equal(board.leaves, 1);
}

/* 500 characters, of any script. */
static void texts_are_bounded(void **state)
{
    char fields[4096];
    size_t used;
    (void)state;

    for (int characters = 500; characters <= 501; characters++) {
        char body[8192];

        used = (size_t)snprintf(fields, sizeof(fields), "id=" SEED "&text=");
        for (int i = 0; i < characters; i++) {
            used += (size_t)snprintf(fields + used, sizeof(fields) - used, "\xF0\x9F\x8E\xB7");
        }
        struct http_request request = form_of("/leave", fields, body);
        assert_int_equal(send_request(&request), characters == 500 ? 200 : 413);
    }
    assert_int_equal(shown.notice, PAGE_TOO_LONG);
    assert_int_equal(strlen(shown.text), 4 * 501);
    board.welcome.limits.payload_bytes = 5;
    assert_int_equal(post("/leave", "text=Hello&id=" SEED), 200);
    assert_int_equal(post("/leave", "text=Hello!&id=" SEED), 413);
}

static void wrong_fields_are_named(void **state)
{
    static const struct {
        const char *path;
        const char *fields;
        const char *field;
    } rows[] = {
        {"/leave", "id=" SEED, "text"},
        {"/leave", "text=+%0A&id=" SEED, "text"},
        {"/leave", "text=%FF&id=" SEED, "text"},
        {"/leave", "text=a", "id"},
        {"/leave", "text=a&id=12", "id"},
        {"/leave", "text=a&ttl=1h&id=" SEED, "ttl"},
        {"/leave", "text=a&ttl=604801&id=" SEED, "ttl"},
        {"/leave", "text=a&ttl=9999999999&id=" SEED, "ttl"},
        {"/leave", "text=a&t=a,b,c,d,e&id=" SEED, "t"},
        {"/leave", "text=a&h=elsewhere&id=" SEED, "h"},
        {"/leave", "text=%&id=" SEED, "form"},
        {"/withdraw", "code=AAAAAAAAAAAAAAAAAAAAAAAAAA", "id"},
        {"/report", "why=spam", "id"},
        {"/report", "id=" SEED "&why=bored", "why"},
        {"/report", "id=" SEED, "why"},
        {"/report", "id=" SEED "&why=spam&text=%C0", "text"},
    };
    (void)state;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(post(rows[i].path, rows[i].fields), 400);
        assert_string_equal(shown.field, rows[i].field);
    }
    assert_int_equal(board.leaves, 0);
}

static void codes_are_read_as_people_type(void **state)
{
    static const uint8_t code[SECRET_CODE_BYTES] = {0xFF, 1, 2,  3,  4,  5,  6,  7,
                                                    8,    9, 10, 11, 12, 13, 14, 0xFE};
    uint8_t token[HEARSAY_TOKEN_BYTES];
    char text[SECRET_CODE_TEXT_BYTES];
    char fields[200];
    (void)state;

    secret_write_code(code, text);
    secret_token(code, token);
    for (char *c = text; *c != '\0'; c++) {
        *c = (char)(*c >= 'A' ? *c + 32 : *c);
    }
    snprintf(fields, sizeof(fields), "id=" SEED "&code=+%.13s-%s+", text, text + 13);
    assert_int_equal(post("/withdraw", fields), 200);
    assert_string_equal(exchange.body, "withdrawn");
    assert_memory_equal(board.token, token, sizeof(token));
    assert_int_equal(post("/withdraw", "id=" SEED "&code=AAAA"), 403);
    assert_int_equal(shown.notice, PAGE_WRONG_CODE);
    assert_string_equal(exchange.body, "message");
    assert_string_equal(shown.code, "AAAA"); /* to be mended, not typed again */
    assert_int_equal(post("/withdraw", "id=" SEED "&code=AAAAAAAAAAAAAAAAAAAAAAAAAAA"), 403);
}

static void reports_have_one_line(void **state)
{
    char fields[1200];
    size_t used;
    (void)state;

    assert_int_equal(post("/report", "id=" SEED "&why=rude"), 400);
    assert_int_equal(post("/report", "id=" SEED "&why=spam"), 200);
    assert_string_equal(exchange.body, "reported");
    assert_int_equal(board.kind, HEARSAY_REPORT_SPAM);
    assert_string_equal(board.reason, "");
    assert_int_equal(post("/report", "id=" SEED "&why=about-me&text=a%0Ab"), 200);
    assert_int_equal(board.kind, HEARSAY_REPORT_ABOUT_ME);
    assert_string_equal(board.reason, "a b");
    used = (size_t)snprintf(fields, sizeof(fields), "id=" SEED "&why=harassment&text=");
    for (int i = 0; i < 150; i++) {
        used += (size_t)snprintf(fields + used, sizeof(fields) - used, "\xF0\x9F\x8E\xB7");
    }
    assert_int_equal(post("/report", fields), 200);
    assert_int_equal(strlen(board.reason), 4 * 150);
    snprintf(fields + used, sizeof(fields) - used, "x");
    assert_int_equal(post("/report", fields), 400);
}

/* --- going away ------------------------------------------------------------------------------- */

static void who_goes_is_forgotten(void **state)
{
    (void)state;

    board.is_slow = true;
    assert_int_equal(get("/"), 0);
    assert_non_null(exchange.context);
    route_gone(&router, &exchange);
    assert_int_equal(board.forgotten, 1);
    assert_int_equal(get("/"), 0);
    board_reply_with(board.done, board.context, BOARD_DONE);
    assert_int_equal(exchange.status, 200);
    route_gone(&router, &exchange); /* answered already: nothing is left of it */
    assert_int_equal(board.forgotten, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(paths_lead_to_pages, set_up),
        cmocka_unit_test_setup(files_are_of_this_start, set_up),
        cmocka_unit_test_setup(wrong_urls_name_the_field, set_up),
        cmocka_unit_test_setup(languages_are_chosen, set_up),
        cmocka_unit_test_setup(readers_are_limited, set_up),
        cmocka_unit_test_setup(outcomes_have_their_statuses, set_up),
        cmocka_unit_test_setup(phones_share_lists_only, set_up),
        cmocka_unit_test_setup(a_list_is_shared_with_its_equals, set_up),
        cmocka_unit_test_setup(a_place_that_is_not_known_shows_nothing, set_up),
        cmocka_unit_test_setup(a_list_without_memory, set_up),
        cmocka_unit_test_setup(health_is_for_this_machine, set_up),
        cmocka_unit_test_setup(other_names_are_refused, set_up),
        cmocka_unit_test_setup(localhost_is_for_loopback, set_up),
        cmocka_unit_test_setup(a_portal_redirects, set_up),
        cmocka_unit_test_setup(forged_forms_are_refused, set_up),
        cmocka_unit_test_setup(an_old_form_is_sent_again, set_up),
        cmocka_unit_test_setup(a_phone_has_moved, set_up),
        cmocka_unit_test_setup(a_phone_has_moved_within_a_store, set_up),
        cmocka_unit_test_setup(a_phone_has_not_moved, set_up),
        cmocka_unit_test_setup(a_message_is_left, set_up),
        cmocka_unit_test_setup(the_same_form_is_one_message, set_up),
        cmocka_unit_test_setup(a_withdrawn_message_asks_again, set_up),
        cmocka_unit_test_setup(texts_are_bounded, set_up),
        cmocka_unit_test_setup(wrong_fields_are_named, set_up),
        cmocka_unit_test_setup(codes_are_read_as_people_type, set_up),
        cmocka_unit_test_setup(reports_have_one_line, set_up),
        cmocka_unit_test_setup(who_goes_is_forgotten, set_up),
    };
    if (sodium_init() < 0 || uv_loop_init(&loop) != 0) {
        return 1;
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return uv_loop_close(&loop) != 0 ? 1 : failed;
}
