/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Summaries: the level above the nodes. The union of many messages rules out few queries, because
 * rare labels set many of its bits. So a summary keeps for each span of a node the core, which has
 * the bits that many of its messages have, and the needs: how many bits a query must share with the
 * core before any message of the span can be near. A message with more bits outside of the core has
 * a lower need; a message with more bits in the core has a higher need. inner.h has the formula.
 */
#include <string.h>

#include "core/base/err.h"
#include "core/bits/sliced.h"
#include "core/filter/bloom.h"
#include "core/tree/inner.h"

enum {
    NODES_MIN = 16, /* a tree of fewer nodes than this has no summaries, because counting all nodes
                     * is quick */
    CORE_FILL_PERCENT = 40, /* tree_widen_summary adds no bits to a core if more than this
                               percentage of its bits would be set */
    SPAN_USUAL = 32,        /* groups of a span, at most */
    SPAN_MEAN = 4,     /* the spans of a node, without the last one, have on average at least this
                          many groups, so that TREE_SPANS spans are enough */
    LOOSE_EIGHTHS = 2, /* eighths of a message's bits; see tree_mark_loose */
    USUAL_NEED = 1     /* cores are chosen by this need: floor 3/8, similarity 0.6 */
};

static size_t one_bytes(const struct tree *tree)
{
    size_t words = (size_t)tree->bits * BITS_LANE_WORDS + TREE_LINE_WORDS - 1;

    return sizeof(struct tree_summary) + words * sizeof(uint64_t) +
           (size_t)tree->section_count * TREE_RANGES * BITS_LANES;
}

size_t tree_summary_bytes(const struct tree *tree)
{
    return tree->summary_count * (one_bytes(tree) + sizeof(struct tree_summary *));
}

void tree_free_summaries(struct tree *tree)
{
    for (uint32_t i = 0; i < tree->summary_count; i++) {
        alloc_release(tree->alloc, tree->summaries[i]);
    }
    alloc_release(tree->alloc, tree->summaries);
    tree->summaries = NULL;
    tree->summary_count = 0;
}

/* Sets the ranges of a span without messages. */
static void clear_ranges(const struct tree *tree, struct tree_summary *summary, uint32_t lane)
{
    for (uint32_t s = 0; s < tree->section_count; s++) {
        tree_range_row(summary, s, TREE_LEAST)[lane] = UINT8_MAX;
        tree_range_row(summary, s, TREE_FILLED)[lane] = UINT8_MAX;
        tree_range_row(summary, s, TREE_MOST)[lane] = 0;
        tree_range_row(summary, s, TREE_OUTSIDE)[lane] = 0;
    }
}

/* Widens the ranges of a span so that they hold for one more message. `outside` has the bits of
 * the message that are not in the core. */
static void widen_ranges(const struct tree *tree, struct tree_summary *summary, uint32_t lane,
                         const uint64_t *filter, const uint64_t *outside)
{
    for (uint32_t s = 0; s < tree->section_count; s++) {
        const struct tree_section *section = &tree->sections[s];
        uint8_t set = tree_bound_byte(
            bloom_union_count_range(filter, filter, section->first_bit, section->bits));
        uint8_t beyond = tree_bound_byte(
            bloom_union_count_range(outside, outside, section->first_bit, section->bits));
        uint8_t *least = &tree_range_row(summary, s, TREE_LEAST)[lane];
        uint8_t *filled = &tree_range_row(summary, s, TREE_FILLED)[lane];
        uint8_t *most = &tree_range_row(summary, s, TREE_MOST)[lane];
        uint8_t *out = &tree_range_row(summary, s, TREE_OUTSIDE)[lane];

        *least = set < *least ? set : *least;
        *filled = set > 0 && set < *filled ? set : *filled;
        *most = set > *most ? set : *most;
        *out = beyond > *out ? beyond : *out;
    }
}

static struct tree_summary *summary_new(const struct tree *tree)
{
    struct tree_summary *summary = alloc_zeroed(tree->alloc, 1, one_bytes(tree));

    if (summary != NULL) {
        size_t past = (uintptr_t)summary->storage / sizeof(uint64_t) % TREE_LINE_WORDS;

        summary->columns = summary->storage + (TREE_LINE_WORDS - past) % TREE_LINE_WORDS;
        summary->ranges = (uint8_t *)(summary->columns + (size_t)tree->bits * BITS_LANE_WORDS);
        for (uint32_t lane = 0; lane < BITS_LANES; lane++) {
            clear_ranges(tree, summary, lane);
        }
        for (size_t i = 0; i < sizeof(summary->needs) / sizeof(summary->needs[0]); i++) {
            summary->needs[i] = TREE_NEED_NONE;
        }
    }
    return summary;
}

