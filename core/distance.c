/* SPDX-License-Identifier: Apache-2.0 */
#include "core/distance.h"

struct similarity similarity_of(uint32_t shared, uint32_t all)
{
    if (all == 0) {
        return (struct similarity){.shared = 1, .all = 1};
    }
    return (struct similarity){.shared = shared, .all = all};
}

int similarity_compare(struct similarity a, struct similarity b)
{
    uint64_t left = (uint64_t)a.shared * b.all;
    uint64_t right = (uint64_t)b.shared * a.all;

    return (left > right) - (left < right);
}

bool distance_within(struct similarity s, uint32_t ppm)
{
    uint64_t apart = s.all - s.shared;

    return apart * DISTANCE_ONE_PPM <= (uint64_t)s.all * ppm;
}

uint32_t distance_ppm(struct similarity s)
{
    uint64_t apart = s.all - s.shared;

    if (s.all == 0) {
        return 0;
    }
    return (uint32_t)((apart * DISTANCE_ONE_PPM + s.all / 2) / s.all);
}

uint32_t similarity_ppm(struct similarity s)
{
    return DISTANCE_ONE_PPM - distance_ppm(s);
}
