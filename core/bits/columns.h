/* SPDX-License-Identifier: Apache-2.0 */
/*
 * columns: the bodies of count_columns, lanes_reaching and keep_largest, for any vector width. The
 * file of each table includes this header after it has defined its vector (vec.h) and:
 *
 *   vec_sum(a, b, c)     a ^ b ^ c
 *   vec_carry(a, b, c)   each bit is the majority of the bits of a, b and c
 *   vec_if_zero(a)       all bits of each word that is zero in a, and no bit of the other words
 *
 * The columns are added with carry-save adders (Harley and Seal, in Warren, "Hacker's Delight", 2nd
 * edition, 5-1). A full adder turns three bits of weight 2^p into a sum bit of weight 2^p and a
 * carry bit of weight 2^(p+1). column_turn adds eight columns to the three lowest planes, which
 * gives one carry. Then it adds the carry to the planes above.
 */
#pragma once

#include <stdbool.h>

#include "core/bits/vec.h"

enum { COLUMNS_A_TURN = 8 };

struct column_sums {
    vec ones;
    vec twos;
    vec fours;
    vec above[BITS_PLANES_MAX];
    size_t above_count;
};

/* A full adder: stores the sum bits of a, b and c in *a and returns the carry bits. */
static inline vec column_add(vec *a, vec b, vec c)
{
    vec carry = vec_carry(*a, b, c);

    *a = vec_sum(*a, b, c);
    return carry;
}

static BITS_INLINE void column_turn(struct column_sums *sums, const vec *x)
{
    vec two_a = column_add(&sums->ones, x[0], x[1]);
    vec two_b = column_add(&sums->ones, x[2], x[3]);
    vec four_a = column_add(&sums->twos, two_a, two_b);
    two_a = column_add(&sums->ones, x[4], x[5]);
    two_b = column_add(&sums->ones, x[6], x[7]);
    vec four_b = column_add(&sums->twos, two_a, two_b);
    vec carry = column_add(&sums->fours, four_a, four_b);

    for (size_t p = 0; p < sums->above_count; p++) {
        vec before = sums->above[p];

        sums->above[p] = before ^ carry;
        carry = before & carry;
    }
}

static inline vec column_plane(const struct column_sums *sums, size_t p)
{
    return p == 0 ? sums->ones : p == 1 ? sums->twos : p == 2 ? sums->fours : sums->above[p - 3];
}

/* Adds up the given columns for the lanes of one vector. */
static BITS_INLINE void column_lanes(const uint64_t *columns, const uint16_t *positions,
                                     size_t count, size_t above_count, struct column_sums *sums)
{
    vec x[COLUMNS_A_TURN];

    sums->ones = sums->twos = sums->fours = (vec){0};
    sums->above_count = above_count;
    for (size_t p = 0; p < sums->above_count; p++) {
        sums->above[p] = (vec){0};
    }
    for (; count >= COLUMNS_A_TURN; count -= COLUMNS_A_TURN) {
        for (size_t i = 0; i < COLUMNS_A_TURN; i++) {
            x[i] = vec_load(columns + (size_t)positions[i] * BITS_LANE_WORDS);
        }
        column_turn(sums, x);
        positions += COLUMNS_A_TURN;
    }
    if (count > 0) {
        for (size_t i = 0; i < COLUMNS_A_TURN; i++) {
            x[i] =
                i < count ? vec_load(columns + (size_t)positions[i] * BITS_LANE_WORDS) : (vec){0};
        }
        column_turn(sums, x);
    }
}

static BITS_INLINE void columns_counted(const uint64_t *columns, const uint16_t *positions,
                                        size_t count, size_t lane_words, size_t plane_count,
                                        uint64_t *planes)
{
    for (size_t w = 0; w < lane_words; w += VEC_WORDS) {
        struct column_sums sums;

        column_lanes(columns + w, positions, count, plane_count > 3 ? plane_count - 3 : 0, &sums);
        for (size_t p = 0; p < plane_count; p++) {
            vec_store(planes + p * BITS_LANE_WORDS + w, column_plane(&sums, p));
        }
    }
}

/*
 * For 8 to 255 columns the number of planes is a constant in each call, so that the compiler can
 * keep the sums in registers.
 */
