/* SPDX-License-Identifier: Apache-2.0 */
/*
 * standing_arrange: groups made anew, a slice at a time. Parts are placed as they come, among what
 * is there then; later each is looked at again, a few times. And how alike the parts of a group
 * should be is learnt from messages: where contexts are strangers, wide groups rule nearly all
 * messages out, and few lanes are counted; where they are alike, wide groups are opened for most
 * messages, and it is cheaper to count more lanes.
 */
#include "core/standing/inner.h"

enum {
    WINDOW = 4096,       /* messages that one judgement is made from */
    OPENING_LANES = 150, /* counting so many lanes takes as long as opening a group in vain */
    CALM = 64,           /* windows before groups become wider: that may turn out to be wrong */
    FEW = 16,          /* openings that are so many times cheaper than lanes: groups may be wider */
    LIKENESS_MIN = 30, /* percent; below, nothing is asked for */
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

    /* Groups are not yet what they will be. What came since does not count: it may never end. */
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

/* The group at the cursor, or the next one behind; the last is followed by the first. There is one.
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

/* A part that leaves is replaced by the last one, and one that stays becomes the last: from the
 * last to the first, each is looked at once. How many. */
static size_t look_at(struct standing *standing, struct standing_group *group)
{
    size_t count = group->count;

    for (uint32_t slot = group->count; slot-- > 0;) {
        if (standing_move_part(standing, group, slot)) {
            return count; /* its lane may have another group now, which is next */
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
