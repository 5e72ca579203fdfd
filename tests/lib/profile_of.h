/* SPDX-License-Identifier: Apache-2.0 */
/* profile_of: the profile of a text, which must be right. */
#pragma once

#include "core/profile/profile.h"
#include "tests/lib/check.h"

static inline struct profile profile_of(const char *text)
{
    struct profile profile;
    const char *reason = NULL;

    if (profile_parse(text, strlen(text), &profile, &reason) != 0) {
        fail_msg("%s: %s", text, reason);
    }
    return profile;
}
