/* SPDX-License-Identifier: Apache-2.0 */

#include <assert.h>
#include <string.h>

#include "core/base/err.h"
#include "core/filter/bloom.h"
#include "core/standing/inner.h"

/* --- the index -------------------------------------------------------------------------------- */

static int reserve_hits(struct standing *standing, size_t room)
{
    const struct alloc *alloc = standing->options.alloc;

    if (room <= standing->hit_room) {
        return 0;
    }
    room = room > 2 * standing->hit_room ? room : 2 * standing->hit_room;
    struct standing_hit *found = alloc_array(alloc, room, sizeof(*found));
    struct standing_hit *hits = alloc_array(alloc, room, sizeof(*hits));
    if (found == NULL || hits == NULL) {
        alloc_release(alloc, found);
        alloc_release(alloc, hits);
        return -ERR_NOMEM;
    }
    alloc_release(alloc, standing->found);
    alloc_release(alloc, standing->hits);
    standing->found = found;
    standing->hits = hits;
    standing->bytes += (room - standing->hit_room) * 2 * sizeof(*hits);
    standing->hit_room = room;
    return 0;
}

static size_t positions_room(const struct standing *standing)
{
    return (size_t)STANDING_BATCH * (standing->profile.bits + STANDING_TURN);
}

int standing_new(const struct standing_options *options, struct standing **out_standing)
{
    struct standing *standing = alloc_zeroed(options->alloc, 1, sizeof(*standing));

    if (standing == NULL) {
        return -ERR_NOMEM;
    }
    standing->options = *options;
    standing->profile = *options->profile;
    standing->options.profile = &standing->profile;
    standing->words = bloom_words(standing->profile.bits);
    standing->batch = STANDING_BATCH;
    standing->serial = 1; /* no query has been found for it yet */
    standing->positions =
        alloc_array(options->alloc, positions_room(standing), sizeof(*standing->positions));
    standing->bytes = sizeof(*standing) + positions_room(standing) * sizeof(*standing->positions);
    if (standing->positions == NULL || reserve_hits(standing, STANDING_HITS_MIN) != 0) {
        standing_free(standing);
        return -ERR_NOMEM;
    }
    *out_standing = standing;
    return 0;
}

void standing_free(struct standing *standing)
{
    if (standing == NULL) {
        return;
    }
    const struct alloc *alloc = standing->options.alloc;

    assert(standing->part_count == 0 && standing->node_count == 0);
    alloc_release(alloc, standing->nodes);
    alloc_release(alloc, standing->found);
    alloc_release(alloc, standing->hits);
    standing_free_hints(standing);
    alloc_release(alloc, standing->positions);
    alloc_release(alloc, standing);
}

size_t standing_count(const struct standing *standing)
{
    return standing->part_count;
}

size_t standing_bytes(const struct standing *standing)
{
    return standing->bytes;
}

/* --- queries ---------------------------------------------------------------------------------- */

static void release_query(const struct alloc *alloc, struct standing_query *query)
{
    alloc_release(alloc, query->slots);
    alloc_release(alloc, query->places);
    alloc_release(alloc, query->filters);
    alloc_release(alloc, query->needs);
    alloc_release(alloc, query->sizes);
    alloc_release(alloc, query);
}

/* Makes what a query by phi has besides. The filters are in their places. False without memory.
 * Spreads and set bits of a part are side by side, because a match reads both. */
static bool add_needs(const struct standing *standing, struct standing_query *query)
{
    const struct alloc *alloc = standing->options.alloc;
    size_t sections = standing->profile.section_count;
    size_t part_words = sections + (sections + 1) / 2;
    uint32_t least = phi_least(query->max_distance_ppm);

    query->needs = alloc_zeroed(alloc, query->part_count, sizeof(*query->needs));
    query->sizes = alloc_zeroed(alloc, query->part_count * part_words, sizeof(*query->sizes));
    if (query->needs == NULL || query->sizes == NULL) {
        return false;
    }
    for (uint32_t p = 0; p < query->part_count; p++) {
        uint32_t *spreads = query->sizes + p * part_words;
        uint16_t *counts = (uint16_t *)(void *)(spreads + sections);

        phi_count(&standing->profile, standing_part_filter(query, p), counts);
        phi_size(&standing->profile, counts, spreads);
        standing_need_of(standing, counts, least, &query->needs[p]);
        query->slots[p].least = least;
        query->slots[p].sized = (struct phi_sized){counts, spreads};
    }
    return true;
}

static void copy_part(struct standing_query *query, uint32_t part,
                      const struct standing_part *given)
{
    size_t bytes = query->words * sizeof(*query->filters);
    uint64_t *filter = query->filters + 2 * (size_t)part * query->words;
    uint64_t *contains = filter + query->words;

    memcpy(filter, given->filter, bytes);
    if (given->contains != NULL) {
        memcpy(contains, given->contains, bytes);
    }
    query->slots[part] = (struct standing_slot){
        .query = query,
        .contains = given->contains != NULL ? contains : NULL,
        .scope = given->scope,
        .max_distance_ppm = query->max_distance_ppm,
        .part = part,
    };
}

int standing_query_new(const struct standing *standing, const struct standing_terms *terms,
                       struct standing_query **out_query)
{
    const struct alloc *alloc = standing->options.alloc;
    struct standing_query *query = alloc_zeroed(alloc, 1, sizeof(*query));
    size_t count = terms->part_count;

    if (query == NULL) {
        return -ERR_NOMEM;
    }
    query->owner = terms->owner;
    query->part_count = terms->part_count;
    query->max_distance_ppm = terms->max_distance_ppm;
    query->metric = terms->metric;
    query->words = standing->words;
    query->slots = alloc_zeroed(alloc, count, sizeof(*query->slots));
    query->places = alloc_zeroed(alloc, count, sizeof(*query->places));
    query->filters = alloc_zeroed(alloc, 2 * count * query->words, sizeof(*query->filters));
    if (query->slots == NULL || query->places == NULL || query->filters == NULL) {
        release_query(alloc, query);
        return -ERR_NOMEM;
    }
    for (uint32_t p = 0; p < terms->part_count; p++) {
        copy_part(query, p, &terms->parts[p]);
    }
    if (query->metric == INDEX_METRIC_PHI && !add_needs(standing, query)) {
        release_query(alloc, query);
        return -ERR_NOMEM;
    }
    *out_query = query;
    return 0;
}

static void query_take_out(struct standing *standing, struct standing_query *query)
{
    if (query->is_in) {
        standing_displace_query(standing, query);
        query->is_in = false;
    }
}

void standing_query_free(struct standing *standing, struct standing_query *query)
{
    if (query != NULL) {
        query_take_out(standing, query);
        release_query(standing->options.alloc, query);
    }
}

void *standing_owner(const struct standing_query *query)
{
    return query->owner;
}

int standing_insert(struct standing *standing, struct standing_query *query)
{
    assert(!query->is_in);
    int rc = reserve_hits(standing, standing->part_count + query->part_count);
    if (rc == 0) {
        rc = standing_place_query(standing, query);
    }
    query->is_in = rc == 0;
    if (query->is_in) {
        size_t most = STANDING_LOOKS * standing->part_count;

        standing->unsettled += (size_t)STANDING_LOOKS * query->part_count;
        standing->unsettled = standing->unsettled < most ? standing->unsettled : most;
    }
    return rc;
}
