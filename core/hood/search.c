/* SPDX-License-Identifier: Apache-2.0 */
#include "core/hood/search.h"

#include <string.h>

#include "core/base/err.h"
#include "core/filter/bloom.h"
#include "core/hood/inner.h"
#include "core/index/engine.h"
#include "core/summary/bound.h"

/* What a search makes of a peer when it begins. */
struct target {
    uint32_t peer;
    uint32_t revision;
    bool must_ask; /* whatever the bound */
    bool is_last;
    bool is_asked;
    bool awaits;            /* the answer is still to come */
    bool can_hold;          /* else the peer has no message within the query's conditions */
    struct similarity rank; /* no message is nearer, if can_hold */
    int64_t newest_ms;      /* no message that is as near as `rank` is newer */
    int64_t as_of_ms;
    uint64_t seq;
    uint8_t store_id[HOOD_STORE_ID_BYTES];
};

struct hood_search {
    struct hood *hood;
    struct hood_query query;
    struct nearest nearest;
    struct index_probe *probes; /* owned: one for each part */
    uint64_t *asked;            /* owned: the filters of the parts, by section: see asked_filter */
    struct target *targets;     /* owned; best first */
    uint32_t *wave;             /* owned: the numbers of the peers to ask */
    uint32_t target_count;
    uint32_t wave_size;
    uint32_t awaited; /* answers */
    struct hood_outcome outcome;
};

/* --- bounds ----------------------------------------------------------------------------------- */

static void raise_bound(struct target *target, struct similarity rank, int64_t newest_ms)
{
    int order = target->can_hold ? similarity_compare(rank, target->rank) : 1;

    if (order > 0 || (order == 0 && newest_ms > target->newest_ms)) {
        target->rank = rank;
        target->newest_ms = newest_ms;
        target->can_hold = true;
    }
}

/* The bits of a part's filter in one section of the profile, as a filter of all sections. */
static uint64_t *asked_filter(const struct hood_search *search, uint32_t part, uint32_t section)
{
    size_t at = (size_t)part * search->hood->options.profile->section_count + section;

    return search->asked + at * search->hood->words;
}

/* Counts the bits that the query shares with each union of a block, section by section. */
static void share_block(const struct hood_search *search, const struct index_probe *probe,
                        const uint64_t *filters, uint32_t (*out_shared)[BITS_BLOCK])
{
    const struct bits_kernels *kernels = search->hood->options.kernels;

    for (uint32_t a = 0; a < probe->phi.count; a++) {
        const struct phi_section *section = &probe->phi.sections[a];
        size_t first = section->first_bit / 64;
        size_t end = (section->first_bit + section->bits + 63) / 64;

        kernels->overlaps(asked_filter(search, probe->part, section->number) + first,
                          filters + first * BITS_BLOCK, end - first, out_shared[section->number]);
    }
}

/* Raises the bound of the target to that of one group. `newest_ms` is that of its messages. */
static void bound_group(const struct hood_search *search, const struct index_probe *probe,
                        const struct group_range *group, uint32_t (*shared)[BITS_BLOCK],
                        uint32_t lane, int64_t newest_ms, struct target *target)
{
    struct phi_range ranges[PROFILE_SECTIONS_MAX];
    bool is_phi = probe->query->metric == INDEX_METRIC_PHI;
    bool by_rank = probe->query->order == INDEX_ORDER_SIMILARITY;
    struct bound_query query = {
        .phi = is_phi ? &probe->phi : NULL,
        .set_bits = probe->cardinality,
        .section_count = search->hood->options.profile->section_count,
        .max_distance_ppm = probe->query->max_distance_ppm,
        .phi_least = is_phi && by_rank && target->can_hold ? target->rank.shared : 0,
    };
    struct similarity rank;

    for (uint32_t s = 0; s < query.section_count; s++) {
        ranges[s] = (struct phi_range){group[s].least, group[s].most, shared[s][lane]};
    }
    if (bound_rank(&query, ranges, &rank)) {
        raise_bound(target, index_rank(probe->query->order, rank), newest_ms);
    }
}

static void bound_block(const struct hood_search *search, const struct index_probe *probe,
                        const struct hood_peer *peer, uint32_t block, struct target *target)
{
    const struct hood *hood = search->hood;
    const uint64_t *filters = hood_block(hood, peer, block);
    uint32_t first = block * BITS_BLOCK;
    uint32_t holding = UINT32_MAX;
    uint32_t shared[PROFILE_SECTIONS_MAX][BITS_BLOCK] = {{0}};

    if (probe->contains != NULL) {
        holding = hood->options.kernels->supersets(probe->contains, filters, hood->words);
    }
    share_block(search, probe, filters, shared);
    for (uint32_t i = 0; i < BITS_BLOCK && first + i < peer->group_count; i++) {
        int64_t newest_ms = peer->newest[first + i];

        newest_ms = newest_ms > peer->newest_ms ? newest_ms : peer->newest_ms;
        if ((holding >> i & 1) != 0 && newest_ms >= probe->query->since_ms) {
            bound_group(search, probe, hood_ranges(hood, peer, first + i), shared, i, newest_ms,
                        target);
        }
    }
}

