/* SPDX-License-Identifier: Apache-2.0 */
/*
 * digest: compares what hearsayd has with what a reader has: how many messages, and the XOR of the
 * hashes of their states. Messages of the last minute, and those that end in the next, do not
 * count.
 */
#ifndef CLIENT_BRIDGE_OWN_DIGEST_H
#define CLIENT_BRIDGE_OWN_DIGEST_H

#include "client/bridge/feed/feed.h"
#include "client/bridge/own/pages.h"
#include "client/link/link.h"

enum digest_outcome {
    DIGEST_SAME,
    DIGEST_DIFFERENT,
    DIGEST_UNKNOWN /* no reader answered, or hearsayd was lost meanwhile */
};

struct digest {
    const char *host;
    const char *reader;
    struct link *link; /* NULL: none is under way */
    uint64_t ticket;   /* of a request for changes; 0: none */
    struct pages pages;
    struct feed_digest own;
    int64_t deposited_before_ms;
    int64_t expires_after_ms;
    void (*done)(void *context, enum digest_outcome outcome);
    void *context;
};

void digest_init(struct digest *digest, struct wire *wire, const char *host,
                 void (*done)(void *context, enum digest_outcome outcome), void *context);

/* Begins, unless one is under way. `reader` (borrowed until the end) names the reader that answers;
 * "": each may. now_ms is hearsayd's clock. */
void digest_begin(struct digest *digest, const char *reader, struct link *link, int64_t now_ms);
void digest_end(struct digest *digest); /* without `done` */

/* Whether the reply was for the digest. */
bool digest_take_reply(struct digest *digest, const struct hearsay_reply *reply);

#endif
