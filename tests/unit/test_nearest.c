/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/nearest.h"

#include "core/base/err.h"
#include "tests/lib/check.h"
#include "tests/lib/fail_alloc.h"
#include "tests/lib/rng.h"

enum { MANY = 300 };

static struct nearest_candidate candidate(uint32_t shared, uint32_t all, int64_t deposited_ms,
                                          uint8_t id, uint32_t part)
{
    struct nearest_candidate made;

    memset(&made, 0, sizeof made);
    made.rank = similarity_of(shared, all);
    made.item.deposited_ms = deposited_ms;
    made.item.id[MESSAGE_ID_BYTES - 1] = id;
    made.part = part;
    made.source = part;
    return made;
}

/* More similar, then newer, then smaller id as unsigned bytes, then the earlier part. */
TEST(test_order)
{
    struct nearest_candidate in_order[] = {
        candidate(2, 2, 0, 9, 0),         candidate(3, 4, 5, 9, 0),
        candidate(1, 2, 7, 3, 0),         candidate(2, 4, 6, 1, 0),
        candidate(1, 2, 6, 0x7f, 0),      candidate(1, 2, 6, 0x80, 0),
        candidate(1, 2, 6, 0x80, 1),      candidate(1, 2, INT64_MIN, 0, 0),
        candidate(0, 1, INT64_MAX, 0, 0),
    };
    const size_t count = sizeof in_order / sizeof in_order[0];

    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < count; j++) {
            int order = nearest_compare(&in_order[i], &in_order[j]);

            assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
        }
    }
}

static int sort_order(const void *a, const void *b)
{
    return nearest_compare(a, b);
}

static void check_against_sort(struct rng *rng, uint32_t k, uint32_t count)
{
    static struct nearest_candidate all[MANY];
    struct nearest nearest;

    assert_int_equal(nearest_init(&nearest, alloc_system(), k, 0), 0);
    for (uint32_t i = 0; i < count; i++) {
        bool taken_before = false;

        all[i] = candidate(rng_below(rng, 5), 5, rng_below(rng, 3), (uint8_t)rng_below(rng, 256),
                           rng_below(rng, 2));
        all[i].intersection = i;
        const struct nearest_candidate *worst = nearest_worst(&nearest);
        taken_before = worst == NULL || nearest_compare(&all[i], worst) < 0;
        assert_int_equal(nearest_offer(&nearest, &all[i]), taken_before);
        assert_int_equal(nearest.count, i + 1 < k ? i + 1 : k);
        assert_int_equal(nearest_is_full(&nearest), i + 1 >= k);
    }
    qsort(all, count, sizeof all[0], sort_order);
    const struct nearest_candidate *found = nearest_sort(&nearest);
    for (uint32_t i = 0; i < nearest.count; i++) {
        assert_int_equal(nearest_compare(&found[i], &all[i]), 0);
    }
    nearest_deinit(&nearest);
}

TEST(test_the_k_best_of_a_sort)
{
    static const uint32_t ks[] = {1, 2, 3, 10, 64, MANY, MANY + 1};
    struct rng rng;

    rng_init(&rng);
    for (size_t i = 0; i < sizeof ks / sizeof ks[0]; i++) {
        for (uint32_t round = 0; round < 50; round++) {
            check_against_sort(&rng, ks[i], rng_below(&rng, MANY + 1));
        }
    }
}

TEST(test_holds_and_clear)
{
    struct nearest nearest;
    struct nearest_candidate a = candidate(1, 2, 0, 1, 0);
    struct nearest_candidate b = candidate(1, 3, 0, 2, 1);
    struct nearest_candidate c = candidate(1, 4, 0, 3, 0);

    assert_int_equal(nearest_init(&nearest, alloc_system(), 2, 0), 0);
    assert_null(nearest_worst(&nearest));
    assert_true(nearest_offer(&nearest, &a));
    assert_true(nearest_offer(&nearest, &b));
    assert_false(nearest_offer(&nearest, &c));
    assert_false(nearest_offer(&nearest, &b)); /* no better than itself */
    assert_int_equal(nearest_compare(nearest_worst(&nearest), &b), 0);
    assert_true(nearest_holds(&nearest, a.item.id, 0));
    assert_false(nearest_holds(&nearest, a.item.id, 1));
    assert_true(nearest_holds(&nearest, b.item.id, 1));
    assert_false(nearest_holds(&nearest, c.item.id, 0));
    nearest_clear(&nearest);
    assert_int_equal(nearest.count, 0);
    assert_false(nearest_holds(&nearest, a.item.id, 0));
    nearest_deinit(&nearest);
    nearest_deinit(&nearest); /* a zeroed one is fine */
}

