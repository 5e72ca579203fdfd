/* SPDX-License-Identifier: Apache-2.0 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "client/web/route/reading.h"
#include "core/base/character.h"
#include "core/base/label.h"

enum {
    REPORT_TEXT_CHARACTERS = 150, /* of at most 4 bytes: hearsayd takes 1,000 bytes */
    TTL_MOST = 999999999
};

/* --- the form that was sent ------------------------------------------------------------------- */

static bool is_form_type(const char *type)
{
    static const char form[] = "application/x-www-form-urlencoded";
    size_t length = sizeof(form) - 1;

    return type != NULL && strncasecmp(type, form, length) == 0 &&
           (type[length] == '\0' || type[length] == ';' || type[length] == ' ');
}

/* Ends lines with one line feed, and cuts white space off the end. In place. */
static size_t normalise_text(char *text)
{
    size_t count = 0;

    for (const char *at = text; *at != '\0'; at++) {
        if (*at == '\r' && at[1] == '\n') {
            continue;
        }
        text[count++] = *at == '\r' ? '\n' : *at;
    }
    while (count > 0 &&
           (text[count - 1] == '\n' || text[count - 1] == ' ' || text[count - 1] == '\t')) {
        count--;
    }
    text[count] = '\0';
    return count;
}

/* Seconds; 0 for none. False: not a number of at most TTL_MOST. */
static bool read_ttl(const char *text, uint32_t *out_ttl_s)
{
    uint64_t value = 0;
    bool is_right = *text == '\0' || form_read_number(text, TTL_MOST, &value);

    *out_ttl_s = is_right ? (uint32_t)value : *out_ttl_s;
    return is_right;
}

/* What was typed into the field of topics, which is behind the boxes of those that are offered. */
static const char *read_typed_topics(struct visit *visit)
{
    const char *typed = visit_field(visit, "t");

    for (const struct form_field *field = form_find(&visit->form, "t"); field != NULL;
         field = form_next(&visit->form, field)) {
        typed = field->value;
    }
    return typed;
}

/* Keeps what was typed, so that an error can show it again. */
static void keep_fields(struct visit *visit)
{
    const struct form_field *text = form_find(&visit->form, "text");
    const char *seed = visit_field(visit, "id");
    const char *ttl = visit_field(visit, "ttl");
    uint8_t bytes[SECRET_SEED_BYTES];

    if (strcmp(visit->request->path, "/leave") != 0) {
        return;
    }
    if (text != NULL && text->value_bytes > 0) {
        visit->text = visit->body + (text->value - visit->body); /* not const */
        visit->text_bytes = normalise_text(visit->text);
    }
    visit->topics = read_typed_topics(visit);
    if (seed != NULL && secret_read_hex(seed, bytes)) {
        secret_write_hex(bytes, visit->seed);
    }
    const char *re = visit_field(visit, "re");
    const char *epoch = visit_field(visit, "e");
    uint64_t number = 0;
    if (re != NULL && secret_read_hex(re, visit->message.parent) &&
        (epoch == NULL || form_read_number(epoch, INT64_MAX, &number))) {
        secret_write_hex(visit->message.parent, visit->re);
        (void)snprintf(visit->epoch, sizeof(visit->epoch), "%" PRIu64, number);
    }
    if (strcmp(visit->seed, visit->re) == 0) {
        visit->seed[0] = '\0'; /* an id of a message is public, and the code would be, too */
    }
    if (ttl != NULL) {
        (void)read_ttl(ttl, &visit->ttl_s); /* writing_leave says what is wrong */
    }
}

static void fail_field(struct visit *visit, const char *field)
{
    visit_fail(visit, 400, &(struct page_error){.notice = PAGE_FIELD, .field = field});
}

/*
 * Whether a form was written at another place that has the same name: the phone has moved to
 * another access point. A form that was written before hearsayd was there says no place.
 */
static bool is_of_other_place(const struct visit *visit)
{
    const struct hearsay_welcome *welcome = board_welcome(visit->router->board);
    const char *place = visit_field(visit, "place");
    const char *host = visit_field(visit, "h");
    char store[LIVE_STORE_BYTES];

    if (welcome == NULL || welcome->host_count == 0 || place == NULL || place[0] == '\0') {
        return false;
    }
    live_write_store(welcome, host != NULL && host[0] != '\0' ? host : visit_host(visit), "",
                     store);
    return strcmp(place, store) != 0;
}

/* Whether a form is ours and was written for this address, not long ago. */
static bool is_ours(const struct visit *visit)
{
    const struct http_request *request = visit->request;
    const struct router *router = visit->router;
    const char *token = visit_field(visit, "f");

    return names_allow_origin(&router->names, request->host, request->origin) && token != NULL &&
           nonce_check(&router->nonce, &request->client, token, router_now_ms(router));
}

