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

/* A body that this version reads and writes. */
struct codec_body {
    int kind;              /* enum msg_request_kind or msg_response_kind */
    uint32_t number;       /* of the oneof's member */
    const struct map *map; /* NULL: it has no fields */
    size_t own;            /* offset of its struct in the envelope's */
};

struct codec_envelope {
    const char *name; /* in sentences: "request" */
    const ProtobufCMessageDescriptor *descriptor;
    uint32_t unknown_most;
    const struct codec_body *bodies;
    size_t body_count;
};

/* How often the repeated fields of hearsay.proto may occur; every one has a row. */
extern const struct scan_count codec_counts[];
extern const size_t codec_count_count;

/* Rows of an envelope, or NULL where there is none such. */
const struct codec_body *codec_body_numbered(const struct codec_envelope *envelope,
                                             uint32_t number);
const struct codec_body *codec_body_of_kind(const struct codec_envelope *envelope, int kind);

/*
 * Scans and unpacks. 0 with *out_message from the arena; CODEC_MALFORMED or CODEC_INVALID with
 * *out_error filled; -ERR_NOMEM.
 */
int codec_unpack(const struct codec_envelope *envelope, const uint8_t *frame, size_t length,
                 struct arena *arena, ProtobufCMessage **out_message, struct msg_error *out_error);

/* Appends a frame, header included: map_write_envelope's, as codec_encode_request says. */
int codec_write(uint64_t id, uint32_t number, const struct map *map, const void *own,
                size_t limit_bytes, struct bytes *out);

#endif
