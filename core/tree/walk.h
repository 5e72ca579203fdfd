/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree_walk: what the files of the tree's search share. Included by them and by copy.c only.
 */
#ifndef CORE_TREE_WALK_H
#define CORE_TREE_WALK_H

#include <assert.h>

#include "core/bits/sliced.h"
#include "core/tree/inner.h"

enum {
    PENDING_MAX = 64,
    WALK_LINE_BYTES = TREE_LINE_WORDS * (int)sizeof(uint64_t),
    KEPT_NODES = 32,   /* of which something is kept at a time, at most */
    WALK_SETTLED = 32, /* after so many groups the k best are not far from the final ones */
    REACH_DONE = 0,    /* opened as far as need be, or known to hold nothing */
    REACH_MOST = 1 + (1 << (INDEX_FLOOR_SHIFT - 1)),
    REACH_PLAIN = UINT16_MAX /* to be compared in order, before all others */
};

enum phase { PHASE_RANK, PHASE_OPEN, PHASE_SWEEP };

/* What is kept of a node that was counted and is not done. */
struct kept_node {
    uint16_t reach[TREE_GROUPS]; /* 1 + the highest floor that a group passes; REACH_DONE */
    uint8_t shared[TREE_GROUPS]; /* bits that its union shares with the query */
    uint32_t place;
    bool in_use;
    bool opened;                              /* some of its groups were */
    uint16_t unused[WALK_LINE_BYTES / 2 - 3]; /* so that the next one begins at a line, too */
};

static_assert(sizeof(struct kept_node) % WALK_LINE_BYTES == 0, "nodes kept begin at cache lines");

struct tree_cursor {
    const struct alloc *alloc;
    struct tree_cursor *next; /* in tree->cursors */
    struct tree_cursor **link;
    enum phase phase;
    uint64_t changes; /* tree->changes when the walk began: what is kept holds while it is that */
    bool keeps;       /* whether anything is kept */
    uint32_t left;    /* nodes at places below are still to be visited by the sweep */
    uint32_t swept;   /* nodes compared in order although they were counted */
    bool gives_up;    /* all is compared in order: see tree->futile */
    uint32_t room;    /* nodes of which something can be kept, a multiple of BITS_STRIDE */
    uint16_t *reach;  /* by place: 1 + the highest floor that a group to be opened passes */
    uint8_t *kept_at; /* by place: 1 + the number of what is kept; 0 if the node is not counted */
    struct kept_node *kept; /* at the start of a cache line, as kernels read and write them whole */
    uint32_t kept_room;     /* 1 .. KEPT_NODES */
    uint8_t storage[];      /* of the last three */
};

/* Groups about to be opened, one or several in a row. */
struct pending {
    const struct tree_node *node;
    uint16_t group;
    uint16_t count;
    uint16_t reach;  /* of one alone, as it was kept */
    uint16_t shared; /* what its union has at most of the query */
};

/* What one step knows of its query, computed when first needed. */
struct walk {
    struct tree *tree;
    struct tree_cursor *cursor;
    struct index_probe *probe;
    size_t position_count; /* of the filter's set bits */
    size_t wanted_count;   /* of those of `contains` */
    bool ready;
    bool looked;    /* a first look is over: the most promising groups are opened, or what comes
                     * next would be to compare all of a node */
    uint32_t next;  /* the node that promises the most; the cursor's room where it is not known */
    uint16_t floor; /* index_probe_floor, which divides: asked again after offers only */
    uint32_t pending_count;
    struct pending pending[PENDING_MAX];
    uint16_t positions[PROFILE_BITS_MAX];
    uint16_t wanted[PROFILE_BITS_MAX];
};

/* A step of a cursor begins; positions and pending groups are not zeroed. */
static inline void walk_begin(struct walk *walk, struct tree *tree, struct tree_cursor *cursor,
                              struct index_probe *probe)
{
    walk->tree = tree;
    walk->cursor = cursor;
    walk->probe = probe;
    walk->ready = false;
    walk->looked = false;
    walk->next = cursor->room;
    walk->floor = index_probe_floor(probe);
    walk->position_count = 0;
    walk->wanted_count = 0;
    walk->pending_count = 0;
}

/* ---- open.c: messages compared ---- */

/* Opens a group soon, if it may still hold something then: 1 + the highest floor that it passes is
 * `reach`, and its union shares so many bits with the query. */
void walk_open(struct walk *walk, const struct tree_node *node, uint32_t group, uint16_t reach,
               uint16_t shared);

/* Opens what is pending. Before a step ends, nothing may be. */
void walk_flush(struct walk *walk);

/* Compares all messages of a node, in order, as the list does. */
void walk_sweep(struct walk *walk, const struct tree_node *node);

/* ---- bound.c: groups ruled out ---- */

/* Whether the query has as many bits as bounds are computed for: 1 .. 255. */
bool walk_can_bound(const struct walk *walk);

/* Whether columns of a node are no help: see bound.c. */
bool walk_is_plain(const struct walk *walk, const struct tree_node *node);

/* The groups that may hold messages with all bits of the `contains` filter stay in the mask; all,
 * where there is no such condition. Whether any does. */
bool walk_keep_containing(struct walk *walk, const struct tree_node *node, uint64_t *mask);

/* Adds up the columns of the query's bits into planes (BITS_PLANES_MAX of them). */
void walk_count(struct walk *walk, const struct tree_node *node, uint64_t *planes);
size_t walk_planes(const struct walk *walk);

/* Counts a node, and notes what that tells of its groups, or of those in a mask. What it promises
 * then. */
uint16_t walk_bound(struct walk *walk, const struct tree_node *node, const uint64_t *mask,
                    struct kept_node *kept);

/* 1 + the highest floor that a message can pass, by place, by what summaries tell. */
void walk_rank(struct walk *walk, uint16_t *out_reach);

/* Asks for the columns of a node that is to be counted soon. */
void walk_fetch(const struct walk *walk, const struct tree_node *node);

/* Opens the groups of a mask, whose unions were not counted. */
void walk_open_masked(struct walk *walk, const struct tree_node *node, const uint64_t *mask);

/* Opens the groups that promise at least `least`, and takes them out of what is kept; or, if these
 * are most of the node, all of it. What it promises then. */
uint16_t walk_open_best(struct walk *walk, const struct tree_node *node, struct kept_node *kept,
                        uint16_t least);

#endif
