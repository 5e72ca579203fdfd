/* SPDX-License-Identifier: Apache-2.0 */
/*
 * walk: the inner header of searches. It declares what the files of a search share.
 *
 * The floor of a search is index_probe_floor: a message below the floor cannot be among the k
 * best. The reach of a node or group is an upper bound: 1 + the highest floor that one of its
 * messages could pass. A search must look at every node and group whose reach is above the floor of
 * the search.
 *
 * An entry (entry.c) may have very many messages that the query may not show, so a step ends
 * within an entry, too. What is left of the entry is a rest, and the next step goes on with it.
 */
#pragma once

#include <assert.h>

#include "core/bits/sliced.h"
#include "core/tree/inner.h"

enum {
    WALK_LINE_BYTES = TREE_LINE_WORDS * (int)sizeof(uint64_t),
    KEPT_NODES = 48,   /* largest number of counted nodes that a cursor keeps */
    WALK_SETTLED = 32, /* after this many opened groups the k best count as nearly final */
    REACH_DONE = 0,    /* opened, or proven to hold no answer */
    REACH_MOST = 1 + (1 << (INDEX_FLOOR_SHIFT - 1)),
    REACH_PLAIN = UINT16_MAX /* compare the node in order, before all other nodes */
};

enum phase { PHASE_RANK, PHASE_OPEN, PHASE_NEWEST, PHASE_SWEEP };

/* A node whose columns were counted, with groups that are not opened yet. */
struct kept_node {
    uint16_t reach[TREE_GROUPS]; /* of each group, or REACH_DONE */
    /* For each group: no message of it shares more bits with the query than `shared`, and none more
     * than `rests` in the words that `sift` does not read (walk_parts). `rests` is valid only if
     * has_rests. */
    uint8_t shared[TREE_GROUPS];
    uint8_t rests[TREE_GROUPS];
    uint32_t place;
    bool in_use;
    bool opened; /* some of its groups were opened */
    bool has_rests;
    uint8_t
        unused[WALK_LINE_BYTES - 7]; /* padding: the next kept_node begins at a cache line, too */
};

static_assert(sizeof(struct kept_node) % WALK_LINE_BYTES == 0, "nodes kept begin at cache lines");

/* The messages of an entry that a search has still to offer: a twin and all older ones. */
struct walk_rest {
    uint32_t twin;    /* 0: none is left */
    uint32_t overlap; /* bits that their filter shares with the query's */
};

struct tree_cursor {
    const struct alloc *alloc;
    struct tree_cursor *next; /* in tree->cursors */
    struct tree_cursor **link;
    enum phase phase;
    uint64_t changes;    /* value of tree->changes when the search began or restarted. When
                            tree->changes is larger, `reach` and `kept` are no longer valid */
    bool keeps;          /* `reach` and `kept` are valid, or will be after the phase PHASE_RANK */
    uint32_t left;       /* the sweep still has to visit the nodes at places below this */
    uint32_t twins_left; /* copy.c still has to visit the twins up to this number */
    uint64_t spent;      /* how long the search took: as long as to compare about so many blocks in
                          * order */
    bool gives_up;       /* compare all nodes in order, without bounds: see tree_learned */
    uint32_t sifted;     /* blocks that the search sifted (open.c) since its floor was sift_floor */
    uint32_t survived;   /* of these, blocks of which all words had to be read */
    uint16_t sift_floor;
    uint32_t room;    /* entries of reach and kept_at, a multiple of BITS_STRIDE */
    uint16_t *reach;  /* for each index of tree->nodes: an upper bound of the reach of the node's
                         groups that are not opened yet, or REACH_PLAIN */
    uint8_t *kept_at; /* by place: 1 + index in kept; 0: the node is not kept */
    struct kept_node *kept; /* this array starts at a cache line, because kernels read and write
                             * whole cache lines of it */
    uint32_t kept_room;     /* 1 .. KEPT_NODES */
    /* rest_count of them, of different entries. The cursor owns it. It is of the allocator of the
     * tree, because a step may run on another thread, where `alloc` cannot be used */
    struct walk_rest *rests;
    uint32_t rest_count;
    uint32_t rest_room;
    uint8_t storage[]; /* of reach, kept_at and kept */
};

/*
 * Which words of a filter `sift` reads (bits.h). The main section is the one in which the query has
 * the most bits. `sift` reads the words in which the query has bits of another section. In these
 * sections a group's union says least about its messages, because messages of one place have
 * different topics and hours. In the words that `sift` does not read, the query has bits of the
 * main section only.
 */
