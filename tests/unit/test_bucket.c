/* SPDX-License-Identifier: Apache-2.0 */
/* A token bucket: what it gives at once, what it regains, and how long it says to wait. */
#include "core/base/bucket.h"

#include "tests/lib/check.h"

static const struct bucket_rate six_a_minute = {.per_minute = 6, .burst = 3};

TEST(a_full_bucket_gives_its_burst)
{
    struct bucket bucket = {0};

    for (int i = 0; i < 3; i++) {
        assert_int_equal(bucket_take(&bucket, &six_a_minute, 1, 1000), 0);
    }
    assert_int_equal(bucket_take(&bucket, &six_a_minute, 1, 1000), 10000);
}

/* The time that it names is the first at which asking again helps. */
TEST(it_says_how_long_to_wait)
{
    struct bucket bucket = {0};

    assert_int_equal(bucket_take(&bucket, &six_a_minute, 3, 0), 0);
    assert_int_equal(bucket_take(&bucket, &six_a_minute, 1, 1), 9999);
    assert_int_equal(bucket_take(&bucket, &six_a_minute, 1, 9999), 1);
    assert_int_equal(bucket_take(&bucket, &six_a_minute, 2, 9999), 10001);
    assert_int_equal(bucket_take(&bucket, &six_a_minute, 1, 10000), 0);
}

/* A refusal costs nothing. */
TEST(a_refusal_takes_nothing)
{
    struct bucket bucket = {0};

    assert_int_equal(bucket_take(&bucket, &six_a_minute, 2, 0), 0);
    assert_int_equal(bucket_take(&bucket, &six_a_minute, 2, 0), 10000);
    assert_int_equal(bucket_take(&bucket, &six_a_minute, 1, 0), 0);
}

/* What costs more than a full bucket can be had all the same, from a full one. */
TEST(a_cost_beyond_the_burst_takes_all)
{
    struct bucket bucket = {0};

    assert_int_equal(bucket_take(&bucket, &six_a_minute, UINT32_MAX, 0), 0);
    assert_int_equal(bucket_take(&bucket, &six_a_minute, UINT32_MAX, 1), 29999);
    assert_int_equal(bucket_take(&bucket, &six_a_minute, UINT32_MAX, 30000), 0);
}

TEST(it_holds_no_more_than_its_burst)
{
    struct bucket bucket = {0};

    assert_int_equal(bucket_take(&bucket, &six_a_minute, 3, 0), 0);
    assert_false(bucket_is_full(&bucket, &six_a_minute, 29999));
    assert_true(bucket_is_full(&bucket, &six_a_minute, 30000));
    assert_int_equal(bucket_take(&bucket, &six_a_minute, 3, INT64_MAX), 0);
    assert_true(bucket_take(&bucket, &six_a_minute, 1, INT64_MAX) > 0);
}

/* A clock that goes back gives nothing, and takes nothing either. */
TEST(time_never_runs_backwards)
{
    struct bucket bucket = {0};

    assert_int_equal(bucket_take(&bucket, &six_a_minute, 3, 50000), 0);
    assert_int_equal(bucket_take(&bucket, &six_a_minute, 1, INT64_MIN), 10000);
    assert_int_equal(bucket_take(&bucket, &six_a_minute, 1, 59999), 1);
    assert_int_equal(bucket_take(&bucket, &six_a_minute, 1, 60000), 0);
}

TEST(no_rate_is_no_limit)
{
    const struct bucket_rate none = {.per_minute = 0, .burst = 1};
    struct bucket bucket = {0};

    for (int i = 0; i < 1000; i++) {
        assert_int_equal(bucket_take(&bucket, &none, 1, 0), 0);
    }
    assert_true(bucket_is_full(&bucket, &none, 0));
}

/* After a reload the bucket is as empty as the new size allows, and regains at the new rate. */
TEST(a_rate_may_change)
{
    const struct bucket_rate wide = {.per_minute = 60, .burst = 1000};
    struct bucket bucket = {0};

    assert_int_equal(bucket_take(&bucket, &wide, 1000, 0), 0);
    assert_int_equal(bucket_take(&bucket, &six_a_minute, 1, 0), 10000);
    assert_int_equal(bucket_take(&bucket, &six_a_minute, 1, 10000), 0);
}

/* What is given back can be taken again at once; a bucket never has more than its burst. */
TEST(tokens_come_back)
{
    const struct bucket_rate none = {.per_minute = 0, .burst = 1};
    struct bucket bucket = {0};

    assert_int_equal(bucket_take(&bucket, &six_a_minute, 3, 0), 0);
    bucket_give(&bucket, &six_a_minute, 2, 0);
    assert_int_equal(bucket_take(&bucket, &six_a_minute, 2, 0), 0);
    assert_int_equal(bucket_take(&bucket, &six_a_minute, 1, 0), 10000);
    bucket_give(&bucket, &six_a_minute, 1, 5000); /* half a token has come meanwhile */
    assert_int_equal(bucket_take(&bucket, &six_a_minute, 2, 5000), 5000);
    bucket_give(&bucket, &six_a_minute, 0, 4000); /* time never runs backwards */
    assert_int_equal(bucket_take(&bucket, &six_a_minute, 2, 4000), 5000);
    bucket_give(&bucket, &six_a_minute, UINT32_MAX, 5000);
    assert_true(bucket_is_full(&bucket, &six_a_minute, 5000));
    assert_int_equal(bucket_take(&bucket, &six_a_minute, 3, 5000), 0);
    assert_true(bucket_take(&bucket, &six_a_minute, 1, 5000) > 0);
    bucket_give(&bucket, &none, 1, 5000);
    assert_true(bucket_is_full(&bucket, &none, 5000));
}
