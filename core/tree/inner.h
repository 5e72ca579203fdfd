/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The BloomFilterTree from the inside: what the files of core/tree/ share. docs/tree.md draws the
 * tree and proves its bounds.
 *
 *   tree     an ordered list of nodes
 *   node     up to 512 groups, and the slots of their messages. For each group the node keeps the
 *            union of its filters, the range of its cardinalities and its newest deposit time. The
 *            unions are stored by columns (bits.h): one pass over the columns of a query's set bits
 *            gives an upper bound for every group of the node
 *   group    up to 8 messages in consecutive slots; a rebuild puts similar messages into a group.
 *            Filters are interleaved in blocks of 8 slots; `scan` (bits.h) compares a block at a
 *            time
 *   summary  common bits of the messages of several nodes, stored by columns, too
 *
 *   entry      the messages of a slot. Usually one; messages with equal filters and equal reach
 * share a slot, so that a search compares their filter once
 *
 *   slot.c     the storage of a node, and the messages in its slots
 *   node.c     the groups of a node: opens, fills, empties and moves them
 *   summary.c  summaries of nodes
 *   entry.c    messages that share a slot
 *   change.c   insert and remove
 *   build.c    rebuild: new nodes from all messages
 *   cluster.c  rebuild, step 1: orders similar messages near one another
 *   arrange.c  rebuild, step 2: forms groups of similar messages
 *   order.c    rebuild, step 3: orders the groups
 *   search.c   cursors, and the three phases of a search
 *   ready.c    search: what is computed of the query once
 *   bound.c    search: upper bounds of nodes and groups
 *   open.c     search: compares the messages of groups
 *   rest.c     search: what a step leaves of an entry to the next step
 *   tie.c      search: leaves out groups that tie with the k-th best
 *   copy.c     copies all messages out, for a renewal
 *   engine.c   the functions of struct index_engine
 */
#pragma once

#include <stdatomic.h>

#include "core/bits/bits.h"
#include "core/index/engine.h"
#include "core/index/idmap.h"

enum {
    TREE_GROUP = BITS_BLOCK,  /* messages a group, at most */
    TREE_GROUPS = BITS_LANES, /* groups a node, at most */
    TREE_SLOTS = TREE_GROUP * TREE_GROUPS,
    TREE_UNION_PERCENT = 40, /* percentage of bits that may be set in the union of a group of
                                similar messages, when a rebuild forms the group */
    TREE_SMALL_PERCENT = 33, /* the same percentage in a small tree */
    TREE_SMALL_MOST = 65536, /* most messages of a small tree */
    TREE_CENTRES_MAX = 4096, /* of cluster.c */
    TREE_LINE_WORDS = 8      /* words of a cache line */
};

/* The bits of a section of the profile: first_bit .. first_bit + bits - 1. */
struct tree_section {
    uint16_t first_bit;
    uint16_t bits;
};

/* A group, except for its union. The messages are in slots first .. first + used - 1. The free
 * slots are first + used .. first + room - 1. Groups are in the order of their slots. */
struct tree_group {
    int64_t newest_ms; /* newest deposit time; INT64_MIN in an empty group */
    uint16_t low;      /* smallest cardinality; UINT16_MAX in an empty group */
    uint16_t high;     /* largest cardinality; 0 in an empty group */
    uint16_t first;
    uint8_t room; /* 1 .. TREE_GROUP */
    uint8_t used; /* 0 .. room */
};

/*
 * A summary has a lane for each span. A span is some consecutive groups of one node; most of them
 * are similar. The spans of a node have consecutive lanes in one summary. For each span the summary
 * keeps
 *
 *   core   bits, stored by columns: those that many messages of the span have, and bits of messages
 *          that were added later
 *   needs  for each of BITS_NEEDS floors e / 8 (e = BITS_NEEDS_FIRST, + 1, ...): how many bits a
 *          query must share with the core before any message of the span can pass that floor, in
 *          eighths of a bit (bits.h, promise; proof: docs/tree.md, 6)
 *
 * A message with c set bits, of which x are outside of the core, has the need c e - 8 x. The need
 * of a span is at most the smallest need of its messages. Example, e = 3: a message with c = 40 and
 * x = 5 has the need 40 * 3 - 8 * 5 = 80 eighths, that is 10 bits.
 */
