/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/run.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(struct store_number) == 14, "no padding");

static const int64_t expires_max = (INT64_C(1) << 42) - 1;

struct store_number store_number_make(uint32_t hash, int64_t seq, int64_t expires_ms)
{
    int64_t expires = expires_ms < 0 ? 0 : expires_ms > expires_max ? expires_max : expires_ms;

    return (struct store_number){
        .low = (uint64_t)seq | (uint64_t)(hash & 0xffffff) << 40,
        .middle = (uint32_t)(expires & 0xffffffff),
        .high = (uint16_t)((uint32_t)(expires >> 32) | hash >> 24 << 10),
    };
}

static uint32_t number_hash(const struct store_number *number)
{
    return (uint32_t)(number->low >> 40) | (uint32_t)(number->high >> 10 & 0x1f) << 24;
}

static int64_t number_seq(const struct store_number *number)
{
    return (int64_t)(number->low & (uint64_t)STORE_NUMBER_MAX);
}

struct store_soon store_number_soon(const struct store_number *number)
{
    return (struct store_soon){(int64_t)((uint64_t)(number->high & 0x3ff) << 32 | number->middle),
                               number_seq(number)};
}

int store_number_compare(const void *left, const void *right)
{
    uint32_t a = number_hash(left);
    uint32_t b = number_hash(right);

    return a < b ? -1 : a > b;
}

/* --- runs ------------------------------------------------------------------------------------- */

bool store_run_resize(struct store_run *run, size_t room)
{
    size_t most = room > 0 ? room : 1;
    struct store_number *items = realloc(run->items, most * sizeof(*items));

    if (items == NULL) {
        return false;
    }
    run->items = items;
    run->room = most;
    return true;
}

bool store_run_make_room(struct store_run *run)
{
    return run->count < run->room || store_run_resize(run, run->count + run->count / 2 + 64);
}

/*
 * Returns the first of the `count` places whose hash is not smaller than `hash`, or `count`. The
 * search begins at `guess`, at most `count`, doubles its steps until the place lies between `low`
 * and `high`, and halves the rest. O(log(the error of the guess))
 */
static size_t place_near(const struct store_number *items, size_t count, uint32_t hash,
                         size_t guess)
{
    size_t low = guess;
    size_t high = guess;
    size_t step;

    for (step = 16; low > 0 && number_hash(&items[low - 1]) >= hash; step *= 2) {
        high = low - 1;
        low = low > step ? low - step : 0;
    }
    for (step = 16; high < count && number_hash(&items[high]) < hash; step *= 2) {
        low = high + 1;
        high = count - high > step ? high + step : count;
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (number_hash(&items[middle]) < hash) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* As place_near. The guess assumes that the hashes are evenly distributed. O(log(run->count)) in
 * expectation. */
static size_t run_place(const struct store_run *run, uint32_t hash)
{
    uint64_t guess = (uint64_t)hash * run->count / ((uint64_t)STORE_HASH_MASK + 1);

    return place_near(run->items, run->count, hash, (size_t)guess);
}

void store_run_insert(struct store_run *run, const struct store_number *number)
{
    size_t place = run_place(run, number_hash(number));

    memmove(&run->items[place + 1], &run->items[place], (run->count - place) * sizeof(*number));
    run->items[place] = *number;
    run->count++;
}

int64_t store_run_next(const struct store_run *run, uint32_t hash, int64_t after, bool with_gone,
                       int64_t best)
{
    for (size_t i = run_place(run, hash); i < run->count && number_hash(&run->items[i]) == hash;
         i++) {
        int64_t seq = number_seq(&run->items[i]);

        if (seq > after && seq < best && (with_gone || !store_number_is_gone(&run->items[i]))) {
            best = seq;
        }
    }
    return best;
}

struct store_number *store_run_find(const struct store_run *run, uint32_t hash, int64_t seq)
{
    for (size_t i = run_place(run, hash); i < run->count && number_hash(&run->items[i]) == hash;
         i++) {
        if (number_seq(&run->items[i]) == seq) {
            return &run->items[i];
        }
    }
    return NULL;
}

void store_run_sweep(struct store_run *run, bool drops_gone, int64_t first)
{
    size_t kept = 0;

    for (size_t i = 0; i < run->count; i++) {
        const struct store_number *number = &run->items[i];

        if (number_seq(number) < first && !(drops_gone && store_number_is_gone(number))) {
            run->items[kept++] = *number;
        }
    }
    run->count = kept;
}

bool store_run_merge(struct store_run *old, struct store_run *fresh)
{
    size_t from = old->count;
    size_t to = old->count + fresh->count;

    if (!store_run_resize(old, to)) {
        return false;
    }
    old->count = to;
    while (fresh->count > 0) {
        const struct store_number *last = &fresh->items[--fresh->count];
        /* Hashes are evenly distributed: about this number of places of `old` come after `last`. */
        size_t after = from / (fresh->count + 2);
        size_t place = place_near(old->items, from, number_hash(last) + 1, from - after);

        to -= from - place;
        memmove(&old->items[to], &old->items[place], (from - place) * sizeof(*last));
        old->items[--to] = *last;
        from = place;
    }
    return true;
}
