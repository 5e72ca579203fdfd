/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool: what phones write. Each phone writes through a connection of its own, which says its
 * address (on_behalf), so that hearsayd's limits are those of the phone. Connections are opened on
 * demand and closed when they are idle. A connection has one request at a time; the others wait in
 * a queue, in which senders take turns.
 */
#ifndef CLIENT_WEB_BOARD_POOL_H
#define CLIENT_WEB_BOARD_POOL_H

#include "client/web/board.h"

enum {
    POOL_IDLE_MS = 5 * 1000, /* then an idle connection is closed */
    POOL_WAIT_MS = 2 * 1000, /* the longest wait for a connection; then BOARD_BUSY */
    POOL_QUEUE_MAX = 64,     /* requests that wait */
    POOL_PER_SENDER = 8,     /* of one device, or of one address */
    POOL_PER_NETWORK = 8     /* connections for a device, or for an IPv6 /64 */
};

struct pool;

enum pool_kind { POOL_LEAVE, POOL_WITHDRAW, POOL_REPORT };

/* What to write. Borrowed for the call of pool_write. */
struct pool_write {
    enum pool_kind kind;
    const struct http_address *client;
    const struct board_leave *leave; /* POOL_LEAVE; the rest of the others */
    const char *host;
    const uint8_t *id;
    const uint8_t *token;                 /* POOL_WITHDRAW */
    enum hearsay_report_kind report_kind; /* POOL_REPORT */
    const char *reason;                   /* POOL_REPORT; NULL: none */
};

/* hearsayd has left, withdrawn or noted the report of a message; called before the reader is told.
 * `left` is the context of a message that was left, else NULL. */
typedef void pool_written(void *context, const struct view *left, const uint8_t *id);

/* -ERR_NOMEM. */
int pool_new(const struct board_options *options, pool_written *written, void *context,
             struct pool **out_pool);
void pool_stop(struct pool *pool); /* all who wait get BOARD_AWAY */
void pool_free(struct pool *pool); /* after the loop has nothing under way; NULL is fine */

/* Writes. `done` may be called before the function returns. */
void pool_write(struct pool *pool, const struct pool_write *what, board_done *done, void *context);
void pool_forget(struct pool *pool, const void *context);

/* Connections that are open, idle ones included. */
size_t pool_connections(const struct pool *pool);

#endif
