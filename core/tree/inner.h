/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The BloomFilterTree from the inside: what the files of core/tree/ share. docs/tree.md draws the
 * tree and proves its bounds.
 *
 *   tree     an ordered list of nodes
 *   node     up to 512 groups, and the slots of their messages. For each group the node has the
 *            union of its filters, the range of its cardinalities and its newest deposit. The
 *            unions are stored by columns (bits.h): one pass over the columns of a query's set bits
 *            gives an upper bound for all groups of the node at once
 *   group    up to 8 similar messages in consecutive slots. Filters are interleaved in blocks of 8
 *            slots; `scan` (bits.h) compares a block at a time
 *   summary  what the messages of several nodes have in common, by columns, too
 *
 *   slot.c     a node's storage, and the messages in its slots
 *   node.c     groups of a node: opened, filled, emptied, moved
 *   summary.c  summaries of nodes
 *   change.c   insert and remove
 *   build.c    rebuild: new nodes from all messages
 *   cluster.c  rebuild, step 1: an order in which similar messages are near one another
 *   arrange.c  rebuild, step 2: groups of similar messages
 *   order.c    rebuild, step 3: an order of the groups
 *   search.c   cursors, and the three phases of a search
 *   bound.c    search: upper bounds of nodes and groups
 *   open.c     search: groups opened, messages compared
 *   copy.c     all messages copied out, for a renewal
 *   engine.c   the functions of struct index_engine
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
    TREE_UNION_PERCENT = 40, /* of its m bits a group's union should have set, at most */
    TREE_SMALL_PERCENT = 33, /* the same in a small tree, */
    TREE_SMALL_MOST = 65536, /* ... which has at most so many messages */
    TREE_LINE_WORDS = 8      /* words of a cache line */
};

/* A group without its union. Its messages are in slots first .. first + used - 1; its free slots
 * are first + used .. first + room - 1. Groups are in the order of their slots. */
struct tree_group {
    int64_t newest_ms; /* newest deposit; INT64_MIN where there is none */
    uint16_t low;      /* least cardinality; UINT16_MAX where there is none */
    uint16_t high;     /* greatest cardinality; 0 where there is none */
    uint16_t first;
    uint8_t room; /* 1 .. TREE_GROUP */
    uint8_t used; /* 0 .. room */
};

/*
 * A summary has a lane for each span. A span is a row of similar groups of one node; the spans of a
 * node have consecutive lanes in one summary. For each span the summary keeps
 *
 *   core   bits that many messages of the span have, by columns
 *   needs  for each of BITS_NEEDS floors e / 8 (e = BITS_NEEDS_FIRST, + 1, ...) how many bits a
 *          query must share with the core before any message of the span can pass that floor, in
 *          eighths of a bit (bits.h, promise; proof: docs/tree.md, 6)
 *
 * A message with c set bits, of which x are outside of the core, needs c e - 8 x. The need of a
 * span is the smallest need of its messages, or less. Example, e = 3: a message with c = 40 and x =
 * 5 needs 40 * 3 - 8 * 5 = 80 eighths, that is 10 bits.
 */
enum {
    TREE_SPANS = 128,      /* spans of a node, at most */
    TREE_SPANS_USUAL = 48, /* spans of a node that summaries have lanes for, on average */
    TREE_UNIT = 16,        /* lanes are given to nodes in units of 16 */
    TREE_UNITS = BITS_LANES / TREE_UNIT,
    TREE_NEED_NONE = 1 << 14 /* the need of a span without messages: larger than any other */
};

struct tree_summary {
    int16_t needs[BITS_NEEDS * BITS_LANES];
    struct tree_node *owners[TREE_UNITS]; /* the node that has a unit; NULL: the unit is free */
    uint32_t used;                        /* units that nodes have */
    uint64_t *columns;                    /* of the cores; into storage, at a cache line */
    uint64_t storage[];
};

/* Its groups are 0 .. group_count - 1. The last one is never empty. Lanes of the columns behind the
 * last group are zero. */