int tree_grow_summaries(struct tree *tree, uint32_t room)
{
    uint32_t count =
        room < NODES_MIN ? 0 : (uint32_t)(((uint64_t)room * TREE_SPANS_USUAL) / BITS_LANES + 1);

    if (count <= tree->summary_count) {
        return 0;
    }
    struct tree_summary **summaries =
        alloc_array(tree->alloc, count, sizeof(struct tree_summary *));
    uint32_t made = tree->summary_count;
    while (summaries != NULL && made < count) {
        summaries[made] = summary_new(tree);
        if (summaries[made] == NULL) {
            break;
        }
        made++;
    }
    if (made < count) {
        for (uint32_t i = tree->summary_count; i < made; i++) {
            alloc_release(tree->alloc, summaries[i]);
        }
        alloc_release(tree->alloc, summaries);
        return -ERR_NOMEM;
    }
    if (tree->summary_count > 0) {
        memcpy(summaries, tree->summaries, tree->summary_count * sizeof(struct tree_summary *));
    }
    alloc_release(tree->alloc, tree->summaries);
    tree->summaries = summaries;
    tree->summary_count = count;
    return 0;
}

static struct tree_summary *summary_of(const struct tree *tree, const struct tree_node *node)
{
    return tree->summaries[node->span_summary];
}

/* Returns the lane of the span that contains a group. */
static uint32_t lane_of(const struct tree_node *node, uint32_t group)
{
    uint32_t span = node->span_count - 1;

    while (node->span_first[span] > group) {
        span--;
    }
    return node->span_lane + span;
}

/* Returns the first of `count` consecutive free units; TREE_UNITS if there are none. */
static uint32_t free_units(const struct tree_summary *summary, uint32_t count)
{
    uint32_t run = 0;

    for (uint32_t unit = 0; unit < TREE_UNITS; unit++) {
        run = summary->owners[unit] == NULL ? run + 1 : 0;
        if (run == count) {
            return unit + 1 - count;
        }
    }
    return TREE_UNITS;
}

static void own_units(struct tree_summary *summary, uint32_t first, uint32_t count,
                      struct tree_node *owner)
{
    summary->used = owner != NULL ? summary->used + count : summary->used - count;
    for (uint32_t unit = first; unit < first + count; unit++) {
        summary->owners[unit] = owner;
    }
}

/* Units that a node's spans take. */
static uint32_t unit_count(const struct tree_node *node)
{
    return (node->span_count + TREE_UNIT - 1) / TREE_UNIT;
}

/* Gives a node lanes for its spans. Returns false if no summary has enough free lanes. */
static bool take_lanes(struct tree *tree, struct tree_node *node)
{
    uint32_t count = unit_count(node);

    for (uint32_t i = 0; i < tree->summary_count; i++) {
        uint32_t first = free_units(tree->summaries[i], count);

        if (first < TREE_UNITS) {
            own_units(tree->summaries[i], first, count, node);
            node->span_summary = i;
            node->span_lane = first * TREE_UNIT;
            return true;
        }
    }
    return false;
}

static void set_core(const struct tree *tree, struct tree_summary *summary, uint32_t lane,
                     const uint64_t *core)
{
    for (uint32_t bit = 0; bit < tree->bits; bit++) {
        if ((core[bit / 64] >> bit % 64 & 1) != 0) {
            sliced_set(summary->columns, bit, lane);
        } else {
            sliced_clear(summary->columns, bit, lane);
        }
    }
}

/* Computes need number `number` of a message: c e - 8 x (inner.h), where c is `cardinality`, x
 * is `outside` and e is BITS_NEEDS_FIRST + `number`. */
static int16_t need_of(uint32_t cardinality, uint32_t outside, uint32_t number)
{
    enum { EIGHTHS = 8 };
    uint32_t eighths = BITS_NEEDS_FIRST + number;

    return (int16_t)((int32_t)(cardinality * eighths) - (int32_t)(outside * EIGHTHS));
}

static void set_needs(struct tree_summary *summary, uint32_t lane, const int16_t *needs)
{
    for (uint32_t j = 0; j < BITS_NEEDS; j++) {
        summary->needs[j * BITS_LANES + lane] = needs[j];
    }
}