/* A message that is offered again stays once, at its best, and takes nobody else's place. */
TEST(test_once)
{
    struct nearest nearest;
    struct nearest_candidate a = candidate(1, 4, 0, 1, 0);
    struct nearest_candidate b = candidate(1, 3, 0, 2, 0);
    struct nearest_candidate c = candidate(1, 5, 0, 3, 0);
    struct nearest_candidate better = candidate(1, 2, 0, 1, 1);
    struct nearest_candidate elsewhere = candidate(1, 2, 0, 1, 2);

    better.source = 0; /* another part, the same messages */
    assert_int_equal(nearest_init(&nearest, alloc_system(), 3, 0), 0);
    assert_true(nearest_offer_once(&nearest, &a));
    assert_true(nearest_offer_once(&nearest, &b));
    assert_true(nearest_offer_once(&nearest, &c));
    assert_true(nearest_offer_once(&nearest, &better));
    assert_false(nearest_offer_once(&nearest, &a));
    assert_int_equal(nearest.count, 3);
    assert_true(nearest_offer_once(&nearest, &elsewhere)); /* the id, but of other messages */

    const struct nearest_candidate *sorted = nearest_sort(&nearest);
    assert_int_equal(nearest_compare(&sorted[0], &better), 0);
    assert_int_equal(nearest_compare(&sorted[1], &elsewhere), 0);
    assert_int_equal(nearest_compare(&sorted[2], &b), 0);
    nearest_deinit(&nearest);
}

static struct nearest_candidate of_sender(struct nearest_candidate made, uint32_t sender)
{
    made.item.sender = sender;
    return made;
}

/* A sender keeps its best ones, in whatever order they come; nobody's are not counted. */
TEST(test_share)
{
    struct nearest nearest;
    struct nearest_candidate worst = of_sender(candidate(1, 6, 0, 1, 0), 7);
    struct nearest_candidate middle = of_sender(candidate(1, 4, 0, 2, 0), 7);
    struct nearest_candidate best = of_sender(candidate(1, 2, 0, 3, 0), 7);
    struct nearest_candidate nobodys = candidate(1, 8, 0, 4, 0);
    struct nearest_candidate nobodys_other = candidate(1, 9, 0, 5, 0);

    assert_int_equal(nearest_init(&nearest, alloc_system(), 4, 1), 0);
    assert_true(nearest_offer(&nearest, &middle));
    assert_false(nearest_is_capped(&nearest));
    assert_true(nearest_wants(&nearest, &worst)); /* to know that it was left out */
    assert_false(nearest_offer(&nearest, &worst));
    assert_true(nearest_is_capped(&nearest));
    assert_false(nearest_wants(&nearest, &worst));
    assert_true(nearest_offer(&nearest, &best)); /* in the place of the middle one */
    assert_true(nearest_passed_over(&nearest, middle.item.id, 0));
    assert_false(nearest_passed_over(&nearest, worst.item.id, 0));
    assert_true(nearest_offer(&nearest, &nobodys));
    assert_true(nearest_offer(&nearest, &nobodys_other));
    assert_int_equal(nearest.count, 3);

    const struct nearest_candidate *sorted = nearest_sort(&nearest);
    assert_int_equal(nearest_compare(&sorted[0], &best), 0);
    assert_int_equal(nearest_compare(&sorted[1], &nobodys), 0);
    nearest_deinit(&nearest);
}

/* What is passed over but would not have been among the k best is no loss. */
TEST(test_share_without_loss)
{
    struct nearest nearest;
    struct nearest_candidate own = of_sender(candidate(1, 3, 0, 1, 0), 7);
    struct nearest_candidate own_worse = of_sender(candidate(1, 5, 0, 2, 0), 7);
    struct nearest_candidate other = of_sender(candidate(1, 2, 0, 3, 0), 8);

    assert_int_equal(nearest_init(&nearest, alloc_system(), 2, 1), 0);
    assert_true(nearest_offer(&nearest, &own));
    assert_false(nearest_offer(&nearest, &own_worse));
    assert_true(nearest_is_capped(&nearest)); /* there is room for it */
    assert_true(nearest_offer(&nearest, &other));
    assert_false(nearest_is_capped(&nearest));
    nearest_deinit(&nearest);
}

/* Passed over as one part found it, taken as another did: then it is not missing. */
TEST(test_share_and_parts)
{
    struct nearest nearest;
    struct nearest_candidate own = of_sender(candidate(1, 3, 0, 1, 0), 7);
    struct nearest_candidate far = of_sender(candidate(1, 5, 0, 2, 0), 7);
    struct nearest_candidate near = of_sender(candidate(1, 2, 0, 2, 1), 7);

    near.source = 0;
    assert_int_equal(nearest_init(&nearest, alloc_system(), 3, 1), 0);
    assert_true(nearest_offer_once(&nearest, &own));
    assert_false(nearest_offer_once(&nearest, &far));
    assert_true(nearest_passed_over(&nearest, far.item.id, 0));
    assert_true(nearest_offer_once(&nearest, &near));
    assert_false(nearest_passed_over(&nearest, near.item.id, 0));
    assert_true(nearest_passed_over(&nearest, own.item.id, 0));
    nearest_deinit(&nearest);
}

TEST(test_memory)
{
    struct fail_alloc fail;
    struct nearest nearest = {0};

    fail_alloc_init(&fail);
    fail_alloc_arm(&fail, 1);
    assert_int_equal(nearest_init(&nearest, &fail.alloc, 5, 0), -ERR_NOMEM);
    assert_int_equal(nearest_init(&nearest, &fail.alloc, 5, 0), 0);
    nearest_deinit(&nearest);
    assert_int_equal(fail.live_bytes, 0);
}
