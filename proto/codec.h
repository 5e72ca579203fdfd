/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codec: msg structs to bytes of a frame and back. The only user of protobuf-c. Parses, never acts.
 *
 * Decoding walks the bytes once against the schema before protobuf-c sees them: nesting, counts of
 * repeated fields, lengths and varints are checked against proto/limits.h, then it unpacks with
 * the arena as its allocator.
 */
#ifndef PROTO_CODEC_H
#define PROTO_CODEC_H

#include "proto/arena.h"
#include "proto/bytes.h"
#include "proto/msg.h"

#include <stddef.h>
#include <stdint.h>

/* Named outcomes of decoding. */
enum {
    CODEC_MALFORMED = 1, /* not a message of this protocol: answer, then close the connection */
    CODEC_INVALID = 2    /* a message whose fields are wrong: answer, go on; out->id is valid */
};

/*
 * Reads a frame into *out, which borrows from the arena (and not from `frame`) until it is reset.
 * 0; CODEC_MALFORMED or CODEC_INVALID with *out_error filled, and out->id and out->name as far as
 * they were readable (id 0 otherwise); -ERR_NOMEM.
 *
 * Checked here is what needs no server: presence, sizes of ids, hashes and tokens, enum values,
 * UTF-8 without NUL, host names, distances up to 1,000,000. The server's own limits are checked by
 * its handlers.
 */
int codec_decode_request(const uint8_t *frame, size_t length, struct arena *arena,
                         struct msg_request *out, struct msg_error *out_error);
int codec_decode_response(const uint8_t *frame, size_t length, struct arena *arena,
                          struct msg_response *out, struct msg_error *out_error);

/*
 * Appends one whole frame, header included, to `out`. The arena is used for the passage and not
 * reset. 0, -ERR_NOMEM, or CODEC_TOO_LARGE when the frame would exceed limit_bytes; `out` is
 * unchanged then.
 */
enum { CODEC_TOO_LARGE = 3 };
int codec_encode_request(const struct msg_request *request, struct arena *arena, size_t limit_bytes,
                         struct bytes *out);
int codec_encode_response(const struct msg_response *response, struct arena *arena,
                          size_t limit_bytes, struct bytes *out);

/*
 * What a result with these payload and media type sizes adds to a Results frame at most, and what
 * an Exported message adds at most: for choosing what fits before encoding.
 */
size_t codec_result_bytes_max(size_t payload_bytes, size_t media_type_bytes);
size_t codec_exported_bytes_max(const struct msg_exported_message *message);

/* What a Results or Exported frame takes at most without its entries. */
enum { CODEC_ENVELOPE_BYTES_MAX = 64 };

#endif
