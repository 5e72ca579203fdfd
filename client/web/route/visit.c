/* SPDX-License-Identifier: Apache-2.0 */
#include "client/web/route/visit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RETRY_AWAY_S = 5, RETRY_BUSY_S = 2, RETRY_LIMITED_S_MAX = 3600 };

struct visit *visit_new(struct router *router, struct http_exchange *exchange,
                        const struct http_request *request)
{
    struct visit *visit = calloc(1, sizeof(*visit));

    if (visit != NULL) {
        visit->router = router;
        visit->exchange = exchange;
        visit->request = request;
        visit->view.before_ms = INT64_MAX;
        visit_choose_language(visit, "");
    }
    return visit;
}

void visit_choose_language(struct visit *visit, const char *tag)
{
    const struct lang *lang = lang_find(tag);

    if (lang == NULL && strcmp(visit->router->config->language, "auto") != 0) {
        lang = lang_find(visit->router->config->language);
    }
    visit->lang = lang != NULL ? lang : lang_choose(visit->request->accept_language);
}

void visit_free(struct visit *visit)
{
    if (visit != NULL) {
        html_deinit(&visit->html);
        free(visit->body);
        free(visit);
    }
}

const char *visit_field(const struct visit *visit, const char *name)
{
    const struct form_field *field = form_find(&visit->form, name);

    return field != NULL ? field->value : NULL;
}

/* --- what hearsayd says ----------------------------------------------------------------------- */

const char *visit_host(const struct visit *visit)
{
    return visit->view.host[0] != '\0' ? visit->view.host : visit->router->config->host;
}

void visit_name_host(struct visit *visit)
{
    _Static_assert(sizeof(visit->view.host) == sizeof(visit->router->config->host), "one size");

    if (visit->view.host[0] == '\0') {
        memcpy(visit->view.host, visit->router->config->host, sizeof(visit->view.host));
    }
}

const struct hearsay_host *visit_find_host(const struct visit *visit)
{
    return board_host(visit->router->board, visit_host(visit));
}

bool visit_check_host(struct visit *visit)
{
    const struct hearsay_host *host = visit_find_host(visit);

    if (host == NULL) {
        return false;
    }
    const struct hearsay_host *there = board_host(visit->router->board, visit->view.at);
    visit->view.is_hood = visit->view.is_hood && host->hood != NULL;
    return visit->view.at[0] == '\0' ||
           (host->hood != NULL && there != NULL && there->hood != NULL &&
            strcmp(there->hood, host->hood) == 0);
}

bool visit_is_elsewhere(const struct visit *visit)
{
    const struct hearsay_host *host = visit_find_host(visit);

    return visit->view.at[0] != '\0' && host != NULL && host->hood != NULL &&
           board_host(visit->router->board, visit->view.at) == NULL;
}

const char *visit_host_at(const struct visit *visit)
{
    return visit->view.at[0] != '\0' ? visit->view.at : visit->view.host;
}

void visit_take_place(struct visit *visit, const struct board_reply *reply)
{
    const struct hearsay_welcome *welcome = board_welcome(visit->router->board);

    if (reply->outcome != BOARD_DONE || reply->place == NULL ||
        strlen(reply->place) >= sizeof(visit->view.place)) {
        return;
    }
    memcpy(visit->view.place, reply->place, strlen(reply->place) + 1);
    (void)snprintf(visit->view.place_name, sizeof(visit->view.place_name), "%s", reply->place_name);
    if (welcome != NULL && visit_find_host(visit) != NULL) {
        live_write_store(welcome, visit_host(visit), visit->view.place, visit->here);
    }
}

static const char *text_or_null(const char *text)
{
    return text[0] != '\0' ? text : NULL;
}

