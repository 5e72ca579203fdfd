/* SPDX-License-Identifier: Apache-2.0 */
#include "core/filter/distance.h"

uint32_t distance_ppm(struct similarity s)
{
    uint64_t apart = s.all - s.shared;

    if (s.all == 0) {
        return 0;
    }
    return (uint32_t)((apart * DISTANCE_ONE_PPM + s.all - 1) / s.all);
}
