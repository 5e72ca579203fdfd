/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bits/sliced.h"

#include <string.h>

#include "core/base/popcount.h"

uint32_t sliced_largest(const struct bits_kernels *kernels, const struct sliced *sliced,
                        const uint64_t *mask, uint32_t *out_lane)
{
    uint64_t left[BITS_LANE_WORDS];
    uint64_t largest[BITS_LANE_WORDS];
    size_t best = BITS_LANE_WORDS;

    memcpy(left, mask, sizeof(left));
    kernels->keep_largest(sliced->planes, sliced->plane_count, sliced->lane_words, left, largest);
    for (size_t w = 0; w < sliced->lane_words; w++) {
        if (left[w] != 0 && (best == BITS_LANE_WORDS || largest[w] > largest[best])) {
            best = w;
        }
    }
    if (best == BITS_LANE_WORDS) {
        return 0;
    }
    *out_lane = (uint32_t)best * 64 + sliced_lowest(left[best]);
    return (uint32_t)largest[best];
}

void sliced_add(struct sliced *sliced, const uint64_t *planes, size_t plane_count)
{
    size_t most = sliced->plane_count > plane_count ? sliced->plane_count : plane_count;
    uint64_t carry[BITS_LANE_WORDS] = {0};

    most = most < BITS_PLANES_MAX ? most + 1 : most;
    for (size_t p = 0; p < most; p++) {
        uint64_t *plane = sliced->planes + p * BITS_LANE_WORDS;

        for (size_t w = 0; w < BITS_LANE_WORDS; w++) {
            uint64_t a = p < sliced->plane_count ? plane[w] : 0;
            uint64_t b = p < plane_count ? planes[p * BITS_LANE_WORDS + w] : 0;

            plane[w] = a ^ b ^ carry[w];
            carry[w] = (a & b) | ((a ^ b) & carry[w]);
        }
    }
    sliced->plane_count = most;
}

uint32_t sliced_number(const uint64_t *planes, size_t plane_count, uint32_t lane)
{
    uint32_t number = 0;

    for (size_t p = 0; p < plane_count; p++) {
        number |= (uint32_t)(planes[p * BITS_LANE_WORDS + lane / 64] >> lane % 64 & 1) << p;
    }
    return number;
}

void sliced_set(uint64_t *columns, uint32_t position, uint32_t lane)
{
    columns[(size_t)position * BITS_LANE_WORDS + lane / 64] |= UINT64_C(1) << lane % 64;
}

void sliced_clear(uint64_t *columns, uint32_t position, uint32_t lane)
{
    columns[(size_t)position * BITS_LANE_WORDS + lane / 64] &= ~(UINT64_C(1) << lane % 64);
}

bool sliced_test(const uint64_t *columns, uint32_t position, uint32_t lane)
{
    return (columns[(size_t)position * BITS_LANE_WORDS + lane / 64] >> lane % 64 & 1) != 0;
}

size_t sliced_positions(const uint64_t *filter, size_t words, uint16_t *out)
{
    size_t count = 0;

    for (size_t w = 0; w < words; w++) {
        for (uint64_t left = filter[w]; left != 0; left &= left - 1) {
            out[count++] = (uint16_t)(w * 64 + sliced_lowest(left));
        }
    }
    return count;
}

void sliced_first(uint32_t count, uint64_t *out_mask)
{
    for (uint32_t w = 0; w < BITS_LANE_WORDS; w++) {
        uint32_t first = w * 64;

        out_mask[w] = count >= first + 64 ? UINT64_MAX
                      : count > first     ? (UINT64_C(1) << (count - first)) - 1
                                          : 0;
    }
}

uint32_t sliced_count(const uint64_t *mask)
{
    uint32_t count = 0;

    for (size_t w = 0; w < BITS_LANE_WORDS; w++) {
        count += popcount_word(mask[w]);
    }
    return count;
}
