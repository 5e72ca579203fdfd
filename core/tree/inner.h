/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree: the BloomFilterTree. Exact answers, as the list gives them, with few filters read. What its
 * files share; docs/tree.md draws it and proves the bounds. Included by tree*.c only.
 *
 *   root    the nodes, in order
 *   node    up to 512 groups and the slots of their messages; for each group its union filter, the
 *           range of its cardinalities and its newest deposit. The unions lie by columns (bits.h),
 *           so that one pass over the columns of a query's bits bounds all groups at once
 *   group   a leaf: up to 8 similar filters, in slots one after another. Slots are interleaved in
 *           blocks of 8, of which one call of `scan` compares as many as there are
 *
 *   node.c     messages and groups within a node, and their summaries
 *   arrange.c  which messages should share a group
 *   cluster.c  ... and which a node; order.c the order of groups
 *   build.c    nodes made from arranged messages: bulk build, split and repack
 *   change.c   insert and remove
 *   summary.c  what nodes have in common
 *   search.c   cursors; bound.c groups ruled out, open.c messages compared,
 *                   tree_path.c the thesis's heuristic
 *   copy.c     all messages copied out
 *   tree_check.c    every invariant
 */
#ifndef CORE_TREE_INNER_H
#define CORE_TREE_INNER_H

#include "core/bits/bits.h"
#include "core/index/engine.h"
#include "core/index/idmap.h"

enum {
    TREE_GROUP = BITS_BLOCK,  /* messages a group, at most */
    TREE_GROUPS = BITS_LANES, /* groups a node, at most */
    TREE_SLOTS = TREE_GROUP * TREE_GROUPS,
    TREE_UNION_PERCENT = 40, /* of all bits may be in the union of a group, if possible; */
    TREE_SMALL_PERCENT = 33, /* ... in a tree of at most */
    TREE_SMALL_MOST = 65536, /* ... so many messages */
    TREE_LINE_WORDS = 8      /* of a cache line */
};

/* What is known of a group, besides its union. Its messages are in slots first .. first + used - 1;
 * it may grow to first + room - 1. Groups stand in the order of their slots. */
struct tree_group {
    int64_t newest_ms; /* newest deposit; INT64_MIN where there is none */
    uint16_t low;      /* least and greatest cardinality */
    uint16_t high;
    uint16_t first;
    uint8_t room; /* 1 .. TREE_GROUP */
    uint8_t used; /* 0 .. room */
};

/*
 * What the messages of each span (some groups in a row) have in common, a lane a span: a core, by
 * columns, and what a query must share with it (see bits.h, promise). With x the bits that a
 * message of the span has outside of the core and c all of its bits, a need for the floor e / 8 is
 * at most c e - 8 x, for each: docs/tree.md, 6. A node's spans have lanes in a row, of one summary.
 */
enum {
    TREE_SPANS = 128,      /* a node, at most */
    TREE_SPANS_USUAL = 48, /* for so many there is room */
    TREE_UNIT = 16,        /* lanes that one node has together */
    TREE_UNITS = BITS_LANES / TREE_UNIT,
    TREE_NEED_NONE = 1 << 14 /* of a span without messages: more than any other */
};

struct tree_summary {
    int16_t needs[BITS_NEEDS * BITS_LANES];
    struct tree_node *owners[TREE_UNITS]; /* NULL: free */
    uint32_t used;                        /* units that are not */
    uint64_t *columns;                    /* into storage, at the start of a cache line */
    uint64_t storage[];
};

