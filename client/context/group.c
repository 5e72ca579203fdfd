/* SPDX-License-Identifier: Apache-2.0 */
#include "client/context/context.h"

#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "client/fail.h"
#include "proto/codec/codec.h"
#include "proto/limits.h"

/*
 * The salt of Argon2id is the same for all groups: members share only the secret, so there is no
 * place for a random salt. An attacker can use one table of guesses for all groups. To make the
 * table expensive, each guess takes 64 MiB of memory and three passes over it.
 */
static const uint8_t salt[crypto_pwhash_argon2id_SALTBYTES] = "hearsay group v1";
enum { ARGON2_PASSES = 3, ARGON2_BYTES = 64 * 1024 * 1024 };

/* No label, as there is no colon in it. */
static const char seal_purpose[] = "hearsay seal v1";
static const char nonce_purpose[] = "hearsay nonce v1";

static const char plain_type[] = "text/plain";
static const char unknown_type[] = "application/octet-stream";

_Static_assert(HEARSAY_KEY_BYTES == LIMIT_KEY_BYTES, "the public key is the protocol's");
_Static_assert(sizeof(((struct hearsay_content *)0)->media_type) == LIMIT_MEDIA_TYPE_BYTES + 1,
               "a content has room for every media type");
_Static_assert((int)GROUP_NONCE_BYTES == (int)crypto_aead_xchacha20poly1305_ietf_NPUBBYTES &&
                   (int)GROUP_TAG_BYTES == (int)crypto_aead_xchacha20poly1305_ietf_ABYTES,
               "as the cipher has them");
_Static_assert(HEARSAY_SEAL_BYTES == GROUP_NONCE_BYTES + 1 + GROUP_TAG_BYTES, "what sealing adds");

/*
 * Computes BLAKE2b-256 with a key. The function of libsodium fails only for sizes out of range, so
 * its result is ignored.
 */
static void keyed_hash(const uint8_t *key, const void *bytes, size_t count, uint8_t *out)
{
    (void)crypto_generichash(out, HEARSAY_KEY_BYTES, bytes, count, key, HEARSAY_KEY_BYTES);
}

void group_from_key(const uint8_t *label_key, struct hearsay_group *out_group)
{
    memcpy(out_group->label_key, label_key, HEARSAY_KEY_BYTES);
    keyed_hash(label_key, seal_purpose, sizeof(seal_purpose) - 1, out_group->seal_key);
}

int hearsay_group_new(const void *secret, size_t secret_bytes, struct hearsay_group **out_group,
                      struct hearsay_error *out_error)
{
    uint8_t key[HEARSAY_KEY_BYTES];
    *out_group = NULL;
    if (secret_bytes < HEARSAY_SECRET_BYTES_MIN || secret_bytes > HEARSAY_SECRET_BYTES_MAX) {
        return fail_set(out_error, HEARSAY_ERR_ARGUMENT,
                        "the group's secret has %zu bytes; it must have %d to %d", secret_bytes,
                        HEARSAY_SECRET_BYTES_MIN, HEARSAY_SECRET_BYTES_MAX);
    }
    if (sodium_init() < 0) {
        return fail_set(out_error, HEARSAY_ERR_SYSTEM, "the system gives no random numbers");
    }
    struct hearsay_group *group = malloc(sizeof(*group));
    if (group == NULL) {
        return fail_set_nomem(out_error);
    }
    if (crypto_pwhash(key, sizeof(key), secret, secret_bytes, salt, ARGON2_PASSES, ARGON2_BYTES,
                      crypto_pwhash_ALG_ARGON2ID13) != 0) {
        free(group);
        return fail_set(out_error, HEARSAY_ERR_NOMEM,
                        "the group's key takes %d MiB of memory to derive, which is not there",
                        ARGON2_BYTES / (1024 * 1024));
    }
    group_from_key(key, group);
    sodium_memzero(key, sizeof(key));
    *out_group = group;
    return HEARSAY_OK;
}

void hearsay_group_free(struct hearsay_group *group)
{
    if (group != NULL) {
        sodium_memzero(group, sizeof(*group));
        free(group);
    }
}

