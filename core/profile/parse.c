/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_parse: the text form, read. What is wrong is a constant sentence and, for
 * profile_explain, the place and the sum that it is about.
 */
#include <string.h>

#include "core/profile/profile.h"

/* What is left to read. */
struct reader {
    const char *at;
    size_t left;
};

/* Why a text is refused. */
struct fault {
    const char *reason;    /* NULL: it is not */
    struct reader section; /* the section that is wrong; none where left is 0 */
    uint32_t sum;          /* of the sections' bits, where that is what is wrong; else 0 */
};

static bool reader_is_digit(const struct reader *reader)
{
    return reader->left > 0 && *reader->at >= '0' && *reader->at <= '9';
}

static bool reader_is_lower(const struct reader *reader)
{
    return reader->left > 0 && *reader->at >= 'a' && *reader->at <= 'z';
}

static void reader_skip(struct reader *reader, size_t count)
{
    reader->at += count;
    reader->left -= count;
}

static bool reader_take(struct reader *reader, const char *text)
{
    size_t length = strlen(text);

    if (reader->left < length || memcmp(reader->at, text, length) != 0) {
        return false;
    }
    reader_skip(reader, length);
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
        reader_skip(reader, 1);
        digits++;
    }
    if (digits == 0 || (zero_first && digits > 1)) {
        return false;
    }
    *out = value <= ceiling ? value : ceiling + 1;
    return true;
}

/* An attribute, [a-z][a-z0-9]*. Returns NULL, or what is wrong. */
static const char *take_name(struct reader *reader, struct profile_name *out)
{
    const char *first = reader->at;

    if (!reader_is_lower(reader)) {
        return "an attribute begins with a letter a-z, as in wifi=256/2 or joint(geo,time)=32/1";
    }
    while (reader_is_lower(reader) || reader_is_digit(reader)) {
        reader_skip(reader, 1);
    }
    size_t length = (size_t)(reader->at - first);
    if (length > PROFILE_NAME_MAX) {
        return "an attribute with a section has at most 32 letters and digits";
    }
    out->length = (uint8_t)length;
    memcpy(out->bytes, first, length);
    return NULL;
}

static int compare_names(const struct profile_name *a, const struct profile_name *b)
{
    size_t shorter = a->length < b->length ? a->length : b->length;
    int order = memcmp(a->bytes, b->bytes, shorter);

    return order != 0 ? order : (int)a->length - (int)b->length;
}

static bool name_is(const struct profile_name *name, const char *text)
{
    return name->length == strlen(text) && memcmp(name->bytes, text, name->length) == 0;
}

/* bits/hashes. Returns NULL, or what is wrong. The whole filter's rule for m is not applied here.
 */
static const char *take_size(struct reader *reader, struct profile_section *section)
{
    if (!reader_take_number(reader, PROFILE_BITS_MAX, &section->bits)) {
        return "m must be a decimal number without sign, spaces or leading zeros, as in v1:512/4";
    }
    if (!reader_take(reader, "/")) {
        return "'/' and d are missing after m; the form is m/d, as in v1:512/4";
    }
    if (!reader_take_number(reader, PROFILE_HASHES_MAX, &section->hashes)) {
        return "d must be a decimal number without sign, spaces or leading zeros, as in v1:512/4";
    }
    if (section->hashes < 1 || section->hashes > PROFILE_HASHES_MAX) {
        return "d must be 1 to 32";
    }
    if (reader->left > 0) {
        return "there is more text after d; the form is m/d, as in v1:512/4, and sections follow "
               "one another with a comma";
    }
    return NULL;
}

static bool is_reserved(const struct profile_name *name)
{
    return name_is(name, "any") || name_is(name, "joint");
}

