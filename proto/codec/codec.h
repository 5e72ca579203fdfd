/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codec: turns msg structs into the bytes of a frame, and frames into msg structs. Only the files
 * of this folder use protobuf-c.
 *
 * Decoding first walks the bytes once and checks them against the schema and proto/limits.h:
 * nesting, counts of repeated fields, lengths and varints. Only then protobuf-c unpacks the bytes,
 * with the arena as its allocator. Decoding costs O(length of the frame).
 */
#ifndef PROTO_CODEC_CODEC_H
#define PROTO_CODEC_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/arena.h"
#include "proto/bytes.h"
#include "proto/msg.h"

/* Named outcomes of decoding. */
enum {
    CODEC_MALFORMED = 1, /* the bytes are no message of this protocol: the caller should send an
                          * error, then close the connection */
    CODEC_INVALID = 2    /* a field of the message is wrong: the caller should send an error with
                          * out->id, and keep the connection */
};

/*
 * Upper bounds on the arena's memory for decoding one frame, beyond the length of the frame. With
 * an arena limit of the frame's length plus this number, no frame within proto/limits.h is refused
 * for its memory, on any machine.
 */
enum { CODEC_REQUEST_ARENA_BYTES = 128 * 1024, CODEC_RESPONSE_ARENA_BYTES = 3 * 1024 * 1024 };

/*
 * Reads a frame (without its header) into *out. *out borrows from the arena, not from `frame`,
 * until the arena is reset. Returns 0; CODEC_MALFORMED or CODEC_INVALID with *out_error filled; or
 * -ERR_NOMEM. With every result, out->id and out->name have what could be read (otherwise id 0 and
 * ""); the rest of *out is valid only after 0.
 *
 * Decoding checks every rule that needs no state of the server: needed fields (a deposit's id and
 * filter, a query's k and parts, ...), k and ttl of at least 1, sizes of ids, hashes and tokens,
 * enum values, UTF-8 without NUL, host names, media types, distances up to 1,000,000. The handlers
 * check the server's own limits. A message that takes more memory than the arena's limit is
 * CODEC_INVALID, with MSG_TOO_LARGE.
 *
 * A request without a body or with an unknown body is read as MSG_REQUEST_UNKNOWN. A response
 * without a body or with an unknown body is read as MSG_RESPONSE_UNKNOWN. A request without an id,
 * or with id 0, is CODEC_MALFORMED.
 */
int codec_decode_request(const uint8_t *frame, size_t length, struct arena *arena,
                         struct msg_request *out, struct msg_error *out_error);
int codec_decode_response(const uint8_t *frame, size_t length, struct arena *arena,
                          struct msg_response *out, struct msg_error *out_error);

/*
 * Appends one whole frame, header included, to `out`. Returns 0, -ERR_NOMEM, or CODEC_TOO_LARGE
 * when the frame would exceed limit_bytes; after an error `out->count` is unchanged. The fields are
 * not checked. A field with its default value is left out.
 */
enum { CODEC_TOO_LARGE = 3 };
int codec_encode_request(const struct msg_request *request, size_t limit_bytes, struct bytes *out);
int codec_encode_response(const struct msg_response *response, size_t limit_bytes,
                          struct bytes *out);

/*
 * Both return an upper bound in bytes. codec_result_bytes_max: how much longer a Results frame
 * becomes by one result with a payload and a media type of these sizes. codec_exported_bytes_max:
 * how much longer an Exported frame becomes by one message. Before encoding, a caller computes with
 * these bounds how many entries fit in a frame.
 */
size_t codec_result_bytes_max(size_t payload_bytes, size_t media_type_bytes);
size_t codec_exported_bytes_max(const struct msg_exported_message *message);

/*
 * Return exact sizes in bytes. codec_result_bytes: one result within a Results frame.
 * codec_results_bytes: a whole Results frame without its header; its results take results_bytes.
 * codec_match_bytes: a whole Match frame without its header. O(1).
 */
size_t codec_result_bytes(const struct msg_result *result);
size_t codec_results_bytes(const struct msg_response *response, size_t results_bytes);
size_t codec_match_bytes(const struct msg_response *response);

/* The most bytes that a Results or Exported frame takes without its entries. */
enum { CODEC_ENVELOPE_BYTES_MAX = 64 };

/*
 * Returns whether a text is a media type: 1 to LIMIT_MEDIA_TYPE_BYTES visible ASCII characters and
 * spaces, with at least one character before the first '/' and at least one character behind the
 * first '/'. "a//" is a media type, "//a" is none. A media type may have parameters. Terminals show
 * the text.
 */
bool codec_is_media_type(const char *text, size_t length);

#endif
