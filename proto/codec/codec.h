/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codec: msg structs to bytes of a frame and back. With its inner parts (codec_*.h, scan.h) the
 * only user of protobuf-c. Parses, never acts.
 *
 * Decoding walks the bytes once against the schema before protobuf-c sees them: nesting, counts of
 * repeated fields, lengths and varints are checked against proto/limits.h, then it unpacks with
 * the arena as its allocator. The cost is linear in the frame's length.
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
    CODEC_MALFORMED = 1, /* not a message of this protocol: answer, then close the connection */
    CODEC_INVALID = 2    /* a message whose fields are wrong: answer, go on; out->id is valid */
};

/*
 * What decoding takes from the arena at most beyond the frame's own length: with a limit of that
 * and this no frame within proto/limits.h is refused for its memory, on any machine.
 */
enum { CODEC_REQUEST_ARENA_BYTES = 128 * 1024, CODEC_RESPONSE_ARENA_BYTES = 3 * 1024 * 1024 };

/*
 * Reads a frame (without its header) into *out, which borrows from the arena (and not from
 * `frame`) until it is reset. 0; CODEC_MALFORMED or CODEC_INVALID with *out_error filled;
 * -ERR_NOMEM. Whatever the outcome, out->id and out->name are as far as they were readable (id 0
 * and "" otherwise); the rest of *out is valid only after 0.
 *
 * Checked here is what needs no server: presence (a deposit's id and filter, a query's k and parts,
 * ...), k and ttl of at least 1, sizes of ids, hashes and tokens, enum values, UTF-8 without NUL,
 * host names, media types, distances up to 1,000,000. The server's own limits are checked by its
 * handlers. A message that takes more memory than the arena's limit is CODEC_INVALID, with
 * MSG_TOO_LARGE.
 *
 * A request whose body is absent or unknown is read as MSG_REQUEST_UNKNOWN, one that is in the
 * schema but not served as MSG_REQUEST_KNOWN_ONLY; a response of such kinds as
 * MSG_RESPONSE_UNKNOWN. A request without an id other than 0 is CODEC_MALFORMED.
 */
int codec_decode_request(const uint8_t *frame, size_t length, struct arena *arena,
                         struct msg_request *out, struct msg_error *out_error);
int codec_decode_response(const uint8_t *frame, size_t length, struct arena *arena,
                          struct msg_response *out, struct msg_error *out_error);

/*
 * Appends one whole frame, header included, to `out`. 0, -ERR_NOMEM, or CODEC_TOO_LARGE when the
 * frame would exceed limit_bytes; `out->count` is unchanged then. Fields are not checked; those
 * that have their default value are left out. MSG_REQUEST_KNOWN_ONLY is written by `name`, without
 * fields.
 */
enum { CODEC_TOO_LARGE = 3 };
int codec_encode_request(const struct msg_request *request, size_t limit_bytes, struct bytes *out);
int codec_encode_response(const struct msg_response *response, size_t limit_bytes,
                          struct bytes *out);

/*
 * What a result with these payload and media type sizes adds to a Results frame at most, and what
 * an Exported message adds at most: for choosing what fits before encoding.
 */
size_t codec_result_bytes_max(size_t payload_bytes, size_t media_type_bytes);
size_t codec_exported_bytes_max(const struct msg_exported_message *message);

/*
 * Exact sizes, in bytes: what one result adds to a Results frame; a whole Results frame without its
 * header, whose results add results_bytes; a whole Match frame without its header. O(1).
 */
size_t codec_result_bytes(const struct msg_result *result);
size_t codec_results_bytes(const struct msg_response *response, size_t results_bytes);
size_t codec_match_bytes(const struct msg_response *response);

/* What a Results or Exported frame takes at most without its entries. */
enum { CODEC_ENVELOPE_BYTES_MAX = 64 };

/*
 * Whether a text is a media type as deposits have it: 1 to LIMIT_MEDIA_TYPE_BYTES visible ASCII
 * characters and spaces, at least one of them before the first '/' and at least one behind it. So
 * "a//" is one and "//a" is none. It may have parameters. It is shown on terminals.
 */
bool codec_is_media_type(const char *text, size_t length);

#endif