enum {
    TREE_SPANS = 128,      /* spans of a node, at most */
    TREE_SPANS_USUAL = 48, /* memory for summaries is enough if a node has this many spans on
                            * average */
    TREE_UNIT = 16,        /* lanes are given to nodes in units of 16 */
    TREE_UNITS = BITS_LANES / TREE_UNIT,
    TREE_NEED_NONE = 1 << 14 /* the need of a span without messages: no message has a larger need */
};

/*
 * The rows of tree_summary.ranges. Each has a number of bits for each span and section:
 *
 *   TREE_LEAST    the fewest set bits of a message
 *   TREE_FILLED   the fewest set bits of a message that has some; 255 if no message has
 *   TREE_MOST     the most set bits of a message
 *   TREE_OUTSIDE  the most set bits of a message outside of the core
 *
 * 255 means 255 or more.
 */
enum tree_range { TREE_LEAST, TREE_FILLED, TREE_MOST, TREE_OUTSIDE, TREE_RANGES };

struct tree_summary {
    int16_t needs[BITS_NEEDS * BITS_LANES];
    struct tree_node *owners[TREE_UNITS]; /* the node that owns each unit; NULL: the unit is free */
    uint32_t used;                        /* units that nodes have */
    uint64_t *columns; /* the columns of the cores of all spans of this summary: a pointer into
                        * `storage`, at the start of a cache line */
    /*
     * For each section of the profile, TREE_RANGES rows with a number for each lane: the bounds by
     * phi need them (bound.c)
     */
    uint8_t *ranges;
    _Alignas(8) uint64_t storage[]; /* i386 aligns uint64_t to 4 bytes */
};

/*
 * A node of the tree. Its groups are 0 .. group_count - 1; between two calls of the engine the last
 * group is not empty. In each column the lanes behind the last group are zero.
 */
struct tree_node {
    uint32_t number;       /* index in tree->by_number; never changes */
    uint32_t place;        /* index in tree->nodes */
    bool is_arranged;      /* false: the node has messages that were inserted one by one after the
                              last rebuild */
    uint32_t span_count;   /* 0: the node is in no summary */
    uint32_t span_summary; /* index of the summary with the lanes of the node's spans */
    uint32_t span_lane;    /* lane of the first span in that summary */
    /*
     * For each span, the number of its first group. Span 0 begins with group 0; the numbers ascend.
     */
    uint16_t span_first[TREE_SPANS];
    uint32_t group_count;
    uint32_t empty_count; /* groups without messages */
    uint32_t slot_count;  /* slots up to the end of the last group */
    uint32_t entry_count; /* slots in use */
    int64_t newest_ms;    /* newest deposit */
    uint64_t column_bits; /* set bits of all columns */
    uint64_t cardinality_sum;
    uint64_t room[BITS_LANE_WORDS]; /* one bit for each group: set if the group has a free slot */
    /*
     * For each group, the smallest and the largest cardinality of its messages, for the kernel
     * bound_lanes (bits.h). 255 stands for 255 or more. A group without messages has the smallest
     * cardinality 255 and the largest 0.
     */
    uint8_t least[TREE_GROUPS];
    uint8_t most[TREE_GROUPS];
    /*
     * The same for each section, for the kernel bound_phi: number g of row s is of group g and
     * section s. A row has TREE_GROUPS numbers. `section_filled` has the smallest number of the
     * messages that have bits in the section; 255 if there are none. With one section, they are
     * `least` and `most`.
     */
    uint8_t *section_least;
    uint8_t *section_filled;
    uint8_t *section_most;
    struct tree_group groups[TREE_GROUPS];
    uint32_t slot_room; /* number of allocated slots, a multiple of BITS_BLOCK. A free slot has a
                           filter of zeros and an item that has expired */
    uint64_t *slot_storage; /* the next three pointers point into it */
    uint64_t *filters;      /* at the start of a cache line */
    struct index_item *items;
    uint32_t *entries; /* for each slot, its index in tree->entries; 0: at most one message */
    /*
     * For each block of slots, BITS_BLOCK numbers for each section of the profile, each at most
     * PROFILE_BITS_MAX: the set bits of the messages, instead of those in the first section; then
     * those in the second section, and so on. So a search that reads all numbers of a block finds
     * them in one or two cache lines. tree_counts finds those of a slot.
     */
    uint16_t *cardinalities;
    uint32_t block_counts; /* numbers of a block: BITS_BLOCK for each section */
    uint64_t *columns; /* the columns of the unions of the node's groups: a pointer into `storage`,
                        * at the start of a cache line */
    uint64_t *whole;   /* the union filter of all messages; points into storage */
    _Alignas(8) uint64_t storage[]; /* i386 aligns uint64_t to 4 bytes */
};