void visit_page(struct visit *visit, struct page *out_page)
{
    const struct router *router = visit->router;
    const struct hearsay_welcome *welcome = board_welcome(router->board);
    const struct hearsay_host *host = visit_find_host(visit);
    struct page page = {
        .lang = visit->lang,
        .title = router->config->title,
        .subtitle = router->config->subtitle[0] != '\0' ? router->config->subtitle : NULL,
        .name = router->name,
        .store = visit->store,
        .here = visit->here,
        .statics = router->statics,
        .operator_name = text_or_null(router->config->operator_name),
        .contact = text_or_null(router->config->contact),
        .topics = &router->config->topics,
        .view = &visit->view,
        .is_clock_trusted = welcome != NULL && welcome->clock_trusted,
        .ttl_max_s = welcome != NULL ? welcome->limits.ttl_max_s : 0,
    };

    if (host != NULL) {
        live_write_store(welcome, visit_host(visit), "", visit->store);
        memcpy(visit->view.store, visit->store, sizeof(visit->view.store));
        page.has_hood = host->hood != NULL;
        page.notices = host->notices;
        page.notice_count = host->notice_count;
        page.notices_version = host->notices_version;
    }
    nonce_write_key(&router->nonce, &visit->request->client, visit->key);
    (void)board_now_ms(router->board, &page.now_ms); /* 0 while it is not known */
    nonce_write(&router->nonce, &visit->request->client, router_now_ms(router), visit->token);
    page.may_stay = router->config->portal == WEB_PORTAL_OFFLINE;
    page.asks_to_stay = page.may_stay && !portal_stays(router->portal, &visit->request->client,
                                                       router_now_ms(router));
    *out_page = page;
}

uint32_t visit_bytes_max(const struct visit *visit)
{
    const struct hearsay_welcome *welcome = board_welcome(visit->router->board);
    uint32_t most = welcome != NULL ? welcome->limits.payload_bytes : 0;

    return most < PAGE_TEXT_BYTES ? most : 0;
}

void visit_form(struct visit *visit, struct page_form *out_form)
{
    const struct hearsay_welcome *welcome = board_welcome(visit->router->board);
    const struct hearsay_host *host = visit_find_host(visit);
    int64_t now_ms = 0;
    struct page_form form = {
        .text = visit->text,
        .topics = visit->topics,
        .bytes_max = visit_bytes_max(visit),
        .ttl_s = visit->ttl_s,
        .accept = HEARSAY_ACCEPT_OPEN,
        .re = visit->re[0] != '\0' ? visit->re : NULL,
        .epoch = visit->epoch,
    };

    if (visit->seed[0] == '\0') {
        secret_draw(visit->seed);
    }
    if (welcome != NULL) {
        form.ttl_default_s = welcome->limits.ttl_default_s;
        form.ttl_max_s = welcome->limits.ttl_max_s;
    }
    /* Only messages of the open epoch are found from other hosts. */
    form.is_found_around =
        host != NULL && host->hood != NULL && (host->epoch.number == 0 || !host->epoch.has_key);
    /* The greeting tells how it was then, and until when. */
    if (host != NULL && board_now_ms(visit->router->board, &now_ms) &&
        (host->accept_until_ms == 0 || now_ms < host->accept_until_ms)) {
        form.accept = host->accept;
        form.accept_until_ms = host->accept_until_ms;
    }
    *out_form = form;
}

/* --- answers ---------------------------------------------------------------------------------- */

void visit_answer(struct visit *visit, const struct http_answer *answer)
{
    struct http_answer whole = *answer;

    whole.vary = strcmp(visit->request->path, "/") == 0 ? "Accept, Accept-Language" : NULL;
    http_exchange_set_context(visit->exchange, NULL);
    http_answer(visit->exchange, &whole);
    visit_free(visit);
}

void visit_answer_text(struct visit *visit, unsigned status, const char *text)
{
    struct http_answer answer = http_text(status, text);

    visit_answer(visit, &answer);
}

/* Answers with a page whose bytes are `bytes`, which are taken. Puts the phone's own values in.
 * `head` has no body, and for HTML no type. */
static void answer_bytes(struct visit *visit, const struct http_answer *head,
                         const struct html *html, char *bytes)
{
    const char *const values[HTML_HOLE_KINDS] = {
        [HTML_HOLE_TOKEN] = visit->token,
        [HTML_HOLE_SEED] = visit->seed,
        [HTML_HOLE_KEY] = visit->key,
    };
    struct http_answer answer = *head;

    html_fill(html, values, bytes);
    answer.type = head->type != NULL ? head->type : "text/html; charset=utf-8";
    answer.body = bytes;
    answer.body_bytes = html->count;
    answer.is_given = true;
    visit_answer(visit, &answer);
}

