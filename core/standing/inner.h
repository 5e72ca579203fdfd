/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The index of standing queries from the inside: what the files of core/standing/ share.
 * docs/watch.md draws it.
 *
 *   node    up to 512 groups: their keys by columns (bits.h), and a threshold for each group
 *   group   up to 16 parts of queries, with their filters interleaved in blocks of 8
 *
 * The key of a group is the union of its filters. In a containing group (its parts have `contains`)
 * the key is the intersection of the `contains` filters. A message opens a group only if it shares
 * as many bits with the key as the group's threshold says.
 *
 *   node.c      groups of a node, and what the node keeps of each
 *   place.c     the group that a part goes to; insert and remove
 *   match.c     the queries that messages fit
 *   arrange.c   parts moved to better groups, by what messages have shown
 *   standing.c  queries, and the index as a whole
 */
#ifndef CORE_STANDING_INNER_H
#define CORE_STANDING_INNER_H

#include "core/bits/bits.h"
#include "core/standing/standing.h"

enum {
    STANDING_BLOCKS = 2,
    STANDING_GROUP = STANDING_BLOCKS * BITS_BLOCK,
    STANDING_BATCH =
        64,            /* messages matched at a time, so that a node's columns stay in the cache */
    STANDING_TURN = 8, /* columns added at a time; fewer take the same time */
    STANDING_HITS_MIN = 1024,
    STANDING_LOOKS = 3,      /* parts that standing_arrange looks at, for each inserted part */
    STANDING_CONTAINING = 0, /* the class of containing groups; the others are 1 .. */
    STANDING_NO_CLASS = UINT8_MAX
};

/* A part of a query in a group, with the conditions that a message is checked against. */
struct standing_slot {
    struct standing_query *query;
    const uint64_t *contains; /* or NULL; the query's */
    uint64_t scope;
    uint32_t max_distance_ppm;
    uint32_t part;
};

struct standing_group {
    /* The fields that a match reads first are in one cache line. */
    uint64_t *filters; /* `blocks` blocks */
    uint32_t count;
    uint16_t floor; /* the smallest standing_floor of its parts: that of the largest distance */
    uint16_t low;   /* the smallest cardinality of its parts' filters */
    uint16_t cardinalities[STANDING_GROUP];

    struct standing_slot slots[STANDING_GROUP];
    struct standing_node *node;
    uint32_t lane;
    uint32_t blocks;   /* of filters allocated */
    uint8_t class;     /* of the words that it may stand in: see place.c */
    bool loose;        /* its threshold rules out few messages, or none */
    uint16_t key_bits; /* set bits of key */
    uint64_t key[];
};

struct standing_node {
    uint32_t number; /* its place in standing->nodes */
    uint32_t group_count;
    uint64_t lanes[BITS_LANE_WORDS];  /* in use */
    uint64_t room[BITS_LANE_WORDS];   /* of these: groups that take another part */
    uint64_t loose[BITS_LANE_WORDS];  /* of these: loose groups */
    uint8_t classes[BITS_LANE_WORDS]; /* of each word's groups; STANDING_NO_CLASS: has none */
    uint64_t floors[BITS_LANE_WORDS]; /* the least of each word's groups; 0 where they contain */
    uint16_t key_bits[BITS_LANES];    /* set bits of each lane's key; 0 where there is none */
    uint16_t needs[BITS_LANES];       /* each lane's own threshold, */
    uint64_t planes[BITS_PLANES_MAX * BITS_LANE_WORDS]; /* ... and the same by planes */
    size_t plane_count;                                 /* in use; never falls */
    size_t lane_words;                                  /* in use */
    struct standing_group *groups[BITS_LANES];
    uint64_t *columns; /* at the start of a cache line of `storage`; behind them one of no lane */
    uint64_t storage[];
};

/* A message being matched. */
struct standing_probe {
    const struct standing_deposit *deposit;
    const uint16_t *positions; /* of its set bits, */
    size_t column_count; /* ... and then of the column of no lane, up to a multiple of a turn */
    uint32_t cardinality;
    size_t planes; /* that half of its cardinality takes */
};

struct standing_place {
    struct standing_group *group; /* NULL: not in */
    uint32_t slot;
};

