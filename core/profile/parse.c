/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_parse reads the text form of a profile. profile_explain explains why a text is refused.
 */
#include <string.h>

#include "core/profile/inner.h"

/* What is left to read. */
struct reader {
    const char *at;
    size_t left;
};

/* Why a text is refused. */
struct fault {
    const char *reason;    /* NULL: it is not */
    struct reader section; /* the wrong section; left is 0 if no section is wrong */
    uint32_t sum;          /* the sum of the sections' bits if that sum is wrong, else 0 */
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
 * Reads a decimal number without sign or leading zero. Each number has one form only, so that two
 * texts mean the same profile only if the texts are equal. A number above `ceiling` is read as
 * ceiling + 1, so that nothing overflows. Returns false if there is no such number.
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

/* Reads an attribute, [a-z][a-z0-9]*. Returns NULL, or a sentence that says what is wrong. */
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

/*
 * Reads bits/hashes. Returns NULL, or a sentence that says what is wrong. The caller checks the
 * range of the bits.
 */
static const char *take_size(struct reader *reader, struct profile_section *section)
{
    if (!reader_take_number(reader, PROFILE_BITS_MAX, &section->bits)) {
        return "m must be a decimal number without sign, spaces or leading zeros, as in v2:512/4";
    }
    if (!reader_take(reader, "/")) {
        return "'/' and d are missing after m; the form is m/d, as in v2:512/4";
    }
    if (!reader_take_number(reader, PROFILE_HASHES_MAX, &section->hashes)) {
        return "d must be a decimal number without sign, spaces or leading zeros, as in v2:512/4";
    }
    if (section->hashes < 1 || section->hashes > PROFILE_HASHES_MAX) {
        return "d must be 1 to 32";
    }
    if (reader->left > 0) {
        return "there is more text after d; the form is m/d, as in v2:512/4, and sections follow "
               "one another with a comma";
    }
    return NULL;
}

static bool is_reserved(const struct profile_name *name)
{
    return profile_name_is(name, "any") || profile_name_is(name, "joint");
}

/* Reads the two attributes of a joint section and the closing parenthesis. */
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
    if (reason == NULL && profile_name_is(&section->name, "joint")) {
        reason = "joint takes two attributes, as in joint(geo,time)=32/1";
    }
    section->kind = profile_name_is(&section->name, "any") ? PROFILE_ANY : PROFILE_ATTRIBUTE;
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
    if (reason == NULL && section->hashes > section->bits) {
        reason = "d must be at most the bits of its section, because a label sets d of them";
    }
    return reason;
}

static bool is_there_already(const struct profile *profile, const struct profile_section *section)
{
    for (uint32_t s = 0; s < profile->section_count; s++) {
        const struct profile_section *there = &profile->sections[s];

        if (there->kind == section->kind && profile_names_equal(&there->name, &section->name) &&
            profile_names_equal(&there->other, &section->other)) {
            return true;
        }
    }
    return false;
}

static bool takes_labels_of(const struct profile *profile, const struct profile_name *name)
{
    return profile_section_named(profile, name->bytes, name->length) != NULL;
}

/* Returns the text of the next section, which ends before a comma outside parentheses. */
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

/*
 * Checks the rules about all sections together. `text` is the text of all sections; the function
 * reads it again to find the text of a wrong section.
 */
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
        fault->reason = "a single section for all labels has no name: the form is v2:m/d, as in "
                        "v2:512/4";
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

static void parse_parse(const char *text, size_t length, struct profile *profile,
                        struct fault *fault)
{
    struct reader reader = {.at = text, .left = length};

    memset(fault, 0, sizeof(*fault));
    memset(profile, 0, sizeof(*profile));
    if (length >= PROFILE_TEXT_MAX) {
        fault->reason = "the profile is too long; at most 255 bytes are allowed";
    } else if (reader_take(&reader, "v1:")) {
        fault->reason = "v1: is of hearsay 0.2.0, in which a label set other bits; profiles begin "
                        "with v2: since then";
    } else if (!reader_take(&reader, PROFILE_VERSION)) {
        fault->reason = "a profile begins with its version, v2: and then m/d, as in v2:512/4, or "
                        "sections, as in v2:wifi=416/2,any=96/2";
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
    *out = profile;
    return 0;
}

/* --- what is wrong, for people ---------------------------------------------------------------- */

/*
 * Prints foreign text, with a question mark for each byte that is not visible ASCII, so that the
 * text cannot control a terminal.
 */
static char *print_foreign(char *out, struct reader text)
{
    for (size_t i = 0; i < text.left; i++) {
        *out++ = text.at[i] > ' ' && text.at[i] <= '~' ? text.at[i] : '?';
    }
    return out;
}

/*
 * Each reason is shorter than half of PROFILE_SENTENCE_MAX, so that every sentence fits into
 * out_sentence.
 */
void profile_explain(const char *text, size_t length, char *out_sentence)
{
    enum { QUOTED_MAX = 80 };
    char *out = out_sentence;
    struct profile profile;
    struct fault fault;

    parse_parse(text, length, &profile, &fault);
    if (fault.section.left > 0) {
        bool all = fault.section.left <= QUOTED_MAX;

        fault.section.left = all ? fault.section.left : QUOTED_MAX;
        out = profile_print_text(out, "section \"");
        out = print_foreign(out, fault.section);
        out = profile_print_text(out, all ? "\": " : "...\": ");
    }
    if (fault.reason != NULL) {
        out = profile_print_text(out, fault.reason);
    }
    if (fault.sum != 0) {
        out = profile_print_text(out, "; they are ");
        out = profile_print_number(out, fault.sum);
    }
    *out = '\0';
}
