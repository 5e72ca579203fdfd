/* SPDX-License-Identifier: Apache-2.0 */
#include "client/web/board/wish.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "client/web/board/answer.h"
#include "client/web/board/query.h"

enum { WISH_TEXT_BYTES_MAX = 64 * 1024 }; /* a frame's; hearsayd's limit is smaller */

/* Copies text and view of a message to leave. False: no memory, or the text is far too long. */
static bool copy_leave(struct wish *wish, const struct board_leave *leave)
{
    if (leave->bytes > WISH_TEXT_BYTES_MAX) {
        return false;
    }
    wish->text = malloc(leave->bytes + 1);
    wish->view = malloc(sizeof(*wish->view));
    if (wish->text == NULL || wish->view == NULL) {
        return false;
    }
    memcpy(wish->text, leave->text, leave->bytes);
    wish->text[leave->bytes] = '\0';
    wish->bytes = leave->bytes;
    *wish->view = *leave->view;
    wish->ttl_s = leave->ttl_s;
    memcpy(wish->id, leave->id, sizeof(wish->id));
    memcpy(wish->token, leave->token, sizeof(wish->token));
    return true;
}

static bool copy_other(struct wish *wish, const struct pool_write *what)
{
    (void)snprintf(wish->host, sizeof(wish->host), "%s", what->host != NULL ? what->host : "");
    memcpy(wish->id, what->id, sizeof(wish->id));
    if (what->kind == POOL_WITHDRAW) {
        memcpy(wish->token, what->token, sizeof(wish->token));
    } else if (what->reason != NULL && what->reason[0] != '\0') {
        wish->text = strdup(what->reason);
        return wish->text != NULL;
    }
    return true;
}

struct wish *wish_new(const struct pool_write *what, board_done *done, void *context)
{
    struct wish *wish = calloc(1, sizeof(*wish));

    if (wish == NULL) {
        return NULL;
    }
    wish->kind = what->kind;
    wish->report_kind = what->report_kind;
    wish->client = *what->client;
    wish->done = done;
    wish->context = context;
    if (what->kind == POOL_LEAVE ? !copy_leave(wish, what->leave) : !copy_other(wish, what)) {
        wish_free(wish);
        return NULL;
    }
    return wish;
}

void wish_free(struct wish *wish)
{
    if (wish != NULL) {
        sodium_memzero(wish->token, sizeof(wish->token));
        free(wish->view);
        free(wish->text);
        free(wish);
    }
}

void wish_answer(struct wish *wish, const struct board_reply *reply)
{
    if (wish->done != NULL) {
        wish->done(wish->context, reply);
    }
    wish_free(wish);
}

static int submit_leave(const struct wish *wish, struct hearsay *server, uint64_t *out_ticket,
                        struct hearsay_error *error)
{
    struct hearsay_deposit deposit;
    struct hearsay_filter filter;

    hearsay_deposit_init(&deposit);
    int status = query_fill_context(server, wish->view, &filter, &deposit.epoch, error);
    if (status != HEARSAY_OK) {
        return status;
    }
    deposit.host = query_host(wish->view->host);
    deposit.filter = &filter;
    deposit.payload = wish->text;
    deposit.payload_bytes = wish->bytes;
    deposit.ttl_s = wish->ttl_s;
    deposit.id = wish->id;
    deposit.token = wish->token;
    return hearsay_submit_deposit(server, &deposit, NULL, out_ticket, error);
}

static int submit_report(const struct wish *wish, struct hearsay *server, uint64_t *out_ticket,
                         struct hearsay_error *out_error)
{
    struct hearsay_report report = {
        .host = wish->host[0] != '\0' ? wish->host : NULL,
        .id = wish->id,
        .kind = wish->report_kind,
        .reason = wish->text,
    };

    return hearsay_submit_report(server, &report, out_ticket, out_error);
}

int wish_submit(const struct wish *wish, struct hearsay *server, uint64_t *out_ticket,
                struct hearsay_error *out_error)
{
    const char *host = query_host(wish->host);

    if (!hearsay_has_capability(server, "on_behalf")) {
        answer_fault(out_error, HEARSAY_ERR_ARGUMENT, HEARSAY_CODE_UNSUPPORTED,
                     "hearsayd does not know on_behalf: it is too old to tell phones apart, or its "
                     "socket is not marked `gateway`");
        return HEARSAY_ERR_ARGUMENT;
    }
    if (wish->kind != POOL_WITHDRAW && hearsay_welcome(server)->limits.work_bits > 0) {
        answer_fault(out_error, HEARSAY_ERR_ARGUMENT, HEARSAY_CODE_UNSUPPORTED,
                     "hearsayd asks for a proof of work, which this page does not do");
        return HEARSAY_ERR_ARGUMENT;
    }
    switch (wish->kind) {
    case POOL_LEAVE:
        return submit_leave(wish, server, out_ticket, out_error);
    case POOL_WITHDRAW:
        return hearsay_submit_withdraw(server, host, wish->id, wish->token, out_ticket, out_error);
    default:
        return submit_report(wish, server, out_ticket, out_error);
    }
}

enum board_outcome wish_outcome(const struct wish *wish, const struct hearsay_error *error)
{
    enum board_outcome outcome = answer_outcome(error);

    if (error->status != HEARSAY_ERR_REFUSED || error->code != HEARSAY_CODE_FORBIDDEN) {
        return outcome;
    }
    if (wish->kind == POOL_WITHDRAW) {
        return BOARD_WRONG_CODE;
    }
    /* A ban names the field that is banned. */
    return wish->kind == POOL_LEAVE && error->field[0] == '\0' ? BOARD_CLOSED : outcome;
}
