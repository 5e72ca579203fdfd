/* SPDX-License-Identifier: Apache-2.0 */
#include "core/profile.h"

#include "core/bloom.h"
#include "core/hash.h"

#include <string.h>

/* What is left to read. */
struct reader {
    const char *at;
    size_t left;
};

static bool reader_is_digit(const struct reader *reader)
{
    return reader->left > 0 && *reader->at >= '0' && *reader->at <= '9';
}

static bool reader_take(struct reader *reader, const char *text)
{
    size_t length = strlen(text);

    if (reader->left < length || memcmp(reader->at, text, length) != 0) {
        return false;
    }
    reader->at += length;
    reader->left -= length;
    return true;
}

/*
 * A decimal number without sign or leading zero. One form for each number, so that two texts are
 * the same profile only when they are the same text. What exceeds `ceiling` comes out as
 * ceiling + 1, so that nothing overflows.
 */
static bool reader_take_number(struct reader *reader, uint32_t ceiling, uint32_t *out)
{
    uint32_t value = 0;
    bool zero_first = reader->left > 0 && *reader->at == '0';
    size_t digits = 0;

    while (reader_is_digit(reader)) {
        if (value <= ceiling) {
            value = value * 10 + (uint32_t)(*reader->at - '0');
        }
        reader->at++;
        reader->left--;
        digits++;
    }
    if (digits == 0 || (zero_first && digits > 1)) {
        return false;
    }
    *out = value <= ceiling ? value : ceiling + 1;
    return true;
}

/* bits/hashes. Returns NULL, or what is wrong. The whole filter's rule for m is not applied here.
 */
static const char *parse_size(struct reader *reader, struct profile_section *section)
{
    if (!reader_take_number(reader, PROFILE_BITS_MAX, &section->bits)) {
        return "m must be a decimal number without sign, spaces or leading zeros, as in v1:512/4";
    }
    if (!reader_take(reader, "/")) {
        return "'/' and d are missing after m; the form is v1:m/d, as in v1:512/4";
    }
    if (!reader_take_number(reader, PROFILE_HASHES_MAX, &section->hashes)) {
        return "d must be a decimal number without sign, spaces or leading zeros, as in v1:512/4";
    }
    if (section->hashes < 1 || section->hashes > PROFILE_HASHES_MAX) {
        return "d must be 1 to 32";
    }
    return NULL;
}

static const char *check_total(uint32_t bits)
{
    if (bits > PROFILE_BITS_MAX) {
        return "m must be at most 4096";
    }
    if (bits < PROFILE_BITS_MIN || bits % PROFILE_BITS_MIN != 0) {
        return "m must be a multiple of 64 from 64 to 4096";
    }
    return NULL;
}

/* A section with a name in front: wifi=256/2, joint(geo,time)=32/1. */
static bool is_sectioned(const struct reader *reader)
{
    return memchr(reader->at, '=', reader->left) != NULL;
}

static const char *parse_sections(struct reader *reader, struct profile *profile)
{
    struct profile_section *section = &profile->sections[0];

    if (reader->left > 0 && is_sectioned(reader)) {
        return "sections by attribute are not supported by this version; give v1:m/d, "
               "as in v1:512/4";
    }
    const char *reason = parse_size(reader, section);
    if (reason != NULL) {
        return reason;
    }
    if (reader->left > 0) {
        return "there is more text after d; the form is v1:m/d, as in v1:512/4";
    }
    section->first_bit = 0;
    profile->section_count = 1;
    profile->bits = section->bits;
    return NULL;
}

int profile_parse(const char *text, size_t length, struct profile *out, const char **out_reason)
{
    struct profile profile;
    struct reader reader = {.at = text, .left = length};
    const char *reason = NULL;

    memset(&profile, 0, sizeof profile);
    profile.version = 1;
    if (length >= PROFILE_TEXT_MAX) {
        reason = "the profile is too long; at most 255 bytes are allowed";
    } else if (!reader_take(&reader, "v1:")) {
        reason = "a profile begins with its version, v1: and then m/d, as in v1:512/4";
    }
    if (reason == NULL) {
        reason = parse_sections(&reader, &profile);
    }
    if (reason == NULL) {
        reason = check_total(profile.bits);
    }
    if (reason != NULL) {
        *out_reason = reason;
        return PROFILE_REFUSED;
    }
    *out = profile;
    return 0;
}

/* Appends a decimal number and returns where the text goes on. */
static char *print_number(char *out, uint32_t value)
{
    char digits[10];
    size_t count = 0;

    do {
        digits[count++] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    while (count > 0) {
        *out++ = digits[--count];
    }
    return out;
}

void profile_print(const struct profile *profile, char *out)
{
    *out++ = 'v';
    out = print_number(out, profile->version);
    *out++ = ':';
    for (uint32_t s = 0; s < profile->section_count; s++) {
        if (s > 0) {
            *out++ = ',';
        }
        out = print_number(out, profile->sections[s].bits);
        *out++ = '/';
        out = print_number(out, profile->sections[s].hashes);
    }
    *out = '\0';
}

bool profile_equal(const struct profile *a, const struct profile *b)
{
    if (a->version != b->version || a->bits != b->bits || a->section_count != b->section_count) {
        return false;
    }
    for (uint32_t s = 0; s < a->section_count; s++) {
        if (a->sections[s].first_bit != b->sections[s].first_bit ||
            a->sections[s].bits != b->sections[s].bits ||
            a->sections[s].hashes != b->sections[s].hashes) {
            return false;
        }
    }
    return true;
}

/* The section that a label goes to: in version 1, the only one. */
static const struct profile_section *section_of(const struct profile *profile, const char *label,
                                                size_t length)
{
    (void)label;
    (void)length;
    return &profile->sections[0];
}

size_t profile_positions(const struct profile *profile, const char *label, size_t length,
                         uint32_t *out_positions)
{
    const struct profile_section *section = section_of(profile, label, length);
    struct hash128 hash = hash_label(label, length);

    for (uint32_t i = 0; i < section->hashes; i++) {
        out_positions[i] = section->first_bit + bloom_position(hash, i, section->bits);
    }
    return section->hashes;
}

void profile_add(const struct profile *profile, const char *label, size_t length, uint64_t *filter)
{
    uint32_t positions[PROFILE_SECTIONS_MAX * PROFILE_HASHES_MAX];
    size_t count = profile_positions(profile, label, length, positions);

    for (size_t i = 0; i < count; i++) {
        bloom_set(filter, positions[i]);
    }
}
