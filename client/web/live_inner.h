/* SPDX-License-Identifier: Apache-2.0 */
/* live_inner: what the files of live share. */
#ifndef CLIENT_WEB_LIVE_INNER_H
#define CLIENT_WEB_LIVE_INNER_H

#include "client/web/http_peer.h"
#include "client/web/live.h"

enum {
    LIVE_RING = 64,              /* last matches of each view that are kept */
    LIVE_TICK_MS = 500,          /* at most one watch catches up in this time */
    LIVE_COMMENT_MS = 25 * 1000, /* without an event; keeps proxies from closing */
    LIVE_LIFE_MS = 15 * 60 * 1000,
    LIVE_SHIFT_MS = 60 * 1000, /* hearsayd's clock was set by more: pages look at it again */
    LIVE_RETRY_MS = 60 * 1000, /* longest pause before a refused watch is tried again */
    LIVE_CATCH_UP = 1000,      /* numbers; who is further behind loads the list again */
    LIVE_CAUGHT_BYTES = HTTP_STREAM_BYTES / 2, /* of missed events; who lacks more does, too */
    LIVE_KNOWN = 128,                          /* messages of a view that phones may show */
    LIVE_CHECKS = 8,                           /* of them that are asked for at a time */
    LIVE_LIST_MS = 30 * 1000,                  /* between two looks at the list of a view */
    LIVE_POLL_MS = 5 * 1000, /* the same, while no watch reports new messages to the view */
    LIVE_SOON_MS = 1500      /* behind a new stream; longer than lists are cached */
};

/* A match that is kept. */
struct live_entry {
    uint64_t seq;
    uint8_t id[HEARSAY_ID_BYTES];
    char *event; /* owned; NULL: the message has gone */
    size_t bytes;
};

/* The last matches of a view, in ascending order. */
struct live_ring {
    struct live_entry entries[LIVE_RING];
    size_t first;
    size_t count;
    uint64_t from_seq; /* all matches with a larger number are there */
};

void live_ring_clear(struct live_ring *ring, uint64_t from_seq);

/* Adds a match; takes its event. The oldest one makes room. */
void live_ring_add(struct live_ring *ring, const struct live_entry *entry);

/* Nobody gets this message any more. */
void live_ring_remove(struct live_ring *ring, const uint8_t *id);

/* Entry `index` of 0 .. count - 1, the oldest first. */
const struct live_entry *live_ring_at(const struct live_ring *ring, size_t index);

/* Where a stream goes on. */
struct live_place {
    char store[LIVE_STORE_BYTES]; /* "": the stream goes on nowhere */
    uint64_t seq;
};

/* Reads STORE-SEQ, as the id of an event is written. False: the text is something else. */
bool live_place_read(const char *text, struct live_place *out_place);

/* The text of the event for a message. `store` NULL: without an id. Owned by the caller; NULL: no
 * memory. */
char *live_event_new(const char *store, uint64_t seq, const struct board_message *message,
                     size_t *out_bytes);

/* The text of the event with all notices. Owned by the caller; NULL: no memory. */
char *live_event_house(const struct hearsay_notice *notices, size_t count, size_t *out_bytes);

/* A message that phones may show. */
struct live_known {
    uint8_t id[HEARSAY_ID_BYTES];
    bool is_due; /* it was not in the list: hearsayd is to be asked for it */
};

/* A known message that hearsayd is asked for. */
struct live_check {
    struct live_view *view; /* NULL: free */
    uint8_t id[HEARSAY_ID_BYTES];
};

struct live_view {
    struct live_view *prev;
    struct live_view *next;
    struct live *live;
    struct view view;
    char store[LIVE_STORE_BYTES]; /* of the ring; "": hearsayd was never there */
    struct live_stream *streams;
    struct board_watch *watch; /* NULL: none */
    bool is_ending;            /* it gave way: it is freed with its last stream */
    bool has_begun;            /* the watch has */
    bool is_known;             /* last_seq is of `store` */
    bool skips;                /* the watch was begun without catching up */
    uint64_t last_seq;         /* all matches up to it are in the ring, or were */
    uint64_t until_seq;        /* the newest number when the watch began: up to it, it catches up */
    struct live_ring ring;
    enum hearsay_accept accept; /* what pages were told; 0: not known yet */
    int64_t used_ms;            /* when a stream came last */
    int64_t watch_ms;           /* the watch is not begun before */
    int64_t pause_ms;           /* after the last refusal */
    struct live_known known[LIVE_KNOWN];
    size_t known_count;
    struct live_check checks[LIVE_CHECKS];
    int64_t list_ms;      /* when the list is looked at next */
    bool is_listing;      /* it is asked for */
    bool has_listed;      /* it was looked at before */
    bool is_near_listing; /* the list by nearness is asked for */
};