/*
 * A message whose filter and reach are those of an older message in a slot. Twins have numbers, 1
 * .. tree->twin_room, that stay the same until the message is removed; 0 means none.
 */
struct tree_twin {
    struct index_item item;
    uint32_t entry; /* index in tree->entries; 0: the twin is free */
    uint32_t newer; /* twins of the same entry, newest deposit first. */
    uint32_t older; /* of a free twin: the next free one */
};

/* A slot with twins. The founder is the message in the slot itself. */
struct tree_entry {
    uint32_t position; /* of the slot; of a free entry: the next free one */
    uint32_t newest;   /* a twin; 0: the entry is free */
    uint32_t oldest;
    uint32_t latest;   /* the twin that was put in last, or the newest one */
    bool founder_gone; /* the founder was removed: its item has expired, and has no id */
};

enum { TREE_TWIN_CHUNK = 64 /* twins allocated at a time */ };

struct tree_cursor;

/* What searches have learned about their bounds: see search.c. Searches of several threads write
 * it, and one of them may be lost, which does no harm: no answer depends on it. */
struct tree_learned {
    atomic_uint futile; /* what bounds have cost searches, less what they saved, in 1/FUTILE_UNIT of
                           comparing all messages; 0 .. FUTILE_MOST + RETRY_SHIFT_MOST */
    atomic_uint retry;  /* counts searches while `futile` is FUTILE_MOST or more: some of them try
                           bounds again */
};

enum { TREE_KIND_BITS = 3, TREE_KINDS = 1 << TREE_KIND_BITS };

/* The group that the last insert used. Its union has the bits `known` as long as `changes` is the
 * number of changes of the tree. */
struct tree_recent {
    const struct tree_node *node;
    uint32_t group;
    uint64_t changes;
    uint64_t known[PROFILE_WORDS_MAX];
};

struct tree {
    const struct alloc *alloc;
    const struct bits_kernels *kernels;
    uint32_t bits; /* m, the bits of a filter */
    uint32_t section_count;
    struct tree_section sections[PROFILE_SECTIONS_MAX];
    size_t words;                 /* of a filter */
    uint32_t fanout;              /* largest number of groups that a node may have: TREE_GROUPS, or
                                   * fewer in tests */
    uint64_t seed;                /* for the sample of cluster.c */
    size_t small_most;            /* a tree with at most this many messages is small: see
                                   * tree_is_small */
    size_t count;                 /* slots in use */
    size_t message_count;         /* messages: those in slots, and twins */
    struct tree_node **nodes;     /* in order */
    struct tree_node **by_number; /* NULL: the number is free */
    struct tree_summary **summaries; /* summary_count of them */
    uint32_t summary_count;          /* 0 in a tree of few nodes */
    uint32_t node_count;
    uint32_t node_room; /* entries of nodes, and of by_number */
    /* Number of changes of the tree; after a change groups may have other lanes. */
    uint64_t changes;
    size_t removed;                /* messages removed from arranged nodes since the last rebuild */
    const struct index_stop *stop; /* of the rebuild under way, or NULL */
    struct tree_recent recent;
    struct idmap ids; /* id -> position, or TREE_TWIN + the number of a twin */
    /* See entry.c. */
    struct tree_twin **twins; /* chunks of TREE_TWIN_CHUNK; chunk_room pointers */
    uint32_t twin_room;
    uint32_t chunk_room;
    uint32_t twin_count; /* twins in use */
    uint32_t free_twin;
    struct tree_entry *entries; /* number 0 is never used */
    uint32_t entry_room;
    uint32_t free_entry;
    uint32_t *hints;
    size_t hint_room;            /* 0, or a power of two */
    struct tree_cursor *cursors; /* of all searches and copies under way */
    /* Of searches for the k nearest, and of those with a function `found` (index.h); and by the
     * sections that they ask for. */
    struct tree_learned learned[2][TREE_KINDS];
};

