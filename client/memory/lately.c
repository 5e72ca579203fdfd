/* SPDX-License-Identifier: Apache-2.0 */
#include "client/memory/lately.h"

#include <assert.h>
#include <string.h>

#include "client/context/context.h"
#include "client/fail.h"
#include "client/keep.h"
#include "core/base/label.h"
#include "core/filter/bloom.h"

enum { HEAD_BYTES = 12, COUNT_AT = 4, BYTES_AT = 8 };

static uint32_t stays_of(const uint8_t *context)
{
    return keep_u32(context);
}

static uint32_t count_of(const uint8_t *context)
{
    return keep_u32(context + COUNT_AT);
}

/* With its head. */
static size_t size_of(const uint8_t *context)
{
    return HEAD_BYTES + (size_t)keep_u32(context + BYTES_AT);
}

static void put_u32(uint8_t *to, uint32_t value)
{
    for (size_t i = 0; i < 4; i++) {
        to[i] = (uint8_t)(value >> (8 * i));
    }
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Whether `bytes`, `count` of them, are so many labels, each with its NUL. */
static bool are_labels(const uint8_t *bytes, size_t count, uint32_t labels)
{
    const char *reason = NULL;

    for (uint32_t i = 0; i < labels; i++) {
        const uint8_t *end = count > 0 ? memchr(bytes, '\0', count) : NULL;

        if (end == NULL || label_check((const char *)bytes, (size_t)(end - bytes), &reason) != 0) {
            return false;
        }
        count -= (size_t)(end - bytes) + 1;
        bytes = end + 1;
    }
    return count == 0;
}

bool lately_is_sound(const uint8_t *bytes, size_t count, uint32_t rounds)
{
    if (count > LATELY_BYTES_MAX) {
        return false;
    }
    while (count > 0) {
        if (count < HEAD_BYTES || keep_u32(bytes + BYTES_AT) > count - HEAD_BYTES ||
            stays_of(bytes) < 1 || stays_of(bytes) > rounds || count_of(bytes) < 1 ||
            count_of(bytes) > HEARSAY_CONTEXT_LABELS_MAX ||
            !are_labels(bytes + HEAD_BYTES, keep_u32(bytes + BYTES_AT), count_of(bytes))) {
            return false;
        }
        count -= size_of(bytes);
        bytes += size_of(bytes);
    }
    return true;
}

/* --- rounds ----------------------------------------------------------------------------------- */

void lately_set_rounds(struct bytes *contexts, uint32_t rounds)
{
    for (size_t at = 0; at < contexts->count; at += size_of(contexts->data + at)) {
        if (stays_of(contexts->data + at) > rounds) {
            put_u32(contexts->data + at, rounds);
        }
    }
}

static int append_labels(struct bytes *contexts, uint32_t rounds, const char *const *labels,
                         size_t count)
{
    uint8_t head[HEAD_BYTES];
    size_t bytes = 0;
    int rc;

    for (size_t i = 0; i < count; i++) {
        bytes += strlen(labels[i]) + 1; /* at most 4,096 of 241 bytes */
    }
    put_u32(head, rounds);
    put_u32(head + COUNT_AT, (uint32_t)count);
    put_u32(head + BYTES_AT, (uint32_t)bytes);
    rc = bytes_append(contexts, head, sizeof(head));
    for (size_t i = 0; i < count && rc == 0; i++) {
        rc = bytes_append(contexts, labels[i], strlen(labels[i]) + 1);
    }
    return rc;
}

/* Whether two have the same labels in the same order, however long they stay. */
static bool is_same(const uint8_t *a, const uint8_t *b)
{
    return size_of(a) == size_of(b) &&
           memcmp(a + COUNT_AT, b + COUNT_AT, size_of(a) - COUNT_AT) == 0;
}

int lately_round(const struct bytes *contexts, uint32_t rounds, const char *const *labels,
                 size_t label_count, struct bytes *out_contexts, struct hearsay_error *out_error)
{
    struct bytes now;
    int rc = 0;

    bytes_init(&now, out_contexts->alloc);
    if (label_count > 0) {
        rc = append_labels(&now, rounds, labels, label_count);
    }
    for (size_t at = 0; at < contexts->count && rc == 0; at += size_of(contexts->data + at)) {
        const uint8_t *context = contexts->data + at;

        if (stays_of(context) == 1 || (now.count > 0 && is_same(context, now.data))) {
            continue;
        }
        rc = bytes_append(out_contexts, context, size_of(context));
        if (rc == 0) {
            put_u32(out_contexts->data + out_contexts->count - size_of(context),
                    stays_of(context) - 1);
        }
    }
    if (rc == 0 && now.count > 0) {
        rc = bytes_append(out_contexts, now.data, now.count);
    }
    bytes_deinit(&now);
    if (rc != 0) {
        return fail_set_nomem(out_error);
    }
    if (out_contexts->count > LATELY_BYTES_MAX) {
        return fail_set(out_error, HEARSAY_ERR_ARGUMENT,
                        "the labels of %u rounds take over %d bytes: fewer rounds, or labels",
                        (unsigned)rounds, LATELY_BYTES_MAX);
    }
    return HEARSAY_OK;
}

/* --- filters ---------------------------------------------------------------------------------- */

static int encode_one(const uint8_t *context, const struct profile *profile,
                      const struct hearsay_keys *keys, const char **labels,
                      struct hearsay_filter *out_filter, struct hearsay_error *error)
{
    const char *text = (const char *)context + HEAD_BYTES;
    const uint32_t count = count_of(context);
    struct hearsay_filter filter;
    int status;

    for (uint32_t i = 0; i < count; i++) {
        labels[i] = text;
        text += strlen(text) + 1;
    }
    status = context_encode(profile, keys, labels, count, &filter, error);
    for (uint32_t i = 0; i < out_filter->byte_count && status == HEARSAY_OK; i++) {
        out_filter->bytes[i] |= filter.bytes[i];
    }
    return status;
}

int lately_encode(const struct bytes *contexts, const struct profile *profile,
                  const struct hearsay_keys *keys, struct hearsay_filter *out_filter,
                  struct hearsay_error *out_error)
{
    const char **labels;
    int status = HEARSAY_OK;

    memset(out_filter, 0, sizeof(*out_filter));
    out_filter->bits = profile->bits;
    out_filter->byte_count = (uint32_t)bloom_bytes(profile->bits);
    if (contexts->count == 0) {
        return HEARSAY_OK;
    }
    labels = alloc_array(contexts->alloc, HEARSAY_CONTEXT_LABELS_MAX, sizeof(*labels));
    if (labels == NULL) {
        return fail_set_nomem(out_error);
    }
    for (size_t at = 0; at < contexts->count && status == HEARSAY_OK;
         at += size_of(contexts->data + at)) {
        status = encode_one(contexts->data + at, profile, keys, labels, out_filter, out_error);
    }
    alloc_release(contexts->alloc, labels, HEARSAY_CONTEXT_LABELS_MAX, sizeof(*labels));
    return status;
}
