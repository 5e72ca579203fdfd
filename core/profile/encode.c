/* SPDX-License-Identifier: Apache-2.0 */
#include "core/profile/encode.h"

#include <assert.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "core/filter/bloom.h"

_Static_assert(2 * PROFILE_SECTIONS_MAX <= 32, "both sides of every section have a bit");

void encoder_begin(struct encoder *encoder, const struct profile *profile)
{
    encoder_begin_with(encoder, profile, NULL);
}

void encoder_begin_with(struct encoder *encoder, const struct profile *profile,
                        const struct hash_family *family)
{
    assert(profile->bits % 64 == 0 && profile->bits >= PROFILE_BITS_MIN);
    encoder->profile = profile;
    encoder->family = family;
    encoder->candidate_count = 0;
    memset(encoder->marks, 0, profile->bits);
}

/*
 * Turns MARKS_AT_ONCE marks into as many bits. The first mark becomes the lowest bit. A mark is 0
 * or MARKED.
 */
#if defined(__SSE2__)
enum { MARKED = 0xff, MARKS_AT_ONCE = 16 };

static inline uint64_t bits_of_marks(const uint8_t *marks)
{
    return (uint32_t)_mm_movemask_epi8(_mm_loadu_si128((const __m128i *)(const void *)marks));
}
#else
enum { MARKED = 1, MARKS_AT_ONCE = 8 };

static inline uint64_t bits_of_marks(const uint8_t *marks)
{
    uint64_t eight = 0;

    for (unsigned i = 0; i < MARKS_AT_ONCE; i++) {
        eight |= (uint64_t)marks[i] << 8 * i;
    }
    /*
     * Mark i is bit 8 i of `eight`. The factor has the bits 56 - 7 i for i = 0 .. 7. Mark i times
     * bit 56 - 7 i gives bit 56 + i of the product. No two products of bits meet in one bit, so
     * that there is no carry.
     */
    return eight * UINT64_C(0x0102040810204080) >> 56;
}
#endif

void encoder_end(const struct encoder *encoder, uint64_t *out_filter)
{
    size_t words = bloom_words(encoder->profile->bits);
    const uint8_t *marks = encoder->marks;

    for (size_t w = 0; w < words; w++, marks += 64) {
        uint64_t word = 0;

        for (unsigned i = 0; i < 64; i += MARKS_AT_ONCE) {
            word |= bits_of_marks(marks + i) << i;
        }
        out_filter[w] = word;
    }
}

/* --- positions -------------------------------------------------------------------------------- */

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

/*
 * The fields of a section that say where its bits are. This is a copy: the compiler must assume
 * that writing a mark could change the section.
 */
struct place {
    uint64_t unit;
    uint64_t upper_unit;
    uint8_t *marks;
    uint32_t bits;
};

static inline struct place place_of(struct encoder *encoder, const struct profile_section *section)
{
    return (struct place){section->unit, section->upper_unit, encoder->marks + section->first_bit,
                          section->bits};
}

/*
 * Returns value mod b, exactly and without a division or a branch, where b = place.bits <= 2^12
 * (Lemire, Kaser, Kurz, "Faster Remainder by Direct Computation", 2019, on a value that is reduced
 * first).
 *
 * Let value = hi 2^32 + lo, with hi and lo below 2^32, and r = 2^32 mod b. Then x = hi r + lo is
 * below 2^32 b and has the same remainder as value. Let x = q b + p, where p is the remainder. Let
 * c = ceil(2^64 / b), which is place.unit; then c b = 2^64 + e with 0 <= e < b. The function
 * computes modulo 2^64
 *
 *   f = x c = q e + p c        (place.upper_unit is r c mod 2^64)
 *
 * The sum q e + p c is below 2^64, because p c <= (b - 1) c = 2^64 + e - c, c >= 2^52 and q e <
 * 2^32 b <= 2^44. So f b = q e b + p (2^64 + e) = p 2^64 + e x, where e x < 2^32 b^2 <= 2^56. The
 * high half of f b is therefore p. For b = 1, c is 2^64 and is stored as 0; the result 0 is right.
 */
static inline uint32_t remainder_of(struct place place, uint64_t value)
{
    uint64_t f = (value & UINT32_MAX) * place.unit + (value >> 32) * place.upper_unit;

    return (uint32_t)multiply_high(f, place.bits);
}

_Static_assert(PROFILE_BITS_MAX <= 1 << 12, "remainder_of holds for sections of any size");

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
 * Marks the positions of a label or pair that has these values: the remainder of each value, or if
 * that is a position already, the next one that is none. The inner loop ends, because a section has
 * at least as many bits as hashes.
 */
static void mark_distinct(struct place place, const uint64_t *values, uint32_t hashes)
{
    uint32_t of[PROFILE_HASHES_MAX];

    for (uint32_t i = 0; i < hashes; i++) {
        of[i] = remainder_of(place, values[i]);
        while (has_position(of, i, of[i])) {
            of[i] = of[i] + 1 < place.bits ? of[i] + 1 : 0;
        }
        place.marks[of[i]] = MARKED;
    }
}

