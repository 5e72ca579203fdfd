/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of client/bridge/ask that have no I/O and no neighbours: what a host has told, when all
 * of it is told again, the order of asks, and rates. */
#include "client/bridge/ask/home.h"
#include "client/bridge/ask/inner.h"
#include "core/base/alloc.h"
#include "core/filter/bloom.h"
#include "proto/codec/letter.h"
#include "tests/lib/profile_of.h"
#include "tests/lib/rng.h"

enum { BITS = 512, WORDS = BITS / 64, BYTES = BITS / 8 };
#define PROFILE "v2:512/4"

static struct rng rng;

/* --- what a host has told --------------------------------------------------------------------- */

struct stored {
    uint8_t bytes[BYTES];
};

static struct stored random_filter(void)
{
    uint64_t filter[WORDS];
    struct stored stored;

    rng_filter(&rng, BITS, 5, filter);
    bloom_store(filter, BITS, stored.bytes);
    return stored;
}

/* Whether the groups of a word cover the filter. */
static bool word_covers(const struct msg_peer_summary *word, const struct stored *filter)
{
    uint64_t small[WORDS];
    uint64_t large[WORDS];

    assert_int_equal(bloom_load(small, BITS, filter->bytes, BYTES), 0);
    for (size_t i = 0; i < word->group_count; i++) {
        assert_int_equal(bloom_load(large, BITS, word->groups[i].union_filter.data, BYTES), 0);
        if (bloom_is_subset(small, large, WORDS)) {
            return true;
        }
    }
    return false;
}

TEST(test_words_follow_one_another)
{
    const struct profile profile = profile_of(PROFILE);
    struct hearsay_summary_group groups[GROUPS_MAX];
    struct stored old = random_filter();
    struct stored new = random_filter();
    struct hearsay_summary_group first = {.union_filter = {old.bytes, BYTES},
                                          .least_count = 1,
                                          .most = {BITS},
                                          .most_count = 1,
                                          .count = 1,
                                          .newest_ms = 10};
    struct msg_peer_summary word;
    struct told told;

    assert_int_equal(told_init(&told, &profile), 0);
    assert_true(told_wants_groups(&told) && told_waits_for_groups(&told));
    assert_true(told_begin(&told, &first, 1, 7));
    assert_true(told_has_news(&told));
    told_write(&told, &word, groups);
    assert_true(word.full && word.seq == 7 && word_covers(&word, &old));
    told_sent(&told);
    assert_false(told_has_news(&told));
    told_add(&told, old.bytes, BYTES, 20); /* covered: its time is told */
    told_reach(&told, 8);
    assert_false(told_has_news(&told));
    told_write(&told, &word, groups);
    assert_true(!word.full && word.group_count == 0 && word.after == 7 && word.seq == 8);
    assert_int_equal(word.newest_ms, 20);
    told_sent(&told);
    told_add(&told, new.bytes, BYTES, 30);
    told_reach(&told, 9);
    assert_true(told_has_news(&told));
    told_write(&told, &word, groups);
    assert_true(word.group_count == 1 && word_covers(&word, &new) && word.after == 8);
    assert_true(word.newest_ms == INT64_MIN);
    told_deinit(&told);
}

TEST(test_many_deltas_make_a_full_word_due)
{
    const struct profile profile = profile_of(PROFILE);
    struct hearsay_summary_group groups[GROUPS_MAX];
    struct msg_peer_summary word;
    struct told told;

    assert_int_equal(told_init(&told, &profile), 0);
    assert_true(told_begin(&told, NULL, 0, 1));
    told_sent(&told);
    for (int i = 0; i < TOLD_DELTAS_MAX; i++) {
        struct stored filter = random_filter();

        assert_int_equal(told_wants_groups(&told), i >= TOLD_DELTAS);
        told_add(&told, filter.bytes, BYTES, i);
    }
    assert_false(told_waits_for_groups(&told));
    told_write(&told, &word, groups);
    assert_int_equal(word.group_count, TOLD_DELTAS_MAX);
    struct stored last = random_filter();
    told_add(&told, last.bytes, BYTES, 1); /* does not fit: no delta goes out any more */
    assert_true(told_waits_for_groups(&told));
    assert_false(told_has_news(&told));
    assert_true(told_begin(&told, NULL, 0, 99));
    assert_true(told_has_news(&told) && !told_wants_groups(&told));
    told_add(&told, last.bytes, BYTES - 1, 1); /* of another profile */
    assert_true(told_waits_for_groups(&told));
    told_deinit(&told);
}

