/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rebuild, step 2: puts similar messages into the same group. Groups change how fast a search is,
 * never what a search finds.
 */
#include <string.h>

#include "core/base/err.h"
#include "core/filter/bloom.h"
#include "core/tree/inner.h"

enum {
    CANDIDATES = 24,   /* form_group begins a group with one message, finds the CANDIDATES messages
                        * that are most similar to this message, and chooses all other messages of
                        * the group from these */
    ANY_PERCENT = 100, /* for groups of messages that fit no other group: the union may have any
                        * percentage of its bits set */
    SMALL_LEAST = 2    /* messages of a group that is not full */
};

/* A number for each message of a window, for each centre, and a byte for each group. */
static size_t scores_room(const struct tree_order *order, size_t window_room)
{
    size_t most = window_room > TREE_CENTRES_MAX ? window_room : TREE_CENTRES_MAX;
    size_t bytes = order->count / sizeof(uint32_t) + 1;

    return bytes > most ? bytes : most;
}

int tree_arranger_init(struct tree_arranger *arranger, const struct tree *tree,
                       struct tree_order *order, size_t window)
{
    size_t all = order->count;
    const struct alloc *alloc = tree->alloc;
    size_t room = (window + TREE_GROUP - 1) / TREE_GROUP * TREE_GROUP;

    *arranger = (struct tree_arranger){
        .tree = tree,
        .order = order,
        .window_room = room,
        .most_percent = tree_is_small(tree) ? TREE_SMALL_PERCENT : TREE_UNION_PERCENT,
    };
    arranger->scores = alloc_array(alloc, scores_room(order, room), sizeof(*arranger->scores));
    arranger->histogram = alloc_array(alloc, (size_t)tree->bits * 2 + 2, sizeof(uint32_t));
    arranger->moved = alloc_array(alloc, all, sizeof(*arranger->moved));
    if (arranger->scores == NULL || arranger->histogram == NULL || arranger->moved == NULL) {
        return -ERR_NOMEM;
    }
    return 0;
}

int tree_arranger_open_windows(struct tree_arranger *arranger)
{
    const struct tree *tree = arranger->tree;
    const struct alloc *alloc = tree->alloc;
    size_t room = arranger->window_room;

    arranger->rows = alloc_array(alloc, room * tree->words, sizeof(*arranger->rows));
    arranger->cardinalities = alloc_array(alloc, room, sizeof(*arranger->cardinalities));
    arranger->numbers = alloc_array(alloc, room, sizeof(*arranger->numbers));
    arranger->formed = alloc_array(alloc, room, sizeof(*arranger->formed));
    arranger->order->sizes =
        alloc_array(alloc, arranger->order->count, sizeof(*arranger->order->sizes));
    if (arranger->rows == NULL || arranger->cardinalities == NULL || arranger->numbers == NULL ||
        arranger->formed == NULL || arranger->order->sizes == NULL) {
        return -ERR_NOMEM;
    }
    return 0;
}

void tree_arranger_deinit(struct tree_arranger *arranger)
{
    const struct tree *tree = arranger->tree;
    const struct alloc *alloc = tree->alloc;

    alloc_release(alloc, arranger->rows);
    alloc_release(alloc, arranger->cardinalities);
    alloc_release(alloc, arranger->numbers);
    alloc_release(alloc, arranger->formed);
    alloc_release(alloc, arranger->scores);
    alloc_release(alloc, arranger->histogram);
    alloc_release(alloc, arranger->moved);
}

/*
 * Returns whether the tree is small: the unions of its groups are less full then. A small tree,
 * such as that of one epoch, may have only one or two messages of each place. A group of eight
 * would mix several places, and its union would rule out few queries. Smaller groups use more
 * lanes, and a lane takes as much memory as a filter; so a big tree has fuller unions.
 */
bool tree_is_small(const struct tree *tree)
{
    return tree->count <= tree->small_most;
}

/*
 * Returns whether unions can rule out queries: filters have at most 40 % of their bits set, on
 * average. If filters have more bits set, the union of a full group may have nearly all bits.
 * Example: if eight unrelated filters each have 40 % of their bits set, their union has 1 - 0.6^8 =
 * 98 % of its bits set.
 */
bool tree_is_sparse(const struct tree *tree)
{
    uint64_t sum = 0;

    for (uint32_t n = 0; n < tree->node_count; n++) {
        sum += tree->nodes[n]->cardinality_sum;
    }
    return sum * 10 <= (uint64_t)tree->bits * 4 * tree->count;
}

/* --- a window --------------------------------------------------------------------------------- */

static uint64_t *row_of(const struct tree_arranger *arranger, size_t i)
{
    return arranger->rows + i / TREE_GROUP * TREE_GROUP * arranger->tree->words + i % TREE_GROUP;
}