/* Whether writing_leave has to find out why the token of a form is not right. */
static bool may_be_elsewhere(const struct visit *visit)
{
    const char *here = visit_field(visit, "here");

    return strcmp(visit->request->path, "/leave") == 0 && here != NULL && here[0] != '\0';
}

bool writing_accept(struct visit *visit)
{
    const struct http_request *request = visit->request;
    struct page_error error = {.notice = PAGE_EXPIRED};

    if (!is_form_type(request->content_type)) {
        fail_field(visit, "Content-Type");
        return false;
    }
    visit->body = malloc(request->body_bytes + 1);
    if (visit->body == NULL) {
        visit_answer_text(visit, 503, "Out of memory. Please try again.\n");
        return false;
    }
    memcpy(visit->body, request->body, request->body_bytes + 1);
    if (!form_read(visit->body, request->body_bytes, &visit->form)) {
        fail_field(visit, "form");
        return false;
    }
    keep_fields(visit);
    const char *language = visit_field(visit, "l");
    visit_choose_language(visit, language != NULL ? language : "");
    bool has_moved = is_of_other_place(visit);
    visit->is_stale = !is_ours(visit);
    if (!has_moved && (!visit->is_stale || may_be_elsewhere(visit))) {
        return true;
    }
    error.kept = visit_field(visit, strcmp(request->path, "/report") == 0 ? "text" : "code");
    if (has_moved) {
        error.notice = PAGE_MOVED;
        visit->seed[0] = '\0'; /* this place gets an id of its own */
    }
    visit_fail(visit, has_moved ? 409 : 403, &error);
    return false;
}

/* Reads `h`, `l`, `t` and `now` of the form into the view. False: the visit was answered. */
static bool accept_view(struct visit *visit)
{
    const char *field = NULL;

    if (!view_read_form(&visit->form, &visit->view, &field)) {
        fail_field(visit, field != NULL ? field : "form");
        return false;
    }
    if (board_welcome(visit->router->board) != NULL && !visit_check_host(visit)) {
        fail_field(visit, "h");
        return false;
    }
    visit_name_host(visit);
    return true;
}

/* --- leaving a message ------------------------------------------------------------------------ */

static void leave_done(void *context, const struct board_reply *reply)
{
    struct visit *visit = context;
    char id[SECRET_HEX_BYTES];
    char code[SECRET_CODE_TEXT_BYTES];
    struct page page;
    struct html html;

    if (reply->outcome == BOARD_REFUSED && reply->error != NULL &&
        reply->error->code == HEARSAY_CODE_ALREADY_EXISTS) {
        /* This very message was withdrawn or removed. Only who wrote it may send it again. */
        visit->seed[0] = '\0';
        visit_fail(visit, 403, &(struct page_error){.notice = PAGE_EXPIRED});
        return;
    }
    if (reply->outcome != BOARD_DONE) {
        visit_fail_reply(visit, reply);
        return;
    }
    secret_write_hex(visit->secret.id, id);
    secret_write_code(visit->secret.code, code);
    html_init(&html);
    visit_page(visit, &page);
    page_write_left(&html, &page,
                    &(struct page_left){
                        .id = id,
                        .code = code,
                        .expires_ms = reply->stored->expires_ms,
                        .is_pending = reply->stored->held,
                        .re = visit->re[0] != '\0' ? visit->re : NULL,
                    });
    visit_answer_page(visit, 200, 0, &html);
}

/*
 * A message needs a label. Where the operator says nothing about the place, and the writer nothing
 * about the message, the label names the host: all such messages are equally near.
 */
static void place_fallback(struct visit *visit)
{
    const struct hearsay_host *host = visit_find_host(visit);

    if (visit->view.place[0] == '\0' && visit->view.topic_count == 0 && !visit->view.is_now &&
        host != NULL) {
        (void)snprintf(visit->view.place, sizeof(visit->view.place), "place:%.63s\n", host->name);
    }
}

/*
 * Whether the phone is at another place of the same store now: its here labels are others than
 * those that the form was written for.
 */
static bool is_elsewhere(const struct visit *visit)
{
    const char *here = visit_field(visit, "here");

    return here != NULL && here[0] != '\0' && visit->here[0] != '\0' &&
           strcmp(here, visit->here) != 0;
}

/* Answers a form that must be sent again. False: the form may be done. */
static bool ask_again(struct visit *visit)
{
    bool has_moved = is_elsewhere(visit);

    if (has_moved || visit->is_stale) {
        if (has_moved) {
            visit->seed[0] = '\0'; /* this place gets an id of its own */
        }
        visit_fail(visit, has_moved ? 409 : 403,
                   &(struct page_error){.notice = has_moved ? PAGE_MOVED : PAGE_EXPIRED});
        return true;
    }
    return false;
}