/*
 * Marks the positions of one label, whichever they are. Not inline, so that gcc keeps the hash in
 * registers where this function is not called.
 */
__attribute__((noinline)) static void mark_any(struct place place, uint32_t hashes,
                                               struct hash128 hash)
{
    uint64_t values[PROFILE_HASHES_MAX];

    for (uint32_t i = 0; i < hashes; i++) {
        values[i] = bloom_value(hash, i);
    }
    mark_distinct(place, values, hashes);
}

/* Returns whether two of a few remainders are equal, without a branch. */
static inline bool has_equal(const uint32_t *of, uint32_t count)
{
    bool found = false;

    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = i + 1; j < count; j++) {
            found |= of[i] == of[j];
        }
    }
    return found;
}

/*
 * Marks the positions of one label that has few hashes, whose number is a constant. Nearly always
 * its remainders differ. All are computed before the first is marked, so that the compiler keeps
 * them in registers.
 */
static inline void mark_values(struct place place, uint32_t hashes, struct hash128 hash)
{
    uint32_t of[PROFILE_HASHES_MAX];

    if ((place.bits & (place.bits - 1)) == 0) {
        for (uint32_t i = 0; i < hashes; i++) {
            of[i] = (uint32_t)bloom_value(hash, i) & (place.bits - 1);
        }
    } else {
        for (uint32_t i = 0; i < hashes; i++) {
            of[i] = remainder_of(place, bloom_value(hash, i));
        }
    }
    if (has_equal(of, hashes)) {
        mark_any(place, hashes, hash);
        return;
    }
    for (uint32_t i = 0; i < hashes; i++) {
        place.marks[of[i]] = MARKED;
    }
}

/*
 * Marks the positions of one label. Small numbers of hashes are passed as constants, so that the
 * compiler can unroll the loops.
 */
static inline void mark_label(struct place place, uint32_t hashes, struct hash128 hash)
{
    if (hashes == 1) {
        mark_values(place, 1, hash);
    } else if (hashes == 2) {
        mark_values(place, 2, hash);
    } else {
        mark_any(place, hashes, hash);
    }
}

/* Marks the positions of one label by a hash_family, whose positions may be equal. */
static void mark_family(struct place place, uint32_t hashes, struct hash128 hash,
                        const struct hash_family *family)
{
    for (uint32_t i = 0; i < hashes; i++) {
        place.marks[remainder_of(place, family->value(hash, i))] = MARKED;
    }
}

/* --- which labels joint sections take --------------------------------------------------------- */

/*
 * Returns whether PROFILE_HOUR_BYTES characters have the form 2026-11-20T14. The loop has no early
 * exit, so that the compiler can unroll it.
 */
static bool is_hour(const char *value)
{
    static const char pattern[] = "0000-00-00T00";
    bool wrong = false;

    for (size_t i = 0; i < PROFILE_HOUR_BYTES; i++) {
        wrong |= pattern[i] == '0' ? value[i] < '0' || value[i] > '9' : value[i] != pattern[i];
    }
    return !wrong;
}

/*
 * Returns whether PROFILE_GEOHASH_BYTES characters are digits of a geohash: 0-9 and b-z without i,
 * l and o (Niemeyer 2008).
 */
static bool is_geohash(const char *value)
{
    /* Bit c % 64 of number c / 64 is set for each digit c. */
    static const uint64_t digits[2] = {UINT64_C(0x03ff000000000000), UINT64_C(0x07ff6dfc00000000)};
    bool wrong = false;

    for (size_t i = 0; i < PROFILE_GEOHASH_BYTES; i++) {
        unsigned char c = (unsigned char)value[i];

        wrong |= c > 127 || (digits[c / 64 & 1] >> c % 64 & 1) == 0;
    }
    return !wrong;
}

/* Returns whether the label has this attribute. The loop saves a call of memcmp for a few bytes. */
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

/* Returns whether the label has this attribute and a value that joint sections take. */
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

/*
 * A joint section has two sides, one for each of its attributes. Returns the sides that a label is
 * on, a bit for each side. `possible` has the sides that the labels of the label's section may be
 * on.
 */
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

/* --- pairs ------------------------------------------------------------------------------------ */

static void mark_pair(struct encoder *encoder, const struct profile_section *section,
                      struct hash128 a, struct hash128 b)
{
    struct place place = place_of(encoder, section);
    const struct hash_family *family = encoder->family;
    uint64_t values[PROFILE_HASHES_MAX];

    for (uint32_t i = 0; i < section->hashes; i++) {
        if (family == NULL) {
            values[i] = bloom_value(a, i) ^ bloom_value(b, i);
        } else {
            place.marks[remainder_of(place, family->value(a, i) ^ family->value(b, i))] = MARKED;
        }
    }
    if (family == NULL) {
        mark_distinct(place, values, section->hashes);
    }
}