/* A group says for each section of the profile how many bits its filters have set there. */
TEST(test_wrong_groups_are_not_told)
{
    const struct profile profile = profile_of("v2:wifi=320/2,any=192/3");
    struct stored filter = random_filter();
    const struct hearsay_summary_group right = {.union_filter = {filter.bytes, BYTES},
                                                .least = {0, 3},
                                                .least_count = 2,
                                                .most = {320, 192},
                                                .most_count = 2};
    struct hearsay_summary_group groups[GROUPS_MAX + 1];
    struct told told;

    for (size_t i = 0; i < GROUPS_MAX + 1; i++) {
        groups[i] = right;
    }
    assert_int_equal(told_init(&told, &profile), 0);
    assert_false(told_begin(&told, groups, GROUPS_MAX + 1, 1));
    assert_true(told_begin(&told, groups, GROUPS_MAX, 1));
    groups[0].most[1] = 2; /* below the least */
    assert_false(told_begin(&told, groups, 1, 1));
    groups[0].most[1] = 193; /* more than the section has */
    assert_false(told_begin(&told, groups, 1, 1));
    groups[0].most[1] = 65536 + 10;
    assert_false(told_begin(&told, groups, 1, 1));
    groups[0] = right;
    groups[0].least_count = 1; /* of another profile */
    assert_false(told_begin(&told, groups, 1, 1));
    groups[0] = right;
    groups[0].most_count = 3;
    assert_false(told_begin(&told, groups, 1, 1));
    groups[0] = right;
    groups[0].union_filter.count = BYTES - 8;
    assert_false(told_begin(&told, groups, 1, 1));
    assert_true(told_wants_groups(&told));
    told_deinit(&told);
}

/* A message that a union has, with another number of bits in a section, is told as a new group. */
TEST(test_ranges_by_section_are_told)
{
    const struct profile profile = profile_of("v2:wifi=320/2,any=192/3");
    struct hearsay_summary_group out[GROUPS_MAX];
    struct msg_peer_summary word;
    uint64_t filter[WORDS] = {0};
    struct stored stored;
    struct told told;

    bloom_set(filter, 1);
    bloom_set(filter, 319);
    bloom_set(filter, 320);
    bloom_store(filter, BITS, stored.bytes);
    struct hearsay_summary_group first = {.union_filter = {stored.bytes, BYTES},
                                          .least = {1, 1},
                                          .least_count = 2,
                                          .most = {1, 2},
                                          .most_count = 2,
                                          .count = 1};
    assert_int_equal(told_init(&told, &profile), 0);
    assert_true(told_begin(&told, &first, 1, 1));
    told_add(&told, stored.bytes, BYTES, 5);
    told_write(&told, &word, out);
    assert_int_equal(word.group_count, 2);
    assert_true(out[0].least_count == 2 && out[0].least[0] == 1 && out[0].least[1] == 1);
    assert_true(out[0].most_count == 2 && out[0].most[0] == 1 && out[0].most[1] == 2);
    assert_true(out[1].least[0] == 2 && out[1].most[0] == 2);
    assert_true(out[1].least[1] == 1 && out[1].most[1] == 1);
    told_sent(&told);
    told_add(&told, stored.bytes, BYTES, 6); /* the second group has it */
    assert_false(told_has_news(&told));
    told_deinit(&told);
}

/* --- when full words are due -------------------------------------------------------------------
 */

enum { ALL_GAP_MS = 10000 };

/* Makes and tells the full words that are due until end_ms. Returns how many; *out_last is the time
 * of the last one. */
static int make_due(struct due *due, uint64_t end_ms, uint64_t *out_last)
{
    int count = 0;

    while (due->full_ms <= end_ms) {
        uint64_t at = due->full_ms;

        due_begin(due);
        due_made(due, at);
        due_told(due, at);
        *out_last = at;
        count++;
    }
    return count;
}

/* 256 bridges that begin within 20 s cost each host a few full words, not 256. Each of them learns
 * within a second or so that the host is there, and has its full word soon after. */
TEST(test_neighbours_that_begin)
{
    struct due due;
    uint64_t last = 0;
    uint64_t now = 100000;
    int full = 0;
    int words = 0;

    due_init(&due, ALL_GAP_MS);
    assert_true(due.full_ms == UINT64_MAX && due.word_ms == UINT64_MAX);
    due_want(&due, now, 0);
    assert_int_equal(make_due(&due, now, &last), 1);
    for (int i = 0; i < 256; i++) {
        now += rng_below(&rng, 160);
        full += make_due(&due, now, &last);
        if (due.word_ms <= now) {
            due_told(&due, now);
            words++;
        }
        due_ask(&due, false, now, rng_below(&rng, DUE_SPREAD_MS));
        assert_true(due.full_ms <= now + ALL_GAP_MS + DUE_STRETCH * DUE_SPREAD_MS);
        assert_true(due.word_ms <= now + DUE_GAP_MS + DUE_SPREAD_MS ||
                    due.full_ms <= now + DUE_GAP_MS);
    }
    assert_in_range(full, 0, 40000 / ALL_GAP_MS);
    assert_in_range(words, 0, 40000 / DUE_GAP_MS);
    assert_int_equal(make_due(&due, UINT64_MAX - 1, &last), 1);
}

/* A host that is named tells sooner. But a neighbour that names it without end gets no more than
 * one that asks for all. */
