/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "proto/codec/inner.h"
#include "proto/hearsay.pb-c.h"

static const struct codec_envelope response_envelope = {
    .name = "response",
    .descriptor = &hearsay__v1__response__descriptor,
    .unknown_most = LIMIT_UNKNOWN_RESPONSE,
    .bodies = &codec_response_bodies,
};

int codec_decode_response(const uint8_t *frame, size_t length, struct arena *arena,
                          struct hearsay_response *out, struct msg_error *out_error)
{
    struct scan_envelope envelope;
    ProtobufCMessage *message;

    memset(out, 0, sizeof(*out));
    scan_envelope(response_envelope.descriptor, frame, length, &envelope);
    out->id = envelope.id;
    int rv = codec_unpack(&response_envelope, (struct hearsay_bytes){frame, length}, arena,
                          &message, out_error);
    if (rv != 0) {
        return rv;
    }
    const Hearsay__V1__Response *wire = (const Hearsay__V1__Response *)(const void *)message;
    const struct map_body *body = codec_body(&response_envelope, (uint32_t)wire->body_case);
    if (body == NULL) {
        return 0; /* HEARSAY_RESPONSE_UNKNOWN: the body is of a later version, or absent */
    }
    rv = map_read_body(body, wire->welcome, arena, out, out_error);
    if (rv == 0) {
        out->kind = (enum hearsay_response_kind)body->kind;
    }
    return rv;
}

int codec_encode_response(const struct hearsay_response *response, size_t limit_bytes,
                          struct bytes *out)
{
    return map_write_frame(response->id, codec_body(&response_envelope, response->kind), NULL,
                           response, limit_bytes, out);
}
