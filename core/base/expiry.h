/* SPDX-License-Identifier: Apache-2.0 */
/*
 * expiry: decides whether a message has expired. Every part of hearsayd that leaves out, refuses or
 * deletes expired messages calls message_expired. Two SQL statements of the store delete expired
 * messages (daemon/store/statement.c); they make the same comparison.
 */
#ifndef CORE_BASE_EXPIRY_H
#define CORE_BASE_EXPIRY_H

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

#endif