/* Groups 0 .. group_count - 1; lanes of the columns beyond are zero. The last one is not empty. */
struct tree_node {
    uint32_t number;                 /* in tree->by_number, which does not change */
    uint32_t place;                  /* in tree->nodes */
    bool is_arranged;                /* else its messages stand as they came */
    uint32_t span_count;             /* 0: not in the tree's summaries */
    uint32_t span_summary;           /* where their lanes are, */
    uint32_t span_lane;              /* ... the first of them */
    uint16_t span_first[TREE_SPANS]; /* groups that spans begin with, ascending from 0 */
    uint32_t group_count;
    uint32_t empty_count; /* of these, groups without messages */
    uint32_t slot_count;  /* slots of groups, with those between */
    uint32_t message_count;
    uint32_t low;         /* least cardinality; 0 in a node without messages */
    uint32_t high;        /* greatest cardinality */
    int64_t newest_ms;    /* newest deposit */
    uint64_t column_bits; /* set bits of all columns */
    uint64_t cardinality_sum;
    uint64_t room[BITS_LANE_WORDS]; /* groups that have room, a bit each */
    uint8_t least[TREE_GROUPS];     /* cardinalities of each group, for bound_lanes (bits.h): */
    uint8_t most[TREE_GROUPS];      /* 255: that or more; 255 and 0 of one without messages */
    struct tree_group groups[TREE_GROUPS];
    uint32_t slot_room;     /* a multiple of BITS_BLOCK; a free slot is zero, and has expired */
    uint64_t *slot_storage; /* what the next three point into */
    uint64_t *filters;      /* at the start of a cache line */
    struct index_item *items;
    uint16_t *cardinalities; /* at most PROFILE_BITS_MAX */
    uint64_t *columns;       /* of the groups' unions; into storage, at the start of a cache line */
    uint64_t *whole;         /* union of all, a filter; into storage */
    uint64_t storage[];
};

struct tree_cursor;

struct tree {
    const struct alloc *alloc;
    const struct bits_kernels *kernels;
    uint32_t bits;                   /* m */
    size_t words;                    /* of a filter */
    uint32_t fanout;                 /* groups a node, at most: TREE_GROUPS, but fewer in tests */
    uint64_t seed;                   /* for sampling */
    size_t small_most;               /* messages of a small tree: see tree_is_small */
    size_t count;                    /* messages */
    size_t slot_count;               /* of all nodes */
    struct tree_node **nodes;        /* in order */
    struct tree_node **by_number;    /* NULL where there is none */
    struct tree_summary **summaries; /* summary_count of them, see summary.c */
    uint32_t summary_count;          /* 0 in a tree of few nodes */
    uint32_t node_count;
    uint32_t node_room;            /* of both */
    uint64_t changes;              /* grows with each: groups may change lanes */
    size_t removed;                /* from arranged nodes, since all was arranged */
    const struct index_stop *stop; /* of the rebuild under way; or NULL */
    struct idmap ids;              /* to positions */
    struct tree_cursor *cursors;
    uint32_t futile; /* searches in a row that bounds were no help to */
    uint32_t retry;  /* searches that did without since then */
};

/* Where a message is. A position is the same in 32 bits. */
struct tree_spot {
    struct tree_node *node;
    uint32_t slot;
};

enum { TREE_NODES_MAX = UINT32_MAX / TREE_SLOTS };

static inline uint32_t tree_position(struct tree_spot spot)
{
    return spot.node->number * TREE_SLOTS + spot.slot;
}

static inline struct tree_spot tree_spot_at(const struct tree *tree, uint32_t position)
{
    return (struct tree_spot){tree->by_number[position / TREE_SLOTS], position % TREE_SLOTS};
}

/* What goes with the message of a slot. */
static inline struct index_item *tree_item(struct tree_spot spot)
{
    return &spot.node->items[spot.slot];
}

static inline uint16_t tree_cardinality(struct tree_spot spot)
{
    return spot.node->cardinalities[spot.slot];
}

/* The first word of the block of filters that a slot is in. */
static inline uint64_t *tree_block(const struct tree *tree, const struct tree_node *node,
                                   uint32_t slot)
{
    return node->filters + (size_t)(slot / BITS_BLOCK) * BITS_BLOCK * tree->words;
}

/* A cardinality as tree_node.least and most say it. */
static inline uint8_t tree_bound_byte(uint32_t cardinality)
{
    return cardinality < UINT8_MAX ? (uint8_t)cardinality : UINT8_MAX;
}

/* Words of columns in use: the kernels need not look at more. */
static inline size_t tree_lane_words(const struct tree_node *node)
{
    return (node->group_count + 63) / 64;
}

/* ---- slot.c ---- */

/* An empty node in no slot. NULL without memory. Freed with all its slots. */
struct tree_node *tree_node_new(const struct tree *tree);
void tree_node_free(const struct tree *tree, struct tree_node *node);
size_t tree_node_bytes(const struct tree *tree);
size_t tree_slots_bytes(const struct tree *tree, size_t room);

/* Storage for the first `slots` slots. 0 or -ERR_NOMEM. tree_trim gives back much that is too much.
 */
int tree_reserve(struct tree *tree, struct tree_node *node, uint32_t slots);
void tree_trim(struct tree *tree, struct tree_node *node);

