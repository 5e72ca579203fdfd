/* SPDX-License-Identifier: Apache-2.0 */
/* watch_parts: what the files of watch share. Included by watch*.c only. */
#ifndef DAEMON_WATCH_INNER_H
#define DAEMON_WATCH_INNER_H

#include "daemon/handler/handler.h"
#include "daemon/host/service.h"
#include "daemon/limits/cost.h"
#include "daemon/watch/watch.h"

enum {
    WATCH_PAYLOADS = 16,             /* read at a time for one client */
    WATCH_PAGE = COST_PAGE_MESSAGES, /* messages of a page that is read for one watch */
    WATCH_READS = 4                  /* pages under way */
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

struct watch {
    struct watch *prev, *next; /* watcher->watches */
    struct watcher *watcher;
    struct host *host;
    uint64_t number;
    uint32_t filter_count;
    struct standing_query *query;
    bool with_payload;
    int64_t since_ms;
    int64_t live_after; /* what is newer comes by matching, the rest from the store; grows with
                         * each message that matches while the watch catches up */

    struct watch_catch *catch; /* some of that rest is still to be read; NULL: none */
};

/* A page under way: about 14 KiB, so there is one for each read and not for each watch. */
struct watch_page {
    struct watch_catch *catch;
    struct persist_read read;
    struct persist_entry entries[WATCH_PAGE];
};

/*
 * What a watch still reads. It outlives the watch while a page is under way. Unless one is, it is
 * on a list of service->watch: `catching`, or `paused` while its client has no room or no tokens.
 * So a turn looks only at those that can go on, however many there are.
 */
struct watch_catch {
    struct watch_catch *prev, *next;
    struct service *service;
    struct watch *watch;           /* NULL: it is over */
    struct handler_client *client; /* while a page is under way, else NULL */
    bool is_paused;
    int64_t caught;        /* up to here it was read */
    int64_t wanted;        /* the watch's live_after when the page was asked for */
    int64_t not_before_ms; /* monotonic: its client has no tokens for a page until then */
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
    bool has_failed; /* no memory for a match or a page: no match may be missing, so the next turn
                      * drops the client */
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

/* ---- watch_queue.c ---- */

/* Queues a match. False: there is no memory, or too much is queued; the client was dropped, or will
 * be. */
bool watch_queue(struct watch *watch, const struct watch_match *match, size_t content_bytes);

/* Forgets all matches of a watch. */
void watch_forget_matches(struct watch *watch);

/* Sends as many as there is room for, about `most`. How many. */
uint32_t watch_send(struct watcher *watcher, uint32_t most);

void watcher_make_ready(struct watcher *watcher);
void watcher_make_unready(struct watcher *watcher);

/* ---- watch_catch.c ---- */

/* Begins to read what came after a position. */
void watch_catch_begin(struct watch *watch, int64_t after);

/* It is not to be read any further. */
void watch_catch_end(struct watch *watch);

/* Reads go on where there is room. */
void watch_catch_turn(struct service *service);

/* The client may have room again: its watches go on. O(watches of the client). */
void watch_catch_resume(const struct watcher *watcher);

/* Once a second: clients may have tokens again. O(watches that are paused). */
void watch_catch_tick(struct service *service);

#endif
