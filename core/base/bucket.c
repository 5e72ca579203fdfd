/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/bucket.h"

enum { TOKEN = 60000 }; /* a token in the unit of bucket.used: milliseconds in a minute */

/*
 * Returns the tokens that are missing at `now_ms`, in the unit of bucket.used. With per_minute 0,
 * returns 0. The function compares `elapsed` before it multiplies, so elapsed * per_minute cannot
 * overflow.
 */
static uint64_t used_at(const struct bucket *bucket, const struct bucket_rate *rate, int64_t now_ms)
{
    uint64_t most =
        (uint64_t)rate->burst * TOKEN; /* bucket->used may be larger, because a reload
                                          of the configuration may make `burst` smaller */
    uint64_t used = bucket->used < most ? bucket->used : most;

    if (rate->per_minute == 0) {
        return 0;
    }
    if (now_ms <= bucket->at_ms) {
        return used;
    }
    uint64_t elapsed = (uint64_t)now_ms - (uint64_t)bucket->at_ms;
    return elapsed > used / rate->per_minute ? 0 : used - elapsed * rate->per_minute;
}

uint64_t bucket_take(struct bucket *bucket, const struct bucket_rate *rate, uint32_t cost,
                     int64_t now_ms)
{
    uint64_t most = (uint64_t)rate->burst * TOKEN;
    uint64_t wanted = (uint64_t)(cost < rate->burst ? cost : rate->burst) * TOKEN;
    uint64_t used = used_at(bucket, rate, now_ms);

    if (rate->per_minute == 0) {
        return 0;
    }
    if (used + wanted > most) {
        uint64_t lacking = used + wanted - most;
        return (lacking + rate->per_minute - 1) / rate->per_minute;
    }
    bucket->used = used + wanted;
    if (now_ms > bucket->at_ms) {
        bucket->at_ms = now_ms;
    }
    return 0;
}

void bucket_give(struct bucket *bucket, const struct bucket_rate *rate, uint32_t tokens,
                 int64_t now_ms)
{
    uint64_t used = used_at(bucket, rate, now_ms);
    uint64_t given = (uint64_t)tokens * TOKEN;

    bucket->used = used > given ? used - given : 0;
    bucket->at_ms = now_ms > bucket->at_ms ? now_ms : bucket->at_ms;
}

bool bucket_is_full(const struct bucket *bucket, const struct bucket_rate *rate, int64_t now_ms)
{
    return used_at(bucket, rate, now_ms) == 0;
}
