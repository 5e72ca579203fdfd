/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group: a secret that several people share, as keys: one for labels, one for what is sealed.
 * docs/protocol.md, Keyed contexts, has the construction and its numbers. Within libhearsay and its
 * tests only.
 */
#ifndef CLIENT_CONTEXT_GROUP_H
#define CLIENT_CONTEXT_GROUP_H

#include "client/hearsay.h"

#include <stdint.h>

enum {
    GROUP_NONCE_BYTES = 24, /* XChaCha20-Poly1305's */
    GROUP_TAG_BYTES = 16    /* likewise */
};

struct hearsay_group {
    uint8_t label_key[HEARSAY_KEY_BYTES]; /* Argon2id of the secret */
    uint8_t seal_key[HEARSAY_KEY_BYTES];
};

/* The group whose Argon2id is known. Nothing to free; wipe it with group_wipe. */
void group_from_key(const uint8_t *label_key, struct hearsay_group *out_group);
void group_wipe(struct hearsay_group *group);

/* As hearsay_group_seal, with the nonce given (GROUP_NONCE_BYTES). For vectors. */
int group_seal_with(const struct hearsay_group *group, const uint8_t *nonce, const uint8_t *id,
                    const char *media_type, const void *payload, size_t payload_bytes,
                    struct hearsay_content *out_content, struct hearsay_error *out_error);

/*
 * What stands for a label: BLAKE2b-256 keyed with the group's key, then with the epoch's, each
 * unless NULL; one of them at least is there. O(length).
 */
void group_key_label(const struct hearsay_keys *keys, const char *label, size_t length,
                     uint8_t out_keyed[HEARSAY_KEY_BYTES]);

#endif
