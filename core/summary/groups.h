/* SPDX-License-Identifier: Apache-2.0 */
/*
 * groups: a few unions of similar filters that together stand for all filters of a host. Other
 * access points read the groups to find out whether the host can hold an answer (core/hood/).
 *
 * Each filter that comes begins as a group of its own. If there are then more groups than the
 * limit, two groups merge: those whose union adds the fewest bits. A bit that a group does not have
 * and the union has counts once for each filter of this group. The result depends only on the
 * filters and on their order.
 *
 * A filter cannot be taken out of a union. So a removal leaves the unions as they are: the groups
 * cover all filters that are left, and perhaps more. When half of the filters have gone, the caller
 * makes the groups anew from the filters that are left.
 */
#pragma once

#include "core/base/alloc.h"
#include "core/profile/profile.h"

enum { GROUPS_MAX = 64 }; /* the highest limit */

/* The smallest and the largest number of bits that a filter has set in one section. */
struct group_range {
    uint16_t least;
    uint16_t most;
};

struct group {
    const uint64_t *filter; /* the union of its filters, bloom_words(m) words; borrowed */
    struct group_range ranges[PROFILE_SECTIONS_MAX]; /* one for each section of the profile */
    uint32_t count;                                  /* filters that came, with those that have
                                                        gone */
    int64_t newest_ms; /* no filter of the group was deposited later */
};

/* What a group needs for merging. */
struct groups_slot {
    uint32_t set_bits; /* of its union */
    uint32_t mate;     /* the group with which merging costs least; itself: there is no other */
    uint64_t cost;     /* of merging the two */
};

struct groups {
    const struct alloc *alloc;
    const struct profile *profile;
    size_t words;
    uint32_t limit;
    uint32_t count;            /* groups, at most `limit` */
    uint64_t came;             /* filters, below 2^32 */
    uint64_t gone;             /* how many of them have gone */
    uint64_t *filters;         /* owned: the unions, limit + 1 of them */
    struct group *list;        /* owned: limit + 1 entries, of which `count` are groups */
    struct groups_slot *slots; /* owned: limit + 1 entries */
};

/*
 * Makes at most `limit` (1 .. GROUPS_MAX) groups of filters of a profile; there are none yet.
 * `alloc` and `profile` are borrowed. Returns 0 or -ERR_NOMEM. No other function here needs memory.
 */
int groups_init(struct groups *groups, const struct alloc *alloc, const struct profile *profile,
                uint32_t limit);
void groups_deinit(struct groups *groups); /* a zeroed struct is fine */

/*
 * Adds a filter that was deposited at this time. The list of groups may change its order. O(limit *
 * m / 64) in most cases; O(limit^2 * m / 64) if one group is the nearest to most others.
 */
void groups_add(struct groups *groups, const uint64_t *filter, int64_t deposited_ms);

/*
 * Counts a filter as gone. Returns whether at least half of the filters that came have gone: then
 * the caller makes the groups anew. O(1).
 */
bool groups_remove(struct groups *groups);

/* Adds `by_ms` to the times of filters that were deposited at `from_ms` or later, as index_shift
 * does. If by_ms < 0, the groups stay as they are, because newest_ms is an upper bound. O(limit) */
void groups_shift(struct groups *groups, int64_t from_ms, int64_t by_ms);

/*
 * Returns whether one of `count` groups covers a filter of a profile: the group's union has all
 * bits of the filter, and in each section the filter's number of set bits lies in the range of the
 * group. Looks at no time. O(count * m / 64).
 */
bool groups_cover(const struct group *list, uint32_t count, const struct profile *profile,
                  const uint64_t *filter);

/* Returns the group that covers only one filter, which is borrowed. O(m / 64) */
struct group groups_one(const struct profile *profile, const uint64_t *filter,
                        int64_t deposited_ms);

/*
 * Writes the number of bits that a filter has set in each section of a profile, as ranges of one
 * number each. groups_ranges_hold returns whether each of `count` such numbers lies in its range.
 */
void groups_ranges_of(const struct profile *profile, const uint64_t *filter,
                      struct group_range *out_ranges);
bool groups_ranges_hold(const struct group_range *ranges, const struct group_range *numbers,
                        uint32_t count);
