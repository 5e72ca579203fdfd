/* SPDX-License-Identifier: Apache-2.0 */
/* What hood.c and search.c share. */
#pragma once

#include "core/hood/hood.h"

/* All zeros: no peer. */
struct hood_peer {
    bool is_here;
    bool is_known; /* the summary is not void */
    bool is_faulty;
    uint32_t revision; /* changes with each word, and when the peer leaves */
    uint32_t vain;     /* how often it was asked in a row and had no answer; at most HOOD_VAIN */
    uint8_t store_id[HOOD_STORE_ID_BYTES];
    uint64_t seq;
    int64_t as_of_ms;
    int64_t newest_ms;          /* of messages that came after the groups that cover them */
    uint64_t *filters;          /* owned: unions of the groups, in blocks (core/bits/bits.h) */
    struct group_range *ranges; /* owned: for each group, one for each section of the profile */
    int64_t *newest;            /* owned: newest_ms of each group */
    uint32_t group_count;
    uint32_t block_count; /* for which there is memory */
};

struct hood {
    struct hood_options options;
    size_t words;
    uint32_t peers_max;
    uint32_t count;
    struct hood_peer *peers; /* owned: peers_max of them */
};

/* The words of a block of groups. */
static inline const uint64_t *hood_block(const struct hood *hood, const struct hood_peer *peer,
                                         uint32_t block)
{
    return peer->filters + block * hood->words * BITS_BLOCK;
}

/* The ranges of a group. */
static inline const struct group_range *hood_ranges(const struct hood *hood,
                                                    const struct hood_peer *peer, uint32_t group)
{
    return peer->ranges + (size_t)group * hood->options.profile->section_count;
}

/* The summary rules out nothing until a full word comes. */
void hood_void(struct hood_peer *peer);
