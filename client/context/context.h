/* SPDX-License-Identifier: Apache-2.0 */
/*
 * context: labels to the filter that is sent. No I/O.
 */
#ifndef CLIENT_CONTEXT_CONTEXT_H
#define CLIENT_CONTEXT_CONTEXT_H

#include "client/hearsay.h"
#include "core/profile/profile.h"

#include <stddef.h>

/*
 * The filter of `count` labels under a profile, joint sections included (core/profile/encode.h),
 * keyed with what is in `keys` (NULL: nothing). At least one label; repeated ones change nothing.
 * 0, or HEARSAY_ERR_ARGUMENT with the label named, and the sections that there are where its
 * attribute has none. O(labels * d), and pairs of joint sections.
 */
int context_encode(const struct profile *profile, const struct hearsay_keys *keys,
                   const char *const *labels, size_t count, struct hearsay_filter *out_filter,
                   struct hearsay_error *out_error);

#endif