/* Where a message is: node and slot. A position is the same information in 32 bits. */
struct tree_spot {
    struct tree_node *node;
    uint32_t slot;
};

/* Positions are below this number. From it on, numbers stand for twins. */
#define TREE_TWIN (UINT32_C(1) << 31)

enum { TREE_NODES_MAX = TREE_TWIN / TREE_SLOTS - 1 };

static inline uint32_t tree_position(struct tree_spot spot)
{
    return spot.node->number * TREE_SLOTS + spot.slot;
}

static inline struct tree_spot tree_spot_at(const struct tree *tree, uint32_t position)
{
    return (struct tree_spot){tree->by_number[position / TREE_SLOTS], position % TREE_SLOTS};
}

static inline struct tree_twin *tree_twin(const struct tree *tree, uint32_t twin)
{
    return &tree->twins[(twin - 1) / TREE_TWIN_CHUNK][(twin - 1) % TREE_TWIN_CHUNK];
}

/* What goes with the message of a slot: the founder, if the slot has twins. */
static inline struct index_item *tree_item(struct tree_spot spot)
{
    return &spot.node->items[spot.slot];
}

/* The cardinality of the message in a slot. The set bits in section s, s > 0, are s * BITS_BLOCK
 * numbers behind it. */
static inline uint16_t *tree_counts(const struct tree_node *node, uint32_t slot)
{
    return node->cardinalities + (size_t)(slot / BITS_BLOCK) * node->block_counts +
           slot % BITS_BLOCK;
}

static inline uint16_t tree_cardinality(struct tree_spot spot)
{
    return *tree_counts(spot.node, spot.slot);
}

/* Returns the first word of the block of filters that contains a slot. */
static inline uint64_t *tree_block(const struct tree *tree, const struct tree_node *node,
                                   uint32_t slot)
{
    return node->filters + (size_t)(slot / BITS_BLOCK) * BITS_BLOCK * tree->words;
}

/* The same of a position as in tree->ids: of a slot or of a twin. */
static inline struct index_item *tree_item_at(const struct tree *tree, uint32_t position)
{
    return position >= TREE_TWIN ? &tree_twin(tree, position - TREE_TWIN)->item
                                 : tree_item(tree_spot_at(tree, position));
}

/* Returns whether the message in a slot in use was removed, and only its twins are left. */
static inline bool tree_is_gone(const struct tree *tree, struct tree_spot spot)
{
    return tree->entries != NULL && tree->entries[spot.node->entries[spot.slot]].founder_gone;
}

/* The newest deposit of the messages of a slot in use. */
static inline int64_t tree_newest_ms(const struct tree *tree, struct tree_spot spot)
{
    uint32_t entry = spot.node->entries[spot.slot];
    int64_t own_ms = tree_item(spot)->deposited_ms;

    if (entry == 0) {
        return own_ms;
    }
    int64_t newest_ms = tree_twin(tree, tree->entries[entry].newest)->item.deposited_ms;
    return newest_ms > own_ms ? newest_ms : own_ms;
}

/* Converts a cardinality to the form of tree_node.least and tree_node.most. */
static inline uint8_t tree_bound_byte(uint32_t cardinality)
{
    return cardinality < UINT8_MAX ? (uint8_t)cardinality : UINT8_MAX;
}

/* Returns how many words of a column have lanes with groups. Searches need only these words. */
static inline size_t tree_lane_words(const struct tree_node *node)
{
    return (node->group_count + 63) / 64;
}

/* --- slot.c ----------------------------------------------------------------------------------- */

/* Allocates an empty node without slots; the node is not in the tree yet. NULL without memory.
 * tree_node_free frees a node and its slots. */
struct tree_node *tree_node_new(const struct tree *tree);
void tree_node_free(const struct tree *tree, struct tree_node *node);
size_t tree_node_bytes(const struct tree *tree);
size_t tree_slots_bytes(const struct tree *tree, size_t room);

/*
 * Allocates storage for slots 0 .. slots - 1. 0 or -ERR_NOMEM. tree_trim shrinks a large storage if
 * more than half of it is unused and there is memory for the smaller one.
 */
int tree_reserve(struct tree *tree, struct tree_node *node, uint32_t slots);
void tree_trim(struct tree *tree, struct tree_node *node);

