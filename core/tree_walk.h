/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree_walk: what the files of the tree's search share. Included by them and by tree_copy.c only.
 */
#ifndef CORE_TREE_WALK_H
#define CORE_TREE_WALK_H

#include "core/sliced.h"
#include "core/tree.h"

enum {
    KEPT_PLANES = 8, /* kept of a node: numbers below 256 */
    PENDING_MAX = 64,
    WALK_SETTLED = 32, /* after so many groups the k best are not far from the final ones */
    REACH_DONE = 0,    /* opened as far as need be, or known to hold nothing */
    REACH_MOST = 1 + (1 << INDEX_FLOOR_SHIFT),
    REACH_PLAIN /* to be compared in order, before all others */
};

enum phase { PHASE_RANK, PHASE_OPEN, PHASE_SWEEP };

/* What is kept of a node. */
struct kept_node {
    bool counted;                    /* whether the rest is there */
    uint64_t lanes[BITS_LANE_WORDS]; /* groups that are still to be opened, if they pass */
    uint64_t planes[KEPT_PLANES * BITS_LANE_WORDS];
};

struct tree_cursor {
    const struct alloc *alloc;
    struct tree_cursor *next; /* in tree->cursors */
    struct tree_cursor **link;
    enum phase phase;
    uint64_t changes; /* tree->changes when the walk began: what is kept holds while it is that */
    bool keeps;       /* whether anything is kept */
    uint32_t left;    /* nodes at places below are still to be visited by the sweep, */
    uint32_t count_left;      /* ... to be counted */
    uint32_t opened;          /* groups opened so far, */
    uint32_t swept;           /* ... and nodes compared in order although they were counted */
    bool gives_up;            /* all is compared in order: see tree->futile */
    uint32_t room;            /* nodes of which something can be kept */
    uint32_t *reach;          /* by place: 1 + the highest floor that a group to be opened passes */
    struct kept_node nodes[]; /* by place */
};

/* Groups about to be opened, one or several in a row. */
struct pending {
    const struct tree_node *node;
    uint16_t group;
    uint16_t count;
    uint16_t shared; /* of one alone */
};

/* What one step knows of its query, computed when first needed. */
struct walk {
    struct tree *tree;
    struct tree_cursor *cursor;
    struct index_probe *probe;
    size_t position_count; /* of the filter's set bits */
    size_t wanted_count;   /* of those of `contains` */
    bool ready;
    uint16_t floor; /* index_probe_floor, which divides: asked again after offers only */
    uint32_t pending_count;
    struct pending pending[PENDING_MAX];
    uint16_t positions[PROFILE_BITS_MAX];
    uint16_t wanted[PROFILE_BITS_MAX];
};

/* ---- tree_open.c: messages compared ---- */

/* Whether a group that shares so many bits with the query may hold one of the k best. */
bool walk_may_hold(const struct walk *walk, const struct tree_node *node, uint32_t group,
                   uint32_t shared);

/* Opens a group soon, if it may still hold something then. */
void walk_open(struct walk *walk, const struct tree_node *node, uint32_t group, uint32_t shared);

/* Opens what is pending. Before a step ends, nothing may be. */
void walk_flush(struct walk *walk);

/* Compares all messages of a node, in order, as the list does. */
void walk_sweep(struct walk *walk, const struct tree_node *node);

/* ---- tree_bound.c: groups ruled out ---- */

/* Whether columns of a node are no help: see tree_bound.c. */
bool walk_is_plain(const struct walk *walk, const struct tree_node *node);

/* The groups that may hold messages with all bits of the `contains` filter stay in the mask; all,
 * where there is no such condition. Whether any does. */
bool walk_keep_containing(struct walk *walk, const struct tree_node *node, uint64_t *mask);

/* Adds up the columns of the query's bits into planes (BITS_PLANES_MAX of them). */
void walk_count(struct walk *walk, const struct tree_node *node, uint64_t *planes);
size_t walk_planes(const struct walk *walk);

/* The groups stay in the mask that can pass a floor, by what was counted. Whether any does. */
bool walk_keep_passing(const struct walk *walk, const struct tree_node *node,
                       const uint64_t *planes, uint32_t floor, uint64_t *mask);

/* 1 + the highest floor that a group of the mask can pass; REACH_DONE for none. */
uint32_t walk_reach(const struct walk *walk, const struct tree_node *node, const uint64_t *planes,
                    const uint64_t *mask);

/* 1 + the highest floor that a message can pass, by place, by what summaries tell. */
void walk_rank(struct walk *walk, uint32_t *out_reach);

/* Asks for the columns of a node that is to be counted soon. */
void walk_fetch(const struct walk *walk, const struct tree_node *node);

/* Opens the groups of a mask that may hold something; or, if these are most of the node, all of it.
 * Without counts (NULL) the query's own bits are all that is known. */
void walk_open_masked(struct walk *walk, const struct tree_node *node, const uint64_t *planes,
                      const uint64_t *mask);

/* ---- tree_path.c ---- */

/* The best path alone, all at once: not exact. */
void walk_path(struct walk *walk);

#endif