static void read_row(const struct tree_arranger *arranger, size_t i, uint64_t *out)
{
    const uint64_t *row = row_of(arranger, i);

    for (size_t w = 0; w < arranger->tree->words; w++) {
        out[w] = row[w * TREE_GROUP];
    }
}

static void load_window(struct tree_arranger *arranger, const uint32_t *positions, size_t count)
{
    const struct tree *tree = arranger->tree;
    uint64_t filter[PROFILE_WORDS_MAX];

    /* The kernels read the lanes behind the last row, but nobody uses their results. */
    memset(row_of(arranger, count / TREE_GROUP * TREE_GROUP), 0,
           count % TREE_GROUP != 0 ? TREE_GROUP * tree->words * sizeof(*arranger->rows) : 0);
    for (size_t i = 0; i < count; i++) {
        struct tree_spot spot = tree_spot_at(tree, positions[i]);
        uint64_t *row = row_of(arranger, i);

        tree_read_filter(tree, spot, filter);
        for (size_t w = 0; w < tree->words; w++) {
            row[w * TREE_GROUP] = filter[w];
        }
        arranger->cardinalities[i] = tree_cardinality(spot);
        arranger->numbers[i] = (uint32_t)i;
        arranger->moved[i] = positions[i];
    }
}

/* Fills row `to` with row `from`. */
static void move_row(struct tree_arranger *arranger, size_t from, size_t to)
{
    const uint64_t *source = row_of(arranger, from);
    uint64_t *row = row_of(arranger, to);

    for (size_t w = 0; w < arranger->tree->words; w++) {
        row[w * TREE_GROUP] = source[w * TREE_GROUP];
    }
    arranger->cardinalities[to] = arranger->cardinalities[from];
    arranger->numbers[to] = arranger->numbers[from];
}

struct candidate {
    int32_t score; /* 4 |a and b| - |b|: see cluster.c */
    uint32_t row;
};

/*
 * Finds, among the first `count` rows (one row for each message without a group), the rows whose
 * filters are most similar to `filter`. Writes these rows to `out`, the most similar first. Returns
 * how many rows were found, at most CANDIDATES.
 */
static size_t find_candidates(const struct tree_arranger *arranger, const uint64_t *filter,
                              size_t count, struct candidate *out)
{
    const struct tree *tree = arranger->tree;
    size_t found = 0;

    for (size_t first = 0; first < count; first += TREE_GROUP) {
        uint32_t overlaps[TREE_GROUP];

        tree->kernels->overlaps(filter, row_of(arranger, first), tree->words, overlaps);
        for (size_t i = first; i < first + TREE_GROUP && i < count; i++) {
            int32_t score = 4 * (int32_t)overlaps[i - first] - arranger->cardinalities[i];

            if (found == CANDIDATES && score <= out[found - 1].score) {
                continue;
            }
            size_t at = found < CANDIDATES ? found++ : found - 1;
            for (; at > 0 && out[at - 1].score < score; at--) {
                out[at] = out[at - 1];
            }
            out[at] = (struct candidate){score, (uint32_t)i};
        }
    }
    return found;
}

static uint32_t overlap_with_row(const struct tree_arranger *arranger, const uint64_t *filter,
                                 size_t row)
{
    uint64_t words[PROFILE_WORDS_MAX];

    read_row(arranger, row, words);
    bloom_intersection(words, words, filter, arranger->tree->words);
    return arranger->tree->kernels->cardinality(words, arranger->tree->words);
}

/*
 * Chooses, among the candidates, the message that adds the fewest new bits to the union `whole`, at
 * most `most_added` bits. Removes this candidate from the list and returns its row. Returns
 * UINT32_MAX if every candidate adds more bits.
 */
static uint32_t take_candidate(const struct tree_arranger *arranger, const uint64_t *whole,
                               struct candidate *candidates, size_t *count, uint32_t most_added)
{
    uint32_t least = UINT32_MAX;
    size_t best = 0;

    for (size_t c = 0; c < *count; c++) {
        uint32_t row = candidates[c].row;
        uint32_t cardinality = arranger->cardinalities[row];
        uint32_t added = cardinality - overlap_with_row(arranger, whole, row);

        if (added < least && added <= most_added) {
            least = added;
            best = c;
        }
    }
    if (least == UINT32_MAX) {
        return UINT32_MAX;
    }
    uint32_t row = candidates[best].row;
    candidates[best] = candidates[--*count];
    return row;
}

/* Removes row number `row`, and moves the last row to its place. If `rows` contains the number of
 * the last row, replaces this number by `row`. */
static void drop_row(struct tree_arranger *arranger, size_t row, size_t *count, uint32_t *rows,
                     size_t row_count)
{
    size_t last = --*count;

    if (row == last) {
        return;
    }
    move_row(arranger, last, row);
    for (size_t i = 0; i < row_count; i++) {
        if (rows[i] == last) {
            rows[i] = (uint32_t)row;
        }
    }
}

