/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lately: the contexts of the last rounds, as labels, so that a filter of them can be made with any
 * key: that of an epoch which began after one was there, or a group's. Within libhearsay only.
 *
 * Kept as they stand in the file, oldest first, numbers little-endian:
 *
 *   4 bytes   rounds for which it stays: 1 to those of the memory
 *   4 bytes   labels in it, at least 1
 *   4 bytes   bytes of these, n
 *   n bytes   the labels, each ended by NUL
 */
#ifndef CLIENT_MEMORY_LATELY_H
#define CLIENT_MEMORY_LATELY_H

#include "client/hearsay.h"
#include "core/profile/profile.h"
#include "proto/bytes.h"

enum { LATELY_BYTES_MAX = 1024 * 1024 };

/* Whether bytes from a file are such contexts. O(count). */
bool lately_is_sound(const uint8_t *bytes, size_t count, uint32_t rounds);

/* None stays for longer than so many rounds. O(contexts). */
void lately_set_rounds(struct bytes *contexts, uint32_t rounds);

/*
 * A new round: appends to *out_contexts (initialised, empty) what stays of `contexts`, and the
 * labels of now, where there are any; the same context of before goes then. The labels are such as
 * context_encode takes. 0; HEARSAY_ERR_ARGUMENT when all is over LATELY_BYTES_MAX;
 * HEARSAY_ERR_NOMEM. O(count).
 */
int lately_round(const struct bytes *contexts, uint32_t rounds, const char *const *labels,
                 size_t label_count, struct bytes *out_contexts, struct hearsay_error *out_error);

/*
 * The bits of all of them, each keyed. *out_filter has none set where there are no contexts. 0, or
 * what context_encode says, HEARSAY_ERR_NOMEM.
 */
int lately_encode(const struct bytes *contexts, const struct profile *profile,
                  const struct hearsay_keys *keys, struct hearsay_filter *out_filter,
                  struct hearsay_error *out_error);

#endif
