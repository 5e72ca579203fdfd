/* SPDX-License-Identifier: Apache-2.0 */
/*
 * labels: the set of labels of a context. An arena holds the strings; a hash table finds a label
 * that is already in the set.
 */
#include <string.h>

#include <xxhash.h>

#include "client/context/build.h"
#include "client/fail.h"
#include "core/base/label.h"
#include "proto/arena.h"

enum {
    SLOTS = 2 * HEARSAY_CONTEXT_LABELS_MAX, /* a power of two; never more than half full */
    CHUNK_LABELS = 64,
    STRINGS_BYTES = 4 * 1024 * 1024 /* more than all labels of the largest size take */
};

_Static_assert((SLOTS & (SLOTS - 1)) == 0, "the hash is masked");

struct hearsay_context {
    const struct alloc *alloc; /* borrowed */
    struct arena strings;
    const char **labels; /* capacity of them, owned; the strings are the arena's */
    size_t count;
    size_t capacity;
    struct hearsay_left_out left_out;
    uint16_t slots[SLOTS]; /* 1 + the place in labels; 0: free */
};

int context_new(const struct alloc *alloc, struct hearsay_context **out_context,
                struct hearsay_error *out_error)
{
    *out_context = NULL;
    struct hearsay_context *context = alloc_zeroed(alloc, 1, sizeof(*context));
    if (context == NULL) {
        return fail_set_nomem(out_error);
    }
    context->alloc = alloc;
    context->labels = alloc_array(alloc, CHUNK_LABELS, sizeof(*context->labels));
    if (context->labels == NULL) {
        alloc_release(alloc, context);
        return fail_set_nomem(out_error);
    }
    context->capacity = CHUNK_LABELS;
    arena_init(&context->strings, alloc, STRINGS_BYTES);
    *out_context = context;
    return HEARSAY_OK;
}

int hearsay_context_new(struct hearsay_context **out_context, struct hearsay_error *out_error)
{
    return context_new(alloc_system(), out_context, out_error);
}

void hearsay_context_free(struct hearsay_context *context)
{
    if (context == NULL) {
        return;
    }
    const struct alloc *alloc = context->alloc;
    arena_deinit(&context->strings);
    alloc_release(alloc, context->labels);
    alloc_release(alloc, context);
}

void hearsay_context_clear(struct hearsay_context *context)
{
    arena_reset(&context->strings);
    context->count = 0;
    context->left_out = (struct hearsay_left_out){.weaker = 0};
    memset(context->slots, 0, sizeof(context->slots));
}

const char *const *hearsay_context_labels(const struct hearsay_context *context, size_t *out_count)
{
    *out_count = context->count;
    return context->labels;
}

struct hearsay_left_out *context_left_out(struct hearsay_context *context)
{
    return &context->left_out;
}

void hearsay_context_left_out(const struct hearsay_context *context,
                              struct hearsay_left_out *out_left_out)
{
    *out_left_out = context->left_out;
}

/*
 * Finds the slot of the label in the hash table, or the free slot for a new label. O(1) expected.
 */
static uint16_t *find_slot(struct hearsay_context *context, const char *label, size_t length)
{
    size_t at = (size_t)XXH3_64bits(label, length) & (SLOTS - 1);
    while (context->slots[at] != 0) {
        const char *there = context->labels[context->slots[at] - 1];
        if (strlen(there) == length && memcmp(there, label, length) == 0) {
            break;
        }
        at = (at + 1) & (SLOTS - 1);
    }
    return &context->slots[at];
}

bool context_has(struct hearsay_context *context, const char *label, size_t length)
{
    return *find_slot(context, label, length) != 0;
}

static bool labels_grow(struct hearsay_context *context)
{
    if (context->count < context->capacity) {
        return true;
    }
    const char **labels =
        alloc_resize(context->alloc, context->labels, 2 * context->capacity, sizeof(*labels));
    if (labels == NULL) {
        return false;
    }
    context->labels = labels;
    context->capacity *= 2;
    return true;
}

int context_add(struct hearsay_context *context, const char *label, size_t length,
                struct hearsay_error *out_error)
{
    uint16_t *slot = find_slot(context, label, length);
    if (*slot != 0) {
        return HEARSAY_OK;
    }
    if (context->count == HEARSAY_CONTEXT_LABELS_MAX) {
        return fail_set(out_error, HEARSAY_ERR_ARGUMENT, "a context has at most %d labels",
                        HEARSAY_CONTEXT_LABELS_MAX);
    }
    char *copy = labels_grow(context) ? arena_take(&context->strings, length + 1) : NULL;
    if (copy == NULL) {
        return fail_set_nomem(out_error);
    }
    memcpy(copy, label, length);
    copy[length] = '\0';
    context->labels[context->count] = copy;
    context->count++;
    *slot = (uint16_t)context->count;
    return HEARSAY_OK;
}

int hearsay_context_add_label(struct hearsay_context *context, const char *label,
                              struct hearsay_error *out_error)
{
    size_t length = strlen(label);
    const char *reason = NULL;
    if (label_check(label, length, &reason) != 0) {
        return fail_set(out_error, HEARSAY_ERR_ARGUMENT, "label \"%.100s\": %s", label, reason);
    }
    return context_add(context, label, length, out_error);
}
