/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile: how contexts become filters: m bits in all, their sections, d hashes for each label, a
 * version.
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
 * A filter is a row of sections in the order of the text. Section s has the bits first_bit ..
 * first_bit + bits - 1. A label goes to the section of its attribute. A label whose attribute has
 * no section goes to the section `any`; if there is none, the label has no place. A joint section
 * holds pairs of a label of one attribute and a label of another (encode.h).
 *
 * Each profile has exactly one text: numbers have no leading zeros, the attributes of a joint
 * section are in alphabetical order, and a single section for all labels has no name.
 */
#ifndef CORE_PROFILE_PROFILE_H
#define CORE_PROFILE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PROFILE_BITS_MIN = 64,      /* m is a multiple of this */
    PROFILE_BITS_MAX = 4096,    /* m at most; a section has 1 to as many bits */
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

    /* These follow from the fields above. profile_parse writes them, encode.c uses them. */
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

    /* These follow from the sections, too. */
    uint32_t any; /* the number of the section `any`, if has_any */
    bool has_any;
    bool has_heads; /* there are attributes, and `head` is enough to tell each of them */
};

/*
 * Reads the text form, `length` bytes. 0, or PROFILE_REFUSED: *out_reason is then a sentence that
 * says what is wrong and what would be right (static storage), and *out is unchanged.
 */
enum { PROFILE_REFUSED = 1 };
int profile_parse(const char *text, size_t length, struct profile *out, const char **out_reason);

/*
 * Explains to people why profile_parse refuses a text. Writes a sentence and a NUL into
 * out_sentence (PROFILE_SENTENCE_MAX bytes), with the wrong section or the sum of the bits where
 * these matter. The section is quoted up to 80 bytes, with a question mark for each byte that is
 * not visible ASCII. If the text is not refused, the sentence is empty.
 */
void profile_explain(const char *text, size_t length, char *out_sentence);

/* Writes the text form and a NUL into out (PROFILE_TEXT_MAX bytes). profile_parse reads it back. */
void profile_print(const struct profile *profile, char *out);

/* Writes the name of a section and a NUL into out (PROFILE_TEXT_MAX bytes): wifi, any,
 * joint(geo,time); empty for a section without a name. */
void profile_print_name(const struct profile_section *section, char *out);

/*
 * Writes the names of the sections, separated by ", ", and a NUL into out (PROFILE_TEXT_MAX bytes).
 * Joint sections are left out.
 */
void profile_print_names(const struct profile *profile, char *out);

/* Whether both profiles make the same filters of the same labels. */
bool profile_equal(const struct profile *a, const struct profile *b);

/*
 * The section that a label goes to, or NULL if there is none. The label has passed label_check. (A
 * text without a colon is accepted, too: it is an attribute that no section has.) O(sections).
 */
const struct profile_section *profile_section_of(const struct profile *profile, const char *label,
                                                 size_t length);

/*
 * Returns the joint factor: the largest power of two that divides the number of bits of a joint
 * section and of the sections of its two attributes. A joint position is computed from the XOR of
 * two hashes, and the low bits of an XOR depend only on the low bits of both hashes. So two labels
 * that collide in the section of their attribute have joint positions that are equal modulo the
 * factor. If the factor is 1, a collision there says nothing about the joint position. The factor
 * is 1 if the joint section has an odd number of bits. O(sections).
 */
uint32_t profile_joint_factor(const struct profile *profile, const struct profile_section *section);

#endif