static void answer_no_memory(struct visit *visit)
{
    visit_answer_text(visit, 503, "Out of memory. Please try again.\n");
}

void visit_answer_page(struct visit *visit, unsigned status, uint64_t retry_after_s,
                       struct html *html)
{
    struct http_answer head = {.status = status, .retry_after_s = (uint32_t)retry_after_s};

    if (html_failed(html)) {
        html_deinit(html);
        answer_no_memory(visit);
        return;
    }
    answer_bytes(visit, &head, html, html->bytes);
    html_init(html);
}

void visit_answer_sheet(struct visit *visit, const struct http_answer *head,
                        const struct html *sheet)
{
    char *copy = sheet != NULL ? malloc(sheet->count) : NULL;

    if (copy == NULL) {
        answer_no_memory(visit);
        return;
    }
    memcpy(copy, sheet->bytes, sheet->count);
    answer_bytes(visit, head, sheet, copy);
}

void visit_answer_fixed(struct visit *visit, const char *name, const struct http_answer *head,
                        const struct page_error *error,
                        void (*write)(void *context, struct html *html))
{
    static const struct page_error none = {.notice = PAGE_NO_NOTICE};
    const struct page_error *shown = error != NULL ? error : &none;
    struct page page;
    struct visit_fixed fixed = {visit, &page, error};
    char url[VIEW_URL_BYTES];

    visit_page(visit, &page);
    page.now_ms = 0;
    view_write(&visit->view, url);
    const uint64_t numbers[] = {(uintptr_t)page.lang, page.ttl_max_s, shown->notice,
                                shown->seconds,       shown->excess,  shown->is_excess_of_bytes};
    const char *const texts[] = {name,
                                 url,
                                 visit->view.language,
                                 visit->view.at,
                                 page.store,
                                 shown->field,
                                 shown->sentence,
                                 shown->host,
                                 visit->view.place_name};
    struct sheet_parts parts = {numbers, sizeof(numbers) / sizeof(numbers[0]), texts,
                                sizeof(texts) / sizeof(texts[0]), 0};
    visit_answer_sheet(visit, head, sheets_take(&visit->router->sheets, &parts, write, &fixed));
}

void visit_redirect_to_list(struct visit *visit)
{
    char url[VIEW_URL_BYTES];
    struct page page;

    visit_page(visit, &page);
    view_write(&visit->view, url);
    visit_answer(visit, &(struct http_answer){.status = 303, .location = url});
}

/* --- errors ----------------------------------------------------------------------------------- */

uint64_t visit_retry_s(unsigned status, const struct page_error *error)
{
    if (status == 429 || (status == 503 && error->seconds > 0)) {
        return error->seconds < RETRY_LIMITED_S_MAX ? error->seconds : RETRY_LIMITED_S_MAX;
    }
    return status == 503 ? RETRY_AWAY_S : 0;
}

static void write_error(void *context, struct html *html)
{
    const struct visit_fixed *fixed = context;

    page_write_error(html, fixed->page, fixed->error, NULL);
}

/* A sentence for a program, which goes by the status. */
static void fail_program(struct visit *visit, unsigned status, const struct page_error *error)
{
    uint64_t retry_s = visit_retry_s(status, error);
    char text[200];

    if (error->field != NULL) {
        (void)snprintf(text, sizeof(text), "The value of `%s` is wrong.\n", error->field);
    } else if (retry_s > 0) {
        (void)snprintf(text, sizeof(text), "%s Try again in %llu s.\n",
                       error->notice == PAGE_AWAY ? "The message store does not answer right now."
                                                  : "That was a lot in a short time.",
                       (unsigned long long)retry_s);
    } else {
        (void)snprintf(text, sizeof(text), "There is nothing here.\n");
    }
    visit_answer(visit, &(struct http_answer){.status = status,
                                              .retry_after_s = (uint32_t)retry_s,
                                              .type = "text/plain; charset=utf-8",
                                              .body = text,
                                              .body_bytes = strlen(text)});
}

