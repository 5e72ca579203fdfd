/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree: the BloomFilterTree. Exact answers, as the list gives them, with few filters read. What its
 * files share; docs/tree.md draws it and proves the bounds. Included by tree*.c only.
 *
 *   root    the nodes, in order
 *   node    up to 512 groups; for each its union filter, the range of its cardinalities and its
 *           newest deposit. The unions lie by columns (bits.h), so that one pass over the columns
 *           of a query's bits bounds all groups at once
 *   group   a leaf: up to 8 similar filters, interleaved, compared by one call of `overlaps`
 *
 *   tree_node.c     messages and groups within a node, and their summaries
 *   tree_arrange.c  which messages should share a group
 *   tree_build.c    nodes made from arranged messages: bulk build, split and repack
 *   tree_change.c   insert and remove
 *   tree_search.c   cursors
 *   tree_check.c    every invariant
 */
#ifndef CORE_TREE_H
#define CORE_TREE_H

#include "core/bits.h"
#include "core/idmap.h"
#include "core/index_engine.h"

enum {
    TREE_GROUP = BITS_BLOCK,  /* messages a group */
    TREE_GROUPS = BITS_LANES, /* groups a node, at most */
    TREE_NODE_MESSAGES = TREE_GROUP * TREE_GROUPS,
    TREE_PAGE_GROUPS = 64, /* groups a page: a node's storage grows by pages */
    TREE_PAGE_MESSAGES = TREE_PAGE_GROUPS * TREE_GROUP,
    TREE_PAGES = TREE_GROUPS / TREE_PAGE_GROUPS,
    TREE_FANOUT_MIN = 2,
    TREE_LINE_WORDS = 8 /* of a cache line */
};

/* 64 groups: their filters, and an array for each field of what goes with them. */
struct tree_page {
    uint64_t *filters; /* into storage, at the start of a cache line */
    int64_t deposited_ms[TREE_PAGE_MESSAGES];
    int64_t expires_ms[TREE_PAGE_MESSAGES];
    uint8_t ids[TREE_PAGE_MESSAGES][MESSAGE_ID_BYTES];
    uint32_t reach_ppm[TREE_PAGE_MESSAGES];
    uint32_t bytes[TREE_PAGE_MESSAGES];
    uint16_t cardinality[TREE_PAGE_MESSAGES]; /* at most PROFILE_BITS_MAX */
    uint64_t storage[];
};

/* Groups 0 .. group_count - 1; lanes of the columns beyond are zero. */
struct tree_node {
    uint32_t slot;  /* its number in tree->slots, which does not change */
    uint32_t place; /* its number in tree->nodes */
    uint32_t group_count;
    uint32_t message_count;
    uint32_t low;         /* least cardinality; 0 in a node without messages */
    uint32_t high;        /* greatest cardinality */
    int64_t newest_ms;    /* newest deposit */
    uint64_t column_bits; /* set bits of all columns */
    uint64_t cardinality_sum;
    uint32_t pivot;                       /* groups with a lower least cardinality are small */
    uint64_t small[BITS_LANE_WORDS];      /* these, a bit each */
    uint64_t room[BITS_LANE_WORDS];       /* groups that have room, a bit each */
    int64_t group_newest_ms[TREE_GROUPS]; /* newest deposit of each group */
    uint16_t group_low[TREE_GROUPS];      /* least and greatest cardinality of each */
    uint16_t group_high[TREE_GROUPS];
    uint8_t used[TREE_GROUPS]; /* messages of each group, 1 .. TREE_GROUP */
    struct tree_page *pages[TREE_PAGES];
    uint32_t page_count;
    uint64_t *columns; /* of the groups' unions; into storage, at the start of a cache line */
    uint64_t *whole;   /* union of all, a filter; into storage */
    uint64_t storage[];
};

struct tree_cursor;

struct tree {
    const struct alloc *alloc;
    const struct bits_kernels *kernels;
    uint32_t bits; /* m */
    size_t words;  /* of a filter */
    uint32_t fanout;
    uint64_t seed; /* for sampling */
    size_t count;  /* messages */
    size_t group_count;
    struct tree_node **nodes; /* in order */
    struct tree_node **slots; /* by slot; NULL where there is none */
    uint32_t node_count;
    uint32_t node_room; /* of both */
    uint32_t page_count;
    bool loading;     /* messages come in bulk: arranged at the end */
    uint64_t moves;   /* grows when messages change nodes */
    uint64_t changes; /* grows with each: groups may change lanes */
    struct idmap ids; /* to positions */
    struct tree_cursor *cursors;
};

/* Where a message is. A position is the same in 32 bits: slot, group, lane. */
struct tree_spot {
    struct tree_node *node;
    uint32_t group;
    uint32_t lane;
};

enum { TREE_SLOTS_MAX = UINT32_MAX / TREE_NODE_MESSAGES };

static inline uint32_t tree_position(struct tree_spot spot)
{
    return spot.node->slot * TREE_NODE_MESSAGES + spot.group * TREE_GROUP + spot.lane;
}

static inline struct tree_spot tree_spot_at(const struct tree *tree, uint32_t position)
{
    return (struct tree_spot){tree->slots[position / TREE_NODE_MESSAGES],
                              position % TREE_NODE_MESSAGES / TREE_GROUP, position % TREE_GROUP};
}

static inline struct tree_page *tree_page_of(const struct tree_node *node, uint32_t group)
{
    return node->pages[group / TREE_PAGE_GROUPS];
}

/* A message's number within its page. */
static inline uint32_t tree_at(uint32_t group, uint32_t lane)
{
    return group % TREE_PAGE_GROUPS * TREE_GROUP + lane;
}

