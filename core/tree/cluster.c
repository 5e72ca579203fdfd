/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rebuild, step 1: orders all messages so that similar messages are near one another.
 *
 * A sample of messages are the first centres. Each message goes to the nearest centre. Then each
 * centre becomes the set of the bits that are frequent among its messages, so rare labels drop out.
 * Of similar centres one is kept. Messages far from all centres become centres, and the steps run
 * again, without new centres. Centres are stored by columns, so that a message is compared with 512
 * centres at once.
 */
#include <string.h>

#include "core/base/err.h"
#include "core/bits/sliced.h"
#include "core/filter/bloom.h"
#include "core/tree/inner.h"

enum {
    MESSAGES_A_CENTRE = 16,
    CENTRE_BITS_MAX = 2 * 1024 * 1024, /* of all centres together */
    STOP_INTERVAL = 4096 /* tree->stop is checked each time after this many messages */
};

/* 512 centres. */
struct centre_block {
    uint64_t *columns;
    /* Two numbers for each centre, sliced. The sum of both is a quarter of the bits of a filter:
     * see slice_centre. */
    uint64_t bonus[BITS_PLANES_MAX * BITS_LANE_WORDS];
    uint64_t penalty[BITS_PLANES_MAX * BITS_LANE_WORDS];
};

struct clustering {
    struct tree_arranger *arranger;
    const struct tree *tree;
    uint32_t centre_count;
    uint32_t centre_room;
    uint32_t block_count; /* for centre_room */
    uint64_t *centres;    /* filters */
    struct centre_block *blocks;
    uint64_t *columns; /* of all blocks */
    uint32_t *sizes;   /* messages of each centre; one more */
    uint16_t *chosen;  /* the centre of each message */
    uint32_t *order;   /* of the centres */
    size_t count;
};

static uint64_t cluster_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9); /* the finish of splitmix64 */
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static size_t columns_words(const struct clustering *c)
{
    return (size_t)c->tree->bits * BITS_LANE_WORDS;
}

static int clustering_init(struct clustering *c, struct tree_arranger *arranger, size_t count)
{
    const struct tree *tree = arranger->tree;
    const struct alloc *alloc = tree->alloc;
    size_t most = CENTRE_BITS_MAX / tree->bits < TREE_CENTRES_MAX ? CENTRE_BITS_MAX / tree->bits
                                                                  : TREE_CENTRES_MAX;
    size_t centres = count / MESSAGES_A_CENTRE + 1;

    *c = (struct clustering){.arranger = arranger, .tree = tree, .count = count};
    c->centre_count = (uint32_t)(centres < most ? centres : most);
    c->centre_room = c->centre_count;
    c->block_count = (c->centre_count + BITS_LANES - 1) / BITS_LANES;
    c->centres = alloc_array(alloc, c->centre_count * tree->words, sizeof(*c->centres));
    c->blocks = alloc_array(alloc, c->block_count, sizeof(*c->blocks));
    c->columns = alloc_array(alloc, c->block_count * columns_words(c), sizeof(*c->columns));
    c->sizes = alloc_array(alloc, (size_t)c->centre_count + 1, sizeof(*c->sizes));
    c->chosen = alloc_array(alloc, count, sizeof(*c->chosen));
    c->order = alloc_array(alloc, c->centre_count, sizeof(*c->order));
    if (c->centres == NULL || c->blocks == NULL || c->columns == NULL || c->sizes == NULL ||
        c->chosen == NULL || c->order == NULL) {
        return -ERR_NOMEM;
    }
    return 0;
}

static void clustering_deinit(struct clustering *c)
{
    const struct tree *tree = c->tree;
    const struct alloc *alloc = tree->alloc;

    alloc_release(alloc, c->centres);
    alloc_release(alloc, c->blocks);
    alloc_release(alloc, c->columns);
    alloc_release(alloc, c->sizes);
    alloc_release(alloc, c->chosen);
    alloc_release(alloc, c->order);
}

