/* SPDX-License-Identifier: Apache-2.0 */
#include "client/web/moderate/moderate.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <sodium.h>

#include "client/web/form.h"
#include "client/web/moderate/job.h"
#include "client/web/setup/moderate.h"
#include "client/web/setup/options.h"
#include "client/web/statics.h"
#include "core/base/err.h"
#include "daemon/system/container.h"

enum {
    TOKEN_DIGITS = LOGIN_TEXT_BYTES - 1,
    PAGE_DIGITS_MAX = 2 * HEARSAY_CURSOR_BYTES + 1, /* of a page of a list, in an address */
    LOCATION_BYTES = 256 + 2 * PAGE_DIGITS_MAX + 3 * VIEW_PLACE_NAME_BYTES,
    HASH_MORE_BYTES = 64 * 1024, /* that libsodium allocates beside the memory of the hash */
    BUSY_SECONDS = 1
};

void moderate_init(struct moderate *moderate, uv_loop_t *loop, const struct web_config *config,
                   const struct web_config_listener *places, size_t count)
{
    moderate->loop = loop;
    login_init(&moderate->login, (int64_t)config->session_s * 1000);
    moderate->config = *config;
    moderate->file = (struct moderate_file){.bytes = -1}; /* read again at the first request */
    moderate->names.config = &moderate->config;
    moderate->names.place_count = count;
    memcpy(moderate->names.places, places, count * sizeof(*places));
}

bool moderate_allows(void *context, const struct http_address *client)
{
    const struct moderate *moderate = context;

    return web_moderate_allows(&moderate->config, client->family, client->bytes);
}

static int64_t clock_ms(const struct moderate *moderate)
{
    return (int64_t)uv_now(moderate->loop);
}

void moderate_tidy(struct moderate *moderate)
{
    login_tidy(&moderate->login, clock_ms(moderate));
}

/* --- answers ---------------------------------------------------------------------------------- */

static void answer_text(struct http_exchange *exchange, unsigned status, const char *text)
{
    struct http_answer answer = http_text(status, text);

    http_answer(exchange, &answer);
}

static void job_free(struct job *job)
{
    html_deinit(&job->html);
    sodium_memzero(job->body, job->body_bytes); /* a password may be there */
    free(job->body);
    free(job->places);
    free(job);
}

/* Answers with the page that was written, where the client is still there; frees the job. */
static void job_answer(struct job *job, unsigned status, uint64_t retry_after_s)
{
    if (job->exchange != NULL) {
        http_exchange_set_context(job->exchange, NULL);
        if (html_failed(&job->html) || job->lacks_memory) {
            answer_text(job->exchange, 503, "Out of memory. Please try again.\n");
        } else {
            http_answer(job->exchange, &(struct http_answer){
                                           .status = status,
                                           .type = "text/html; charset=utf-8",
                                           .retry_after_s = (uint32_t)retry_after_s,
                                           .body = job->html.bytes,
                                           .body_bytes = job->html.count,
                                       });
        }
    }
    job_free(job);
}

/* Answers a form: the browser asks for an address, so that Back and a reload send no form again. */
static void job_redirect(struct job *job, const char *location)
{
    if (job->exchange != NULL) {
        http_exchange_set_context(job->exchange, NULL);
        http_answer(job->exchange, &(struct http_answer){.status = 303, .location = location});
    }
    job_free(job);
}

/* Whether a page of a list, as a form has it, can stand in an address as it is. */
static bool is_plain(const char *page)
{
    return page != NULL && strlen(page) <= PAGE_DIGITS_MAX &&
           (strcmp(page, DESK_NEWEST) == 0 || strspn(page, "0123456789abcdef") == strlen(page));
}

/* Writes the field with the name of a place, at the end of an address. */
static void add_where(const char *where, char *out)
{
    out = stpcpy(out, "&where=");
    for (; *where != '\0'; where++) {
        out += html_url_byte(*where, out);
    }
    *out = '\0';
}