/* The first word of a group's block of filters. */
static inline uint64_t *tree_block(const struct tree *tree, const struct tree_node *node,
                                   uint32_t group)
{
    return tree_page_of(node, group)->filters +
           (size_t)(group % TREE_PAGE_GROUPS) * TREE_GROUP * tree->words;
}

/* Words of columns in use: the kernels need not look at more. */
static inline size_t tree_lane_words(const struct tree_node *node)
{
    return (node->group_count + 63) / 64;
}

/* ---- tree_node.c ---- */

/* An empty node in no slot. NULL without memory. Freed with all its pages. */
struct tree_node *tree_node_new(const struct tree *tree);
void tree_node_free(const struct tree *tree, struct tree_node *node);
size_t tree_node_bytes(const struct tree *tree);
size_t tree_page_bytes(const struct tree *tree);

/* Pages for `groups` groups. 0 or -ERR_NOMEM. tree_trim gives back those not needed. */
int tree_reserve(struct tree *tree, struct tree_node *node, uint32_t groups);
void tree_trim(struct tree *tree, struct tree_node *node);

/* Reads a message; its filter (tree->words words, contiguous). */
void tree_read_item(struct tree_spot spot, struct index_item *out);
void tree_read_filter(const struct tree *tree, struct tree_spot spot, uint64_t *out);
uint16_t tree_cardinality(struct tree_spot spot);

/*
 * Appends a message to a group that has room, or opens the next group (group == group_count) for
 * which a page is there. Returns its lane. Does not touch the ids.
 */
uint32_t tree_put(struct tree *tree, struct tree_node *node, uint32_t group,
                  const struct index_item *item, const uint64_t *filter, uint16_t cardinality);

/* Chooses the pivot anew, so that few groups are small. */
void tree_set_pivot(struct tree_node *node);

/* Takes a message out, whose id is out of the map already; others may change places for it. */
void tree_take(struct tree *tree, struct tree_spot spot);

/* Moves all messages of a group to the end of another node, which has a page for them. */
void tree_move_group(struct tree *tree, struct tree_node *from, uint32_t group,
                     struct tree_node *to);

/* Moves all messages of a group to another of the same node, which has room for them. */
void tree_join_groups(struct tree *tree, struct tree_node *node, uint32_t from, uint32_t to);

/* The union filter of a group. */
void tree_group_union(const struct tree *tree, const struct tree_node *node, uint32_t group,
                      uint64_t *out);

/* ---- tree_arrange.c ---- */

/*
 * Room to work in: for one node's messages, or for all of the tree's at once. Lets the positions be
 * put into an order in which each TREE_GROUP of them, from the first on, are similar.
 */
struct tree_arranger {
    const struct tree *tree;
    size_t window_room; /* messages that are compared all with all, at most */
    uint64_t *rows;     /* their filters, interleaved */
    uint16_t *cardinalities;
    uint32_t *numbers; /* their positions */
    uint32_t *scores;
    uint32_t *histogram; /* bits * 2 + 2 */
    uint32_t *moved;     /* positions on their way, all_room of them */
    size_t all_room;
};

/* Room for `all` positions, in windows of at most `window`. 0 or -ERR_NOMEM; deinit in any case. */
int tree_arranger_init(struct tree_arranger *arranger, const struct tree *tree, size_t all,
                       size_t window);
void tree_arranger_deinit(struct tree_arranger *arranger);

/* One node's worth, split into windows by similarity. O(n log n + n window). */
void tree_arrange_node(struct tree_arranger *arranger, uint32_t *positions, size_t count);

/* One window. */
void tree_arrange_window(struct tree_arranger *arranger, uint32_t *positions, size_t count);

/* Whether similar filters are worth looking for: not if they are nearly full anyway. */
bool tree_is_sparse(const struct tree *tree);

/* ---- tree_cluster.c ---- */

/* Orders all positions so that similar ones are near one another. 0 or -ERR_NOMEM. O(n log n) for
 * a bounded number of centres. */
int tree_cluster(struct tree_arranger *arranger, uint32_t *positions, size_t count);

/* ---- tree_build.c ---- */

/* Room in the directories for `more` nodes. 0 or -ERR_NOMEM. */
int tree_grow_directory(struct tree *tree, uint32_t more);

/* Enters a node at a place; there is room. Takes it out again. Cursors are told. */
void tree_enter_node(struct tree *tree, struct tree_node *node, uint32_t place);
void tree_leave_node(struct tree *tree, struct tree_node *node);

/* A full node: its messages anew in full groups, and in two nodes if these are many. */
int tree_repack(struct tree *tree, struct tree_node *node);

/* All messages anew. 0 or -ERR_NOMEM, with the tree as it was. */
int tree_rebuild(struct tree *tree);

/* ---- tree_change.c ---- */

int tree_insert(void *engine, const struct index_item *item, const uint64_t *filter);
int tree_remove(void *engine, const uint8_t *id, struct index_item *out_item);
const uint8_t *tree_id_at(const void *tree, uint32_t position);

/* ---- tree_search.c ---- */

int tree_cursor_new(void *engine, const struct alloc *alloc, void **out_cursor);
void tree_cursor_free(void *engine, void *cursor);
void tree_cursor_restart(void *engine, void *cursor);
int tree_cursor_step(void *engine, void *cursor, struct index_probe *probe, uint64_t budget);

/*
 * `old_count` nodes from `place` on have become `new_count`: what a cursor had not visited stays
 * unvisited. If only some of them had been visited, none counts as visited.
 */
void tree_cursors_replaced(struct tree *tree, uint32_t place, uint32_t old_count,
                           uint32_t new_count);

/* ---- tree_check.c ---- */

const char *tree_check(const void *engine);

#endif
