/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Searches on threads beside the loop, as queries have them: while messages come, go and expire,
 * the clock is set and the tree is rebuilt and exchanged, each search has the list's answer at the
 * moment of its last step. Under TSan the test also shows that a thread never reads what the loop
 * changes.
 */
#include <uv.h>

#include "core/filter/bloom.h"
#include "daemon/system/container.h"
#include "daemon/system/read_pool.h"
#include "tests/lib/check.h"
#include "tests/lib/plain_query.h"
#include "tests/model/some_metric.h"
#include "tests/reference/check.h"
#include "tests/reference/engines.h"

enum { IDS = 3000, WORDS = 4, BITS = 256, SEARCHES = 6, PLACES = 40, THREADS = 2, K = 10 };

enum phase { NONE, COPY, ARRANGE, FOLLOW };

struct threaded {
    struct read_task task;
    struct index_search *search; /* NULL: none */
    struct index_query query;
    struct index_part part;
    uint64_t filter[WORDS];
    uint64_t work; /* of a piece */
    unsigned pieces;
};

static struct {
    struct rng rng;
    struct index *list;
    struct index *tree;
    struct read_pool *pool;
    uv_sem_t woken;
    bool is_there[IDS];
    int64_t now_ms;
    enum phase phase;
    struct renewal *renewal;
    struct threaded searches[SEARCHES];
    unsigned under_way;
    unsigned answered;
    unsigned pieces; /* on threads, of all searches that have ended */
    unsigned exchanged;
} world;

static const struct profile profile = {
    .bits = BITS, .section_count = 1, .sections = {{.bits = BITS, .hashes = 2}}};

/* --- messages --------------------------------------------------------------------------------- */

static void make_filter(uint64_t *out)
{
    uint32_t place = rng_below(&world.rng, PLACES);

    memset(out, 0, WORDS * sizeof(*out));
    if (rng_chance(&world.rng, 30)) { /* a poster: many have an equal filter */
        bloom_set(out, place % 3);
        return;
    }
    for (uint32_t i = 0; i < 12; i++) {
        if (rng_chance(&world.rng, 75)) {
            bloom_set(out, (place * 37 + i * (2 * place + 3)) % BITS);
        }
    }
    bloom_set(out, rng_below(&world.rng, BITS));
}

/* Deposits message `id`, or removes it. */
static void change(uint32_t id)
{
    struct index_item item = {
        .deposited_ms = world.now_ms - rng_below(&world.rng, 10),
        .expires_ms =
            world.now_ms + (rng_chance(&world.rng, 80) ? 1000000 : rng_below(&world.rng, 3000)),
        .reach_ppm = DISTANCE_ONE_PPM,
        .sender = rng_below(&world.rng, 8),
    };
    uint64_t filter[WORDS];

    memcpy(item.id, &id, sizeof(id));
    read_pool_pause(world.pool);
    if (world.is_there[id]) {
        assert_int_equal(index_remove(world.list, item.id, NULL), 0);
        assert_int_equal(index_remove(world.tree, item.id, NULL), 0);
    } else {
        make_filter(filter);
        assert_int_equal(index_insert(world.list, &item, filter), 0);
        assert_int_equal(index_insert(world.tree, &item, filter), 0);
    }
    world.is_there[id] = !world.is_there[id];
}

static void set_clock(void)
{
    read_pool_pause(world.pool);
    index_shift(world.list, world.now_ms - 5, 20);
    index_shift(world.tree, world.now_ms - 5, 20);
    world.now_ms += 20;
}

/* A slice of a rebuild. On the loop it pauses the pool only where the daemon does. */
static void rebuild(void)
{
    int rc;

    switch (world.phase) {
    case NONE:
        assert_int_equal(renewal_begin(world.tree, &world.renewal), 0);
        world.phase = COPY;
        break;
    case COPY:
        rc = renewal_copy(world.renewal);
        if (rc == RENEWAL_FULL) {
            assert_int_equal(renewal_take(world.renewal, NULL), 0);
        }
        world.phase = rc == 0 ? ARRANGE : COPY;
        break;
    case ARRANGE:
        assert_int_equal(renewal_arrange(world.renewal, NULL), 0);
        world.phase = FOLLOW;
        break;
    case FOLLOW:
        read_pool_pause(world.pool);
        if (renewal_follow(world.renewal, 64) == 0) {
            renewal_free(world.renewal);
            world.renewal = NULL;
            world.exchanged++;
            world.phase = NONE;
        }
        break;
    }
}

/* --- searches --------------------------------------------------------------------------------- */

static bool run_piece(struct read_task *task)
{
    struct threaded *it = CONTAINER_OF(task, struct threaded, task);

    it->pieces++;
    return index_search_walk(it->search, it->work);
}

