/* SPDX-License-Identifier: Apache-2.0 */
#include "client/web/moderate/moderate.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>

#include <sodium.h>

#include "client/web/form.h"
#include "client/web/moderate/page.h"
#include "client/web/setup/moderate.h"
#include "client/web/statics.h"
#include "daemon/system/container.h"
#include "daemon/system/log.h"

enum {
    LIST_MESSAGES = 50,          /* of a page of each list */
    ALL_MESSAGES = 20,           /* of a page of all messages */
    HASH_MORE_BYTES = 64 * 1024, /* that libsodium allocates beside the memory of the hash */
    BUSY_SECONDS = 1
};

/* A request on its way to its answer. */
struct job {
    uv_work_t work;
    struct moderate *moderate;
    struct http_exchange *exchange; /* NULL: the client has gone */
    struct http_address client;
    char *body; /* owned: what `act` and others point into */
    size_t body_bytes;
    const char *password; /* of the form; NULL: none */
    const char *ticket;   /* of that form, if it was right; NULL: none */
    struct desk_act act;
    struct desk desk;
    char token[LOGIN_TEXT_BYTES];
    struct desk_notice notice; /* about what was done */
    bool is_right;             /* the password */
    bool lacks_memory;         /* to check the password */
    struct html html;
};

void moderate_init(struct moderate *moderate, uv_loop_t *loop, const struct web_config *config,
                   const struct web_config_listener *places, size_t count)
{
    moderate->loop = loop;
    login_init(&moderate->login);
    moderate->config = *config;
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

/* Reads the cursor of a page into *cursor, and into the request, which borrows it; the form may
 * have none. */
static void read_page(const char *page, uint8_t *cursor, struct hearsay_request *request)
{
    size_t bytes = 0;

    if (page == NULL ||
        sodium_hex2bin(cursor, HEARSAY_CURSOR_BYTES, page, strlen(page), NULL, &bytes, NULL) != 0) {
        bytes = 0;
    }
    request->reported.after = hearsay_bytes(bytes > 0 ? cursor : NULL, bytes);
}

/* Asks for a page; for the first one in place of a page that has gone. `is_of_all`: a page without
 * a previous one is the first one, too. */
static int ask_page(struct hearsay *server, struct hearsay_request *request, bool is_of_all,
                    const struct hearsay_reported_list **out_list, struct hearsay_error *error)
{
    const struct hearsay_response *response = NULL;
    int rc = hearsay_ask(server, request, ACT_CALL_MS, &response, error);

    if (request->reported.after.data != NULL &&
        (rc == HEARSAY_OK ? response->reported_list.message_count == 0 ||
                                (is_of_all && response->reported_list.previous.data == NULL)
                          : error->status == HEARSAY_ERR_REFUSED)) {
        request->reported.after = hearsay_bytes(NULL, 0);
        rc = hearsay_ask(server, request, ACT_CALL_MS, &response, error);
    }
    *out_list = rc == HEARSAY_OK ? &response->reported_list : NULL;
    return rc;
}

/*
 * Writes the page of all messages that the form names. Writes the first page if the other one has
 * gone: if its cursor is of a store before, if no message of it is left, or if it is the way back
 * to the newest messages.
 */
static int job_write_all(struct job *job, struct hearsay *server, struct hearsay_request *request,
                         struct hearsay_error *error)
{
    const struct hearsay_reported_list *list = NULL;
    struct desk_notice nothing = {.key = NULL};
    uint8_t cursor[HEARSAY_CURSOR_BYTES];
    size_t before = job->html.count;
    size_t shown = 0;

    request->reported.all = true;
    request->reported.limit = ALL_MESSAGES;
    read_page(job->act.page, cursor, request);
    for (;;) {
        int rc = ask_page(server, request, true, &list, error);
        if (rc != HEARSAY_OK) {
            return rc;
        }
        job->desk.page = request->reported.after.data != NULL ? job->act.page : DESK_NEWEST;
        shown = desk_all(&job->html, &job->desk, list, &job->act,
                         job->act.page != NULL ? &job->notice : &nothing);
        if (shown == list->message_count) {
            return HEARSAY_OK;
        }
        html_cut(&job->html, before); /* so that the buttons lead to the messages behind these */
        request->reported.limit = (uint32_t)shown;
    }
}

/*
 * Writes the page of a list that the form names; if this page has gone, and for the other lists,
 * the first page. Adds to *total how many messages the list has.
 */
static int job_write_list(struct job *job, struct hearsay *server, enum desk_list list,
                          struct hearsay_request *request, struct hearsay_error *error,
                          uint64_t *total)
{
    const char *page = job->act.list_page;
    const struct hearsay_reported_list *found = NULL;
    uint8_t cursor[HEARSAY_CURSOR_BYTES];
    size_t before = job->html.count;
    bool is_asked = page != NULL && page[0] == '0' + (char)list;

    request->reported.pending = list == DESK_PENDING;
    request->reported.withheld = list == DESK_WITHHELD;
    request->reported.limit = LIST_MESSAGES;
    read_page(is_asked ? page + 1 : NULL, cursor, request);
    for (;;) {
        int rc = ask_page(server, request, false, &found, error);
        if (rc != HEARSAY_OK) {
            return rc;
        }
        size_t shown =
            desk_list(&job->html, &job->desk, list, request->reported.after.data == NULL, found);
        if (found->total == 0 || shown == found->message_count) {
            *total += found->total;
            return HEARSAY_OK;
        }
        html_cut(&job->html, before); /* so that the button leads to the messages behind these */
        request->reported.limit = (uint32_t)shown;
    }
}

/* Writes the board and the lists, each as soon as hearsayd has told it. */
static int job_write_lists(struct job *job, struct hearsay *server, struct hearsay_error *error)
{
    const char *name = job->moderate->config.host;
    const struct hearsay_text host = hearsay_text(name[0] != '\0' ? name : NULL);
    struct hearsay_request request = {.kind = HEARSAY_REQUEST_ACCEPT, .accept.host = host};
    const struct hearsay_response *response = NULL;
    uint64_t total = 0;
    int rc = hearsay_ask(server, &request, ACT_CALL_MS, &response, error);

    if (rc == HEARSAY_OK) {
        desk_board(&job->html, &job->desk, &response->accepting);
    }
    request = (struct hearsay_request){.kind = HEARSAY_REQUEST_REPORTED, .reported.host = host};
    for (int list = DESK_REPORTED; list < DESK_LISTS && rc == HEARSAY_OK; list++) {
        rc = job_write_list(job, server, (enum desk_list)list, &request, error, &total);
    }
    if (rc == HEARSAY_OK && total == 0) {
        desk_empty(&job->html, &job->desk);
    }
    request.reported.withheld = false;
    return rc == HEARSAY_OK ? job_write_all(job, server, &request, error) : rc;
}

/* Writes the page of who is logged in. */
static void job_write_page(struct job *job)
{
    struct hearsay_connect options;
    struct hearsay_error error;
    struct hearsay *server = NULL;
    struct desk_notice nothing = {.key = NULL};
    struct desk_notice *notice = &job->notice;

    hearsay_connect_init(&options);
    options.agent = "hearsay-web/" HEARSAY_VERSION; /* hearsayd notes decisions as the page's */
    options.server = job->moderate->config.server;
    options.timeout_ms = ACT_CALL_MS;
    int rc = hearsay_connect(&options, &server, &error);
    if (rc == HEARSAY_OK) {
        job->desk.now_ms = hearsay_welcome(server)->now_ms;
        job->desk.is_clock_trusted = hearsay_welcome(server)->clock_trusted;
        *notice = act_do(&job->desk, &job->act, job->moderate->config.host, server, &error);
    } else {
        *notice = act_notice(&error);
    }
    /* What was pressed in the list of all messages is answered there, where the browser goes. */
    bool is_below = rc == HEARSAY_OK && job->act.page != NULL;
    desk_begin(&job->html, &job->desk, is_below ? &nothing : notice);
    if (rc == HEARSAY_OK && job_write_lists(job, server, &error) != HEARSAY_OK) {
        if (is_below && notice->key != NULL) {
            desk_say(&job->html, &job->desk, notice);
        }
        *notice = act_notice(&error);
        desk_say(&job->html, &job->desk, notice);
    }
    desk_end(&job->html, &job->desk, NULL);
    hearsay_close(server);
}

/* On a thread of its own: reads the job and the configuration, and writes to the job only. */
static void page_work(uv_work_t *work)
{
    job_write_page(CONTAINER_OF(work, struct job, work));
}

static void page_done(uv_work_t *work, int status)
{
    struct job *job = CONTAINER_OF(work, struct job, work);

    (void)status; /* no job is cancelled */
    if (job->ticket != NULL) {
        login_ticket_use(&job->moderate->login, job->ticket); /* not before: somebody taps twice */
    }
    job_answer(job, 200, 0);
}

static void page_start(struct job *job)
{
    /* Fails without a function only. */
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

/* As page_work. */
static void check_work(uv_work_t *work)
{
    struct job *job = CONTAINER_OF(work, struct job, work);

    job->lacks_memory = !has_memory();
    job->is_right =
        !job->lacks_memory && crypto_pwhash_str_verify(job->moderate->config.password,
                                                       job->password, strlen(job->password)) == 0;
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

static void check_done(uv_work_t *work, int status)
{
    struct job *job = CONTAINER_OF(work, struct job, work);
    struct moderate *moderate = job->moderate;
    struct job *next = moderate->waiting;

    (void)status; /* no job is cancelled */
    moderate->is_checking = false;
    moderate->waiting = NULL;
    if (job->is_right) {
        login_begin(&moderate->login, job->token, clock_ms(moderate));
        page_start(job);
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

static void take_form(struct job *job, const struct form *form)
{
    struct moderate *moderate = job->moderate;
    const char *token = find_value(form, "k");
    const char *language = find_value(form, "l");

    if (language != NULL && lang_find(language) != NULL) {
        job->desk.lang = lang_find(language);
        job->desk.language = lang_tag(job->desk.lang);
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
    };
    job->password = find_value(form, "password");
    if (token != NULL && login_use(&moderate->login, token, clock_ms(moderate))) {
        if (job->act.act != NULL && strcmp(job->act.act, "leave") == 0) {
            login_end(&moderate->login, token);
            answer_login(job, 200, &(struct desk_notice){.key = "moderate.left"});
            return;
        }
        memcpy(job->token, token, sizeof(job->token));
        page_start(job);
    } else if (job->password != NULL) {
        take_password(job, find_value(form, "t"));
    } else {
        bool waits = token != NULL || job->act.act != NULL;

        answer_login(
            job, token != NULL ? 403 : 200,
            &(struct desk_notice){.key = waits ? "moderate.expired" : NULL, .is_bad = true});
    }
}

/* --- requests --------------------------------------------------------------------------------- */

static struct job *job_new(struct moderate *moderate, struct http_exchange *exchange,
                           const struct http_request *request)
{
    struct job *job = calloc(1, sizeof(*job));
    const struct lang *lang = lang_find(moderate->config.language);

    if (job == NULL) {
        return NULL;
    }
    job->body = malloc(request->body_bytes + 1);
    if (job->body == NULL) {
        free(job);
        return NULL;
    }
    memcpy(job->body, request->body, request->body_bytes + 1);
    job->body_bytes = request->body_bytes;
    job->moderate = moderate;
    job->exchange = exchange;
    job->client = request->client;
    job->desk = (struct desk){
        .lang = lang != NULL ? lang : lang_choose(request->accept_language),
        .language = "",
        .title = moderate->config.title,
        .token = job->token,
        .page = DESK_NEWEST,
    };
    return job;
}

static void serve_page(struct moderate *moderate, struct http_exchange *exchange,
                       const struct http_request *request)
{
    struct job *job = job_new(moderate, exchange, request);
    struct form form;

    if (job == NULL) {
        answer_text(exchange, 503, "Out of memory. Please try again.\n");
        return;
    }
    http_exchange_set_context(exchange, job);
    if (request->method != HTTP_POST) {
        answer_login(job, 200, &(struct desk_notice){.key = NULL});
    } else if (!names_allow_origin(&moderate->names, request->host, request->origin) ||
               !form_read(job->body, request->body_bytes, &form)) {
        answer_login(job, 400, &(struct desk_notice){.key = "moderate.foreign", .is_bad = true});
    } else {
        take_form(job, &form);
    }
}

void moderate_request(void *context, struct http_exchange *exchange,
                      const struct http_request *request)
{
    struct moderate *moderate = context;
    const struct statics_file *file = statics_find(request->path + 1);

    if (!names_allow_host(&moderate->names, false, request->host)) {
        answer_text(exchange, 421, "The moderators' page has another address.\n");
    } else if (strcmp(request->path, "/") == 0 || strcmp(request->path, DESK_ACTION) == 0) {
        serve_page(moderate, exchange, request);
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