/* Leads to the page from which a form was sent. */
static void answer_page(struct job *job)
{
    const struct desk *desk = &job->desk;
    const struct desk_act *act = &job->act;
    char location[LOCATION_BYTES];
    size_t used = (size_t)snprintf(location, sizeof(location), "/%s/%s?n=%u", job->token,
                                   desk_view_name(desk->view), job->said.number);

    if (desk->language[0] != '\0') {
        used += (size_t)snprintf(location + used, sizeof(location) - used, "&l=%s", desk->language);
    }
    if (is_plain(act->page)) {
        used += (size_t)snprintf(location + used, sizeof(location) - used, "&p=%s", act->page);
    }
    if (is_plain(act->list_page)) {
        used += (size_t)snprintf(location + used, sizeof(location) - used, "&q=%s", act->list_page);
    }
    if (act->where != NULL && strlen(act->where) < VIEW_PLACE_NAME_BYTES) {
        add_where(act->where, location + used);
    }
    job_redirect(job, location);
}

/* Asks for the password. */
static void answer_login(struct job *job, unsigned status, const struct desk_notice *notice)
{
    char ticket[LOGIN_TEXT_BYTES];

    login_ticket_draw(&job->moderate->login, clock_ms(job->moderate), ticket);
    job->desk.token = "";
    job->desk.ticket = ticket;
    desk_begin(&job->html, &job->desk, notice);
    desk_login(&job->html, &job->desk, &job->act);
    desk_end(&job->html, &job->desk, &job->act);
    job_answer(job, status, notice->seconds);
}

/* --- what hearsayd is asked ------------------------------------------------------------------- */

static void act_work(uv_work_t *work)
{
    job_do(CONTAINER_OF(work, struct job, work));
}

/* Keeps what was done for the page that the browser is sent to, where the login has not ended. */
static void act_done(uv_work_t *work, int status)
{
    struct job *job = CONTAINER_OF(work, struct job, work);
    struct login *login = &job->moderate->login;
    const struct desk_notice *notice = &job->notice;
    struct login_entry *entry = login_use(login, job->token, &job->client, clock_ms(job->moderate));

    (void)status; /* no job is cancelled */
    if (job->ticket != NULL) {
        login_ticket_use(login, job->ticket); /* not before: somebody taps twice */
    }
    if (entry != NULL) {
        struct login_said *said = &entry->said;

        said->number++;
        said->key = notice->key;
        said->seconds = notice->seconds;
        said->is_bad = notice->is_bad;
        (void)snprintf(said->value, sizeof(said->value), "%s",
                       notice->value != NULL ? notice->value : "");
        if (job->act.text != NULL) {
            (void)snprintf(said->typed, sizeof(said->typed), "%s",
                           notice->is_bad ? job->act.text : "");
        }
        (void)snprintf(said->id, sizeof(said->id), "%s", job->act.id != NULL ? job->act.id : "");
        job->said.number = said->number;
    }
    answer_page(job);
}

static void act_start(struct job *job)
{
    /* Fails without a function only. */
    (void)uv_queue_work(job->moderate->loop, &job->work, act_work, act_done);
}

static void page_work(uv_work_t *work)
{
    job_write_page(CONTAINER_OF(work, struct job, work));
}

static void page_done(uv_work_t *work, int status)
{
    (void)status;
    job_answer(CONTAINER_OF(work, struct job, work), 200, 0);
}

static void page_start(struct job *job)
{
    (void)uv_queue_work(job->moderate->loop, &job->work, page_work, page_done);
}

/* --- the password ----------------------------------------------------------------------------- */

static void log_in(struct job *job);

/* Whether there is memory to check a password. libsodium calls a password wrong without it. */
static bool has_memory(void)
{
    size_t bytes = WEB_CONFIG_HASH_MEMORY + HASH_MORE_BYTES;
    void *room = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return room != MAP_FAILED && munmap(room, bytes) == 0;
}

/* On a thread of its own. */
static void check_work(uv_work_t *work)
{
    struct job *job = CONTAINER_OF(work, struct job, work);

    job->lacks_memory = !has_memory();
    job->is_right = !job->lacks_memory &&
                    crypto_pwhash_str_verify(job->hash, job->password, strlen(job->password)) == 0;
}

/*
 * Reads the file again where it has changed. A new password ends all logins, so that whoever knew
 * the old one is out at once. Nothing else of the file is taken over.
 */
