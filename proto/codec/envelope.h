/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codec_envelope: unpacks the bytes of a frame into protobuf-c's structs, for requests and for
 * responses. Only the codec uses this file.
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
    const struct map_bodies *bodies;
};

/* Returns the row of envelope->bodies that has this kind; NULL: there is none. */
const struct map_body *codec_body(const struct codec_envelope *envelope, uint32_t kind);

/*
 * Scans a frame (without its header), then unpacks the frame. 0 with *out_message, which is in the
 * arena; CODEC_MALFORMED or CODEC_INVALID with *out_error filled; -ERR_NOMEM.
 */
int codec_unpack(const struct codec_envelope *envelope, struct hearsay_bytes frame,
                 struct arena *arena, ProtobufCMessage **out_message, struct msg_error *out_error);

#endif
