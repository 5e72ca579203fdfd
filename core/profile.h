/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile: how contexts become filters: m bits in all, their sections, d hashes each, a version.
 *
 * Text form, version 1:   v1:512/4     one section of 512 bits, 4 hashes a label.
 * A filter is a row of sections; section s owns bits first_bit .. first_bit + bits - 1. Version 1
 * has one section that takes every label; sections by attribute will be further entries.
 */
#ifndef CORE_PROFILE_H
#define CORE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PROFILE_BITS_MIN = 64,     /* m is a multiple of this */
    PROFILE_BITS_MAX = 4096,   /* m at most */
    PROFILE_HASHES_MAX = 32,   /* d at most */
    PROFILE_SECTIONS_MAX = 16, /* sections at most */
    PROFILE_TEXT_MAX = 256,    /* bytes of the text form, with its final NUL */
    PROFILE_WORDS_MAX = PROFILE_BITS_MAX / 64,
    PROFILE_BYTES_MAX = PROFILE_BITS_MAX / 8
};

struct profile_section {
    uint32_t first_bit;
    uint32_t bits;   /* >= 1 */
    uint32_t hashes; /* d, 1 .. PROFILE_HASHES_MAX */
};

struct profile {
    uint32_t version; /* 1 */
    uint32_t bits;    /* m, the sum of the sections' bits */
    uint32_t section_count;
    struct profile_section sections[PROFILE_SECTIONS_MAX];
};

/*
 * Reads the text form, `length` bytes. 0, or PROFILE_REFUSED with a sentence in *out_reason (static
 * storage) that says what is wrong and what would be right; *out is untouched then.
 */
enum { PROFILE_REFUSED = 1 };
int profile_parse(const char *text, size_t length, struct profile *out, const char **out_reason);

/* Writes the text form and a NUL into out (PROFILE_TEXT_MAX bytes). Parsing it gives it back. */
void profile_print(const struct profile *profile, char *out);

/* Whether both make the same filters of the same labels. */
bool profile_equal(const struct profile *a, const struct profile *b);

/*
 * The positions that a label sets, ascending by i, within the whole filter. The label must have
 * passed label_check. Writes at most PROFILE_SECTIONS_MAX * PROFILE_HASHES_MAX numbers and returns
 * how many (positions may repeat). O(label length + d).
 */
size_t profile_positions(const struct profile *profile, const char *label, size_t length,
                         uint32_t *out_positions);

/* Sets those positions in a filter of profile->bits bits. */
void profile_add(const struct profile *profile, const char *label, size_t length, uint64_t *filter);

#endif
