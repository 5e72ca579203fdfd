/* SPDX-License-Identifier: Apache-2.0 */
/*
 * expiry: decides whether a message has expired. The store's SQL statement that deletes expired
 * messages (daemon/store/statement.c) makes the same comparison as message_expired.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Returns whether a message that expires at `expires_ms` has expired at `now_ms`. Both times are of
 * the host's clock. In the millisecond `expires_ms` the message has expired already.
 */
static inline bool message_expired(int64_t expires_ms, int64_t now_ms)
{
    return expires_ms <= now_ms;
}
