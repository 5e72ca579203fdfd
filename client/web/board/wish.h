/* SPDX-License-Identifier: Apache-2.0 */
/* wish: one request of a phone to write, with all that it needs, until it is answered. */
#ifndef CLIENT_WEB_BOARD_WISH_H
#define CLIENT_WEB_BOARD_WISH_H

#include "client/web/board/pool.h"

struct wish {
    struct wish *next; /* in the queue */
    enum pool_kind kind;
    struct http_address client;
    struct view *view; /* POOL_LEAVE: owned */
    char host[VIEW_HOST_BYTES];
    uint8_t id[HEARSAY_ID_BYTES];
    uint8_t token[HEARSAY_TOKEN_BYTES];
    char *text; /* owned: of POOL_LEAVE `bytes` of it, of POOL_REPORT the reason or NULL */
    size_t bytes;
    enum hearsay_report_kind report_kind;
    uint32_t ttl_s;
    board_done *done; /* NULL: forgotten */
    void *context;
    int64_t queued_ms; /* by the loop's clock */
    bool is_retried;
};

/* Copies a request. NULL: no memory. */
struct wish *wish_new(const struct pool_write *what, board_done *done, void *context);
void wish_free(struct wish *wish); /* NULL is fine */

/* Tells the reader, unless forgotten, and frees the request. */
void wish_answer(struct wish *wish, const struct board_reply *reply);

/* Sends the request. The status of hearsay_submit_*; HEARSAY_ERR_ARGUMENT also where the server
 * does not know on_behalf or wants a proof of work. */
int wish_submit(const struct wish *wish, struct hearsay *server, uint64_t *out_ticket,
                struct hearsay_error *out_error);

/* What a refusal means: as answer_outcome, with the reasons of withdrawals and of closed hosts. */
enum board_outcome wish_outcome(const struct wish *wish, const struct hearsay_error *error);

#endif
