/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bucket: a token bucket. It holds at most `burst` tokens, gets `per_minute` more each minute, and
 * gives one for each thing that is allowed. Over any time t no more than burst + rate * t are
 * given. Whole numbers only; the time is the caller's.
 */
#ifndef CORE_BASE_BUCKET_H
#define CORE_BASE_BUCKET_H

#include <stdbool.h>
#include <stdint.h>

struct bucket_rate {
    uint32_t per_minute; /* 0: no limit, everything is given */
    uint32_t burst;      /* tokens of a full bucket, at least 1 */
};

/* A full bucket is all zeros. */
struct bucket {
    uint64_t used; /* what is missing of a full bucket, in 1/60000 token: per_minute a ms */
    int64_t at_ms; /* when that was so */
};

/*
 * Takes `cost` tokens (one that costs more than a full bucket holds takes all of it) at now_ms, a
 * monotonic clock in ms; a time before the last one counts as the last one. 0, or after how many ms
 * (>= 1) it is worth trying again: then nothing was taken.
 */
uint64_t bucket_take(struct bucket *bucket, const struct bucket_rate *rate, uint32_t cost,
                     int64_t now_ms);

/* Whether it is full at now_ms, so that a new one would be the same. */
bool bucket_is_full(const struct bucket *bucket, const struct bucket_rate *rate, int64_t now_ms);

#endif
