/* SPDX-License-Identifier: Apache-2.0 */

#include <assert.h>
#include <string.h>

#include "core/base/err.h"
#include "core/filter/bloom.h"
#include "core/hood/inner.h"

int hood_new(const struct hood_options *options, uint32_t peers_max, struct hood **out_hood)
{
    struct hood *hood = alloc_zeroed(options->alloc, 1, sizeof(*hood));

    assert(peers_max >= 1 && peers_max <= HOOD_PEERS_MAX);
    if (hood == NULL) {
        return -ERR_NOMEM;
    }
    hood->options = *options;
    hood->words = bloom_words(options->profile->bits);
    hood->peers_max = peers_max;
    hood->peers = alloc_zeroed(options->alloc, peers_max, sizeof(*hood->peers));
    if (hood->peers == NULL) {
        alloc_release(options->alloc, hood);
        return -ERR_NOMEM;
    }
    *out_hood = hood;
    return 0;
}

static void free_groups(struct hood *hood, struct hood_peer *peer)
{
    alloc_release(hood->options.alloc, peer->filters);
    alloc_release(hood->options.alloc, peer->ranges);
    alloc_release(hood->options.alloc, peer->newest);
    peer->filters = NULL;
    peer->ranges = NULL;
    peer->newest = NULL;
    peer->group_count = 0;
    peer->block_count = 0;
}

void hood_free(struct hood *hood)
{
    if (hood == NULL) {
        return;
    }
    for (uint32_t i = 0; i < hood->peers_max; i++) {
        free_groups(hood, &hood->peers[i]);
    }
    alloc_release(hood->options.alloc, hood->peers);
    alloc_release(hood->options.alloc, hood);
}

void hood_void(struct hood_peer *peer)
{
    peer->is_known = false;
    peer->group_count = 0;
}

/* --- groups ----------------------------------------------------------------------------------- */

static bool is_sound(const struct profile *profile, const struct group *group)
{
    for (uint32_t s = 0; s < profile->section_count; s++) {
        struct group_range range = group->ranges[s];

        if (range.least > range.most || range.most > profile->sections[s].bits) {
            return false;
        }
    }
    return true;
}

static bool are_sound(const struct hood *hood, const struct group *groups, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!is_sound(hood->options.profile, &groups[i])) {
            return false;
        }
    }
    return true;
}

/* Makes room for the groups. If this fails, the peer keeps the groups that it has. */
static int make_room(struct hood *hood, struct hood_peer *peer, uint32_t group_count)
{
    const struct alloc *alloc = hood->options.alloc;
    uint32_t block_count = (group_count + BITS_BLOCK - 1) / BITS_BLOCK;
    size_t room = (size_t)block_count * BITS_BLOCK;

    if (block_count <= peer->block_count) {
        return 0;
    }
    uint64_t *filters = alloc_resize(alloc, peer->filters, room * hood->words, sizeof(*filters));
    if (filters == NULL) {
        return -ERR_NOMEM;
    }
    peer->filters = filters;
    struct group_range *ranges = alloc_resize(
        alloc, peer->ranges, room * hood->options.profile->section_count, sizeof(*ranges));
    if (ranges == NULL) {
        return -ERR_NOMEM;
    }
    peer->ranges = ranges;
    int64_t *newest = alloc_resize(alloc, peer->newest, room, sizeof(*newest));
    if (newest == NULL) {
        return -ERR_NOMEM;
    }
    peer->newest = newest;
    peer->block_count = block_count;
    return 0;
}

static void append_group(struct hood *hood, struct hood_peer *peer, const struct group *group)
{
    size_t at = peer->group_count++;
    uint64_t *block = peer->filters + at / BITS_BLOCK * hood->words * BITS_BLOCK;

    if (at % BITS_BLOCK == 0) {
        memset(block, 0, hood->words * BITS_BLOCK * sizeof(*block));
    }
    for (size_t w = 0; w < hood->words; w++) {
        block[w * BITS_BLOCK + at % BITS_BLOCK] = group->filter[w];
    }
    memcpy(peer->ranges + at * hood->options.profile->section_count, group->ranges,
           hood->options.profile->section_count * sizeof(*peer->ranges));
    peer->newest[at] = group->newest_ms;
}

