/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feed: what waits for the changes of a host. A request Changes waits until the host has a change.
 * The answer to a deposit waits until a bridge has said that the copies have the message. All
 * functions are called on the loop thread.
 */
#pragma once

#include "daemon/host/requester.h"
#include "daemon/host/service.h"

enum {
    FEED_READERS = 192, /* requests Changes that wait, of all hosts */
    FEED_COPIES = 10000 /* answers to deposits that wait, of all hosts */
};

/* One request that waits. The caller fills in the first five fields. */
struct feed_wait {
    struct host *host;
    struct requester *client;
    int64_t until_ms; /* monotonic */
    uint64_t number;  /* change: host->feed.turn that the caller has seen; copies: the number that
                         the copies shall have */
    /*
     * The wait is over. is_there: the host has a change, or the copies have the number. May free
     * the struct, and may begin another wait.
     */
    void (*done)(struct feed_wait *wait, bool is_there);
    struct feed_wait *prev, *next;
};

/* A host may have a change: an operation of the store that can change it is done. */
void feed_changed(struct service *service, struct host *host);

/*
 * feed_await_change begins to wait for a change, feed_await_copies for the copies. The waits of a
 * host for copies end in the order in which they began. Both return false and do nothing if too
 * much waits or the service stops.
 */
bool feed_await_change(struct service *service, struct feed_wait *wait);
bool feed_await_copies(struct service *service, struct feed_wait *wait);

/*
 * A bridge that has read the changes up to `after` says that the copies have all changes up to
 * `number`. The copies have all messages up to the number of an answer without `more`: behind
 * another answer may be the change of a message whose own number is lower. A bridge that reads
 * again what the copies had does not trust the copies, and what is known about them is forgotten.
 */
void feed_replicated(struct service *service, struct host *host, uint64_t after, uint64_t number);

/* Ends waits for changes that are there, waits whose time is over, and waits of clients that have
 * gone. Call in each turn. */
void feed_turn(struct service *service);

/* Returns when feed_turn has to be called again: monotonic; INT64_MAX: nothing waits. */
int64_t feed_next_ms(const struct service *service);
