/* SPDX-License-Identifier: Apache-2.0 */
#include "core/profile/encode.h"

#include <string.h>

#include "core/base/label.h"
#include "core/filter/bloom.h"
#include "core/profile/inner.h"

_Static_assert(2 * PROFILE_SECTIONS_MAX <= 32, "both sides of every section have a bit");

void encoder_begin(struct encoder *encoder, const struct profile *profile)
{
    encoder->profile = profile;
    encoder->candidate_count = 0;
    memset(encoder->filter, 0, bloom_bytes(profile->bits));
}

void encoder_end(const struct encoder *encoder, uint64_t *out_filter)
{
    memcpy(out_filter, encoder->filter, bloom_bytes(encoder->profile->bits));
}

/* --- positions -------------------------------------------------------------------------------- */

static bool has_position(const uint32_t *of, uint32_t count, uint32_t position)
{
    for (uint32_t i = 0; i < count; i++) {
        if (of[i] == position) {
            return true;
        }
    }
    return false;
}

/*
 * Sets the bits of a label or pair that has these values: the remainder of each value, or if that
 * is a position already, the next one that is none. The inner loop ends, because a section has at
 * least as many bits as hashes.
 */
static void set_bits(struct encoder *encoder, const struct profile_section *section,
                     const uint64_t *values)
{
    uint32_t of[PROFILE_HASHES_MAX];

    for (uint32_t i = 0; i < section->hashes; i++) {
        of[i] = (uint32_t)(values[i] % section->bits);
        while (has_position(of, i, of[i])) {
            of[i] = of[i] + 1 < section->bits ? of[i] + 1 : 0;
        }
        bloom_set(encoder->filter, section->first_bit + of[i]);
    }
}

static void add_bits(struct encoder *encoder, const struct profile_section *section,
                     struct hash128 hash)
{
    uint64_t values[PROFILE_HASHES_MAX];

    for (uint32_t i = 0; i < section->hashes; i++) {
        values[i] = bloom_value(hash, i);
    }
    set_bits(encoder, section, values);
}

/* --- which labels joint sections take --------------------------------------------------------- */

/* Returns whether PROFILE_HOUR_BYTES characters have the form 2026-11-20T14. */
static bool is_hour(const char *value)
{
    static const char pattern[] = "0000-00-00T00";

    for (size_t i = 0; i < PROFILE_HOUR_BYTES; i++) {
        if (pattern[i] == '0' ? value[i] < '0' || value[i] > '9' : value[i] != pattern[i]) {
            return false;
        }
    }
    return true;
}

/* Returns whether PROFILE_GEOHASH_BYTES characters are digits of a geohash. */
static bool is_geohash(const char *value)
{
    for (size_t i = 0; i < PROFILE_GEOHASH_BYTES; i++) {
        if (memchr(label_geohash_digits, value[i], LABEL_GEOHASH_DIGITS) == NULL) {
            return false;
        }
    }
    return true;
}

/* Returns whether the label has this attribute and a value that joint sections take (encode.h). */
static bool is_candidate(const struct profile_name *name, const char *label, size_t length)
{
    size_t head = (size_t)name->length + 1;

    if (length < head || label[name->length] != ':' ||
        memcmp(label, name->bytes, name->length) != 0) {
        return false;
    }
    if (profile_name_is(name, "geo")) {
        return length == head + PROFILE_GEOHASH_BYTES && is_geohash(label + head);
    }
    if (profile_name_is(name, "time")) {
        return length == head + PROFILE_HOUR_BYTES && is_hour(label + head);
    }
    return true;
}

static uint32_t side_bit(uint32_t section, bool other)
{
    return UINT32_C(1) << (2 * section + (other ? 1 : 0));
}

/*
 * A joint section has two sides, one for each of its attributes. Returns the sides that a label is
 * on, a bit for each side.
 */
