/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/numbers.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/least.h"

_Static_assert(sizeof(struct store_number) == 14, "no padding");

enum {
    BUCKET_NUMBERS = 32, /* a bucket has at most this number of numbers on average */
    BUCKET_BITS_MAX = 24,
    LARGE_BUCKET = 8 * BUCKET_NUMBERS,
    FRESH_ROOM_MIN = 64
};

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

uint32_t store_number_hash(const struct store_number *number)
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
    return run->count < UINT32_MAX &&
           (run->count < run->room || store_run_resize(run, run->count + run->count / 2 + 64));
}

static uint32_t bucket_of(const struct store_run *run, uint32_t hash)
{
    return hash >> (STORE_HASH_BITS - run->bucket_bits);
}

static size_t bucket_count(const struct store_run *run)
{
    return (size_t)1 << run->bucket_bits;
}

/* Sets `starts`, which has its size. */
static void fill_starts(struct store_run *run)
{
    size_t bucket = 0;

    for (size_t i = 0; i < run->count; i++) {
        while (bucket <= bucket_of(run, store_number_hash(&run->items[i]))) {
            run->starts[bucket++] = (uint32_t)i;
        }
    }
    while (bucket <= bucket_count(run)) {
        run->starts[bucket++] = (uint32_t)run->count;
    }
}

/* Makes the buckets anew if there are too few of them for the numbers. Without memory the run keeps
 * its larger buckets. */
static void divide_run(struct store_run *run)
{
    unsigned bits = 0;

    while (bits < BUCKET_BITS_MAX && run->count >> bits > BUCKET_NUMBERS) {
        bits++;
    }
    if (run->starts != NULL && bits <= run->bucket_bits) {
        return;
    }
    uint32_t *starts = realloc(run->starts, (((size_t)1 << bits) + 1) * sizeof(*starts));
    if (starts != NULL) {
        run->starts = starts;
        run->bucket_bits = bits;
        fill_starts(run);
    }
}

static int compare_hashes(const void *left, const void *right)
{
    uint32_t a = store_number_hash(left);
    uint32_t b = store_number_hash(right);

    return a < b ? -1 : a > b;
}

/*
 * Copies the numbers from `from` to `to`, sorted by SORT_BITS bits of their hashes from the bit
 * `shift` on. Numbers with equal bits stay in their order, so that sorting by the lowest bits first
 * and by the highest bits last sorts by the hash.
 */
enum { SORT_BITS = 10, SORT_VALUES = 1 << SORT_BITS };

static void sort_by_bits(const struct store_number *from, size_t count, unsigned shift,
                         struct store_number *to)
{
    size_t places[SORT_VALUES] = {0};
    size_t place = 0;

    for (size_t i = 0; i < count; i++) {
        places[store_number_hash(&from[i]) >> shift & (SORT_VALUES - 1)]++;
    }
    for (size_t value = 0; value < SORT_VALUES; value++) {
        size_t numbers = places[value];

        places[value] = place;
        place += numbers;
    }
    for (size_t i = 0; i < count; i++) {
        to[places[store_number_hash(&from[i]) >> shift & (SORT_VALUES - 1)]++] = from[i];
    }
}

/* Sorts `items` with the help of as many items of memory in `spare`. Returns the one of the two
 * that has the sorted numbers. */
static struct store_number *sort_numbers(struct store_number *items, size_t count,
                                         struct store_number *spare)
{
    for (unsigned shift = 0; shift < STORE_HASH_BITS; shift += SORT_BITS) {
        struct store_number *from = items;

        sort_by_bits(from, count, shift, spare);
        items = spare;
        spare = from;
    }
    return items;
}

void store_run_sort(struct store_run *run)
{
    struct store_number *spare = malloc(run->count * sizeof(*spare));

    if (run->count > 0 && spare != NULL) {
        struct store_number *items = run->items;

        run->items = sort_numbers(items, run->count, spare);
        if (run->items == spare) {
            run->room = run->count;
            spare = items;
        }
    } else if (run->count > 0) { /* an empty run may have no items at all */
        qsort(run->items, run->count, sizeof(*run->items), compare_hashes);
    }
    free(spare);
    divide_run(run);
}

