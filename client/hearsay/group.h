/* SPDX-License-Identifier: Apache-2.0 */
/* group: people who share a secret, and the sealed messages of such a group. Part of hearsay.h. */
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
 * A group: people who share a secret. If labels are keyed with a group (struct hearsay_keys), their
 * context is similar to contexts of the same group, and to other contexts by chance only. The
 * messages of a group are sealed, which means encrypted.
 */
struct hearsay_group;

/*
 * Makes a group from the bytes of a secret; a secret that people type is UTF-8. To make guessing
 * slow, the derivation of the key takes 64 MiB of memory and much CPU time. The caller frees
 * *out_group with hearsay_group_free, which wipes the keys. Returns HEARSAY_OK, ERR_ARGUMENT for a
 * secret that is too short or too long, ERR_NOMEM or ERR_SYSTEM.
 */
HEARSAY_API int hearsay_group_new(const void *secret, size_t secret_bytes,
                                  struct hearsay_group **out_group,
                                  struct hearsay_error *out_error);
HEARSAY_API void hearsay_group_free(struct hearsay_group *group); /* NULL is fine */

/*
 * A media type and a payload, sealed or opened. The caller owns the struct: hearsay_content_free
 * wipes and frees the payload and zeroes the struct.
 */
struct hearsay_content {
    char media_type[128];
    uint8_t *payload;
    size_t payload_bytes;
};
HEARSAY_API void hearsay_content_free(struct hearsay_content *content); /* a zeroed one is fine */

/* What to seal, or to open. */
struct hearsay_sealing {
    const uint8_t *
        id; /* HEARSAY_ID_BYTES bytes: the id of the message; the seal is valid only with this id */
    const char *media_type; /* sealing: NULL means text/plain; opening: that of the message */
    const void *payload;
    size_t payload_bytes;
    /*
     * Only for sealing. false: the nonce is random. true: the nonce is derived from group, id,
     * media type and payload, so that the same message is always sealed to the same bytes. This is
     * for programs that repeat a deposit and have not stored the sealed bytes.
     */
    bool is_repeatable;
};

/*
 * Seals a message. Deposit the message under the id of `message`, which hearsay_deposit_init draws,
 * with the media type and payload of *out_content. To repeat the deposit, use the same
 * *out_content, or seal with is_repeatable each time. Returns HEARSAY_OK; ERR_ARGUMENT for a media
 * type or payload that no server accepts; ERR_NOMEM.
 */
HEARSAY_API int hearsay_group_seal(const struct hearsay_group *group,
                                   const struct hearsay_sealing *message,
                                   struct hearsay_content *out_content,
                                   struct hearsay_error *out_error);

/*
 * Opens a sealed message. Returns HEARSAY_OK; HEARSAY_NOT_OURS when the message is not sealed, was
 * sealed by another group or under another id, was changed, or has no valid content; ERR_NOMEM. The
 * media type in *out_content is text/plain if the sealed media type is empty, and
 * application/octet-stream if the sealed media type is not valid.
 */
HEARSAY_API int hearsay_group_open(const struct hearsay_group *group,
                                   const struct hearsay_sealing *message,
                                   struct hearsay_content *out_content,
                                   struct hearsay_error *out_error);

#ifdef __cplusplus
}
#endif

#endif
