/* SPDX-License-Identifier: Apache-2.0 */
#include "client/context/context.h"

#include <assert.h>
#include <string.h>

#include "client/fail.h"
#include "core/base/label.h"
#include "core/filter/bloom.h"
#include "core/profile/encode.h"

_Static_assert((int)PROFILE_BYTES_MAX == HEARSAY_FILTER_BYTES_MAX, "the public filter holds any");

/*
 * Fills the error for label `number`, which the encoder refused for `reason`. The first label is
 * number 1.
 */
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

/* Adds a label, or its keyed form if there are keys. Returns what encoder_add returns. */
static int add_keyed(struct encoder *encoder, const struct hearsay_keys *keys, const char *label)
{
    uint8_t keyed[HEARSAY_KEY_BYTES];
    size_t length = strlen(label);

    if (keys == NULL || (keys->group == NULL && keys->epoch_key == NULL)) {
        return encoder_add(encoder, label, length);
    }
    group_key_label(keys, label, length, keyed);
    return encoder_add_keyed(encoder, label, length, keyed, sizeof(keyed));
}

static int filter_clear(const struct profile *profile, struct hearsay_filter *out_filter)
{
    memset(out_filter, 0, sizeof(*out_filter));
    out_filter->bits = profile->bits;
    out_filter->byte_count = (uint32_t)bloom_bytes(profile->bits);
    assert(out_filter->byte_count <= sizeof(out_filter->bytes));
    return HEARSAY_OK;
}

int context_encode(const struct profile *profile, const struct hearsay_keys *keys,
                   const char *const *labels, size_t count, struct hearsay_filter *out_filter,
                   struct hearsay_error *out_error)
{
    if (count == 0) {
        return fail_set(out_error, HEARSAY_ERR_ARGUMENT,
                        "the context is empty: give at least one label, attribute:value");
    }
    struct encoder encoder;
    encoder_begin(&encoder, profile);
    for (size_t i = 0; i < count; i++) {
        const char *reason = NULL;

        if (label_check(labels[i], strlen(labels[i]), &reason) != 0) {
            return fail_set(out_error, HEARSAY_ERR_ARGUMENT, "label %zu, \"%.100s\": %s", i + 1,
                            labels[i], reason);
        }
        int refused = add_keyed(&encoder, keys, labels[i]);
        if (refused != 0) {
            return refuse_label(profile, i + 1, labels[i], refused, out_error);
        }
    }
    uint64_t words[PROFILE_WORDS_MAX];
    encoder_end(&encoder, words);
    (void)filter_clear(profile, out_filter);
    bloom_store(words, profile->bits, out_filter->bytes);
    return HEARSAY_OK;
}

int hearsay_encode(const struct hearsay_encode *context, struct hearsay_filter *out_filter,
                   struct hearsay_error *out_error)
{
    const struct hearsay_host *host = context->host;
    const char *text = host != NULL ? host->profile : context->profile;
    struct profile parsed;
    const char *reason = NULL;
    if (text == NULL) { /* hearsay_find_host knows no host of that name, for example */
        return fail_set(out_error, HEARSAY_ERR_ARGUMENT, "neither a host nor a profile is given");
    }
    if (profile_parse(text, strlen(text), &parsed, &reason) == 0) {
        if (context->is_answer) {
            return filter_clear(&parsed, out_filter);
        }
        return context_encode(&parsed, context->keys, context->labels, context->label_count,
                              out_filter, out_error);
    }
    char sentence[PROFILE_SENTENCE_MAX];
    profile_explain(text, strlen(text), sentence);
    if (host == NULL) {
        return fail_set(out_error, HEARSAY_ERR_ARGUMENT, "profile \"%.100s\": %s", text, sentence);
    }
    return fail_set(out_error, HEARSAY_ERR_PROTOCOL,
                    "host \"%s\" has the profile \"%.100s\", which this version does not know: %s",
                    host->name, text, sentence);
}
