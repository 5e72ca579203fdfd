/* SPDX-License-Identifier: Apache-2.0 */
#include "client/web/board/pool.h"

#include "client/web/board/answer.h"
#include "client/web/board/query.h"

static int submit_leave(const struct board_write *write, struct hearsay *server,
                        uint64_t *out_ticket, struct hearsay_error *error)
{
    struct hearsay_deposit deposit;
    struct hearsay_filter filter;
    uint8_t hash[HEARSAY_HASH_BYTES];

    hearsay_deposit_init(&deposit, NULL);
    int status = write->answers != NULL
                     ? query_fill_answer(server, write->view, &filter, error)
                     : query_fill_context(server, write->view, &filter, &deposit.epoch, error);
    if (status != HEARSAY_OK) {
        return status;
    }
    hearsay_hash(write->token, HEARSAY_TOKEN_BYTES, hash);
    deposit.host = hearsay_text(query_host(write->view->host));
    deposit.id = hearsay_bytes(write->id, HEARSAY_ID_BYTES);
    deposit.filter = hearsay_filter_bytes(&filter);
    deposit.payload = hearsay_bytes(write->text, write->bytes);
    deposit.ttl_s = write->ttl_s;
    if (write->answers != NULL) {
        deposit.epoch = write->epoch;
        deposit.answers = hearsay_bytes(write->answers, HEARSAY_ID_BYTES);
    }
    deposit.withdraw_hash = hearsay_bytes(hash, HEARSAY_HASH_BYTES);
    return hearsay_submit_deposit(server, &deposit, out_ticket, error);
}

static int submit_report(const struct board_write *write, struct hearsay *server,
                         uint64_t *out_ticket, struct hearsay_error *out_error)
{
    const char *reason = write->text != NULL && write->text[0] != '\0' ? write->text : NULL;
    struct hearsay_request request = {
        .kind = HEARSAY_REQUEST_REPORT,
        .report = {.host = hearsay_text(query_host(write->host)),
                   .id = hearsay_bytes(write->id, HEARSAY_ID_BYTES),
                   .kind = write->report_kind,
                   .reason = hearsay_text(reason)},
    };

    return hearsay_submit(server, &request, out_ticket, out_error);
}

static int submit_withdraw(const struct board_write *write, struct hearsay *server,
                           uint64_t *out_ticket, struct hearsay_error *out_error)
{
    struct hearsay_request request = {
        .kind = HEARSAY_REQUEST_WITHDRAW,
        .withdraw = {.host = hearsay_text(query_host(write->host)),
                     .id = hearsay_bytes(write->id, HEARSAY_ID_BYTES),
                     .token = hearsay_bytes(write->token, HEARSAY_TOKEN_BYTES)},
    };

    return hearsay_submit(server, &request, out_ticket, out_error);
}

int write_submit(const struct board_write *write, struct hearsay *server, uint64_t *out_ticket,
                 struct hearsay_error *out_error)
{
    switch (write->kind) {
    case BOARD_LEAVE:
        return submit_leave(write, server, out_ticket, out_error);
    case BOARD_WITHDRAW:
        return submit_withdraw(write, server, out_ticket, out_error);
    default:
        return submit_report(write, server, out_ticket, out_error);
    }
}

enum board_outcome write_outcome(enum board_write_kind kind, const struct hearsay_error *error)
{
    enum board_outcome outcome = answer_outcome(error);

    if (error->status != HEARSAY_ERR_REFUSED || error->code != HEARSAY_CODE_FORBIDDEN) {
        return outcome;
    }
    if (kind == BOARD_WITHDRAW) {
        return BOARD_WRONG_CODE;
    }
    /* A ban names the field that is banned. */
    return kind == BOARD_LEAVE && error->field[0] == '\0' ? BOARD_CLOSED : outcome;
}