static void take_new_password(struct moderate *moderate)
{
    const char *file = moderate->config.common.file;
    struct moderate_file *known = &moderate->file;
    char reason[SETTINGS_REASON_BYTES];
    struct stat now;

    if (file[0] == '\0' || stat(file, &now) != 0 ||
        (now.st_ino == known->inode && now.st_size == known->bytes &&
         now.st_mtim.tv_sec == known->changed.tv_sec &&
         now.st_mtim.tv_nsec == known->changed.tv_nsec)) {
        return;
    }
    *known = (struct moderate_file){now.st_ino, now.st_size, now.st_mtim};
    struct web_config *fresh = malloc(sizeof(*fresh)); /* large for a small machine's stack */
    int rc =
        fresh != NULL ? settings_config_read(&moderate_program, file, fresh, reason) : -ERR_NOMEM;
    if (rc == SETTINGS_REFUSED) {
        log_warning("the file has changed, and is not right; the password of before holds: %s",
                    reason);
    } else if (rc != 0) {
        known->bytes = -1; /* once more at the next request */
    } else if (strcmp(fresh->password, moderate->config.password) != 0) {
        memcpy(moderate->config.password, fresh->password, sizeof(fresh->password));
        login_end_all(&moderate->login);
        log_info("the moderators' page has a new password; all logins have ended");
    }
    free(fresh);
}

/* Counts a wrong password, and answers. */
static void refuse_password(struct job *job)
{
    struct moderate *moderate = job->moderate;
    int64_t now_ms = clock_ms(moderate);
    uint64_t withheld;

    login_count_wrong(&moderate->login, &job->client, now_ms);
    if (login_wait_ms(&moderate->login, &job->client, now_ms) > 0 &&
        log_gate_opens(&moderate->wrong_gate, now_ms, &withheld)) {
        log_warning("too many wrong passwords at the moderators' page: further ones must wait");
    }
    answer_login(job, 403, &(struct desk_notice){.key = "moderate.wrong", .is_bad = true});
}

/* Does what was pressed before the login, or leads to the page. */
static void act_start_if_any(struct job *job)
{
    if (job->act.act != NULL) {
        act_start(job);
    } else {
        login_ticket_use(&job->moderate->login, job->ticket);
        answer_page(job);
    }
}

static void check_done(uv_work_t *work, int status)
{
    struct job *job = CONTAINER_OF(work, struct job, work);
    struct moderate *moderate = job->moderate;
    struct job *next = moderate->waiting;

    (void)status; /* no job is cancelled */
    moderate->is_checking = false;
    moderate->waiting = NULL;
    take_new_password(moderate);
    if (job->is_right && strcmp(job->hash, moderate->config.password) == 0) {
        login_begin(&moderate->login, job->token, &job->client, clock_ms(moderate));
        act_start_if_any(job);
    } else if (job->lacks_memory) {
        job_answer(job, 503, BUSY_SECONDS);
    } else {
        refuse_password(job);
    }
    if (next != NULL && next->exchange == NULL) {
        job_free(next);
    } else if (next != NULL) {
        log_in(next);
    }
}

static void answer_limited(struct job *job, uint64_t seconds)
{
    answer_login(
        job, 429,
        &(struct desk_notice){.key = "moderate.limited", .seconds = seconds, .is_bad = true});
}

/* Lets the password that waits give way to the next one if its client has gone, or has had more
 * wrong passwords. False: there is no place. */
static bool make_room(struct moderate *moderate, const struct job *next)
{
    struct job *waiting = moderate->waiting;
    int64_t now_ms = clock_ms(moderate);

    if (waiting != NULL && (waiting->exchange == NULL ||
                            login_wrong_of(&moderate->login, &waiting->client, now_ms) >
                                login_wrong_of(&moderate->login, &next->client, now_ms))) {
        moderate->waiting = NULL;
        answer_limited(waiting, BUSY_SECONDS);
    }
    return moderate->waiting == NULL;
}

/* Goes on with a form that has a password. */
static void log_in(struct job *job)
{
    struct moderate *moderate = job->moderate;
    int64_t wait_ms = login_wait_ms(&moderate->login, &job->client, clock_ms(moderate));

    if (wait_ms > 0) {
        answer_limited(job, (uint64_t)wait_ms / 1000 + 1);
    } else if (!make_room(moderate, job)) {
        answer_limited(job, BUSY_SECONDS);
    } else if (moderate->is_checking) {
        moderate->waiting = job;
    } else {
        login_draw(job->token);
        memcpy(job->hash, moderate->config.password, sizeof(job->hash));
        moderate->is_checking = true;
        (void)uv_queue_work(moderate->loop, &job->work, check_work, check_done);
    }
}

