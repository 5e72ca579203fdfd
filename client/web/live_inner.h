/* SPDX-License-Identifier: Apache-2.0 */
/* live_inner: what the files of live share. */
#pragma once

#include "client/web/http_peer.h"
#include "client/web/live.h"

enum {
    LIVE_TICK_MS = 500,        /* between two ticks, and between two lists of a view */
    LIVE_ALIVE_MS = 25 * 1000, /* between two signs of life; keeps proxies from closing, too */
    LIVE_LIFE_MS = 15 * 60 * 1000,
    LIVE_AWAY_MS = 10 * 1000,  /* hearsayd is away for so long: streams end, and pages say so */
    LIVE_SHIFT_MS = 60 * 1000, /* hearsayd's clock was set by more: pages look at it again */
    LIVE_RETRY_MS = 60 * 1000, /* longest pause before a refused watch is tried again */
    LIVE_KNOWN = 128,          /* messages of a view that phones may show */
    LIVE_CHECKS = 8,           /* of them that are asked for at a time */
    LIVE_LIST_MS = 30 * 1000,  /* between two looks at the list of a view */
    LIVE_POLL_MS = 5 * 1000,   /* the same, while no watch reports new messages to the view */
    LIVE_SOON_MS = 1500,       /* behind a new stream, so that many streams share a list */
    LIVE_SLACK_MS = 2000       /* a message may be in a list this long after its time */
};

/* Where a stream goes on. */
struct live_place {
    char store[LIVE_STORE_BYTES]; /* "": the stream goes on nowhere */
    int64_t ms;                   /* of hearsayd's clock */
};

/* Reads STORE-MS, as the id of an event is written. False: the text is something else. */
bool live_place_read(const char *text, struct live_place *out_place);

/* The text of the event with the notices for a place (view_is_at). Owned by the caller; NULL: no
 * memory. */
char *live_event_house(const struct hearsay_house_notice *notices, size_t count,
                       const struct view *view, size_t *out_bytes);

/* A message that phones may show. */
struct live_known {
    uint8_t id[HEARSAY_ID_BYTES];
    int64_t deposited_ms;
    bool is_near; /* it was in the list by nearness */
    bool is_due;  /* it was not in the list: hearsayd is to be asked for it */
    uint32_t answer_count;
    bool is_untold; /* streams were told another answer_count */
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
    char store[LIVE_STORE_BYTES]; /* of what was sent; "": hearsayd was never there */
    struct live_stream *streams;
    struct board_watch *watch;      /* NULL: none */
    bool is_ending;                 /* it gave way: it is freed with its last stream */
    bool has_begun;                 /* the watch has */
    enum hearsay_acceptance accept; /* what pages were told; 0: not known yet */
    int64_t used_ms;                /* when a stream came last */
    int64_t watch_ms;               /* the watch is not begun before */
    int64_t pause_ms;               /* after the last refusal */
    struct live_known known[LIVE_KNOWN];
    size_t known_count;
    struct live_check checks[LIVE_CHECKS];
    int64_t list_ms;      /* when the list is looked at next */
    int64_t listed_ms;    /* when it was asked for last */
    int64_t new_ms;       /* by hearsayd's clock: what came since may be missing in the last list;
                             0: there was none */
    bool is_listing;      /* it is asked for */
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
    bool is_ending;             /* nothing is sent any more */
    int64_t since_ms;           /* gets messages of the list from that time on, once; 0: no */
    bool has_answers;           /* its page was told how many answers there are */
    bool has_notices;           /* its page was told notices_version */
    uint64_t notices_version;
    int64_t began_ms;
    int64_t alive_ms; /* when it got a sign of life last */
};

struct live {
    struct live_options options;
    uv_timer_t timer; /* rests while nothing is due */
    uv_timer_cb on_timer;
    int64_t timer_ms; /* when it ends; INT64_MAX: it rests */
    int64_t ticked_ms;
    bool is_stopping;
    int64_t away_ms; /* since when hearsayd is away; 0: it is there */
    struct live_view *views;
    struct fair_table holders; /* of streams */
    size_t stream_count;       /* those that are counted */
    bool has_offset;
    int64_t offset_ms; /* of hearsayd's clock to the loop's */
};

/* The text of the event that says how many answers known messages have: those that have some, or,
 * `is_change`, those whose number is another than streams were told. Owned by the caller; NULL:
 * there is no such message, or no memory. */
char *live_event_answers(const struct live_view *view, bool is_change, size_t *out_bytes);

int64_t live_now_ms(const struct live *live);

/* Sends an event, unless the stream is ending. */
void live_stream_send(struct live_stream *stream, const char *event, size_t bytes);
void live_stream_end(struct live_stream *stream);

/* Ends a stream that gives way to another one: its client gets nothing that waits. */
void live_stream_drop(struct live_stream *stream);

/* Stops counting a stream. */
void live_stream_leave(struct live_stream *stream);

/* The client loads its list again. */
void live_stream_send_gone(struct live_stream *stream);

/* Lets the timer end at `at_ms`, or earlier as planned. */
void live_wake(struct live *live, int64_t at_ms);

/* A tick comes soon: hearsayd has said something, or lacks something that a tick asks it for. */
void live_wake_soon(struct live *live);

/* The view for what a client looks at; `newcomer` is its stream, which is counted and in no view
 * yet. If all views are in use, one gives way: it is of those that hold most streams, and all of
 * its streams end. The views of all messages of a place always find one, and if there are more of
 * them than options.views, that many. NULL: no memory, or nobody holds as many streams as the
 * newcomer. */
struct live_view *live_view_find(struct live *live, const struct view *asked,
                                 const struct live_stream *newcomer);
void live_view_free(struct live_view *view);

/* Begins the watch of a view that has none, or sets the time of the next try. */
void live_view_watch(struct live_view *view);

/* If hearsayd has another store than before, all streams of the view load their list again. */
void live_view_check_store(struct live_view *view);

/* Looks at the list of a view if it is time, and something has streams. */
void live_list_tick(struct live_view *view, int64_t now_ms);

/* The list has changed: looks at it at once, or when LIVE_TICK_MS have passed since the last look.
 */
void live_list_changed(struct live_view *view);

/* A phone has answered, withdrawn or reported a message: as live_list_changed, if phones may show
 * it. */
void live_list_note_change(struct live_view *view, const uint8_t *id);

/* Lets pages look at their list, its form and its clock. */
void live_list_let_look(struct live_view *view);

/* If the host takes other deposits than before, lets pages look at their list and its form. If its
 * notices are others, sends them. */
void live_list_tell_host(struct live_view *view);

/* Ends what live_list_tick has asked for. */
void live_list_forget(struct live_view *view);
