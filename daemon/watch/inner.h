/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inner: declarations that the files of this folder share. Each file in the list calls only files
 * below it:
 *
 *   watch.c            watches begin and end; turns
 *   pending.c catch.c  find matches: of new deposits; of messages on pages of the store
 *   queue.c            queues the matches of a client, looks their messages up, sends them
 *   watcher.c          clients that watch
 */
#pragma once

#include "daemon/limits/cost.h"
#include "daemon/watch/watch.h"

enum {
    WATCH_PAYLOADS = 16, /* at most so many payloads are read at a time for one client */
    WATCH_PAGE = COST_PAGE_MESSAGES, /* messages of a page that is read for one watch */
    WATCH_READS = 4 /* at most so many pages are read at a time, for all watches together */
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
    size_t bytes; /* upper bound of the size of the match's frame */
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
    /* A watch that catches up gets messages with numbers up to `live_after` from the store's pages.
     * A message with a higher number is compared in a turn after its deposit. If such a message
     * matches while the watch catches up, `live_after` becomes its number, and a page brings the
     * message. */
    int64_t live_after;
    struct watch_catch *catch; /* pages are still to be read; NULL: none are */
};

/* A page that is being read. It takes more than 10 KiB, so it exists only while a read is under
 * way. */
struct watch_page {
    struct watch_catch *catch;
    struct persist_read read;
    struct persist_entry entries[WATCH_PAGE];
};

/*
 * The state of a watch that catches up. While a page is being read, the state is on no list, and
 * may outlive its watch. Otherwise the state is on a list of service->watch: on `catching`, whose
 * pages watch_catch_turn reads; or on `paused`, if no page could be read at the last try.
 */
struct watch_catch {
    struct watch_catch *prev, *next;
    struct service *service;
    struct watch *watch;      /* NULL: the watch has ended */
    struct requester *client; /* while a page is being read, else NULL */
    bool is_paused;
    int64_t caught;        /* all messages up to this number have been read */
    int64_t wanted;        /* live_after of the watch at the time when the page was asked for */
    int64_t not_before_ms; /* monotonic: earlier, the client has no tokens for a page */
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
    /* There was no memory for a match, for a page of the store, or for a deposit in the index of a
     * host. The next turn drops the client, because it would miss a match. */
    bool has_failed;
    struct watch_payloads *payloads; /* being read; NULL: none */
};

struct watch_payloads {
    struct watcher *watcher;
    struct requester *client;
    struct persist_read read;
    struct persist_entry entries[WATCH_PAYLOADS];
};

/* --- watcher.c -------------------------------------------------------------------------------- */

/* Returns the watcher of a client. The first call for a client makes the watcher. NULL: out of
 * memory. */
struct watcher *watcher_of(struct service *service, struct requester *client);

/* The list `ready` has the watchers that wait for their turn to send. watcher_make_ready adds a
 * watcher to the end of the list. watcher_make_unready removes a watcher. */
void watcher_make_ready(struct watcher *watcher);
void watcher_make_unready(struct watcher *watcher);

/* Frees the watcher if its client is gone and no payloads are being read for it. */
void watcher_free_if_unused(struct watcher *watcher);

/*
 * What a message is for the standing queries of its host, without the filter. An answer is for the
 * watches of its parent only, whatever its reach.
 */
struct standing_deposit watch_deposit(const struct host *host,
                                      const struct persist_message *message);

/* --- queue.c ---------------------------------------------------------------------------------- */

/*
 * Queues a copy of a match, unless memory has run out, or more than session_output is queued for
 * the client already. In both cases the next turn drops the client.
 */
void watch_queue(struct watch *watch, const struct watch_match *match, size_t content_bytes);

/* Removes all queued matches of a watch. */
void watch_forget_matches(struct watch *watch);

/* Takes at most `most` matches off the queue of a client, and only while little output waits to be
 * sent to this client. Sends each match whose message is still there. Returns the number of matches
 * that it took. May drop the client, but does not free it. */
uint32_t watch_send(struct watcher *watcher, uint32_t most);

/* --- catch.c ---------------------------------------------------------------------------------- */

/* Begins to read the stored messages with numbers above `after` for a watch. Without memory
 * watch->catch stays NULL. */
void watch_catch_begin(struct watch *watch, int64_t after);

/* Ends the reading of a watch. */
void watch_catch_end(struct watch *watch);

/* Begins to read the next pages, at most WATCH_READS at a time, for watches on `catching` whose
 * clients have no queued match, little waiting output and enough tokens. The other watches that it
 * looks at become paused. */
void watch_catch_turn(struct service *service);

/* Lets the paused watches of a client go on. O(watches of the client). */
void watch_catch_resume(const struct watcher *watcher);

/* Lets all paused watches go on, because clients may have tokens again. O(paused watches). */
void watch_catch_tick(struct service *service);

/* --- pending.c -------------------------------------------------------------------------------- */

/* Matches the deposits that were committed and wait in the list `pending`, up to the limits of a
 * turn. Queues the matches. */
void watch_match_pending(struct service *service);

/* Frees all deposits that wait. */
void watch_forget_pending(struct service *service);
