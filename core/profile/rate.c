/* SPDX-License-Identifier: Apache-2.0 */
#include "core/profile/profile.h"

#include <math.h>

#include "core/filter/sizing.h"

double profile_section_rate(const struct profile *profile, uint32_t section, uint32_t labels)
{
    const struct profile_section *its = &profile->sections[section];
    double hashes = its->hashes;

    if (its->kind != PROFILE_JOINT || labels == 0) {
        return sizing_false_positive_rate(its->bits, its->hashes, labels);
    }
    double places = (double)its->bits / profile_joint_factor(profile, its);
    double others = hashes * (double)labels - 1.0;
    double empty = pow(1.0 - 1.0 / its->bits, others); /* 0^0 is 1 */

    return pow(1.0 - (1.0 - 1.0 / places) * empty, hashes);
}

double profile_section_fill(const struct profile *profile, uint32_t section, uint32_t labels)
{
    const struct profile_section *its = &profile->sections[section];

    return 1.0 - pow(1.0 - (double)its->hashes / its->bits, labels); /* 0^0 is 1 */
}

double profile_rate(const struct profile *profile, const uint32_t *labels)
{
    double rate = 1.0;

    for (uint32_t s = 0; s < profile->section_count; s++) {
        rate *= profile_section_rate(profile, s, labels[s]);
    }
    return rate;
}
