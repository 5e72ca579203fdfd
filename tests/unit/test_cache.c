/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/host/cache.h"

#include "tests/lib/check.h"
#include "tests/lib/rng.h"

static void make_id(uint32_t number, uint8_t *out)
{
    memset(out, 0, MESSAGE_ID_BYTES);
    memcpy(out, &number, sizeof(number));
}

static bool put(struct cache *cache, uint32_t host, uint32_t number, const char *payload)
{
    uint8_t id[MESSAGE_ID_BYTES];
    struct cache_entry entry = {.payload = (const uint8_t *)payload,
                                .payload_bytes = strlen(payload),
                                .media_type = "text/plain",
                                .media_type_bytes = 10};

    make_id(number, id);
    return cache_put(cache, host, id, &entry);
}

static bool holds(struct cache *cache, uint32_t host, uint32_t number, const char *payload)
{
    uint8_t id[MESSAGE_ID_BYTES];
    struct cache_entry entry;

    make_id(number, id);
    if (!cache_get(cache, host, id, &entry)) {
        return false;
    }
    assert_int_equal(entry.media_type_bytes, 10);
    assert_memory_equal(entry.media_type, "text/plain", 10);
    assert_int_equal(entry.payload_bytes, strlen(payload));
    assert_memory_equal(entry.payload, payload, strlen(payload));
    return true;
}

TEST(test_keeps_copies_by_host_and_id)
{
    struct cache *cache = cache_new(100000);
    char text[] = "first";

    assert_non_null(cache);
    assert_int_equal(cache_bytes(cache), 0);
    assert_true(put(cache, 1, 7, text));
    memset(text, 'x', 5); /* the cache has a copy */
    assert_true(put(cache, 2, 7, "second"));
    assert_true(put(cache, 1, 8, ""));
    assert_true(holds(cache, 1, 7, "first"));
    assert_true(holds(cache, 2, 7, "second"));
    assert_true(holds(cache, 1, 8, ""));
    assert_false(holds(cache, 3, 7, ""));
    cache_free(cache);
    cache_free(NULL);
}

TEST(test_replaces_and_drops)
{
    struct cache *cache = cache_new(100000);
    uint8_t id[MESSAGE_ID_BYTES];
    uint64_t bytes;

    assert_true(put(cache, 1, 7, "long payload"));
    bytes = cache_bytes(cache);
    assert_true(put(cache, 1, 7, "short"));
    assert_int_equal(cache_bytes(cache), bytes - 7);
    assert_true(holds(cache, 1, 7, "short"));
    make_id(7, id);
    cache_drop(cache, 2, id);
    assert_true(holds(cache, 1, 7, "short"));
    cache_drop(cache, 1, id);
    assert_false(holds(cache, 1, 7, "short"));
    cache_drop(cache, 1, id);
    assert_int_equal(cache_bytes(cache), 0);
    cache_free(cache);
}

TEST(test_refuses_more_than_an_eighth)
{
    struct cache *cache = cache_new(8000);
    char large[1001];
    struct cache_entry absurd = {.payload_bytes = SIZE_MAX, .media_type_bytes = SIZE_MAX};
    uint8_t id[MESSAGE_ID_BYTES];

    memset(large, 'x', 1000);
    large[1000] = '\0';
    assert_true(put(cache, 1, 1, "small"));
    assert_false(put(cache, 1, 2, large));
    assert_true(holds(cache, 1, 1, "small"));
    /* The older entry of the same message must not stay. */
    assert_false(put(cache, 1, 1, large));
    assert_false(holds(cache, 1, 1, "small"));
    make_id(3, id);
    assert_false(cache_put(cache, 1, id, &absurd));
    cache_free(cache);

    cache = cache_new(0);
    assert_false(put(cache, 1, 1, ""));
    cache_free(cache);
}

TEST(test_drops_the_longest_unused)
{
    struct cache *cache = cache_new(0);
    uint64_t one;

    cache_free(cache);
    cache = cache_new(100000);
    assert_true(put(cache, 1, 0, "0"));
    one = cache_bytes(cache);
    cache_free(cache);

    cache = cache_new(10 * one);
    for (uint32_t i = 0; i < 10; i++) {
        assert_true(put(cache, 1, i, "x"));
    }
    assert_int_equal(cache_bytes(cache), 10 * one);
    assert_true(holds(cache, 1, 0, "x")); /* the oldest is the newest now */
    assert_true(put(cache, 1, 10, "x"));
    assert_true(put(cache, 1, 11, "x"));
    assert_int_equal(cache_bytes(cache), 10 * one);
    assert_true(holds(cache, 1, 0, "x"));
    assert_false(holds(cache, 1, 1, "x"));
    assert_false(holds(cache, 1, 2, "x"));
    for (uint32_t i = 3; i < 12; i++) {
        assert_true(holds(cache, 1, i, "x"));
    }
    cache_free(cache);
}

/* What it holds is always right and within the limit, whatever is done to it. */
TEST(test_random_operations)
{
    enum { NUMBERS = 300, LIMIT = 20000 };
    struct cache *cache = cache_new(LIMIT);
    char latest[NUMBERS][64];
    struct rng rng;
    uint8_t id[MESSAGE_ID_BYTES];
    unsigned hits = 0;

    rng_init(&rng);
    memset(latest, 0, sizeof(latest));
    for (unsigned i = 0; i < 50000; i++) {
        uint32_t number = rng_below(&rng, NUMBERS);
        char *text = latest[number];
        uint32_t what = rng_below(&rng, 10);

        if (what == 0) {
            make_id(number, id);
            cache_drop(cache, number % 3, id);
            assert_false(holds(cache, number % 3, number, text));
        } else if (what < 5) {
            (void)snprintf(text, 64, "%.*s %u", (int)rng_below(&rng, 40),
                           "................................................", i);
            assert_true(put(cache, number % 3, number, text));
            assert_true(holds(cache, number % 3, number, text));
        } else if (holds(cache, number % 3, number, text)) {
            hits++;
        }
        assert_true(cache_bytes(cache) <= LIMIT);
    }
    assert_true(hits > 1000);
    cache_free(cache);
}