/* --- the form --------------------------------------------------------------------------------- */

static const char *find_value(const struct form *form, const char *name)
{
    const struct form_field *field = form_find(form, name);

    return field != NULL && field->value_bytes > 0 ? field->value : NULL;
}

/* Takes a password from a form that was not sent before. */
static void take_password(struct job *job, const char *ticket)
{
    const struct login *login = &job->moderate->login;

    if (ticket != NULL && login_ticket_is_right(login, ticket, clock_ms(job->moderate))) {
        job->ticket = ticket;
        log_in(job);
    } else if (ticket != NULL && login_ticket_is_used(login, ticket)) {
        job->act = (struct desk_act){.act = NULL}; /* it was done */
        answer_login(job, 403, &(struct desk_notice){.key = NULL});
    } else {
        answer_login(job, 403, &(struct desk_notice){.key = "moderate.expired", .is_bad = true});
    }
}

/* Takes over what a form or an address says. */
static void read_fields(struct job *job, const struct form *form)
{
    const char *language = find_value(form, "l");
    const char *view = find_value(form, "v");

    if (language != NULL && lang_find(language) != NULL) {
        job->desk.lang = lang_find(language);
        job->desk.language = lang_tag(job->desk.lang);
    }
    if (view != NULL && desk_view_find(view) != DESK_VIEWS) {
        job->desk.view = desk_view_find(view);
    }
    job->act = (struct desk_act){
        .act = find_value(form, "do"),
        .id = find_value(form, "id"),
        .why = find_value(form, "why"),
        .reason = find_value(form, "reason"),
        .ban = find_value(form, "ban"),
        .mode = find_value(form, "mode"),
        .page = find_value(form, "p"),
        .list_page = find_value(form, "q"),
        .text = find_value(form, "text"),
        .until = find_value(form, "until"),
        .lang = find_value(form, "lang"),
        .at = find_value(form, "at"),
        .where = find_value(form, "where"),
        .number = find_value(form, "number"),
        .what = find_value(form, "what"),
    };
}

/* Takes a form that was sent; `entry` is the login of its address, NULL: there is none. */
static void take_form(struct job *job, const struct form *form, struct login_entry *entry)
{
    job->password = find_value(form, "password");
    if (entry != NULL && job->act.act != NULL && strcmp(job->act.act, "leave") == 0) {
        login_end(entry);
        job_redirect(job, "/?left=1");
    } else if (entry != NULL) {
        act_start(job);
    } else if (job->password != NULL) {
        take_password(job, find_value(form, "t"));
    } else {
        bool waits = job->token[0] != '\0' || job->act.act != NULL;

        answer_login(
            job, job->token[0] != '\0' ? 403 : 200,
            &(struct desk_notice){.key = waits ? "moderate.expired" : NULL, .is_bad = true});
    }
}

/* Takes the address of a page; `entry` as of take_form. An address does nothing. */
static void take_address(struct job *job, const struct form *query, struct login_entry *entry)
{
    const char *number = find_value(query, "n");
    uint64_t said = 0;

    job->act = (struct desk_act){
        .page = job->act.page, .list_page = job->act.list_page, .where = job->act.where};
    if (entry == NULL) {
        bool has_left = find_value(query, "left") != NULL;

        answer_login(job, job->token[0] != '\0' ? 403 : 200,
                     &(struct desk_notice){.key = job->token[0] != '\0' ? "moderate.ended"
                                                  : has_left            ? "moderate.left"
                                                                        : NULL,
                                           .is_bad = job->token[0] != '\0'});
        return;
    }
    job->said = entry->said;
    if (number != NULL && form_read_number(number, UINT_MAX, &said) && said > 0 &&
        said == entry->said.number) {
        job->act.id = job->said.id[0] != '\0' ? job->said.id : NULL;
        job->notice = (struct desk_notice){.key = job->said.key,
                                           .value = job->said.value,
                                           .seconds = job->said.seconds,
                                           .is_bad = job->said.is_bad};
    }
    page_start(job);
}

/* --- requests --------------------------------------------------------------------------------- */

