/* SPDX-License-Identifier: Apache-2.0 */
/*
 * encode: a context's labels to its filter, under any profile.
 *
 * Each label sets the positions of its section (profile_positions). A section joint(a,b) gets, for
 * every label of a that is a candidate and every label of b that is one, and i = 0 .. d - 1,
 *
 *   ((value i of the one) XOR (value i of the other)) mod the section's bits
 *
 * with value i = (low64 + i * (high64 | 1)) mod 2^64 of the label's hash, as everywhere (the
 * combined multi-dimensional Bloom filter). So the union of several filters no longer claims a
 * combination of which it has each half only. Candidates are
 *
 *   of geo    labels whose value is a geohash of 6 characters (0-9, b-z without i, l and o)
 *   of time   labels whose value is a date and hour, 2026-11-20T14 (digits at these places)
 *   of others every label
 *
 * Where one side has no candidate, no joint bit is set. Where a side has several, all pairs count:
 * whatever one would be chosen, a context with fewer labels could choose another and would not be
 * contained any more. So: fewer labels, fewer bits; the filter of a subset is a subset.
 */
#ifndef CORE_ENCODE_H
#define CORE_ENCODE_H

#include "core/hash.h"
#include "core/profile.h"

enum { ENCODE_CANDIDATES_MAX = 256 };

/* A label that a joint section pairs with others. */
struct encode_candidate {
    struct hash128 hash;
    uint32_t sides; /* bit 2 s: `name` of joint section s; bit 2 s + 1: its `other` */
};

/* A filter in the making. About 6 KiB; plain, nothing to free. */
struct encoder {
    const struct profile *profile; /* borrowed */
    uint64_t *filter;              /* borrowed */
    uint32_t candidate_count;
    struct encode_candidate candidates[ENCODE_CANDIDATES_MAX];
};

/*
 * Begins an empty filter: bloom_words(profile->bits) words, zeroed. The profile is one that
 * profile_parse made. Both are borrowed.
 */
void encoder_begin(struct encoder *encoder, const struct profile *profile, uint64_t *filter);

/*
 * Adds a label, which has passed label_check. The filter is that of all labels added so far, in
 * whatever order and however often. 0, or with nothing changed ENCODE_NO_SECTION (the profile has
 * none for the label's attribute) or ENCODE_CROWDED (more than ENCODE_CANDIDATES_MAX different
 * candidates of joint sections). O(length + d), for a candidate also times the candidates so far.
 */
enum { ENCODE_NO_SECTION = 1, ENCODE_CROWDED = 2 };
int encoder_add(struct encoder *encoder, const char *label, size_t length);

#endif