static void count_columns(const uint64_t *columns, const uint16_t *positions, size_t count,
                          size_t lane_words, uint64_t *planes)
{
    switch (bits_planes(count)) {
    case 4:
        columns_counted(columns, positions, count, lane_words, 4, planes);
        break;
    case 5:
        columns_counted(columns, positions, count, lane_words, 5, planes);
        break;
    case 6:
        columns_counted(columns, positions, count, lane_words, 6, planes);
        break;
    case 7:
        columns_counted(columns, positions, count, lane_words, 7, planes);
        break;
    case 8:
        columns_counted(columns, positions, count, lane_words, 8, planes);
        break;
    default:
        columns_counted(columns, positions, count, lane_words, bits_planes(count), planes);
        break;
    }
}

/*
 * Finds the lanes whose number is at least their threshold. The loop compares number and threshold
 * from the lowest plane up. Let r say whether the number is at least the threshold when only the
 * planes below p count. With plane p, the number is at least the threshold if bit p of the number
 * is larger than bit p of the threshold, or if both bits are equal and r holds. So the new r is the
 * majority of three bits: bit p of the number, the inverse of bit p of the threshold, and r.
 *
 * The threshold is the sum of two numbers. The same loop computes this sum. The comparison needs
 * only the inverse of each bit of the sum.
 */
static BITS_INLINE bool reach_counted(const struct bits_reach *reach, size_t counted,
                                      uint64_t *out_mask)
{
    size_t planes = counted > reach->planes ? counted : reach->planes;
    uint64_t words[VEC_WORDS];
    uint64_t any_word = 0;
    vec any = {0};

    for (size_t w = 0; w < reach->lane_words; w += VEC_WORDS) {
        struct column_sums sums;
        vec reached = ~(vec){0};
        vec carry = {0};
        vec left = (vec_load(reach->floors + w) * reach->base + vec_load(reach->more + w)) >>
                   BITS_FLOOR_SHIFT;

        column_lanes(reach->columns + w, reach->positions, reach->count,
                     counted > 3 ? counted - 3 : 0, &sums);
        for (size_t p = 0; p < planes; p++) {
            vec even = (left & 1) - 1; /* all bits of each word in which `left` is even, no bit of
                                          the other words */
            vec own =
                p < reach->own_planes ? vec_load(reach->own + p * BITS_LANE_WORDS + w) : (vec){0};
            vec number = p < counted ? column_plane(&sums, p) : (vec){0};

            reached = vec_carry(number, reached, vec_sum(even, own, carry));
            carry = vec_carry(~even, own, carry);
            left >>= 1;
        }
        reached &= vec_load(reach->lanes + w);
        vec_store(out_mask + w, reached);
        any |= reached;
    }
    vec_store(words, any);
    for (size_t w = 0; w < VEC_WORDS; w++) {
        any_word |= words[w];
    }
    return any_word != 0;
}

/*
 * In the cases 6, 7 and 8 the number of planes is a constant, so that the compiler can keep the
 * sums in registers.
 */
static bool lanes_reaching(const struct bits_reach *reach, uint64_t *out_mask)
{
    size_t counted = bits_planes(reach->count);

    switch (counted) {
    case 6:
        return reach_counted(reach, 6, out_mask);
    case 7:
        return reach_counted(reach, 7, out_mask);
    case 8:
        return reach_counted(reach, 8, out_mask);
    default:
        return reach_counted(reach, counted, out_mask);
    }
}

/*
 * For each word of the mask: keeps only the lanes that have the largest number in the word. Goes
 * through the planes from the highest bit down; if any lane that is left has the plane's bit, drops
 * the lanes without this bit.
 */
static void keep_largest(const uint64_t *planes, size_t plane_count, size_t lane_words,
                         uint64_t *mask, uint64_t *out_largest)
{
    for (size_t w = 0; w < lane_words; w += VEC_WORDS) {
        vec left = vec_load(mask + w);
        vec largest = {0};

        for (size_t p = plane_count; p-- > 0;) {
            vec with = left & vec_load(planes + p * BITS_LANE_WORDS + w);
            vec none = vec_if_zero(with); /* -1 or 0 */

            largest = largest + largest + 1 + none;
            left = with | (left & none);
        }
        vec_store(mask + w, left);
        vec_store(out_largest + w, largest);
    }
}