void store_run_deinit(struct store_run *run)
{
    free(run->items);
    free(run->starts);
    *run = (struct store_run){.items = NULL};
}

/* Returns the first place from `low` to `high` whose hash is not smaller than `hash`, or `high`, by
 * halving. */
static size_t halve_range(const struct store_run *run, size_t low, size_t high, uint32_t hash)
{
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (store_number_hash(&run->items[middle]) < hash) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/*
 * Returns the first of the first `count` places of a run whose hash is not smaller than `hash`, or
 * `count`. The search begins where the number would be if the hashes of its bucket were evenly
 * distributed. O(1) in expectation; O(log count) in a large bucket, when memory was short.
 */
static size_t run_place(const struct store_run *run, size_t count, uint32_t hash)
{
    size_t low = 0;
    size_t high = count;

    if (hash > STORE_HASH_MASK) {
        return count;
    }
    if (run->starts != NULL) {
        /* store_run_merge has moved the numbers from place `count` on */
        low = least_size(run->starts[bucket_of(run, hash)], count);
        high = least_size(run->starts[bucket_of(run, hash) + 1], count);
    }
    if (high - low > LARGE_BUCKET) {
        return halve_range(run, low, high, hash);
    }
    unsigned rest_bits = STORE_HASH_BITS - run->bucket_bits;
    uint64_t rest = hash & ((UINT32_C(1) << rest_bits) - 1);
    size_t place = low + (size_t)((high - low) * rest >> rest_bits);
    while (place > low && store_number_hash(&run->items[place - 1]) >= hash) {
        place--;
    }
    while (place < high && store_number_hash(&run->items[place]) < hash) {
        place++;
    }
    return place;
}

/* Returns the number (`seq`) if the number is greater than `after`, smaller than `best`, and not
 * removed; else returns `best`. `with_gone`: a removed number counts, too. */
static int64_t better_number(const struct store_number *number, int64_t after, bool with_gone,
                             int64_t best)
{
    int64_t seq = number_seq(number);
    bool is_better = seq > after && seq < best && (with_gone || !store_number_is_gone(number));

    return is_better ? seq : best;
}

int64_t store_run_next(const struct store_run *run, uint32_t hash, int64_t after, bool with_gone,
                       int64_t best)
{
    for (size_t i = run_place(run, run->count, hash);
         i < run->count && store_number_hash(&run->items[i]) == hash; i++) {
        best = better_number(&run->items[i], after, with_gone, best);
    }
    return best;
}

struct store_number *store_run_find(const struct store_run *run, uint32_t hash, int64_t seq)
{
    for (size_t i = run_place(run, run->count, hash);
         i < run->count && store_number_hash(&run->items[i]) == hash; i++) {
        if (number_seq(&run->items[i]) == seq) {
            return &run->items[i];
        }
    }
    return NULL;
}

void store_run_sweep(struct store_run *run)
{
    size_t kept = 0;

    for (size_t i = 0; i < run->count; i++) {
        if (!store_number_is_gone(&run->items[i])) {
            run->items[kept++] = run->items[i];
        }
    }
    run->count = kept;
    if (run->starts != NULL) {
        fill_starts(run);
    }
}

/* --- fresh numbers ---------------------------------------------------------------------------- */

static fresh_place *list_of(const struct store_fresh *fresh, uint32_t hash)
{
    return &fresh->lists[(uint64_t)hash * fresh->room >> STORE_HASH_BITS];
}

/* Puts the number at the place `place` of items into its list. */
static void link_number(struct store_fresh *fresh, size_t place)
{
    struct fresh_number *item = &fresh->items[place];
    uint32_t hash = store_number_hash(&item->number);
    fresh_place *link = list_of(fresh, hash);

    while (*link != 0 && store_number_hash(&fresh->items[*link - 1].number) > hash) {
        link = &fresh->items[*link - 1].next;
    }
    item->next = *link;
    *link = (fresh_place)place + 1;
}

void store_fresh_deinit(struct store_fresh *fresh)
{
    free(fresh->items);
    free(fresh->lists);
    *fresh = (struct store_fresh){.items = NULL};
}

static bool double_room(struct store_fresh *fresh)
{
    size_t room = fresh->room > 0 ? 2 * fresh->room : FRESH_ROOM_MIN;
    struct fresh_number *items = realloc(fresh->items, room * sizeof(*items));

    if (items == NULL) {
        return false;
    }
    fresh->items = items;
    fresh_place *lists = calloc(room, sizeof(*lists));
    if (lists == NULL) {
        return false;
    }
    free(fresh->lists);
    fresh->lists = lists;
    fresh->room = room;
    for (size_t i = 0; i < fresh->count; i++) {
        link_number(fresh, i);
    }
    return true;
}

bool store_fresh_add(struct store_fresh *fresh, const struct store_number *number)
{
    if (fresh->count == fresh->room && !double_room(fresh)) {
        return false;
    }
    fresh->items[fresh->count].number = *number;
    link_number(fresh, fresh->count++);
    return true;
}

int64_t store_fresh_next(const struct store_fresh *fresh, uint32_t hash, int64_t after,
                         bool with_gone, int64_t best)
{
    for (fresh_place at = fresh->count > 0 ? *list_of(fresh, hash) : 0; at != 0;
         at = fresh->items[at - 1].next) {
        const struct store_number *number = &fresh->items[at - 1].number;

        best = store_number_hash(number) == hash ? better_number(number, after, with_gone, best)
                                                 : best;
    }
    return best;
}

struct store_number *store_fresh_find(const struct store_fresh *fresh, uint32_t hash, int64_t seq)
{
    for (fresh_place at = fresh->count > 0 ? *list_of(fresh, hash) : 0; at != 0;
         at = fresh->items[at - 1].next) {
        struct store_number *number = &fresh->items[at - 1].number;

        if (store_number_hash(number) == hash && number_seq(number) == seq) {
            return number;
        }
    }
    return NULL;
}

static void clear_lists(struct store_fresh *fresh)
{
    if (fresh->room > 0) {
        memset(fresh->lists, 0, fresh->room * sizeof(*fresh->lists));
    }
    fresh->count = 0;
}

void store_fresh_sweep(struct store_fresh *fresh, bool drops_gone, int64_t first)
{
    size_t count = fresh->count;

    clear_lists(fresh);
    for (size_t i = 0; i < count; i++) {
        struct store_number number = fresh->items[i].number;

        if (number_seq(&number) < first && !(drops_gone && store_number_is_gone(&number))) {
            (void)store_fresh_add(fresh, &number); /* there is room */
        }
    }
}

/*
 * Takes the fresh numbers from the highest hash to the lowest. For each fresh number, moves the
 * numbers of `old` with higher hashes to their final places, and puts the fresh number before them.
 * The first `from` numbers of `old` are not moved yet. `left` is the count of fresh numbers that
 * are not put yet. Each bucket with higher hashes begins `left` places later than before.
 */
bool store_run_merge(struct store_run *old, struct store_fresh *fresh)
{
    size_t from = old->count;
    size_t to = old->count + fresh->count;
    size_t bucket = bucket_count(old);
    size_t left = fresh->count;

    if (to > UINT32_MAX || !store_run_resize(old, to)) {
        return false;
    }
    for (size_t list = fresh->room; list-- > 0;) {
        for (fresh_place at = fresh->lists[list]; at != 0; at = fresh->items[at - 1].next) {
            const struct store_number *number = &fresh->items[at - 1].number;
            uint32_t hash = store_number_hash(number);
            size_t place = run_place(old, from, hash + 1);

            to -= from - place;
            memmove(&old->items[to], &old->items[place], (from - place) * sizeof(*number));
            old->items[--to] = *number;
            from = place;
            for (; old->starts != NULL && bucket > bucket_of(old, hash); bucket--) {
                old->starts[bucket] += (uint32_t)left;
            }
            left--;
        }
    }
    old->count += fresh->count;
    clear_lists(fresh);
    divide_run(old);
    return true;
}