struct tree_node {
    uint32_t number;                 /* index in tree->by_number; never changes */
    uint32_t place;                  /* index in tree->nodes */
    bool is_arranged;                /* false: its messages are in the order of their inserts */
    uint32_t span_count;             /* 0: the node is in no summary */
    uint32_t span_summary;           /* index of the summary that has the lanes of its spans, */
    uint32_t span_lane;              /* ... and the lane of its first span */
    uint16_t span_first[TREE_SPANS]; /* the first group of each span, ascending from 0 */
    uint32_t group_count;
    uint32_t empty_count; /* groups without messages */
    uint32_t slot_count;  /* slots up to the end of the last group */
    uint32_t message_count;
    int64_t newest_ms;    /* newest deposit */
    uint64_t column_bits; /* set bits of all columns */
    uint64_t cardinality_sum;
    uint64_t room[BITS_LANE_WORDS]; /* a bit for each group that has a free slot */
    /* The smallest and largest cardinality of each group, for bound_lanes (bits.h). 255 stands for
     * 255 or more. A group without messages has 255 and 0. */
    uint8_t least[TREE_GROUPS];
    uint8_t most[TREE_GROUPS];
    struct tree_group groups[TREE_GROUPS];
    uint32_t slot_room;     /* slots allocated, a multiple of BITS_BLOCK. The filter of a free slot
                               is zero, and its item has expired */
    uint64_t *slot_storage; /* the next three pointers point into it */
    uint64_t *filters;      /* at the start of a cache line */
    struct index_item *items;
    uint16_t *cardinalities; /* at most PROFILE_BITS_MAX */
    uint64_t *columns;       /* of the groups' unions; into storage, at the start of a cache line */
    uint64_t *whole;         /* the union of all messages, a filter; into storage */
    uint64_t storage[];
};

struct tree_cursor;