struct walk_parts {
    struct bits_part small; /* without words if the main section is the only one, or lies between
                             * others */
    uint32_t main;          /* index in phi_query.sections; 0 with the metric of bits */
    uint8_t rest;           /* bits of the query in the other words */
};

/* The state of one step of a cursor. The positions of the query's set bits, and the parts, are
 * computed when they are first needed (walk_make_ready). */
struct walk {
    struct tree *tree;
    struct tree_cursor *cursor;
    struct index_probe *probe;
    size_t position_count; /* of the filter's set bits */
    size_t wanted_count;   /* of those of `contains` */
    bool ready;
    uint64_t end;   /* the step should end at this value of index_probe_work */
    bool looked;    /* true: the first look is over, because the best groups were opened, or because
                     * the next step would compare a whole node */
    uint32_t next;  /* index in tree->nodes of the node with the highest reach; cursor->room: not
                     * known */
    uint16_t floor; /* the value of index_probe_floor. It is computed again only after an offer,
                     * because the computation divides */
    int64_t worst_ms; /* deposit of the k-th best; INT64_MIN: fewer than k are known */
    uint16_t positions[PROFILE_BITS_MAX];
    uint16_t wanted[PROFILE_BITS_MAX];
    struct walk_parts parts;
    struct bits_scan scan; /* for kernels that compare messages; its floor is not set */
};

/* Computes the floor anew. */
static inline void walk_note_floor(struct walk *walk)
{
    const struct nearest_candidate *worst = nearest_worst(walk->probe->nearest);

    walk->floor = index_probe_floor(walk->probe);
    walk->worst_ms = worst != NULL ? worst->item.deposited_ms : INT64_MIN;
}

/* Begins a step of a cursor (tree_cursor_step). Sets all counts to 0. Leaves the arrays of
 * positions uninitialised. */
static inline void walk_begin(struct walk *walk, struct tree *tree, struct tree_cursor *cursor,
                              struct index_probe *probe, uint64_t budget)
{
    uint64_t before = index_probe_work(probe);

    walk->tree = tree;
    walk->cursor = cursor;
    walk->probe = probe;
    walk->ready = false;
    walk->end = budget < UINT64_MAX - before ? before + budget + (budget == 0) : UINT64_MAX;
    walk->looked = false;
    walk->next = cursor->room;
    walk_note_floor(walk);
    walk->position_count = 0;
    walk->wanted_count = 0;
    walk->scan = index_probe_scan(probe, BITS_BLOCK);
    walk->scan.gap = (size_t)BITS_BLOCK * (tree->section_count - 1);
}

/* Returns whether the step has done its work. A step does some work in any case. */
static inline bool walk_is_spent(const struct walk *walk)
{
    return index_probe_work(walk->probe) >= walk->end;
}

/*
 * Returns whether a message of some node or group may be among the k best. None is newer than
 * newest_ms, and none reaches more than `reach`. So messages that are older than `since` are left
 * out, and, if the k best are equal to the query, all that are older than the k-th best.
 */
static inline bool walk_may_reach(const struct walk *walk, uint16_t reach, int64_t newest_ms)
{
    const struct index_query *query = walk->probe->query;

    if (walk->floor < REACH_MOST - 1 && reach > 1 && query->order == INDEX_ORDER_SIMILARITY) {
        return newest_ms >= query->since_ms; /* no rank is 1: the function would say so */
    }
    return index_probe_may_reach(walk->probe, reach - 1u, newest_ms);
}

/* --- rest.c: what a step leaves of an entry to the next step ---------------------------------- */

/* Leaves a twin and all older ones of its entry to a later step. Returns false without memory. */
bool walk_leave_rest(struct walk *walk, uint32_t twin, uint32_t overlap);

/* --- open.c: messages compared ---------------------------------------------------------------- */

/*
 * Compares the query with the messages of some groups of a node, whose numbers ascend. Leaves out
 * groups that can have none of the k best. `kept` has their reach and shared bits; NULL: nothing is
 * known about the groups.
 */
void walk_open(struct walk *walk, const struct tree_node *node, const uint16_t *groups,
               size_t count, const struct kept_node *kept);

/* Leaves out, of some groups of a node, those that cannot have one of the k best: sets their reach
 * to REACH_DONE. Returns how many are left. */
size_t walk_leave_out(const struct walk *walk, const struct tree_node *node, struct kept_node *kept,
                      uint16_t *groups, size_t count);

/* Returns whether to sift blocks. A search sifts until too many of the blocks that it has sifted
 * had to be read whole afterwards: then sifting takes longer than it saves. */
