/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A token bucket against its promise: over any stretch of time t of any sequence of requests no
 * more than burst + rate * t tokens are given; and what is refused could not have been given, by a
 * plain account of what there is.
 */
#include "core/base/bucket.h"

#include "tests/lib/check.h"
#include "tests/lib/rng.h"

enum { SEQUENCES = 200, REQUESTS = 400 };

struct given {
    int64_t at_ms;
    uint32_t tokens;
};

/* Between any two moments, both included. */
static void check_promise(const struct given *given, size_t count, const struct bucket_rate *rate)
{
    for (size_t first = 0; first < count; first++) {
        uint64_t sum = 0;
        for (size_t last = first; last < count; last++) {
            const uint64_t elapsed_ms = (uint64_t)(given[last].at_ms - given[first].at_ms);
            sum += given[last].tokens;
            assert_true(sum * 60000 <=
                        (uint64_t)rate->burst * 60000 + elapsed_ms * rate->per_minute);
        }
    }
}

static int64_t next_pause(struct rng *rng)
{
    switch (rng_below(rng, 4)) {
    case 0:
        return 0;
    case 1:
        return rng_below(rng, 10);
    case 2:
        return rng_below(rng, 2000);
    default:
        return rng_below(rng, 200000);
    }
}

static void one_sequence(struct rng *rng)
{
    static struct given given[REQUESTS];
    const struct bucket_rate rate = {.per_minute =
                                         1 + rng_below(rng, rng_chance(rng, 50) ? 5 : 9000),
                                     .burst = 1 + rng_below(rng, rng_chance(rng, 50) ? 5 : 500)};
    struct bucket bucket = {0};
    uint64_t level = (uint64_t)rate.burst * 60000; /* the reference: what there is, in 1/60000 */
    int64_t now_ms = (int64_t)(rng_next(rng) >> 20);
    size_t count = 0;

    for (int i = 0; i < REQUESTS; i++) {
        const int64_t pause_ms = next_pause(rng);
        const uint32_t cost = rng_below(rng, rng_chance(rng, 90) ? 4 : 1000);
        const uint32_t tokens = cost < rate.burst ? cost : rate.burst;

        now_ms += pause_ms;
        level += (uint64_t)pause_ms * rate.per_minute;
        level = level < (uint64_t)rate.burst * 60000 ? level : (uint64_t)rate.burst * 60000;
        const uint64_t wait_ms = bucket_take(&bucket, &rate, cost, now_ms);
        assert_int_equal(wait_ms == 0, level >= (uint64_t)tokens * 60000);
        if (wait_ms == 0) {
            level -= (uint64_t)tokens * 60000;
            given[count++] = (struct given){now_ms, tokens};
        } else { /* then it is enough, and a millisecond earlier it is not */
            assert_true(level + wait_ms * rate.per_minute >= (uint64_t)tokens * 60000);
            assert_true(level + (wait_ms - 1) * rate.per_minute < (uint64_t)tokens * 60000);
        }
        assert_int_equal(bucket_is_full(&bucket, &rate, now_ms),
                         level == (uint64_t)rate.burst * 60000);
    }
    check_promise(given, count, &rate);
}

TEST(never_more_than_promised)
{
    struct rng rng;

    rng_init(&rng);
    for (int i = 0; i < SEQUENCES; i++) {
        one_sequence(&rng);
    }
}