/* Copies the filter of a slot to `out`, which has tree->words words. */
void tree_read_filter(const struct tree *tree, struct tree_spot spot, uint64_t *out);

/* Writes the set bits of a message by section: tree->section_count numbers. */
void tree_read_counts(const struct tree *tree, struct tree_spot spot, uint16_t *out);

/*
 * Both functions write the filter, the item, the cardinality and the set bits by section of a slot.
 * tree_copy_message copies them and the entry from another slot; tree_write_message gets them as
 * parameters, and the slot has no entry then. Neither changes groups, unions, the map of ids or the
 * position of an entry.
 */
void tree_copy_message(const struct tree *tree, struct tree_spot from, struct tree_spot to);
void tree_write_message(const struct tree *tree, struct tree_spot to, const struct index_item *item,
                        const uint64_t *filter, uint16_t cardinality);

/* Clears a slot: sets its filter to zero and its item to expired. */
void tree_clear_message(const struct tree *tree, struct tree_spot spot);

/* Computes the bits that at least half of `count` messages (1 .. TREE_GROUP) have. */
void tree_common_bits(const struct tree *tree, const uint32_t *positions, uint32_t count,
                      uint64_t *out);

/* --- node.c ----------------------------------------------------------------------------------- */

/*
 * tree_has_space returns whether a node has an empty group, or space for another group of
 * TREE_GROUP slots. tree_next_end returns the first slot after that other group.
 */
bool tree_has_space(const struct tree *tree, const struct tree_node *node);
uint32_t tree_next_end(const struct tree_node *node);

/* Returns the number of an empty group: an existing one, or a new one that starts at a block.
 * tree_has_space must be true, and slots must be reserved up to tree_next_end. */
uint32_t tree_open_group(struct tree_node *node);

/* Puts a message into a group that has a free slot. `fresh`: the bits of the filter that the union
 * of the group may lack. Returns the slot. Does not change the ids. */
uint32_t tree_put(struct tree *tree, struct tree_node *node, uint32_t group,
                  const struct index_item *item, const uint64_t *filter, const uint64_t *fresh,
                  uint16_t cardinality);

/* Copies the messages at `positions` (1 .. TREE_GROUP of them) into a new group of a node without a
 * summary. Before the call tree->ids maps these messages to the positions in `names`, after
 * the call to their new positions. The old slots keep their contents. */
void tree_take_over(struct tree *tree, struct tree_node *node, const uint32_t *positions,
                    const uint32_t *names, uint32_t count);

/* Returns the group that contains a slot in use. O(log n) */
uint32_t tree_group_at(const struct tree_node *node, uint32_t slot);

/* Raises the newest deposit time of a slot's group and node, or computes both anew. */
void tree_widen_time(struct tree_spot spot, int64_t deposited_ms);
void tree_narrow_time(const struct tree *tree, struct tree_spot spot);

/* Removes the last message of a slot. The caller has removed the message's id before. Messages may
 * move to other slots. */
void tree_take(struct tree *tree, struct tree_spot spot);

/* Moves the messages of the last group of `from` to a new group at the end of `to`. `to` must have
 * a free lane, and reserved slots. */
void tree_move_last_group(struct tree *tree, struct tree_node *from, struct tree_node *to);

/* Moves the messages of a group to another group of the same node, which must have enough free
 * slots. */
void tree_join_groups(struct tree *tree, struct tree_node *node, uint32_t from, uint32_t to);

/*
 * Returns whether two groups are similar: whether the common bits (tree_common_bits) of both groups
 * share more than 40 % of the smaller number. `one` and `other` are the numbers of common bits of
 * the two groups; `shared` is how many bits are common bits of both.
 */
static inline bool tree_are_alike(uint32_t shared, uint32_t one, uint32_t other)
{
    return shared * 5 > (one < other ? one : other) * 2;
}

/* The union filter of a group. */
void tree_group_union(const struct tree *tree, const struct tree_node *node, uint32_t group,
                      uint64_t *out);

/* --- arrange.c -------------------------------------------------------------------------------- */

/* Flag of a loose group: its messages have little in common with one another or with the
 * neighbouring groups. */
enum { TREE_LOOSE = 0x80 };

/*
 * An order of messages: the positions of `count` messages. The first sizes[0] positions are group
 * 0, the next sizes[1] positions are group 1, and so on. Both arrays have space for `count`
 * entries.
 */
