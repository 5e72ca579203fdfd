/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list: the exact unsorted list. It compares every filter with every query, as fast as the machine
 * can read the filters. Tests and benchmarks compare every other engine with the list.
 *
 * The messages are in positions 0 .. count - 1, without gaps. The positions are in chunks that
 * never move in memory. The first 32 chunks have 512 messages each, so that few messages take
 * little memory. The other chunks have 4,096 messages each, so that a scan reads long runs of
 * memory (with 512 messages a chunk, a scan gets two thirds of the bandwidth). A chunk has first
 * the filters in interleaved blocks of 8 (bits.h), and then one array for each other field. Lanes
 * without a message are zero.
 *
 * A removal moves the last message into the free position. A cursor goes from the last position to
 * the first. The positions that the cursor has not visited are always 0 .. left - 1. A removal
 * moves a message only to a lower position, so the cursor misses no message. The list does not have
 * to tell cursors about changes. A message that is inserted during a search gets a position after
 * the cursor, so each search ends.
 */
#include <string.h>

#include "core/base/err.h"
#include "core/filter/bloom.h"
#include "core/index/idmap.h"
#include "tests/reference/check.h"
#include "tests/reference/engines.h"
#include "tests/reference/sample_take.h"

enum {
    SMALL_MESSAGES = 512,
    SMALL_CHUNKS = 32,
    LARGE_MESSAGES = 4096,
    LARGE_FIRST = SMALL_MESSAGES * SMALL_CHUNKS, /* the first position in a large chunk */
    CACHE_LINE_WORDS = 8
};

/* The arrays have chunk_messages entries each. Their memory is `storage`. */
struct list_chunk {
    uint64_t *filters; /* at the start of a cache line */
    int64_t *deposited_ms;
    int64_t *expires_ms;
    uint32_t *reach_ppm;
    uint32_t *bytes;
    uint32_t *sender;
    uint16_t *cardinality; /* at most PROFILE_BITS_MAX; then, for each section of the profile but
                              the first, as many numbers: the set bits there */
    uint8_t (*ids)[MESSAGE_ID_BYTES];
    uint64_t storage[];
};

struct list {
    const struct alloc *alloc;
    const struct bits_kernels *kernels;
    size_t words; /* of a filter */
    struct profile profile;
    size_t count;
    struct list_chunk **chunks;
    size_t chunk_count; /* as few as hold `count` */
    size_t chunk_room;
    struct idmap ids;
};

struct list_cursor {
    const struct alloc *alloc;
    size_t left; /* positions below this are still to be visited */
};

static size_t chunk_number(size_t position)
{
    return position < LARGE_FIRST ? position / SMALL_MESSAGES
                                  : SMALL_CHUNKS + (position - LARGE_FIRST) / LARGE_MESSAGES;
}

static size_t chunk_messages(size_t number)
{
    return number < SMALL_CHUNKS ? SMALL_MESSAGES : LARGE_MESSAGES;
}

/* Of a position, within its chunk. */
static size_t chunk_at(size_t position)
{
    return position < LARGE_FIRST ? position % SMALL_MESSAGES
                                  : (position - LARGE_FIRST) % LARGE_MESSAGES;
}

/* Messages for which the first `chunk_count` chunks have room. */
static size_t chunks_room(size_t chunk_count)
{
    return chunk_count <= SMALL_CHUNKS
               ? chunk_count * SMALL_MESSAGES
               : LARGE_FIRST + (chunk_count - SMALL_CHUNKS) * LARGE_MESSAGES;
}

static struct list_chunk *chunk_of(const struct list *list, size_t position)
{
    return list->chunks[chunk_number(position)];
}

/*
 * Returns the first word of a position's filter. The next words follow at a distance of BITS_BLOCK
 * words.
 */
