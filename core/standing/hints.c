/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hints: where groups similar to a part may be, in an index of so many groups that a part cannot
 * look at all of them.
 *
 * A part has STANDING_HINTS signatures. A signature is a hash of the positions of the part's key
 * that come first in some random order of all positions (MinHash). As many positions are taken as
 * make about 2^UNLIKE unrelated keys have different signatures, at most FIRSTS_MOST. If t are
 * taken, two parts have a signature in common with a probability of about their Jaccard similarity
 * to the power of t. For each signature the table names the group that a part with this signature
 * joined last. A hint may be old or may have been overwritten by another: then a part does not find
 * the best group, and messages are matched right all the same.
 */
#include <string.h>

#include "core/base/err.h"
#include "core/standing/inner.h"

enum { FIRST_ROOM = 1 << 16, ROOM_A_PART = 8, UNLIKE = 17, FIRSTS_MOST = 8 };

/* Spreads a number over 64 bits (the finaliser of SplitMix64). */
static uint64_t mixed_number(uint64_t number)
{
    number = (number ^ number >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    number = (number ^ number >> 27) * UINT64_C(0x94d049bb133111eb);
    return number ^ number >> 31;
}

/* How many positions a signature of a key with `count` of `bits` bits is made of: each of them
 * tells about bits / count keys apart. */
static size_t firsts_of(size_t bits, size_t count)
{
    size_t firsts = 1;

    for (uint64_t apart = bits / (count + 1); apart < 1u << UNLIKE && firsts < FIRSTS_MOST;
         apart = apart * bits / (count + 1)) {
        firsts++;
    }
    return firsts;
}

/* Puts a rank among the `count` smallest ones, which are sorted. */
static void keep_first(uint64_t *firsts, size_t count, uint64_t rank)
{
    size_t at = count;

    for (; at > 0 && rank < firsts[at - 1]; at--) {
        if (at < count) {
            firsts[at] = firsts[at - 1];
        }
    }
    if (at < count) {
        firsts[at] = rank;
    }
}

void standing_signatures(const struct standing *standing, const uint16_t *positions, size_t count,
                         uint32_t kind, uint64_t *out)
{
    size_t first_count = firsts_of(standing->profile.bits, count);

    for (uint32_t h = 0; h < STANDING_HINTS; h++) {
        uint64_t order = mixed_number(h + 1);
        uint64_t firsts[FIRSTS_MOST];

        memset(firsts, UINT8_MAX, sizeof(firsts));
        for (size_t i = 0; i < count; i++) {
            keep_first(firsts, first_count, mixed_number(order + positions[i]));
        }
        out[h] = kind;
        for (size_t i = 0; i < first_count; i++) {
            out[h] = mixed_number(out[h] ^ firsts[i]);
        }
    }
}

void standing_reserve_hints(struct standing *standing)
{
    const struct alloc *alloc = standing->options.alloc;
    size_t room = standing->hint_room == 0 ? FIRST_ROOM : standing->hint_room;

    while (room < ROOM_A_PART * standing->part_count) {
        room *= 2;
    }
    if (room == standing->hint_room) {
        return;
    }
    uint32_t *hints = alloc_zeroed(alloc, room, sizeof(*hints));
    if (hints == NULL) {
        return;
    }
    /* A hint is at the lowest bits of its signature, which have one of several values now. */
    for (size_t at = 0; standing->hint_room > 0 && at < room; at += standing->hint_room) {
        memcpy(hints + at, standing->hints, standing->hint_room * sizeof(*hints));
    }
    alloc_release(alloc, standing->hints);
    standing->bytes += (room - standing->hint_room) * sizeof(*hints);
    standing->hints = hints;
    standing->hint_room = room;
}

void standing_free_hints(struct standing *standing)
{
    alloc_release(standing->options.alloc, standing->hints);
    standing->bytes -= standing->hint_room * sizeof(*standing->hints);
    standing->hints = NULL;
    standing->hint_room = 0;
}

static uint32_t *hint_of(const struct standing *standing, uint64_t signature)
{
    return &standing->hints[signature & (standing->hint_room - 1)];
}

void standing_hint(struct standing *standing, const uint64_t *signatures,
                   const struct standing_group *group)
{
    for (uint32_t h = 0; h < STANDING_HINTS && standing->hints != NULL; h++) {
        *hint_of(standing, signatures[h]) = 1 + group->node->number * BITS_LANES + group->lane;
    }
}

struct standing_group *standing_hinted(const struct standing *standing, uint64_t signature)
{
    uint32_t hint = standing->hints != NULL ? *hint_of(standing, signature) : 0;
    uint32_t number = (hint - 1) / BITS_LANES;

    return hint != 0 && number < standing->node_count
               ? standing->nodes[number]->groups[(hint - 1) % BITS_LANES]
               : NULL;
}
