/* SPDX-License-Identifier: Apache-2.0 */
#include "client/context.h"

#include <assert.h>
#include <string.h>

#include "client/fail.h"
#include "core/bloom.h"
#include "core/encode.h"
#include "core/label.h"

_Static_assert((int)PROFILE_BYTES_MAX == HEARSAY_FILTER_BYTES_MAX, "the public filter holds any");

/* Label `number`, from 1, has no place in the profile. */
static int refuse_label(const struct profile *profile, size_t number, const char *label, int reason,
                        struct hearsay_error *out_error)
{
    char names[PROFILE_TEXT_MAX];

    if (reason == ENCODE_CROWDED) {
        return fail_set(out_error, HEARSAY_ERR_ARGUMENT,
                        "label %zu, \"%.100s\": over %d different labels that joint sections pair",
                        number, label, ENCODE_CANDIDATES_MAX);
    }
    profile_print_names(profile, names);
    return fail_set(out_error, HEARSAY_ERR_ARGUMENT,
                    "label %zu, \"%.60s\": the profile has no section for the attribute \"%.*s\"; "
                    "its sections are %s",
                    number, label, (int)strcspn(label, ":") < 60 ? (int)strcspn(label, ":") : 60,
                    label, names);
}

int context_encode(const struct profile *profile, const char *const *labels, size_t count,
                   struct hearsay_filter *out_filter, struct hearsay_error *out_error)
{
    if (count == 0) {
        return fail_set(out_error, HEARSAY_ERR_ARGUMENT,
                        "the context is empty: give at least one label, attribute:value");
    }
    uint64_t words[PROFILE_WORDS_MAX];
    struct encoder encoder;
    encoder_begin(&encoder, profile, words);
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(labels[i]);
        const char *reason = NULL;
        if (label_check(labels[i], length, &reason) != 0) {
            return fail_set(out_error, HEARSAY_ERR_ARGUMENT, "label %zu, \"%.100s\": %s", i + 1,
                            labels[i], reason);
        }
        int refused = encoder_add(&encoder, labels[i], length);
        if (refused != 0) {
            return refuse_label(profile, i + 1, labels[i], refused, out_error);
        }
    }
    memset(out_filter, 0, sizeof(*out_filter));
    out_filter->bits = profile->bits;
    out_filter->byte_count = (uint32_t)bloom_bytes(profile->bits);
    assert(out_filter->byte_count <= sizeof(out_filter->bytes));
    bloom_store(words, profile->bits, out_filter->bytes);
    return HEARSAY_OK;
}
