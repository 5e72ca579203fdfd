/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask: what readers ask for, each question once: who waits for the answer, and the answer itself
 * for as long as it may be given again. Knows no connection.
 */
#pragma once

#include "client/web/board/answer.h"
#include "client/web/board/queue.h"

enum ask_kind { ASK_LIST, ASK_GET, ASK_ANSWERS, ASK_PLACE, ASK_PLACES, ASK_KINDS };

enum {
    ASK_GETS_MAX = 64,
    ASK_ANSWERS_KEPT = 4, /* as long as nobody waits for more */
    ASK_PLACES_MAX = 1024,
    ASK_PLACES_KEPT = 256,     /* as long as nobody waits for more */
    ASK_KEEP_MS = 60 * 1000,   /* the longest time that an answer is given while hearsayd is away */
    ASK_PATIENCE_MS = 2 * 1000 /* the longest time before a question is sent */
};

struct waiter {
    struct waiter *next;
    board_done *done;
    void *context;
    struct http_address client; /* family 0: open pages */
    bool is_due;                /* the answer is being given */
};

/* A question. */
struct ask {
    struct ask *next; /* in struct asks: the one that was asked last comes first */
    enum ask_kind kind;
    struct view *view; /* ASK_LIST: owned */
    bool is_wide;      /* ASK_LIST: as many messages as may be are asked for */
    char host[VIEW_HOST_BYTES];
    uint8_t id[HEARSAY_ID_BYTES]; /* ASK_GET, ASK_ANSWERS */
    /* Whose labels, of ASK_PLACE; of the key of another question, who asks: family 0 for open
       pages, which are one sender together. */
    struct http_address client;
    struct answer *answer; /* owned; NULL: none */
    /* ASK_LIST: a full page with a bounded share of each sender, while a wide answer is awaited
       that says what it leaves out; owned; NULL: none */
    struct answer *fair;
    int64_t answered_ms;       /* by the loop's clock */
    bool is_fresh;             /* nothing has changed since */
    uint64_t ticket;           /* of the request in flight; 0: none */
    struct http_address payer; /* of that request: who waited first when it was sent */
    bool has_changed;          /* while the request was in flight */
    struct queue_item item;    /* while it waits to be sent */
    struct waiter *waiters;    /* owned */
    unsigned pins;             /* the answer is being given: stays */
};

struct asks {
    struct ask *first; /* owned */
    size_t counts[ASK_KINDS];
    size_t limits[ASK_KINDS];
    size_t kept[ASK_KINDS];      /* if there are more, those that nobody waits for go */
    size_t under_way[ASK_KINDS]; /* that are sent and not answered */
    struct queue lists;          /* that wait to be sent */
    struct queue small;          /* the same of questions that are no lists */
    uint64_t last_version;       /* of struct board_list */
};

void asks_init(struct asks *asks, size_t views);
void asks_deinit(struct asks *asks); /* nobody may wait */

/*
 * Returns the question with the kind of `key` and the same fields of that kind. If there is none,
 * `may_add` adds it; there may be one too many then: see ask_queue. NULL: there is none, or memory
 * is out. O(questions).
 */
struct ask *asks_take(struct asks *asks, const struct ask *key, bool may_add);

/* Adds a reader who waits for the answer. False: memory is out. */
bool ask_add_waiter(struct ask *ask, const struct http_address *client, board_done *done,
                    void *context);

/* Gives a reply to all readers who wait now; with `sender`, to those that are this sender. A `done`
 * may ask again, and may forget other readers. */
void ask_give(struct ask *ask, const struct board_reply *reply, const struct http_address *sender);

/* Gives the answer to all requests that wait for this question. `now_ms` is the time of the loop;
 * `clock_ms` is hearsayd's clock. */
void ask_give_answer(struct ask *ask, int64_t now_ms, int64_t clock_ms);

/* Keeps an answer, which is taken, and gives the answer to all who wait. */
void ask_take_answer(struct asks *asks, struct ask *ask, struct answer *answer, int64_t now_ms,
                     int64_t clock_ms);

/* The question with this ticket; NULL: none. O(questions). */
struct ask *asks_find_ticket(const struct asks *asks, uint64_t ticket);

/* A question that has waited to be sent since before a time; NULL: none. O(questions). */
struct ask *asks_find_late(const struct asks *asks, int64_t before_ms);

/*
 * Puts a question of asks_take into its queue, for the client that asks now. Returns the question
 * that has to be refused because there are too many of its kind: that of the sender who has most,
 * perhaps this one; else NULL. Where memory is out, this one. O(questions).
 */
struct ask *ask_queue(struct asks *asks, struct ask *ask, const struct http_address *client,
                      int64_t now_ms);

/* The question that is sent next, of lists or of others; NULL: none waits. */
struct ask *asks_next(const struct asks *asks, bool is_list);

/* A question is sent now, with the ticket. */
void ask_sent(struct asks *asks, struct ask *ask, uint64_t ticket);

/* A question neither waits to be sent nor for an answer any more. */
void ask_land(struct asks *asks, struct ask *ask);

/* The answers to all questions of a kind have changed: the next reader asks anew. */
void asks_drop_answers(struct asks *asks, enum ask_kind kind);

/* The same for this message, and for lists that have it or are under way. */
void asks_drop_message(struct asks *asks, const uint8_t *id);

/* The same for lists that a message with this context is in, but for those of other places. */
void asks_drop_place(struct asks *asks, const struct view *left);

/* The same for the newest messages of views with the labels of `view`. */
void asks_drop_view(struct asks *asks, const struct view *view);

/* Frees answers that are too old to be given, with their questions. */
void asks_age(struct asks *asks, int64_t now_ms);

/* `done` of all who wait with this context is not called. */
void asks_forget(struct asks *asks, const void *context);
