/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/ask/inner.h"

bool shuffle_add(struct shuffle *shuffle, void *item)
{
    if (shuffle->count == SHUFFLE_MAX) {
        return false;
    }
    shuffle->items[shuffle->count++] = item;
    return true;
}

int64_t shuffle_due_ms(const struct shuffle *shuffle)
{
    return shuffle->count == 0 ? INT64_MAX : shuffle->closed_until_ms;
}

size_t shuffle_take(struct shuffle *shuffle, int64_t now_ms, uint32_t (*random_below)(uint32_t n),
                    void **out)
{
    size_t count = shuffle->count;

    if (count == 0 || now_ms < shuffle->closed_until_ms) {
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        size_t at = random_below((uint32_t)(count - i));

        out[i] = shuffle->items[at];
        shuffle->items[at] = shuffle->items[count - i - 1];
    }
    shuffle->count = 0;
    shuffle->closed_until_ms = now_ms + SHUFFLE_MS;
    return count;
}

void shuffle_remove(struct shuffle *shuffle, const void *item)
{
    for (size_t i = 0; i < shuffle->count; i++) {
        if (shuffle->items[i] == item) {
            shuffle->items[i] = shuffle->items[--shuffle->count];
            return;
        }
    }
}
