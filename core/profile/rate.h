/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rate: the false-positive rates of a profile and its sections (core/filter/sizing.h has those of a
 * plain Bloom filter). In floating point, for display only.
 */
#ifndef CORE_PROFILE_RATE_H
#define CORE_PROFILE_RATE_H

#include <stdint.h>

#include "core/profile/profile.h"

/*
 * The false-positive rate of section `section` with `labels` labels, or pairs if the section is
 * joint.
 *
 * A joint section is asked only after both labels of a pair were found in their own sections, be it
 * by mistake. With b bits, d hashes, n pairs and f = profile_joint_factor, a new pair's position is
 * then one of b/f places instead of b, and one of these places is set for sure. The rate is
 *
 *   (1 - (1 - f/b) (1 - 1/b)^(dn-1))^d
 *
 * for d = 1 and as many pairs as the labels allow. The rate is lower with a larger d, or with
 * labels that are in no pair.
 */
double profile_section_rate(const struct profile *profile, uint32_t section, uint32_t labels);

/*
 * The false-positive rate of a profile whose section s holds labels[s] labels (pairs, if joint):
 * how often a filter seems to contain a context with one new label in each section and one new pair
 * in each joint section. A test passes only if all sections contain their label, so the rate is the
 * product of the sections' rates (the multi-dimensional Bloom filter). A context with more labels
 * in a section has a lower rate.
 */
double profile_rate(const struct profile *profile, const uint32_t *labels);

#endif
