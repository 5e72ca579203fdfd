/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workload: generated messages and queries, the same for the same seed and number. The requests are
 * encoded beforehand, so that a measured client only sends and receives.
 *
 * A context has 20 access points of 60 neighbours in a town of 2,000 places. Contexts of the same
 * place are similar; other contexts are not.
 */
#pragma once

#include "core/index/index.h"
#include "core/profile/profile.h"
#include "proto/bytes.h"
#include "proto/limits.h"
#include "proto/msg.h"

enum {
    WORKLOAD_LABELS = 20,
    WORKLOAD_PAYLOAD_BYTES = 200,
    WORKLOAD_K = 10,
    WORKLOAD_TTL_S = 86400
};

/* The media type that all of them have. */
extern const char workload_media_type[];
/* The profile of all daemons that are measured. */
extern const char workload_profile[];

struct persist_message;

struct workload_message {
    uint8_t id[MESSAGE_ID_BYTES];
    uint8_t withdraw_hash[LIMIT_HASH_BYTES];
    uint64_t words[PROFILE_WORDS_MAX];
    uint8_t filter[PROFILE_BYTES_MAX];
    size_t filter_bytes;
    uint8_t payload[WORKLOAD_PAYLOAD_BYTES];
};

/* Message `number` of `seed`; the profile of all. */
void workload_make(uint64_t seed, uint64_t number, struct workload_message *out);
void workload_read_profile(struct profile *out);

/*
 * Fills in the message as the store takes it, deposited at `now_ms`. The filter and the payload
 * stay in `from`, which must live as long.
 */
void workload_describe(const struct workload_message *from, uint32_t host, int64_t now_ms,
                       struct persist_message *out);

/* Requests ready to be sent, one after another in one block. */
struct frames {
    struct bytes bytes;
    size_t *starts; /* frame i is at [starts[i], starts[i + 1]); count + 1 numbers; owned */
    size_t count;
};

/*
 * Make `count` frames with the request ids 1 .. count. Return 0 or -1; call frames_deinit in both
 * cases.
 */
int frames_make_deposits(struct frames *out, uint64_t seed, size_t count);
int frames_make_queries(struct frames *out, uint64_t seed, size_t count);

/*
 * Append one frame for a message with this request id. `ttl_s` is the lifetime of the message in
 * seconds. Return 0 or -1.
 */
int frames_add_deposit(struct bytes *out, const struct workload_message *message,
                       uint64_t request_id, uint32_t ttl_s);
int frames_add_query(struct bytes *out, const struct workload_message *message,
                     uint64_t request_id);
void frames_deinit(struct frames *frames); /* a zeroed one is fine */
