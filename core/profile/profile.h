/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile: how contexts become filters. A profile has m bits in all, and sections. A section has a
 * number of bits and d hashes for each label.
 *
 * Text form, version 2:
 *
 *   v2:512/4                                                one section, 512 bits, 4 hashes a label
 *   v2:wifi=256/2,geo=96/1,time=32/1,topic=96/2,joint(geo,time)=32/1     one for each attribute
 *
 *   bit 0                    256       352   384        480              512
 *   +------------------------+---------+-----+----------+----------------+
 *   | wifi                   | geo     | time| topic    | joint(geo,time)|
 *   +------------------------+---------+-----+----------+----------------+
 *
 * A filter has the sections side by side, in the order of the text. Section s has the bits
 * first_bit .. first_bit + bits - 1. A single section without a name takes all labels. If the
 * sections have names, a label goes to the section of its attribute. A label whose attribute has no
 * section goes to the section `any`. If there is no section `any`, the label is refused. A joint
 * section has pairs: a label of one attribute with a label of another attribute (encode.h).
 *
 * Each profile has exactly one text: numbers have no leading zeros, the attributes of a joint
 * section are in alphabetical order, and a single section for all labels has no name.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PROFILE_BITS_MIN = 64,      /* m is a multiple of this */
    PROFILE_BITS_MAX = 4096,    /* m at most; a section has 1 .. PROFILE_BITS_MAX bits */
    PROFILE_HASHES_MAX = 32,    /* d at most */
    PROFILE_SECTIONS_MAX = 16,  /* sections at most */
    PROFILE_TEXT_MAX = 256,     /* bytes of the text form, with its final NUL */
    PROFILE_NAME_MAX = 32,      /* bytes of a section's attribute at most */
    PROFILE_SENTENCE_MAX = 512, /* bytes of profile_explain's sentence, with its final NUL */
    PROFILE_WORDS_MAX = PROFILE_BITS_MAX / 64,
    PROFILE_BYTES_MAX = PROFILE_BITS_MAX / 8
};

/* How the text of a profile begins. Another version says that labels set other bits. */
#define PROFILE_VERSION "v2:"

/* What goes into a section. */
enum profile_kind {
    PROFILE_ALL,       /* every label: the only section */
    PROFILE_ATTRIBUTE, /* labels of the attribute `name` */
    PROFILE_ANY,       /* labels of attributes that no section is named after */
    PROFILE_JOINT      /* pairs of a label of `name` and a label of `other` */
};

/* How long a geohash and an hour are that joint sections take; see encode.h. */
enum { PROFILE_GEOHASH_BYTES = 6, PROFILE_HOUR_BYTES = 13 };

/* An attribute's name, not ended by NUL. */
struct profile_name {
    uint8_t length; /* 1 .. PROFILE_NAME_MAX; 0: none */
    char bytes[PROFILE_NAME_MAX];
};

struct profile_section {
    uint32_t first_bit;
    uint32_t bits;   /* >= 1 */
    uint32_t hashes; /* d, 1 .. PROFILE_HASHES_MAX and at most `bits` */
    enum profile_kind kind;
    struct profile_name name;
    struct profile_name other; /* comes after `name` in the alphabet */
};

struct profile {
    uint32_t bits; /* m, the sum of the sections' bits */
    uint32_t section_count;
    struct profile_section sections[PROFILE_SECTIONS_MAX];
};

/*
 * Reads the text form of a profile, `length` bytes. Returns 0 or PROFILE_REFUSED. With
 * PROFILE_REFUSED, *out is unchanged, and *out_reason is a text that says what is wrong (static
 * storage).
 */
enum { PROFILE_REFUSED = 1 };
int profile_parse(const char *text, size_t length, struct profile *out, const char **out_reason);

/*
 * Writes a sentence that tells people why profile_parse refuses a text, and a NUL, into
 * out_sentence (PROFILE_SENTENCE_MAX bytes). If the reason is one section, and this section is not
 * empty, the sentence quotes it: at most 80 bytes, with a question mark for each byte that is not
 * visible ASCII. If the reason is the sum of the bits of the named sections, the sentence has the
 * sum. If profile_parse accepts the text, the sentence is empty.
 */
void profile_explain(const char *text, size_t length, char *out_sentence);

/*
 * Writes the text form of a profile and a NUL into out (PROFILE_TEXT_MAX bytes). profile_parse can
 * read this text.
 */
void profile_print(const struct profile *profile, char *out);

/*
 * Writes the name of a section and a NUL into out (PROFILE_TEXT_MAX bytes), for example wifi, any
 * or joint(geo,time). A section for all labels has an empty name.
 */
void profile_print_name(const struct profile_section *section, char *out);

/*
 * Writes the names of all sections but the joint ones, separated by ", ", and a NUL into out
 * (PROFILE_TEXT_MAX bytes).
 */
void profile_print_names(const struct profile *profile, char *out);

/* Returns whether both profiles make the same filters from the same labels. */
bool profile_equal(const struct profile *a, const struct profile *b);

/*
 * Returns the section that a label goes to, or NULL if there is none. The label has passed
 * label_check. A text without a colon is allowed, too: its section is that for all labels, or
 * `any`. O(sections).
 */
const struct profile_section *profile_section_of(const struct profile *profile, const char *label,
                                                 size_t length);

/*
 * Returns the joint factor of a joint section: the largest power of two that divides three numbers
 * of bits: that of the joint section, and those of the sections of its two attributes. A joint
 * position is computed from the XOR of two hashes. The low bits of an XOR depend only on the low
 * bits of both hashes. So if two labels have the same position in the section of their attribute,
 * then with the same partner their joint positions are equal modulo the factor, unless one of these
 * positions is not a remainder but the next free one. The factor is 1 if the joint section has an
 * odd number of bits. O(sections).
 */
uint32_t profile_joint_factor(const struct profile *profile, const struct profile_section *section);

/* --- rate ------------------------------------------------------------------------------------- */

/*
 * The false-positive rates of a profile and of its sections, in floating point, for display
 * only. core/filter/sizing.h has the rates of a plain Bloom filter.
 */

/*
 * Returns the false-positive rate of one section that holds `labels` labels, or `labels` pairs if
 * the section is joint; 0 if `labels` is 0.
 *
 * The rate of a joint section is that of a pair whose two labels both seem to be in their sections.
 * Let b be the joint section's bits, d its hashes, n its pairs, and f its joint factor
 * (profile_joint_factor). The position of a new pair is then one of b/f positions instead of one of
 * b. One of these b/f positions is certainly set. The rate is
 *
 *   (1 - (1 - f/b) (1 - 1/b)^(dn-1))^d
 *
 * if d = 1 and if there are as many pairs as the labels allow. With a larger d, or with labels that
 * are in no pair, this number is too high.
 */
double profile_section_rate(const struct profile *profile, uint32_t section, uint32_t labels);

/*
 * Returns the expected share of set bits of one section that holds `labels` labels, or pairs if the
 * section is joint: 1 - (1 - d/b)^n, because each sets d different bits.
 */
double profile_section_fill(const struct profile *profile, uint32_t section, uint32_t labels);

/*
 * Returns the false-positive rate of a profile whose section s holds labels[s] labels, or labels[s]
 * pairs if section s is joint. A false positive is a filter that seems to contain a context with
 * one new label in each section and one new pair in each joint section. A filter seems to contain
 * the context only if all sections seem to contain their label or pair. So the rate is the product
 * of the sections' rates (the multi-dimensional Bloom filter).
 */
double profile_rate(const struct profile *profile, const uint32_t *labels);