/*
 * The nearness of message x and centre c is o - |c| / 4, where o is the number of bits they share
 * and |c| the number of bits of c. Nearness is computed as the sum of two bit-sliced numbers: o and
 * the bonus (m - |c|) / 4, rounded down, where m is the bits of a filter. The penalty of a centre
 * is m / 4 less its bonus. Nearness orders centres about as the Jaccard similarity does. The number
 * of differing bits would not do so: it prefers small centres that belong to no place.
 *
 * clear_slices clears the columns, bonuses and penalties of all centres.
 */
static void clear_slices(struct clustering *c)
{
    memset(c->columns, 0, c->block_count * columns_words(c) * sizeof(*c->columns));
    memset(c->blocks, 0, c->block_count * sizeof(*c->blocks));
    for (uint32_t b = 0; b < c->block_count; b++) {
        c->blocks[b].columns = c->columns + b * columns_words(c);
    }
}

static void slice_number(uint64_t *planes, uint32_t number, uint32_t lane)
{
    for (uint32_t plane = 0; plane < BITS_PLANES_MAX; plane++) {
        if ((number >> plane & 1) != 0) {
            sliced_set(planes, plane, lane);
        }
    }
}

static void slice_centre(struct clustering *c, uint32_t i)
{
    const struct tree *tree = c->tree;
    struct centre_block *block = &c->blocks[i / BITS_LANES];
    const uint64_t *centre = c->centres + i * tree->words;
    uint32_t lane = i % BITS_LANES;
    uint32_t bonus = (tree->bits - tree->kernels->cardinality(centre, tree->words)) / 4;
    uint16_t positions[PROFILE_BITS_MAX];
    size_t count = sliced_positions(centre, tree->words, positions);

    for (size_t p = 0; p < count; p++) {
        sliced_set(block->columns, positions[p], lane);
    }
    slice_number(block->bonus, bonus, lane);
    slice_number(block->penalty, tree->bits / 4 - bonus, lane);
}

/*
 * Returns whether a centre of the mask is nearer than `largest`: shares more bits with the message
 * than `largest` less its bonus. That takes less time than to find the nearest one. "true" without
 * a test if `largest` is small.
 */
static bool may_be_nearer(const struct clustering *c, const struct centre_block *block,
                          const uint16_t *positions, size_t count, const uint64_t *mask,
                          uint32_t largest)
{
    static const uint64_t zeros[BITS_LANE_WORDS];
    uint32_t most = c->tree->bits / 4; /* a bonus */
    uint64_t more[BITS_LANE_WORDS];
    uint64_t reached[BITS_LANE_WORDS];

    if (largest + 1 < most) {
        return true;
    }
    for (size_t w = 0; w < BITS_LANE_WORDS; w++) {
        more[w] = (uint64_t)(largest + 1 - most) << BITS_FLOOR_SHIFT;
    }
    struct bits_reach reach = {
        .columns = block->columns,
        .positions = positions,
        .count = count,
        .lane_words = BITS_LANE_WORDS,
        .lanes = mask,
        .own = block->penalty,
        .own_planes = bits_planes(most),
        .floors = zeros,
        .more = more,
        .planes = bits_planes(largest + 1),
    };
    return c->tree->kernels->lanes_reaching(&reach, reached);
}