/* A message's filter (tree->words words, contiguous). */
void tree_read_filter(const struct tree *tree, struct tree_spot spot, uint64_t *out);

/* Copies a message into a slot, as far as rows and items go; writes one there. */
void tree_copy_message(const struct tree *tree, struct tree_spot from, struct tree_spot to);
void tree_write_message(const struct tree *tree, struct tree_spot to, const struct index_item *item,
                        const uint64_t *filter, uint16_t cardinality);

/* Clears a slot: its filter is zero, and its item has expired. */
void tree_clear_message(const struct tree *tree, struct tree_spot spot);

/* The bits that at least half of a few messages (1 .. TREE_GROUP) have. */
void tree_common_bits(const struct tree *tree, const uint32_t *positions, uint32_t count,
                      uint64_t *out);

/* ---- node.c ---- */

/* Whether a group of TREE_GROUP messages can be opened; where its slots would end. */
bool tree_has_space(const struct tree *tree, const struct tree_node *node);
uint32_t tree_next_end(const struct tree_node *node);

/* Opens an empty group: one that is there, or the next, at the start of a block. There is space,
 * and storage is reserved to tree_next_end. Its number. */
uint32_t tree_open_group(struct tree *tree, struct tree_node *node);

/* Leaves slots free that are reserved, so that the next group begins behind them. */
void tree_leave_slots(struct tree *tree, struct tree_node *node, uint32_t count);

/* Puts a message into a group that has room. Returns its slot. Does not touch the ids. */
uint32_t tree_put(struct tree *tree, struct tree_node *node, uint32_t group,
                  const struct index_item *item, const uint64_t *filter, uint16_t cardinality);

/* Copies messages, 1 .. TREE_GROUP of them, into the next group of a node that has no summary yet,
 * and tells the ids, which know them by the positions `names`. Where they were they stay. */
void tree_take_over(struct tree *tree, struct tree_node *node, const uint32_t *positions,
                    const uint32_t *names, uint32_t count);

/* Forgets the messages in the first slots of a node and groups the others anew, in the order of
 * their slots, which are in use one after another; the ids know them by names[slot]. The node has
 * no summary then. */
void tree_refill(struct tree *tree, struct tree_node *node, const uint32_t *names, uint32_t first);

/* The group that a message in use belongs to. O(log n) */
uint32_t tree_group_at(const struct tree_node *node, uint32_t slot);

/* Takes a message out, whose id is out of the map already; others may change slots for it. */
void tree_take(struct tree *tree, struct tree_spot spot);

/* Moves all messages of the last group behind those of another node, which has lanes and reserved
 * slots for them. */
void tree_move_last_group(struct tree *tree, struct tree_node *from, struct tree_node *to);

/* Moves all messages of a group to another of the same node, which has room for them. */
void tree_join_groups(struct tree *tree, struct tree_node *node, uint32_t from, uint32_t to);

/* Whether sets of common bits are those of groups that are much alike: the smaller one shares more
 * than 40 % of its bits, where sets that have nothing to do with one another share their fill. */
static inline bool tree_are_alike(uint32_t shared, uint32_t one, uint32_t other)
{
    return shared * 5 > (one < other ? one : other) * 2;
}

/* The union filter of a group. */
void tree_group_union(const struct tree *tree, const struct tree_node *node, uint32_t group,
                      uint64_t *out);

/* ---- arrange.c ---- */

enum { TREE_LOOSE = 0x80 /* a group of messages that are not much alike, or of few */ };

/* An order of messages: `count` positions, in groups of sizes[0], sizes[1] ... messages. Arrays
 * have room for `count` of each. */
struct tree_order {
    uint32_t *positions;
    uint8_t *sizes; /* 1 .. TREE_GROUP each; while arranging, with TREE_LOOSE */
    size_t count;
    size_t group_count;
};

/* A group that was formed in a window: of scores first .. first + size - 1. */
struct tree_formed {
    uint32_t first;
    uint32_t size;
};

/*
 * Room to work in: for one node's messages, or for all of the tree's at once. Lets the positions be
 * put into an order in which those of a group are similar.
 */
