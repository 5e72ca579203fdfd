/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/codec/letter.h"

#include <string.h>

#include "proto/bridge.pb-c.h"
#include "proto/codec/inner.h"

static const struct codec_envelope letter_envelope = {
    .name = "letter",
    .descriptor = &hearsay__v1__letter__descriptor,
    .unknown_most = LIMIT_UNKNOWN_RESPONSE,
    .bodies = &codec_letter_bodies,
};

int letter_decode(const uint8_t *bytes, size_t length, struct arena *arena, struct msg_letter *out,
                  struct msg_error *out_error)
{
    ProtobufCMessage *message;

    memset(out, 0, sizeof(*out));
    int rv = codec_unpack(&letter_envelope, (struct hearsay_bytes){bytes, length}, arena, &message,
                          out_error);
    if (rv != 0) {
        return rv;
    }
    const Hearsay__V1__Letter *wire = (const Hearsay__V1__Letter *)(const void *)message;
    if (wire->version != LETTER_VERSION) {
        msg_error_set(out_error, HEARSAY_CODE_INVALID, "version", "a letter must have version %d",
                      LETTER_VERSION);
        return CODEC_INVALID;
    }
    const struct map_body *body = codec_body(&letter_envelope, (uint32_t)wire->body_case);
    if (body == NULL) {
        return 0; /* MSG_LETTER_UNKNOWN */
    }
    rv = map_read_body(body, wire->head, arena, out, out_error);
    if (rv == 0) {
        out->kind = (enum msg_letter_kind)body->kind;
    }
    return rv;
}

int letter_encode(const struct msg_letter *letter, struct bytes *out)
{
    const struct map_body *body = codec_body(&letter_envelope, letter->kind);
    size_t before = out->count;
    int rv = map_write_frame(LETTER_VERSION, body, NULL, letter, LETTER_BYTES_MAX, out);

    if (rv == 0) { /* without the header */
        size_t bytes = out->count - before - LIMIT_FRAME_HEADER_BYTES;

        memmove(out->data + before, out->data + before + LIMIT_FRAME_HEADER_BYTES, bytes);
        out->count = before + bytes;
    }
    return rv;
}