static uint32_t nearest_centre(const struct clustering *c, const uint64_t *filter)
{
    uint16_t positions[PROFILE_BITS_MAX];
    size_t count = c->tree->kernels->positions(filter, c->tree->words, positions);
    uint32_t best = 0;
    uint32_t largest = 0;

    for (uint32_t b = 0; b * BITS_LANES < c->centre_count; b++) {
        const struct centre_block *block = &c->blocks[b];
        struct sliced sliced = {.plane_count = bits_planes(count), .lane_words = BITS_LANE_WORDS};
        uint64_t mask[BITS_LANE_WORDS];
        uint32_t lane = 0;

        sliced_first(c->centre_count - b * BITS_LANES, mask);
        if (!may_be_nearer(c, block, positions, count, mask, largest)) {
            continue;
        }
        c->tree->kernels->count_columns(block->columns, positions, count, BITS_LANE_WORDS,
                                        sliced.planes);
        sliced_add(&sliced, block->bonus, bits_planes(c->tree->bits / 4));
        uint32_t number = sliced_largest(c->tree->kernels, &sliced, mask, &lane);
        if (number > largest) {
            largest = number;
            best = b * BITS_LANES + lane;
        }
    }
    return best;
}

/* 0 or INDEX_STOPPED. */
static int choose_centres(struct clustering *c, const uint32_t *positions)
{
    const struct tree *tree = c->tree;
    uint64_t filter[PROFILE_WORDS_MAX];

    memset(c->sizes, 0, ((size_t)c->centre_count + 1) * sizeof(*c->sizes));
    for (size_t i = 0; i < c->count; i++) {
        if (i % STOP_INTERVAL == 0 && index_stop_is_wanted(tree->stop)) {
            return INDEX_STOPPED;
        }
        tree_read_filter(tree, tree_spot_at(tree, positions[i]), filter);
        c->chosen[i] = (uint16_t)nearest_centre(c, filter);
        c->sizes[c->chosen[i]]++;
    }
    return 0;
}

/*
 * Samples half as many messages as there is room for centres, but at least a block of centres,
 * which takes no longer than a part of it. Places that the sample leaves out get their centres from
 * add_orphans, for which a sample of twice the size leaves little room.
 */
static void sample_centres(struct clustering *c, const uint32_t *positions)
{
    uint32_t least = c->centre_room < BITS_LANES ? c->centre_room : BITS_LANES;

    c->centre_count = c->centre_room / 2 > least ? c->centre_room / 2 : least;
    clear_slices(c);
    for (uint32_t i = 0; i < c->centre_count; i++) {
        size_t at = (size_t)(cluster_mix(c->tree->seed + (i + 1) * UINT64_C(0x9e3779b97f4a7c15)) %
                             c->count);

        tree_read_filter(c->tree, tree_spot_at(c->tree, positions[at]),
                         c->centres + i * c->tree->words);
        slice_centre(c, i);
    }
}

/*
 * Writes the bits that are frequent among some messages to `out`. counters[b] is the number of
 * these messages that have bit b. The mean of counters[b], over all set bits of all messages, is
 * sum(counters[b]^2) / sum(counters[b]). A bit is frequent if counters[b] is at least half of this
 * mean. The rule fits places where each message has most access points of the place, and places
 * where each message has few.
 */
static void frequent_bits(const uint16_t *counters, uint32_t bits, uint64_t *out)
{
    uint64_t sum = 0;
    uint64_t squares = 0;

    for (uint32_t bit = 0; bit < bits; bit++) {
        sum += counters[bit];
        squares += (uint64_t)counters[bit] * counters[bit];
    }
    memset(out, 0, bits / 8);
    for (uint32_t bit = 0; bit < bits; bit++) {
        if (counters[bit] > 0 && 2 * counters[bit] * sum >= squares) {
            out[bit / 64] |= UINT64_C(1) << bit % 64;
        }
    }
}

/* Writes the positions of the messages to arranger->moved, sorted by their centres in the order
 * c->order. Afterwards c->sizes[i] is the index behind the last message of centre i. */
static void group_by_centre(struct clustering *c, const uint32_t *positions)
{
    uint32_t first = 0;

    for (uint32_t i = 0; i < c->centre_count; i++) {
        uint32_t size = c->sizes[c->order[i]];

        c->sizes[c->order[i]] = first;
        first += size;
    }
    for (size_t i = 0; i < c->count; i++) {
        c->arranger->moved[c->sizes[c->chosen[i]]++] = positions[i];
    }
}

