/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrange: moves parts of queries to better groups, some parts in each call. A new part is placed
 * among the groups of that moment; for each new part, standing_arrange later looks at up to
 * STANDING_LOOKS parts.
 *
 * standing_learn sets how similar the parts of a group must be. If messages and queries have little
 * in common, groups of less similar parts still rule out nearly all messages, and there are few
 * groups to count. If messages and queries are similar, such groups are opened for most messages
 * without a hit; then more groups with more similar parts cost less.
 */
#include "core/standing/inner.h"

enum {
    WINDOW = 4096,       /* messages between two changes of likeness_percent, at least */
    OPENING_LANES = 150, /* counting this many lanes takes about as long as opening one group */
    CALM = 64, /* groups are made wider only after opening groups has cost little CPU time in this
                * many windows of WINDOW messages */
    FEW = 16,  /* groups may become wider only if opening groups takes less than 1/FEW of the time
                * of counting lanes */
    LIKENESS_MIN = 30, /* percent, the lowest value but 0: with 0 no similarity is asked for */
    LIKENESS_MAX = 80,
    LIKENESS_STEP = 10
};

static void begin_window(struct standing *standing)
{
    standing->learnt_from = 0;
    standing->in_vain = 0;
}

static uint32_t more_alike(uint32_t percent)
{
    return percent < LIKENESS_MIN   ? LIKENESS_MIN
           : percent < LIKENESS_MAX ? percent + LIKENESS_STEP
                                    : percent;
}

static uint32_t less_alike(uint32_t percent)
{
    return percent > LIKENESS_MIN ? percent - LIKENESS_STEP : 0;
}

void standing_learn(struct standing *standing, uint32_t count)
{
    uint32_t before = standing->likeness_percent;

    /*
     * Parts are still being moved because of the last change of likeness_percent. Groups that are
     * opened before these moves end say nothing about this change. Parts of newer queries do not
     * count for relearning, because new queries may never stop coming.
     */
    if (standing->relearning > 0) {
        begin_window(standing);
        return;
    }
    standing->learnt_from += count;
    if (standing->learnt_from < WINDOW) {
        return;
    }
    uint64_t opening = standing->in_vain * OPENING_LANES;
    uint64_t counting = standing->learnt_from * standing->node_count * BITS_LANES;
    if (opening > counting) {
        standing->likeness_percent = more_alike(before);
    } else if (opening < counting / FEW && ++standing->calm >= CALM) {
        standing->likeness_percent = less_alike(before);
    }
    if (standing->likeness_percent != before) {
        standing->relearning = standing->part_count;
        standing->unsettled =
            standing->part_count > standing->unsettled ? standing->part_count : standing->unsettled;
        standing->calm = 0;
    }
    begin_window(standing);
}

/*
 * Returns the group at the cursor (next_node, next_lane), or the next group behind the cursor; the
 * first node follows the last one. There must be a group.
 */
static struct standing_group *next_group(struct standing *standing)
{
    for (;;) {
        if (standing->next_lane == BITS_LANES) {
            standing->next_lane = 0;
            standing->next_node++;
        }
        if (standing->next_node >= standing->node_count) {
            standing->next_node = 0;
        }
        struct standing_group *group =
            standing->nodes[standing->next_node]->groups[standing->next_lane];
        if (group != NULL) {
            return group;
        }
        standing->next_lane++;
    }
}

/*
 * Looks at each part of a group once and moves the part to a better group if there is one. Starts
 * with the last part: when a part leaves the group, the last part, which has been looked at, takes
 * its slot. Returns the number of parts that the group had at the beginning.
 */
static size_t look_at(struct standing *standing, struct standing_group *group)
{
    size_t count = group->count;

    for (uint32_t slot = group->count; slot-- > 0;) {
        if (standing_move_part(standing, group, slot)) {
            return count; /* the group may have been freed, and another group may have its lane: the
                           * next call looks at that group */
        }
    }
    standing->next_lane++;
    return count;
}

bool standing_arrange(struct standing *standing, size_t budget)
{
    size_t looked = 0;

    while (looked < budget && looked < standing->unsettled && standing->part_count > 0) {
        looked += look_at(standing, next_group(standing));
    }
    standing->unsettled -= looked < standing->unsettled ? looked : standing->unsettled;
    standing->relearning -= looked < standing->relearning ? looked : standing->relearning;
    if (standing->part_count == 0) {
        standing->unsettled = 0;
    }
    if (standing->relearning > standing->unsettled) { /* parts have gone meanwhile */
        standing->relearning = standing->unsettled;
    }
    return standing->unsettled > 0;
}
