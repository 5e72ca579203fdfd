/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work: what a proof of work on a deposit or a report is about. The bytes are fed to a hash of the
 * caller's (BLAKE2b-256), so that nothing here needs cryptography; docs/protocol.md says the rest.
 */
#ifndef PROTO_WORK_H
#define PROTO_WORK_H

#include "proto/msg.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Feeds what the content's hash covers. host: the name of the host that it goes to, which the
 * deposit itself may leave out. store_id: LIMIT_ID_BYTES. Ids, hashes and lengths must be those of
 * a deposit that the codec takes.
 */
void work_feed(const struct msg_deposit *deposit, const char *host, const uint8_t *store_id,
               void (*feed)(void *context, const void *data, size_t count), void *context);

/*
 * The same for a report of the message `id`. token: the resume token of the Welcome of the session
 * that sends the report, so that one proof does not serve several senders.
 */
void work_feed_report(const uint8_t *id, const char *host, const uint8_t *store_id,
                      const uint8_t *token, size_t token_bytes,
                      void (*feed)(void *context, const void *data, size_t count), void *context);

/*
 * What the proof's hash covers: the content's hash (LIMIT_HASH_BYTES) and the number that is sought
 * and sent. out: WORK_PROOF_BYTES.
 */
enum { WORK_PROOF_BYTES = LIMIT_HASH_BYTES + 8 };
void work_proof(const uint8_t *content_hash, uint64_t number, uint8_t *out);

/* Zero bits at the beginning of a hash (LIMIT_HASH_BYTES), from the highest of its first byte on.
 */
uint32_t work_zero_bits(const uint8_t *hash);

#endif
