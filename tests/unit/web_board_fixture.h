/* SPDX-License-Identifier: Apache-2.0 */
/*
 * web_board_fixture: the board of hearsay-web on a loop, and a hearsayd that answers it from
 * threads of its own: what hearsayd does and what it was asked is in the world, under its lock.
 */
#pragma once

#include <uv.h>

#include "client/web/board.h"
#include "tests/lib/check.h"
#include "tests/lib/fake_server.h"

enum { WEB_BOARD_PER_PAGE = 2, WEB_BOARD_CACHE_MS = 60000 };

/* What the threads of hearsayd and the test share, under the lock. */
struct web_board_world {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int house_fd;       /* the connection without on_behalf; -1: none */
    unsigned hellos;    /* connections on behalf of phones */
    uint8_t phones[32]; /* last bytes of their addresses */
    unsigned queries;
    uint32_t k;               /* of the last query */
    enum hearsay_order order; /* of the last query */
    bool is_capped;           /* one sender has too many messages */
    unsigned gets;
    unsigned places;
    unsigned asker; /* last byte of the phone that the last of these three named; 0: nobody */
    unsigned tired; /* the same of a phone that reads too often; 0: none */
    unsigned refused_reads;
    unsigned watches;  /* begun, less ended */
    uint64_t watch_id; /* of the last one */
    unsigned deposits; /* last bytes of the phones, in the order of arrival */
    uint8_t depositors[32];
    bool stalls;               /* deposits wait until this is false */
    bool is_deaf;              /* to on_behalf of requests */
    bool holds_watches;        /* it answers no watch */
    bool drops_next;           /* the next connection on behalf is closed after the next request */
    enum hearsay_code refusal; /* of writes; 0: none */
};

struct web_board {
    struct web_board_world world;
    struct fake_server server;
    uv_loop_t loop;
    uv_timer_t guard;
    struct board *board;
};

/* What a reader was told. */
struct web_board_told {
    unsigned count;
    enum board_outcome outcome;
    size_t messages;
    size_t sealed;
    bool has_older;
    bool is_text[WEB_BOARD_PER_PAGE];
    char text[16];
    char place[64];
    char name[16]; /* of the place */
    int64_t age_ms;
    uint64_t retry_after_ms;
    char why[128];
    unsigned order; /* among all that were told */
};

/* What the reader of an open page was told. */
struct web_board_watcher {
    unsigned begun;
    unsigned matches;
    unsigned ended;
};

enum { WEB_BOARD_VIEWS = 16 }; /* that the board keeps */

/* The id and the token of a message. */
extern const uint8_t web_board_id[HEARSAY_ID_BYTES];
extern const uint8_t web_board_token[HEARSAY_TOKEN_BYTES];

/* Tell a struct web_board_watcher. */
extern const struct board_watch_events web_board_events;

/* Starts hearsayd and makes the loop; there is no board yet. */
void web_board_prepare(struct web_board *fixture);

/* Makes a board with so many connections for phones, behind web_board_prepare. */
void web_board_connect(struct web_board *fixture, unsigned upstreams);

/* Prepares, makes a board, and waits until it is connected. */
void web_board_start(struct web_board *fixture, unsigned upstreams);

/* Stops the board, where there is one, the loop and hearsayd; checks that no handle is left. */
void web_board_stop(struct web_board *fixture);

/* A test with a board with two connections for phones, or with one; stopped afterwards. */
#define WEB_BOARD_TEST(name) \
    TEST_OF(name, struct web_board *fixture, web_board_set_up, web_board_tear_down)
#define WEB_BOARD_TEST_OF_ONE(name) \
    TEST_OF(name, struct web_board *fixture, web_board_set_up_one, web_board_tear_down)
int web_board_set_up(void **state);
int web_board_set_up_one(void **state);
int web_board_tear_down(void **state);

/* Waits until something happens in the loop; the test fails when nothing does. */
void web_board_turn(struct web_board *fixture);

/* Turns while a condition holds. */
#define WEB_BOARD_WHILE(fixture, condition) \
    do {                                    \
        while (condition) {                 \
            web_board_turn(fixture);        \
        }                                   \
    } while (0)

/* Writes a field of the world, under its lock. */
#define WEB_BOARD_SET(fixture, field, value)                \
    do {                                                    \
        (void)pthread_mutex_lock(&(fixture)->world.lock);   \
        (fixture)->world.field = (value);                   \
        (void)pthread_mutex_unlock(&(fixture)->world.lock); \
    } while (0)

/* Reads a number of the world, under its lock. */
unsigned web_board_look(struct web_board *fixture, const unsigned *number);

/* hearsayd tells the board of a match, or of labels that changed. Under the lock. */
void web_board_push_match(struct web_board_world *world, uint64_t seq);
void web_board_push_here_change(struct web_board_world *world);

/* The same, without the lock. */
void web_board_tell_match(struct web_board *fixture, uint64_t seq);
void web_board_tell_change(struct web_board *fixture);

/* Cuts the board's connection without on_behalf. */
void web_board_cut(struct web_board *fixture);

/* The board's answer goes to a struct web_board_told. */
void web_board_on_done(void *context, const struct board_reply *reply);

/* Turns until the reader is told. */
void web_board_wait(struct web_board *fixture, const struct web_board_told *told);

/* The newest messages about tea. */
struct view web_board_tea(void);

/* The phone 192.0.2.`last`. */
struct http_address web_board_phone(uint8_t last);

/* Asks for a list, and waits for it. */
struct web_board_told web_board_list(struct web_board *fixture, const struct view *view);

/* The same on behalf of a phone (NULL: nobody); for one message; for the labels of a place; and for
 * the names of all places. */
struct web_board_told web_board_list_for(struct web_board *fixture, const struct view *view,
                                         const struct http_address *client);
struct web_board_told web_board_get(struct web_board *fixture, const uint8_t *id,
                                    const struct http_address *client);
struct web_board_told web_board_place(struct web_board *fixture, const struct http_address *client);
struct web_board_told web_board_places(struct web_board *fixture,
                                       const struct http_address *client);

/* Writes, and waits for what becomes of it. */
struct web_board_told web_board_write(struct web_board *fixture, const struct board_write *write);

/* A message about tea. */
struct board_write web_board_message(struct http_address client);

/* A phone leaves it; does not wait. */
void web_board_leave(struct web_board *fixture, uint8_t phone, struct web_board_told *told);

/* The same, and waits. */
struct web_board_told web_board_left(struct web_board *fixture, uint8_t phone);
