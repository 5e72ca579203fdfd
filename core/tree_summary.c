/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Summaries: the level above the nodes. Rare labels fill a union of many messages, and a full union
 * rules out nothing; so a summary keeps the bits that many of them share, the core, and how many
 * bits any message has besides, the residue (docs/tree.md has the proof).
 */
#include "core/tree.h"

#include <string.h>

#include "core/bloom.h"
#include "core/err.h"
#include "core/sliced.h"

enum {
    NODES_MIN = 16,         /* a tree of fewer nodes has no summaries: all of it is soon counted */
    CORE_FILL_PERCENT = 40, /* a core that grows message by message stops at this fill */
    SPAN_USUAL = 32,        /* groups of a span */
    SPAN_MEAN = 14          /* at least, so that a node's lanes suffice */
};

static size_t summary_words(const struct tree *tree)
{
    return (size_t)tree->bits * BITS_LANE_WORDS + TREE_LINE_WORDS - 1;
}

static size_t one_bytes(const struct tree *tree)
{
    return sizeof(struct tree_summary) + summary_words(tree) * sizeof(uint64_t);
}

size_t tree_summary_bytes(const struct tree *tree)
{
    return tree->summary_count * (one_bytes(tree) + sizeof(struct tree_summary *));
}

void tree_free_summaries(struct tree *tree)
{
    for (uint32_t i = 0; i < tree->summary_count; i++) {
        alloc_release(tree->alloc, tree->summaries[i], 1, one_bytes(tree));
    }
    alloc_release(tree->alloc, tree->summaries, tree->summary_count, sizeof(struct tree_summary *));
    tree->summaries = NULL;
    tree->summary_count = 0;
}

static struct tree_summary *summary_new(const struct tree *tree)
{
    struct tree_summary *summary = alloc_zeroed(tree->alloc, 1, one_bytes(tree));

    if (summary != NULL) {
        size_t past = (uintptr_t)summary->storage / sizeof(uint64_t) % TREE_LINE_WORDS;

        summary->columns = summary->storage + (TREE_LINE_WORDS - past) % TREE_LINE_WORDS;
    }
    return summary;
}

int tree_grow_summaries(struct tree *tree, uint32_t room)
{
    uint32_t count = room < NODES_MIN ? 0 : (room + TREE_SUMMARISED - 1) / TREE_SUMMARISED;

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
            alloc_release(tree->alloc, summaries[i], 1, one_bytes(tree));
        }
        alloc_release(tree->alloc, summaries, count, sizeof(struct tree_summary *));
        return -ERR_NOMEM;
    }
    if (tree->summary_count > 0) {
        memcpy(summaries, tree->summaries, tree->summary_count * sizeof(struct tree_summary *));
    }
    alloc_release(tree->alloc, tree->summaries, tree->summary_count, sizeof(struct tree_summary *));
    tree->summaries = summaries;
    tree->summary_count = count;
    return 0;
}

static struct tree_summary *summary_of(const struct tree *tree, const struct tree_node *node)
{
    return tree->summaries[node->number / TREE_SUMMARISED];
}

/* The lane of a span; that of a group. */
static uint32_t span_lane(const struct tree_node *node, uint32_t span)
{
    return node->number % TREE_SUMMARISED * TREE_SPANS + span;
}