TEST(test_a_neighbour_that_lost_a_word)
{
    struct due due;
    uint64_t last = 0;
    uint64_t now = 100000;
    int full = 0;

    due_init(&due, ALL_GAP_MS);
    due_made(&due, now);
    due_ask(&due, true, now + 1, 7);
    assert_true(due.full_ms == now + DUE_GAP_MS);
    for (int i = 0; i < 60000; i += 10) {
        full += make_due(&due, now + (uint64_t)i, &last);
        due_ask(&due, true, now + (uint64_t)i, 0);
    }
    assert_in_range(full, DUE_NAMED, DUE_NAMED + 2 * 60000 / ALL_GAP_MS);
    due_hold(&due, last, 5000); /* hearsayd gives no groups: nobody makes it ask sooner */
    due_want(&due, last, 0);
    due_ask(&due, true, last, 0);
    assert_true(due.full_ms == last + 5000);
}

/* --- the order of asks ------------------------------------------------------------------------ */

static uint32_t random_below(uint32_t n)
{
    return rng_below(&rng, n);
}

TEST(test_asks_of_50_ms_are_shuffled)
{
    static int items[SHUFFLE_MAX];
    struct shuffle shuffle = {.count = 0};
    void *out[SHUFFLE_MAX];
    bool differs = false;

    assert_true(shuffle_due_ms(&shuffle) == INT64_MAX);
    assert_true(shuffle_add(&shuffle, &items[0]));
    assert_int_equal(shuffle_take(&shuffle, 1000, random_below, out), 1); /* at once */
    for (int i = 0; i < SHUFFLE_MAX; i++) {
        assert_true(shuffle_add(&shuffle, &items[i]));
    }
    assert_false(shuffle_add(&shuffle, &items[0]));
    assert_int_equal(shuffle_due_ms(&shuffle), 1000 + SHUFFLE_MS);
    assert_int_equal(shuffle_take(&shuffle, 1000 + SHUFFLE_MS - 1, random_below, out), 0);
    assert_int_equal(shuffle_take(&shuffle, 1000 + SHUFFLE_MS, random_below, out), SHUFFLE_MAX);
    for (int i = 0; i < SHUFFLE_MAX; i++) {
        int *item = out[i];

        differs = differs || item != &items[i];
        assert_int_equal(*item, 0);
        *item = 1; /* each one once */
    }
    assert_true(differs);
    assert_true(shuffle_add(&shuffle, &items[3]));
    shuffle_remove(&shuffle, &items[3]);
    assert_int_equal(shuffle.count, 0);
}

/* Over many windows each order of three asks is as frequent as the others. */
TEST(test_each_order_is_as_likely)
{
    static char items[3];
    int count[6] = {0};

    for (int round = 0; round < 6000; round++) {
        struct shuffle shuffle = {.count = 0};
        void *out[SHUFFLE_MAX];

        for (int i = 0; i < 3; i++) {
            assert_true(shuffle_add(&shuffle, &items[i]));
        }
        assert_int_equal(shuffle_take(&shuffle, 0, random_below, out), 3);
        long first = (char *)out[0] - items;
        long second = (char *)out[1] - items;
        count[first * 2 + (second > first ? second - 1 : second)]++;
    }
    for (int i = 0; i < 6; i++) {
        assert_in_range(count[i], 800, 1200);
    }
}

/* --- rates ------------------------------------------------------------------------------------ */

TEST(test_a_greedy_neighbour_takes_nothing_from_others)
{
    struct rates rates = {.rest = {.used = 0}};
    int taken = 0;

    for (int i = 0; i < 1000; i++) {
        taken += rates_take(&rates, "greedy", 600, 1, 1000) ? 1 : 0;
    }
    assert_int_equal(taken, 100);
    assert_true(rates_take(&rates, "modest", 600, 1, 1000));
    assert_false(rates_take(&rates, "greedy", 600, 1, 1099));
    assert_true(rates_take(&rates, "greedy", 600, 1, 1100));
    for (int i = 0; i < 2 * RATES_MAX; i++) { /* names that are made up take no place for long */
        char name[BRIDGE_NAME_BYTES];

        (void)snprintf(name, sizeof(name), "p%d", i);
        (void)rates_take(&rates, name, 600, 1, 2000);
    }
    assert_true(rates_take(&rates, "late", 600, 1, 4000));
}

/* The dearest query passes when the bucket is full but for the token that it took when it came. */
TEST(test_dear_queries_take_more)
{
    struct rates rates = {.rest = {.used = 0}};

    assert_true(rates_take(&rates, "dear", 600, 40, 1000));
    assert_true(rates_take(&rates, "dear", 600, 40, 1000));
    assert_false(rates_take(&rates, "dear", 600, 40, 1000));
    assert_true(rates_take(&rates, "dear", 600, 20, 1000));
    assert_true(rates_take(&rates, "dearest", 600, 1, 1000));
    assert_true(rates_take(&rates, "dearest", 600, 100000, 1000));
    assert_false(rates_take(&rates, "dearest", 600, 1, 1000));
}

int main(void)
{
    rng_init(&rng);
    return check_run(NULL, NULL);
}