/* Marks the pairs of a label with every candidate on the opposite side of joint section s. */
static void mark_pairs(struct encoder *encoder, uint32_t s, uint32_t opposite, struct hash128 hash)
{
    for (uint32_t c = 0; c < encoder->candidate_count; c++) {
        const struct encode_candidate *candidate = &encoder->candidates[c];

        if ((candidate->sides & opposite) != 0) {
            mark_pair(encoder, &encoder->profile->sections[s], hash, candidate->hash);
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
 * Marks the pairs of a label with the earlier candidates, and keeps the label as a candidate. Does
 * nothing for a label that is no candidate, or that was added before. `possible` is as in sides_of.
 * Returns 0 or ENCODE_CROWDED.
 */
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
            mark_pairs(encoder, s, side_bit(s, true), hash);
        } else if ((rest & 2) != 0) {
            mark_pairs(encoder, s, side_bit(s, false), hash);
        }
    }
    encoder->candidates[encoder->candidate_count++] =
        (struct encode_candidate){.hash = hash, .sides = sides};
    return 0;
}

/*
 * Returns the same section as profile_section_of. The fast path is for labels of 8 bytes or more,
 * and for profiles whose attributes with a section have names of at most 7 bytes.
 */
static inline const struct profile_section *section_of(const struct profile *profile,
                                                       const char *label, size_t length)
{
    uint64_t head = 0;

    if (length < sizeof(head) || !profile->has_heads) {
        return profile_section_of(profile, label, length);
    }
    memcpy(&head, label, sizeof(head));
    for (uint32_t s = 0; s < profile->section_count; s++) {
        if ((head & profile->sections[s].head_mask) == profile->sections[s].head) {
            return &profile->sections[s];
        }
    }
    return profile->has_any ? &profile->sections[profile->any] : NULL;
}

/* Returns false if no joint section takes a label of this section and this length. */
static inline bool may_pair(const struct profile_section *section, size_t length)
{
    return section->sides != 0 && (section->pair_length == 0 || section->pair_length == length);
}

/* Adds one label whose hash is given. `family` computed the hash; NULL: hash_label computed it. */
static inline int add_hashed(struct encoder *encoder, const char *label, size_t length,
                             struct hash128 hash, const struct hash_family *family)
{
    const struct profile_section *section = section_of(encoder->profile, label, length);

    if (section == NULL) {
        return ENCODE_NO_SECTION;
    }
    if (may_pair(section, length) && add_pairs(encoder, section->sides, label, length, hash) != 0) {
        return ENCODE_CROWDED;
    }
    if (family == NULL) {
        mark_label(place_of(encoder, section), section->hashes, hash);
    } else {
        mark_family(place_of(encoder, section), section->hashes, hash, family);
    }
    return 0;
}

/* Adds labels that all go to one section and make no pairs. */
static inline void mark_labels(struct place place, uint32_t hashes, const char *const *labels,
                               const size_t *lengths, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        mark_values(place, hashes, hash_label(labels[i], lengths[i]));
    }
}

static void add_to_only_section(struct encoder *encoder, const char *const *labels,
                                const size_t *lengths, size_t count)
{
    const struct profile_section *section = &encoder->profile->sections[0];
    struct place place = place_of(encoder, section);

    switch (section->hashes) { /* constants, as in mark_label */
    case 1:
        mark_labels(place, 1, labels, lengths, count);
        break;
    case 2:
        mark_labels(place, 2, labels, lengths, count);
        break;
    case 3:
        mark_labels(place, 3, labels, lengths, count);
        break;
    case 4:
        mark_labels(place, 4, labels, lengths, count);
        break;
    default:
        for (size_t i = 0; i < count; i++) {
            mark_any(place, section->hashes, hash_label(labels[i], lengths[i]));
        }
        break;
    }
}

int encoder_add_all(struct encoder *encoder, const char *const *labels, const size_t *lengths,
                    size_t count, size_t *out_refused)
{
    int rc = 0;

    if (encoder->family == NULL && encoder->profile->sections[0].kind == PROFILE_ALL) {
        add_to_only_section(encoder, labels, lengths, count);
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        const struct hash_family *family = encoder->family;

        /*
         * The first call passes a constant NULL, so that the compiler can make a copy of add_hashed
         * for the hash of labels alone and keep the hash in registers.
         */
        if (family == NULL) {
            rc =
                add_hashed(encoder, labels[i], lengths[i], hash_label(labels[i], lengths[i]), NULL);
        } else {
            rc = add_hashed(encoder, labels[i], lengths[i], family->hash(labels[i], lengths[i]),
                            family);
        }
        if (rc != 0) {
            *out_refused = i;
            return rc;
        }
    }
    return 0;
}

int encoder_add(struct encoder *encoder, const char *label, size_t length)
{
    size_t refused = 0;

    return encoder_add_all(encoder, &label, &length, 1, &refused);
}

int encoder_add_keyed(struct encoder *encoder, const char *label, size_t length,
                      const uint8_t *keyed, size_t keyed_count)
{
    assert(encoder->family == NULL);
    return add_hashed(encoder, label, length, hash_label(keyed, keyed_count), NULL);
}