static uint64_t *filter_of(const struct list *list, size_t position)
{
    size_t at = chunk_at(position);
    size_t block = at / BITS_BLOCK;

    return chunk_of(list, position)->filters + block * BITS_BLOCK * list->words + at % BITS_BLOCK;
}

static const uint8_t *id_at(const void *context, uint32_t position)
{
    return chunk_of(context, position)->ids[chunk_at(position)];
}

/* The set bits in section s of the message at a place of a chunk, s > 0. */
static uint16_t *count_at(const struct list_chunk *chunk, size_t number, uint32_t s, size_t at)
{
    return &chunk->cardinality[s * chunk_messages(number) + at];
}

static void read_item(const struct list_chunk *chunk, size_t at, struct index_item *out)
{
    memcpy(out->id, chunk->ids[at], MESSAGE_ID_BYTES);
    out->deposited_ms = chunk->deposited_ms[at];
    out->expires_ms = chunk->expires_ms[at];
    out->reach_ppm = chunk->reach_ppm[at];
    out->bytes = chunk->bytes[at];
    out->sender = chunk->sender[at];
}

static void write_item(struct list_chunk *chunk, size_t at, const struct index_item *item,
                       uint16_t cardinality)
{
    memcpy(chunk->ids[at], item->id, MESSAGE_ID_BYTES);
    chunk->deposited_ms[at] = item->deposited_ms;
    chunk->expires_ms[at] = item->expires_ms;
    chunk->reach_ppm[at] = item->reach_ppm;
    chunk->bytes[at] = item->bytes;
    chunk->sender[at] = item->sender;
    chunk->cardinality[at] = cardinality;
}

static void write_filter(const struct list *list, size_t position, const uint64_t *filter,
                         size_t stride)
{
    uint64_t *to = filter_of(list, position);

    for (size_t w = 0; w < list->words; w++) {
        to[w * BITS_BLOCK] = filter[w * stride];
    }
}

/* Counts the set bits by section, which phi needs. */
static void write_counts(const struct list *list, size_t position, const uint64_t *filter)
{
    size_t number = chunk_number(position);
    uint16_t counts[PROFILE_SECTIONS_MAX];

    phi_count(&list->profile, filter, counts);
    for (uint32_t s = 1; s < list->profile.section_count; s++) {
        *count_at(list->chunks[number], number, s, chunk_at(position)) = counts[s];
    }
}

static void copy_counts(const struct list *list, size_t from, size_t to)
{
    size_t source = chunk_number(from);
    size_t target = chunk_number(to);

    for (uint32_t s = 1; s < list->profile.section_count; s++) {
        *count_at(list->chunks[target], target, s, chunk_at(to)) =
            *count_at(list->chunks[source], source, s, chunk_at(from));
    }
}

/*
 * Returns the bytes of one chunk. CACHE_LINE_WORDS - 1 additional words let the filters begin at a
 * cache line.
 */
static size_t chunk_bytes(const struct list *list, size_t number)
{
    const struct list_chunk *chunk = NULL;
    size_t item_bytes = sizeof *chunk->deposited_ms + sizeof *chunk->expires_ms +
                        sizeof *chunk->reach_ppm + sizeof *chunk->bytes + sizeof *chunk->sender +
                        list->profile.section_count * sizeof *chunk->cardinality +
                        sizeof *chunk->ids;

    return sizeof *chunk + (CACHE_LINE_WORDS - 1) * sizeof(uint64_t) +
           chunk_messages(number) * (list->words * sizeof(uint64_t) + item_bytes);
}

/* Sets the arrays of a chunk, `count` entries each, in the order of their alignment. */
static void lay_out(struct list_chunk *chunk, size_t words, size_t sections, size_t count)
{
    size_t past_words = (uintptr_t)chunk->storage / sizeof(uint64_t) % CACHE_LINE_WORDS;

    chunk->filters = chunk->storage + (CACHE_LINE_WORDS - past_words) % CACHE_LINE_WORDS;
    chunk->deposited_ms = (void *)(chunk->filters + count * words);
    chunk->expires_ms = chunk->deposited_ms + count;
    chunk->reach_ppm = (void *)(chunk->expires_ms + count);
    chunk->bytes = chunk->reach_ppm + count;
    chunk->sender = chunk->bytes + count;
    chunk->cardinality = (void *)(chunk->sender + count);
    chunk->ids = (void *)(chunk->cardinality + sections * count);
}