struct tree_arranger {
    const struct tree *tree;
    struct tree_order *order;
    size_t window_room;    /* messages that are compared all with all, at most */
    uint32_t most_percent; /* of all bits may be in the union of a group, if possible */
    bool may_be_small;     /* groups of few messages may be as many as need be */
    uint64_t *rows;        /* the window's filters, interleaved */
    uint16_t *cardinalities;
    uint32_t *numbers; /* where they stood in the window */
    struct tree_formed *formed;
    uint32_t *scores;
    uint32_t *histogram; /* bits * 2 + 2 */
    uint32_t *moved;     /* positions on their way, order->count of them */
};

/* Room for an order, in windows of at most `window`. 0 or -ERR_NOMEM; deinit in any case. */
int tree_arranger_init(struct tree_arranger *arranger, const struct tree *tree,
                       struct tree_order *order, size_t window);
void tree_arranger_deinit(struct tree_arranger *arranger);

/* One window. */
void tree_arrange_window(struct tree_arranger *arranger, uint32_t *positions, size_t count);

/* Puts groups of an order, from `first` on, whose messages begin at `positions`, next to those that
 * they are alike to, within windows. O(n window) */
void tree_gather_alike(struct tree_arranger *arranger, uint32_t *positions, size_t first);

/* Moves the loose groups of an order behind all others, and takes their marks away: they rule out
 * little, and should not spoil nodes that rule out much. O(n) */
void tree_part_loose(struct tree_arranger *arranger);

/* Whether lanes may be spent freely: see arrange.c. */
bool tree_is_small(const struct tree *tree);

/* Whether similar filters are worth looking for: not if they are nearly full anyway. */
bool tree_is_sparse(const struct tree *tree);

/* ---- cluster.c ---- */

/* Orders all positions so that similar ones are near one another. 0, -ERR_NOMEM or INDEX_STOPPED.
 * O(n log n) for a bounded number of centres. */
int tree_cluster(struct tree_arranger *arranger);

/* ---- build.c ---- */

/* Room in the directories for `more` nodes. 0 or -ERR_NOMEM. */
int tree_grow_directory(struct tree *tree, uint32_t more);

/* Enters a node at a place; there is room. Takes it out again. Cursors are told. */
void tree_enter_node(struct tree *tree, struct tree_node *node, uint32_t place);
void tree_leave_node(struct tree *tree, struct tree_node *node);

/* All messages anew. 0; INDEX_STOPPED with the tree as it was; -ERR_NOMEM with all messages there,
 * maybe not where they were. A tree that was just loaded takes little more memory by it than it
 * has, any other one twice as much meanwhile. */
int tree_rebuild(struct tree *tree);

/* ---- change.c ---- */

int tree_insert(void *engine, const struct index_item *item, const uint64_t *filter);
int tree_remove(void *engine, const uint8_t *id, struct index_item *out_item);
const uint8_t *tree_id_at(const void *tree, uint32_t position);

/* ---- summary.c ---- */

/* Summaries for `room` nodes, where that is worth it. 0 or -ERR_NOMEM with those that
 * were there. */
int tree_grow_summaries(struct tree *tree, uint32_t room);
void tree_free_summaries(struct tree *tree);
size_t tree_summary_bytes(const struct tree *tree);

/* Summarises all messages of a node, which is entered; takes its summary back. */
void tree_summarise(struct tree *tree, struct tree_node *node);
void tree_forget_summary(struct tree *tree, struct tree_node *node);

/* Marks the groups of an order that have little in common with their neighbours. O(n) */
void tree_mark_loose(const struct tree *tree, struct tree_order *order);

/* Lets the summary hold for one more message in a group of a node that is summarised. */
void tree_widen_summary(struct tree *tree, struct tree_node *node, uint32_t group,
                        const uint64_t *filter, uint16_t cardinality);

/* ---- search.c ---- */

int tree_cursor_new(void *engine, const struct alloc *alloc, void **out_cursor);
void tree_cursor_free(void *engine, void *cursor);
void tree_cursor_restart(void *engine, void *cursor);
int tree_cursor_step(void *engine, void *cursor, struct index_probe *probe, uint64_t budget);
int tree_cursor_copy(void *engine, void *cursor, struct index_item *out_items,
                     uint64_t *out_filters, size_t *out_count);

/*
 * `old_count` nodes from `place` on have become `new_count`: what a cursor had not visited stays
 * unvisited. If only some of them had been visited, none counts as visited.
 */
void tree_cursors_replaced(struct tree *tree, uint32_t place, uint32_t old_count,
                           uint32_t new_count);

#endif
