/* SPDX-License-Identifier: Apache-2.0 */
#include "core/encode.h"

#include "core/bloom.h"

#include <string.h>

_Static_assert(2 * PROFILE_SECTIONS_MAX <= 32, "both sides of every section have a bit");

void encoder_begin(struct encoder *encoder, const struct profile *profile, uint64_t *filter)
{
    encoder->profile = profile;
    encoder->filter = filter;
    encoder->candidate_count = 0;
    memset(filter, 0, bloom_words(profile->bits) * sizeof *filter);
}

static void set_positions(uint64_t *filter, const struct profile_section *section,
                          struct hash128 hash)
{
    for (uint32_t i = 0; i < section->hashes; i++) {
        bloom_set(filter, section->first_bit + bloom_position(hash, i, section->bits));
    }
}

/* ---- which labels joint sections take ---- */

static bool matches(const char *text, size_t length, const char *pattern)
{
    if (length != strlen(pattern)) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        bool digit = text[i] >= '0' && text[i] <= '9';

        if (pattern[i] == '0' ? !digit : text[i] != pattern[i]) {
            return false;
        }
    }
    return true;
}

static bool is_date_hour(const char *value, size_t length)
{
    return matches(value, length, "0000-00-00T00");
}

/* Geohash's 32 digits (Niemeyer 2008). */
static bool is_geohash_of_6(const char *value, size_t length)
{
    if (length != 6) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if (memchr("0123456789bcdefghjkmnpqrstuvwxyz", value[i], 32) == NULL) {
            return false;
        }
    }
    return true;
}

static bool is_attribute(const struct profile_name *name, const char *attribute)
{
    return name->length == strlen(attribute) && memcmp(name->bytes, attribute, name->length) == 0;
}

/* Whether the label is of that attribute, and its value one that joint sections take. */
static bool is_candidate(const struct profile_name *name, const char *label, size_t length)
{
    size_t head = (size_t)name->length + 1;

    if (length < head || label[name->length] != ':' ||
        memcmp(label, name->bytes, name->length) != 0) {
        return false;
    }
    if (is_attribute(name, "geo")) {
        return is_geohash_of_6(label + head, length - head);
    }
    if (is_attribute(name, "time")) {
        return is_date_hour(label + head, length - head);
    }
    return true;
}

static uint32_t side_bit(uint32_t section, bool other)
{
    return UINT32_C(1) << (2 * section + (other ? 1 : 0));
}

static uint32_t sides_of(const struct profile *profile, const char *label, size_t length)
{
    uint32_t sides = 0;

    for (uint32_t s = 0; s < profile->section_count; s++) {
        const struct profile_section *section = &profile->sections[s];

        if (section->kind != PROFILE_JOINT) {
            continue;
        }
        if (is_candidate(&section->name, label, length)) {
            sides |= side_bit(s, false);
        } else if (is_candidate(&section->other, label, length)) {
            sides |= side_bit(s, true);
        }
    }
    return sides;
}

/* ---- pairs ---- */

static void set_pair(uint64_t *filter, const struct profile_section *section, struct hash128 a,
                     struct hash128 b)
{
    for (uint32_t i = 0; i < section->hashes; i++) {
        uint64_t value = bloom_value(a, i) ^ bloom_value(b, i);

        bloom_set(filter, section->first_bit + (uint32_t)(value % section->bits));
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

static int add_candidate(struct encoder *encoder, uint32_t sides, struct hash128 hash)
{
    if (is_known(encoder, sides, hash)) {
        return 0;
    }
    if (encoder->candidate_count == ENCODE_CANDIDATES_MAX) {
        return ENCODE_CROWDED;
    }
    for (uint32_t s = 0; s < encoder->profile->section_count; s++) {
        if ((sides & side_bit(s, false)) != 0) {
            set_pairs(encoder, s, side_bit(s, true), hash);
        } else if ((sides & side_bit(s, true)) != 0) {
            set_pairs(encoder, s, side_bit(s, false), hash);
        }
    }
    encoder->candidates[encoder->candidate_count++] =
        (struct encode_candidate){.hash = hash, .sides = sides};
    return 0;
}

int encoder_add(struct encoder *encoder, const char *label, size_t length)
{
    const struct profile *profile = encoder->profile;
    const struct profile_section *section = profile_section_of(profile, label, length);

    if (section == NULL) {
        return ENCODE_NO_SECTION;
    }
    struct hash128 hash = hash_label(label, length);
    uint32_t sides = sides_of(profile, label, length);
    if (sides != 0 && add_candidate(encoder, sides, hash) != 0) {
        return ENCODE_CROWDED;
    }
    set_positions(encoder->filter, section, hash);
    return 0;
}