static bool is_stale(const struct hood_query *query, int64_t as_of_ms)
{
    return as_of_ms < query->now_ms &&
           (uint64_t)query->now_ms - (uint64_t)as_of_ms > query->max_staleness_ms;
}

static void aim_at(const struct hood_search *search, uint32_t number, struct target *target)
{
    const struct hood_peer *peer = &search->hood->peers[number];

    *target = (struct target){
        .peer = number,
        .revision = peer->revision,
        .must_ask = !peer->is_known || is_stale(&search->query, peer->as_of_ms),
        .is_last = !peer->is_known || peer->is_faulty || peer->vain >= HOOD_VAIN,
        .as_of_ms = peer->as_of_ms,
        .seq = peer->seq,
    };
    memcpy(target->store_id, peer->store_id, sizeof(target->store_id));
    for (uint32_t p = 0; p < search->query.query->part_count; p++) {
        for (uint32_t block = 0; block * BITS_BLOCK < peer->group_count; block++) {
            bound_block(search, &search->probes[p], peer, block, target);
        }
    }
}

/* The order in which peers are asked. */
static int compare_targets(const struct target *a, const struct target *b)
{
    if (a->is_last != b->is_last) {
        return a->is_last ? 1 : -1;
    }
    if (a->can_hold != b->can_hold) {
        return a->can_hold ? -1 : 1;
    }
    int order = a->can_hold ? similarity_compare(b->rank, a->rank) : 0;
    if (order == 0 && a->newest_ms != b->newest_ms) {
        order = a->newest_ms > b->newest_ms ? -1 : 1;
    }
    return order != 0 ? order : (a->peer > b->peer) - (a->peer < b->peer);
}

/* Moves target `i` down, until no target below it in the heap of `count` targets comes later. */
static void sift_down(struct target *targets, uint32_t i, uint32_t count)
{
    for (uint32_t child = 2 * i + 1; child < count; i = child, child = 2 * i + 1) {
        if (child + 1 < count && compare_targets(&targets[child], &targets[child + 1]) < 0) {
            child++;
        }
        if (compare_targets(&targets[i], &targets[child]) >= 0) {
            return;
        }
        struct target later = targets[child];
        targets[child] = targets[i];
        targets[i] = later;
    }
}

/* A heapsort: qsort of the C library may allocate. O(count * log count) */
static void sort_targets(struct target *targets, uint32_t count)
{
    for (uint32_t i = count / 2; i-- > 0;) {
        sift_down(targets, i, count);
    }
    for (uint32_t last = count; last-- > 1;) {
        struct target latest = targets[0];
        targets[0] = targets[last];
        targets[last] = latest;
        sift_down(targets, 0, last);
    }
}

/* Whether the peer can hold an answer, with what was found so far. */
static bool may_hold(const struct hood_search *search, const struct target *target)
{
    const struct nearest_candidate *worst = nearest_worst(&search->nearest);

    if (target->must_ask) {
        return true;
    }
    if (!target->can_hold || similarity_compare(target->rank, search->query.floor) < 0) {
        return false;
    }
    int order = worst != NULL ? similarity_compare(target->rank, worst->rank) : 1;
    return order > 0 || (order == 0 && target->newest_ms >= worst->item.deposited_ms);
}

/* --- beginning -------------------------------------------------------------------------------- */

/* Fills the asked filters of a part. */
static void cut_filter(struct hood_search *search, const struct index_probe *probe)
{
    for (uint32_t a = 0; a < probe->phi.count; a++) {
        const struct phi_section *section = &probe->phi.sections[a];
        uint64_t *out = asked_filter(search, probe->part, section->number);

        for (uint32_t bit = section->first_bit; bit < section->first_bit + section->bits; bit++) {
            out[bit / 64] |= probe->filter[bit / 64] & UINT64_C(1) << bit % 64;
        }
    }
}

static void begin_probes(struct hood_search *search)
{
    const struct hood_options *options = &search->hood->options;
    const struct index_query *query = search->query.query;

    for (uint32_t p = 0; p < query->part_count; p++) {
        const struct index_part *part = &query->parts[p];

        search->probes[p] = (struct index_probe){
            .query = query,
            .filter = part->filter,
            .contains = part->contains,
            .cardinality = bloom_cardinality(part->filter, search->hood->words),
            .part = p,
            .part_bits = options->profile->bits,
            .profile = options->profile,
            .nearest = &search->nearest,
            .check_repeats = true,
            .now_ms = INT64_MIN, /* each peer leaves out itself what has expired there */
        };
        phi_ask(&search->probes[p].phi, options->profile, part->filter);
        cut_filter(search, &search->probes[p]);
        if (part->contains != NULL) {
            search->probes[p].contains_cardinality =
                bloom_cardinality(part->contains, search->hood->words);
        }
    }
}

