/* SPDX-License-Identifier: Apache-2.0 */
#include "client/web/moderate/job.h"

#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "client/web/form.h"

enum {
    LIST_MESSAGES = 50, /* of a page of each list */
    ALL_MESSAGES = 20   /* of a page of all messages */
};

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
        if (found->message_count == 0 || shown == found->message_count) {
            *total += found->message_count;
            return HEARSAY_OK;
        }
        html_cut(&job->html, before); /* so that the button leads to the messages behind these */
        request->reported.limit = (uint32_t)shown;
    }
}

/* Writes the board and the lists, each as soon as hearsayd has told it. */
static int job_write_lists(struct job *job, struct hearsay *server, struct hearsay_error *error)
{
    const char *name = job->config->host;
    struct hearsay_text host = hearsay_text(name[0] != '\0' ? name : NULL);
    enum desk_view view = job->desk.view;
    struct hearsay_request request = {.kind = HEARSAY_REQUEST_ACCEPT, .accept.host = host};
    const struct hearsay_response *response = NULL;
    uint64_t total = 0;
    int rc = hearsay_ask(server, &request, ACT_CALL_MS, &response, error);

    if (rc == HEARSAY_OK && view == DESK_VIEW_DECIDE) {
        desk_board(&job->html, &job->desk, &response->accepting);
    }
    const char *where = job->desk.where[0] != '\0' ? job->desk.where : NULL;
    request = (struct hearsay_request){.kind = HEARSAY_REQUEST_REPORTED,
                                       .reported = {.host = host, .place = hearsay_text(where)}};
    for (int list = DESK_REPORTED; list < DESK_LISTS && rc == HEARSAY_OK; list++) {
        enum desk_view alone = (enum desk_view)(DESK_VIEW_REPORTED + list);

        if (view == DESK_VIEW_DECIDE || view == alone) {
            rc = job_write_list(job, server, (enum desk_list)list, &request, error, &total);
        }
    }
    if (rc == HEARSAY_OK && total == 0 && view != DESK_VIEW_ALL) {
        desk_empty(&job->html, &job->desk);
    }
    request.reported.pending = false;
    request.reported.withheld = false;
    return rc == HEARSAY_OK && (view == DESK_VIEW_DECIDE || view == DESK_VIEW_ALL)
               ? job_write_all(job, server, &request, error)
               : rc;
}

/* Writes the notices, the bans or the decisions. */
static int job_write_other(struct job *job, struct hearsay *server, struct hearsay_error *error)
{
    const char *name = job->config->host;
    struct hearsay_text host = hearsay_text(name[0] != '\0' ? name : NULL);
    enum desk_view view = job->desk.view;
    struct hearsay_request request = {.kind = HEARSAY_REQUEST_NOTICE, .notice.host = host};
    const struct hearsay_response *response = NULL;
    uint64_t page = 0;

    bool is_later = job->act.page != NULL && form_read_number(job->act.page, UINT32_MAX, &page);
    if (view == DESK_VIEW_BANS) {
        request =
            (struct hearsay_request){.kind = HEARSAY_REQUEST_BANS, .bans = {host, (uint32_t)page}};
    } else if (view == DESK_VIEW_LOG) {
        request = (struct hearsay_request){
            .kind = HEARSAY_REQUEST_DECISIONS,
            .decisions = {host, DESK_DECISIONS, is_later ? page : UINT64_MAX}};
    }
    int rc = hearsay_ask(server, &request, ACT_CALL_MS, &response, error);
    if (rc != HEARSAY_OK) {
        return rc;
    }
    job->desk.page = is_later ? job->act.page : "";
    if (view == DESK_VIEW_NOTICES) {
        desk_notices(&job->html, &job->desk, &response->noticed, job->said.typed);
    } else if (view == DESK_VIEW_BANS) {
        desk_bans(&job->html, &job->desk, &response->ban_list, page);
    } else {
        desk_log(&job->html, &job->desk, &response->decision_list);
    }
    return HEARSAY_OK;
}

