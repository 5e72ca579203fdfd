/* SPDX-License-Identifier: Apache-2.0 */
#include "core/summary/groups.h"

#include <assert.h>
#include <string.h>

#include "core/base/err.h"
#include "core/filter/bloom.h"

/* The mate of a group whose mate has changed and is to be found anew. */
#define STALE UINT32_MAX

static size_t slot_count(const struct groups *groups)
{
    return (size_t)groups->limit + 1;
}

int groups_init(struct groups *groups, const struct alloc *alloc, const struct profile *profile,
                uint32_t limit)
{
    size_t words = bloom_words(profile->bits);

    assert(limit >= 1 && limit <= GROUPS_MAX);
    *groups = (struct groups){.alloc = alloc, .profile = profile, .words = words, .limit = limit};
    groups->filters = alloc_array(alloc, slot_count(groups) * words, sizeof(*groups->filters));
    groups->list = alloc_array(alloc, slot_count(groups), sizeof(*groups->list));
    groups->slots = alloc_array(alloc, slot_count(groups), sizeof(*groups->slots));
    if (groups->filters == NULL || groups->list == NULL || groups->slots == NULL) {
        groups_deinit(groups);
        return -ERR_NOMEM;
    }
    return 0;
}

void groups_deinit(struct groups *groups)
{
    if (groups->alloc != NULL) {
        alloc_release(groups->alloc, groups->filters);
        alloc_release(groups->alloc, groups->list);
        alloc_release(groups->alloc, groups->slots);
    }
    *groups = (struct groups){0};
}

static uint64_t *union_of(struct groups *groups, uint32_t at)
{
    return groups->filters + at * groups->words;
}

/* What merging two groups costs: bits that they get, each weighted by the filters that get it. */
static uint64_t merge_cost(const struct groups *groups, uint32_t a, uint32_t b)
{
    const struct group *list = groups->list;
    uint32_t both = bloom_union_count(list[a].filter, list[b].filter, groups->words);

    return (uint64_t)list[a].count * (both - groups->slots[a].set_bits) +
           (uint64_t)list[b].count * (both - groups->slots[b].set_bits);
}

static void offer_mate(struct groups *groups, uint32_t at, uint32_t mate, uint64_t cost)
{
    struct groups_slot *slot = &groups->slots[at];

    if (cost < slot->cost) {
        slot->cost = cost;
        slot->mate = mate;
    }
}

static void find_mate(struct groups *groups, uint32_t at)
{
    groups->slots[at].mate = at;
    groups->slots[at].cost = UINT64_MAX;
    for (uint32_t i = 0; i < groups->count; i++) {
        if (i != at) {
            offer_mate(groups, at, i, merge_cost(groups, at, i));
        }
    }
}

/* Finds the mate of a changed group, and offers this group to all others as their mate. Before the
 * call, no group has this group as its mate, unless the slot of that group is STALE. */
static void meet_others(struct groups *groups, uint32_t at)
{
    groups->slots[at].mate = at;
    groups->slots[at].cost = UINT64_MAX;
    for (uint32_t i = 0; i < groups->count; i++) {
        if (i != at) {
            uint64_t cost = merge_cost(groups, at, i);

            offer_mate(groups, at, i, cost);
            if (groups->slots[i].mate != STALE) {
                offer_mate(groups, i, at, cost);
            }
        }
    }
}

static void unite_groups(struct groups *groups, uint32_t a, uint32_t b)
{
    struct group *into = &groups->list[a];
    const struct group *from = &groups->list[b];

    bloom_union(union_of(groups, a), into->filter, from->filter, groups->words);
    for (uint32_t s = 0; s < groups->profile->section_count; s++) {
        struct group_range *range = &into->ranges[s];
        struct group_range other = from->ranges[s];

        range->least = other.least < range->least ? other.least : range->least;
        range->most = other.most > range->most ? other.most : range->most;
    }
    into->count += from->count;
    into->newest_ms = from->newest_ms > into->newest_ms ? from->newest_ms : into->newest_ms;
    groups->slots[a].set_bits = bloom_cardinality(into->filter, groups->words);
}