struct standing_query {
    void *owner;
    uint32_t part_count;
    uint32_t max_distance_ppm;
    enum index_metric metric;
    bool is_in;
    uint64_t seen;  /* serial of the message that it was last found for, of several parts */
    size_t seen_at; /* the hit that said so */
    size_t words;   /* of a filter */
    struct standing_slot *slots;   /* one for each part: what its place in a group is filled with */
    struct standing_place *places; /* one for each part */
    uint64_t *filters;             /* for each part its filter, then its contains */
};

struct standing {
    struct standing_options options; /* profile points to the one below */
    struct profile profile;
    size_t words;
    struct standing_node **nodes;
    uint32_t node_count;
    uint32_t node_room;
    size_t part_count;
    size_t bytes;
    uint64_t serial; /* of messages matched */
    uint64_t compared;
    struct standing_hit *found; /* hit_room of them: as they are found, */
    struct standing_hit *hits;  /* ... and by message */
    size_t found_count;
    size_t hit_room;           /* at least part_count: one message's hits always fit */
    uint32_t batch;            /* messages matched at a time: fewer where hits did not fit lately */
    uint32_t likeness_percent; /* that a part and a group's key must have in common: learnt */
    uint64_t learnt_from;      /* messages, since that was last changed or found right, */
    uint64_t in_vain;          /* ... and groups that were opened for these without a hit */
    uint32_t calm;             /* windows since then in which hardly any was */
    size_t unsettled;          /* parts that are to be looked at: see standing_arrange */
    size_t relearning;         /* of these: before it is learnt what their last change did */
    uint32_t next_node;        /* where the next of them is looked for */
    uint32_t next_lane;
    uint16_t *positions;
    struct standing_probe probes[STANDING_BATCH];
};

/* --- node.c ----------------------------------------------------------------------------------- */

/* A new, empty node at the end of the directory. NULL without memory. */
struct standing_node *standing_node_new(struct standing *standing);

/* Finds a free lane of a node for a new group of this class: in a word of lanes that has groups of
 * the class, else in an empty word. False: there is none. */
bool standing_free_lane(const struct standing_node *node, uint8_t class, uint32_t *out_lane);

/* An empty group of a class, in no node, with one block. NULL without memory. Freed when it is in
 * no node, and holds no part. */
struct standing_group *standing_group_new(struct standing *standing, uint8_t class, bool loose);
void standing_group_free(struct standing *standing, struct standing_group *group);

/* Makes sure that the blocks have room for one more part of a group that is not full. False without
 * memory. */
bool standing_group_grow(struct standing *standing, struct standing_group *group);

/* Puts a group into a free lane. Takes it out again, and others may move then; a node that is left
 * empty is freed. */
void standing_enter(struct standing *standing, struct standing_node *node, uint32_t lane,
                    struct standing_group *group);
void standing_leave(struct standing *standing, struct standing_group *group);

/* Puts a part into a group whose blocks have room. */
void standing_put(struct standing *standing, struct standing_group *group,
                  const struct standing_slot *slot);

/* Takes a part out of a group, which stays, perhaps without any; the last one takes its slot. */
void standing_take(struct standing *standing, struct standing_group *group, uint32_t slot);

/* The least floor (see index_probe_floor) that a message within this distance reaches. */
uint16_t standing_floor(uint32_t max_distance_ppm);

/* What a group of one part at least must know of them. */
struct standing_summary {
    uint64_t key[PROFILE_WORDS_MAX];
    uint16_t floor;
    uint16_t low;
};
void standing_summarise(const struct standing *standing, const struct standing_group *group,
                        struct standing_summary *out);

/* --- place.c ---------------------------------------------------------------------------------- */

/* Puts all parts in; unless 0 (-ERR_NOMEM), none is. Takes all out. */
int standing_place_query(struct standing *standing, struct standing_query *query);
void standing_displace_query(struct standing *standing, struct standing_query *query);

/* Looks for a better group for a part; without one, or without memory, it stays in its own. Whether
 * that one is gone. */
bool standing_move_part(struct standing *standing, struct standing_group *group, uint32_t slot);

/* --- arrange.c -------------------------------------------------------------------------------- */

/* What so many messages more tell about the groups. */
void standing_learn(struct standing *standing, uint32_t count);

#endif