/* What stands between the parentheses, and the closing one. */
static const char *take_pair(struct reader *reader, struct profile_section *section)
{
    const char *form = "joint takes two attributes, as in joint(geo,time)=32/1";
    const char *reason = take_name(reader, &section->name);

    if (reason == NULL && !reader_take(reader, ",")) {
        reason = form;
    }
    if (reason == NULL) {
        reason = take_name(reader, &section->other);
    }
    if (reason == NULL && !reader_take(reader, ")")) {
        reason = form;
    }
    if (reason != NULL) {
        return reason;
    }
    if (is_reserved(&section->name) || is_reserved(&section->other)) {
        return "joint pairs the labels of two attributes; any and joint are none";
    }
    int order = compare_names(&section->name, &section->other);
    if (order == 0) {
        return "the two attributes of a joint section must differ";
    }
    if (order > 0) {
        return "the two attributes of a joint section stand in alphabetical order, as in "
               "joint(geo,time)=32/1";
    }
    return NULL;
}

static const char *take_section_name(struct reader *reader, struct profile_section *section)
{
    if (reader->left == 0) {
        return "a section is missing: there is nothing before, between or after commas";
    }
    if (reader_is_digit(reader)) {
        return "among several sections each has a name; any=m/d takes the labels of all "
               "attributes that have no section";
    }
    if (reader_take(reader, "joint(")) {
        section->kind = PROFILE_JOINT;
        return take_pair(reader, section);
    }
    const char *reason = take_name(reader, &section->name);
    if (reason == NULL && name_is(&section->name, "joint")) {
        reason = "joint takes two attributes, as in joint(geo,time)=32/1";
    }
    section->kind = name_is(&section->name, "any") ? PROFILE_ANY : PROFILE_ATTRIBUTE;
    return reason;
}

static const char *take_section(struct reader *reader, struct profile_section *section)
{
    const char *reason = take_section_name(reader, section);

    if (reason == NULL && !reader_take(reader, "=")) {
        reason = "'=' is missing after the section's name, as in wifi=256/2 (names are letters "
                 "a-z and digits)";
    }
    if (reason == NULL) {
        reason = take_size(reader, section);
    }
    if (reason == NULL && section->bits < 1) {
        reason = "a section has at least 1 bit";
    }
    if (reason == NULL && section->bits > PROFILE_BITS_MAX) {
        reason = "m must be at most 4096";
    }
    return reason;
}

static bool is_there_already(const struct profile *profile, const struct profile_section *section)
{
    for (uint32_t s = 0; s < profile->section_count; s++) {
        const struct profile_section *there = &profile->sections[s];

        if (there->kind == section->kind && compare_names(&there->name, &section->name) == 0 &&
            compare_names(&there->other, &section->other) == 0) {
            return true;
        }
    }
    return false;
}

static bool takes_labels_of(const struct profile *profile, const struct profile_name *name)
{
    for (uint32_t s = 0; s < profile->section_count; s++) {
        const struct profile_section *section = &profile->sections[s];

        if (section->kind == PROFILE_ANY ||
            (section->kind == PROFILE_ATTRIBUTE && compare_names(&section->name, name) == 0)) {
            return true;
        }
    }
    return false;
}

/* The text of the next section: up to a comma that stands in no parentheses. */
static struct reader next_section(const struct reader *reader)
{
    bool inside = false;
    size_t length = 0;

    while (length < reader->left && (inside || reader->at[length] != ',')) {
        inside = (inside || reader->at[length] == '(') && reader->at[length] != ')';
        length++;
    }
    return (struct reader){.at = reader->at, .left = length};
}

static const char *add_section(struct reader section_text, struct profile *profile)
{
    struct profile_section section;
    memset(&section, 0, sizeof(section));

    if (profile->section_count == PROFILE_SECTIONS_MAX) {
        return "a profile has at most 16 sections";
    }
    const char *reason = take_section(&section_text, &section);
    if (reason == NULL && is_there_already(profile, &section)) {
        reason = "this section is there already; each may be given once";
    }
    if (reason != NULL) {
        return reason;
    }
    section.first_bit = profile->bits;
    profile->bits += section.bits; /* at most 16 * 4096 */
    profile->sections[profile->section_count++] = section;
    return NULL;
}

