/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every engine with every kernel against a list that is compared bit by bit and sorted as a whole:
 * random inserts, removals and searches of all kinds, several of them under way at a time, with
 * messages coming, going and expiring between their steps.
 */
#include "tests/lib/check.h"
#include "tests/model/index_world.h"
#include "tests/reference/engines.h"

/* ---- the runs ---- */

static struct profile one_section(uint32_t m)
{
    return (struct profile){.bits = m, .section_count = 1, .sections = {{.bits = m, .hashes = 3}}};
}

/* Sections that begin and end within words; the index does not care what goes into them. */
static struct profile several_sections(void)
{
    return (struct profile){
        .bits = 192,
        .section_count = 3,
        .sections = {{.first_bit = 0, .bits = 100, .hashes = 3},
                     {.first_bit = 100, .bits = 60, .hashes = 1},
                     {.first_bit = 160, .bits = 32, .hashes = 2}},
    };
}

/* 512 bits in three sections, of which the largest may be anywhere: a search reads the words of the
 * others first. */
static struct profile three_sections(uint32_t first, uint32_t second)
{
    return (struct profile){
        .bits = 512,
        .section_count = 3,
        .sections = {{.first_bit = 0, .bits = first, .hashes = 3},
                     {.first_bit = first, .bits = second, .hashes = 3},
                     {.first_bit = first + second, .bits = 512 - first - second, .hashes = 3}},
    };
}

static void run(const struct index_engine *engine, const struct bits_kernels *kernels,
                const struct profile *profile, uint32_t messages, uint32_t steps)
{
    begin_world(engine, kernels, profile);
    steps /= rng_is_brief() ? 8 : 1;
    for (uint32_t i = 0; i < messages; i++) {
        insert_message(&world.stores[0]);
    }
    for (uint32_t step = 0; step < steps; step++) {
        one_operation(step);
        if (world.fanout == 0 || step % 8 == 0) { /* many small nodes take long to check */
            check_store(&world.stores[0]);
            check_store(&world.stores[1]);
        }
        if (step % 500 == 0) {
            check_contents(&world.stores[0]);
            check_contents(&world.stores[1]);
        }
    }
    printf("%s, %s, m = %u: %u searches, %u of them capped\n", engine->name, kernels->name,
           profile->bits, world.finished, world.capped);
    assert_true(world.finished > steps / 40);
    assert_true(world.finished < 150 || world.capped > world.finished / 40);
    end_world();
}

static void run_all_profiles(const struct index_engine *engine, const struct bits_kernels *kernels)
{
    const struct profile sectioned = several_sections();
    const struct profile smallest = one_section(64);
    const struct profile middle = one_section(320);
    const struct profile largest = one_section(PROFILE_BITS_MAX);

    run(engine, kernels, &smallest, 550, 4000); /* into the second chunk of the list */
    run(engine, kernels, &middle, 550, 4000);
    run(engine, kernels, &sectioned, 550, 4000);
    run(engine, kernels, &largest, 50, 500);
}

/* Small nodes, so that few messages make many: they split, merge and are passed by searches. */
static void run_fanouts(const struct bits_kernels *kernels)
{
    static const uint32_t fanouts[] = {2, 3, 5, 16, 70};
    const struct profile sectioned = several_sections();
    const struct profile wide = one_section(512); /* sparse, so that bounds pay */
    const struct profile layouts[] = {three_sections(380, 40), three_sections(60, 360),
                                      three_sections(92, 40)};
    struct bits_kernels eager = *kernels;

    eager.block_columns = 10000; /* so that bounds are used in small nodes, too */
    for (size_t i = 0; i < sizeof fanouts / sizeof fanouts[0]; i++) {
        world.fanout = fanouts[i];
        run(small_tree_engine(fanouts[i]), &eager, &sectioned, 400, 1500);
        run(small_tree_engine(fanouts[i]), &eager, &wide, 400, 1500);
    }
    world.fanout = 16;
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
        run(small_tree_engine(16), &eager, &layouts[i], 400, 1500);
    }
    world.fanout = 0;
}

TEST(test_random_operations)
{
    rng_init(&world.rng);
    for (const struct index_engine *const *e = all_engines(); *e != NULL; e++) {
        for (int level = BITS_SCALAR; level <= BITS_AVX512; level++) {
            const struct bits_kernels *kernels = bits_table((enum bits_level)level);

            if (kernels == NULL) {
                printf("kernels of level %d: not here, not tested\n", level);
            } else {
                run_all_profiles(*e, kernels);
                if (*e == &tree_engine) {
                    run_fanouts(kernels);
                }
            }
        }
    }
}

static struct asked *ask(uint32_t k)
{
    struct asked *asked = &world.asked[0];

    do {
        begin_search(asked);
        end_search(asked);
    } while (asked->query.part_count != 1 || asked->part_store[0] != 0 ||
             asked->parts[0].contains != NULL);
    asked->query.k = k;
    asked->query.max_distance_ppm = DISTANCE_ONE_PPM;
    asked->query.since_ms = INT64_MIN;
    asked->query.until_ms = INT64_MAX;
    asked->query.floor = (struct similarity){0, 0};
    asked->steps = 0;
    assert_int_equal(index_search_new(&world.alloc.alloc, &asked->query, &asked->search), 0);
    return asked;
}

