/* SPDX-License-Identifier: Apache-2.0 */
/* context: encodes labels as a filter. No I/O. */
#ifndef CLIENT_CONTEXT_CONTEXT_H
#define CLIENT_CONTEXT_CONTEXT_H

#include <stddef.h>

#include "client/hearsay.h"
#include "core/profile/profile.h"

/*
 * The filter of `count` labels, at least 1, under a profile, joint sections included
 * (core/profile/encode.h). keys NULL: not keyed. Repeated labels change nothing. 0, or
 * HEARSAY_ERR_ARGUMENT, which names the label, and the profile's sections where none takes the
 * label's attribute. O(labels * d), plus the pairs of joint sections; d is the profile's number of
 * hashes.
 */
int context_encode(const struct profile *profile, const struct hearsay_keys *keys,
                   const char *const *labels, size_t count, struct hearsay_filter *out_filter,
                   struct hearsay_error *out_error);

#endif
