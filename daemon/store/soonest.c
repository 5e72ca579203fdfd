/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/numbers.h"

#include <stdlib.h>
#include <string.h>

/*
 * ROOM_MAX: while the list is filled, it may have twice as many entries as later. So the list is
 * sorted and cut once for each STORE_SOONEST_ROOM entries that it takes.
 */
enum { ROOM_MIN = 64, ROOM_MAX = 2 * STORE_SOONEST_ROOM };

static int soon_compare(const void *left, const void *right)
{
    const struct store_soon *a = left;
    const struct store_soon *b = right;

    if (a->expires_ms != b->expires_ms) {
        return a->expires_ms < b->expires_ms ? -1 : 1;
    }
    return a->seq < b->seq ? -1 : a->seq > b->seq;
}

void store_soonest_deinit(struct store_soonest *list)
{
    free(list->entries);
    memset(list, 0, sizeof(*list));
}

void store_soonest_clear(struct store_soonest *list)
{
    list->first = list->count = 0;
    list->is_cut = true;
}

/* Makes room for one more entry behind the last one. */
static bool make_room(struct store_soonest *list)
{
    if (list->first + list->count < list->room) {
        return true;
    }
    if (list->first > 0) {
        memmove(list->entries, list->entries + list->first, list->count * sizeof(*list->entries));
        list->first = 0;
        return true;
    }
    size_t room = list->room == 0 ? ROOM_MIN : 2 * list->room;
    struct store_soon *entries = realloc(list->entries, room * sizeof(*entries));
    if (entries == NULL) {
        return false;
    }
    list->entries = entries;
    list->room = room;
    return true;
}

/* Returns the place of the first entry that does not come before `entry`. */
static size_t find_place(const struct store_soonest *list, const struct store_soon *entry)
{
    size_t low = list->first;
    size_t high = list->first + list->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (soon_compare(&list->entries[middle], entry) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

void store_soonest_add(struct store_soonest *list, struct store_soon entry)
{
    if (list->is_cut && (list->count == 0 ||
                         soon_compare(&list->entries[list->first + list->count - 1], &entry) < 0)) {
        return;
    }
    if (!make_room(list)) {
        store_soonest_clear(list);
        return;
    }
    size_t place = find_place(list, &entry);
    size_t behind = list->first + list->count - place;
    memmove(&list->entries[place + 1], &list->entries[place], behind * sizeof(entry));
    list->entries[place] = entry;
    list->count++;
    if (list->count > STORE_SOONEST_ROOM) {
        list->count--;
        list->is_cut = true;
    }
}

void store_soonest_remove(struct store_soonest *list, struct store_soon entry)
{
    size_t place = find_place(list, &entry);
    size_t end = list->first + list->count;

    if (place == end || soon_compare(&list->entries[place], &entry) != 0) {
        return;
    }
    list->count--;
    if (place == list->first) {
        list->first++;
    } else {
        memmove(&list->entries[place], &list->entries[place + 1],
                (end - place - 1) * sizeof(entry));
    }
}

/* --- filling ---------------------------------------------------------------------------------- */

void store_soonest_end(struct store_soonest *list)
{
    if (list->count > 0) {
        qsort(list->entries, list->count, sizeof(*list->entries), soon_compare);
    }
    if (list->count > STORE_SOONEST_ROOM) {
        list->count = STORE_SOONEST_ROOM;
        list->bound = list->entries[STORE_SOONEST_ROOM - 1];
        list->is_cut = true;
    }
}

void store_soonest_begin(struct store_soonest *list)
{
    list->first = list->count = 0;
    list->is_cut = false;
}

bool store_soonest_offer(struct store_soonest *list, struct store_soon entry)
{
    if (list->is_cut && soon_compare(&list->bound, &entry) < 0) {
        return true;
    }
    if (list->count == ROOM_MAX) {
        store_soonest_end(list);
    }
    if (!make_room(list)) {
        return false;
    }
    list->entries[list->count++] = entry;
    return true;
}
