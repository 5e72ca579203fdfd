/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The index of standing queries from the inside: what the files of core/standing/ share.
 * docs/watch.md draws it.
 *
 *   node    up to 512 groups: their keys by columns (bits.h), and a threshold for each group
 *   group   up to 16 parts of queries; the filters of two or more are interleaved in blocks of 8
 *
 * The key of a group is the union of its filters. In a containing group, whose parts have a
 * `contains` filter, the key is the intersection of the `contains` filters. A message is compared
 * with a group only if the message shares as many bits with the key as the threshold of the group
 * says. A group of one part needs no block, because its key, or its query, has the filter.
 *
 *   need.c      how many bits a message must share with a part, by phi
 *   node.c      groups of a node, and what the node keeps of each group
 *   place.c     chooses the group of a part; insert and remove
 *   hints.c     where similar groups may be, if there are too many to look at all
 *   match.c     finds the queries that messages fit
 *   arrange.c   moves parts to better groups, by what messages have shown
 *   standing.c  queries, and the index as a whole
 */
#pragma once

#include "core/standing/standing.h"

enum {
    STANDING_BLOCKS = 2,
    STANDING_GROUP = STANDING_BLOCKS * BITS_BLOCK,
    /* How many messages are matched at a time, at most. */
    STANDING_BATCH = 64,
    STANDING_TURN = 8, /* columns added at a time; fewer columns take the same time */
    STANDING_HITS_MIN = 1024,
    STANDING_LOOKS = 3, /* parts that standing_arrange looks at for each inserted part, at most */
    STANDING_CONTAINING = 0, /* class of the containing groups, whose parts have a `contains`
                              * filter; other groups have classes from 1 on */
    STANDING_NO_CLASS = UINT16_MAX,
    STANDING_HINTS = 8, /* signatures of a part: see hints.c */
    STANDING_ROOTS = 8, /* roots of spreads that are kept for each message */
    STANDING_SHORT = 2  /* what needs and slopes of 2^-16 are shifted by to be in 2^-14 */
};

/*
 * How many bits a message must share with a part by phi: need.c has the formula. For a group, each
 * number is the smallest of its parts, and `asked` has only the sections that all parts ask for; so
 * the group needs at most as many bits as each of its parts. For a part by bits all is 0.
 */
struct standing_need {
    uint32_t asked;                        /* bit s: section s of the profile */
    uint32_t root;                         /* in 2^-12: phi times the root of the part's spread */
    uint32_t slopes[PROFILE_SECTIONS_MAX]; /* in 2^-16: share of the section that the part sets */
};

/* What phi needs to know about a message. */
struct standing_spread {
    uint16_t counts[PROFILE_SECTIONS_MAX];  /* set bits by section */
    uint32_t spreads[PROFILE_SECTIONS_MAX]; /* V of phi.h, by section */
    struct {
        uint32_t asked; /* 0: no root yet */
        uint32_t root;
    } roots[STANDING_ROOTS]; /* the roots of the spread over some sections that were asked for */
};

/*
 * What the needs by phi of a node's words of lanes are made of; all 0 for a word that has no group
 * by phi. A lane's own threshold (standing_node.needs) is how many bits more than `typical_needs`
 * its group needs of a typical message. What another message needs more or less than the typical
 * one is the same for all lanes of a word: the smallest numbers of its groups say it where the
 * message has more bits, and the largest where it has fewer.
 */
struct standing_needs {
    uint64_t least[BITS_LANE_WORDS]; /* in 2^-16 of a bit: what the sum of the products is added to,
                                      * for its rounding */
    uint32_t asked[BITS_LANE_WORDS]; /* the sections that all groups ask for */
    uint32_t roots[BITS_LANE_WORDS]; /* the smallest of the groups */
    uint32_t slopes[PROFILE_SECTIONS_MAX][BITS_LANE_WORDS];
    int32_t typical_needs[BITS_LANE_WORDS]; /* in 2^-14 of a bit: of the group that needs fewest */
    /* The same in fewer bits, so that a vector has more of them: the slopes in 2^-14 and the roots
     * in 2^-2, the smallest ones rounded down and the largest ones rounded up. */
    int16_t slopes_low[PROFILE_SECTIONS_MAX][BITS_LANE_WORDS];
    int16_t slopes_high[PROFILE_SECTIONS_MAX][BITS_LANE_WORDS];
    int16_t roots_low[BITS_LANE_WORDS];
    int16_t roots_high[BITS_LANE_WORDS];
    int16_t typical_roots[BITS_LANE_WORDS]; /* of the typical message's spread */
    /* The same for the whole node, if all its words ask for the same sections; else `asked` is 0.
     */
    struct {
        uint32_t asked;
        int32_t least; /* of typical_needs */
        int32_t most;
        int16_t slopes_low[PROFILE_SECTIONS_MAX];
        int16_t slopes_high[PROFILE_SECTIONS_MAX];
        int16_t root_low;
        int16_t root_high;
        int16_t typical_root;
    } all;
};