static void leave_place_done(void *context, const struct board_reply *reply)
{
    struct visit *visit = context;
    uint8_t seed[SECRET_SEED_BYTES];
    bool is_answer = visit->re[0] != '\0';
    char sent[VIEW_URL_BYTES + 16 + SECRET_HEX_BYTES];

    if (reply->outcome != BOARD_DONE) {
        visit_fail_reply(visit, reply);
        return;
    }
    view_write(&visit->view, sent); /* the place is not part of it: phones move */
    (void)snprintf(sent + strlen(sent), 16 + SECRET_HEX_BYTES, " %u%s", (unsigned)visit->ttl_s,
                   visit->re);
    visit_take_place(visit, reply);
    if (ask_again(visit)) {
        return;
    }
    place_fallback(visit);
    (void)secret_read_hex(visit->seed, seed); /* checked when it was kept */
    secret_derive(seed, sent, visit->text, visit->text_bytes, &visit->secret);
    board_write(visit->router->board,
                &(struct board_write){
                    .kind = BOARD_LEAVE,
                    .client = visit->request->client,
                    .view = &visit->view,
                    .text = visit->text,
                    .bytes = visit->text_bytes,
                    .ttl_s = visit->ttl_s,
                    .answers = is_answer ? visit->message.parent : NULL,
                    .epoch = is_answer ? strtoull(visit->epoch, NULL, 10) : 0,
                    .id = visit->secret.id,
                    .token = visit->secret.token,
                },
                leave_done, visit);
}

/*
 * Finds by how much the text is too long: in bytes if more of them than of the characters are too
 * many, as the counter of the page's script does. False: it is not too long.
 */
static bool find_excess(const struct visit *visit, struct page_error *out_error)
{
    size_t characters = form_count_characters(visit->text);
    size_t bytes_max = visit_bytes_max(visit);
    size_t excess = characters > PAGE_TEXT_CHARACTERS ? characters - PAGE_TEXT_CHARACTERS : 0;
    size_t excess_bytes =
        bytes_max > 0 && visit->text_bytes > bytes_max ? visit->text_bytes - bytes_max : 0;

    *out_error = (struct page_error){
        .notice = PAGE_TOO_LONG,
        .excess = excess_bytes > excess ? excess_bytes : excess,
        .is_excess_of_bytes = excess_bytes > excess,
    };
    return out_error->excess > 0;
}

/*
 * Whether the text can be left. False: the visit was answered. hearsayd refuses a text without a
 * character that can be seen, too; the page applies the same rule first, so that its form says what
 * is wrong beside the field.
 */
static bool check_text(struct visit *visit)
{
    struct page_error error;

    if (visit->text == NULL || visit->text_bytes == 0 ||
        !label_is_utf8(visit->text, visit->text_bytes) ||
        !character_any_seen(visit->text, visit->text_bytes)) {
        fail_field(visit, "text");
        return false;
    }
    if (find_excess(visit, &error)) {
        visit_fail(visit, 413, &error);
        return false;
    }
    return true;
}

static bool check_ttl(struct visit *visit)
{
    const struct hearsay_welcome *welcome = board_welcome(visit->router->board);
    const char *ttl = visit_field(visit, "ttl");

    if ((ttl != NULL && !read_ttl(ttl, &visit->ttl_s)) ||
        (welcome != NULL && visit->ttl_s > welcome->limits.ttl_max_s)) {
        visit->ttl_s = 0;
        fail_field(visit, "ttl");
        return false;
    }
    return true;
}

/* Gives the form back in another language, with what was typed. */
static void answer_draft(struct visit *visit, const char *language)
{
    struct page page;
    struct page_form form;
    struct html html;

    visit_choose_language(visit, language);
    (void)snprintf(visit->view.language, sizeof(visit->view.language), "%s", lang_tag(visit->lang));
    struct view ticked = visit->view;
    visit->view.topic_count = 0; /* they are of the message; links of the page lead to all */
    html_init(&html);
    visit_page(visit, &page);
    visit_form(visit, &form);
    form.ticked = &ticked;
    page_write_draft(&html, &page, &form);
    visit_answer_page(visit, 200, 0, &html);
}

/* Whether keep_fields could read which message is answered. False: the visit was answered. */
static bool check_answer(struct visit *visit)
{
    if (visit_field(visit, "re") == NULL || visit->re[0] != '\0') {
        return true;
    }
    fail_field(visit, "re");
    return false;
}

void writing_leave(struct visit *visit)
{
    const char *language = visit_field(visit, "to");

    if (!check_answer(visit) || !accept_view(visit)) {
        return;
    }
    if (language != NULL) {
        answer_draft(visit, language);
        return;
    }
    if (!check_text(visit) || !check_ttl(visit)) {
        return;
    }
    if (visit->seed[0] == '\0') {
        fail_field(visit, "id");
        return;
    }
    board_place(visit->router->board, visit->view.host, &visit->request->client, leave_place_done,
                visit);
}

