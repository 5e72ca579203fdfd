/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group: the keys of a secret that several people share: one keys labels, one seals messages.
 * docs/protocol.md, Keyed contexts, has the construction and its numbers. Within libhearsay and its
 * tests only.
 */
#ifndef CLIENT_CONTEXT_GROUP_H
#define CLIENT_CONTEXT_GROUP_H

#include <stdint.h>

#include "client/hearsay.h"

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

/* As hearsay_group_seal, with a given nonce (GROUP_NONCE_BYTES), for test vectors. The media type
 * is not checked. */
int group_seal_with(const struct hearsay_group *group, const uint8_t *nonce,
                    const struct hearsay_sealing *message, struct hearsay_content *out_content,
                    struct hearsay_error *out_error);

/*
 * The keyed form of a label: BLAKE2b-256 with the group's key, and of that with the epoch's key. A
 * key that is NULL is left out; at least one is not NULL. O(length).
 */
void group_key_label(const struct hearsay_keys *keys, const char *label, size_t length,
                     uint8_t out_keyed[HEARSAY_KEY_BYTES]);

#endif