struct live_stream {
    struct live_stream *prev;
    struct live_stream *next;
    struct live *live;
    struct live_view *view; /* NULL: of none yet */
    struct http_stream *http;
    struct http_address client;
    struct fair_holder *holder; /* NULL: not counted */
    struct live_place place;    /* where the client says that it was */
    bool is_near;               /* its page is sorted by nearness */
    bool is_settled;            /* sent_seq is known */
    bool is_behind;             /* it lacks matches that a watch has to tell again */
    bool is_ending;             /* nothing is sent any more */
    size_t caught_bytes;        /* of the events that it had missed and got */
    uint64_t sent_seq;
    uint64_t early_from; /* what came while it was behind: matches with a larger number, up to */
    uint64_t early_to;   /* this one, were sent without their number */
    int64_t since_ms;    /* gets messages of the list from that time on, once; 0: no */
    bool has_notices;    /* its page was told notices_version */
    uint64_t notices_version;
    int64_t began_ms;
    int64_t spoke_ms;
};

struct live {
    struct live_options options;
    uv_timer_t timer;
    bool is_stopping;
    struct live_view *views;
    struct fair_table holders; /* of streams */
    size_t stream_count;       /* those that are counted */
    bool has_offset;
    int64_t offset_ms; /* of hearsayd's clock to the loop's */
};

int64_t live_now_ms(const struct live *live);

/* Sends an event, unless the stream is ending. */
void live_stream_send(struct live_stream *stream, const char *event, size_t bytes);
void live_stream_end(struct live_stream *stream);

/* Ends a stream that gives way to another one: its client gets nothing that waits. */
void live_stream_drop(struct live_stream *stream);

/* Stops counting a stream. */
void live_stream_leave(struct live_stream *stream);

/*
 * Sends an event that a stream has missed. If a stream has missed more than LIVE_CAUGHT_BYTES, it
 * gets `gone` instead, and goes on behind `newest`. Returns false then.
 */
bool live_stream_send_missed(struct live_stream *stream, const struct live_entry *entry,
                             uint64_t newest);

/* The client loads its list again; from `seq` on it gets what is new. */
void live_stream_send_gone(struct live_stream *stream, uint64_t seq);

/* Finds out where a stream goes on, and sends what it lacks. The view's watch has begun. */
void live_stream_settle(struct live_stream *stream);

/* The view for what a client looks at; `newcomer` is its stream, which is counted and in no view
 * yet. If all views are in use, one gives way: it is of those that hold most streams, and all of
 * its streams end. The view of all messages always has a place. NULL: no memory, or nobody holds as
 * many streams as the newcomer. */
struct live_view *live_view_find(struct live *live, const struct view *asked,
                                 const struct live_stream *newcomer);
void live_view_free(struct live_view *view);

/* Begins the watch of a view that has none, or sets the time of the next try. The watch catches up
 * with what came since the last one, or its streams are behind. */
void live_view_watch(struct live_view *view, bool catches_up);

/* From now on a stream is behind: it gets matches with a number above `newest` at once, and what it
 * lacks when a watch catches up. */
void live_stream_fall_behind(struct live_stream *stream, uint64_t newest);

/* Begins the watch again at the smallest number that a stream waits with. False: none waits. */
bool live_view_catch_up(struct live_view *view);

/* Notes that phones may show a message; the one that was noted first makes room. */
void live_list_note(struct live_view *view, const uint8_t *id);

/* Looks at the list of a view if it is time: sends what streams lack, and which messages went. */
void live_list_tick(struct live_view *view, int64_t now_ms);

/* Lets pages look at their list, its form and its clock. */
void live_list_let_look(struct live_view *view);

/* If the host takes other deposits than before, lets pages look at their list and its form. If its
 * notices are others, sends them. */
void live_list_tell_host(struct live_view *view);

/* Ends what live_list_tick has asked for. */
void live_list_forget(struct live_view *view);

#endif
