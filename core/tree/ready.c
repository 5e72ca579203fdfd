/* SPDX-License-Identifier: Apache-2.0 */
/* ready: what a search computes of its query once: the positions of the set bits, and which words
 * of a filter each step reads (walk.h, walk_parts). */
#include <string.h>

#include "core/tree/walk.h"

size_t walk_planes(const struct walk *walk)
{
    return bits_planes(walk->probe->cardinality);
}

bool walk_can_bound(const struct walk *walk)
{
    const struct index_probe *probe = walk->probe;

    return probe->cardinality > 0 && walk_planes(walk) <= BITS_SPREAD_PLANES &&
           (probe->query->metric != INDEX_METRIC_PHI || phi_has_bound(&probe->phi));
}

/* Returns how many of the query's bits lie before a word. */
static size_t bits_before(const struct walk *walk, size_t word)
{
    size_t count = 0;

    while (count < walk->position_count && walk->positions[count] < word * 64) {
        count++;
    }
    return count;
}

/* Notes which words each step prefetches: those that the next step reads besides its own. */
static void note_next(struct walk_parts *parts, size_t first, size_t end)
{
    struct bits_step whole = {.first = first, .end = end};
    const struct bits_step *next = &whole;

    for (size_t s = WALK_STEPS; s-- > 0;) {
        struct bits_step *step = &parts->steps[s];
        bool reads = step->end > step->first;

        step->rest = s;
        step->next_first = reads && !parts->reads_end ? step->end : next->first;
        step->next_end = reads && parts->reads_end ? step->first : next->end;
        if (reads) {
            next = step;
        }
    }
}

/*
 * Divides the words of the query among the steps. `at` is the number of the first bit of the main
 * section, which has `set` bits of the query.
 */
static void divide_words(struct walk *walk, size_t at, size_t set)
{
    struct walk_parts *parts = &walk->parts;
    size_t count = walk->position_count;
    size_t first = walk->positions[0] / 64u;
    size_t end = walk->positions[count - 1] / 64u + 1;
    size_t small_first = at == 0 && set < count ? walk->positions[set] / 64u : end;
    size_t small_end = at > 0 && at + set == count ? walk->positions[at - 1] / 64u + 1 : first;

    memset(parts->steps, 0, sizeof(parts->steps));
    parts->split = 0;
    parts->small = 0;
    parts->reads_end = at == 0;
    if (at == 0) { /* the other sections are behind the main one, if there are any */
        size_t middle = first + (small_first - first) / 2;

        parts->steps[WALK_SMALL].first = small_first;
        parts->steps[WALK_SMALL].end = end;
        parts->steps[WALK_MOST].first = middle;
        parts->steps[WALK_MOST].end = middle > first && middle < small_first ? end : middle;
        parts->split = (uint32_t)bits_before(walk, middle);
        parts->small = (uint8_t)bits_before(walk, small_first);
    } else if (at + set == count) {
        size_t middle = end - (end - small_end) / 2;

        parts->steps[WALK_SMALL].first = first;
        parts->steps[WALK_SMALL].end = small_end;
        parts->steps[WALK_MOST].first = first;
        parts->steps[WALK_MOST].end = middle < end && middle > small_end ? middle : first;
        size_t split = bits_before(walk, middle);
        parts->split = (uint32_t)(split > at ? split - at : 0);
        parts->small = (uint8_t)(count - bits_before(walk, small_end));
    }
    parts->sifts = parts->steps[WALK_SMALL].end > parts->steps[WALK_SMALL].first;
    note_next(parts, first, end);
}

/* Chooses the main section, and divides the words. The query has 1 to 255 bits. */
static void make_parts(struct walk *walk)
{
    const struct phi_query *phi = &walk->probe->phi;
    bool by_phi = walk->probe->query->metric == INDEX_METRIC_PHI;
    size_t at = 0;
    size_t main_at = 0;

    walk->parts.main = 0;
    for (uint32_t s = 0; by_phi && s < phi->count; s++) {
        if (phi->sections[s].set > phi->sections[walk->parts.main].set) {
            walk->parts.main = s;
            main_at = at;
        }
        at += phi->sections[s].set;
    }
    divide_words(walk, main_at,
                 by_phi ? phi->sections[walk->parts.main].set : walk->position_count);
}

void walk_make_ready(struct walk *walk)
{
    const struct index_probe *probe = walk->probe;

    if (!walk->ready) {
        walk->position_count =
            walk->tree->kernels->positions(probe->filter, walk->tree->words, walk->positions);
        if (probe->contains != NULL) {
            walk->wanted_count =
                walk->tree->kernels->positions(probe->contains, walk->tree->words, walk->wanted);
        }
        if (walk_can_bound(walk)) {
            make_parts(walk);
        }
        walk->ready = true;
    }
}
