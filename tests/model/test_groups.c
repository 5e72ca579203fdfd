/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups of filters against plain lists of what is in them. The rules: after any comings and
 * goings every message is covered, by its bits, its number of set bits in each section and its
 * time; the two groups that merge are those whose merging costs least; and no message is nearer to
 * a query than the bound of a group that covers it, by either metric.
 */
#include "core/base/err.h"
#include "core/filter/bloom.h"
#include "core/summary/bound.h"
#include "core/summary/groups.h"
#include "tests/lib/fail_alloc.h"
#include "tests/lib/profile_of.h"
#include "tests/lib/rng.h"

enum { ROUNDS = 40, STEPS = 400, HELD_MAX = 120, PLACES = 9, WORDS_MAX = 64, QUERIES = 40 };

struct message {
    uint64_t filter[WORDS_MAX];
    int64_t deposited_ms;
};

struct model {
    struct rng rng;
    struct profile profile;
    uint32_t m;
    size_t words;
    uint64_t places[PLACES][WORDS_MAX];
    struct message messages[HELD_MAX];
    uint32_t count;
    uint64_t came; /* since the groups were made anew */
};

/* Half the bits of a place and a few others; at times nothing, everything, or the same again. */
static void make_filter(struct model *model, uint64_t *out)
{
    uint64_t noise[WORDS_MAX] = {0};
    uint32_t dice = rng_below(&model->rng, 100);

    if (dice < 4) {
        rng_filter(&model->rng, model->m, dice < 2 ? 0 : 100, out);
        return;
    }
    if (dice < 10 && model->count > 0) {
        memcpy(out, model->messages[rng_below(&model->rng, model->count)].filter, sizeof noise);
        return;
    }
    rng_filter(&model->rng, model->m, 50, out);
    rng_filter(&model->rng, model->m, rng_below(&model->rng, 6), noise);
    bloom_intersection(out, out, model->places[rng_below(&model->rng, PLACES)], model->words);
    bloom_union(out, out, noise, model->words);
}

static bool covers(const struct group *group, const struct profile *profile,
                   const struct message *message)
{
    for (uint32_t s = 0; s < profile->section_count; s++) {
        uint32_t set = 0;

        for (uint32_t p = 0; p < profile->sections[s].bits; p++) {
            set += bloom_test(message->filter, profile->sections[s].first_bit + p) ? 1 : 0;
        }
        if (set < group->ranges[s].least || set > group->ranges[s].most) {
            return false;
        }
    }
    return bloom_is_subset(message->filter, group->filter, bloom_words(profile->bits)) &&
           message->deposited_ms <= group->newest_ms;
}

static uint64_t plain_cost(const struct group *a, const struct group *b, size_t words)
{
    uint64_t both = bloom_union_count(a->filter, b->filter, words);

    return a->count * (both - bloom_cardinality(a->filter, words)) +
           b->count * (both - bloom_cardinality(b->filter, words));
}

/* Each group knows which other one it would merge with. */
static void check_mates(const struct groups *groups)
{
    for (uint32_t i = 0; i < groups->count; i++) {
        const struct groups_slot *slot = &groups->slots[i];
        uint64_t least = UINT64_MAX;

        for (uint32_t j = 0; j < groups->count; j++) {
            uint64_t cost = plain_cost(&groups->list[i], &groups->list[j], groups->words);

            least = j != i && cost < least ? cost : least;
        }
        assert_true(slot->cost == least);
        assert_true(groups->count == 1 || (slot->mate < groups->count && slot->mate != i));
        assert_true(groups->count == 1 || plain_cost(&groups->list[i], &groups->list[slot->mate],
                                                     groups->words) == least);
    }
}

static void check_groups(const struct model *model, const struct groups *groups)
{
    uint64_t sum = 0;

    assert_true(groups->count <= groups->limit);
    for (uint32_t i = 0; i < groups->count; i++) {
        sum += groups->list[i].count;
    }
    assert_true(sum == groups->came && sum == model->came);
    for (uint32_t i = 0; i < model->count; i++) {
        bool covered = false;

        for (uint32_t g = 0; g < groups->count && !covered; g++) {
            covered = covers(&groups->list[g], &model->profile, &model->messages[i]);
        }
        assert_true(covered);
        assert_true(
            groups_cover(groups->list, groups->count, &model->profile, model->messages[i].filter));
    }
}

static void add(struct model *model, struct groups *groups, const struct message *message)
{
    groups_add(groups, message->filter, message->deposited_ms);
    model->came++;
}

static void come(struct model *model, struct groups *groups)
{
    struct message *message = &model->messages[model->count];

    memset(message, 0, sizeof *message);
    make_filter(model, message->filter);
    message->deposited_ms = (int64_t)rng_below(&model->rng, 2000) - 1000;
    model->count++;
    add(model, groups, message);
}

