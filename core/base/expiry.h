/* SPDX-License-Identifier: Apache-2.0 */
/*
 * expiry: decides whether a message has expired, and whether the times of a message that another
 * server tells can be those of a message. The store's SQL statement that deletes expired messages
 * (daemon/store/statement.c) makes the same comparison as message_expired.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* No time is later: the end of the year 9999. No message lives longer than ttl_max may be. */
#define MESSAGE_TIME_MAX_MS INT64_C(253402300799999)
#define MESSAGE_LIFE_MAX_MS (INT64_C(3650) * 24 * 3600 * 1000)

/* Whether a time is from 1970 to 9999. */
static inline bool message_time_fits(int64_t time_ms)
{
    return time_ms >= 0 && time_ms <= MESSAGE_TIME_MAX_MS;
}

/* Whether a message can have these times: it expires after its deposit, and not too late. */
static inline bool message_times_fit(int64_t deposited_ms, int64_t expires_ms)
{
    return message_time_fits(deposited_ms) && message_time_fits(expires_ms) &&
           expires_ms > deposited_ms && expires_ms - deposited_ms <= MESSAGE_LIFE_MAX_MS;
}

/*
 * Returns whether a message that expires at `expires_ms` has expired at `now_ms`. Both times are of
 * the host's clock. In the millisecond `expires_ms` the message has expired already.
 */
static inline bool message_expired(int64_t expires_ms, int64_t now_ms)
{
    return expires_ms <= now_ms;
}