void group_key_label(const struct hearsay_keys *keys, const char *label, size_t length,
                     uint8_t out_keyed[HEARSAY_KEY_BYTES])
{
    const void *bytes = label;
    uint8_t inner[HEARSAY_KEY_BYTES];
    if (keys->group != NULL) {
        keyed_hash(keys->group->label_key, label, length, inner);
        bytes = inner;
        length = sizeof(inner);
    }
    if (keys->epoch_key != NULL) {
        keyed_hash(keys->epoch_key, bytes, length, out_keyed);
    } else {
        memcpy(out_keyed, inner, HEARSAY_KEY_BYTES);
    }
}

/* --- sealing ---------------------------------------------------------------------------------- */

static const char *type_of(const struct hearsay_sealing *message)
{
    return message->media_type != NULL ? message->media_type : plain_type;
}

/*
 * Format of a sealed payload, sizes in bytes:
 *
 *   sealed:      nonce (24)  cipher text  tag (16)
 *   plain text:  length of the media type (1)  media type  payload
 */
int group_seal_with(const struct hearsay_group *group, const uint8_t *nonce,
                    const struct hearsay_sealing *message, struct hearsay_content *out_content,
                    struct hearsay_error *out_error)
{
    const char *media_type = type_of(message);
    size_t payload_bytes = message->payload_bytes;
    size_t type_bytes = strlen(media_type);
    if (type_bytes > LIMIT_MEDIA_TYPE_BYTES || payload_bytes > LIMIT_FRAME_BYTES_MAX) {
        return fail_set(out_error, HEARSAY_ERR_ARGUMENT,
                        "the media type has %zu bytes and the payload %zu; no server takes more "
                        "than %d and %d",
                        type_bytes, payload_bytes, LIMIT_MEDIA_TYPE_BYTES, LIMIT_FRAME_BYTES_MAX);
    }
    size_t plain_bytes = 1 + type_bytes + payload_bytes;
    uint8_t *sealed = malloc(GROUP_NONCE_BYTES + plain_bytes + GROUP_TAG_BYTES);
    if (sealed == NULL) {
        return fail_set_nomem(out_error);
    }
    uint8_t *text = sealed + GROUP_NONCE_BYTES;
    memcpy(sealed, nonce, GROUP_NONCE_BYTES);
    text[0] = (uint8_t)type_bytes;
    memcpy(text + 1, media_type, type_bytes);
    if (payload_bytes > 0) {
        memcpy(text + 1 + type_bytes, message->payload, payload_bytes);
    }
    /* In place; cannot fail for such sizes. */
    (void)crypto_aead_xchacha20poly1305_ietf_encrypt(
        text, NULL, text, plain_bytes, message->id, HEARSAY_ID_BYTES, NULL, nonce, group->seal_key);
    memset(out_content, 0, sizeof(*out_content));
    memcpy(out_content->media_type, HEARSAY_SEALED_TYPE, sizeof(HEARSAY_SEALED_TYPE));
    out_content->payload = sealed;
    out_content->payload_bytes = GROUP_NONCE_BYTES + plain_bytes + GROUP_TAG_BYTES;
    return HEARSAY_OK;
}

/*
 * Checks the media type of a message before it is sealed. The server cannot read the media type
 * inside a sealed message, and so cannot check it.
 */
static int check_type(const char *type, struct hearsay_error *error)
{
    return codec_is_media_type(type, strlen(type))
               ? HEARSAY_OK
               : fail_set(error, HEARSAY_ERR_ARGUMENT,
                          "\"%.140s\" is no media type like text/plain: 1 to %d visible ASCII "
                          "characters and spaces, with others before and behind the first /",
                          type, LIMIT_MEDIA_TYPE_BYTES);
}

/*
 * Derives the nonce from the group's seal key and from id, media type and payload of the message,
 * so that the same message always gets the same nonce in the group.
 */