/* A part of a query in a group, with the conditions that a message must fulfil. */
struct standing_slot {
    struct standing_query *query;
    const uint64_t *contains; /* or NULL; the query's */
    uint64_t scope;
    uint32_t max_distance_ppm;
    uint32_t part;
    uint32_t least;         /* by phi: the smallest phi that is within the distance (phi_least) */
    struct phi_sized sized; /* by phi: of the part; else NULL. The query's `sizes` */
};

struct standing_group {
    struct standing_node *node;
    uint32_t lane;
    uint32_t room;     /* parts that `slots` has memory for */
    uint32_t blocks;   /* of filters allocated; 0 as long as the group has had one part only */
    uint16_t key_bits; /* set bits of key */
    uint16_t cardinalities[STANDING_GROUP];
    uint16_t key_counts[PROFILE_SECTIONS_MAX]; /* by phi: set bits of the key by section */
    /*
     * standing_match reads the fields from here to the end first. So they are side by side, and all
     * else that a group has is somewhere else in memory.
     */
    struct standing_slot *slots;
    uint64_t *filters; /* `blocks` blocks */
    uint32_t count;
    uint16_t floor; /* the smallest of the parts' floors (standing_floor), which is the floor of the
                     * largest distance; 0 by phi */
    uint16_t low;   /* smallest cardinality of the parts' filters */
    uint16_t class; /* a word of lanes has groups of one class only: see place.c */
    bool loose;     /* the threshold of the group rules out few messages, or none */
    struct standing_need need; /* by phi */
    uint64_t key[];
};

struct standing_node {
    uint32_t number; /* its place in standing->nodes */
    uint32_t group_count;
    uint64_t lanes[BITS_LANE_WORDS];   /* in use */
    uint64_t room[BITS_LANE_WORDS];    /* lanes whose groups take another part */
    uint64_t loose[BITS_LANE_WORDS];   /* lanes with loose groups */
    uint16_t classes[BITS_LANE_WORDS]; /* for each word of lanes, the class of the groups in the
                                        * word; STANDING_NO_CLASS if the word has no group */
    uint64_t floors[BITS_LANE_WORDS]; /* for each word of lanes, the smallest floor of the groups in
                                         the word; 0 for a word of containing groups, or without a
                                         group */
    struct standing_needs by_phi;
    bool has_phi;                   /* a word has a need by phi */
    struct standing_spread typical; /* of a message: the key of the node's first group by phi */
    uint16_t key_bits[BITS_LANES];  /* set bits of the key of each lane; 0 without a group */
    uint16_t needs[BITS_LANES];     /* for each lane its own part of the threshold: by bits the
                                       number of need_of (node.c), by phi see standing_needs */
    uint64_t planes[BITS_PLANES_MAX * BITS_LANE_WORDS]; /* the same numbers as planes (bits.h) */
    size_t plane_count;                                 /* in use; never falls */
    size_t lane_words;                                  /* in use */
    struct standing_group *groups[BITS_LANES];
    uint64_t *columns; /* the columns of the groups' keys, in `storage`, at the start of a cache
                        * line; a column in which no lane is set follows them */
    uint64_t storage[];
};

/* A message that is being matched. */
struct standing_probe {
    const struct standing_deposit *deposit;
    const uint16_t *positions; /* columns to add up: the filter's set bits, and padding */
    /* number of entries of `positions`, a multiple of STANDING_TURN. The entries after the
     * filter's set bits are padding: each names a column in which no lane is set */
    size_t column_count;
    uint32_t cardinality;
    size_t planes; /* that half of its cardinality takes */
};

/* Where a part of a query is: its group, and its slot in this group. */
struct standing_place {
    struct standing_group *group; /* NULL: the part is in no group */
    uint32_t slot;
};