struct tree_order {
    uint32_t *positions;
    /* sizes[g] is the size of group g, 1 .. TREE_GROUP. A loose group also has the flag TREE_LOOSE
     * until tree_part_loose clears it. */
    uint8_t *sizes;
    size_t count;
    size_t group_count;
};

/*
 * A new group of a window. Its messages have the numbers scores[first .. first + size - 1] of the
 * tree_arranger. Number n is that of the window's message n, counted from 0.
 */
struct tree_formed {
    uint32_t first;
    uint32_t size;
};

/*
 * Memory of a rebuild while the rebuild forms groups of similar messages. The messages of a group
 * come from one window. A window is a run of consecutive messages of the order.
 */
struct tree_arranger {
    const struct tree *tree;
    struct tree_order *order;
    size_t window_room;    /* messages of a window, at most */
    uint32_t most_percent; /* TREE_UNION_PERCENT or TREE_SMALL_PERCENT */
    uint64_t *rows;        /* the window's filters, interleaved */
    uint16_t *cardinalities;
    uint32_t *numbers; /* for each row, the number of its message in the window */
    struct tree_formed *formed;
    uint32_t *scores;
    uint32_t *histogram; /* bits * 2 + 2 entries */
    uint32_t *moved;     /* a copy of positions; order->count entries */
};

/* Allocates memory to arrange an order in windows of at most `window` messages. 0 or -ERR_NOMEM;
 * call tree_arranger_deinit in both cases. */
int tree_arranger_init(struct tree_arranger *arranger, const struct tree *tree,
                       struct tree_order *order, size_t window);
/* Allocates what windows need and tree_cluster does not, and order->sizes: a rebuild takes most
 * memory while it clusters. 0 or -ERR_NOMEM. */
int tree_arranger_open_windows(struct tree_arranger *arranger);
void tree_arranger_deinit(struct tree_arranger *arranger);

/*
 * Puts the messages of a window into groups of similar messages. Messages that are similar to no
 * others are grouped, too. `positions` points to the window: `count` consecutive positions of the
 * order. The function reorders these positions, so that the messages of a group are consecutive,
 * and appends the size of each group to the order's `sizes`. O(count^2)
 */
void tree_arrange_window(struct tree_arranger *arranger, uint32_t *positions, size_t count);

/* Moves similar groups next to one another, within each window of groups. Starts with group number
 * `first`, whose messages begin at `positions`. O(n window) */
void tree_gather_alike(struct tree_arranger *arranger, uint32_t *positions, size_t first);

/*
 * Moves the loose groups of an order behind all other groups, and clears their flags. A search can
 * rule out few loose groups, so most loose groups get nodes and summaries of their own. O(n)
 */
void tree_part_loose(struct tree_arranger *arranger);

/* Returns whether the tree has at most tree->small_most messages. Then the unions of its groups are
 * less full, although that takes more lanes: see arrange.c. */
bool tree_is_small(const struct tree *tree);

/* Returns whether grouping similar messages can save time. True if the filters of the tree have, on
 * average, at most 40 % of their bits set. */
bool tree_is_sparse(const struct tree *tree);

/* --- cluster.c -------------------------------------------------------------------------------- */

/* Orders all positions so that similar messages are near one another. 0, -ERR_NOMEM or
 * INDEX_STOPPED. The number of centres is bounded, so the time is O(n). */
int tree_cluster(struct tree_arranger *arranger);

/* --- build.c ---------------------------------------------------------------------------------- */

/*
 * tree_add_node inserts an empty node with storage for `slots` slots into tree->nodes at a place.
 * NULL without memory. tree_leave_node takes a node out and frees the node. After both the caller
 * must update the cursors, if there are any (tree_cursors_replaced).
 */
struct tree_node *tree_add_node(struct tree *tree, uint32_t place, uint32_t slots);
void tree_leave_node(struct tree *tree, struct tree_node *node);

/*
 * Arranges all messages in new nodes (see index_arrange). No message may have been removed, and no
 * node may be arranged. 0; INDEX_STOPPED: the tree is as before; -ERR_NOMEM: the caller may only
 * free the tree.
 */
int tree_rebuild(struct tree *tree);

/* --- entry.c ---------------------------------------------------------------------------------- */

