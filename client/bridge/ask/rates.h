/* SPDX-License-Identifier: Apache-2.0 */
/* rates: how much each peer may ask: a token bucket for each name. No I/O, no clock. */
#ifndef CLIENT_BRIDGE_ASK_RATES_H
#define CLIENT_BRIDGE_ASK_RATES_H

#include <stdbool.h>
#include <stdint.h>

#include "client/bridge/setup/config.h"
#include "core/base/bucket.h"

enum { RATES_MAX = 256, RATES_REST = 10 };

struct rates_peer {
    char name[BRIDGE_NAME_BYTES]; /* "": free */
    struct bucket bucket;
};

/* Zeroed: all buckets are full. */
struct rates {
    struct rates_peer peers[RATES_MAX];
    struct bucket rest; /* of all for whom there is no place: RATES_REST times as large */
};

/*
 * Takes tokens of the peer, whose name the hub has vouched for (subject_asker) and has fewer than
 * BRIDGE_NAME_BYTES. False: it has too few, and none was taken. A peer gains `per_minute`
 * tokens a minute, and has at most a sixth of them, at least 10. A query pays one token before its
 * cost is known. So a cost is lowered to this most less one: else a dear query could never be paid.
 */
bool rates_take(struct rates *rates, const char *name, uint32_t per_minute, uint32_t cost,
                int64_t now_ms);

#endif