bool walk_sifts(const struct walk *walk);

/* Compares all messages of a node, in the order of their slots. */
void walk_sweep(struct walk *walk, const struct tree_node *node);

/* Goes on with the last rest of the cursor, which has one, until it is done or the step is. */
void walk_resume(struct walk *walk);

/* --- bounds by set bits ----------------------------------------------------------------------- */

/* Returns whether bounds ignore messages without bits in the section that a query by phi asks for.
 * They do if it asks for one section only: such a message has phi 0, and passes no floor above 0.
 */
static inline bool walk_is_filled(const struct walk *walk)
{
    return walk->probe->phi.count == 1;
}

/*
 * Returns, for each group of a node, the fewest set bits that a message has in a section that the
 * query asks for. If walk_is_filled, only messages with bits there count; 255 means that none has.
 */
static inline const uint8_t *walk_least(const struct walk *walk, const struct tree_node *node,
                                        uint32_t section)
{
    const uint8_t *rows = walk_is_filled(walk) ? node->section_filled : node->section_least;

    return rows + (size_t)section * TREE_GROUPS;
}

/* --- tie.c: groups that tie with the k-th best ------------------------------------------------ */

/* Returns the highest reach of a group that may tie with the k-th best. The bounds by phi of such a
 * group are above the floor by less than this. */
static inline uint16_t walk_tied_most(const struct walk *walk)
{
    enum { LEAST = 32, PART = 8 };

    return walk->probe->query->metric == INDEX_METRIC_PHI
               ? (uint16_t)(walk->floor + walk->floor / PART + LEAST)
               : (uint16_t)(walk->floor + 1);
}

/* Returns whether messages of no higher reach than this may tie with the k-th best. */
static inline bool walk_may_tie(const struct walk *walk, uint16_t reach)
{
    return walk->worst_ms > INT64_MIN && reach <= walk_tied_most(walk);
}

/*
 * Returns whether no message of a group comes before the k-th best because they all tie with it and
 * are older. For the metric phi, and a group that shares at most `shared` bits with the query.
 * "false" is no proof.
 */
bool walk_is_tied(const struct walk *walk, const struct tree_node *node, size_t group,
                  uint16_t shared);

/* --- ready.c: what is computed of the query once ---------------------------------------------- */

/* Computes the positions of the query's bits and the parts of its words, unless they are there. */
void walk_make_ready(struct walk *walk);

/* Returns whether bounds can be computed for the query: it has 1 .. 255 bits. */
bool walk_can_bound(const struct walk *walk);

/* Returns in how many planes (bits.h) the numbers of shared bits fit, at most BITS_PLANES_MAX. */
size_t walk_planes(const struct walk *walk);

/* --- bound.c: groups ruled out ---------------------------------------------------------------- */

/*
 * Returns whether counting the columns of a node is expected to take more time than it saves: see
 * bound.c.
 */
bool walk_is_plain(const struct walk *walk, const struct tree_node *node);

/* Makes a mask of the groups that can hold messages with all bits of the query's `contains` filter;
 * without such a filter, a mask of all groups. Returns whether the mask has any group. */
bool walk_keep_containing(struct walk *walk, const struct tree_node *node, uint64_t *mask);

/* Counts the columns of a node and writes the reach of each group to `kept`. If `mask` is not NULL,
 * a group that is not in the mask gets REACH_DONE. Returns the highest reach. */
uint16_t walk_bound(struct walk *walk, const struct tree_node *node, const uint64_t *mask,
                    struct kept_node *kept);

/*
 * Computes, from the summaries, an upper bound of the reach of each node and writes it to
 * out_reach[place], where `place` is the node's index in tree->nodes. A node without a summary gets
 * REACH_MOST, and so do all nodes if the query allows no bounds. An index without a node gets
 * REACH_DONE. out_reach has cursor->room entries.
 */
void walk_rank(struct walk *walk, uint16_t *out_reach);

/* Prefetches the columns of a node that will be counted soon. */
void walk_fetch(const struct walk *walk, const struct tree_node *node);

/* Opens the groups of a mask without counting columns. */
void walk_open_masked(struct walk *walk, const struct tree_node *node, const uint64_t *mask);

/*
 * Compares the messages of the groups whose reach is at least `least`, and sets the reach of these
 * groups to REACH_DONE. If there are many such groups and the k best are nearly final, may compare
 * the whole node instead. Returns the highest reach of the groups that are left.
 */
uint16_t walk_open_best(struct walk *walk, const struct tree_node *node, struct kept_node *kept,
                        uint16_t least);
