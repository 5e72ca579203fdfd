/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codec: turns msg structs into the bytes of a frame, and frames into msg structs. In the programs
 * and the library, only the files of this folder use protobuf-c.
 *
 * Before protobuf-c unpacks the bytes of a frame, decoding checks them against the schema and
 * proto/limits.h: nesting, counts of repeated fields, lengths, varints and texts. The memory that
 * protobuf-c allocates comes from an arena.
 */
#pragma once

#include "proto/arena.h"
#include "proto/bytes.h"
#include "proto/limits.h"
#include "proto/msg.h"
#include "proto/sizes.h"

/* Named outcomes of decoding. */
enum {
    CODEC_MALFORMED = 1, /* the bytes are no message of this protocol, or a request has no id: the
                          * caller should send an error, then close the connection */
    CODEC_INVALID = 2    /* a field of the message is wrong, or the message takes too much memory: a
                          * server should send an error with out->id, and keep the connection */
};

/*
 * With an arena whose limit is the frame's length plus CODEC_REQUEST_ARENA_BYTES, no request within
 * proto/limits.h is refused because it takes too much memory. CODEC_RESPONSE_ARENA_BYTES is the
 * number for a response.
 */
enum { CODEC_REQUEST_ARENA_BYTES = 256 * 1024, CODEC_RESPONSE_ARENA_BYTES = 3 * 1024 * 1024 };

/*
 * Reads a frame (without its header) into *out. *out borrows from the arena, not from `frame`,
 * until the arena is reset. Returns 0; CODEC_MALFORMED or CODEC_INVALID with *out_error filled; or
 * -ERR_NOMEM. Also without success, out->id has the id if it could be read, else 0, and the name of
 * a request has the name of its body if that could be read, else "". The rest of *out is valid only
 * after 0.
 *
 * Decoding checks each field for itself, for example: needed fields (a deposit's id and filter, a
 * query's k and parts), sizes of ids, hashes and tokens, UTF-8 without NUL, host names, media
 * types, distances up to 1,000,000. The handlers of the server check the limits of the server, and
 * rules about two or more fields. A message that takes more memory than the arena's limit is
 * CODEC_INVALID, with HEARSAY_CODE_TOO_LARGE in *out_error.
 *
 * A request without a body or with an unknown body is read as HEARSAY_REQUEST_UNKNOWN. A response
 * without a body or with an unknown body is read as HEARSAY_RESPONSE_UNKNOWN. A request without an
 * id, or with id 0, is CODEC_MALFORMED.
 */
int codec_decode_request(const uint8_t *frame, size_t length, struct arena *arena,
                         struct hearsay_request *out, struct msg_error *out_error);
int codec_decode_response(const uint8_t *frame, size_t length, struct arena *arena,
                          struct hearsay_response *out, struct msg_error *out_error);

/*
 * Appends one whole frame, header included, to `out`. Returns 0, -ERR_NOMEM, or CODEC_TOO_LARGE
 * when the frame without its header would exceed limit_bytes or LIMIT_FRAME_BYTES_MAX. If the
 * result is not 0, out->count is unchanged. The values of the fields are not checked.
 */
enum { CODEC_TOO_LARGE = 3 };
int codec_encode_request(const struct hearsay_request *request, size_t limit_bytes,
                         struct bytes *out);

/* Returns the name of a request, such as "query"; NULL: there is no such request. */
const char *codec_request_name(enum hearsay_request_kind kind);

/* Returns the kind of the answer to a request, other than an error. HEARSAY_RESPONSE_UNKNOWN: there
 * is no such request. */
enum hearsay_response_kind codec_reply_kind(enum hearsay_request_kind kind);
int codec_encode_response(const struct hearsay_response *response, size_t limit_bytes,
                          struct bytes *out);

/*
 * Each returns an exact size in bytes. codec_result_bytes: one result within a Results frame.
 * codec_results_bytes: a Results frame without its header; results_bytes is the sum of
 * codec_result_bytes over its results. codec_match_bytes: a Match frame without its header.
 */
size_t codec_result_bytes(const struct hearsay_result *result);
size_t codec_results_bytes(const struct hearsay_response *response, size_t results_bytes);
size_t codec_match_bytes(const struct hearsay_response *response);

/* The most bytes of a notice within a Results frame. */
enum {
    CODEC_NOTICE_BYTES_MAX = CODEC_HOUSE_NOTICE_BARE_BYTES_MAX + LIMIT_NOTICE_BYTES +
                             LIMIT_LANGUAGE_BYTES + LIMIT_PLACE_NAME_BYTES
};

/*
 * The most bytes of a Results, Exported or Changed frame without its results, messages or changes,
 * header included.
 */
enum { CODEC_ENVELOPE_BYTES_MAX = 96 };

/*
 * Returns whether a text is a media type: 1 to LIMIT_MEDIA_TYPE_BYTES visible ASCII characters and
 * spaces, with at least one character before the first '/' and at least one character behind the
 * first '/'. "a//" is a media type, "//a" is none.
 */
bool codec_is_media_type(const char *text, size_t length);