/* Lowers the needs of a span so that the needs hold for one more message. Need number j is needs[j
 * * stride]. */
static void lower_needs(int16_t *needs, size_t stride, uint32_t cardinality, uint32_t outside)
{
    for (uint32_t j = 0; j < BITS_NEEDS; j++) {
        int16_t need = need_of(cardinality, outside, j);

        needs[j * stride] = need < needs[j * stride] ? need : needs[j * stride];
    }
}

/* Returns whether the needs of a lane hold for a message: none is larger than the need of the
 * message. */
static bool needs_hold(const int16_t *needs, uint32_t cardinality, uint32_t outside)
{
    bool hold = true;

    for (uint32_t j = 0; j < BITS_NEEDS; j++) {
        hold = hold && needs[j * BITS_LANES] <= need_of(cardinality, outside, j);
    }
    return hold;
}

/*
 * The needs of a span without messages. Each need is larger than the bits of any query with bounds,
 * so that `promise` (bits.h) gives the span the lowest bound.
 */
static const int16_t needs_none[BITS_NEEDS] = {TREE_NEED_NONE, TREE_NEED_NONE, TREE_NEED_NONE};

void tree_forget_summary(struct tree *tree, struct tree_node *node)
{
    static const uint64_t none[PROFILE_WORDS_MAX];

    if (node->span_count == 0) {
        return;
    }
    struct tree_summary *summary = summary_of(tree, node);
    for (uint32_t span = 0; span < node->span_count; span++) {
        set_core(tree, summary, node->span_lane + span, none);
        set_needs(summary, node->span_lane + span, needs_none);
        clear_ranges(tree, summary, node->span_lane + span);
    }
    own_units(summary, node->span_lane / TREE_UNIT, unit_count(node), NULL);
    node->span_count = 0;
}

/* --- one span --------------------------------------------------------------------------------- */

/* The messages of some groups in a row. */
struct span {
    const struct tree *tree;
    const uint32_t *positions;
    uint32_t count;
    uint32_t cardinality_sum;
    uint16_t having[PROFILE_BITS_MAX]; /* for each bit, how many messages have it */
};

static void count_span(struct span *span)
{
    uint64_t filter[PROFILE_WORDS_MAX];
    uint16_t set[PROFILE_BITS_MAX];

    memset(span->having, 0, span->tree->bits * sizeof(*span->having));
    span->cardinality_sum = 0;
    for (uint32_t i = 0; i < span->count; i++) {
        tree_read_filter(span->tree, tree_spot_at(span->tree, span->positions[i]), filter);
        size_t count = sliced_positions(filter, span->tree->words, set);
        for (size_t b = 0; b < count; b++) {
            span->having[set[b]]++;
        }
        span->cardinality_sum += (uint32_t)count;
    }
}

/* Counts the set bits of a filter that are not in the core. */
static uint32_t count_outside(const struct tree *tree, const uint64_t *filter, const uint64_t *core)
{
    uint64_t outside[PROFILE_WORDS_MAX];

    for (size_t w = 0; w < tree->words; w++) {
        outside[w] = filter[w] & ~core[w];
    }
    return tree->kernels->cardinality(outside, tree->words);
}

/* The needs of a span with a given core. */
static void needs_of(const struct span *span, const uint64_t *core, int16_t *out_needs)
{
    uint64_t filter[PROFILE_WORDS_MAX];

    memcpy(out_needs, needs_none, sizeof(needs_none));
    for (uint32_t i = 0; i < span->count; i++) {
        struct tree_spot spot = tree_spot_at(span->tree, span->positions[i]);

        tree_read_filter(span->tree, spot, filter);
        lower_needs(out_needs, 1, tree_cardinality(spot), count_outside(span->tree, filter, core));
    }
}

/*
 * Makes the core from the bits that at least `percent` of the span's messages have, and computes
 * the needs. Returns a score; a larger score is better. The score is for an unrelated query of
 * usual size: how many bits this query is expected to lack to reach the need number USUAL_NEED, in
 * eighths of a bit, times m (the number of bits of a filter).
 */
static int64_t core_of(const struct span *span, uint32_t percent, uint64_t *core,
                       int16_t *out_needs)
{
    const struct tree *tree = span->tree;
    int64_t usual = span->cardinality_sum / span->count;

    memset(core, 0, tree->words * sizeof(*core));
    for (uint32_t bit = 0; bit < tree->bits; bit++) {
        if (span->having[bit] > 0 &&
            (uint64_t)span->having[bit] * 100 >= (uint64_t)span->count * percent) {
            core[bit / 64] |= UINT64_C(1) << bit % 64;
        }
    }
    needs_of(span, core, out_needs);
    return (usual * (BITS_NEEDS_FIRST + USUAL_NEED) + out_needs[USUAL_NEED]) * tree->bits -
           8 * usual * tree->kernels->cardinality(core, tree->words);
}

