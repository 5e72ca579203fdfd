/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lately: the contexts of the last rounds, as labels, and the time-decaying Bloom filter of them.
 * The labels are kept, and not the filter, because the filter depends on the keys of an epoch or a
 * group. Within libhearsay only.
 *
 * In memory and in the file a context is one record, numbers little-endian:
 *
 *   4 bytes   rounds for which the context stays: 1 to those of the memory
 *   4 bytes   number of labels, at least 1
 *   4 bytes   bytes of the labels, n
 *   n bytes   the labels, each ended by NUL
 *
 * The oldest context is the first record, so the rounds for which the records stay never decrease.
 */
#ifndef CLIENT_MEMORY_LATELY_H
#define CLIENT_MEMORY_LATELY_H

#include "client/hearsay.h"
#include "core/profile/profile.h"
#include "proto/bytes.h"

enum { LATELY_BYTES_MAX = 1024 * 1024 };

/* Whether bytes from a file are such records. O(count). */
bool lately_is_sound(const uint8_t *bytes, size_t count, uint32_t rounds);

/* Shortens the stay of each context to `rounds` rounds. O(contexts). */
void lately_set_rounds(struct bytes *contexts, uint32_t rounds);

/*
 * Starts a new round: appends to *out_contexts (initialised, empty) the contexts that still stay,
 * one round less each, and then the labels of now (at least 1, such as context_encode takes). An
 * older record with the same labels is left out. 0; HEARSAY_ERR_ARGUMENT when the records exceed
 * LATELY_BYTES_MAX; HEARSAY_ERR_NOMEM. O(bytes).
 */
int lately_round(const struct bytes *contexts, uint32_t rounds, const char *const *labels,
                 size_t label_count, struct bytes *out_contexts, struct hearsay_error *out_error);

/* How to encode them. */
struct lately_encoding {
    const struct profile *profile;
    const struct hearsay_keys *keys; /* NULL: not keyed */
    uint32_t rounds;
};

/*
 * The filter of all contexts; it has no bit set where there are none. 0, HEARSAY_ERR_NOMEM, or what
 * context_encode returns. O(labels).
 */
int lately_encode(const struct bytes *contexts, const struct lately_encoding *how,
                  struct hearsay_filter *out_filter, struct hearsay_error *out_error);

#endif
