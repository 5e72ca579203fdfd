/* SPDX-License-Identifier: Apache-2.0 */
/*
 * web_live_fixture: live updates without a network: it plays hearsayd, HTTP and the loop's clock.
 * Time moves on when a test says so (web_live_pass), and so do watches and lists.
 */
#pragma once

#include "client/web/live.h"

enum {
    WEB_LIVE_VIEWS = 64,
    WEB_LIVE_STREAMS_MAX = 300,
    WEB_LIVE_SENT_BYTES = 64 * 1024,
    WEB_LIVE_WATCHES_MAX = 600,
    WEB_LIVE_LISTED_MAX = 40
};

struct http_exchange {
    unsigned status; /* of an answer; 200 for a stream */
    uint32_t retry_after_s;
    struct http_stream *stream;
};

struct http_stream {
    http_stream_closed *closed;
    void *context;
    char sent[WEB_LIVE_SENT_BYTES];
    size_t count;
    size_t room; /* that is left of the queue */
    bool is_ended;
    bool is_closed;
};

struct board_watch {
    const struct board_watch_events *events;
    void *context;
    bool is_over;
};

/* What a test sees and sets. */
struct web_live {
    struct live *live;
    struct view plain;            /* a view of everything */
    char store[LIVE_STORE_BYTES]; /* the digits that ids of events begin with */
    uint64_t clock_ms;
    int64_t offset_ms; /* of hearsayd's clock to the loop's */
    bool timer_runs;
    uint64_t timer_ms;                                /* when it ends */
    size_t timer_count;                               /* how often it has ended */
    struct http_stream streams[WEB_LIVE_STREAMS_MAX]; /* all that were begun */
    size_t stream_count;
    struct board_watch watches[WEB_LIVE_WATCHES_MAX]; /* all that were begun */
    size_t watch_count;
    bool has_too_many; /* watches: hearsayd takes no other */
    bool is_connected;
    struct hearsay_welcome welcome;
    struct board_message listed[WEB_LIVE_LISTED_MAX]; /* as web_live_set_list wrote them */
    size_t list_count;                                /* how often a list was asked for */
    uint8_t gone_id;       /* the first byte of the id of a message that is not there */
    uint8_t gone_last;     /* so are those up to this one */
    size_t get_count;      /* how often a message was asked for */
    uint32_t answers[256]; /* how many each message has */
};

extern struct web_live web_live;

/* For cmocka: 8 streams, 2 of an address, WEB_LIVE_VIEWS views; hearsayd is connected. At the end
 * no stream and no watch may be left. */
int web_live_setup(void **state);
int web_live_teardown(void **state);

/* Lets time go on. */
void web_live_pass(int64_t ms);

/* A phone has answered the message m`number`, as web_live.answers says, or has withdrawn it. */
void web_live_write(unsigned number);

/* hearsayd has said something. */
void web_live_say(void);

/* A phone asks for a view; `last`: its Last-Event-ID, or NULL. */
struct http_exchange web_live_ask(unsigned phone, const struct view *view, const char *last);

/* A phone gets a stream of the plain view; `last`: its Last-Event-ID, or NULL. */
struct http_stream *web_live_open(unsigned phone, const char *last);

/* The id of the last event of a stream that has one. Lives until the next call. */
const char *web_live_last_id(const struct http_stream *stream);

/* The phone closes its stream. */
void web_live_close(struct http_stream *stream);

/* As the loop does when it turns: who was ended is closed. */
void web_live_reap(void);

/* What a stream got, in short: m and the number of a message, G for gone, : for a sign of life, -01
 * for a message that went, 01=2 for a message with two answers. Checks the ids of the events.
 * Returns a text that lives until the next call.
 */
const char *web_live_got(const struct http_stream *stream);

/* hearsayd begins the last watch, tells it of a message, or ends it. */
void web_live_watch_begins(void);
void web_live_watch_matches(void);
void web_live_watch_ends(void);

/* hearsayd answers lists at once from now on; until then lists wait for ever. The list has these
 * messages, as m1, m2 ..., of ids 1, 2 ..., the newest first. Those that were in no list before are
 * deposited now, the last one first and a millisecond between two. */
void web_live_set_list(size_t count, const unsigned *numbers, bool has_older);

/* A message is left: the list has it first, and the last watch tells of it. */
void web_live_leave(unsigned number);

/* The list by nearness has the message m`number` only. */
void web_live_set_near(unsigned number);