/* Writes the bits that are frequent among `count` messages to `out`. */
static void find_frequent(const struct tree *tree, const uint32_t *positions, size_t count,
                          uint64_t *out)
{
    uint64_t filter[PROFILE_WORDS_MAX];
    uint16_t set[PROFILE_BITS_MAX];
    uint16_t counters[PROFILE_BITS_MAX];

    memset(counters, 0, tree->bits * sizeof(*counters));
    for (size_t i = 0; i < count; i++) {
        tree_read_filter(tree, tree_spot_at(tree, positions[i]), filter);
        size_t bits = sliced_positions(filter, tree->words, set);
        for (size_t b = 0; b < bits; b++) {
            counters[set[b]] = (uint16_t)(counters[set[b]] + (counters[set[b]] < UINT16_MAX));
        }
    }
    frequent_bits(counters, tree->bits, out);
}

/*
 * Sets each centre to the frequent bits of its messages. A centre without messages stays as it is.
 * The messages are sorted first, so that counters for one centre are enough.
 */
static void refine_centres(struct clustering *c, const uint32_t *positions)
{
    const struct tree *tree = c->tree;
    const uint32_t *sorted = c->arranger->moved;
    uint32_t first = 0;

    for (uint32_t i = 0; i < c->centre_count; i++) {
        c->order[i] = i;
    }
    group_by_centre(c, positions);
    for (uint32_t i = 0; i < c->centre_count; i++) {
        uint32_t size = c->sizes[i] - first;

        if (size > 0) {
            find_frequent(tree, sorted + first, size, c->centres + i * tree->words);
        }
        first = c->sizes[i];
        c->sizes[i] = size;
    }
}

static uint32_t centre_overlap(const struct clustering *c, uint32_t i, const uint64_t *filter)
{
    const uint64_t *centre = c->centres + i * c->tree->words;
    uint64_t both[PROFILE_WORDS_MAX];

    bloom_intersection(both, centre, filter, c->tree->words);
    return c->tree->kernels->cardinality(both, c->tree->words);
}

static bool are_alike(const struct clustering *c, uint32_t i, uint32_t j)
{
    const struct bits_kernels *kernels = c->tree->kernels;
    const uint64_t *a = c->centres + i * c->tree->words;
    const uint64_t *b = c->centres + j * c->tree->words;
    uint32_t both = centre_overlap(c, i, b);

    /* Jaccard similarity of more than 2/3: places that overlap by half keep their centres */
    return 5 * both >
           2 * (kernels->cardinality(a, c->tree->words) + kernels->cardinality(b, c->tree->words));
}

/*
 * Keeps one of several similar centres, so that messages of one place get the same centre. Drops
 * centres without messages.
 */
static void merge_centres(struct clustering *c)
{
    size_t bytes = c->tree->words * sizeof(*c->centres);
    uint32_t all = c->centre_count;

    clear_slices(c);
    c->centre_count = 0;
    for (uint32_t i = 0; i < all; i++) {
        const uint64_t *centre = c->centres + i * c->tree->words;

        if (c->sizes[i] == 0 ||
            (c->centre_count > 0 && are_alike(c, i, nearest_centre(c, centre)))) {
            continue;
        }
        memmove(c->centres + c->centre_count * c->tree->words, centre, bytes);
        slice_centre(c, c->centre_count++);
    }
}

/*
 * Makes more centres, because the sample leaves some places out. Looks at up to 4 * centre_room
 * messages: those that share less than half of their bits with the nearest centre become centres,
 * until there are `centre_room` centres.
 */
