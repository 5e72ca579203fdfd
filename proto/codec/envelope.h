/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codec_frame: what requests and responses share: from a frame's bytes to protobuf-c's structs and
 * back. Only the codec uses this.
 */
#ifndef PROTO_CODEC_ENVELOPE_H
#define PROTO_CODEC_ENVELOPE_H

#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#include "proto/arena.h"
#include "proto/bytes.h"
#include "proto/codec/map.h"
#include "proto/codec/scan.h"
#include "proto/msg.h"

struct codec_envelope {
    const char *name; /* in sentences: "request" */
    const ProtobufCMessageDescriptor *descriptor;
    uint32_t unknown_most;
    const struct map_body *bodies;
    size_t body_count;
};

/* How often the repeated fields of hearsay.proto may occur; every one has a row. */
extern const struct scan_count codec_counts[];
extern const size_t codec_count_count;

/* Rows of an envelope, or NULL where there is none such. */
const struct map_body *codec_body_numbered(const struct codec_envelope *envelope, uint32_t number);
const struct map_body *codec_body_of_kind(const struct codec_envelope *envelope, int kind);

/*
 * Scans and unpacks. 0 with *out_message from the arena; CODEC_MALFORMED or CODEC_INVALID with
 * *out_error filled; -ERR_NOMEM.
 */
int codec_unpack(const struct codec_envelope *envelope, struct msg_bytes frame, struct arena *arena,
                 ProtobufCMessage **out_message, struct msg_error *out_error);

#endif