/* Tries cores for several percentages and takes the core with the best score. Returns that score.
 * Without messages: INT64_MIN, an empty core and needs_none. */
static int64_t summarise_span(struct span *span, uint64_t *core, int16_t *out_needs)
{
    static const uint32_t percents[] = {0, 5, 10, 20, 40};
    uint64_t tried[PROFILE_WORDS_MAX];
    int64_t most = INT64_MIN;

    count_span(span);
    memset(core, 0, span->tree->words * sizeof(*core));
    memcpy(out_needs, needs_none, sizeof(needs_none));
    for (size_t i = 0; span->count > 0 && i < sizeof(percents) / sizeof(percents[0]); i++) {
        int16_t needs[BITS_NEEDS];
        int64_t expected = core_of(span, percents[i], tried, needs);

        if (expected > most) {
            most = expected;
            memcpy(out_needs, needs, sizeof(needs));
            memcpy(core, tried, span->tree->words * sizeof(*core));
        }
    }
    return most;
}

/* Lists the positions of the messages of groups first .. end - 1. Returns how many. */
static uint32_t list_groups(struct tree_node *node, uint32_t first, uint32_t end, uint32_t *out)
{
    uint32_t count = 0;

    for (uint32_t g = first; g < end; g++) {
        for (uint32_t i = 0; i < node->groups[g].used; i++) {
            out[count++] = tree_position((struct tree_spot){node, node->groups[g].first + i});
        }
    }
    return count;
}

/* The common bits of a group (tree_common_bits), and how many bits these are. */
struct common {
    uint64_t bits[PROFILE_WORDS_MAX];
    uint32_t cardinality;
};

static void common_of(const struct tree *tree, const uint32_t *positions, uint32_t count,
                      struct common *out)
{
    memset(out, 0, sizeof(*out));
    if (count > 0) {
        tree_common_bits(tree, positions, count, out->bits);
        out->cardinality = tree->kernels->cardinality(out->bits, tree->words);
    }
}

static bool are_alike(const struct tree *tree, const struct common *a, const struct common *b)
{
    return tree_are_alike(bloom_intersection_count(a->bits, b->bits, tree->words), a->cardinality,
                          b->cardinality);
}

/*
 * Divides the groups of a node into at most TREE_SPANS spans. A new span begins at a group that is
 * not similar to the first group of the span before, or after SPAN_USUAL groups. It begins only if
 * the spans before have at least SPAN_MEAN groups on average.
 */
static void divide_spans(const struct tree *tree, struct tree_node *node)
{
    uint32_t positions[TREE_GROUP];
    struct common begin;
    struct common next;

    node->span_first[0] = 0;
    node->span_count = 1;
    common_of(tree, positions, list_groups(node, 0, 1, positions), &begin);
    for (uint32_t g = 1; g < node->group_count && node->span_count < TREE_SPANS; g++) {
        uint32_t length = g - node->span_first[node->span_count - 1];

        common_of(tree, positions, list_groups(node, g, g + 1, positions), &next);
        if (g >= SPAN_MEAN * node->span_count &&
            (length >= SPAN_USUAL || !are_alike(tree, &begin, &next))) {
            node->span_first[node->span_count++] = (uint16_t)g;
            begin = next;
        }
    }
}

static void set_ranges(const struct span *span, struct tree_summary *summary, uint32_t lane,
                       const uint64_t *core)
{
    const struct tree *tree = span->tree;
    uint64_t filter[PROFILE_WORDS_MAX];
    uint64_t outside[PROFILE_WORDS_MAX];

    clear_ranges(tree, summary, lane);
    for (uint32_t i = 0; i < span->count; i++) {
        tree_read_filter(tree, tree_spot_at(tree, span->positions[i]), filter);
        for (size_t w = 0; w < tree->words; w++) {
            outside[w] = filter[w] & ~core[w];
        }
        widen_ranges(tree, summary, lane, filter, outside);
    }
}

