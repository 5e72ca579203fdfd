/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Summaries against plain lists of what is in them, through random comings and goings. The rule:
 * the union is the OR of all filters at all times, and count and range are right.
 */
#include "core/filter/bloom.h"
#include "core/filter/counting.h"
#include "tests/lib/check.h"
#include "tests/lib/rng.h"

enum { ROUNDS = 12, STEPS = 1500, HELD_MAX = 60, WORDS_MAX = 64 };

struct model {
    uint32_t m;
    size_t words;
    uint32_t count;
    uint64_t filters[HELD_MAX][WORDS_MAX];
};

static void model_check(const struct model *model, const struct summary *summary)
{
    uint64_t all[WORDS_MAX] = {0};
    uint32_t low = model->count > 0 ? UINT32_MAX : 0;
    uint32_t high = 0;
    uint32_t told_low;
    uint32_t told_high;

    for (uint32_t i = 0; i < model->count; i++) {
        uint32_t set = bloom_cardinality(model->filters[i], model->words);

        bloom_union(all, all, model->filters[i], model->words);
        low = set < low ? set : low;
        high = set > high ? set : high;
    }
    assert_memory_equal(summary_union(summary), all, model->words * sizeof all[0]);
    assert_true(summary->count == model->count);
    summary_range(summary, &told_low, &told_high);
    assert_int_equal(told_low, low);
    assert_int_equal(told_high, high);
}

/* One filter comes or goes. Some come often. */
static void model_step(struct model *model, struct rng *rng, uint32_t percent,
                       struct summary *summary)
{
    bool come = model->count == 0 || (model->count < HELD_MAX && rng_chance(rng, percent));

    if (come) {
        uint64_t *filter = model->filters[model->count];

        if (model->count > 0 && rng_chance(rng, 30)) {
            memcpy(filter, model->filters[rng_below(rng, model->count)], sizeof model->filters[0]);
        } else {
            rng_filter(rng, model->m, rng_below(rng, 101), filter);
        }
        model->count++;
        summary_add(summary, filter);
        return;
    }
    uint64_t *gone = model->filters[rng_below(rng, model->count)];
    summary_remove(summary, gone);
    model->count--;
    memmove(gone, model->filters[model->count], sizeof model->filters[0]);
}

TEST(test_comings_and_goings)
{
    static const uint32_t sizes[] = {1, 63, 64, 131, 512, 4096};
    static struct model model;
    struct rng rng;

    rng_init(&rng);
    for (int round = 0; round < ROUNDS; round++) {
        struct summary summary;

        memset(&model, 0, sizeof model);
        model.m = sizes[round % (int)(sizeof sizes / sizeof sizes[0])];
        model.words = bloom_words(model.m);
        assert_int_equal(summary_init(&summary, alloc_system(), model.m), 0);
        for (int step = 0; step < STEPS; step++) { /* fills up, then runs empty, again and again */
            model_step(&model, &rng, step / 200 % 2 == 0 ? 70 : 30, &summary);
            model_check(&model, &summary);
        }
        summary_deinit(&summary);
    }
}