static void derive_nonce(const struct hearsay_group *group, const struct hearsay_sealing *message,
                         uint8_t out_nonce[GROUP_NONCE_BYTES])
{
    const char *type = type_of(message);
    uint8_t key[HEARSAY_KEY_BYTES];
    crypto_generichash_state state;
    keyed_hash(group->seal_key, nonce_purpose, sizeof(nonce_purpose) - 1, key);
    /*
     * These calls fail only for sizes out of range. The hash includes the NUL of the media type,
     * which separates the media type from the payload.
     */
    (void)crypto_generichash_init(&state, key, sizeof(key), GROUP_NONCE_BYTES);
    (void)crypto_generichash_update(&state, message->id, HEARSAY_ID_BYTES);
    (void)crypto_generichash_update(&state, (const uint8_t *)type, strlen(type) + 1);
    (void)crypto_generichash_update(&state, message->payload, message->payload_bytes);
    (void)crypto_generichash_final(&state, out_nonce, GROUP_NONCE_BYTES);
    sodium_memzero(key, sizeof(key));
}

int hearsay_group_seal(const struct hearsay_group *group, const struct hearsay_sealing *message,
                       struct hearsay_content *out_content, struct hearsay_error *out_error)
{
    uint8_t nonce[GROUP_NONCE_BYTES];
    int status = check_type(type_of(message), out_error);
    if (status != HEARSAY_OK) {
        return status;
    }
    if (message->is_repeatable) {
        derive_nonce(group, message, nonce);
    } else {
        randombytes_buf(nonce, sizeof(nonce));
    }
    return group_seal_with(group, nonce, message, out_content, out_error);
}

/*
 * Parses the `count` bytes of a decrypted message. An empty media type means text/plain. A group
 * member may have sealed any bytes: a media type that is not valid becomes
 * application/octet-stream. Returns false when the length of the media type is above
 * LIMIT_MEDIA_TYPE_BYTES or goes beyond `count`.
 */
static bool take_apart(const uint8_t *text, size_t count, struct hearsay_content *out)
{
    size_t type_bytes = text[0];
    if (type_bytes > LIMIT_MEDIA_TYPE_BYTES || type_bytes > count - 1) {
        return false;
    }
    if (type_bytes == 0) {
        memcpy(out->media_type, plain_type, sizeof(plain_type));
    } else if (codec_is_media_type((const char *)text + 1, type_bytes)) {
        memcpy(out->media_type, text + 1, type_bytes);
    } else {
        memcpy(out->media_type, unknown_type, sizeof(unknown_type));
    }
    out->payload_bytes = count - 1 - type_bytes;
    memcpy(out->payload, text + 1 + type_bytes, out->payload_bytes);
    return true;
}

int hearsay_group_open(const struct hearsay_group *group, const struct hearsay_sealing *message,
                       struct hearsay_content *out_content, struct hearsay_error *out_error)
{
    const uint8_t *payload = message->payload;
    size_t payload_bytes = message->payload_bytes;
    if (payload == NULL || strcmp(type_of(message), HEARSAY_SEALED_TYPE) != 0 ||
        payload_bytes < HEARSAY_SEAL_BYTES) {
        return HEARSAY_NOT_OURS;
    }
    size_t plain_bytes = payload_bytes - GROUP_NONCE_BYTES - GROUP_TAG_BYTES;
    struct hearsay_content content;
    memset(&content, 0, sizeof(content));
    content.payload = malloc(plain_bytes);
    uint8_t *text = malloc(plain_bytes);
    int status = HEARSAY_NOT_OURS;
    if (content.payload == NULL || text == NULL) {
        status = fail_set_nomem(out_error);
    } else if (crypto_aead_xchacha20poly1305_ietf_decrypt(
                   text, NULL, NULL, payload + GROUP_NONCE_BYTES, payload_bytes - GROUP_NONCE_BYTES,
                   message->id, HEARSAY_ID_BYTES, payload, group->seal_key) == 0) {
        status = take_apart(text, plain_bytes, &content) ? HEARSAY_OK : HEARSAY_NOT_OURS;
        sodium_memzero(text, plain_bytes);
    }
    free(text);
    if (status != HEARSAY_OK) {
        free(content.payload);
        return status;
    }
    *out_content = content;
    return HEARSAY_OK;
}

void hearsay_content_free(struct hearsay_content *content)
{
    if (content->payload != NULL) {
        sodium_memzero(content->payload, content->payload_bytes);
        free(content->payload);
    }
    memset(content, 0, sizeof(*content));
}
