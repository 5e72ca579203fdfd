/* SPDX-License-Identifier: Apache-2.0 */
#include "core/sliced.h"

/*
 * From the lowest plane up: a lane is at least `least` in planes 0 .. p if its bit p exceeds that
 * of `least`, or equals it and the planes below decide. With `least` one bit wider than the planes
 * no lane is.
 */
bool sliced_keep_least(const struct sliced *sliced, uint32_t least, uint64_t *mask)
{
    bool too_wide = least >> sliced->plane_count != 0;
    uint64_t reached[BITS_LANE_WORDS];
    uint64_t any = 0;

    for (size_t w = 0; w < BITS_LANE_WORDS; w++) {
        reached[w] = too_wide ? 0 : UINT64_MAX;
    }
    for (size_t p = 0; p < sliced->plane_count && !too_wide; p++) {
        const uint64_t *plane = sliced->planes + p * BITS_LANE_WORDS;
        uint64_t either = (least >> p & 1) != 0 ? 0 : UINT64_MAX; /* and, or or */

        for (size_t w = 0; w < sliced->lane_words; w++) {
            reached[w] = (plane[w] & reached[w]) | (either & (plane[w] | reached[w]));
        }
    }
    for (size_t w = 0; w < sliced->lane_words; w++) {
        mask[w] &= reached[w];
        any |= mask[w];
    }
    return any != 0;
}

uint32_t sliced_largest(const struct sliced *sliced, const uint64_t *mask, uint32_t *out_lane)
{
    uint64_t left[BITS_LANE_WORDS];
    uint32_t largest = 0;

    for (size_t w = 0; w < sliced->lane_words; w++) {
        left[w] = mask[w];
    }
    for (size_t p = sliced->plane_count; p-- > 0;) {
        const uint64_t *plane = sliced->planes + p * BITS_LANE_WORDS;
        uint64_t any = 0;

        for (size_t w = 0; w < sliced->lane_words; w++) {
            any |= left[w] & plane[w];
        }
        if (any == 0) {
            continue;
        }
        largest |= UINT32_C(1) << p;
        for (size_t w = 0; w < sliced->lane_words; w++) {
            left[w] &= plane[w];
        }
    }
    for (size_t w = 0; w < sliced->lane_words; w++) {
        if (left[w] != 0) {
            *out_lane = (uint32_t)w * 64 + sliced_lowest(left[w]);
            break;
        }
    }
    return largest;
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

uint32_t sliced_number(const struct sliced *sliced, uint32_t lane)
{
    const uint64_t *word = sliced->planes + lane / 64;
    uint32_t number = 0;

    for (size_t p = 0; p < sliced->plane_count; p++) {
        number |= (uint32_t)(word[p * BITS_LANE_WORDS] >> lane % 64 & 1) << p;
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
