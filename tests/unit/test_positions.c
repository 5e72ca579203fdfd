/* SPDX-License-Identifier: Apache-2.0 */
#include "core/positions.h"

#include <string.h>

#include "core/bloom.h"
#include "core/hash.h"
#include "tests/lib/check.h"
#include "tests/lib/rng.h"

/* Value i is `first byte + 10 i`, so that positions can be worked out by hand. */
static void values_by_hand(const void *context, const void *element, size_t length, uint32_t count,
                           uint64_t *out_values)
{
    (void)context;
    (void)length;
    for (uint32_t i = 0; i < count; i++) {
        out_values[i] = *(const uint8_t *)element + UINT64_C(10) * i;
    }
}

static void test_any_hash(void **state)
{
    const struct positions positions = {.values = values_by_hand};
    uint32_t places[3];

    (void)state;
    positions_of(positions, "A", 1, 3, 16, places); /* 65, 75, 85 */
    assert_int_equal(places[0], 1);
    assert_int_equal(places[1], 11);
    assert_int_equal(places[2], 5);
    positions_of_pair(positions, "A", 1, "B", 1, 3, 16, places); /* 65^66, 75^76, 85^86 */
    assert_int_equal(places[0], 3);
    assert_int_equal(places[1], 7);
    assert_int_equal(places[2], 3);
}

/* With seed 0 they are the positions of a label, which the vectors fix. */
static void test_seed_zero_is_the_label_hash(void **state)
{
    const uint64_t zero = 0;
    const uint64_t one = 1;
    const char *label = "wifi:a4:2b:8c:01:02:03";
    uint32_t plain[POSITIONS_MAX];
    uint32_t seeded[POSITIONS_MAX];

    (void)state;
    positions_of(positions_seeded(&zero), label, strlen(label), POSITIONS_MAX, 384, plain);
    positions_of(positions_seeded(&one), label, strlen(label), POSITIONS_MAX, 384, seeded);
    for (uint32_t i = 0; i < POSITIONS_MAX; i++) {
        assert_int_equal(plain[i], bloom_position(hash_label(label, strlen(label)), i, 384));
    }
    assert_memory_not_equal(plain, seeded, sizeof plain);
}

/* What was set is found, whatever the sizes: no false negative. A pair has no order. */
static void test_no_false_negative(void **state)
{
    struct rng rng;

    (void)state;
    rng_init(&rng);
    for (int round = 0; round < 2000; round++) {
        const uint64_t seed = rng_next(&rng);
        const struct positions positions = positions_seeded(&seed);
        const uint32_t bits = 1 + rng_below(&rng, 1024);
        const uint32_t count = 1 + rng_below(&rng, POSITIONS_MAX);
        const uint64_t elements[2] = {rng_next(&rng), rng_next(&rng)};
        uint64_t filter[16] = {0};
        uint32_t places[POSITIONS_MAX];

        positions_of_pair(positions, &elements[0], 8, &elements[1], 8, count, bits, places);
        assert_true(count == 0 || !positions_test(filter, places, count));
        positions_set(filter, places, count);
        for (uint32_t i = 0; i < count; i++) {
            assert_true(places[i] < bits);
        }
        positions_of_pair(positions, &elements[1], 8, &elements[0], 8, count, bits, places);
        assert_true(positions_test(filter, places, count));
        assert_true(bloom_cardinality(filter, bloom_words(bits)) <= count);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_hash),
        cmocka_unit_test(test_seed_zero_is_the_label_hash),
        cmocka_unit_test(test_no_false_negative),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
