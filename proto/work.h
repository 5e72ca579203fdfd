/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work: the bytes that the proof of work on a deposit or a report covers. The caller hashes these
 * bytes with BLAKE2b-256; this file uses no cryptographic library. docs/protocol.md has the rules
 * of proofs of work.
 */
#ifndef PROTO_WORK_H
#define PROTO_WORK_H

#include <stddef.h>
#include <stdint.h>

#include "proto/msg.h"

/* The caller's hash function. `feed` adds `count` bytes to the hash; `context` is handed to it. */
struct work_hash {
    void (*feed)(void *context, const void *data, size_t count);
    void *context;
};

/*
 * Feeds the bytes of a deposit that the content hash covers to `hash`, piece by piece. host: the
 * name of the host that the deposit goes to; the deposit itself may leave the name out. store_id:
 * LIMIT_ID_BYTES bytes. The deposit must be one that the codec accepts. O(size of the deposit).
 */
void work_feed(const struct msg_deposit *deposit, const char *host, const uint8_t *store_id,
               struct work_hash hash);

/*
 * Feeds the bytes that the proof of a report covers to `hash`. The report is of the message `id`
 * (LIMIT_ID_BYTES bytes). token: the resume token of the Welcome of the reporting session. The
 * token binds the proof to this session: one proof does not serve several senders.
 */
void work_feed_report(const uint8_t *id, const char *host, const uint8_t *store_id,
                      struct msg_bytes token, struct work_hash hash);

/*
 * Writes to `out` the WORK_PROOF_BYTES bytes whose hash is the proof: the content hash
 * (LIMIT_HASH_BYTES), and the number that the client tries and sends, in 8 little-endian bytes.
 */
enum { WORK_PROOF_BYTES = LIMIT_HASH_BYTES + 8 };
void work_proof(const uint8_t *content_hash, uint64_t number, uint8_t *out);

/*
 * Returns the number of zero bits at the beginning of a hash of LIMIT_HASH_BYTES bytes. The first
 * bit is the highest bit of the first byte.
 */
uint32_t work_zero_bits(const uint8_t *hash);

#endif