/* Connects to hearsayd, whose time the page needs. On failure sets the notice. */
static int job_connect(struct job *job, struct hearsay **out_server)
{
    struct hearsay_connect options;

    hearsay_connect_init(&options);
    options.agent = "hearsay-web/" HEARSAY_VERSION; /* hearsayd notes decisions as the page's */
    options.server = job->config->server;
    options.timeout_ms = ACT_CALL_MS;
    int rc = hearsay_connect(&options, out_server, &job->error);
    if (rc == HEARSAY_OK) {
        job->desk.now_ms = hearsay_welcome(*out_server)->now_ms;
        job->desk.is_clock_trusted = hearsay_welcome(*out_server)->clock_trusted;
    } else {
        job->notice = act_notice(&job->error);
    }
    return rc;
}

/* Copies the names of the host's places. One that was chosen and that is no more does not count. */
static int take_places(struct job *job, const struct hearsay_here_labels *here)
{
    char *at = malloc(here->place_count * VIEW_PLACE_NAME_BYTES + 1);

    job->places = at;
    if (at == NULL) {
        return HEARSAY_ERR_NOMEM;
    }
    for (size_t i = 0; i < here->place_count; i++) {
        const char *name = here->places[i].text;

        if (job->act.where != NULL && strcmp(job->act.where, name) == 0) {
            job->desk.where = job->act.where;
        }
        at = stpcpy(at, name);
        *at++ = '\n';
    }
    *at = '\0';
    job->desk.places = job->places;
    return HEARSAY_OK;
}

/* Asks for the names of the host's places, for the views that have a use for them. On failure sets
 * the notice. */
static int job_read_places(struct job *job, struct hearsay *server)
{
    const char *name = job->config->host;
    struct hearsay_request request = {
        .kind = HEARSAY_REQUEST_HERE,
        .here = {.host = hearsay_text(name[0] != '\0' ? name : NULL), .places = true}};
    const struct hearsay_response *response = NULL;
    int rc = job->desk.view <= DESK_VIEW_NOTICES
                 ? hearsay_ask(server, &request, ACT_CALL_MS, &response, &job->error)
                 : HEARSAY_OK;

    if (rc == HEARSAY_OK && response != NULL) {
        rc = take_places(job, &response->here_labels);
        job->lacks_memory = rc != HEARSAY_OK;
    } else if (rc != HEARSAY_OK) {
        job->notice = act_notice(&job->error);
    }
    return rc;
}

void job_do(struct job *job)
{
    struct hearsay *server = NULL;

    if (job_connect(job, &server) == HEARSAY_OK) {
        job->notice = act_do(&job->desk, &job->act, job->config->host, server, &job->error);
    }
    hearsay_close(server);
}

void job_write_page(struct job *job)
{
    struct hearsay *server = NULL;
    struct desk_notice nothing = {.key = NULL};
    struct desk_notice *notice = &job->notice;
    int rc = job_connect(job, &server);

    if (rc == HEARSAY_OK) {
        rc = job_read_places(job, server);
    }
    /* What was pressed in the list of all messages is answered there, where the browser goes. */
    bool is_list = job->desk.view < DESK_VIEW_NOTICES;
    bool is_below = rc == HEARSAY_OK && job->act.page != NULL &&
                    (job->desk.view == DESK_VIEW_DECIDE || job->desk.view == DESK_VIEW_ALL);
    desk_begin(&job->html, &job->desk, is_below ? &nothing : notice);
    if (rc == HEARSAY_OK && (is_list ? job_write_lists(job, server, &job->error)
                                     : job_write_other(job, server, &job->error)) != HEARSAY_OK) {
        if (is_below && notice->key != NULL) {
            desk_say(&job->html, &job->desk, notice);
        }
        *notice = act_notice(&job->error);
        desk_say(&job->html, &job->desk, notice);
    }
    desk_end(&job->html, &job->desk, &job->act);
    hearsay_close(server);
}
