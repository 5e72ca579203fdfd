/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work: the bytes that are hashed for the proof of work of a deposit or a report. The caller hashes
 * the bytes with BLAKE2b-256. docs/protocol.md has the rules of proofs of work.
 */
#ifndef PROTO_WORK_H
#define PROTO_WORK_H

#include <stddef.h>
#include <stdint.h>

#include "proto/msg.h"

/*
 * The caller's hash function. `feed` adds `count` bytes to the hash; its first argument is
 * `context`.
 */
struct work_hash {
    void (*feed)(void *context, const void *data, size_t count);
    void *context;
};

/*
 * Feeds to `hash`, piece by piece, the bytes that make the content hash of a deposit. host: the
 * name of the host that the deposit goes to; deposit->host is not read. store_id: LIMIT_ID_BYTES
 * bytes. deposit->id must have LIMIT_ID_BYTES bytes. An absent media type counts as text/plain.
 */
void work_feed(const struct msg_deposit *deposit, const char *host, const uint8_t *store_id,
               struct work_hash hash);

/*
 * Feeds to `hash` the bytes that make the content hash of a report. id: of the reported message,
 * LIMIT_ID_BYTES bytes. host: the name of the message's host. store_id: LIMIT_ID_BYTES bytes.
 * token: the resume token in the Welcome of the session that reports, so that the proof is valid in
 * this session only.
 */
void work_feed_report(const uint8_t *id, const char *host, const uint8_t *store_id,
                      struct msg_bytes token, struct work_hash hash);

/*
 * work_proof writes to `out` the WORK_PROOF_BYTES bytes whose BLAKE2b-256 is the proof: the content
 * hash (LIMIT_HASH_BYTES bytes), then `number` in 8 little-endian bytes. `number` is the field
 * `work` of the deposit or report.
 */
enum { WORK_PROOF_BYTES = LIMIT_HASH_BYTES + 8 };
void work_proof(const uint8_t *content_hash, uint64_t number, uint8_t *out);

/*
 * Returns how many zero bits stand before the first 1 bit of a hash of LIMIT_HASH_BYTES bytes. The
 * bits of a byte count from the highest to the lowest.
 */
uint32_t work_zero_bits(const uint8_t *hash);

#endif
