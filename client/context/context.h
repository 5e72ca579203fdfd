/* SPDX-License-Identifier: Apache-2.0 */
/* context: encodes labels as a filter. No I/O. */
#pragma once

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

/* --- group ------------------------------------------------------------------------------------ */

/*
 * The two keys derived from the secret of a group. One key is for labels, the other for
 * messages. docs/protocol.md, section Keyed contexts, has the construction. Only for files of
 * libhearsay and its tests.
 */

enum {
    GROUP_NONCE_BYTES = 24, /* of XChaCha20-Poly1305 */
    GROUP_TAG_BYTES = 16    /* of XChaCha20-Poly1305 */
};

struct hearsay_group {
    uint8_t label_key[HEARSAY_KEY_BYTES]; /* Argon2id of the secret */
    uint8_t seal_key[HEARSAY_KEY_BYTES];
};

/* The group of a known label key. The struct owns no memory. */
void group_from_key(const uint8_t *label_key, struct hearsay_group *out_group);

/*
 * Seals a message like hearsay_group_seal, but with a given nonce of GROUP_NONCE_BYTES bytes.
 * Checks only the sizes of media type and payload.
 */
int group_seal_with(const struct hearsay_group *group, const uint8_t *nonce,
                    const struct hearsay_sealing *message, struct hearsay_content *out_content,
                    struct hearsay_error *out_error);

/*
 * Computes the keyed form of a label: BLAKE2b-256 of the label with the group's key, then
 * BLAKE2b-256 of that hash with the epoch's key. A step whose key is NULL is left out. At least one
 * key must not be NULL.
 */
void group_key_label(const struct hearsay_keys *keys, const char *label, size_t length,
                     uint8_t out_keyed[HEARSAY_KEY_BYTES]);
