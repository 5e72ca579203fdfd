/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lately: the contexts of the last rounds, stored as labels, and the time-decaying Bloom filter
 * that is computed from them. Labels are stored because a filter depends on the keys of an epoch or
 * a group. Only for files of libhearsay.
 *
 * A context is one record, in memory and in the file, with numbers in little-endian:
 *
 *   4 bytes   number of further rounds for which the context stays, at least 1
 *   4 bytes   number of labels, at least 1
 *   4 bytes   size of the labels in bytes, n
 *   n bytes   the labels, each with a NUL at its end
 *
 * The oldest context is the first record. The first field never decreases from one record to the
 * next.
 */
#ifndef CLIENT_MEMORY_LATELY_H
#define CLIENT_MEMORY_LATELY_H

#include "client/hearsay.h"
#include "core/profile/profile.h"
#include "proto/bytes.h"

enum { LATELY_BYTES_MAX = 1024 * 1024 };

/*
 * Returns whether the bytes are well-formed records in which no context stays for more than
 * `rounds` further rounds.
 */
bool lately_is_sound(const uint8_t *bytes, size_t count, uint32_t rounds);

/* Limits the remaining rounds of each context to `rounds`. */
void lately_set_rounds(struct bytes *contexts, uint32_t rounds);

/*
 * Starts a new round. Writes to *out_contexts (initialised, empty) the contexts that stay, each
 * with one round less, and then the context with the given labels, at least 1. Leaves out an older
 * context with the same labels in the same order. Returns 0; HEARSAY_ERR_ARGUMENT when the records
 * take more than LATELY_BYTES_MAX bytes; HEARSAY_ERR_NOMEM.
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
 * Computes the filter of all contexts in `contexts`. The filter is empty when there are no
 * contexts. Returns 0, HEARSAY_ERR_NOMEM, or an error of context_encode.
 */
int lately_encode(const struct bytes *contexts, const struct lately_encoding *how,
                  struct hearsay_filter *out_filter, struct hearsay_error *out_error);

#endif
