/* SPDX-License-Identifier: Apache-2.0 */
#include "client/web/board.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "client/web/board/ask.h"
#include "client/web/board/house.h"
#include "client/web/board/pool.h"
#include "core/base/err.h"

struct board {
    struct house *house; /* owned: reads */
    struct pool *pool;   /* owned: writes */
    bool is_stopped;
};

/* What a phone has written or withdrawn is seen by the next reader. */
static void on_written(void *context, const struct view *left, const uint8_t *id)
{
    const struct board *board = context;

    house_drop(board->house, left, id);
}

int board_new(const struct board_options *options, struct board **out_board)
{
    struct board *board = calloc(1, sizeof(*board));
    int rc = board == NULL || sodium_init() < 0 ? -ERR_NOMEM : 0;

    if (rc == 0) {
        rc = pool_new(options, on_written, board, &board->pool);
    }
    if (rc == 0) {
        rc = house_new(options, &board->house);
        if (rc != 0) {
            pool_free(board->pool); /* nothing of the pool is under way yet */
        }
    }
    if (rc != 0) {
        free(board);
        return rc;
    }
    *out_board = board;
    return 0;
}

void board_stop(struct board *board)
{
    board->is_stopped = true;
    pool_stop(board->pool);
    house_stop(board->house);
}

void board_free(struct board *board)
{
    if (board != NULL) {
        house_free(board->house);
        pool_free(board->pool);
        free(board);
    }
}

/* --- what is known ---------------------------------------------------------------------------- */

const struct hearsay_welcome *board_welcome(const struct board *board)
{
    const struct hearsay *server = house_server(board->house);

    return server != NULL ? hearsay_welcome(server) : NULL;
}

bool board_is_connected(const struct board *board)
{
    return house_is_connected(board->house);
}

bool board_now_ms(const struct board *board, int64_t *out_now_ms)
{
    const struct hearsay *server = house_server(board->house);

    if (server == NULL) {
        return false;
    }
    *out_now_ms = hearsay_now_ms(server);
    return true;
}

uint64_t board_version(const struct board *board)
{
    return house_version(board->house);
}

/* --- reading ---------------------------------------------------------------------------------- */

void board_list(struct board *board, const struct view *view, const struct http_address *client,
                board_done *done, void *context)
{
    struct view copy = *view;
    struct ask key = {.kind = ASK_LIST, .view = &copy};

    if (client != NULL) {
        key.client = *client;
    }
    house_ask(board->house, &key, done, context);
}

void board_get(struct board *board, const char *host, const uint8_t *id,
               const struct http_address *client, board_done *done, void *context)
{
    struct ask key = {.kind = ASK_GET};

    if (client != NULL) {
        key.client = *client;
    }
    (void)snprintf(key.host, sizeof(key.host), "%s", host != NULL ? host : "");
    memcpy(key.id, id, sizeof(key.id));
    house_ask(board->house, &key, done, context);
}

void board_place(struct board *board, const char *host, const struct http_address *client,
                 board_done *done, void *context)
{
    struct ask key = {.kind = ASK_PLACE, .client = *client};

    (void)snprintf(key.host, sizeof(key.host), "%s", host != NULL ? host : "");
    house_ask(board->house, &key, done, context);
}

struct board_watch *board_watch(struct board *board, const struct view *view, uint64_t after_seq,
                                const struct board_watch_events *events, void *context)
{
    return house_watch(board->house, view, after_seq, events, context);
}

void board_unwatch(struct board_watch *watch)
{
    house_unwatch(watch);
}

/* --- writing ---------------------------------------------------------------------------------- */

void board_write(struct board *board, const struct board_write *write, board_done *done,
                 void *context)
{
    if (board->is_stopped || !house_is_connected(board->house)) {
        done(context,
             &(struct board_reply){.outcome = BOARD_AWAY, .error = house_why(board->house)});
    } else {
        pool_write(board->pool, write, done, context);
    }
}

void board_forget(struct board *board, const void *context)
{
    house_forget(board->house, context);
    pool_forget(board->pool, context);
}
