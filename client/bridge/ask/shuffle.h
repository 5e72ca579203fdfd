/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shuffle: the order in which asks go out. The first ask after a pause goes out at once. Asks that
 * come within SHUFFLE_MS of the last that went out wait until this time is over, and then go out in
 * random order. So their order on the wire does not show which of them one phone has sent. No I/O,
 * no clock.
 */
#ifndef CLIENT_BRIDGE_ASK_SHUFFLE_H
#define CLIENT_BRIDGE_ASK_SHUFFLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SHUFFLE_MS = 50, SHUFFLE_MAX = 64 };

/* Zeroed: empty. */
struct shuffle {
    void *items[SHUFFLE_MAX]; /* borrowed */
    size_t count;
    int64_t closed_until_ms;
};

/* Adds an item. False: there are SHUFFLE_MAX already. */
bool shuffle_add(struct shuffle *shuffle, void *item);

/* Returns when items can be taken: a time in the past, or of `now_ms` on. INT64_MAX: never, there
 * are none. */
int64_t shuffle_due_ms(const struct shuffle *shuffle);

/*
 * Takes all items, if it is time, and writes them in random order to `out` (SHUFFLE_MAX). Returns
 * how many. random_below(n) returns a number below n.
 */
size_t shuffle_take(struct shuffle *shuffle, int64_t now_ms, uint32_t (*random_below)(uint32_t n),
                    void **out);

/* Takes an item out; does nothing if it is not there. */
void shuffle_remove(struct shuffle *shuffle, const void *item);

#endif
