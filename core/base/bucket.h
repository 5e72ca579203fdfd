/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bucket: a token bucket, for rate limits. A bucket holds at most `burst` tokens and, until it is
 * full, gains `per_minute` tokens each minute. An allowed action takes tokens. Within t minutes,
 * actions take at most burst + per_minute * t tokens. Example: per_minute 60 and burst 10 allow 10
 * actions of one token at once, and then one action a second. A rate with per_minute 0 has no
 * limit.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct bucket_rate {
    uint32_t per_minute; /* 0: no limit, bucket_take always succeeds */
    uint32_t burst;      /* tokens of a full bucket, at least 1 */
};

/* A zeroed struct is a full bucket. */
struct bucket {
    uint64_t used; /* how many tokens the bucket lacks at `at_ms`, in units of 1/60000 token; in a
                      millisecond the bucket gains `per_minute` units */
    int64_t at_ms; /* milliseconds; the latest time at which bucket_take took tokens, or 0 */
};

/*
 * Takes `cost` tokens. If a full bucket holds fewer than `cost` tokens, takes all tokens of a full
 * bucket instead. `now_ms` is a monotonic clock in milliseconds; a time before bucket.at_ms counts
 * as bucket.at_ms. Returns 0 on success. If the bucket has too few tokens, takes none and returns
 * the number of milliseconds, at least 1, after which there are enough if no other call takes
 * tokens. With per_minute 0, takes no token and returns 0. O(1).
 */
uint64_t bucket_take(struct bucket *bucket, const struct bucket_rate *rate, uint32_t cost,
                     int64_t now_ms);

/* Gives back tokens that bucket_take has taken and the action did not need. O(1). */
void bucket_give(struct bucket *bucket, const struct bucket_rate *rate, uint32_t tokens,
                 int64_t now_ms);

/*
 * Returns whether the bucket is full at `now_ms`, or per_minute is 0. A program may zero the struct
 * of a full bucket. O(1).
 */
bool bucket_is_full(const struct bucket *bucket, const struct bucket_rate *rate, int64_t now_ms);
