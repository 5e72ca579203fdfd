/* SPDX-License-Identifier: Apache-2.0 */
/* context: encodes labels as a filter. No I/O. */
#ifndef CLIENT_CONTEXT_CONTEXT_H
#define CLIENT_CONTEXT_CONTEXT_H

#include <stddef.h>

#include "client/hearsay.h"
#include "core/profile/profile.h"

/*
 * Encodes `count` labels as a filter of the profile, joint sections included
 * (core/profile/encode.h). `keys` may be NULL: then labels are not keyed. Repeated labels change
 * nothing. Returns 0 or HEARSAY_ERR_ARGUMENT (a refused label, or no labels). The error names the
 * refused label; if no section of the profile takes the label's attribute, the error lists the
 * sections.
 */
int context_encode(const struct profile *profile, const struct hearsay_keys *keys,
                   const char *const *labels, size_t count, struct hearsay_filter *out_filter,
                   struct hearsay_error *out_error);

#endif
