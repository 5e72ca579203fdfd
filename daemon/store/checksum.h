/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_checksum: the checksums of all rows. A wrong checksum shows that a row is not as it was
 * written.
 *
 * A checksum is computed from the columns of its row with XXH3-64, integers as little-endian on
 * every machine. Checksums reveal accidental damage. They do not protect against forgery.
 */
#ifndef DAEMON_STORE_CHECKSUM_H
#define DAEMON_STORE_CHECKSUM_H

#include "daemon/store/persist.h"

struct store_copy;
struct store_tombstone;

/*
 * Each function returns the checksum of a row, as a signed number, because SQLite stores signed
 * numbers. The checksum of a row that has no change and of which others are not told is the one of
 * schema 4.
 */
int64_t store_message_checksum(int64_t seq, const struct persist_message *message);
int64_t store_host_checksum(uint32_t host, const char *name, const char *profile, bool replicate);
int64_t store_epoch_checksum(const struct persist_epoch *epoch);
int64_t store_tombstone_checksum(const struct store_tombstone *tombstone);
int64_t store_evicted_checksum(int64_t seq, uint32_t host, int64_t expires_ms,
                               const uint8_t *messages, size_t messages_bytes);
int64_t store_moderation_checksum(int64_t seq, int64_t state, int64_t reports, int64_t destroy_ms,
                                  int64_t removed_ms, int64_t change_seq, const void *reasons,
                                  size_t reasons_bytes);
int64_t store_decision_checksum(const struct persist_decision *decision);
int64_t store_copy_checksum(const struct store_copy *copy);
int64_t store_rule_checksum(const struct persist_rule *rule);
int64_t store_meta_checksum(const uint8_t *store_id, int64_t next_seq, int64_t clock_ms,
                            int64_t shift_from_ms);

#endif