static void begin_targets(struct hood_search *search)
{
    for (uint32_t i = 0; i < search->hood->peers_max; i++) {
        if (search->hood->peers[i].is_here) {
            aim_at(search, i, &search->targets[search->target_count++]);
        }
    }
    sort_targets(search->targets, search->target_count);
    search->outcome = (struct hood_outcome){
        .is_complete = true, .peers = search->target_count, .as_of_ms = search->query.now_ms};
}

int hood_search_new(struct hood *hood, const struct hood_query *query,
                    struct hood_search **out_search)
{
    const struct alloc *alloc = hood->options.alloc;
    size_t count = hood->count > 0 ? hood->count : 1;
    size_t section_words = hood->options.profile->section_count * hood->words;

    struct hood_search *search = alloc_zeroed(alloc, 1, sizeof(*search));
    if (search == NULL) {
        return -ERR_NOMEM;
    }
    search->hood = hood;
    search->query = *query;
    search->wave_size = HOOD_WAVE_FIRST;
    search->probes = alloc_array(alloc, query->query->part_count, sizeof(*search->probes));
    search->asked = alloc_zeroed(alloc, query->query->part_count * section_words, sizeof(uint64_t));
    search->targets = alloc_array(alloc, count, sizeof(*search->targets));
    search->wave = alloc_array(alloc, count, sizeof(*search->wave));
    if (search->probes == NULL || search->asked == NULL || search->targets == NULL ||
        search->wave == NULL || nearest_init(&search->nearest, alloc, query->query->k, 0) != 0) {
        hood_search_free(search);
        return -ERR_NOMEM;
    }
    begin_probes(search);
    begin_targets(search);
    *out_search = search;
    return 0;
}

void hood_search_free(struct hood_search *search)
{
    if (search == NULL) {
        return;
    }
    const struct alloc *alloc = search->hood->options.alloc;
    nearest_deinit(&search->nearest);
    alloc_release(alloc, search->probes);
    alloc_release(alloc, search->asked);
    alloc_release(alloc, search->targets);
    alloc_release(alloc, search->wave);
    alloc_release(alloc, search);
}

/* --- waves ------------------------------------------------------------------------------------ */

/* Counts how often the bound of a peer calls for asking it, and asking it gives nothing. */
static void count_vain(struct hood *hood, const struct target *target, bool is_useful)
{
    struct hood_peer *peer = &hood->peers[target->peer];

    if (is_useful) {
        peer->vain = 0;
    } else if (!target->must_ask && peer->is_here && peer->vain < HOOD_VAIN) {
        peer->vain++;
    }
}

/* Peers of the wave before that have not answered are silent. */
static void end_wave(struct hood_search *search)
{
    for (uint32_t i = 0; i < search->target_count; i++) {
        if (search->targets[i].awaits) {
            search->targets[i].awaits = false;
            count_vain(search->hood, &search->targets[i], false);
            search->outcome.peers_silent++;
            search->outcome.is_complete = false;
        }
    }
    search->awaited = 0;
}

uint32_t hood_search_next(struct hood_search *search, const uint32_t **out_peers)
{
    end_wave(search);
    for (uint32_t i = 0; i < search->target_count && search->awaited < search->wave_size; i++) {
        struct target *target = &search->targets[i];

        if (target->is_asked || !may_hold(search, target)) {
            continue;
        }
        if (search->outcome.peers_asked == search->query.peers_max) {
            search->outcome.is_complete = false;
            break;
        }
        target->is_asked = true;
        target->awaits = true;
        search->outcome.peers_asked++;
        search->wave[search->awaited++] = target->peer;
    }
    search->wave_size *= 2;
    *out_peers = search->wave;
    return search->awaited;
}

struct similarity hood_search_floor(const struct hood_search *search)
{
    const struct nearest_candidate *worst = nearest_worst(&search->nearest);
    struct similarity floor = search->query.floor;

    if (search->query.query->order == INDEX_ORDER_NEWEST) {
        return floor; /* a message of any similarity may be newer */
    }
    return worst != NULL && similarity_compare(worst->rank, floor) > 0 ? worst->rank : floor;
}

/* --- answers ---------------------------------------------------------------------------------- */

