/* SPDX-License-Identifier: Apache-2.0 */
/* encode: hearsay_encode in one line, for tests. */
#pragma once

#include "client/hearsay.h"

/* The filter of labels under a profile in text form; keys and out_error may be NULL. */
static inline int encode_labels(const char *profile, const struct hearsay_keys *keys,
                                const char *const *labels, size_t count,
                                struct hearsay_filter *out_filter, struct hearsay_error *out_error)
{
    const struct hearsay_encode context = {
        .profile = profile, .keys = keys, .labels = labels, .label_count = count};
    return hearsay_encode(&context, out_filter, out_error);
}
