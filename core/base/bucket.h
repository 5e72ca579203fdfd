/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bucket: a token bucket, for rate limits. It holds at most `burst` tokens and gains `per_minute`
 * tokens each minute. An allowed action takes tokens. So in any time t at most burst + rate * t
 * tokens are taken. Example: per_minute 60 and burst 10 allow 10 actions at once, then one a
 * second.
 *
 * Whole numbers only. The caller passes the time.
 */
#ifndef CORE_BASE_BUCKET_H
#define CORE_BASE_BUCKET_H

#include <stdbool.h>
#include <stdint.h>

struct bucket_rate {
    uint32_t per_minute; /* 0: no limit, every request succeeds */
    uint32_t burst;      /* tokens of a full bucket, at least 1 */
};

/* A full bucket is all zeros. */
struct bucket {
    uint64_t used; /* missing tokens, in 1/60000 token: `per_minute` of these return each ms */
    int64_t at_ms; /* the time of the last bucket_take */
};

/*
 * Takes `cost` tokens. If `cost` is more than a full bucket holds, it takes all tokens of a full
 * bucket. now_ms: a monotonic clock in milliseconds; an earlier time than the last one counts as
 * the last one. Returns 0, or the number of ms (>= 1) after which there are enough tokens: then no
 * token was taken. O(1).
 */
uint64_t bucket_take(struct bucket *bucket, const struct bucket_rate *rate, uint32_t cost,
                     int64_t now_ms);

/* Whether the bucket is full at now_ms. A full bucket may be replaced by a zeroed one. O(1). */
bool bucket_is_full(const struct bucket *bucket, const struct bucket_rate *rate, int64_t now_ms);

#endif
