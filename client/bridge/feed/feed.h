/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feed: the changes of a host between hearsayd and the hub: from the structs of libhearsay to
 * letters and back, and the digest by which two copies are compared.
 */
#ifndef CLIENT_BRIDGE_FEED_FEED_H
#define CLIENT_BRIDGE_FEED_FEED_H

#include <stdbool.h>
#include <stdint.h>

#include "client/hearsay.h"
#include "proto/arena.h"
#include "proto/letter.h"

/* A change of hearsayd as a change of a letter. Borrows from `from`. */
void feed_to_letter(const struct hearsay_change *from, struct msg_change *out);

/* The other way, for hearsay_submit_apply, without seq. Borrows from `from`. False: the change has
 * no content, or several. */
bool feed_from_letter(const struct msg_change *from, struct hearsay_change *out);

/* Converts whole arrays into memory of the arena. Those without content are left out; *out_count is
 * how many there are. NULL: no memory. */
struct msg_change *feed_to_letters(const struct hearsay_change *from, size_t count,
                                   struct arena *arena);
struct hearsay_change *feed_from_letters(const struct msg_change *from, size_t count,
                                         struct arena *arena, size_t *out_count);

/* Whether a refusal of hearsay_submit_apply is about the changes: hearsayd may take fewer of them.
 * Else it is about the request, or hearsayd. */
bool feed_is_about_change(const struct hearsay_error *error);

/* How many messages two copies should have, and the XOR of the hashes of their states. */
struct feed_digest {
    uint64_t count;
    uint64_t digest;
};

/*
 * Adds a change. Only messages count that were deposited before the one time and expire after the
 * other: what comes and goes while the two are compared does not. 0, or -ERR_NOMEM.
 */
int feed_digest_add(struct feed_digest *digest, const struct msg_change *change,
                    int64_t deposited_before_ms, int64_t expires_after_ms);

#endif
