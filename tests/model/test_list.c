/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list with so many messages that it has chunks of both sizes: it grows past each of their
 * ends, shrinks again, and answers on the way like a plain array.
 */
#include "tests/lib/check.h"
#include "tests/lib/fail_alloc.h"
#include "tests/lib/plain_query.h"
#include "tests/lib/rng.h"
#include "tests/reference/check.h"
#include "tests/reference/engines.h"

enum { WORDS = 2, BITS = 64 * WORDS, MESSAGES_MAX = 16384 + 2 * 4096 + 100, K = 7, SEARCHES = 20 };

struct message {
    uint64_t filter[WORDS];
    struct index_item item;
    uint32_t shared; /* with the query under way */
    uint32_t all;
};

/* Where chunks of the list end: the first, the last of 512, the first two of 4,096. */
static const uint32_t ends[] = {512, 16384, 20480, 24576};

static struct message messages[MESSAGES_MAX]; /* those in the list, in no order */
static uint32_t count;
static struct index *list;
static struct rng rng;

static void insert_message(void)
{
    struct message *message = &messages[count];
    const uint64_t number = rng_next(&rng); /* twice the same: once in 10^10 runs */

    *message = (struct message){.item = {.expires_ms = INT64_MAX, .reach_ppm = DISTANCE_ONE_PPM}};
    memcpy(message->item.id, &number, sizeof number);
    message->item.deposited_ms = rng_below(&rng, 1000);
    message->item.bytes = rng_below(&rng, 1000);
    rng_filter(&rng, BITS, 20, message->filter);
    assert_int_equal(index_insert(list, &message->item, message->filter), 0);
    count++;
}

static void check_found(const struct message *message)
{
    uint64_t filter[WORDS];
    struct index_item item;

    assert_int_equal(index_find(list, message->item.id, &item, filter), 0);
    assert_memory_equal(filter, message->filter, sizeof filter);
    assert_memory_equal(item.id, message->item.id, MESSAGE_ID_BYTES);
    assert_true(item.deposited_ms == message->item.deposited_ms);
    assert_true(item.expires_ms == message->item.expires_ms);
    assert_int_equal(item.reach_ppm, message->item.reach_ppm);
    assert_int_equal(item.bytes, message->item.bytes);
}

static void remove_message(void)
{
    struct message *message = &messages[rng_below(&rng, count)];

    check_found(message);
    assert_int_equal(index_remove(list, message->item.id, NULL), 0);
    *message = messages[--count];
}

static void compare_all(const uint64_t *query)
{
    for (uint32_t i = 0; i < count; i++) {
        struct message *message = &messages[i];

        message->shared = message->all = 0;
        for (uint32_t p = 0; p < BITS; p++) {
            const uint64_t a = query[p / 64] >> p % 64 & 1;
            const uint64_t b = message->filter[p / 64] >> p % 64 & 1;

            message->shared += (uint32_t)(a & b);
            message->all += (uint32_t)(a | b);
        }
    }
}

/* More similar, then newer, then of the smaller id. */
static bool comes_before(const struct message *a, const struct message *b)
{
    const uint32_t left = a->shared * b->all;
    const uint32_t right = b->shared * a->all;

    if (left != right) {
        return left > right;
    }
    if (a->item.deposited_ms != b->item.deposited_ms) {
        return a->item.deposited_ms > b->item.deposited_ms;
    }
    return memcmp(a->item.id, b->item.id, MESSAGE_ID_BYTES) < 0;
}

/* The first `K` of an array by insertion; how many there are. */
static uint32_t plain_best(const struct message **out)
{
    uint32_t held = 0;

    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = held;

        for (; at > 0 && comes_before(&messages[i], out[at - 1]); at--) {
            if (at < K) {
                out[at] = out[at - 1];
            }
        }
        if (at < K) {
            out[at] = &messages[i];
            held += held < K;
        }
    }
    return held;
}

/* A search in steps of `budget`, with messages coming and going between the first of them. */
static void check_search(const struct alloc *alloc, uint64_t budget, uint32_t changes)
{
    uint64_t filter[WORDS];
    struct index_part part = {.index = list, .filter = filter};
    const struct index_query query = plain_index_query(&part, 1, K);
    const struct message *expected[K];
    struct index_search *search = NULL;
    uint32_t found_count = 0;

    rng_filter(&rng, BITS, 20, filter);
    assert_int_equal(index_search_new(alloc, &query, &search), 0);
    while (index_search_step(search, budget, 0) == INDEX_MORE) {
        for (; changes > 0 && count > 2 && count < MESSAGES_MAX; changes--) {
            if (rng_chance(&rng, 50)) {
                insert_message();
            } else {
                remove_message();
            }
        }
    }
    compare_all(filter);
    const uint32_t expected_count = plain_best(expected);
    const struct nearest_candidate *found = index_search_results(search, &found_count);
    assert_int_equal(found_count, expected_count);
    for (uint32_t i = 0; i < found_count; i++) {
        assert_memory_equal(found[i].item.id, expected[i]->item.id, MESSAGE_ID_BYTES);
        assert_int_equal(found[i].intersection, expected[i]->shared);
        assert_int_equal(found[i].union_count, expected[i]->all);
    }
    index_search_free(search);
}

static void check_all(const struct fail_alloc *alloc, size_t bytes_beside)
{
    static const uint64_t budgets[] = {UINT64_MAX, 5000, 3};

    assert_int_equal(index_count(list), count);
    assert_int_equal(index_bytes(list), alloc->live_bytes - bytes_beside);
    assert_null(check_index(list));
    for (size_t b = 0; b < sizeof budgets / sizeof budgets[0]; b++) {
        check_search(&alloc->alloc, budgets[b], 0);
    }
}

static bool is_at_end(uint32_t number)
{
    for (size_t e = 0; e < sizeof ends / sizeof ends[0]; e++) {
        if (number + 1 >= ends[e] && number <= ends[e] + 1) {
            return true;
        }
    }
    return false;
}

TEST(test_many_messages)
{
    const struct profile profile = {
        .bits = BITS,
        .section_count = 1,
        .sections = {{.bits = BITS, .hashes = 4}},
    };
    struct fail_alloc alloc;

    rng_init(&rng);
    fail_alloc_init(&alloc);
    const size_t bytes_beside = alloc.live_bytes;
    const struct index_options options = {
        .alloc = &alloc.alloc,
        .profile = &profile,
        .kernels = bits_select(BITS_BEST),
    };
    assert_int_equal(index_new(&list_engine, &options, &list), 0);
    while (count < MESSAGES_MAX) {
        insert_message();
        if (is_at_end(count)) {
            check_all(&alloc, bytes_beside);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        check_found(&messages[i]);
    }
    for (uint32_t i = 0; i < SEARCHES; i++) {
        check_search(&alloc.alloc, 1 + rng_below(&rng, 9000), 200);
    }
    while (count > 0) {
        remove_message();
        if (is_at_end(count)) {
            check_all(&alloc, bytes_beside);
        }
    }
    assert_null(check_index(list));
    index_free(list);
    assert_int_equal(alloc.live_blocks, 0);
}