/* --- withdrawing and reporting ---------------------------------------------------------------- */

static void answer_done(struct visit *visit, enum page_done done)
{
    struct page page;
    struct html html;

    html_init(&html);
    visit_page(visit, &page);
    page_write_done(&html, &page, done);
    visit_answer_page(visit, 200, 0, &html);
}

static void wrong_code_done(void *context, const struct board_reply *reply)
{
    static const struct page_error wrong = {.notice = PAGE_WRONG_CODE};
    struct visit *visit = context;
    struct page page;
    struct html html;

    if (reply->outcome != BOARD_DONE) {
        visit_fail(visit, 403, &wrong);
        return;
    }
    html_init(&html);
    visit_page(visit, &page);
    page_write_message(&html, &page,
                       &(struct page_message){.message = reply->message,
                                              .error = &wrong,
                                              .code = visit_field(visit, "code")});
    visit_answer_page(visit, 403, 0, &html);
}

/* Shows the message again with the wrong code in its form. */
static void answer_wrong_code(struct visit *visit)
{
    uint8_t id[HEARSAY_ID_BYTES];

    if (secret_read_hex(visit_field(visit, "id"), id)) {
        board_get(visit->router->board, visit_host_at(visit), id, &visit->request->client,
                  wrong_code_done, visit);
    }
}

static void withdraw_done(void *context, const struct board_reply *reply)
{
    struct visit *visit = context;

    if (reply->outcome == BOARD_DONE) {
        sheets_clear(&visit->router->sheets, false);
        answer_done(visit, PAGE_WITHDRAWN);
    } else if (reply->outcome == BOARD_WRONG_CODE) {
        answer_wrong_code(visit);
    } else {
        visit_fail_reply(visit, reply);
    }
}

void writing_withdraw(struct visit *visit)
{
    const char *id_text = visit_field(visit, "id");
    const char *code_text = visit_field(visit, "code");
    uint8_t code[SECRET_CODE_BYTES];

    if (!accept_view(visit)) {
        return;
    }
    if (id_text == NULL || !secret_read_hex(id_text, visit->secret.id)) {
        fail_field(visit, "id");
    } else if (code_text == NULL || !secret_read_code(code_text, code)) {
        answer_wrong_code(visit);
    } else {
        secret_token(code, visit->secret.token);
        board_write(visit->router->board,
                    &(struct board_write){
                        .kind = BOARD_WITHDRAW,
                        .client = visit->request->client,
                        .host = visit_host_at(visit),
                        .id = visit->secret.id,
                        .token = visit->secret.token,
                    },
                    withdraw_done, visit);
    }
}

static void report_done(void *context, const struct board_reply *reply)
{
    struct visit *visit = context;

    if (reply->outcome == BOARD_DONE) {
        answer_done(visit, PAGE_REPORTED);
    } else {
        visit_fail_reply(visit, reply);
    }
}

/* Makes one line of the reason of a report, in the form that was sent. */
static const char *take_reason(const struct visit *visit, const char *text)
{
    for (char *at = visit->body + (text - visit->body); *at != '\0'; at++) {
        unsigned char c = (unsigned char)*at;

        *at = c < 0x20 || c == 0x7F ? ' ' : *at;
    }
    return text;
}

void writing_report(struct visit *visit)
{
    const char *id_text = visit_field(visit, "id");
    const char *why = visit_field(visit, "why");
    const char *text = visit_field(visit, "text");

    if (!accept_view(visit)) {
        return;
    }
    if (id_text == NULL || !secret_read_hex(id_text, visit->secret.id)) {
        fail_field(visit, "id");
    } else if (form_report_kind_of(why) == 0) {
        fail_field(visit, "why");
    } else if (text != NULL && (!label_is_utf8(text, strlen(text)) ||
                                form_count_characters(text) > REPORT_TEXT_CHARACTERS)) {
        fail_field(visit, "text");
    } else {
        board_write(visit->router->board,
                    &(struct board_write){
                        .kind = BOARD_REPORT,
                        .client = visit->request->client,
                        .host = visit_host_at(visit),
                        .id = visit->secret.id,
                        .text = text != NULL ? take_reason(visit, text) : NULL,
                        .report_kind = form_report_kind_of(why),
                    },
                    report_done, visit);
    }
}

void writing_stay(struct visit *visit)
{
    struct router *router = visit->router;

    if (accept_view(visit)) {
        portal_stay(router->portal, &visit->request->client, router_now_ms(router));
        answer_done(visit, PAGE_STAYS);
    }
}
