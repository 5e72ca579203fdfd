/* SPDX-License-Identifier: Apache-2.0 */

#include <string.h>

#include "core/profile/inner.h"

/* --- printing: each function returns where the text goes on ----------------------------------- */

char *profile_print_text(char *out, const char *text)
{
    size_t length = strlen(text);

    memcpy(out, text, length);
    return out + length;
}

char *profile_print_number(char *out, uint32_t value)
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

static char *print_attribute(char *out, const struct profile_name *name)
{
    memcpy(out, name->bytes, name->length);
    return out + name->length;
}

static char *print_section_name(char *out, const struct profile_section *section)
{
    switch (section->kind) {
    case PROFILE_ALL:
        break;
    case PROFILE_ATTRIBUTE:
        out = print_attribute(out, &section->name);
        break;
    case PROFILE_ANY:
        out = profile_print_text(out, "any");
        break;
    case PROFILE_JOINT:
        out = profile_print_text(out, "joint(");
        out = print_attribute(out, &section->name);
        out = profile_print_text(out, ",");
        out = print_attribute(out, &section->other);
        out = profile_print_text(out, ")");
        break;
    }
    return out;
}

void profile_print(const struct profile *profile, char *out)
{
    out = profile_print_text(out, PROFILE_VERSION);
    for (uint32_t s = 0; s < profile->section_count; s++) {
        const struct profile_section *section = &profile->sections[s];

        if (s > 0) {
            *out++ = ',';
        }
        out = print_section_name(out, section);
        if (section->kind != PROFILE_ALL) {
            *out++ = '=';
        }
        out = profile_print_number(out, section->bits);
        *out++ = '/';
        out = profile_print_number(out, section->hashes);
    }
    *out = '\0';
}

void profile_print_name(const struct profile_section *section, char *out)
{
    *print_section_name(out, section) = '\0';
}

void profile_print_names(const struct profile *profile, char *out)
{
    bool first = true;

    for (uint32_t s = 0; s < profile->section_count; s++) {
        if (profile->sections[s].kind == PROFILE_JOINT) {
            continue;
        }
        if (!first) {
            out = profile_print_text(out, ", ");
        }
        out = print_section_name(out, &profile->sections[s]);
        first = false;
    }
    *out = '\0';
}

/* --- comparing -------------------------------------------------------------------------------- */

bool profile_names_equal(const struct profile_name *a, const struct profile_name *b)
{
    return a->length == b->length && memcmp(a->bytes, b->bytes, a->length) == 0;
}

bool profile_name_is(const struct profile_name *name, const char *text)
{
    return name->length == strlen(text) && memcmp(name->bytes, text, name->length) == 0;
}

static bool sections_equal(const struct profile_section *a, const struct profile_section *b)
{
    return a->first_bit == b->first_bit && a->bits == b->bits && a->hashes == b->hashes &&
           a->kind == b->kind && profile_names_equal(&a->name, &b->name) &&
           profile_names_equal(&a->other, &b->other);
}

bool profile_equal(const struct profile *a, const struct profile *b)
{
    if (a->bits != b->bits || a->section_count != b->section_count) {
        return false;
    }
    for (uint32_t s = 0; s < a->section_count; s++) {
        if (!sections_equal(&a->sections[s], &b->sections[s])) {
            return false;
        }
    }
    return true;
}

/* --- labels ----------------------------------------------------------------------------------- */

const struct profile_section *profile_section_named(const struct profile *profile, const char *name,
                                                    size_t length)
{
    const struct profile_section *any = NULL;

    for (uint32_t s = 0; s < profile->section_count; s++) {
        const struct profile_section *section = &profile->sections[s];

        if (section->kind == PROFILE_ANY) {
            any = section;
        } else if (section->kind == PROFILE_ATTRIBUTE && section->name.length == length &&
                   memcmp(name, section->name.bytes, length) == 0) {
            return section;
        }
    }
    return any;
}

const struct profile_section *profile_section_of(const struct profile *profile, const char *label,
                                                 size_t length)
{
    const char *colon = memchr(label, ':', length);

    if (profile->sections[0].kind == PROFILE_ALL) {
        return &profile->sections[0];
    }
    return profile_section_named(profile, label, colon == NULL ? 0 : (size_t)(colon - label));
}

uint32_t profile_joint_factor(const struct profile *profile, const struct profile_section *section)
{
    const struct profile_name *name = &section->name;
    const struct profile_name *other = &section->other;
    uint32_t all = section->bits | profile_section_named(profile, name->bytes, name->length)->bits |
                   profile_section_named(profile, other->bytes, other->length)->bits;

    return all & (~all + 1); /* the lowest bit that is set */
}