struct standing_query {
    void *owner;
    uint32_t part_count;
    uint32_t max_distance_ppm;
    enum index_metric metric;
    bool is_in;
    uint64_t seen;                 /* serial of the last message that a part of this query fitted */
    size_t seen_at;                /* index of the hit for that message */
    size_t words;                  /* of a filter */
    struct standing_slot *slots;   /* one for each part of the query; when a part joins a group,
                                    * standing_put copies the part's struct to a slot of the group */
    struct standing_place *places; /* one for each part: the group that the part is in, and the slot
                                    * in this group */
    uint64_t *filters;             /* for each part its filter, then its `contains` filter */
    struct standing_need *needs;   /* by phi one for each part, else NULL */
    uint32_t *sizes;               /* by phi, for each part its spreads by section, and behind them
                                    * its set bits by section in halves of the words; else NULL */
};

struct standing {
    struct standing_options options; /* profile points to the one below */
    struct profile profile;
    size_t words;
    struct standing_node **nodes;
    uint32_t node_count;
    uint32_t node_room;
    size_t part_count;
    size_t phi_count; /* of these, parts of queries by phi */
    size_t bytes;
    uint32_t *hints; /* hint_room entries, a power of two; NULL in an index of few groups */
    size_t hint_room;
    uint64_t looked; /* nodes that parts have looked for a group in */
    uint64_t serial; /* of messages matched */
    uint64_t compared;
    struct standing_hit *found; /* hits in the order in which they are found; hit_room entries */
    struct standing_hit *hits;  /* the same hits sorted by message; hit_room entries */
    size_t found_count;
    size_t hit_room; /* entries of the arrays of hits; at least part_count, so that the hits of one
                      * message always fit */
    uint32_t batch;  /* messages matched at a time: fewer after hits did not fit */
    /*
     * A part may join a usual group (not loose, not containing) only if the bits that both the
     * part's key and the group's key have are at least this percentage of the bits that either key
     * has. standing_learn changes this number.
     */
    uint32_t likeness_percent;
    uint64_t learnt_from; /* number of messages since likeness_percent was last changed or
                           * confirmed */
    uint64_t in_vain;     /* groups, not loose and not containing, that were opened for these
                             messages without a hit */
    uint32_t calm;        /* windows since the last change in which opening was cheap */
    size_t unsettled;     /* parts that standing_arrange still has to look at */
    size_t relearning;    /* after likeness_percent has changed, standing_learn counts nothing until
                           * standing_arrange has looked at this many parts */
    uint32_t next_node;   /* node and lane at which standing_arrange goes on */
    uint32_t next_lane;
    uint16_t *positions;
    struct standing_probe probes[STANDING_BATCH];
    struct standing_spread spreads[STANDING_BATCH]; /* of the same messages, if phi_count > 0 */
};

/* --- need.c ----------------------------------------------------------------------------------- */

/* Computes the need of a part of a query by phi, from its set bits by section. */
void standing_need_of(const struct standing *standing, const uint16_t *counts, uint32_t least,
                      struct standing_need *out);

/* Lowers a need, so that it is a bound for another part, too. `other` NULL: for a part by bits. */
void standing_need_lower(const struct standing *standing, struct standing_need *need,
                         const struct standing_need *other);

/* Computes what phi needs to know about a message. */
void standing_spread_of(const struct standing *standing, const uint64_t *filter,
                        struct standing_spread *out);

/* Returns how many bits a message must share with a part, or with a group, of this need. */
uint32_t standing_need_for(const struct standing *standing, const struct standing_need *need,
                           struct standing_spread *spread);

/* What a sum of products is added to for its rounding; 0 if a need asks for no section. */
uint64_t standing_need_least(const struct standing *standing, uint32_t asked);

/* The same in 2^-16 of a bit, where only the sections `asked` count for the spread of the message:
 * some of those that the need asks for. Rounding down gives the number. */
uint64_t standing_need_over(const struct standing *standing, const struct standing_need *need,
                            uint32_t asked, struct standing_spread *spread);

/* The root of the spread of a message over some sections, as in standing_needs. */
uint32_t standing_root_over(const struct standing *standing, struct standing_spread *spread,
                            uint32_t asked);

/*
 * What all lanes of each word of a node need at least, in 2^-16 of a bit. Returns true if a lane
 * needs its own threshold besides; false if the message has so few bits that it may need less than
 * that. Writes to *out_any a number that has the bits of all needs.
 */
bool standing_needs_for(const struct standing *standing, const struct standing_node *node,
                        struct standing_spread *spread, uint64_t *out_needs, uint64_t *out_any);

/* Keeps the smallest and the largest numbers of the needs of a word's groups, as standing_needs_for
 * wants them. */
void standing_keep_needs(const struct standing *standing, struct standing_needs *by_phi,
                         uint32_t word, const struct standing_need *least,
                         const struct standing_need *most);

/* Keeps what the group of a word needs that needs fewest bits of the typical message: `need` is in
 * 2^-16 of a bit. */
