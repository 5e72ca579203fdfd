/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask: what readers ask for, each question once: who waits for the answer, and the answer itself
 * for as long as it may be given again. Knows no connection.
 */
#ifndef CLIENT_WEB_BOARD_ASK_H
#define CLIENT_WEB_BOARD_ASK_H

#include "client/web/board/answer.h"

enum ask_kind { ASK_LIST, ASK_GET, ASK_PLACE, ASK_KINDS };

/* What is sent first. */
enum ask_rank {
    ASK_SMALL,  /* a question that is no list */
    ASK_SHARED, /* a list that many phones look at */
    ASK_OWN,    /* a list that few phones look at */
    ASK_LOOK,   /* a list that no phone waits for */
    ASK_RANKS
};

enum {
    ASK_GETS_MAX = 64,
    ASK_PLACES_MAX = 1024,
    ASK_PLACES_KEPT = 256,     /* as long as nobody waits for more */
    ASK_WAITERS_MAX = 2048,    /* of all questions */
    ASK_READERS = 3,           /* addresses that may look at a list that is not shared */
    ASK_OWN_MAX = 4,           /* lists of ASK_OWN that wait to be sent for one phone */
    ASK_KEEP_MS = 60 * 1000,   /* the longest time that an answer is given while hearsayd is away */
    ASK_PATIENCE_MS = 2 * 1000 /* the longest time before a question is sent */
};

struct waiter {
    struct waiter *next;
    board_done *done;
    void *context;
    bool is_due; /* the answer is being given */
};

/* A question. */
struct ask {
    struct ask *next; /* in struct asks: the one that was asked last comes first */
    enum ask_kind kind;
    struct view *view; /* ASK_LIST: owned */
    bool is_wide;      /* ASK_LIST: as many messages as may be are asked for */
    char host[VIEW_HOST_BYTES];
    uint8_t id[HEARSAY_ID_BYTES]; /* ASK_GET */
    struct http_address
        client; /* ASK_PLACE: whose; of the key of an ASK_LIST: who asks, family 0: open pages */
    struct http_address readers[ASK_READERS]; /* ASK_LIST: who has asked, unless it is shared */
    bool is_shared;                           /* ASK_LIST: more than ASK_READERS have asked */
    struct answer *answer;                    /* owned; NULL: none */
    /* ASK_LIST: a full page with a bounded share of each sender, while a wide answer is awaited
       that says what it leaves out; owned; NULL: none */
    struct answer *fair;
    int64_t answered_ms;    /* by the loop's clock */
    bool is_fresh;          /* nothing has changed since */
    bool is_watched;        /* ASK_LIST: since before the question hearsayd tells of changes */
    uint64_t ticket;        /* of the request in flight; 0: none */
    bool has_changed;       /* while the request was in flight */
    uint64_t turn;          /* waits to be sent, by rank and turn; 0: does not */
    enum ask_rank rank;     /* while it waits to be sent */
    int64_t asked_ms;       /* since when it waits to be sent */
    struct waiter *waiters; /* owned */
    unsigned pins;          /* the answer is being given: stays */
};

struct asks {
    struct ask *first; /* owned */
    size_t counts[ASK_KINDS];
    size_t limits[ASK_KINDS];
    size_t kept[ASK_KINDS];      /* if there are more, those that nobody waits for go */
    size_t queued;               /* that wait to be sent */
    size_t under_way[ASK_KINDS]; /* that are sent and not answered */
    size_t waiter_count;
    uint64_t last_turn;
    uint64_t last_version; /* of struct board_list */
};

void asks_init(struct asks *asks, size_t views);
void asks_deinit(struct asks *asks); /* nobody may wait */

/*
 * Returns the question with the kind of `key` and the same fields of that kind; adds the question
 * if there is none. NULL: memory is out, or no place is free, because readers wait for each
 * question of this kind. O(questions).
 */
struct ask *asks_take(struct asks *asks, const struct ask *key);

/* Adds a reader who waits for the answer. False: memory is out, or ASK_WAITERS_MAX wait. */
bool ask_add_waiter(struct asks *asks, struct ask *ask, board_done *done, void *context);

/* Gives a reply to all readers who wait now. A `done` may ask again, and may forget other readers.
 */
void ask_give(struct asks *asks, struct ask *ask, const struct board_reply *reply);

/* Gives the answer to all requests that wait for this question. `now_ms` is the time of the loop;
 * `clock_ms` is hearsayd's clock. */
void ask_give_answer(struct asks *asks, struct ask *ask, int64_t now_ms, int64_t clock_ms);

/* Keeps an answer, which is taken, and gives the answer to all who wait. */
void ask_take_answer(struct asks *asks, struct ask *ask, struct answer *answer, int64_t now_ms,
                     int64_t clock_ms);

/* The question with this ticket; NULL: none. O(questions). */
struct ask *asks_find_ticket(const struct asks *asks, uint64_t ticket);

/* The question that waits longest to be sent; NULL: none. O(questions). */
struct ask *asks_oldest(const struct asks *asks);

/*
 * Puts a question of asks_take into the queue, for the client that asks now. If the question is in
 * the queue already, its rank may rise. Returns false, and changes nothing, if the rank is ASK_OWN
 * and there is no room: ASK_OWN_MAX lists of the client are in the queue, or lists of ASK_OWN take
 * half of all places for lists. O(questions).
 */
bool ask_queue(struct asks *asks, struct ask *ask, const struct http_address *client,
               int64_t now_ms);

/* Takes a question out of the queue, if it is there: it is sent now, with the ticket, or not (0).
 */
void ask_unqueue(struct asks *asks, struct ask *ask, uint64_t ticket);

/* The request in flight has its answer, or will get none. */
void ask_land(struct asks *asks, struct ask *ask);

/* Puts a question that is not in the queue there, with its rank, behind all others. */
void ask_enqueue(struct asks *asks, struct ask *ask, int64_t now_ms);

/* The question to send next: of the ranks that may be sent, the first in the queue. NULL: none.
 * O(questions). */
struct ask *asks_next(const struct asks *asks, const bool may_send[ASK_RANKS]);

/* The answers to all questions of a kind have changed: the next reader asks anew. */
void asks_drop_answers(struct asks *asks, enum ask_kind kind);

/* The same for this message, and for lists that have it or are under way. */
void asks_drop_message(struct asks *asks, const uint8_t *id);

/* The same for lists that a message with this context is in, but for those of other places. */
void asks_drop_place(struct asks *asks, const struct view *left);

/* The same for the newest messages of views with the labels of `view`. */
void asks_drop_view(struct asks *asks, const struct view *view);

/* hearsayd does not tell any more of changes to views with the labels of `view`. */
void asks_unwatch_view(struct asks *asks, const struct view *view);

/* Whether two views have the same labels, so that a new message changes both or none. */
bool ask_same_labels(const struct view *a, const struct view *b);

/* Frees answers that are too old to be given, with their questions. */
void asks_age(struct asks *asks, int64_t now_ms);

/* `done` of all who wait with this context is not called. */
void asks_forget(struct asks *asks, const void *context);

#endif
