/* SPDX-License-Identifier: Apache-2.0 */
/* profile_derive: computes the fields of a profile that follow from its sections. */
#include <string.h>

#include "core/profile/inner.h"

/* Returns whether labels of the attribute go to the section. */
static bool takes_name(const struct profile *profile, const struct profile_section *section,
                       const struct profile_name *name)
{
    return profile_section_named(profile, name->bytes, name->length) == section;
}

static enum profile_form form_of(const struct profile_name *name)
{
    if (profile_name_is(name, "geo")) {
        return PROFILE_FORM_GEOHASH;
    }
    return profile_name_is(name, "time") ? PROFILE_FORM_HOUR : PROFILE_FORM_ANY;
}

/* ceil(2^64 / b) = floor((2^64 - 1) / b) + 1 for every b >= 1, also if b divides 2^64. */
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

/*
 * Returns the length of the labels of this section that joint sections may take: geo: with a
 * geohash of 6 characters, or time: with an hour. Returns 0 if labels of any length may be taken.
 */
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

void profile_derive(struct profile *profile)
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