/* --- words ------------------------------------------------------------------------------------ */

/* Decides whether a word that is not full extends the summary. */
static int check_order(const struct hood_peer *peer, const struct hood_word *word)
{
    if (!peer->is_known || memcmp(peer->store_id, word->store_id, HOOD_STORE_ID_BYTES) != 0) {
        return HOOD_VOID;
    }
    if (word->after == peer->seq && word->seq >= peer->seq) {
        return 0;
    }
    return word->seq <= peer->seq ? HOOD_LATE : HOOD_VOID;
}

static int add_groups(struct hood *hood, struct hood_peer *peer, const struct hood_word *word)
{
    if (word->group_count > HOOD_GROUPS_MAX - peer->group_count ||
        !are_sound(hood, word->groups, word->group_count) ||
        make_room(hood, peer, peer->group_count + word->group_count) != 0) {
        return HOOD_VOID;
    }
    for (uint32_t i = 0; i < word->group_count; i++) {
        append_group(hood, peer, &word->groups[i]);
    }
    return 0;
}

static void begin_summary(struct hood_peer *peer, const struct hood_word *word)
{
    memcpy(peer->store_id, word->store_id, HOOD_STORE_ID_BYTES);
    peer->group_count = 0;
    peer->newest_ms = INT64_MIN;
    peer->is_faulty = false;
    peer->is_known = true;
}

int hood_learn(struct hood *hood, uint32_t peer_number, const struct hood_word *word,
               int64_t heard_ms)
{
    struct hood_peer *peer = &hood->peers[peer_number];

    assert(peer_number < hood->peers_max);
    hood->count += peer->is_here ? 0 : 1;
    peer->is_here = true;
    if (word->is_full) {
        begin_summary(peer, word);
    } else {
        int rc = check_order(peer, word);

        if (rc == HOOD_LATE) {
            return rc;
        }
        if (rc != 0) {
            hood_void(peer);
        }
    }
    peer->revision++;
    if (!peer->is_known || add_groups(hood, peer, word) != 0) {
        hood_void(peer);
        return HOOD_VOID;
    }
    peer->seq = word->seq;
    peer->as_of_ms = word->as_of_ms < heard_ms ? word->as_of_ms : heard_ms;
    peer->newest_ms = word->newest_ms > peer->newest_ms ? word->newest_ms : peer->newest_ms;
    return 0;
}

void hood_drop(struct hood *hood, uint32_t peer_number)
{
    struct hood_peer *peer = &hood->peers[peer_number];
    uint32_t revision = peer->revision + 1;

    assert(peer_number < hood->peers_max);
    hood->count -= peer->is_here ? 1 : 0;
    free_groups(hood, peer);
    *peer = (struct hood_peer){.revision = revision};
}

uint32_t hood_count(const struct hood *hood)
{
    return hood->count;
}

bool hood_knows(const struct hood *hood, uint32_t peer)
{
    return hood->peers[peer].is_known;
}

bool hood_is_faulty(const struct hood *hood, uint32_t peer)
{
    return hood->peers[peer].is_faulty;
}

size_t hood_bytes(const struct hood *hood)
{
    size_t group_bytes = hood->words * sizeof(uint64_t) +
                         hood->options.profile->section_count * sizeof(struct group_range) +
                         sizeof(int64_t);
    size_t bytes = sizeof(*hood) + hood->peers_max * sizeof(*hood->peers);

    for (uint32_t i = 0; i < hood->peers_max; i++) {
        bytes += hood->peers[i].block_count * BITS_BLOCK * group_bytes;
    }
    return bytes;
}
