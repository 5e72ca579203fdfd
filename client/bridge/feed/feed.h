/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feed: the changes of a host between hearsayd and the hub: whether a refusal is about them, how
 * letters have them, and the digest by which two copies are compared.
 */
#pragma once

#include "client/hearsay.h"
#include "proto/letter.h"

/* Whether a refusal of apply is about the changes: hearsayd may take fewer of them.
 * Else it is about the request, or hearsayd. */
bool feed_is_about_change(const struct hearsay_error *error);

/* The change as a letter has it. Letters are read strictly: a `why` of a later version of hearsayd
 * becomes HEARSAY_WAS_REMOVED. */
struct hearsay_change feed_for_letter(const struct hearsay_change *change);

/* How many messages two copies should have, and the XOR of the hashes of their states. */
struct feed_digest {
    uint64_t count;
    uint64_t digest;
};

/*
 * Adds a change. Only messages count that were deposited before the one time and expire after the
 * other: what comes and goes while the two are compared does not. 0, or -ERR_NOMEM.
 */
int feed_digest_add(struct feed_digest *digest, const struct hearsay_change *change,
                    int64_t deposited_before_ms, int64_t expires_after_ms);