/* Moves a group to a free place. */
static void move_group(struct groups *groups, uint32_t from, uint32_t to)
{
    uint64_t *filter = union_of(groups, to);

    memcpy(filter, groups->list[from].filter, groups->words * sizeof(*filter));
    groups->list[to] = groups->list[from];
    groups->list[to].filter = filter;
    groups->slots[to] = groups->slots[from];
    for (uint32_t i = 0; i < groups->count; i++) {
        if (groups->slots[i].mate == from) {
            groups->slots[i].mate = to;
        }
    }
}

static uint32_t cheapest_group(const struct groups *groups)
{
    uint32_t best = 0;

    for (uint32_t i = 1; i < groups->count; i++) {
        if (groups->slots[i].cost < groups->slots[best].cost) {
            best = i;
        }
    }
    return best;
}

static void merge_cheapest(struct groups *groups)
{
    uint32_t a = cheapest_group(groups);
    uint32_t b = groups->slots[a].mate;

    for (uint32_t i = 0; i < groups->count; i++) {
        if (groups->slots[i].mate == a || groups->slots[i].mate == b) {
            groups->slots[i].mate = STALE;
        }
    }
    unite_groups(groups, a, b);
    groups->count--;
    if (b != groups->count) {
        move_group(groups, groups->count, b);
        a = a == groups->count ? b : a;
    }
    meet_others(groups, a);
    for (uint32_t i = 0; i < groups->count; i++) {
        if (groups->slots[i].mate == STALE) {
            find_mate(groups, i);
        }
    }
}

void groups_add(struct groups *groups, const uint64_t *filter, int64_t deposited_ms)
{
    uint32_t at = groups->count++;

    memcpy(union_of(groups, at), filter, groups->words * sizeof(*filter));
    groups->list[at] = groups_one(groups->profile, union_of(groups, at), deposited_ms);
    groups->slots[at].set_bits = bloom_cardinality(filter, groups->words);
    groups->came++;
    meet_others(groups, at);
    if (groups->count > groups->limit) {
        merge_cheapest(groups);
    }
}

bool groups_remove(struct groups *groups)
{
    groups->gone++;
    return groups->gone * 2 >= groups->came;
}

void groups_shift(struct groups *groups, int64_t from_ms, int64_t by_ms)
{
    for (uint32_t i = 0; i < groups->count; i++) {
        if (by_ms > 0 && groups->list[i].newest_ms >= from_ms) {
            groups->list[i].newest_ms += by_ms;
        }
    }
}

/* --- ranges ----------------------------------------------------------------------------------- */

void groups_ranges_of(const struct profile *profile, const uint64_t *filter,
                      struct group_range *out_ranges)
{
    for (uint32_t s = 0; s < profile->section_count; s++) {
        const struct profile_section *section = &profile->sections[s];
        uint16_t set =
            (uint16_t)bloom_union_count_range(filter, filter, section->first_bit, section->bits);

        out_ranges[s] = (struct group_range){set, set};
    }
}

bool groups_ranges_hold(const struct group_range *ranges, const struct group_range *numbers,
                        uint32_t count)
{
    for (uint32_t s = 0; s < count; s++) {
        if (numbers[s].least < ranges[s].least || numbers[s].most > ranges[s].most) {
            return false;
        }
    }
    return true;
}

struct group groups_one(const struct profile *profile, const uint64_t *filter, int64_t deposited_ms)
{
    struct group group = {.filter = filter, .count = 1, .newest_ms = deposited_ms};

    groups_ranges_of(profile, filter, group.ranges);
    return group;
}

bool groups_cover(const struct group *list, uint32_t count, const struct profile *profile,
                  const uint64_t *filter)
{
    struct group_range numbers[PROFILE_SECTIONS_MAX];
    size_t words = bloom_words(profile->bits);

    groups_ranges_of(profile, filter, numbers);
    for (uint32_t i = 0; i < count; i++) {
        if (groups_ranges_hold(list[i].ranges, numbers, profile->section_count) &&
            bloom_is_subset(filter, list[i].filter, words)) {
            return true;
        }
    }
    return false;
}
