/* SPDX-License-Identifier: Apache-2.0 */
/* ready: what a search computes of its query once: the positions of the set bits, and which words
 * of a filter it reads first (walk.h, walk_parts). */
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

/* Divides the words of the query. `at` is the number of the first bit of the main section, which
 * has `set` bits of the query. */
static void divide_words(struct walk *walk, size_t at, size_t set)
{
    struct walk_parts *parts = &walk->parts;
    size_t count = walk->position_count;

    parts->small = (struct bits_part){0, 0};
    parts->rest = 0;
    if (at == 0 && set < count) { /* the other sections are behind the main one */
        parts->small.first = walk->positions[set] / 64u;
        parts->small.end = walk->positions[count - 1] / 64u + 1;
        parts->rest = (uint8_t)bits_before(walk, parts->small.first);
    } else if (at > 0 && at + set == count) {
        parts->small.first = walk->positions[0] / 64u;
        parts->small.end = walk->positions[at - 1] / 64u + 1;
        parts->rest = (uint8_t)(count - bits_before(walk, parts->small.end));
    }
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