/*
 * Forms a group around the last of the `*count` messages that have no group yet. Writes the numbers
 * of the group's messages to `out`, which has TREE_GROUP entries, and removes these messages from
 * the rows. Returns the size of the group. If fewer than `least` messages are similar enough,
 * removes only the last message and returns 1.
 */
static size_t form_group(struct tree_arranger *arranger, size_t *count, uint32_t most_percent,
                         size_t least, uint32_t *out)
{
    struct candidate candidates[CANDIDATES];
    uint64_t whole[PROFILE_WORDS_MAX];
    uint64_t words[PROFILE_WORDS_MAX];
    uint32_t rows[TREE_GROUP];
    size_t taken = 0;

    read_row(arranger, --*count, whole);
    out[0] = arranger->numbers[*count];
    size_t candidate_count = find_candidates(arranger, whole, *count, candidates);
    while (taken < TREE_GROUP - 1) {
        uint32_t bits = arranger->tree->kernels->cardinality(whole, arranger->tree->words);
        uint32_t most = arranger->tree->bits * most_percent / 100;
        uint32_t row = take_candidate(arranger, whole, candidates, &candidate_count,
                                      most > bits ? most - bits : 0);

        if (row == UINT32_MAX) {
            break;
        }
        rows[taken++] = row;
        read_row(arranger, row, words);
        bloom_union(whole, whole, words, arranger->tree->words);
    }
    if (taken + 1 < least) {
        return 1;
    }
    for (size_t i = 0; i < taken; i++) {
        out[1 + i] = arranger->numbers[rows[i]];
    }
    for (size_t i = 0; i < taken; i++) {
        drop_row(arranger, rows[i], count, rows + i + 1, taken - i - 1);
    }
    return taken + 1;
}

/*
 * Writes the new groups back to `positions`, ordered by where the first message of each group was
 * before, so that similar groups stay near one another. Then come the messages without a group, in
 * their old order.
 */
static void arrange_emit(struct tree_arranger *arranger, uint32_t *positions, size_t count,
                         size_t group_count, bool all_loose)
{
    enum { IN_GROUP, SINGLE, FIRST /* and on: of group 0 .. */ };
    struct tree_order *order = arranger->order;
    uint32_t *role = arranger->numbers; /* not needed any more */
    size_t out = 0;

    for (size_t i = 0; i < count; i++) {
        role[i] = SINGLE;
    }
    for (size_t g = 0; g < group_count; g++) {
        const struct tree_formed *formed = &arranger->formed[g];

        for (uint32_t i = 0; i < formed->size; i++) {
            role[arranger->scores[formed->first + i]] = IN_GROUP;
        }
        role[arranger->scores[formed->first]] = FIRST + (uint32_t)g;
    }
    for (size_t i = 0; i < count; i++) {
        if (role[i] == IN_GROUP || role[i] == SINGLE) {
            continue;
        }
        const struct tree_formed *formed = &arranger->formed[role[i] - FIRST];
        for (uint32_t m = 0; m < formed->size; m++) {
            positions[out++] = arranger->moved[arranger->scores[formed->first + m]];
        }
        order->sizes[order->group_count++] = (uint8_t)(formed->size | (all_loose ? TREE_LOOSE : 0));
    }
    for (size_t i = 0; i < count; i++) {
        if (role[i] == SINGLE) {
            positions[out++] = arranger->moved[i];
        }
    }
}

/* Forms groups of at least `least` messages. Messages that fit no group move to the end of
 * `positions`. Returns how many messages are in groups. */
static size_t form_groups(struct tree_arranger *arranger, uint32_t *positions, size_t count,
                          uint32_t most_percent, size_t least)
{
    size_t group_count = 0;
    size_t grouped = 0;

    load_window(arranger, positions, count);
    for (size_t left = count; left > 0;) {
        uint32_t *group = arranger->scores + grouped;
        size_t size = form_group(arranger, &left, most_percent, least, group);

        if (size >= least) {
            arranger->formed[group_count++] =
                (struct tree_formed){(uint32_t)grouped, (uint32_t)size};
            grouped += size;
        }
    }
    arrange_emit(arranger, positions, count, group_count, most_percent == ANY_PERCENT);
    return grouped;
}

/*
 * Forms full groups first. Then forms smaller groups of similar messages, as many as there are:
 * each takes a lane, but a few more lanes cost a query less than groups of messages that are not
 * similar. The messages that are left form groups whether they are similar or not. Such groups rule
 * out few queries.
 */
void tree_arrange_window(struct tree_arranger *arranger, uint32_t *positions, size_t count)
{
    size_t first = arranger->order->group_count;
    size_t grouped = form_groups(arranger, positions, count, arranger->most_percent, TREE_GROUP);

    grouped += form_groups(arranger, positions + grouped, count - grouped, arranger->most_percent,
                           SMALL_LEAST);
    (void)form_groups(arranger, positions + grouped, count - grouped, ANY_PERCENT, 1);
    tree_gather_alike(arranger, positions, first);
}