static uint32_t lane_of(const struct tree_node *node, uint32_t group)
{
    uint32_t span = node->span_count - 1;

    while (node->span_first[span] > group) {
        span--;
    }
    return span_lane(node, span);
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

/* Notes whether a core of so many bits shares many of them with any message. */
static void note_full(const struct tree *tree, struct tree_summary *summary, uint32_t lane,
                      uint32_t core_bits)
{
    if (core_bits * 100 > tree->bits * CORE_FILL_PERCENT) {
        sliced_set(summary->full, 0, lane);
    } else {
        sliced_clear(summary->full, 0, lane);
    }
}

static void read_core(const struct tree *tree, const struct tree_summary *summary, uint32_t lane,
                      uint64_t *out)
{
    memset(out, 0, tree->words * sizeof *out);
    for (uint32_t bit = 0; bit < tree->bits; bit++) {
        out[bit / 64] |= (uint64_t)sliced_test(summary->columns, bit, lane) << bit % 64;
    }
}

static void set_residue(struct tree_summary *summary, uint32_t lane, uint32_t residue)
{
    for (uint32_t plane = 0; plane < BITS_PLANES_MAX; plane++) {
        if ((residue >> plane & 1) != 0) {
            sliced_set(summary->residue, plane, lane);
        } else {
            sliced_clear(summary->residue, plane, lane);
        }
    }
}

static uint32_t residue_at(const struct tree_summary *summary, uint32_t lane)
{
    uint32_t residue = 0;

    for (uint32_t plane = 0; plane < BITS_PLANES_MAX; plane++) {
        residue |= (uint32_t)sliced_test(summary->residue, plane, lane) << plane;
    }
    return residue;
}

void tree_forget_summary(struct tree *tree, struct tree_node *node)
{
    static const uint64_t none[PROFILE_WORDS_MAX];

    if (node->span_count == 0) {
        return;
    }
    struct tree_summary *summary = summary_of(tree, node);
    for (uint32_t span = 0; span < node->span_count; span++) {
        set_core(tree, summary, span_lane(node, span), none);
        set_residue(summary, span_lane(node, span), 0);
        note_full(tree, summary, span_lane(node, span), 0);
    }
    node->span_count = 0;
}

/* ---- one span ---- */

/* The messages of some groups in a row. */
struct span {
    const struct tree *tree;
    const uint32_t *positions;
    uint32_t count;
    uint32_t cardinality_sum;
    uint16_t having[PROFILE_BITS_MAX]; /* messages that have a bit */
};

static void count_span(struct span *span)
{
    uint64_t filter[PROFILE_WORDS_MAX];
    uint16_t set[PROFILE_BITS_MAX];

    memset(span->having, 0, span->tree->bits * sizeof *span->having);
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

/* The most bits that a message of the span has outside of a core. */
static uint32_t residue_of(const struct span *span, const uint64_t *core)
{
    uint64_t filter[PROFILE_WORDS_MAX];
    uint32_t most = 0;

    for (uint32_t i = 0; i < span->count; i++) {
        tree_read_filter(span->tree, tree_spot_at(span->tree, span->positions[i]), filter);
        for (size_t w = 0; w < span->tree->words; w++) {
            filter[w] &= ~core[w];
        }
        uint32_t outside = span->tree->kernels->cardinality(filter, span->tree->words);
        most = outside > most ? outside : most;
    }
    return most;
}

/*
 * The core of bits that `percent` of the messages have, and its residue. Returns how many bits a
 * query of usual size can be expected to share with them at most, times m.
 */
static uint64_t core_of(const struct span *span, uint32_t percent, uint64_t *core,
                        uint32_t *out_residue)
{
    const struct tree *tree = span->tree;

    memset(core, 0, tree->words * sizeof *core);
    for (uint32_t bit = 0; bit < tree->bits; bit++) {
        if (span->having[bit] > 0 &&
            (uint64_t)span->having[bit] * 100 >= (uint64_t)span->count * percent) {
            core[bit / 64] |= UINT64_C(1) << bit % 64;
        }
    }
    *out_residue = residue_of(span, core);
    return (uint64_t)tree->kernels->cardinality(core, tree->words) * span->cardinality_sum /
               span->count +
           (uint64_t)*out_residue * tree->bits;
}

/* The best core of the span, and its residue; what core_of returns for it. 0 messages: none. */
static uint64_t summarise_span(struct span *span, uint64_t *core, uint32_t *out_residue)
{
    static const uint32_t percents[] = {0, 5, 10, 20, 40};
    uint64_t tried[PROFILE_WORDS_MAX];
    uint64_t least = UINT64_MAX;

    count_span(span);
    memset(core, 0, span->tree->words * sizeof *core);
    *out_residue = 0;
    for (size_t i = 0; span->count > 0 && i < sizeof percents / sizeof percents[0]; i++) {
        uint32_t residue = 0;
        uint64_t expected = core_of(span, percents[i], tried, &residue);

        if (expected < least) {
            least = expected;
            *out_residue = residue;
            memcpy(core, tried, span->tree->words * sizeof *core);
        }
    }
    return least;
}

/* Whether two groups share more than half of the bits of the smaller union. */
static bool are_alike(const struct tree *tree, const uint64_t *a, const uint64_t *b)
{
    uint32_t one = tree->kernels->cardinality(a, tree->words);
    uint32_t other = tree->kernels->cardinality(b, tree->words);

    return 2 * bloom_intersection_count(a, b, tree->words) > (one < other ? one : other);
}

/* Spans begin where groups are not alike any more, or at the usual length. */
static void divide_spans(const struct tree *tree, struct tree_node *node)
{
    uint64_t begin[PROFILE_WORDS_MAX];
    uint64_t whole[PROFILE_WORDS_MAX];

    node->span_first[0] = 0;
    node->span_count = 1;
    tree_group_union(tree, node, 0, begin);
    for (uint32_t g = 1; g < node->group_count && node->span_count < TREE_SPANS; g++) {
        uint32_t length = g - node->span_first[node->span_count - 1];

        tree_group_union(tree, node, g, whole);
        if (g >= SPAN_MEAN * node->span_count &&
            (length >= SPAN_USUAL || !are_alike(tree, begin, whole))) {
            node->span_first[node->span_count++] = (uint16_t)g;
            memcpy(begin, whole, tree->words * sizeof *begin);
        }
    }
}

/* The positions of a node's groups first .. end - 1. How many. */
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

void tree_summarise(struct tree *tree, struct tree_node *node)
{
    uint32_t positions[TREE_SLOTS];

    if (node->number / TREE_SUMMARISED >= tree->summary_count) {
        return;
    }
    struct tree_summary *summary = summary_of(tree, node);
    divide_spans(tree, node);
    for (uint32_t s = 0; s < node->span_count && node->group_count > 0; s++) {
        uint32_t next = s + 1 < node->span_count ? node->span_first[s + 1] : node->group_count;
        struct span span = {.tree = tree, .positions = positions};
        uint64_t core[PROFILE_WORDS_MAX];
        uint32_t residue = 0;

        span.count = list_groups(node, node->span_first[s], next, positions);
        (void)summarise_span(&span, core, &residue);
        set_core(tree, summary, span_lane(node, s), core);
        set_residue(summary, span_lane(node, s), residue);
        note_full(tree, summary, span_lane(node, s), tree->kernels->cardinality(core, tree->words));
    }
    summary->low[node->number % TREE_SUMMARISED] =
        node->message_count > 0 ? (uint16_t)node->low : UINT16_MAX;
}

/* The union of `count` messages. */
static void unite(const struct tree *tree, const uint32_t *positions, uint32_t count, uint64_t *out)
{
    uint64_t filter[PROFILE_WORDS_MAX];

    memset(out, 0, tree->words * sizeof *out);
    for (uint32_t i = 0; i < count; i++) {
        tree_read_filter(tree, tree_spot_at(tree, positions[i]), filter);
        for (size_t w = 0; w < tree->words; w++) {
            out[w] |= filter[w];
        }
    }
}

/* How many groups of an order, from group `first` on, make a span; and their messages. */
static size_t span_length(const struct tree *tree, const struct tree_order *order, size_t first,
                          const uint32_t *positions, uint32_t *out_messages)
{
    uint64_t begin[PROFILE_WORDS_MAX];
    uint64_t whole[PROFILE_WORDS_MAX];
    size_t length = 0;

    *out_messages = 0;
    while (length < SPAN_USUAL && first + length < order->group_count) {
        uint32_t size = order->sizes[first + length] & (TREE_LOOSE - 1u);

        unite(tree, positions + *out_messages, size, length == 0 ? begin : whole);
        if (length > 0 && !are_alike(tree, begin, whole)) {
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
        uint32_t residue = 0;
        size_t length = span_length(tree, order, first, positions, &span.count);
        uint64_t expected = summarise_span(&span, core, &residue);

        /* more than half of a message's bits could be shared by chance */
        if (2 * expected * span.count > (uint64_t)span.cardinality_sum * tree->bits) {
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

/* What a message has outside of the core is within the residue, or joins the core as long as that
 * is not too full, or is the residue from now on. */
void tree_widen_summary(struct tree *tree, struct tree_node *node, uint32_t group,
                        const uint64_t *filter, uint16_t cardinality)
{
    struct tree_summary *summary = summary_of(tree, node);
    uint16_t *low = &summary->low[node->number % TREE_SUMMARISED];
    uint32_t lane = lane_of(node, group);
    uint16_t positions[PROFILE_BITS_MAX];
    size_t count = sliced_positions(filter, tree->words, positions);
    uint32_t outside = 0;

    *low = cardinality < *low ? cardinality : *low;
    for (size_t i = 0; i < count; i++) {
        outside += !sliced_test(summary->columns, positions[i], lane);
    }
    if (outside <= residue_at(summary, lane)) {
        return;
    }
    if ((lane_bits(tree, summary->columns, lane) + outside) * 100 >
        tree->bits * CORE_FILL_PERCENT) {
        set_residue(summary, lane, outside);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        sliced_set(summary->columns, positions[i], lane);
    }
}

/* Puts a node in its place among the best so far. */
static uint32_t note_promising(struct tree_promising *promising, uint32_t count,
                               struct tree_node *node, uint32_t shared)
{
    uint32_t at = count < TREE_PROMISING ? count++ : count - 1;

    if (at == TREE_PROMISING - 1 && count == TREE_PROMISING && promising[at].node != NULL &&
        shared <= promising[at].shared) {
        return count;
    }
    for (; at > 0 && promising[at - 1].shared < shared; at--) {
        promising[at] = promising[at - 1];
    }
    promising[at] = (struct tree_promising){node, shared};
    return count;
}

uint32_t tree_promising_nodes(const struct tree *tree, const uint16_t *positions, size_t count,
                              struct tree_promising *out)
{
    enum { NODES_A_WORD = 64 / TREE_SPANS };
    uint64_t planes[BITS_PLANES_MAX * BITS_LANE_WORDS];
    uint64_t largest[BITS_LANE_WORDS];
    uint64_t mask[BITS_LANE_WORDS];
    uint32_t found = 0;

    memset(out, 0, TREE_PROMISING * sizeof *out);
    for (uint32_t i = 0; i < tree->summary_count * NODES_A_WORD; i++) {
        const struct tree_summary *summary = tree->summaries[i / NODES_A_WORD];
        uint32_t part = i % NODES_A_WORD;

        if (part == 0) {
            tree->kernels->count_columns(summary->columns, positions, count, BITS_LANE_WORDS,
                                         planes);
        }
        for (size_t w = 0; w < BITS_LANE_WORDS; w++) {
            mask[w] = (((UINT64_C(1) << TREE_SPANS) - 1) << part * TREE_SPANS) & ~summary->full[w];
        }
        tree->kernels->keep_largest(planes, bits_planes(count), BITS_LANE_WORDS, mask, largest);
        for (uint32_t w = 0; w < BITS_LANE_WORDS; w++) {
            uint32_t number = i / NODES_A_WORD * TREE_SUMMARISED + w * NODES_A_WORD + part;
            struct tree_node *node = number < tree->node_room ? tree->by_number[number] : NULL;

            if (node != NULL && node->span_count > 0 && mask[w] != 0) {
                found = note_promising(out, found, node, (uint32_t)largest[w]);
            }
        }
    }
    return found;
}

const char *tree_check_summary(const struct tree *tree, struct tree_node *node)
{
    const struct tree_summary *summary = NULL;
    uint64_t core[PROFILE_WORDS_MAX];

    if (node->span_count == 0) {
        return NULL;
    }
    summary = summary_of(tree, node);
    if (summary->low[node->number % TREE_SUMMARISED] > node->low) {
        return "tree: a node has smaller messages than its summary says";
    }
    for (uint32_t group = 0; group < node->group_count; group++) {
        uint32_t positions[TREE_GROUP];
        struct span span = {.tree = tree, .positions = positions};

        span.count = list_groups(node, group, group + 1, positions);

        read_core(tree, summary, lane_of(node, group), core);
        if (residue_of(&span, core) > residue_at(summary, lane_of(node, group))) {
            return "tree: a message has more bits outside of its core than the summary says";
        }
    }
    return NULL;
}