struct tree {
    const struct alloc *alloc;
    const struct bits_kernels *kernels;
    uint32_t bits;                   /* m, the bits of a filter */
    size_t words;                    /* of a filter */
    uint32_t fanout;                 /* groups a node, at most: TREE_GROUPS, but fewer in tests */
    uint64_t seed;                   /* for the sample of cluster.c */
    size_t small_most;               /* messages of a small tree, at most: see tree_is_small */
    size_t count;                    /* messages */
    struct tree_node **nodes;        /* in order */
    struct tree_node **by_number;    /* NULL: the number is free */
    struct tree_summary **summaries; /* summary_count of them */
    uint32_t summary_count;          /* 0 in a tree of few nodes */
    uint32_t node_count;
    uint32_t node_room; /* entries of nodes, and of by_number */
    uint64_t changes;   /* counts changes of the tree; groups may have other lanes then */
    size_t removed;     /* messages removed from arranged nodes since the last rebuild */
    const struct index_stop *stop; /* of the rebuild under way, or NULL */
    struct idmap ids;              /* id -> position */
    struct tree_cursor *cursors;   /* of all searches under way */
    uint32_t futile;               /* consecutive searches that bounds did not help: see search.c */
    uint32_t retry;                /* searches without bounds since then */
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

/* The words of a column that have lanes of groups; kernels skip the others. */
static inline size_t tree_lane_words(const struct tree_node *node)
{
    return (node->group_count + 63) / 64;
}

/* --- slot.c ----------------------------------------------------------------------------------- */

/* An empty node that is not in the tree, without slots. NULL without memory. tree_node_free frees a
 * node and its slots. */
struct tree_node *tree_node_new(const struct tree *tree);
void tree_node_free(const struct tree *tree, struct tree_node *node);
size_t tree_node_bytes(const struct tree *tree);
size_t tree_slots_bytes(const struct tree *tree, size_t room);

/* Allocates storage for slots 0 .. slots - 1. 0 or -ERR_NOMEM. tree_trim shrinks storage of which
 * more than half is unused. */
int tree_reserve(struct tree *tree, struct tree_node *node, uint32_t slots);
void tree_trim(struct tree *tree, struct tree_node *node);

/* Reads the filter of a slot to `out` (tree->words words). */
void tree_read_filter(const struct tree *tree, struct tree_spot spot, uint64_t *out);

/* Writes filter, item and cardinality of a slot: copied from another slot, or given. Groups, unions
 * and ids are not touched. */
void tree_copy_message(const struct tree *tree, struct tree_spot from, struct tree_spot to);
void tree_write_message(const struct tree *tree, struct tree_spot to, const struct index_item *item,
                        const uint64_t *filter, uint16_t cardinality);

/* Clears a slot: its filter is zero, and its item has expired. */
void tree_clear_message(const struct tree *tree, struct tree_spot spot);

/* The bits that at least half of `count` messages (1 .. TREE_GROUP) have. */
void tree_common_bits(const struct tree *tree, const uint32_t *positions, uint32_t count,
                      uint64_t *out);

/* --- node.c ----------------------------------------------------------------------------------- */

/* Whether a node can get a group of TREE_GROUP messages; the slot behind that group. */
bool tree_has_space(const struct tree *tree, const struct tree_node *node);
uint32_t tree_next_end(const struct tree_node *node);

/* Returns the number of an empty group: one that the node has, or a new one at the start of a
 * block. tree_has_space must be true, and storage reserved to tree_next_end. */
uint32_t tree_open_group(struct tree_node *node);

/* Puts a message into a group that has a free slot. Returns its slot. The ids are not touched. */
uint32_t tree_put(struct tree *tree, struct tree_node *node, uint32_t group,
                  const struct index_item *item, const uint64_t *filter, uint16_t cardinality);

/* Copies the messages at `positions` (1 .. TREE_GROUP of them) into a new group of a node that has
 * no summary yet. The ids, which have these messages at the positions `names`, get the new
 * positions. The old slots keep their contents. */
void tree_take_over(struct tree *tree, struct tree_node *node, const uint32_t *positions,
                    const uint32_t *names, uint32_t count);

/* The group of a slot that is in use. O(log n) */
uint32_t tree_group_at(const struct tree_node *node, uint32_t slot);

/* Removes a message whose id was removed from the ids before. Other messages may change slots. */
void tree_take(struct tree *tree, struct tree_spot spot);

/* Moves the messages of the last group to a new group at the end of another node, which has a lane
 * and reserved slots for them. */
void tree_move_last_group(struct tree *tree, struct tree_node *from, struct tree_node *to);

/* Moves the messages of a group to another group of the same node with enough free slots. */
void tree_join_groups(struct tree *tree, struct tree_node *node, uint32_t from, uint32_t to);

/* Whether two groups are alike, by the common bits (tree_common_bits) of each, `one` and `other`
 * set bits of which `shared` are shared: more than 40 % of the smaller set. Unrelated sets share
 * about as many per cent of their bits as the filters have set. */
static inline bool tree_are_alike(uint32_t shared, uint32_t one, uint32_t other)
{
    return shared * 5 > (one < other ? one : other) * 2;
}

/* The union filter of a group. */
void tree_group_union(const struct tree *tree, const struct tree_node *node, uint32_t group,
                      uint64_t *out);

/* --- arrange.c -------------------------------------------------------------------------------- */

/* Marks a loose group, whose messages have little in common with one another or with the groups
 * around it. */
enum { TREE_LOOSE = 0x80 };

/* An order of messages: `count` positions, in groups of sizes[0], sizes[1], ... messages. Both
 * arrays have `count` entries. */
struct tree_order {
    uint32_t *positions;
    uint8_t *sizes; /* 1 .. TREE_GROUP each; with TREE_LOOSE until tree_part_loose */
    size_t count;
    size_t group_count;
};

/* A group formed in a window: the messages with the numbers scores[first .. first + size - 1]. */
struct tree_formed {
    uint32_t first;
    uint32_t size;
};

/* Memory that a rebuild works in while it puts the positions of an order into groups of similar
 * messages. A window is a row of messages that are compared with one another. */
struct tree_arranger {
    const struct tree *tree;
    struct tree_order *order;
    size_t window_room;    /* messages of a window, at most */
    uint32_t most_percent; /* TREE_UNION_PERCENT or TREE_SMALL_PERCENT */
    bool may_be_small;     /* any number of groups may have few messages */
    uint64_t *rows;        /* the window's filters, interleaved */
    uint16_t *cardinalities;
    uint32_t *numbers; /* the place in the window that a row's message had at first */
    struct tree_formed *formed;
    uint32_t *scores;
    uint32_t *histogram; /* bits * 2 + 2 entries */
    uint32_t *moved;     /* a copy of positions; order->count entries */
};

/* Allocates memory for an order in windows of at most `window` messages. 0 or -ERR_NOMEM; call
 * tree_arranger_deinit in both cases. */
int tree_arranger_init(struct tree_arranger *arranger, const struct tree *tree,
                       struct tree_order *order, size_t window);
void tree_arranger_deinit(struct tree_arranger *arranger);

/* Puts the messages of a window into groups, and adds these to the order. O(count^2) */
void tree_arrange_window(struct tree_arranger *arranger, uint32_t *positions, size_t count);

/* Moves groups next to groups that are alike, within windows: groups from number `first` on, whose
 * messages begin at `positions`. O(n window) */
void tree_gather_alike(struct tree_arranger *arranger, uint32_t *positions, size_t first);

/* Moves the loose groups of an order behind all others, and clears the marks. A search can rule out
 * few loose groups; so they get nodes and summaries of their own. O(n) */
void tree_part_loose(struct tree_arranger *arranger);

/* Whether groups may have few messages although each takes a lane: see arrange.c. */
bool tree_is_small(const struct tree *tree);

/* Whether grouping similar messages can help: filters have at most 40 % of their bits set, on
 * average. */
bool tree_is_sparse(const struct tree *tree);

/* --- cluster.c -------------------------------------------------------------------------------- */

/* Orders all positions so that similar messages are near one another. 0, -ERR_NOMEM or
 * INDEX_STOPPED. O(n) for a bounded number of centres. */
int tree_cluster(struct tree_arranger *arranger);

/* --- build.c ---------------------------------------------------------------------------------- */

/* Puts an empty node with storage for `slots` slots into tree->nodes at a place. NULL without
 * memory. tree_leave_node takes a node out and frees it. The caller tells cursors
 * (tree_cursors_replaced). */
struct tree_node *tree_add_node(struct tree *tree, uint32_t place, uint32_t slots);
void tree_leave_node(struct tree *tree, struct tree_node *node);

/* Arranges all messages in new nodes (see index_arrange). No message may have been removed, and no
 * node may be arranged. 0; INDEX_STOPPED with the tree as it was; -ERR_NOMEM: then the caller may
 * only free the tree. The tree needs little more memory than before. */
int tree_rebuild(struct tree *tree);

/* --- change.c --------------------------------------------------------------------------------- */

int tree_insert(void *engine, const struct index_item *item, const uint64_t *filter);
int tree_remove(void *engine, const uint8_t *id, struct index_item *out_item);
const uint8_t *tree_id_at(const void *tree, uint32_t position);

/* --- summary.c -------------------------------------------------------------------------------- */

/* Allocates summaries for `room` nodes; none for few nodes. 0; -ERR_NOMEM with the summaries as
 * they were. */
int tree_grow_summaries(struct tree *tree, uint32_t room);
void tree_free_summaries(struct tree *tree);
size_t tree_summary_bytes(const struct tree *tree);

/* Gives a node of the tree its spans, if lanes are free; frees the lanes again. */
void tree_summarise(struct tree *tree, struct tree_node *node);
void tree_forget_summary(struct tree *tree, struct tree_node *node);

/* Marks groups of an order as loose that have little in common with their neighbours. O(n) */
void tree_mark_loose(const struct tree *tree, struct tree_order *order);

/* Adds one message of a group to the summary of the group's span: adds the message's bits to the
 * core, or lowers the needs, if the needs are too large for it. The node must have spans
 * (span_count > 0). */
void tree_widen_summary(struct tree *tree, struct tree_node *node, uint32_t group,
                        const uint64_t *filter, uint16_t cardinality);

/* --- search.c --------------------------------------------------------------------------------- */

int tree_cursor_new(void *engine, const struct alloc *alloc, void **out_cursor);
void tree_cursor_free(void *engine, void *cursor);
void tree_cursor_restart(void *engine, void *cursor);
int tree_cursor_step(void *engine, void *cursor, struct index_probe *probe, uint64_t budget);
int tree_cursor_copy(void *engine, void *cursor, struct index_item *out_items,
                     uint64_t *out_filters, size_t *out_count);

/*
 * Tells all cursors that `old_count` nodes from `place` on were replaced by `new_count` nodes.
 * Nodes that a cursor has not visited stay unvisited. If a cursor visited only some of the old
 * nodes, it visits all of the new ones.
 */
void tree_cursors_replaced(struct tree *tree, uint32_t place, uint32_t old_count,
                           uint32_t new_count);

#endif