/* The caller makes the groups anew exactly when half has gone. */
static void go(struct model *model, struct groups *groups)
{
    uint64_t gone = groups->gone + 1;
    bool is_worn = groups_remove(groups);

    model->messages[rng_below(&model->rng, model->count)] = model->messages[model->count - 1];
    model->count--;
    assert_true(is_worn == (gone * 2 >= model->came));
    if (is_worn) {
        groups->count = 0;
        groups->came = groups->gone = 0;
        model->came = 0;
        for (uint32_t i = 0; i < model->count; i++) {
            add(model, groups, &model->messages[i]);
        }
    }
}

static void shift(struct model *model, struct groups *groups)
{
    int64_t from_ms = (int64_t)rng_below(&model->rng, 2000) - 1000;
    int64_t by_ms = (int64_t)rng_below(&model->rng, 400) - 200;

    groups_shift(groups, from_ms, by_ms);
    for (uint32_t i = 0; i < model->count; i++) {
        if (model->messages[i].deposited_ms >= from_ms) {
            model->messages[i].deposited_ms += by_ms;
        }
    }
}

static void begin(struct model *model, const char *text)
{
    model->profile = profile_of(text);
    model->m = model->profile.bits;
    model->words = bloom_words(model->m);
    model->count = 0;
    model->came = 0;
    for (int p = 0; p < PLACES; p++) {
        rng_filter(&model->rng, model->m, 1 + rng_below(&model->rng, 30), model->places[p]);
    }
}

/* --- bounds ----------------------------------------------------------------------------------- */

/* How often a bound was as high as the nearest message, and how often it excluded a group. */
struct luck {
    uint32_t reached;
    uint32_t close; /* phi: rounding makes its bound a little higher */
    uint32_t excluded;
};

static struct similarity rank_of(const struct bound_query *query, const uint64_t *filter,
                                 const uint64_t *message, size_t words)
{
    uint32_t shared = bloom_intersection_count(filter, message, words);

    return query->phi != NULL ? phi_similarity(query->phi, message, shared)
                              : similarity_of(shared, bloom_union_count(filter, message, words));
}

static void range_group(const struct model *model, const struct group *group,
                        const uint64_t *filter, struct phi_range *out)
{
    uint64_t both[WORDS_MAX];

    bloom_intersection(both, filter, group->filter, model->words);
    for (uint32_t s = 0; s < model->profile.section_count; s++) {
        const struct profile_section *section = &model->profile.sections[s];

        out[s] = (struct phi_range){
            .least = group->ranges[s].least,
            .most = group->ranges[s].most,
            .shared = bloom_union_count_range(both, both, section->first_bit, section->bits)};
    }
}

static void check_group_bound(const struct model *model, const struct group *group,
                              const struct bound_query *query, const uint64_t *filter,
                              struct luck *luck)
{
    struct similarity most = {0, 1};
    struct similarity nearest = {0, 1};
    struct phi_range ranges[PROFILE_SECTIONS_MAX];

    range_group(model, group, filter, ranges);
    bool has_any = bound_rank(query, ranges, &most);

    luck->excluded += has_any ? 0 : 1;
    for (uint32_t i = 0; i < model->count; i++) {
        const struct message *message = &model->messages[i];
        struct similarity rank = rank_of(query, filter, message->filter, model->words);

        if (!covers(group, &model->profile, message) ||
            !distance_within(rank, query->max_distance_ppm) ||
            (query->phi != NULL && rank.shared < query->phi_least)) {
            continue;
        }
        assert_true(has_any);
        assert_true(similarity_compare(rank, most) <= 0);
        nearest = similarity_compare(rank, nearest) > 0 ? rank : nearest;
    }
    if (query->phi == NULL) {
        luck->reached += similarity_compare(nearest, most) == 0 ? 1 : 0;
    } else if (nearest.shared > 1 && most.shared < PHI_ONE) {
        luck->close += most.shared - nearest.shared < PHI_ONE / 128 ? 1 : 0;
    }
}

/* A query from some place, or like a message, against all groups. */
static void check_bounds(struct model *model, const struct groups *groups, bool is_phi,
                         struct luck *luck)
{
    static const uint32_t limits[] = {0, 300000, 800000, DISTANCE_ONE_PPM};
    uint64_t filter[WORDS_MAX] = {0};
    struct phi_query phi;

    make_filter(model, filter);
    phi_ask(&phi, &model->profile, filter);
    struct bound_query query = {
        .phi = is_phi ? &phi : NULL,
        .set_bits = bloom_cardinality(filter, model->words),
        .section_count = model->profile.section_count,
        .max_distance_ppm = limits[rng_below(&model->rng, 4)],
        .phi_least = is_phi && rng_chance(&model->rng, 30) ? rng_below(&model->rng, PHI_ONE) : 0,
    };
    for (uint32_t g = 0; g < groups->count; g++) {
        check_group_bound(model, &groups->list[g], &query, filter, luck);
    }
}

/* --- tests ------------------------------------------------------------------------------------ */

