/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile: how contexts become filters: m bits in all, their sections, d hashes each, a version.
 *
 * Text form, version 1:
 *
 *   v1:512/4                                                one section, 512 bits, 4 hashes a label
 *   v1:wifi=256/2,geo=96/1,time=32/1,topic=96/2,joint(geo,time)=32/1     one for each attribute
 *
 *   bit 0                    256       352   384        480              512
 *   +------------------------+---------+-----+----------+----------------+
 *   | wifi                   | geo     | time| topic    | joint(geo,time)|
 *   +------------------------+---------+-----+----------+----------------+
 *
 * A filter is a row of sections in the order of the text; section s owns bits first_bit ..
 * first_bit + bits - 1. A label goes to its attribute's section, labels of attributes without one
 * to the section `any`; where there is none, there is no place for them. A joint section holds
 * pairs of a label of one attribute and one of another (encode.h).
 *
 * Each profile has exactly one text: numbers without leading zeros, the attributes of a joint
 * section in alphabetical order, one section for all labels without a name.
 */
#ifndef CORE_PROFILE_PROFILE_H
#define CORE_PROFILE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PROFILE_BITS_MIN = 64,      /* m is a multiple of this */
    PROFILE_BITS_MAX = 4096,    /* m at most; a section has 1 to that many */
    PROFILE_HASHES_MAX = 32,    /* d at most */
    PROFILE_SECTIONS_MAX = 16,  /* sections at most */
    PROFILE_TEXT_MAX = 256,     /* bytes of the text form, with its final NUL */
    PROFILE_NAME_MAX = 32,      /* bytes of a section's attribute at most */
    PROFILE_SENTENCE_MAX = 512, /* bytes of profile_explain's sentence, with its final NUL */
    PROFILE_WORDS_MAX = PROFILE_BITS_MAX / 64,
    PROFILE_BYTES_MAX = PROFILE_BITS_MAX / 8
};

/* What goes into a section. */
enum profile_kind {
    PROFILE_ALL,       /* every label: the only section */
    PROFILE_ATTRIBUTE, /* labels of the attribute `name` */
    PROFILE_ANY,       /* labels of attributes that no section is named after */
    PROFILE_JOINT      /* pairs of a label of `name` and a label of `other` */
};

/* Which labels of an attribute a joint section takes; see encode.h. */
enum profile_form { PROFILE_FORM_ANY, PROFILE_FORM_GEOHASH, PROFILE_FORM_HOUR };
enum { PROFILE_GEOHASH_BYTES = 6, PROFILE_HOUR_BYTES = 13 };

/* An attribute's name, not ended by NUL. */
struct profile_name {
    uint8_t length; /* 1 .. PROFILE_NAME_MAX; 0: none */
    char bytes[PROFILE_NAME_MAX];
};

struct profile_section {
    uint32_t first_bit;
    uint32_t bits;   /* >= 1 */
    uint32_t hashes; /* d, 1 .. PROFILE_HASHES_MAX */
    enum profile_kind kind;
    struct profile_name name;
    struct profile_name other; /* comes after `name` in the alphabet */

    /* Follows from the rest; written by profile_parse, for encode.c. */
    uint64_t unit;       /* ceil(2^64 / bits) mod 2^64 */
    uint64_t upper_unit; /* (2^32 mod bits) unit mod 2^64 */
    uint64_t head;      /* "name:" as it lies in memory, and ones where it has bytes; where there */
    uint64_t head_mask; /* is no attribute of at most 7 bytes, 1 and 0, which match nothing */
    enum profile_form name_form;
    enum profile_form other_form;
    uint32_t pair_length; /* bytes of a label that joint sections may take; 0: any number */
    uint32_t sides;       /* joint sections that labels of this one may stand in: bit 2 s as `name`
                             of section s, bit 2 s + 1 as its `other` */
};

struct profile {
    uint32_t version; /* 1 */
    uint32_t bits;    /* m, the sum of the sections' bits */
    uint32_t section_count;
    struct profile_section sections[PROFILE_SECTIONS_MAX];

    /* As the last ones of a section. */
    uint32_t any;   /* the section `any`, if ... */
    bool has_any;   /* ... there is one */
    bool has_heads; /* heads tell all attributes, and there are some */
};

/*
 * Reads the text form, `length` bytes. 0, or PROFILE_REFUSED with a sentence in *out_reason (static
 * storage) that says what is wrong and what would be right; *out is untouched then.
 */
enum { PROFILE_REFUSED = 1 };
int profile_parse(const char *text, size_t length, struct profile *out, const char **out_reason);

/*
 * Writes why profile_parse refuses a text into out_sentence (PROFILE_SENTENCE_MAX bytes, ended by
 * NUL), with the section that is wrong and the sum of the bits where these are what matters: what
 * people should be shown. An empty sentence where the text is not refused. The section is quoted up
 * to 80 bytes, with a question mark for each that is not visible ASCII.
 */
void profile_explain(const char *text, size_t length, char *out_sentence);

/* Writes the text form and a NUL into out (PROFILE_TEXT_MAX bytes). Parsing it gives it back. */
void profile_print(const struct profile *profile, char *out);

/* Writes one section's name (wifi, any, joint(geo,time); empty for the only one) in the same way.
 */
void profile_print_name(const struct profile_section *section, char *out);

/*
 * Writes the names of the sections that labels go to, joint ones left out, separated by ", ", and a
 * NUL into out (PROFILE_TEXT_MAX bytes).
 */
void profile_print_names(const struct profile *profile, char *out);

/* Whether both make the same filters of the same labels. */
bool profile_equal(const struct profile *a, const struct profile *b);

/*
 * The section that a label goes to; NULL where there is none. The label has passed label_check, or
 * else has no colon and goes where the whole of it is no section's name. O(sections).
 */
const struct profile_section *profile_section_of(const struct profile *profile, const char *label,
                                                 size_t length);

/*
 * The largest power of two that divides the bits of joint section `section` and those of the two
 * sections that its attributes' labels go to. The low bits of an XOR come from low bits alone, so a
 * label that merely collides with another one in its own section also agrees with it in what the
 * joint section's position is modulo this number. 1 (so whenever the joint section has an odd
 * number of bits): collisions there and here have nothing to do with one another. O(sections).
 */
uint32_t profile_joint_factor(const struct profile *profile, const struct profile_section *section);

#endif