/* Ends a search on the loop, and compares its answer with the list's of this moment. */
static void check_answer(struct threaded *it)
{
    struct index_search *search = NULL;
    uint32_t expected_count = 0, count = 0;

    while (index_search_step(it->search, it->work, world.now_ms) == INDEX_MORE) {
    }
    it->part.index = world.list;
    assert_int_equal(index_search_new(alloc_system(), &it->query, &search), 0);
    assert_int_equal(index_search_step(search, UINT64_MAX, world.now_ms), 0);
    const struct nearest_candidate *expected = index_search_results(search, &expected_count);
    const struct nearest_candidate *found = index_search_results(it->search, &count);
    assert_int_equal(count, expected_count);
    for (uint32_t i = 0; i < count; i++) {
        assert_memory_equal(found[i].item.id, expected[i].item.id, MESSAGE_ID_BYTES);
        assert_int_equal(found[i].item.deposited_ms, expected[i].item.deposited_ms);
        assert_int_equal(found[i].intersection, expected[i].intersection);
    }
    assert_true(index_search_is_exact(it->search));
    index_search_free(search);
    index_search_free(it->search);
    it->search = NULL;
    world.answered++;
    world.pieces += it->pieces;
}

static void begin(struct threaded *it)
{
    *it = (struct threaded){.task = {.run = run_piece}, .work = 1 + rng_below(&world.rng, 600)};
    make_filter(it->filter);
    it->part = (struct index_part){.index = world.tree, .filter = it->filter};
    it->query = plain_index_query(&it->part, 1, K);
    it->query.sender_share = rng_below(&world.rng, K);
    it->query.metric = some_metric(&world.rng);
    it->query.order = some_order(&world.rng);
    assert_int_equal(index_search_new(alloc_system(), &it->query, &it->search), 0);
    if (index_search_step(it->search, it->work, world.now_ms) == 0) {
        check_answer(it);
        return;
    }
    world.under_way++;
    read_pool_put(world.pool, &it->task);
}

static void take_all(void)
{
    struct read_task *task = read_pool_take(world.pool);

    while (task != NULL) {
        struct threaded *it = CONTAINER_OF(task, struct threaded, task);

        task = task->next;
        world.under_way--;
        check_answer(it);
    }
}

static void wake(void *context)
{
    uv_sem_post(context);
}

/* Waits, as the loop does, until a search comes back. */
static void wait_for_one(void)
{
    read_pool_await(world.pool);
    uv_sem_wait(&world.woken);
    take_all();
}

/* --- the run ---------------------------------------------------------------------------------- */

static void one_operation(void)
{
    uint32_t kind = rng_below(&world.rng, 100);

    world.now_ms += rng_below(&world.rng, 3);
    if (kind < 30) {
        for (uint32_t left = rng_below(&world.rng, 8); left > 0; left--) {
            change(rng_below(&world.rng, IDS));
        }
    } else if (kind < 31) {
        set_clock();
    } else if (kind < 36) {
        rebuild();
    } else if (kind < 50) {
        read_pool_resume(world.pool);
        take_all();
    } else if (world.under_way == SEARCHES) {
        wait_for_one();
    } else {
        uint32_t i = 0;

        while (world.searches[i].search != NULL) {
            i++;
        }
        begin(&world.searches[i]);
    }
}

TEST(searches_on_threads_have_the_answer_of_the_list)
{
    struct index_options options = {
        .alloc = alloc_system(), .profile = &profile, .kernels = bits_select(BITS_BEST)};
    uint32_t operations = rng_is_brief() ? 4000 : 20000;

    rng_init(&world.rng);
    options.hash_seed = rng_next(&world.rng);
    assert_int_equal(index_new(&list_engine, &options, &world.list), 0);
    assert_int_equal(index_new(small_tree_engine(8), &options, &world.tree), 0);
    assert_int_equal(uv_sem_init(&world.woken, 0), 0);
    world.pool = read_pool_new(alloc_system(), THREADS, wake, &world.woken);
    assert_non_null(world.pool);
    for (uint32_t id = 0; id < IDS / 2; id++) {
        change(id);
    }
    for (uint32_t i = 0; i < operations; i++) {
        one_operation();
    }
    while (world.under_way > 0) {
        wait_for_one();
    }
    while (world.phase != NONE) {
        rebuild();
    }
    printf("%u searches, %u pieces on threads, %u exchanges\n", world.answered, world.pieces,
           world.exchanged);
    assert_true(world.answered > operations / 10 && world.pieces > world.answered);
    assert_true(world.exchanged > 0);
    read_pool_free(world.pool);
    uv_sem_destroy(&world.woken);
    index_free(world.tree);
    index_free(world.list);
}
