/* SPDX-License-Identifier: Apache-2.0 */
/*
 * encode: makes the filter of a context's labels for any profile.
 *
 * A label L sets d bits in its section, where d is the section's number of hashes. Bit i, for i = 0
 * .. d - 1, is (value i mod the section's bits), where value i is bloom_value(hash_label(L), i). If
 * the label has that bit already, bit i is the next one that the label does not have; after the
 * last bit of the section comes the first. So each label has the same weight in a comparison.
 *
 * A section joint(a,b) has pairs: each candidate label of attribute a with each candidate label of
 * attribute b. A pair sets d bits like a label whose value i is
 *
 *   (value i of the one label) XOR (value i of the other label)
 *
 * This is the combined multi-dimensional Bloom filter. If one filter has one label of a pair and a
 * second filter has the other label, the union of the filters does not claim to have the pair,
 * except by chance. Candidates are
 *
 *   of geo     labels whose value is a geohash of 6 characters (0-9, b-z without i, l and o)
 *   of time    labels whose value is a date and hour, 2026-11-20T14 (digits at these places)
 *   of others  every label
 *
 * If one side has no candidate, no joint bit is set. If a side has several candidates, all pairs
 * set their bits. So the filter of a subset of the labels is a subset of the filter of all labels.
 * A rule that selects one candidate would break this: it could select another candidate in a
 * smaller context.
 */
#pragma once

#include "core/base/hash.h"
#include "core/profile/profile.h"

enum { ENCODE_CANDIDATES_MAX = 256 };

/* A label that joint sections pair with others. */
struct encode_candidate {
    struct hash128 hash;
    uint32_t sides; /* bit 2 s: `name` of joint section s; bit 2 s + 1: its `other` */
};

/* A filter under construction, about 7 KiB. There is nothing to free. */
struct encoder {
    const struct profile *profile; /* borrowed */
    uint32_t candidate_count;
    uint64_t filter[PROFILE_WORDS_MAX];
    struct encode_candidate candidates[ENCODE_CANDIDATES_MAX];
};

/* Begins an empty filter. `profile` comes from profile_parse and is borrowed. O(m) for m bits. */
void encoder_begin(struct encoder *encoder, const struct profile *profile);

/*
 * Adds one label, which has passed label_check. The filter does not depend on the order and
 * repetition of labels. Returns
 *   0                   the label is added
 *   ENCODE_NO_SECTION   the profile has no section for the attribute of the label
 *   ENCODE_CROWDED      joint sections have more than ENCODE_CANDIDATES_MAX different candidates
 * Unless the result is 0, the filter is unchanged. A label costs O(length + d^2), where d is the
 * number of hashes. A candidate also costs O(d^2) for each earlier candidate and each joint
 * section.
 */
enum { ENCODE_NO_SECTION = 1, ENCODE_CROWDED = 2 };
int encoder_add(struct encoder *encoder, const char *label, size_t length);

/*
 * Adds one keyed label. The plain label decides the section, and whether the label is a candidate
 * for pairs. The bits come from the hash (hash_label) of the `keyed_count` bytes at `keyed`.
 * Returns 0, ENCODE_NO_SECTION or ENCODE_CROWDED, like encoder_add.
 */
int encoder_add_keyed(struct encoder *encoder, const char *label, size_t length,
                      const uint8_t *keyed, size_t keyed_count);

/*
 * Writes the filter of all labels that were added, bloom_words(profile->bits) words. Afterwards the
 * caller may add more labels and call encoder_end again. O(m) for m bits.
 */
void encoder_end(const struct encoder *encoder, uint64_t *out_filter);