static int grow_directory(struct list *list)
{
    size_t room = list->chunk_room == 0 ? 4 : list->chunk_room * 2;

    if (list->chunk_count < list->chunk_room) {
        return 0;
    }
    struct list_chunk **chunks =
        alloc_resize(list->alloc, list->chunks, room, sizeof(struct list_chunk *));
    if (chunks == NULL) {
        return -ERR_NOMEM;
    }
    list->chunks = chunks;
    list->chunk_room = room;
    return 0;
}

/*
 * Adds an empty chunk. All its bytes are zero, because the kernels also read lanes without a
 * message.
 */
static int add_chunk(struct list *list)
{
    int error = grow_directory(list);

    if (error != 0) {
        return error;
    }
    struct list_chunk *chunk = alloc_zeroed(list->alloc, 1, chunk_bytes(list, list->chunk_count));
    if (chunk == NULL) {
        return -ERR_NOMEM;
    }
    lay_out(chunk, list->words, list->profile.section_count, chunk_messages(list->chunk_count));
    list->chunks[list->chunk_count++] = chunk;
    return 0;
}

static int list_create(const struct index_options *options, void **out_engine)
{
    struct list *list = alloc_zeroed(options->alloc, 1, sizeof *list);

    if (list == NULL) {
        return -ERR_NOMEM;
    }
    list->alloc = options->alloc;
    list->kernels = options->kernels;
    list->profile = *options->profile;
    list->words = bloom_words(options->profile->bits);
    idmap_init(&list->ids, options->alloc, options->hash_seed);
    *out_engine = list;
    return 0;
}

static void list_destroy(void *engine)
{
    struct list *list = engine;

    if (list == NULL) {
        return;
    }
    for (size_t c = 0; c < list->chunk_count; c++) {
        alloc_release(list->alloc, list->chunks[c]);
    }
    alloc_release(list->alloc, list->chunks);
    idmap_deinit(&list->ids);
    alloc_release(list->alloc, list);
}

static int list_insert(void *engine, const struct index_item *item, const uint64_t *filter)
{
    struct list *list = engine;
    uint32_t position = 0;

    if (idmap_find(&list->ids, item->id, id_at, list, &position)) {
        return INDEX_EXISTS;
    }
    if (list->count >= IDMAP_POSITIONS_MAX) {
        return -ERR_NOMEM;
    }
    int error = idmap_reserve(&list->ids);
    if (error == 0 && list->count == chunks_room(list->chunk_count)) {
        error = add_chunk(list);
    }
    if (error != 0) {
        return error;
    }
    position = (uint32_t)list->count;
    write_filter(list, position, filter, 1);
    write_counts(list, position, filter);
    write_item(chunk_of(list, position), chunk_at(position), item,
               (uint16_t)list->kernels->cardinality(filter, list->words));
    idmap_insert(&list->ids, item->id, position);
    list->count++;
    return 0;
}

/*
 * Sets the last position to zero and removes it. Also frees its chunk if the chunk is then empty.
 */
static void drop_last(struct list *list)
{
    static const struct index_item nothing;
    static const uint64_t zeros[PROFILE_WORDS_MAX];
    size_t last = list->count - 1;

    write_filter(list, last, zeros, 1);
    write_counts(list, last, zeros);
    write_item(chunk_of(list, last), chunk_at(last), &nothing, 0);
    list->count = last;
    if (chunk_at(last) == 0) {
        list->chunk_count--;
        alloc_release(list->alloc, list->chunks[list->chunk_count]);
    }
}