static const struct message *first_answer(const struct asked *asked)
{
    static struct nearest_candidate found[FOUND_MAX];
    const struct store *store = &world.stores[0];

    bool capped = false;

    if (plain_search(asked, found, &capped) == 0) {
        return NULL;
    }
    for (uint32_t i = 0; i < store->count; i++) {
        if (memcmp(store->messages[i].item.id, found[0].item.id, MESSAGE_ID_BYTES) == 0) {
            return &store->messages[i];
        }
    }
    return NULL;
}

/* Messages that come as fast as a search looks at them, and the best one going each time. */
TEST(test_searches_end_however_fast_messages_come_and_go)
{
    const struct profile profile = one_section(64);

    rng_init(&world.rng);
    for (const struct index_engine *const *e = all_engines(); *e != NULL; e++) {
        for (uint32_t take_best = 0; take_best < 2; take_best++) {
            begin_world(*e, bits_select(BITS_AVX512), &profile);
            struct store *store = &world.stores[0];
            for (uint32_t i = 0; i < 200; i++) {
                insert_message(store);
            }
            struct asked *asked = ask(5);
            while (index_search_step(asked->search, 1, world.now_ms) == INDEX_MORE) {
                const struct message *best = take_best == 1 ? first_answer(asked) : NULL;

                assert_true(asked->steps++ < 4 * 30);
                if (best != NULL) {
                    uint32_t at = (uint32_t)(best - store->messages);

                    assert_int_equal(index_remove(store->index, best->item.id, NULL), 0);
                    store->messages[at] = store->messages[--store->count];
                }
                for (uint32_t i = 0; take_best == 0 && i < 16 && store->count < MESSAGES_MAX; i++) {
                    insert_message(store);
                }
            }
            check_answer(asked);
            end_world();
        }
    }
}

/* The answer stands, whatever happens to the index, even its end. */
TEST(test_results_stay)
{
    const struct profile profile = one_section(64);
    struct nearest_candidate kept[5];
    uint32_t count = 0;

    rng_init(&world.rng);
    begin_world(&list_engine, bits_select(BITS_AVX512), &profile);
    for (uint32_t i = 0; i < 100; i++) {
        insert_message(&world.stores[0]);
    }
    struct asked *asked = ask(5);
    assert_int_equal(index_search_step(asked->search, UINT64_MAX, world.now_ms), 0);
    memcpy(kept, index_search_results(asked->search, &count), sizeof kept);
    assert_int_equal(count, 5);
    assert_int_equal(index_search_comparisons(asked->search), world.stores[0].count);
    while (world.stores[0].count > 0) {
        remove_message(&world.stores[0]);
    }
    assert_int_equal(index_search_step(asked->search, 1, world.now_ms + 1000000), 0);
    const struct nearest_candidate *still = index_search_results(asked->search, &count);
    assert_int_equal(count, 5);
    for (uint32_t i = 0; i < count; i++) { /* not their bytes: some are between the fields */
        assert_int_equal(nearest_compare(&still[i], &kept[i]), 0);
        assert_memory_equal(still[i].item.id, kept[i].item.id, sizeof kept[i].item.id);
    }
    end_world();
}

/* A budget ends a search early, which then says so; what it found is there, best first. */
TEST(test_budget)
{
    const struct profile profile = one_section(64);

    rng_init(&world.rng);
    for (const struct index_engine *const *e = all_engines(); *e != NULL; e++) {
        begin_world(*e == &tree_engine ? small_tree_engine(2) : *e, bits_select(BITS_AVX512),
                    &profile);
        for (uint32_t i = 0; i < 500; i++) {
            insert_message(&world.stores[0]);
        }
        for (uint64_t budget = 1; budget <= 1 << 20; budget *= 4) {
            struct asked *asked = ask(5);
            uint32_t count = 0;

            end_search(asked);
            asked->query.budget = budget;
            assert_int_equal(index_search_new(&world.alloc.alloc, &asked->query, &asked->search),
                             0);
            while (index_search_step(asked->search, 64, world.now_ms) == INDEX_MORE) {
            }
            const struct nearest_candidate *found = index_search_results(asked->search, &count);
            for (uint32_t i = 1; i < count; i++) {
                assert_true(nearest_compare(&found[i - 1], &found[i]) < 0);
            }
            if (index_search_is_exact(asked->search)) {
                check_answer(asked);
            } else {
                assert_true(index_search_comparisons(asked->search) >= budget);
            }
            assert_true(budget > 1 || !index_search_is_exact(asked->search));
            assert_true(budget < 1 << 20 || index_search_is_exact(asked->search));
            end_search(asked);
        }
        end_world();
    }
}

TEST(test_null_is_freed)
{
    index_free(NULL);
    index_search_free(NULL);
}
