/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inner: what the files of this folder share. Each file uses those below it:
 *
 *   watch.c            watches begin and end; turns
 *   pending.c catch.c  matches come from new deposits; from the store's pages
 *   queue.c            matches of a client: queued, looked up, sent
 *   watcher.c          clients that watch
 */
#ifndef DAEMON_WATCH_INNER_H
#define DAEMON_WATCH_INNER_H

#include "daemon/host/requester.h"
#include "daemon/host/service.h"
#include "daemon/limits/cost.h"
#include "daemon/watch/watch.h"

enum {
    WATCH_PAYLOADS = 16,             /* payloads that one read gets for one client */
    WATCH_PAGE = COST_PAGE_MESSAGES, /* messages of a page that is read for one watch */
    WATCH_READS = 4                  /* reads of pages at a time, of all watches */
};

/* A match that is not sent yet. */
struct watch_match {
    struct watch_match *prev, *next;
    struct watch *watch;
    struct standing_hit hit;
    int64_t seq;
    int64_t deposited_ms;
    uint64_t epoch;
    uint8_t id[MESSAGE_ID_BYTES];
    size_t bytes; /* upper bound of the frame it becomes; counts as queued */
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
    int64_t live_after; /* messages up to this number come from the store's pages, newer ones by
                         * matching. Grows while the watch catches up, with each match */
    struct watch_catch *catch; /* pages are still to be read; NULL: none are */
};

/* A page that is being read. It takes about 14 KiB, so only reads have one, not each watch. */
struct watch_page {
    struct watch_catch *catch;
    struct persist_read read;
    struct persist_entry entries[WATCH_PAGE];
};

/*
 * How far a watch has read. While a page is being read, it is on no list, and outlives its watch.
 * Otherwise it is on a list of service->watch: `paused` while its client has no room or no tokens,
 * else `catching`. So a turn looks only at those that can go on.
 */
struct watch_catch {
    struct watch_catch *prev, *next;
    struct service *service;
    struct watch *watch;      /* NULL: the watch has ended */
    struct requester *client; /* while a page is being read, else NULL */
    bool is_paused;
    int64_t caught;        /* number of the last message that was read */
    int64_t wanted;        /* the watch's live_after when the page was asked for */
    int64_t not_before_ms; /* monotonic: the client has no tokens for a page before */
};

/* A client that watches. */
struct watcher {
    struct watcher *prev, *next;             /* service->watch.watchers, until the client is gone */
    struct watcher *ready_prev, *ready_next; /* service->watch.ready */
    struct service *service;
    struct requester *client; /* NULL: gone */
    struct watch *watches;
    uint32_t filter_count;
    struct watch_match *queue;
    size_t queued_bytes;
    bool is_ready;
    bool has_failed; /* a match or a page found no memory. No match may be missing, so the next
                      * turn drops the client */
    struct watch_payloads *payloads; /* being read; NULL: none */
};

struct watch_payloads {
    struct watcher *watcher;
    struct requester *client;
    struct persist_read read;
    struct persist_entry entries[WATCH_PAYLOADS];
};

/* --- watcher.c -------------------------------------------------------------------------------- */

/* The watcher of a client, made with its first watch. NULL: out of memory. */
struct watcher *watcher_of(struct service *service, struct requester *client);

/* Puts a watcher on the list of those that have their turn to send, and takes it off. */
void watcher_make_ready(struct watcher *watcher);
void watcher_make_unready(struct watcher *watcher);

/* Frees the watcher when its client is gone and no payloads are being read. */
void watcher_free_if_unused(struct watcher *watcher);

/* --- queue.c ---------------------------------------------------------------------------------- */

/* Queues a match. False: out of memory or over a limit; the client was dropped, or will be. */
bool watch_queue(struct watch *watch, const struct watch_match *match, size_t content_bytes);

/* Removes all queued matches of a watch. */
void watch_forget_matches(struct watch *watch);

/* Sends the matches that the client has room for, at most `most`. Returns how many. May drop the
 * client, which frees nothing before the loop's sessions_reap. */
uint32_t watch_send(struct watcher *watcher, uint32_t most);

/* --- catch.c ---------------------------------------------------------------------------------- */

/* Begins to read the messages after a position. Without memory watch->catch stays NULL. */
void watch_catch_begin(struct watch *watch, int64_t after);

/* Ends the reading of a watch. */
void watch_catch_end(struct watch *watch);

/* Reads the next pages of watches whose clients have room and tokens. */
void watch_catch_turn(struct service *service);

/* The client may have room again: resumes its watches. O(watches of the client). */
void watch_catch_resume(const struct watcher *watcher);

/* Once a second: clients may have tokens again. O(paused watches). */
void watch_catch_tick(struct service *service);

/* --- pending.c -------------------------------------------------------------------------------- */

/* Matches deposits that wait, up to the limits of a turn, and queues the matches. */
void watch_match_pending(struct service *service);

/* Frees all deposits that wait. */
void watch_forget_pending(struct service *service);

#endif