/* What an address of the page names. */
struct address {
    char token[LOGIN_TEXT_BYTES]; /* "": it has none */
    bool is_action;
    enum desk_view view;
};

/* Reads `/`, `/act`, `/TOKEN/act` or `/TOKEN/VIEW`. False: it is none of them. */
static bool address_read(const char *path, struct address *out)
{
    *out = (struct address){.view = DESK_VIEW_DECIDE};
    const char *name = path + 1;

    if (strspn(name, "0123456789abcdef") == TOKEN_DIGITS && name[TOKEN_DIGITS] == '/') {
        memcpy(out->token, name, TOKEN_DIGITS);
        name += TOKEN_DIGITS + 1;
    }
    out->is_action = strcmp(name, DESK_ACTION) == 0;
    if (out->is_action) {
        return true;
    }
    out->view = desk_view_find(name);
    return out->view != DESK_VIEWS && (out->token[0] != '\0' || out->view == DESK_VIEW_DECIDE);
}

static struct job *job_new(struct moderate *moderate, struct http_exchange *exchange,
                           const struct http_request *request)
{
    struct job *job = calloc(1, sizeof(*job));
    const struct lang *lang = lang_find(moderate->config.language);
    bool is_form = request->method == HTTP_POST;
    size_t bytes = is_form ? request->body_bytes : strlen(request->query);

    if (job == NULL) {
        return NULL;
    }
    job->body = malloc(bytes + 1);
    if (job->body == NULL) {
        free(job);
        return NULL;
    }
    memcpy(job->body, is_form ? request->body : request->query, bytes + 1);
    job->body_bytes = bytes;
    job->moderate = moderate;
    job->config = &moderate->config;
    job->exchange = exchange;
    job->client = request->client;
    job->desk = (struct desk){
        .lang = lang != NULL ? lang : lang_choose(request->accept_language),
        .language = "",
        .title = moderate->config.title,
        .token = job->token,
        .key = job->key,
        .session_s = moderate->config.session_s,
        .page = DESK_NEWEST,
        .places = "",
        .where = "",
    };
    return job;
}

static void serve_page(struct moderate *moderate, struct http_exchange *exchange,
                       const struct http_request *request, const struct address *address)
{
    struct job *job = job_new(moderate, exchange, request);
    bool is_form = request->method == HTTP_POST;
    struct login_entry *entry = NULL;
    struct form form;

    if (job == NULL) {
        answer_text(exchange, 503, "Out of memory. Please try again.\n");
        return;
    }
    http_exchange_set_context(exchange, job);
    take_new_password(moderate);
    memcpy(job->token, address->token, sizeof(job->token));
    job->desk.view = address->view;
    login_page_key(&moderate->login, job->key);
    entry = login_use(&moderate->login, job->token, &job->client, clock_ms(moderate));
    /* A form of another page must not wait for the login, whose page does not show what it does. */
    if ((is_form && !names_allow_origin(&moderate->names, request->host, request->origin)) ||
        !form_read(job->body, job->body_bytes, &form)) {
        answer_login(job, 400, &(struct desk_notice){.key = "moderate.foreign", .is_bad = true});
        return;
    }
    read_fields(job, &form);
    if (is_form) {
        take_form(job, &form, entry);
    } else {
        take_address(job, &form, entry);
    }
}

void moderate_request(void *context, struct http_exchange *exchange,
                      const struct http_request *request)
{
    struct moderate *moderate = context;
    const struct statics_file *file = statics_find(request->path + 1);
    struct address address;

    if (!names_allow_host(&moderate->names, false, request->host)) {
        answer_text(exchange, 421, "The moderators' page has another address.\n");
    } else if (address_read(request->path, &address)) {
        serve_page(moderate, exchange, request, &address);
    } else if (file != NULL) {
        http_answer(exchange, &(struct http_answer){.status = 200,
                                                    .type = file->type,
                                                    .body = file->bytes,
                                                    .body_bytes = file->count,
                                                    .is_static = true});
    } else {
        answer_text(exchange, 404, "There is nothing here. The moderators' page is /.\n");
    }
}

void moderate_gone(void *context, struct http_exchange *exchange)
{
    struct job *job = http_exchange_context(exchange);

    (void)context;
    if (job != NULL) {
        job->exchange = NULL; /* whatever is done next frees it */
    }
}