void standing_keep_typical(const struct standing *standing, struct standing_node *node,
                           uint32_t word, uint64_t need);

/* Computes what standing_needs keeps for the whole node. */
void standing_keep_all(const struct standing *standing, struct standing_node *node);

/* --- node.c ----------------------------------------------------------------------------------- */

/* Makes an empty node at the end of standing->nodes. NULL without memory. */
struct standing_node *standing_node_new(struct standing *standing);

/*
 * Finds a lane for a new group of the class `class` in a node. The lane is free and lies in a word
 * of lanes whose groups have this class, or else in an empty word. Returns false if the node has no
 * such lane.
 */
bool standing_free_lane(const struct standing_node *node, uint16_t class, uint32_t *out_lane);

/*
 * standing_group_new makes an empty group of the class `class`, with memory for one block of
 * filters. The new group is in no node. Returns NULL without memory. standing_group_free frees a
 * group that has no part and is in no node.
 */
struct standing_group *standing_group_new(struct standing *standing, uint16_t class, bool loose);
void standing_group_free(struct standing *standing, struct standing_group *group);

/* Gives a group memory for one more part, if needed. The group has fewer than STANDING_GROUP parts.
 * Returns false without memory. */
bool standing_group_grow(struct standing *standing, struct standing_group *group);

/*
 * standing_enter puts a group into a free lane of a node. standing_leave takes a group out of its
 * node; it may move a group of the last node to the lane that became free, and it frees nodes that
 * have no group left.
 */
void standing_enter(struct standing *standing, struct standing_node *node, uint32_t lane,
                    struct standing_group *group);
void standing_leave(struct standing *standing, struct standing_group *group);

/* Adds a part to a group that has memory for it (standing_group_grow). */
void standing_put(struct standing *standing, struct standing_group *group,
                  const struct standing_slot *slot);

/* Removes a part from a group; the last part takes its slot. The group stays, even without
 * parts. */
void standing_take(struct standing *standing, struct standing_group *group, uint32_t slot);

/* Converts the maximum distance of a part to a floor (see index_probe_floor). Every message within
 * the distance passes the floor. 0 by phi. */
uint16_t standing_floor(const struct standing_slot *slot);

/* The need of a part by phi; the query owns it. NULL: the part is one by bits. */
const struct standing_need *standing_slot_need(const struct standing_slot *slot);

/* The key, the floor, the smallest cardinality and the need by phi of a group. standing_summarise
 * computes them from the parts of the group, which must have at least one part. */
struct standing_summary {
    uint64_t key[PROFILE_WORDS_MAX];
    uint16_t floor;
    uint16_t low;
    struct standing_need need;
};
void standing_summarise(const struct standing *standing, const struct standing_group *group,
                        struct standing_summary *out);

/* --- place.c ---------------------------------------------------------------------------------- */

/* standing_place_query puts all parts of a query into groups. Returns 0, or -ERR_NOMEM with no part
 * in a group. standing_displace_query takes all parts out of their groups. */
int standing_place_query(struct standing *standing, struct standing_query *query);
void standing_displace_query(struct standing *standing, struct standing_query *query);

/* --- hints.c ---------------------------------------------------------------------------------- */

/* Computes STANDING_HINTS signatures of a key, of which the positions of the set bits are given.
 * Parts of different kinds, any numbers, have different signatures. */
void standing_signatures(const struct standing *standing, const uint16_t *positions, size_t count,
                         uint32_t kind, uint64_t *out);

/* Makes the table of hints, or makes it larger if there are many parts. Without memory it stays as
 * it is. */
void standing_reserve_hints(struct standing *standing);
void standing_free_hints(struct standing *standing);

/* standing_hint notes the group that a part with these signatures is in. standing_hinted returns
 * the group that was noted last for a signature, or another group, or NULL. */
void standing_hint(struct standing *standing, const uint64_t *signatures,
                   const struct standing_group *group);
struct standing_group *standing_hinted(const struct standing *standing, uint64_t signature);

/* --- place.c: moves --------------------------------------------------------------------------- */

/*
 * Moves a part to the group that is best for it now, which may be a new group or the old one. The
 * part also stays in its group if there is no memory. Returns whether the old group was freed.
 */
bool standing_move_part(struct standing *standing, struct standing_group *group, uint32_t slot);

/* --- arrange.c -------------------------------------------------------------------------------- */

/*
 * Tells the index that `count` more messages have been matched. After enough messages, may change
 * likeness_percent, which says how similar the parts of a group must be.
 */
void standing_learn(struct standing *standing, uint32_t count);
