/* SPDX-License-Identifier: Apache-2.0 */
/* watch_parts: what the files of watch share. Included by watch*.c only. */
#ifndef DAEMON_WATCH_PARTS_H
#define DAEMON_WATCH_PARTS_H

#include "daemon/handler.h"
#include "daemon/service.h"
#include "daemon/watch.h"

enum {
    WATCH_PAYLOADS = 16, /* read at a time for one client */
    WATCH_PAGE = 64,     /* messages of a page that is read for one watch */
    WATCH_READS = 4      /* pages under way */
};

/* A match on its way. */
struct watch_match {
    struct watch_match *prev, *next;
    struct watch *watch;
    struct standing_hit hit;
    int64_t seq;
    int64_t deposited_ms;
    uint64_t epoch;
    uint8_t id[MESSAGE_ID_BYTES];
    size_t bytes; /* of the frame that it will be, at most: what it is counted as */
};

/* Messages, in no order. */
struct watch_had {
    struct {
        uint8_t id[MESSAGE_ID_BYTES];
        int64_t deposited_ms;
    } * messages; /* owned: count of room */
    uint32_t count, room;
};

struct watch {
    struct watch *prev, *next; /* watcher->watches */
    struct watcher *watcher;
    struct host *host;
    uint64_t number;
    uint32_t filter_count;
    struct standing_query *query;
    bool with_payload;
    int64_t since_ms;
    int64_t live_after;   /* what is newer comes by matching, the rest from the store */
    int64_t after;        /* ... as far as it is newer than this */
    bool resumes;         /* its client has named that place */
    struct watch_had had; /* hidden messages that were pushed before: not again when shown */

    struct watch_catch *catch; /* some of that rest is still to be read; NULL: none */
    struct watch_match *held;  /* matched, and newer than what is still to be read */
    bool holds_again;          /* among these: messages that are shown again */
};

/* What a watch still reads. It outlives the watch while a page is under way. */
struct watch_catch {
    struct watch_catch *prev, *next; /* service->watch.catching, unless a page is under way */
    struct service *service;
    struct watch *watch;           /* NULL: it is over */
    struct handler_client *client; /* while a page is under way, else NULL */
    int64_t caught;                /* up to here it was read */
    struct persist_read read;
    struct persist_entry entries[WATCH_PAGE];
};

/* A client that watches. */
struct watcher {
    struct watcher *prev, *next;             /* service->watch.watchers, until the client is gone */
    struct watcher *ready_prev, *ready_next; /* service->watch.ready */
    struct service *service;
    struct handler_client *client; /* NULL: gone */
    struct watch *watches;
    uint32_t filter_count;
    struct watch_match *queue;
    size_t queued_bytes;
    bool is_ready;
    bool has_failed; /* a match could not be queued: nothing may be missing, so it is dropped */
    struct watch_payloads *payloads; /* being read; NULL: none */
    uint32_t users; /* calls and reads that will come back to it: freed when none, and gone */
};

struct watch_payloads {
    struct watcher *watcher;
    struct handler_client *client;
    struct persist_read read;
    struct persist_entry entries[WATCH_PAYLOADS];
};

/* ---- watch.c ---- */

/* A user is done; the last one of a gone client's watcher frees it. */
void watcher_leave(struct watcher *watcher);

/* Frees a watch that is over. */
void watch_free(struct watch *watch);

/* Whether the host has watches. */
bool watch_is_watched(const struct host *host);

/* Whether a message of the host is shown again, and waits to be matched. */
bool watch_is_coming_again(const struct service *service, const struct host *host,
                           const uint8_t *id);

/* Forgets a message that waits to be matched; false: there is none. */
bool watch_forget_pending(struct service *service, const struct host *host, const uint8_t *id);

/* ---- watch_queue.c ---- */

/*
 * Queues a match: for a watch that catches up behind what it still reads. False: there is no
 * memory, or too much is queued; the client was dropped, or will be.
 */
bool watch_queue(struct watch *watch, const struct watch_match *match, size_t content_bytes);

/* What was held goes to the queue. */
void watch_release_held(struct watch *watch);

/* Forgets all matches of a watch. */
void watch_forget_matches(struct watch *watch);

/* Sends as many as there is room for, about `most`. How many. */
uint32_t watch_send(struct watcher *watcher, uint32_t most);

void watcher_make_ready(struct watcher *watcher);
void watcher_make_unready(struct watcher *watcher);

/* Whether a match of this very message is held. */
bool watch_holds(const struct watch *watch, const struct persist_message *message);

/* Forgets the match of one message; false: there was none. */
bool watch_forget_match(struct watch *watch, const uint8_t *id);

/* ---- watch_hide.c ---- */

/* Whether a message that is shown again is to be pushed; seq: its own place. Asked once for it. */
bool watch_wants_again(struct watch *watch, const uint8_t *id, int64_t deposited_ms, int64_t seq);

void watch_had_deinit(struct watch *watch);

/* ---- watch_catch.c ---- */

/* Begins to read what came after a position. */
void watch_catch_begin(struct watch *watch, int64_t after);

/* Whether a place is still to be read. */
bool watch_is_to_catch(const struct watch *watch, int64_t seq);

/* It is not to be read any further. */
void watch_catch_end(struct watch *watch);

/* Reads go on where there is room. */
void watch_catch_turn(struct service *service);

#endif