/* What only the whole row of sections can tell. `text`: the sections' text again, for the place. */
static void check_row(struct reader text, const struct profile *profile, struct fault *fault)
{
    for (uint32_t s = 0; s < profile->section_count; s++) {
        const struct profile_section *section = &profile->sections[s];
        struct reader place = next_section(&text);

        if (section->kind == PROFILE_JOINT && (!takes_labels_of(profile, &section->name) ||
                                               !takes_labels_of(profile, &section->other))) {
            fault->reason = "an attribute of this joint section has no section of its own, and "
                            "there is no section any: add one of the two";
            fault->section = place;
            return;
        }
        reader_skip(&text, place.left < text.left ? place.left + 1 : place.left);
    }
    if (profile->section_count == 1 && profile->sections[0].kind == PROFILE_ANY) {
        fault->reason = "a single section for all labels has no name: the form is v1:m/d, as in "
                        "v1:512/4";
        return;
    }
    if (profile->bits > PROFILE_BITS_MAX || profile->bits % PROFILE_BITS_MIN != 0) {
        fault->reason = "the bits of all sections together must be a multiple of 64 from 64 to "
                        "4096";
        fault->sum = profile->bits;
    }
}

static void parse_sections(struct reader reader, struct profile *profile, struct fault *fault)
{
    struct reader whole = reader;
    bool more = true;

    while (more) {
        struct reader section = next_section(&reader);

        fault->reason = add_section(section, profile);
        if (fault->reason != NULL) {
            fault->section = section;
            return;
        }
        reader_skip(&reader, section.left);
        more = reader_take(&reader, ",");
    }
    check_row(whole, profile, fault);
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

static void parse_single(struct reader reader, struct profile *profile, struct fault *fault)
{
    struct profile_section *section = &profile->sections[0];

    fault->reason = take_size(&reader, section);
    if (fault->reason == NULL) {
        fault->reason = check_total(section->bits);
    }
    section->kind = PROFILE_ALL;
    profile->section_count = 1;
    profile->bits = section->bits;
}

/* --- what follows from the sections ----------------------------------------------------------- */

/* Whether labels of the attribute go to the section. */
static bool takes_name(const struct profile *profile, const struct profile_section *section,
                       const struct profile_name *name)
{
    for (uint32_t s = 0; s < profile->section_count; s++) {
        const struct profile_section *own = &profile->sections[s];

        if (own->kind == PROFILE_ATTRIBUTE && compare_names(&own->name, name) == 0) {
            return section == own;
        }
    }
    return section->kind == PROFILE_ANY;
}

static enum profile_form form_of(const struct profile_name *name)
{
    if (name_is(name, "geo")) {
        return PROFILE_FORM_GEOHASH;
    }
    return name_is(name, "time") ? PROFILE_FORM_HOUR : PROFILE_FORM_ANY;
}

/* ceil(2^64 / b) is floor((2^64 - 1) / b) + 1, also where b divides 2^64. */
static void derive_units(struct profile_section *section)
{
    section->unit = UINT64_MAX / section->bits + 1;
    section->upper_unit = (UINT64_C(1) << 32) % section->bits * section->unit;
}

static void derive_head(struct profile_section *section)
{
    size_t length = section->name.length;
    char head[8] = {0};

    if (section->kind != PROFILE_ATTRIBUTE || length >= sizeof(head)) {
        section->head = 1;
        section->head_mask = 0;
        return;
    }
    memcpy(head, section->name.bytes, length);
    head[length] = ':';
    memcpy(&section->head, head, sizeof(head));
    memset(head, 0xff, length + 1);
    memcpy(&section->head_mask, head, sizeof(head));
}

/* The only lengths of labels that encode.c may pair: geo: and a geohash of 6, time: and an hour. */
static uint32_t pair_length_of(const struct profile_section *section)
{
    if (section->kind != PROFILE_ATTRIBUTE) {
        return 0;
    }
    switch (section->name_form) {
    case PROFILE_FORM_GEOHASH:
        return section->name.length + 1u + PROFILE_GEOHASH_BYTES;
    case PROFILE_FORM_HOUR:
        return section->name.length + 1u + PROFILE_HOUR_BYTES;
    case PROFILE_FORM_ANY:
        break;
    }
    return 0;
}

static void parse_derive(struct profile *profile)
{
    profile->has_heads = profile->sections[0].kind != PROFILE_ALL;
    for (uint32_t s = 0; s < profile->section_count; s++) {
        struct profile_section *section = &profile->sections[s];

        if (section->kind == PROFILE_ANY) {
            profile->any = s;
            profile->has_any = true;
        }
        derive_units(section);
        derive_head(section);
        if (section->kind == PROFILE_ATTRIBUTE && section->head_mask == 0) {
            profile->has_heads = false;
        }
        section->name_form = form_of(&section->name);
        section->other_form = form_of(&section->other);
        section->pair_length = pair_length_of(section);
        for (uint32_t j = 0; j < profile->section_count; j++) {
            const struct profile_section *joint = &profile->sections[j];

            if (joint->kind == PROFILE_JOINT) {
                section->sides |= (takes_name(profile, section, &joint->name) ? 1u : 0u) << 2 * j;
                section->sides |= (takes_name(profile, section, &joint->other) ? 2u : 0u) << 2 * j;
            }
        }
    }
}

static void parse_parse(const char *text, size_t length, struct profile *profile,
                        struct fault *fault)
{
    struct reader reader = {.at = text, .left = length};

    memset(fault, 0, sizeof(*fault));
    memset(profile, 0, sizeof(*profile));
    profile->version = 1;
    if (length >= PROFILE_TEXT_MAX) {
        fault->reason = "the profile is too long; at most 255 bytes are allowed";
    } else if (!reader_take(&reader, "v1:")) {
        fault->reason = "a profile begins with its version, v1: and then m/d, as in v1:512/4, or "
                        "sections, as in v1:wifi=416/2,any=96/2";
    } else if (reader_is_lower(&reader) ||
               (reader.left > 0 && memchr(reader.at, '=', reader.left) != NULL)) {
        parse_sections(reader, profile, fault);
    } else {
        parse_single(reader, profile, fault);
    }
}

int profile_parse(const char *text, size_t length, struct profile *out, const char **out_reason)
{
    struct profile profile;
    struct fault fault;

    parse_parse(text, length, &profile, &fault);
    if (fault.reason != NULL) {
        *out_reason = fault.reason;
        return PROFILE_REFUSED;
    }
    parse_derive(&profile);
    *out = profile;
    return 0;
}

/* --- what is wrong, for people ---------------------------------------------------------------- */

/* A sentence in the making; what does not fit is left out. */
struct sentence {
    char *at;
    size_t left; /* room, without that of the NUL */
};

static void parse_say(struct sentence *sentence, const char *text, size_t length)
{
    size_t taken = length < sentence->left ? length : sentence->left;

    memcpy(sentence->at, text, taken);
    sentence->at += taken;
    sentence->left -= taken;
}

/* What somebody else wrote: visible ASCII only, so that it ends no text and moves no cursor. */
static void say_foreign(struct sentence *sentence, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        parse_say(sentence, text[i] > ' ' && text[i] <= '~' ? &text[i] : "?", 1);
    }
}

static void say_number(struct sentence *sentence, uint32_t value)
{
    char digits[10];
    size_t first = sizeof(digits);

    do {
        digits[--first] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    parse_say(sentence, digits + first, sizeof(digits) - first);
}

void profile_explain(const char *text, size_t length, char *out_sentence)
{
    enum { QUOTED_MAX = 80 };
    struct sentence sentence = {.at = out_sentence, .left = PROFILE_SENTENCE_MAX - 1};
    struct profile profile;
    struct fault fault;

    parse_parse(text, length, &profile, &fault);
    if (fault.reason != NULL) {
        if (fault.section.left > 0) {
            bool all = fault.section.left <= QUOTED_MAX;

            parse_say(&sentence, "section \"", 9);
            say_foreign(&sentence, fault.section.at, all ? fault.section.left : QUOTED_MAX);
            parse_say(&sentence, all ? "\": " : "...\": ", all ? 3 : 6);
        }
        parse_say(&sentence, fault.reason, strlen(fault.reason));
    }
    if (fault.sum != 0) {
        parse_say(&sentence, "; they are ", 11);
        say_number(&sentence, fault.sum);
    }
    *sentence.at = '\0';
}