static void offer_one(struct hood_search *search, uint32_t source, const struct hood_found *found,
                      uint32_t place)
{
    size_t words = search->hood->words;
    uint32_t set_bits = bloom_cardinality(found->filter, words);
    struct index_item item = {
        .deposited_ms = found->deposited_ms,
        .expires_ms = INT64_MAX,
        .reach_ppm = DISTANCE_ONE_PPM, /* each peer sees to the reach itself */
        .bytes = place,
    };

    memcpy(item.id, found->id, sizeof(item.id));
    for (uint32_t p = 0; p < search->query.query->part_count; p++) {
        struct index_probe *probe = &search->probes[p];
        uint32_t contained = 0;

        if (probe->contains != NULL) {
            contained = bloom_intersection_count(probe->contains, found->filter, words);
        }
        probe->source = source;
        index_probe_offer(probe, &item, INDEX_NO_PLACE, found->filter, 1, set_bits,
                          bloom_intersection_count(probe->filter, found->filter, words), contained);
    }
}

static void offer_all(struct hood_search *search, uint32_t source, const struct hood_found *found,
                      uint32_t count)
{
    for (uint32_t i = 0; i < count && i < search->query.query->k; i++) {
        offer_one(search, source, &found[i], i);
    }
}

void hood_search_offer_home(struct hood_search *search, const struct hood_found *found,
                            uint32_t count)
{
    offer_all(search, HOOD_HOME, found, count);
}

static bool is_covered(const struct hood *hood, const struct hood_peer *peer,
                       const uint64_t *filter)
{
    const struct bits_kernels *kernels = hood->options.kernels;
    const struct profile *profile = hood->options.profile;
    struct group_range numbers[PROFILE_SECTIONS_MAX];

    groups_ranges_of(profile, filter, numbers);
    for (uint32_t at = 0; at < peer->group_count; at++) {
        if (groups_ranges_hold(hood_ranges(hood, peer, at), numbers, profile->section_count) &&
            (kernels->supersets(filter, hood_block(hood, peer, at / BITS_BLOCK), hood->words) >>
                 at % BITS_BLOCK &
             1) != 0) {
            return true;
        }
    }
    return false;
}

/*
 * Holds an answer against the summary with which the search began, if the peer has not said
 * anything since. Another store, or one that has gone back, makes the summary void. A message that
 * the summary does not cover, though the answer is not newer than the summary, is a fault.
 */
static void judge_answer(struct hood *hood, const struct target *target,
                         const struct hood_answer *answer)
{
    struct hood_peer *peer = &hood->peers[target->peer];

    if (!peer->is_known || peer->revision != target->revision) {
        return;
    }
    if (memcmp(answer->store_id, target->store_id, HOOD_STORE_ID_BYTES) != 0 ||
        answer->seq < target->seq) {
        peer->revision++;
        hood_void(peer);
        return;
    }
    for (uint32_t i = 0; answer->seq == target->seq && i < answer->found_count; i++) {
        if (!is_covered(hood, peer, answer->found[i].filter)) {
            peer->is_faulty = true;
        }
    }
}

/* Whether a message of the answer is among the k best so far. */
static bool has_result_of(const struct hood_search *search, uint32_t peer,
                          const struct hood_answer *answer)
{
    for (uint32_t i = 0; i < answer->found_count && i < search->query.query->k; i++) {
        if (nearest_holds(&search->nearest, answer->found[i].id, peer)) {
            return true;
        }
    }
    return false;
}

static struct target *find_awaited(struct hood_search *search, uint32_t peer)
{
    for (uint32_t i = 0; i < search->target_count; i++) {
        if (search->targets[i].peer == peer && search->targets[i].awaits) {
            return &search->targets[i];
        }
    }
    return NULL;
}

uint32_t hood_search_answer(struct hood_search *search, uint32_t peer,
                            const struct hood_answer *answer)
{
    struct target *target = find_awaited(search, peer);

    if (target == NULL) {
        return search->awaited;
    }
    target->awaits = false;
    search->awaited--;
    judge_answer(search->hood, target, answer);
    offer_all(search, peer, answer->found, answer->found_count);
    count_vain(search->hood, target, has_result_of(search, peer, answer));
    if (!answer->is_complete) {
        search->outcome.is_complete = false;
    }
    return search->awaited;
}

const struct nearest_candidate *hood_search_results(struct hood_search *search, uint32_t *out_count,
                                                    struct hood_outcome *out_outcome)
{
    end_wave(search);
    for (uint32_t i = 0; i < search->target_count; i++) {
        const struct target *target = &search->targets[i];

        if (!target->is_asked && !may_hold(search, target) &&
            target->as_of_ms < search->outcome.as_of_ms) {
            search->outcome.as_of_ms = target->as_of_ms;
        }
    }
    *out_count = search->nearest.count;
    *out_outcome = search->outcome;
    return nearest_sort(&search->nearest);
}