static uint32_t sides_of(const struct profile *profile, const char *label, size_t length)
{
    uint32_t sides = 0;

    for (uint32_t s = 0; s < profile->section_count; s++) {
        const struct profile_section *section = &profile->sections[s];

        if (section->kind != PROFILE_JOINT) {
            continue;
        }
        sides |= is_candidate(&section->name, label, length) ? side_bit(s, false) : 0;
        sides |= is_candidate(&section->other, label, length) ? side_bit(s, true) : 0;
    }
    return sides;
}

/* --- pairs ------------------------------------------------------------------------------------ */

static void add_pair(struct encoder *encoder, const struct profile_section *section,
                     struct hash128 a, struct hash128 b)
{
    uint64_t values[PROFILE_HASHES_MAX];

    for (uint32_t i = 0; i < section->hashes; i++) {
        values[i] = bloom_value(a, i) ^ bloom_value(b, i);
    }
    set_bits(encoder, section, values);
}

/* Adds the pairs of a label with every candidate on the opposite side of joint section s. */
static void pair_with_candidates(struct encoder *encoder, uint32_t s, uint32_t opposite,
                                 struct hash128 hash)
{
    for (uint32_t c = 0; c < encoder->candidate_count; c++) {
        const struct encode_candidate *candidate = &encoder->candidates[c];

        if ((candidate->sides & opposite) != 0) {
            add_pair(encoder, &encoder->profile->sections[s], hash, candidate->hash);
        }
    }
}

/*
 * Returns whether a candidate with the same hash and the same sides was added before. Such a
 * candidate has set the same bits already.
 */
static bool is_known(const struct encoder *encoder, uint32_t sides, struct hash128 hash)
{
    for (uint32_t c = 0; c < encoder->candidate_count; c++) {
        const struct encode_candidate *known = &encoder->candidates[c];

        if (known->hash.low64 == hash.low64 && known->hash.high64 == hash.high64 &&
            known->sides == sides) {
            return true;
        }
    }
    return false;
}

/*
 * Adds the pairs of a label with the earlier candidates, and keeps the label as a candidate. Does
 * nothing for a label that is no candidate, or that was added before. Returns 0 or
 * ENCODE_CROWDED.
 */
static int add_pairs(struct encoder *encoder, const char *label, size_t length, struct hash128 hash)
{
    uint32_t sides = sides_of(encoder->profile, label, length);

    if (sides == 0 || is_known(encoder, sides, hash)) {
        return 0;
    }
    if (encoder->candidate_count == ENCODE_CANDIDATES_MAX) {
        return ENCODE_CROWDED;
    }
    for (uint32_t s = 0, rest = sides; rest != 0; s++, rest >>= 2) {
        if ((rest & 1) != 0) {
            pair_with_candidates(encoder, s, side_bit(s, true), hash);
        } else if ((rest & 2) != 0) {
            pair_with_candidates(encoder, s, side_bit(s, false), hash);
        }
    }
    encoder->candidates[encoder->candidate_count++] =
        (struct encode_candidate){.hash = hash, .sides = sides};
    return 0;
}

/* Adds one label whose hash is given. */
static int add_hashed(struct encoder *encoder, const char *label, size_t length,
                      struct hash128 hash)
{
    const struct profile_section *section = profile_section_of(encoder->profile, label, length);

    if (section == NULL) {
        return ENCODE_NO_SECTION;
    }
    if (add_pairs(encoder, label, length, hash) != 0) {
        return ENCODE_CROWDED;
    }
    add_bits(encoder, section, hash);
    return 0;
}

int encoder_add(struct encoder *encoder, const char *label, size_t length)
{
    return add_hashed(encoder, label, length, hash_label(label, length));
}

int encoder_add_keyed(struct encoder *encoder, const char *label, size_t length,
                      const uint8_t *keyed, size_t keyed_count)
{
    return add_hashed(encoder, label, length, hash_label(keyed, keyed_count));
}
