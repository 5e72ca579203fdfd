/* SPDX-License-Identifier: Apache-2.0 */
/*
 * encode: a context's labels to its filter, under any profile.
 *
 * Label L sets in its section the bits (value i mod the section's bits), i = 0 .. d - 1, with value
 * i = bloom_value(hash_label(L), i). A section joint(a,b) gets, for every label of a that is a
 * candidate and every label of b that is one, and i = 0 .. d - 1,
 *
 *   ((value i of the one) XOR (value i of the other)) mod the section's bits
 *
 * (the combined multi-dimensional Bloom filter). So the union of several filters no longer claims a
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
#ifndef CORE_PROFILE_ENCODE_H
#define CORE_PROFILE_ENCODE_H

#include "core/base/hash.h"
#include "core/profile/profile.h"

enum { ENCODE_CANDIDATES_MAX = 256 };

/* A label that a joint section pairs with others. */
struct encode_candidate {
    struct hash128 hash;
    uint32_t sides; /* bit 2 s: `name` of joint section s; bit 2 s + 1: its `other` */
};

/*
 * A filter in the making. About 10 KiB; plain, nothing to free. Bits are kept as bytes until the
 * end: storing a byte takes a quarter of what it takes to change a bit.
 */
struct encoder {
    const struct profile *profile;    /* borrowed */
    const struct hash_family *family; /* borrowed; NULL: the one of labels */
    uint32_t candidate_count;
    uint8_t marks[PROFILE_BITS_MAX]; /* not 0 where the bit is set */
    struct encode_candidate candidates[ENCODE_CANDIDATES_MAX];
};

/* Begins an empty filter. The profile is one that profile_parse made; it is borrowed. O(m). */
void encoder_begin(struct encoder *encoder, const struct profile *profile);

/* The same with another hash, which is borrowed; NULL is that of labels. */
void encoder_begin_with(struct encoder *encoder, const struct profile *profile,
                        const struct hash_family *family);

/*
 * Adds labels, which have passed label_check; order and repetition do not matter. 0, or when one is
 * refused its number in *out_refused, with those before it added and nothing else changed, and
 * ENCODE_NO_SECTION (the profile has none for the label's attribute) or ENCODE_CROWDED (more than
 * ENCODE_CANDIDATES_MAX different candidates of joint sections). O(length + d) a label, for a
 * candidate also times the candidates so far.
 */
enum { ENCODE_NO_SECTION = 1, ENCODE_CROWDED = 2 };
int encoder_add_all(struct encoder *encoder, const char *const *labels, const size_t *lengths,
                    size_t count, size_t *out_refused);

/* The same for one label. */
int encoder_add(struct encoder *encoder, const char *label, size_t length);

/*
 * The same for a keyed label, with the hash of labels: section and candidacy are those of the plain
 * label, and every value comes from the `keyed_count` bytes that stand for it, in joint sections
 * too. 0, ENCODE_NO_SECTION, ENCODE_CROWDED.
 */
int encoder_add_keyed(struct encoder *encoder, const char *label, size_t length,
                      const uint8_t *keyed, size_t keyed_count);

/*
 * Writes the filter of all labels added so far, bloom_words(profile->bits) words. More labels may
 * follow, and another end. O(m).
 */
void encoder_end(const struct encoder *encoder, uint64_t *out_filter);

#endif
