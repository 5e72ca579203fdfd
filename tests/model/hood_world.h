/* SPDX-License-Identifier: Apache-2.0 */
/* hood_world: random peers with messages, and brute force over all of them. */
#pragma once

#include "core/hood/search.h"
#include "core/summary/bound.h"
#include "tests/lib/rng.h"

enum {
    PEERS = 90,
    MESSAGES_MAX = 25, /* of a peer */
    PLACES = 10,
    WORDS_MAX = 8,
    K_MAX = 12,
    PARTS_MAX = 3,
    NOW_MS = 1000000
};

struct message {
    uint8_t id[MESSAGE_ID_BYTES];
    uint64_t filter[WORDS_MAX];
    int64_t deposited_ms;
};

struct peer {
    struct message messages[MESSAGES_MAX];
    uint32_t count;
    struct groups groups;
    uint64_t seq;
    bool is_silent;
};

struct world {
    struct rng rng;
    struct profile profile;
    size_t words;
    uint64_t places[PLACES][WORDS_MAX];
    struct peer peers[PEERS];
    uint32_t peer_count;
    struct hood *hood;
    uint64_t queries, asked, peers_sum;
};

/* Makes peers with messages and groups (at most `limit`), and a hood that has heard nothing. */
void hood_world_begin(struct world *world, const char *profile, uint32_t limit);
void hood_world_end(struct world *world);

/* A filter like those of the messages of a place. */
void hood_world_filter(struct world *world, uint32_t place, uint64_t *out);

/* A new message at a peer; the last one of its list. */
void hood_world_deposit(struct world *world, uint32_t peer);

/* What a peer says of all its messages; each peer says that. */
struct hood_word hood_world_full(const struct peer *peer);
void hood_world_tell(struct world *world);

/*
 * The best messages of the peers first .. end - 1 that are not silent, at or above a floor.
 * item.bytes is the place of the message at its peer. Returns how many, at most k.
 */
uint32_t hood_world_best(const struct world *world, const struct index_query *query,
                         struct similarity floor, uint32_t first, uint32_t end,
                         struct nearest_candidate *out);

/* Asks as an access point does. Silent peers do not answer. */
struct hood_outcome hood_world_ask(struct world *world, const struct hood_query *query,
                                   struct nearest_candidate *out, uint32_t *out_count);