static void live(struct model *model, struct groups *groups, struct luck *luck)
{
    for (uint32_t step = 0; step < STEPS; step++) {
        bool comes = rng_chance(&model->rng, step / 100 % 2 == 0 ? 75 : 25);

        if (rng_chance(&model->rng, 2)) {
            shift(model, groups);
        } else if (model->count == 0 || (comes && model->count < HELD_MAX)) {
            come(model, groups);
            check_mates(groups);
        } else {
            go(model, groups);
        }
        check_groups(model, groups);
        if (step % (STEPS / QUERIES) == 0) {
            check_bounds(model, groups, false, luck);
            check_bounds(model, groups, true, luck);
        }
    }
}

TEST(test_comings_and_goings)
{
    static const char *const texts[] = {"v2:64/2",
                                        "v2:512/4",
                                        "v2:512/2",
                                        "v2:1024/8",
                                        "v2:wifi=480/2,any=32/1",
                                        "v2:wifi=256/2,geo=96/1,time=32/1,any=128/2"};
    static const uint32_t limits[] = {1, 2, 5, 16, 32, GROUPS_MAX};
    static struct model model;
    struct luck luck = {0};

    rng_init(&model.rng);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        struct groups groups;

        begin(&model, texts[round % 6]);
        assert_int_equal(
            groups_init(&groups, alloc_system(), &model.profile, limits[rng_below(&model.rng, 6)]),
            0);
        live(&model, &groups, &luck);
        groups_deinit(&groups);
    }
    print_message("bounds: %u reached, %u close, %u exclude\n", luck.reached, luck.close,
                  luck.excluded);
    assert_true(luck.reached > 1000); /* else the bounds would be higher than they need to be */
    assert_true(luck.close > 300);
    assert_true(luck.excluded > 100);
}

/* A distance is inclusive, and the range of set bits lowers the bound (docs/tree.md, item 2). */
TEST(test_bound_of_the_page)
{
    struct bound_query query = {.set_bits = 40, .section_count = 1, .max_distance_ppm = 600000};
    const struct phi_range range = {.least = 30, .most = 50, .shared = 20};
    struct similarity most = {0, 1};

    assert_true(bound_rank(&query, &range, &most));
    assert_int_equal(most.shared, 20);
    assert_int_equal(most.all, 50);
    query.max_distance_ppm--;
    assert_false(bound_rank(&query, &range, &most));
}

/* Ranges by section say more than their sums: the bits that the second section must have cannot be
 * among those that the first one shares. */
TEST(test_sections_lower_the_bound)
{
    struct bound_query query = {.set_bits = 20, .section_count = 2, .max_distance_ppm = 1000000};
    const struct phi_range ranges[] = {{0, 4, 20}, {16, 20, 0}};
    const struct phi_range sum = {16, 24, 20};
    struct similarity most = {0, 1};

    assert_true(bound_rank(&query, ranges, &most));
    assert_int_equal(most.shared, 4);
    assert_int_equal(most.all, 36);
    query.section_count = 1;
    assert_true(bound_rank(&query, &sum, &most));
    assert_int_equal(most.shared, 20);
    assert_int_equal(most.all, 20);
}

/* Merging sees the weights: a large group does not take bits from a small one that is as near. */
TEST(test_heavy_groups_stay_small)
{
    const uint64_t heavy = UINT64_C(0xff);
    const uint64_t apart = UINT64_C(0xff00);
    const uint64_t between = UINT64_C(0xf0f0);
    const struct profile profile = profile_of("v2:64/2");
    struct groups groups;

    assert_int_equal(groups_init(&groups, alloc_system(), &profile, 2), 0);
    for (int i = 0; i < 9; i++) {
        groups_add(&groups, &heavy, i);
    }
    groups_add(&groups, &apart, 20);
    groups_add(&groups, &between, 30);
    assert_int_equal(groups.count, 2);
    uint32_t at = groups.list[0].count == 9 ? 0 : 1;
    assert_true(groups.list[at].filter[0] == heavy);
    assert_true(groups.list[at].newest_ms == 8);
    assert_true(groups.list[1 - at].filter[0] == (apart | between));
    assert_int_equal(groups.list[1 - at].count, 2);
    groups_deinit(&groups);
}

TEST(test_memory_runs_out)
{
    const struct profile profile = profile_of("v2:512/4");
    struct fail_alloc fail;
    struct groups groups;
    size_t n = 0;
    int rc = -ERR_NOMEM;

    fail_alloc_init(&fail);
    while (rc != 0) {
        fail_alloc_arm(&fail, ++n);
        rc = groups_init(&groups, &fail.alloc, &profile, 32);
        assert_true(rc == 0 || rc == -ERR_NOMEM);
        assert_true(rc == 0 || fail.live_blocks == 0);
    }
    assert_int_equal(n, 4);
    groups_deinit(&groups);
    assert_int_equal(fail.live_blocks, 0);
    groups_deinit(&groups);
}
