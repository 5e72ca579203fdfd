/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_soonest: the messages of a host that expire soonest, at most STORE_SOONEST_ROOM of them,
 * sorted. The list may be cut: then the host has further messages, which all come after the entries
 * of the list. When a cut list has become too short, the caller fills the list again from all
 * messages, which is O(messages).
 *
 * One thread uses a store_soonest. A zeroed one is the list of a host without messages.
 */
#ifndef DAEMON_STORE_SOONEST_H
#define DAEMON_STORE_SOONEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STORE_SOONEST_ROOM = 1024 };

struct store_soon {
    int64_t expires_ms;
    int64_t seq;
};

struct store_soonest {
    struct store_soon *entries; /* owned; sorted by expires_ms, then by seq */
    size_t first;               /* place of the first entry */
    size_t count;
    size_t room;
    bool is_cut;
    struct store_soon
        bound; /* while the list is filled: a cut list takes no entry after this one */
};

void store_soonest_deinit(struct store_soonest *list);

/* A new message. If there is no memory, the list becomes empty and cut. */
void store_soonest_add(struct store_soonest *list, struct store_soon entry);

/* The message is deleted. Does nothing if the list does not have the message. */
void store_soonest_remove(struct store_soonest *list, struct store_soon entry);

/* Makes the list empty and cut. */
void store_soonest_clear(struct store_soonest *list);

/*
 * To fill a list, call store_soonest_begin, store_soonest_offer for every message of the host in
 * any order, and store_soonest_end. Returns false if there is no memory: call store_soonest_clear.
 */
void store_soonest_begin(struct store_soonest *list);
bool store_soonest_offer(struct store_soonest *list, struct store_soon entry);
void store_soonest_end(struct store_soonest *list);

#endif