/* Whether an answer has nothing that it could answer any more: to send it again cannot help. */
static bool is_answer_to_nothing(const struct visit *visit, const struct page_error *error)
{
    return visit->re[0] != '\0' && (error->notice == PAGE_GONE || error->notice == PAGE_REMOVED);
}

void visit_fail(struct visit *visit, unsigned status, const struct page_error *error)
{
    if (visit->format != VISIT_HTML) {
        fail_program(visit, status, error);
        return;
    }
    uint64_t retry_s = visit_retry_s(status, error);
    struct page_error without_form = *error;
    struct page page;
    struct page_form form;
    struct html html;

    if (visit->text != NULL && is_answer_to_nothing(visit, error)) {
        without_form.kept = visit->text;
        visit->text = NULL;
        error = &without_form;
    }
    if (visit->text == NULL && error->kept == NULL && error->until_ms == 0) {
        visit_answer_fixed(
            visit, "error",
            &(struct http_answer){.status = status, .retry_after_s = (uint32_t)retry_s}, error,
            write_error);
        return;
    }
    html_init(&html);
    visit_page(visit, &page);
    if (visit->text != NULL) {
        visit_form(visit, &form);
    }
    page_write_error(&html, &page, error, visit->text != NULL ? &form : NULL);
    visit_answer_page(visit, status, retry_s, &html);
}

static uint64_t seconds_of(uint64_t ms)
{
    return ms / 1000 + 1; /* rounded up; at least 1 */
}

/* When a refusal will be over; 0: not known. */
static int64_t until_of(const struct visit *visit, const struct board_reply *reply)
{
    int64_t now_ms = 0;

    return reply->error != NULL && reply->error->retry_after_ms > 0 &&
                   reply->error->retry_after_ms < INT64_MAX / 2 &&
                   board_now_ms(visit->router->board, &now_ms)
               ? now_ms + (int64_t)reply->error->retry_after_ms
               : 0;
}

struct visit_failure visit_failure_of(const struct visit *visit, const struct board_reply *reply)
{
    static const struct visit_failure rows[] = {
        [BOARD_DONE] = {503, {.notice = PAGE_AWAY}}, /* does not come here */
        [BOARD_AWAY] = {503, {.notice = PAGE_AWAY}},
        [BOARD_BUSY] = {503, {.notice = PAGE_LIMITED, .seconds = RETRY_BUSY_S}},
        [BOARD_LIMITED] = {429, {.notice = PAGE_LIMITED}},
        [BOARD_GONE] = {404, {.notice = PAGE_GONE}},
        [BOARD_REMOVED] = {410, {.notice = PAGE_REMOVED}},
        [BOARD_WRONG_CODE] = {403, {.notice = PAGE_WRONG_CODE}},
        [BOARD_CLOSED] = {403, {.notice = PAGE_CLOSED}},
        [BOARD_FULL] = {507, {.notice = PAGE_FULL}},
        [BOARD_REFUSED] = {400, {.notice = PAGE_REFUSED, .sentence = ""}},
        [BOARD_NO_MEMORY] = {503, {.notice = PAGE_LIMITED, .seconds = RETRY_BUSY_S}},
    };
    struct visit_failure failure = rows[reply->outcome];

    if (reply->outcome == BOARD_FULL && reply->error != NULL &&
        strcmp(reply->error->field, "answers") == 0) {
        failure.error.notice = PAGE_ANSWERS;
    } else if (reply->outcome == BOARD_LIMITED) {
        failure.error.seconds = seconds_of(reply->error != NULL ? reply->error->retry_after_ms : 0);
    } else if (reply->outcome == BOARD_CLOSED || reply->outcome == BOARD_FULL) {
        failure.error.until_ms = until_of(visit, reply);
    } else if (reply->outcome == BOARD_REFUSED && reply->error != NULL) {
        failure.error.sentence = reply->error->sentence;
    }
    return failure;
}

void visit_fail_reply(struct visit *visit, const struct board_reply *reply)
{
    struct visit_failure failure = visit_failure_of(visit, reply);

    visit_fail(visit, failure.status, &failure.error);
}
