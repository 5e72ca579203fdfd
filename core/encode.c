/* SPDX-License-Identifier: Apache-2.0 */
#include "core/encode.h"

#include "core/bloom.h"

#include <assert.h>
#include <string.h>

_Static_assert(2 * PROFILE_SECTIONS_MAX <= 32, "both sides of every section have a bit");

void encoder_begin(struct encoder *encoder, const struct profile *profile, uint64_t *filter)
{
    assert(profile->sections[0].reciprocal != 0); /* it is from profile_parse */
    encoder->profile = profile;
    encoder->candidate_count = 0;
    encoder->filter = filter;
    memset(filter, 0, bloom_words(profile->bits) * sizeof *filter);
}

/* ---- positions ---- */

/* The high half of a * b. */
static inline uint64_t multiply_high(uint64_t a, uint64_t b)
{
#if defined(__SIZEOF_INT128__)
    __extension__ typedef unsigned __int128 wide;

    return (uint64_t)((wide)a * b >> 64);
#else
    uint64_t a_low = a & UINT32_MAX;
    uint64_t b_low = b & UINT32_MAX;
    uint64_t middle = (a >> 32) * b_low + (a_low * b_low >> 32);
    uint64_t other = a_low * (b >> 32) + (middle & UINT32_MAX);

    return (a >> 32) * (b >> 32) + (middle >> 32) + (other >> 32);
#endif
}

/* What of a section says where its bits are; a copy, as the filter might overlap the section for
 * all that the compiler knows. */
struct place {
    uint64_t reciprocal;
    uint32_t first_bit;
    uint32_t bits;
};

static inline struct place place_of(const struct profile_section *section)
{
    return (struct place){section->reciprocal, section->first_bit, section->bits};
}

/*
 * Where bit (value mod section's bits) of the section is in the filter. With r = floor((2^64 - 1) /
 * b), the quotient floor(value * r / 2^64) is value / b rounded down or 1 less, as 2^64 / b - r <=
 * 1: so what is left of the value is below 2 b. A division would take longer than the hash.
 */
static inline uint32_t position_of(struct place place, uint64_t value)
{
    uint32_t left = (uint32_t)(value - multiply_high(value, place.reciprocal) * place.bits);

    return place.first_bit + (left >= place.bits ? left - place.bits : left);
}

static inline void set_bit(uint64_t *filter, uint32_t p)
{
    filter[p / 64] |= UINT64_C(1) << p % 64;
}

/* The positions of bloom_position, one after another. */
static inline void set_positions(uint64_t *filter, const struct profile_section *section,
                                 struct hash128 hash)
{
    const struct place place = place_of(section);
    const uint32_t hashes = section->hashes;
    const uint64_t step = hash.high64 | 1;
    uint64_t value = hash.low64;

    if ((place.bits & (place.bits - 1)) == 0) {
        for (uint32_t i = 0; i < hashes; i++) {
            set_bit(filter, place.first_bit + (uint32_t)(value & (place.bits - 1)));
            value += step;
        }
        return;
    }
    for (uint32_t i = 0; i < hashes; i++) {
        set_bit(filter, position_of(place, value));
        value += step;
    }
}

/* ---- which labels joint sections take ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* 2026-11-20T14, PROFILE_HOUR_BYTES of it. */
static bool is_hour(const char *value)
{
    static const char pattern[] = "0000-00-00T00";

    for (size_t i = 0; i < PROFILE_HOUR_BYTES; i++) {
        if (pattern[i] == '0' ? !is_digit(value[i]) : value[i] != pattern[i]) {
            return false;
        }
    }
    return true;
}

/* Geohash's 32 digits (Niemeyer 2008) are 0-9 and b-z but i, l and o. */
static bool is_geohash(const char *value)
{
    for (size_t i = 0; i < PROFILE_GEOHASH_BYTES; i++) {
        char c = value[i];
        bool letter = c >= 'b' && c <= 'z' && c != 'i' && c != 'l' && c != 'o';

        if (!letter && !is_digit(c)) {
            return false;
        }
    }
    return true;
}

/* Whether the label is of that attribute. Names are a few bytes: a call would take longer. */
static inline bool is_of(const struct profile_name *name, const char *label, size_t length)
{
    size_t count = name->length;

    if (length <= count || label[count] != ':') {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (label[i] != name->bytes[i]) {
            return false;
        }
    }
    return true;
}

