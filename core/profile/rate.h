/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rate: the false-positive rates of a profile and of its sections, in floating point, for display
 * only. core/filter/sizing.h has the rates of a plain Bloom filter.
 */
#ifndef CORE_PROFILE_RATE_H
#define CORE_PROFILE_RATE_H

#include <stdint.h>

#include "core/profile/profile.h"

/*
 * Returns the false-positive rate of one section that holds `labels` labels, or `labels` pairs if
 * the section is joint; 0 if `labels` is 0.
 *
 * The rate of a joint section is that of a pair whose two labels both seem to be in their sections.
 * Let b be the joint section's bits, d its hashes, n its pairs, and f its joint factor
 * (profile_joint_factor). The position of a new pair is then one of b/f positions instead of one of
 * b. One of these b/f positions is certainly set. The rate is
 *
 *   (1 - (1 - f/b) (1 - 1/b)^(dn-1))^d
 *
 * if d = 1 and if there are as many pairs as the labels allow. With a larger d, or with labels that
 * are in no pair, this number is too high.
 */
double profile_section_rate(const struct profile *profile, uint32_t section, uint32_t labels);

/*
 * Returns the false-positive rate of a profile whose section s holds labels[s] labels, or labels[s]
 * pairs if section s is joint. A false positive is a filter that seems to contain a context with
 * one new label in each section and one new pair in each joint section. A filter seems to contain
 * the context only if all sections seem to contain their label or pair. So the rate is the product
 * of the sections' rates (the multi-dimensional Bloom filter).
 */
double profile_rate(const struct profile *profile, const uint32_t *labels);

#endif