/*
 * tree_join makes a message a twin of a message with an equal filter and reach, if one is found and
 * there is memory: false. The id must be new, and reserved in the map of ids. tree_hint makes the
 * message in a slot easy to find for tree_join. Call tree_reserve_hints before: 0 or -ERR_NOMEM.
 */
int tree_reserve_hints(struct tree *tree);
bool tree_join(struct tree *tree, const struct index_item *item, const uint64_t *filter,
               uint64_t hash);
void tree_hint(struct tree *tree, struct tree_spot spot, uint64_t hash);

/* The hash of a filter and a reach, which both functions want. */
uint64_t tree_hash(const struct tree *tree, const struct index_item *item, const uint64_t *filter);

/* Removes the message at a position (as in tree->ids) from its entry. The caller has removed its
 * id. Returns whether it was the last of its slot: then it is still there, for tree_take. */
bool tree_part(struct tree *tree, uint32_t position, struct tree_spot *out_spot);

/* See index_shift. Leaves out the messages in slots. */
void tree_shift_twins(struct tree *tree, int64_t from_ms, int64_t by_ms, struct notes *notes);
void tree_free_entries(struct tree *tree);
size_t tree_entries_bytes(const struct tree *tree);

/* --- change.c --------------------------------------------------------------------------------- */

int tree_insert(void *engine, const struct index_item *item, const uint64_t *filter);
int tree_remove(void *engine, const uint8_t *id, struct index_item *out_item);
const uint8_t *tree_id_at(const void *tree, uint32_t position);

/* --- summary.c -------------------------------------------------------------------------------- */

/* Allocates summaries for `room` nodes; a tree of few nodes gets none. 0; -ERR_NOMEM with the
 * summaries as before. */
int tree_grow_summaries(struct tree *tree, uint32_t room);
void tree_free_summaries(struct tree *tree);
size_t tree_summary_bytes(const struct tree *tree);

/* tree_summarise divides a node of the tree into spans and fills their lanes, if enough lanes are
 * free. tree_forget_summary frees these lanes. */
void tree_summarise(struct tree *tree, struct tree_node *node);
void tree_forget_summary(struct tree *tree, struct tree_node *node);

/*
 * Sets the flag TREE_LOOSE of the groups of a span whose summary would rule out few queries. O(n)
 */
void tree_mark_loose(const struct tree *tree, struct tree_order *order);

/*
 * Updates the summary of a group's span after a message is added. If the needs of the span do not
 * hold for the message, adds the message's bits to the core, or lowers the needs, or does both. The
 * node must have spans (span_count > 0).
 */
void tree_widen_summary(struct tree *tree, struct tree_node *node, uint32_t group,
                        const uint64_t *filter, uint16_t cardinality);

/* A row of tree_summary.ranges: BITS_LANES numbers. */
static inline uint8_t *tree_range_row(const struct tree_summary *summary, uint32_t section,
                                      enum tree_range range)
{
    return summary->ranges + ((size_t)section * TREE_RANGES + range) * BITS_LANES;
}

/* --- search.c --------------------------------------------------------------------------------- */

int tree_cursor_new(void *engine, const struct alloc *alloc, void **out_cursor);
void tree_cursor_free(void *engine, void *cursor);
void tree_cursor_restart(void *engine, void *cursor);
int tree_cursor_step(void *engine, void *cursor, struct index_probe *probe, uint64_t budget);
int tree_cursor_copy(void *engine, void *cursor, struct index_item *out_items,
                     uint64_t *out_filters, size_t *out_count);
int tree_cursor_visit(void *engine, void *cursor, index_visit *visit, void *context);

/*
 * Updates all cursors after `old_count` nodes from `place` on were replaced by `new_count` nodes. A
 * node that a cursor has not visited stays unvisited. If a cursor has visited only some of the old
 * nodes, the cursor visits all of the new ones.
 */
void tree_cursors_replaced(struct tree *tree, uint32_t place, uint32_t old_count,
                           uint32_t new_count);

/* --- rest.c ----------------------------------------------------------------------------------- */

/* Updates all cursors before a twin is removed; `older` is the next older one of its entry, or 0. A
 * cursor that would go on with the twin goes on with that one. O(rests of all cursors) */
void tree_cursors_parted(struct tree *tree, uint32_t twin, uint32_t older);
