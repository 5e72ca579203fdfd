/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bits.h"

#include <stdio.h>
#include <string.h>

#include "tests/lib/check.h"
#include "tests/lib/rng.h"

enum { WORDS_MAX = 64 };

static const enum bits_level levels[] = {BITS_SCALAR, BITS_AVX2, BITS_AVX512};
static const char *const level_names[] = {"scalar", "avx2", "avx512"};

/* Bit by bit, as the definition says. */
static uint32_t plain_count(const uint64_t *a, const uint64_t *b, size_t words, size_t stride)
{
    uint32_t count = 0;

    for (size_t w = 0; w < words; w++) {
        for (unsigned bit = 0; bit < 64; bit++) {
            count += (uint32_t)((a[w] >> bit) & (b[w * stride] >> bit) & 1);
        }
    }
    return count;
}

/* `shift` words into the arrays, as no table may ask for more alignment than its types have. */
static void check_table(const struct bits_kernels *kernels, struct rng *rng, size_t words,
                        uint32_t percent, size_t shift)
{
    uint64_t query_room[WORDS_MAX + 1];
    uint64_t block_room[WORDS_MAX * BITS_BLOCK + 1];
    uint64_t *query = query_room + shift;
    uint64_t *block = block_room + shift;
    uint32_t overlaps[BITS_BLOCK + 1];

    rng_filter(rng, (uint32_t)words * 64, percent, query);
    rng_filter(rng, (uint32_t)(words * BITS_BLOCK) * 64, percent, block);
    overlaps[BITS_BLOCK] = 4711;
    kernels->overlaps(query, block, words, overlaps);
    for (size_t lane = 0; lane < BITS_BLOCK; lane++) {
        assert_int_equal(overlaps[lane], plain_count(query, block + lane, words, BITS_BLOCK));
    }
    assert_int_equal(overlaps[BITS_BLOCK], 4711);
    assert_int_equal(kernels->cardinality(query, words), plain_count(query, query, words, 1));
}

/* scan finds the first block with a lane that reaches the floor, and names all such lanes of it. */
static void check_scan(const struct bits_kernels *kernels, struct rng *rng, size_t words,
                       uint32_t percent)
{
    enum { BLOCKS = 5 };
    static const uint32_t floors[] = {0, 1, 100, 7000, 15000, 21845, 30000, 32767, 32768};
    uint64_t query[WORDS_MAX];
    uint64_t blocks[BLOCKS * BITS_BLOCK * WORDS_MAX];
    uint16_t cardinalities[BLOCKS * BITS_BLOCK];

    rng_filter(rng, (uint32_t)words * 64, percent, query);
    rng_filter(rng, (uint32_t)(words * BITS_BLOCK * BLOCKS) * 64, percent, blocks);
    for (size_t i = 0; i < BLOCKS * BITS_BLOCK; i++) {
        const uint64_t *filter = blocks + i / BITS_BLOCK * BITS_BLOCK * words + i % BITS_BLOCK;
        uint32_t count = 0;
        for (size_t w = 0; w < words; w++) {
            count += kernels->cardinality(&filter[w * BITS_BLOCK], 1);
        }
        cardinalities[i] = (uint16_t)count;
    }
    for (size_t f = 0; f < sizeof floors / sizeof floors[0]; f++) {
        const struct bits_scan scan = {query, words, kernels->cardinality(query, words), floors[f]};
        uint32_t overlaps[BITS_BLOCK];
        uint32_t lanes = 0;
        size_t found = kernels->scan(&scan, blocks, cardinalities, BLOCKS, overlaps, &lanes);

        for (size_t i = 0; i < BLOCKS * BITS_BLOCK && i / BITS_BLOCK <= found; i++) {
            const uint64_t *filter = blocks + i / BITS_BLOCK * BITS_BLOCK * words + i % BITS_BLOCK;
            uint32_t overlap = plain_count(query, filter, words, BITS_BLOCK);
            bool reaches = (uint64_t)overlap << BITS_FLOOR_SHIFT >=
                           (uint64_t)(scan.base + cardinalities[i]) * scan.floor;

            if (i / BITS_BLOCK < found) {
                assert_false(reaches);
            } else {
                assert_int_equal(lanes >> i % BITS_BLOCK & 1, reaches);
                assert_int_equal(overlaps[i % BITS_BLOCK], overlap);
            }
        }
        assert_true(found == BLOCKS || (lanes != 0 && lanes >> BITS_BLOCK == 0));
    }
}

/* Every table that runs here agrees with the definition, for every length that a profile has. */
static void test_tables_agree_with_plain_c(void **state)
{
    struct rng rng;

    (void)state;
    rng_init(&rng);
    for (size_t l = 0; l < sizeof levels / sizeof levels[0]; l++) {
        const struct bits_kernels *kernels = bits_table(levels[l]);

        if (kernels == NULL) {
            printf("kernels %s: not here, not tested\n", level_names[l]);
            continue;
        }
        printf("kernels %s: tested\n", level_names[l]);
        assert_string_equal(kernels->name, level_names[l]);
        for (size_t words = 1; words <= WORDS_MAX; words++) {
            static const uint32_t percents[] = {0, 5, 50, 100};

            for (size_t p = 0; p < sizeof percents / sizeof percents[0]; p++) {
                check_table(kernels, &rng, words, percents[p], words % 2);
                check_scan(kernels, &rng, words, percents[p]);
            }
        }
    }
}

static void test_selection(void **state)
{
    (void)state;
    assert_non_null(bits_table(BITS_SCALAR));
    assert_ptr_equal(bits_select(BITS_SCALAR), bits_table(BITS_SCALAR));
    for (size_t l = 0; l < sizeof levels / sizeof levels[0]; l++) {
        const struct bits_kernels *best = NULL;

        for (size_t below = 0; below <= l; below++) {
            best = bits_table(levels[below]) != NULL ? bits_table(levels[below]) : best;
        }
        assert_ptr_equal(bits_select(levels[l]), best);
    }
}

static void test_names(void **state)
{
    enum bits_level level = BITS_AVX2;

    (void)state;
    for (size_t l = 0; l < sizeof levels / sizeof levels[0]; l++) {
        assert_int_equal(bits_level_parse(level_names[l], &level), 0);
        assert_int_equal(level, levels[l]);
    }
    level = BITS_AVX2;
    assert_int_equal(bits_level_parse("AVX2", &level), BITS_UNKNOWN);
    assert_int_equal(bits_level_parse("", &level), BITS_UNKNOWN);
    assert_int_equal(bits_level_parse("avx51", &level), BITS_UNKNOWN);
    assert_int_equal(level, BITS_AVX2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables_agree_with_plain_c),
        cmocka_unit_test(test_selection),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
