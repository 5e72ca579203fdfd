/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "proto/codec/inner.h"
#include "proto/hearsay.pb-c.h"

static const struct codec_envelope request_envelope = {
    .name = "request",
    .descriptor = &hearsay__v1__request__descriptor,
    .unknown_most = LIMIT_UNKNOWN_REQUEST,
    .bodies = &codec_request_bodies,
};

int codec_decode_request(const uint8_t *frame, size_t length, struct arena *arena,
                         struct hearsay_request *out, struct msg_error *out_error)
{
    ProtobufCMessage *message = NULL;

    memset(out, 0, sizeof(*out));
    int rv = codec_unpack(&request_envelope, (struct hearsay_bytes){frame, length}, arena, &message,
                          out_error);
    const Hearsay__V1__Request *wire = (const Hearsay__V1__Request *)(const void *)message;
    struct scan_envelope envelope;
    if (rv == 0) {
        envelope.id = wire->id;
        envelope.body = protobuf_c_message_descriptor_get_field(request_envelope.descriptor,
                                                                (unsigned)wire->body_case);
    } else { /* the refusal carries the id all the same */
        scan_envelope(request_envelope.descriptor, frame, length, &envelope);
    }
    out->id = envelope.id;
    out->name = envelope.body != NULL ? envelope.body->name : "";
    if (rv != CODEC_MALFORMED && rv >= 0 && out->id == 0) {
        msg_error_set(out_error, HEARSAY_CODE_MALFORMED, "id",
                      "a request needs an id other than 0, for its answer to carry back");
        return CODEC_MALFORMED;
    }
    if (rv != 0) {
        return rv;
    }
    const struct map_body *body = codec_body(&request_envelope, (uint32_t)wire->body_case);
    rv = map_read_body(&codec_request_asker, wire, arena, out, out_error);
    if (rv != 0 || body == NULL) {
        return rv; /* 0: HEARSAY_REQUEST_UNKNOWN */
    }
    rv = map_read_body(body, wire->hello, arena, out, out_error);
    if (rv == 0) {
        out->kind = (enum hearsay_request_kind)body->kind;
    }
    return rv;
}

int codec_encode_request(const struct hearsay_request *request, size_t limit_bytes,
                         struct bytes *out)
{
    const struct map_body *body = codec_body(&request_envelope, request->kind);

    return map_write_frame(request->id, body, &codec_request_asker, request, limit_bytes, out);
}

const char *codec_request_name(enum hearsay_request_kind kind)
{
    return codec_body(&request_envelope, kind) != NULL
               ? protobuf_c_message_descriptor_get_field(request_envelope.descriptor, kind)->name
               : NULL;
}

enum hearsay_response_kind codec_reply_kind(enum hearsay_request_kind kind)
{
    const struct map_body *body = codec_body(&request_envelope, kind);

    return body != NULL ? (enum hearsay_response_kind)body->reply : HEARSAY_RESPONSE_UNKNOWN;
}