static void move_message(struct list *list, uint32_t from, uint32_t to)
{
    const struct list_chunk *source = chunk_of(list, from);
    struct index_item item;

    read_item(source, chunk_at(from), &item);
    write_filter(list, to, filter_of(list, from), BITS_BLOCK);
    copy_counts(list, from, to);
    write_item(chunk_of(list, to), chunk_at(to), &item, source->cardinality[chunk_at(from)]);
    idmap_move(&list->ids, item.id, from, to);
}

static int list_remove(void *engine, const uint8_t *id, struct index_item *out_item)
{
    struct list *list = engine;
    struct index_item item;
    uint32_t position = 0;

    if (!idmap_find(&list->ids, id, id_at, list, &position)) {
        return INDEX_NOT_FOUND;
    }
    read_item(chunk_of(list, position), chunk_at(position), &item);
    idmap_remove(&list->ids, item.id, position);
    if (position != list->count - 1) {
        move_message(list, (uint32_t)(list->count - 1), position);
    }
    drop_last(list);
    if (out_item != NULL) {
        *out_item = item;
    }
    return 0;
}

static void list_shift(void *engine, int64_t from_ms, int64_t by_ms, struct notes *notes)
{
    struct list *list = engine;
    (void)notes; /* a list is never renewed */

    for (size_t position = 0; position < list->count; position++) {
        struct list_chunk *chunk = chunk_of(list, position);
        const size_t at = chunk_at(position);

        if (chunk->deposited_ms[at] >= from_ms) {
            chunk->deposited_ms[at] += by_ms;
            chunk->expires_ms[at] += by_ms;
        }
    }
}

static int list_find(const void *engine, const uint8_t *id, struct index_item *out_item,
                     uint64_t *out_filter)
{
    const struct list *list = engine;
    uint32_t position = 0;

    if (!idmap_find(&list->ids, id, id_at, list, &position)) {
        return INDEX_NOT_FOUND;
    }
    if (out_item != NULL) {
        read_item(chunk_of(list, position), chunk_at(position), out_item);
    }
    if (out_filter != NULL) {
        const uint64_t *filter = filter_of(list, position);

        for (size_t w = 0; w < list->words; w++) {
            out_filter[w] = filter[w * BITS_BLOCK];
        }
    }
    return 0;
}

static size_t list_count(const void *engine)
{
    const struct list *list = engine;

    return list->count;
}

static int64_t list_soonest_ms(const void *engine)
{
    const struct list *list = engine;
    int64_t soonest_ms = INT64_MAX;

    for (size_t i = 0; i < list->count; i++) {
        int64_t expires_ms = chunk_of(list, i)->expires_ms[chunk_at(i)];

        soonest_ms = expires_ms < soonest_ms ? expires_ms : soonest_ms;
    }
    return soonest_ms;
}

static size_t list_bytes(const void *engine)
{
    const struct list *list = engine;

    size_t small = list->chunk_count < SMALL_CHUNKS ? list->chunk_count : SMALL_CHUNKS;

    return sizeof *list + list->chunk_room * sizeof(struct list_chunk *) +
           small * chunk_bytes(list, 0) +
           (list->chunk_count - small) * chunk_bytes(list, SMALL_CHUNKS) + idmap_bytes(&list->ids);
}

static const char *check_message(const struct list *list, size_t position)
{
    const struct list_chunk *chunk = chunk_of(list, position);
    const uint64_t *filter = filter_of(list, position);
    uint32_t found = 0;
    uint32_t cardinality = 0;

    for (size_t w = 0; w < list->words; w++) {
        cardinality += list->kernels->cardinality(&filter[w * BITS_BLOCK], 1);
    }
    if (cardinality != chunk->cardinality[chunk_at(position)]) {
        return "list: a stored cardinality is wrong";
    }
    if (position >= list->count) {
        return cardinality == 0 ? NULL : "list: a free lane is not zero";
    }
    if (!idmap_find(&list->ids, chunk->ids[chunk_at(position)], id_at, list, &found) ||
        found != position) {
        return "list: an id does not lead to its message";
    }
    return NULL;
}

