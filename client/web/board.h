/* SPDX-License-Identifier: Apache-2.0 */
/*
 * board: the messages of hearsayd, as the pages need them. Reads go through one connection for all
 * phones, in requests that name the phone, and what all phones read is cached. Writes go through a
 * connection that speaks for the phone's address. So the limits are those of the phone. No function
 * blocks. On the loop's thread.
 */
#pragma once

#include "client/web/http.h"
#include "client/web/topics.h"
#include "client/web/view.h"

struct board;

struct board_options {
    uv_loop_t *loop;             /* borrowed */
    const char *server;          /* path of the gateway's socket; borrowed */
    uint32_t cache_ms;           /* how long an answer that all read is given again */
    unsigned per_page;           /* messages of a list */
    unsigned views;              /* views that are cached and watched */
    unsigned upstreams;          /* connections on behalf of phones */
    const struct topics *topics; /* which messages are looked at for; borrowed. NULL: none */
};

/* A message of a list. */
struct board_message {
    uint8_t id[HEARSAY_ID_BYTES];
    const char *media_type;
    const char *text; /* `bytes` of it, of any content; only for text/plain */
    size_t bytes;     /* of the payload, of any media type */
    bool is_omitted; /* type and text did not fit into hearsayd's answer: only board_get has them */
    int64_t deposited_ms;
    int64_t expires_ms;
    uint32_t similarity_ppm; /* 1,000,000 minus the distance */
    const char *host; /* of a list: the host that has the message; NULL: the host of the view */
    uint32_t topics;  /* of a list: a bit 1 << i for each of board_options.topics it has */
    uint32_t answer_count; /* how many answers there are */
    uint64_t epoch;        /* of board_get */
    bool is_answer;        /* of board_get: it answers the message `parent` */
    uint8_t parent[HEARSAY_ID_BYTES];
};

/* An answer to board_list. Borrowed for the call of `done`. */
struct board_list {
    uint64_t version; /* no other answer has this number */
    const struct board_message *messages;
    size_t count;
    size_t sealed; /* messages of groups that were left out */
    bool has_older;
    /* the next page has messages before this time; 0: before the last one of this page */
    int64_t older_before_ms;
    bool is_partial; /* around here: not all access points have answered */
    int64_t now_ms;  /* by hearsayd's clock */
    int64_t age_ms;  /* how old the answer is; more than the cache's time: hearsayd is away */
};

/* Whether a list has the message with an id. */
bool board_list_has(const struct board_list *list, const uint8_t *id);

/* What became of a request. */
enum board_outcome {
    BOARD_DONE,
    BOARD_AWAY,    /* hearsayd is not there */
    BOARD_BUSY,    /* hearsayd had no time for it, or others have less waiting: try again later */
    BOARD_LIMITED, /* RATE_LIMITED: `error` says how long to wait */
    BOARD_GONE,    /* NOT_FOUND */
    BOARD_REMOVED, /* by the operator */
    BOARD_WRONG_CODE,
    BOARD_CLOSED,  /* the host takes no messages now */
    BOARD_FULL,    /* QUOTA */
    BOARD_REFUSED, /* any other error of hearsayd: `error` has the sentence */
    BOARD_NO_MEMORY
};

struct board_reply {
    enum board_outcome outcome;
    const struct hearsay_error *error;      /* NULL with BOARD_DONE, BOARD_BUSY, BOARD_NO_MEMORY */
    const struct board_list *list;          /* of board_list and board_answers */
    const struct board_message *message;    /* of board_get */
    const struct hearsay_deposited *stored; /* of BOARD_LEAVE */
    /* of board_place: labels, a line feed behind each; of board_places: names in the same form */
    const char *place;
    const char *place_name; /* of board_place: the name of the place; "": it has none */
};

typedef void board_done(void *context, const struct board_reply *reply);

/* Connects in the background, and again whenever the connection is lost. -ERR_NOMEM. */
int board_new(const struct board_options *options, struct board **out_board);
void board_stop(struct board *board); /* every waiting request is answered with BOARD_AWAY */
void board_tidy(struct board *board); /* forgets whom hearsayd has refused, when the time is over */
void board_free(struct board *board); /* after the loop has nothing under way; NULL is fine */

/* Why phones cannot be served by the hearsayd at the other end of a connection: it would take all
 * of them for one, or let them read without limits. NULL: they can. */
const char *board_fault_of(const struct hearsay *server);

