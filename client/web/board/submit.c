/* SPDX-License-Identifier: Apache-2.0 */
/* What hearsayd is asked for each kind of question. */
#include "client/web/board/inner.h"
#include "client/web/board/query.h"

uint32_t submit_list_k(const struct board *board, const struct ask *ask)
{
    uint32_t most = hearsay_welcome(link_server(board->link))->limits.k_max;
    uint32_t page = board->options.per_page + 1;

    return most > 0 && (ask->is_wide || page > most) ? most : page;
}

static int submit_list(struct board *board, struct ask *ask, uint64_t *out_ticket,
                       struct hearsay_error *error)
{
    struct hearsay *server = link_server(board->link);
    struct query_parts parts;
    struct hearsay_query query;
    int status = query_fill(server, ask->view, &parts, &query, error);

    if (status != HEARSAY_OK) {
        return status;
    }
    query.k = submit_list_k(board, ask);
    query.until_ms = ask->view->before_ms;
    query.order =
        ask->view->order == VIEW_NEAREST ? HEARSAY_ORDER_SIMILARITY : HEARSAY_ORDER_NEWEST;
    return hearsay_submit_query(server, &query, out_ticket, error);
}

static int submit_get(struct board *board, const struct ask *ask, uint64_t *out_ticket,
                      struct hearsay_error *error)
{
    struct hearsay_request request = {
        .kind = HEARSAY_REQUEST_GET,
        .get = {.host = hearsay_text(query_host(ask->host)),
                .id = hearsay_bytes(ask->id, HEARSAY_ID_BYTES)},
    };

    return hearsay_submit(link_server(board->link), &request, out_ticket, error);
}

static int submit_here(struct board *board, const struct ask *ask, uint64_t *out_ticket,
                       struct hearsay_error *error)
{
    struct hearsay_request request = {
        .kind = HEARSAY_REQUEST_HERE,
        .here = {.host = hearsay_text(query_host(ask->host)), .places = ask->kind == ASK_PLACES}};

    return hearsay_submit(link_server(board->link), &request, out_ticket, error);
}

/* As many answers as there may be. */
static int submit_answers(struct hearsay *server, const struct ask *ask, uint64_t *out_ticket,
                          struct hearsay_error *error)
{
    struct hearsay_query query;

    hearsay_query_init(&query);
    query.host = hearsay_text(query_host(ask->host));
    query.answers = hearsay_bytes(ask->id, sizeof(ask->id));
    query.k = hearsay_welcome(server)->limits.k_max;
    return hearsay_submit_query(server, &query, out_ticket, error);
}

int submit_ask(struct board *board, struct ask *ask, uint64_t *out_ticket,
               struct hearsay_error *error)
{
    struct hearsay *server = link_server(board->link);
    const struct http_address *payer = &ask->payer;
    int status;

    /* Of these numbers of bytes none is wrong, and only a family of 6 has `local`. */
    (void)hearsay_ask_for(server, payer->family != 0 ? payer->bytes : NULL,
                          payer->family == 4 ? 4 : sizeof(payer->bytes),
                          payer->family == 6 && payer->has_local ? payer->local : NULL, NULL);
    switch (ask->kind) {
    case ASK_LIST:
        status = submit_list(board, ask, out_ticket, error);
        break;
    case ASK_GET:
        status = submit_get(board, ask, out_ticket, error);
        break;
    case ASK_ANSWERS:
        status = submit_answers(server, ask, out_ticket, error);
        break;
    default:
        status = submit_here(board, ask, out_ticket, error);
        break;
    }
    (void)hearsay_ask_for(server, NULL, 0, NULL, NULL); /* watches are ours */
    return status;
}