const char *check_list(const void *engine)
{
    const struct list *list = engine;
    const char *reason = check_idmap(&list->ids);

    if (reason != NULL) {
        return reason;
    }
    if (list->chunk_count != (list->count == 0 ? 0 : chunk_number(list->count - 1) + 1)) {
        return "list: the number of chunks is wrong";
    }
    if (idmap_count(&list->ids) != list->count) {
        return "list: the numbers of ids and of messages differ";
    }
    for (size_t position = 0; position < chunks_room(list->chunk_count); position++) {
        reason = check_message(list, position);
        if (reason != NULL) {
            return reason;
        }
    }
    return NULL;
}

static int list_cursor_new(void *engine, const struct alloc *alloc, void **out_cursor)
{
    const struct list *list = engine;
    struct list_cursor *cursor = alloc_array(alloc, 1, sizeof *cursor);

    if (cursor == NULL) {
        return -ERR_NOMEM;
    }
    *cursor = (struct list_cursor){.alloc = alloc, .left = list->count};
    *out_cursor = cursor;
    return 0;
}

static void list_cursor_free(void *engine, void *cursor)
{
    struct list_cursor *list_cursor = cursor;

    (void)engine;
    if (list_cursor != NULL) {
        alloc_release(list_cursor->alloc, list_cursor);
    }
}

static void list_cursor_restart(void *engine, void *cursor)
{
    const struct list *list = engine;
    struct list_cursor *list_cursor = cursor;

    list_cursor->left = list->count;
}

/*
 * Offers messages of the block that begins at position `first` to the probe: the messages whose bit
 * is set in `lanes` and whose filters contain probe->contains.
 */
static void offer_block(const struct list *list, struct index_probe *probe, size_t first,
                        uint32_t lanes, const uint32_t *overlaps)
{
    const struct list_chunk *chunk = chunk_of(list, first);
    const uint64_t *filters = filter_of(list, first);

    if (probe->contains != NULL) {
        lanes &= list->kernels->supersets(probe->contains, filters, list->words);
    }
    for (size_t lane = 0; lanes >> lane != 0; lane++) {
        size_t at = chunk_at(first) + lane;
        struct index_item item;

        if ((lanes >> lane & 1) == 0 ||
            !index_probe_may_pass(probe, chunk->cardinality[at], overlaps[lane])) {
            continue;
        }
        read_item(chunk, at, &item);
        index_probe_offer_counted(
            probe, &item, (uint32_t)(first + lane), filters + lane, BITS_BLOCK,
            (struct index_counts){&chunk->cardinality[at], chunk_messages(chunk_number(first))},
            overlaps[lane], probe->contains_cardinality);
    }
}

/*
 * Offers the messages of the sample that reach the floor to the probe. The sample begins at
 * position `first`.
 */
static void offer_sample(const struct list *list, struct index_probe *probe, size_t first,
                         struct sample *sample, uint16_t floor)
{
    uint32_t overlaps[BITS_BLOCK];
    uint32_t lanes = 0;

    sample_mark(sample, floor);
    for (size_t block = sample_next(sample, 0, overlaps, &lanes); block < SAMPLE_BLOCKS;
         block = sample_next(sample, block + 1, overlaps, &lanes)) {
        offer_block(list, probe, first + block * BITS_BLOCK, lanes, overlaps);
    }
}

/*
 * Compares the same messages as scan_run, in another order. First offers the messages that are
 * likely to be among the k nearest, so that few other messages enter the k nearest and leave them
 * again.
 */
