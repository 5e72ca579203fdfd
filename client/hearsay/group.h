/* SPDX-License-Identifier: Apache-2.0 */
/* group: people who share a secret, and their sealed messages. Part of hearsay.h. */
#ifndef HEARSAY_GROUP_H
#define HEARSAY_GROUP_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HEARSAY_SECRET_BYTES_MIN 8 /* of a group's secret */
#define HEARSAY_SECRET_BYTES_MAX 1024
#define HEARSAY_SEALED_TYPE      "application/vnd.hearsay.sealed"
#define HEARSAY_SEAL_BYTES       41 /* that sealing adds, besides the media type */

/*
 * A group: people who share a secret. Their labels are keyed with it (struct hearsay_keys), so only
 * contexts of the group are similar to one another. Their messages are encrypted (sealed).
 */
struct hearsay_group;

/*
 * The group of a secret; the bytes of the secret count as they are (UTF-8 for people). The key
 * derivation is slow on purpose, so that guessing secrets is slow: it takes 64 MiB and some tenths
 * of a second. Owned: hearsay_group_free, which wipes it. ERR_ARGUMENT for a secret that is too
 * short or too long, ERR_NOMEM, ERR_SYSTEM.
 */
HEARSAY_API int hearsay_group_new(const void *secret, size_t secret_bytes,
                                  struct hearsay_group **out_group,
                                  struct hearsay_error *out_error);
HEARSAY_API void hearsay_group_free(struct hearsay_group *group); /* NULL is fine */

/* Media type and payload, sealed or opened. Owned: hearsay_content_free, which wipes it. */
struct hearsay_content {
    char media_type[128];
    uint8_t *payload;
    size_t payload_bytes;
};
HEARSAY_API void hearsay_content_free(struct hearsay_content *content); /* a zeroed one is fine */

/* 16 random bytes: an id for a message that will be sealed. */
HEARSAY_API void hearsay_make_id(uint8_t *out_id);

/* What to seal, or to open. */
struct hearsay_sealing {
    const uint8_t *id;      /* HEARSAY_ID_BYTES: the message's id; the seal holds for it only */
    const char *media_type; /* sealing: NULL means text/plain; opening: that of the message */
    const void *payload;
    size_t payload_bytes;
    /*
     * Sealing only. false: the nonce is random. true: the nonce is derived from group, id, media
     * type and payload, so the same message always becomes the same bytes. For programs that
     * deposit again and do not remember the bytes that they sent.
     */
    bool is_repeatable;
};

/*
 * Seals a message. Deposit it under the same id, with the content's media type and payload; use the
 * same content again where the deposit is repeated. ERR_ARGUMENT, also for a media type that no
 * server takes; ERR_NOMEM.
 */
HEARSAY_API int hearsay_group_seal(const struct hearsay_group *group,
                                   const struct hearsay_sealing *message,
                                   struct hearsay_content *out_content,
                                   struct hearsay_error *out_error);

/*
 * Opens a message that was found. HEARSAY_NOT_OURS when it is not sealed, was sealed by another
 * group or under another id, or was changed. The content's media type is text/plain where the
 * sealed one is empty, and application/octet-stream where the sealed one is not well-formed.
 * ERR_NOMEM.
 */
HEARSAY_API int hearsay_group_open(const struct hearsay_group *group,
                                   const struct hearsay_sealing *message,
                                   struct hearsay_content *out_content,
                                   struct hearsay_error *out_error);

#ifdef __cplusplus
}
#endif

#endif