/* Whether the label is of that attribute, and its value one that joint sections take. */
static bool is_candidate(const struct profile_name *name, enum profile_form form, const char *label,
                         size_t length)
{
    size_t head = (size_t)name->length + 1;

    switch (form) {
    case PROFILE_FORM_GEOHASH:
        return length == head + PROFILE_GEOHASH_BYTES && is_of(name, label, length) &&
               is_geohash(label + head);
    case PROFILE_FORM_HOUR:
        return length == head + PROFILE_HOUR_BYTES && is_of(name, label, length) &&
               is_hour(label + head);
    case PROFILE_FORM_ANY:
        break;
    }
    return is_of(name, label, length);
}

static uint32_t side_bit(uint32_t section, bool other)
{
    return UINT32_C(1) << (2 * section + (other ? 1 : 0));
}

/* Of the sides that labels of its section may be on, those that this one is on. */
static uint32_t sides_of(const struct profile *profile, uint32_t possible, const char *label,
                         size_t length)
{
    uint32_t sides = 0;

    for (uint32_t s = 0; possible != 0; s++, possible >>= 2) {
        const struct profile_section *section = &profile->sections[s];

        if ((possible & 1) != 0 &&
            is_candidate(&section->name, section->name_form, label, length)) {
            sides |= side_bit(s, false);
        }
        if ((possible & 2) != 0 &&
            is_candidate(&section->other, section->other_form, label, length)) {
            sides |= side_bit(s, true);
        }
    }
    return sides;
}

/* ---- pairs ---- */

static void set_pair(uint64_t *filter, const struct profile_section *section, struct hash128 a,
                     struct hash128 b)
{
    const struct place place = place_of(section);
    const uint32_t hashes = section->hashes;

    for (uint32_t i = 0; i < hashes; i++) {
        set_bit(filter, position_of(place, bloom_value(a, i) ^ bloom_value(b, i)));
    }
}

/* With every candidate of the other side. */
static void set_pairs(struct encoder *encoder, uint32_t s, uint32_t opposite, struct hash128 hash)
{
    for (uint32_t c = 0; c < encoder->candidate_count; c++) {
        const struct encode_candidate *candidate = &encoder->candidates[c];

        if ((candidate->sides & opposite) != 0) {
            set_pair(encoder->filter, &encoder->profile->sections[s], hash, candidate->hash);
        }
    }
}

/* By its hash: a label that shared another's would set the same bits. */
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

/* What joint sections make of a label that they may take. */
static int add_pairs(struct encoder *encoder, uint32_t possible, const char *label, size_t length,
                     struct hash128 hash)
{
    uint32_t sides = sides_of(encoder->profile, possible, label, length);

    if (sides == 0 || is_known(encoder, sides, hash)) {
        return 0;
    }
    if (encoder->candidate_count == ENCODE_CANDIDATES_MAX) {
        return ENCODE_CROWDED;
    }
    for (uint32_t s = 0, rest = sides; rest != 0; s++, rest >>= 2) {
        if ((rest & 1) != 0) {
            set_pairs(encoder, s, side_bit(s, true), hash);
        } else if ((rest & 2) != 0) {
            set_pairs(encoder, s, side_bit(s, false), hash);
        }
    }
    encoder->candidates[encoder->candidate_count++] =
        (struct encode_candidate){.hash = hash, .sides = sides};
    return 0;
}

/* As profile_section_of, which costs about as much as a hash, for the usual labels and names. */
static inline const struct profile_section *section_of(const struct profile *profile,
                                                       const char *label, size_t length)
{
    uint64_t head = 0;

    if (profile->sections[0].kind == PROFILE_ALL) {
        return &profile->sections[0];
    }
    if (length >= sizeof head) {
        memcpy(&head, label, sizeof head);
        for (uint32_t s = 0; s < profile->section_count; s++) {
            if ((head & profile->sections[s].head_mask) == profile->sections[s].head) {
                return &profile->sections[s];
            }
        }
    }
    return profile_section_of(profile, label, length);
}

/* Whether joint sections may take the label, at a glance. */
static inline bool may_pair(const struct profile_section *section, size_t length)
{
    return section->sides != 0 && (section->pair_length == 0 || section->pair_length == length);
}

int encoder_add(struct encoder *encoder, const char *label, size_t length)
{
    const struct profile_section *section = section_of(encoder->profile, label, length);

    if (section == NULL) {
        return ENCODE_NO_SECTION;
    }
    struct hash128 hash = hash_label(label, length);
    if (may_pair(section, length) && add_pairs(encoder, section->sides, label, length, hash) != 0) {
        return ENCODE_CROWDED;
    }
    set_positions(encoder->filter, section, hash);
    return 0;
}