static void sample_run(const struct list *list, struct index_probe *probe, size_t first, size_t end)
{
    const struct bits_scan scan = index_probe_scan(probe, chunk_messages(chunk_number(first)));
    struct sample sample;

    sample_take(&sample, list->kernels, &scan, filter_of(list, first),
                &chunk_of(list, first)->cardinality[chunk_at(first)], end - first);
    offer_sample(list, probe, first, &sample,
                 sample_floor(&sample, index_probe_floor(probe), probe->nearest->k));
    offer_sample(list, probe, first, &sample, index_probe_floor(probe));
}

/*
 * Compares the messages from position `first`, where a block begins, to `end` - 1, all in one
 * chunk. Goes upwards, because processors prefetch best in this direction.
 */
static void scan_run(const struct list *list, struct index_probe *probe, size_t first, size_t end)
{
    const struct list_chunk *chunk = chunk_of(list, first);
    struct bits_scan scan = index_probe_scan(probe, chunk_messages(chunk_number(first)));

    while (first < end) {
        size_t block_count = (end - first + BITS_BLOCK - 1) / BITS_BLOCK;
        uint32_t overlaps[BITS_BLOCK];
        uint32_t lanes = 0;

        scan.floor = index_probe_floor(probe);
        size_t passed =
            list->kernels->scan(&scan, filter_of(list, first), &chunk->cardinality[chunk_at(first)],
                                block_count, overlaps, &lanes);
        if (passed == block_count) {
            break;
        }
        first += passed * BITS_BLOCK;
        if (end - first < BITS_BLOCK) { /* lanes behind the end have no message */
            lanes &= (1u << (end - first)) - 1;
        }
        offer_block(list, probe, first, lanes, overlaps);
        first += BITS_BLOCK;
    }
}

/*
 * Returns the first position of a run of blocks that ends before position `end`. The run lies in
 * one chunk and has about `budget` messages.
 */
static size_t run_first(size_t end, uint64_t budget)
{
    size_t chunk_first = end - 1 - chunk_at(end - 1);

    if (budget >= end - chunk_first) {
        return chunk_first;
    }
    return (end - (budget > 0 ? (size_t)budget : 1)) / BITS_BLOCK * BITS_BLOCK;
}

static int list_cursor_step(void *engine, void *cursor, struct index_probe *probe, uint64_t budget)
{
    const struct list *list = engine;
    struct list_cursor *list_cursor = cursor;
    size_t left = list_cursor->left < list->count ? list_cursor->left : list->count;
    const struct bits_scan scan = index_probe_scan(probe, 0);
    const uint64_t before = index_probe_work(probe);
    uint64_t done = 0;

    while (left > 0 && (done < budget || done == 0)) {
        /* Runs are short if each message may be tested against the query's slices. */
        const bool is_short = !nearest_is_full(probe->nearest) || probe->query->exclude_count > 0;
        size_t most = is_short ? SAMPLE_MESSAGES - BITS_BLOCK : SIZE_MAX;
        size_t first = run_first(left, budget - done < most ? budget - done : most);

        if (sample_pays(probe->nearest, left - first)) {
            sample_run(list, probe, first, left);
        } else {
            scan_run(list, probe, first, left);
        }
        probe->comparisons += left - first;
        probe->bytes += (left - first) * bits_bytes(&scan, bits_words(&scan)) / BITS_BLOCK;
        done = index_probe_work(probe) - before;
        left = first;
    }
    list_cursor->left = left;
    return left > 0 ? INDEX_MORE : 0;
}

const struct index_engine list_engine = {
    .name = "list",
    .create = list_create,
    .destroy = list_destroy,
    .insert = list_insert,
    .remove = list_remove,
    .shift = list_shift,
    .find = list_find,
    .count = list_count,
    .places = list_count,
    .bytes = list_bytes,
    .soonest_ms = list_soonest_ms,
    .cursor_new = list_cursor_new,
    .cursor_free = list_cursor_free,
    .cursor_restart = list_cursor_restart,
    .cursor_step = list_cursor_step,
};
