/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refused: senders that hearsayd has refused because of their rate, until the time that it named.
 * hearsayd alone decides how often a sender may ask or write; whoever comes earlier than it said is
 * answered from here, and takes no place in a queue.
 */
#pragma once

#include "client/hearsay.h"
#include "client/web/http.h"
#include "daemon/system/keyed_hash.h"

enum {
    REFUSED_MAX = 1024,     /* senders of which a refusal is remembered */
    REFUSED_MS = 60 * 1000, /* for how long, at most */
};

/* No address is kept: `sender` is a keyed hash. Times are by the loop's clock. */
struct refused {
    uint8_t key[KEYED_HASH_KEY_BYTES];
    struct {
        uint64_t sender;
        int64_t until_ms;
    } senders[REFUSED_MAX];
};

/* Draws the key. `refused` is zeroed. */
void refused_init(struct refused *refused);

/* Notes what hearsayd has told a client, in the place of another sender's refusal, if need be. */
void refused_note(struct refused *refused, const struct http_address *client,
                  uint64_t retry_after_ms, int64_t now_ms);

/* Whether a client comes earlier than hearsayd said; then *out_error is as hearsayd's error. */
bool refused_has(const struct refused *refused, const struct http_address *client, int64_t now_ms,
                 struct hearsay_error *out_error);

/* Forgets the senders whose time is over. */
void refused_tidy(struct refused *refused, int64_t now_ms);