/* What hearsayd said when it was greeted last; NULL: not yet. Valid until the loop turns. */
const struct hearsay_welcome *board_welcome(const struct board *board);
bool board_is_connected(const struct board *board);

/* A host of that by its name; "": the first. NULL: there is none, or it is not known. */
static inline const struct hearsay_host *board_host(const struct board *board, const char *name)
{
    const struct hearsay_welcome *welcome = board_welcome(board);

    for (size_t i = 0; welcome != NULL && i < welcome->host_count; i++) {
        if (name[0] == '\0' || strcmp(welcome->hosts[i].name, name) == 0) {
            return &welcome->hosts[i];
        }
    }
    return NULL;
}

/* Whether a question for a place would be sent at once. */
bool board_has_room(const struct board *board);

/* hearsayd's clock now, in Unix milliseconds; false: not known yet. */
bool board_now_ms(const struct board *board, int64_t *out_now_ms);

/* `news` is called whenever hearsayd has said something: it may be connected again, and what
 * board_welcome and board_now_ms tell may be new; then `id` is NULL. It is also called when a phone
 * has answered, withdrawn or reported the message `id`. NULL: no more. One listener. */
void board_on_news(struct board *board, void (*news)(void *context, const uint8_t *id),
                   void *context);

/* The messages of a view, for a phone; `client` NULL: for open pages. `done` may be called before
 * the function returns. */
void board_list(struct board *board, const struct view *view, const struct http_address *client,
                board_done *done, void *context);

/* One message by its id; `client` as for board_list. */
void board_get(struct board *board, const char *host, const uint8_t *id,
               const struct http_address *client, board_done *done, void *context);

/* The answers to a message, oldest first; as board_get. */
void board_answers(struct board *board, const char *host, const uint8_t *id,
                   const struct http_address *client, board_done *done, void *context);

/* The here labels of a phone's address. */
void board_place(struct board *board, const char *host, const struct http_address *client,
                 board_done *done, void *context);

/* The names of all places of a host; `client` as for board_list. */
void board_places(struct board *board, const char *host, const struct http_address *client,
                  board_done *done, void *context);

enum board_write_kind { BOARD_LEAVE, BOARD_WITHDRAW, BOARD_REPORT };

/* What a phone writes. What it points to is borrowed until `done` is called, or board_forget. */
struct board_write {
    enum board_write_kind kind;
    struct http_address client;
    const char *host;        /* not of BOARD_LEAVE */
    const struct view *view; /* BOARD_LEAVE: host, place, topics and is_now are its context */
    const char *text;        /* BOARD_LEAVE: `bytes` of it; BOARD_REPORT: the reason, with a NUL */
    size_t bytes;
    uint32_t ttl_s;         /* BOARD_LEAVE; 0: the default */
    const uint8_t *id;      /* HEARSAY_ID_BYTES: the same form sent twice is one message */
    const uint8_t *answers; /* BOARD_LEAVE: the id of the message that is answered; NULL: none. Then
                               the context of the view does not count */
    uint64_t epoch;         /* of that message */
    const uint8_t *token;   /* HEARSAY_TOKEN_BYTES: shown again to withdraw; not of BOARD_REPORT */
    enum hearsay_report_kind report_kind;
};

/* Writes. `done` may be called before the function returns. */
void board_write(struct board *board, const struct board_write *write, board_done *done,
                 void *context);

/*
 * A standing query for the new messages of a view, through the connection for reads. It only says
 * that there is one: board_list has it. `order`, `before_ms` and `language` of the view do not
 * matter. The callbacks never run before board_watch returns.
 */
struct board_watch;

struct board_watch_events {
    /* The watch has begun, before its first match. */
    void (*begun)(void *context);
    /* A new message fits. */
    void (*match)(void *context);
    /* The watch has ended and is freed when the call returns: hearsayd is away or refuses the
     * watch, or what the view looks for has changed (labels of the place or of the hour, epoch).
     * Begin again when board_is_connected. */
    void (*ended)(void *context);
};

/* `events` is borrowed until the end. NULL: not connected, too many watches, or no memory. */
struct board_watch *board_watch(struct board *board, const struct view *view,
                                const struct board_watch_events *events, void *context);
void board_unwatch(struct board_watch *watch); /* no callback any more; NULL is fine */

/* `done` of every request with this context is not called any more. */
void board_forget(struct board *board, const void *context);
