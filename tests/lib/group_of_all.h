/* SPDX-License-Identifier: Apache-2.0 */
/* group_of_all: the group that covers every filter of a profile. A neighbour that lies has it in
 * its summary. */
#pragma once

#include "core/summary/groups.h"

/* `ones` is borrowed, and has all bits set. */
static inline struct group group_of_all(const struct profile *profile, const uint64_t *ones,
                                        int64_t newest_ms)
{
    struct group group = {.filter = ones, .count = 1, .newest_ms = newest_ms};

    for (uint32_t s = 0; s < profile->section_count; s++) {
        group.ranges[s].most = (uint16_t)profile->sections[s].bits;
    }
    return group;
}