void tree_summarise(struct tree *tree, struct tree_node *node)
{
    uint32_t positions[TREE_SLOTS];

    if (tree->summary_count == 0 || node->group_count == 0) {
        return;
    }
    divide_spans(tree, node);
    if (!take_lanes(tree, node)) {
        node->span_count = 0;
        return;
    }
    struct tree_summary *summary = summary_of(tree, node);
    for (uint32_t s = 0; s < node->span_count; s++) {
        uint32_t next = s + 1 < node->span_count ? node->span_first[s + 1] : node->group_count;
        struct span span = {.tree = tree, .positions = positions};
        uint64_t core[PROFILE_WORDS_MAX];
        int16_t needs[BITS_NEEDS];

        span.count = list_groups(node, node->span_first[s], next, positions);
        (void)summarise_span(&span, core, needs);
        set_core(tree, summary, node->span_lane + s, core);
        set_needs(summary, node->span_lane + s, needs);
        set_ranges(&span, summary, node->span_lane + s, core);
    }
}

/* Returns how many groups, from group number `first` on, form a span. *out_messages is the number
 * of messages in these groups. */
static size_t span_length(const struct tree *tree, const struct tree_order *order, size_t first,
                          const uint32_t *positions, uint32_t *out_messages)
{
    struct common begin;
    struct common next;
    size_t length = 0;

    *out_messages = 0;
    while (length < SPAN_USUAL && first + length < order->group_count) {
        uint32_t size = order->sizes[first + length] & (TREE_LOOSE - 1u);

        if (length > 0 && (order->sizes[first + length] & TREE_LOOSE) != 0) {
            break;
        }
        common_of(tree, positions + *out_messages, size, length == 0 ? &begin : &next);
        if (length > 0 && !are_alike(tree, &begin, &next)) {
            break;
        }
        *out_messages += size;
        length++;
    }
    return length;
}

void tree_mark_loose(const struct tree *tree, struct tree_order *order)
{
    const uint32_t *positions = order->positions;

    for (size_t first = 0; first < order->group_count;) {
        struct span span = {.tree = tree, .positions = positions};
        uint64_t core[PROFILE_WORDS_MAX];
        int16_t needs[BITS_NEEDS];
        size_t length = span_length(tree, order, first, positions, &span.count);
        int64_t expected = summarise_span(&span, core, needs);

        /*
         * For an unrelated query, the shared bits are expected to fall short of the need by fewer
         * bits than a quarter of a message's bits. So the summary of the span would rule out few
         * queries.
         */
        if (expected < (int64_t)(span.cardinality_sum / span.count) * tree->bits * LOOSE_EIGHTHS) {
            for (size_t g = first; g < first + length; g++) {
                order->sizes[g] |= TREE_LOOSE;
            }
        }
        first += length;
        positions += span.count;
    }
}

/* Set bits of a lane of some columns. */
static uint32_t lane_bits(const struct tree *tree, const uint64_t *columns, uint32_t lane)
{
    uint32_t count = 0;

    for (uint32_t bit = 0; bit < tree->bits; bit++) {
        count += sliced_test(columns, bit, lane);
    }
    return count;
}

/* Does nothing to core and needs if the needs hold for the new message. Else adds the message's
 * bits to the core, unless the core would become too full, and lowers the needs as far as
 * necessary. */
void tree_widen_summary(struct tree *tree, struct tree_node *node, uint32_t group,
                        const uint64_t *filter, uint16_t cardinality)
{
    struct tree_summary *summary = summary_of(tree, node);
    uint32_t lane = lane_of(node, group);
    uint16_t positions[PROFILE_BITS_MAX];
    size_t count = sliced_positions(filter, tree->words, positions);
    uint64_t outside[PROFILE_WORDS_MAX] = {0};
    uint32_t beyond = 0;

    for (size_t i = 0; i < count; i++) {
        if (!sliced_test(summary->columns, positions[i], lane)) {
            outside[positions[i] / 64] |= UINT64_C(1) << positions[i] % 64;
            beyond++;
        }
    }
    if (!needs_hold(&summary->needs[lane], cardinality, beyond)) {
        if ((lane_bits(tree, summary->columns, lane) + beyond) * 100 <=
            tree->bits * CORE_FILL_PERCENT) {
            for (size_t i = 0; i < count; i++) {
                sliced_set(summary->columns, positions[i], lane);
            }
            memset(outside, 0, sizeof(outside));
            beyond = 0;
        }
        lower_needs(&summary->needs[lane], BITS_LANES, cardinality, beyond);
    }
    widen_ranges(tree, summary, lane, filter, outside);
}
