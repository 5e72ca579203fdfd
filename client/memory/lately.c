/* SPDX-License-Identifier: Apache-2.0 */
#include "client/memory/lately.h"

#include <string.h>

#include "client/context/context.h"
#include "client/fail.h"
#include "client/keep.h"
#include "core/base/label.h"
#include "core/filter/bloom.h"
#include "core/filter/decaying.h"

enum { HEAD_BYTES = 12, COUNT_AT = 4, BYTES_AT = 8 };

static uint32_t stays_of(const uint8_t *context)
{
    return keep_u32(context);
}

static uint32_t count_of(const uint8_t *context)
{
    return keep_u32(context + COUNT_AT);
}

/* Its head included. */
static size_t size_of(const uint8_t *context)
{
    return HEAD_BYTES + (size_t)keep_u32(context + BYTES_AT);
}

/* --- reading ---------------------------------------------------------------------------------- */

/*
 * Returns whether `count` bytes are exactly `labels` well-formed labels, each with a NUL at its
 * end.
 */
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
    uint32_t least = 1;
    while (count > 0) {
        if (count < HEAD_BYTES || keep_u32(bytes + BYTES_AT) > count - HEAD_BYTES ||
            stays_of(bytes) < least || stays_of(bytes) > rounds || count_of(bytes) < 1 ||
            count_of(bytes) > HEARSAY_CONTEXT_LABELS_MAX ||
            !are_labels(bytes + HEAD_BYTES, keep_u32(bytes + BYTES_AT), count_of(bytes))) {
            return false;
        }
        least = stays_of(bytes); /* the oldest context is the first one */
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
            keep_put_u32(contexts->data + at, rounds);
        }
    }
}

static int append_labels(struct bytes *contexts, uint32_t rounds, const char *const *labels,
                         size_t count)
{
    uint8_t head[HEAD_BYTES];
    size_t bytes = 0;

    for (size_t i = 0; i < count; i++) {
        bytes += strlen(labels[i]) + 1; /* at most 4,096 of 241 bytes */
    }
    keep_put_u32(head, rounds);
    keep_put_u32(head + COUNT_AT, (uint32_t)count);
    keep_put_u32(head + BYTES_AT, (uint32_t)bytes);
    int rc = bytes_append(contexts, head, sizeof(head));
    for (size_t i = 0; i < count && rc == 0; i++) {
        rc = bytes_append(contexts, labels[i], strlen(labels[i]) + 1);
    }
    return rc;
}

/* Returns whether two contexts have the same labels in the same order. */
static bool is_same(const uint8_t *a, const uint8_t *b)
{
    return size_of(a) == size_of(b) &&
           memcmp(a + COUNT_AT, b + COUNT_AT, size_of(a) - COUNT_AT) == 0;
}

int lately_round(const struct bytes *contexts, uint32_t rounds, const char *const *labels,
                 size_t label_count, struct bytes *out_contexts, struct hearsay_error *out_error)
{
    struct bytes now;

    bytes_init(&now, out_contexts->alloc);
    int rc = append_labels(&now, rounds, labels, label_count);
    for (size_t at = 0; at < contexts->count && rc == 0; at += size_of(contexts->data + at)) {
        const uint8_t *context = contexts->data + at;

        if (stays_of(context) == 1 || is_same(context, now.data)) {
            continue;
        }
        rc = bytes_append(out_contexts, context, size_of(context));
        if (rc == 0) {
            keep_put_u32(out_contexts->data + out_contexts->count - size_of(context),
                         stays_of(context) - 1);
        }
    }
    if (rc == 0) {
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

/*
 * Encodes one context and adds its filter to the current round. `labels` is scratch memory for
 * HEARSAY_CONTEXT_LABELS_MAX pointers.
 */
static int add_context(struct decaying *decaying, const uint8_t *context,
                       const struct lately_encoding *how, const char **labels,
                       struct hearsay_error *error)
{
    const char *text = (const char *)context + HEAD_BYTES;
    uint32_t count = count_of(context);
    struct hearsay_filter filter;
    uint64_t words[PROFILE_WORDS_MAX];

    for (uint32_t i = 0; i < count; i++) {
        labels[i] = text;
        text += strlen(text) + 1;
    }
    int status = context_encode(how->profile, how->keys, labels, count, &filter, error);
    if (status == HEARSAY_OK) {
        (void)bloom_load(words, decaying->m, filter.bytes, filter.byte_count); /* of the same m */
        decaying_add(decaying, words);
    }
    return status;
}

/*
 * Adds all contexts to the decaying filter, the oldest first. If a context stays n rounds longer
 * than the context before it, advances the filter by n rounds before adding it. So no bit of a
 * stored context is cleared.
 */
static int add_all(struct decaying *decaying, const struct bytes *contexts,
                   const struct lately_encoding *how, const char **labels,
                   struct hearsay_error *error)
{
    uint32_t stays = 0;
    int status = HEARSAY_OK;

    for (size_t at = 0; at < contexts->count && status == HEARSAY_OK;
         at += size_of(contexts->data + at)) {
        const uint8_t *context = contexts->data + at;
        for (uint32_t i = stays; at > 0 && i < stays_of(context); i++) {
            decaying_advance(decaying);
        }
        stays = stays_of(context);
        status = add_context(decaying, context, how, labels, error);
    }
    return status;
}

int lately_encode(const struct bytes *contexts, const struct lately_encoding *how,
                  struct hearsay_filter *out_filter, struct hearsay_error *out_error)
{
    const struct alloc *alloc = contexts->alloc;
    struct decaying decaying = {.alloc = NULL};
    const char **labels = alloc_array(alloc, HEARSAY_CONTEXT_LABELS_MAX, sizeof(*labels));
    int status = HEARSAY_OK;

    if (labels == NULL || decaying_init(&decaying, alloc, how->profile->bits, how->rounds) != 0) {
        status = fail_set_nomem(out_error);
    } else {
        status = add_all(&decaying, contexts, how, labels, out_error);
    }
    if (status == HEARSAY_OK) {
        uint64_t words[PROFILE_WORDS_MAX];
        decaying_filter(&decaying, words);
        memset(out_filter, 0, sizeof(*out_filter));
        out_filter->bits = decaying.m;
        out_filter->byte_count = (uint32_t)bloom_bytes(decaying.m);
        bloom_store(words, decaying.m, out_filter->bytes);
    }
    decaying_deinit(&decaying);
    alloc_release(alloc, labels);
    return status;
}