static void add_orphans(struct clustering *c, const uint32_t *positions)
{
    const struct tree *tree = c->tree;
    size_t tries = 4 * (size_t)c->centre_room;
    size_t step = c->count / tries + 1;
    uint64_t filter[PROFILE_WORDS_MAX];

    for (size_t i = step / 2; i < c->count && c->centre_count < c->centre_room; i += step) {
        struct tree_spot spot = tree_spot_at(tree, positions[i]);

        tree_read_filter(tree, spot, filter);
        if (2 * centre_overlap(c, nearest_centre(c, filter), filter) < tree_cardinality(spot)) {
            memcpy(c->centres + c->centre_count * tree->words, filter,
                   tree->words * sizeof(*filter));
            slice_centre(c, c->centre_count++);
        }
    }
}

/*
 * Returns the centre of the list `order` that is farthest from the centre `from`: the one with the
 * smallest number of 2 * (bits shared with `from`) - (bits of the centre).
 */
static uint32_t far_centre(const struct clustering *c, const uint32_t *order, size_t count,
                           uint32_t from)
{
    const uint64_t *filter = c->centres + from * c->tree->words;
    int32_t least = INT32_MAX;
    uint32_t far = from;

    for (size_t i = 0; i < count; i++) {
        const uint64_t *centre = c->centres + order[i] * c->tree->words;
        int32_t score = 2 * (int32_t)centre_overlap(c, order[i], filter) -
                        (int32_t)c->tree->kernels->cardinality(centre, c->tree->words);

        if (score < least) {
            least = score;
            far = order[i];
        }
    }
    return far;
}

/*
 * Orders the centres so that similar centres are near one another. Chooses two centres that are far
 * from each other, and sorts all centres by which of the two they resemble more. Then calls itself
 * for each half. The calls are nested at most log2(TREE_CENTRES_MAX) deep.
 */
static void order_centres(struct clustering *c, uint32_t *order, size_t count)
{
    struct tree_arranger *arranger = c->arranger;
    size_t keys = (size_t)c->tree->bits * 2 + 1;

    if (count <= 2) {
        return;
    }
    const uint64_t *a = c->centres + far_centre(c, order, count, order[0]) * c->tree->words;
    const uint64_t *b =
        c->centres +
        far_centre(c, order, count, (uint32_t)((size_t)(a - c->centres) / c->tree->words)) *
            c->tree->words;
    memset(arranger->histogram, 0, (keys + 1) * sizeof(*arranger->histogram));
    for (size_t i = 0; i < count; i++) {
        arranger->scores[i] =
            c->tree->bits + centre_overlap(c, order[i], a) - centre_overlap(c, order[i], b);
        arranger->histogram[arranger->scores[i] + 1]++;
    }
    for (size_t key = 0; key < keys; key++) {
        arranger->histogram[key + 1] += arranger->histogram[key];
    }
    for (size_t i = 0; i < count; i++) {
        arranger->moved[arranger->histogram[arranger->scores[i]]++] = order[i];
    }
    memcpy(order, arranger->moved, count * sizeof(*order));
    order_centres(c, order, count / 2);
    order_centres(c, order + count / 2, count - count / 2);
}

int tree_cluster(struct tree_arranger *arranger)
{
    enum { PASSES = 3 };
    uint32_t *positions = arranger->order->positions;
    struct clustering c;
    int rc = clustering_init(&c, arranger, arranger->order->count);

    if (rc == 0) {
        sample_centres(&c, positions);
        rc = choose_centres(&c, positions);
    }
    for (int pass = 1; rc == 0 && pass < PASSES; pass++) {
        refine_centres(&c, positions);
        merge_centres(&c);
        if (pass == 1) {
            add_orphans(&c, positions);
        }
        rc = choose_centres(&c, positions);
    }
    if (rc == 0) {
        for (uint32_t i = 0; i < c.centre_count; i++) {
            c.order[i] = i;
        }
        order_centres(&c, c.order, c.centre_count);
        group_by_centre(&c, positions);
        memcpy(positions, arranger->moved, c.count * sizeof(*positions));
    }
    clustering_deinit(&c);
    return rc;
}
