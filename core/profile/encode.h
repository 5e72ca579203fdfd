/* SPDX-License-Identifier: Apache-2.0 */
/*
 * encode: makes the filter of a context's labels, by any profile.
 *
 * Label L sets in its section the bits (value i mod the section's bits) for i = 0 .. d - 1, where
 * value i is bloom_value(hash_label(L), i). A section joint(a,b) gets, for every candidate label of
 * attribute a, every candidate label of attribute b, and i = 0 .. d - 1, the bit
 *
 *   ((value i of the one) XOR (value i of the other)) mod the section's bits
 *
 * (the combined multi-dimensional Bloom filter). So the union of several filters does not claim a
 * pair of which one filter has the one half and another filter the other half. Candidates are
 *
 *   of geo     labels whose value is a geohash of 6 characters (0-9, b-z without i, l and o)
 *   of time    labels whose value is a date and hour, 2026-11-20T14 (digits at these places)
 *   of others  every label
 *
 * Where one side has no candidate, no joint bit is set. Where a side has several, all pairs count.
 * A rule that picks one of them would pick another one from a context with fewer labels, and then
 * the filter of the smaller context would not be a subset. As it is: the filter of a subset of the
 * labels is a subset of the filter.
 */
#ifndef CORE_PROFILE_ENCODE_H
#define CORE_PROFILE_ENCODE_H

#include "core/base/hash.h"
#include "core/profile/profile.h"

enum { ENCODE_CANDIDATES_MAX = 256 };

/* A label that joint sections pair with others. */
struct encode_candidate {
    struct hash128 hash;
    uint32_t sides; /* bit 2 s: `name` of joint section s; bit 2 s + 1: its `other` */
};

/*
 * A filter that is being made. About 10 KiB; there is nothing to free. Until the end each bit is
 * kept as a byte, because storing a byte takes a quarter of the time of changing a bit.
 */
struct encoder {
    const struct profile *profile;    /* borrowed */
    const struct hash_family *family; /* borrowed; NULL: that of labels */
    uint32_t candidate_count;
    uint8_t marks[PROFILE_BITS_MAX]; /* not 0 where the bit is set */
    struct encode_candidate candidates[ENCODE_CANDIDATES_MAX];
};

/* Begins an empty filter. `profile` comes from profile_parse and is borrowed. O(m). */
void encoder_begin(struct encoder *encoder, const struct profile *profile);

/* The same with another hash, which is borrowed. NULL: the hash of labels. */
void encoder_begin_with(struct encoder *encoder, const struct profile *profile,
                        const struct hash_family *family);

/*
 * Adds labels, which have passed label_check. Order and repetition do not matter. Returns
 *   0                   all are added
 *   ENCODE_NO_SECTION   the profile has no section for the attribute of a label
 *   ENCODE_CROWDED      more than ENCODE_CANDIDATES_MAX different candidates of joint sections
 * In the last two cases *out_refused is the number of the refused label. The labels before it are
 * added, and nothing else has changed. O(length + d) for each label; for a candidate also O(d) for
 * each earlier candidate.
 */
enum { ENCODE_NO_SECTION = 1, ENCODE_CROWDED = 2 };
int encoder_add_all(struct encoder *encoder, const char *const *labels, const size_t *lengths,
                    size_t count, size_t *out_refused);

/* The same for one label. */
int encoder_add(struct encoder *encoder, const char *label, size_t length);

/*
 * The same for one keyed label. The plain label decides the section and whether the label is a
 * candidate. All values come from the `keyed_count` bytes at `keyed`, hashed as labels are. 0,
 * ENCODE_NO_SECTION, ENCODE_CROWDED.
 */
int encoder_add_keyed(struct encoder *encoder, const char *label, size_t length,
                      const uint8_t *keyed, size_t keyed_count);

/*
 * Writes the filter of all labels added so far, bloom_words(profile->bits) words. More labels may
 * be added afterwards, and encoder_end called again. O(m).
 */
void encoder_end(const struct encoder *encoder, uint64_t *out_filter);

#endif
