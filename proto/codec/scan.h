/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan: checks a message's wire bytes against the schema before protobuf-c unpacks the bytes. Only
 * the codec uses this file.
 *
 * protobuf-c allocates memory for each repetition and each unknown field that it finds in the
 * bytes. The scan allocates nothing. A message passes the scan only if:
 *
 *   - Every tag, number and length is whole. A tag or length has at most 5 bytes, another varint at
 *     most 10. No length exceeds the bytes that remain in its message.
 *   - No field has number 0, no field is a group, and every known field has the wire type of its
 *     declared type. Repeated numbers may be packed.
 *   - A field that is not repeated occurs at most once in its message, and a message has at most
 *     one member of a oneof. (protobuf allows more, and takes the last value or merges the values.)
 *   - No repeated field has more entries than its limit, and the unknown fields of the frame
 *     together are not more than their limit.
 *   - Messages nest no deeper than a limit. The scan does not look for messages in unknown fields.
 *   - The text of a known field is UTF-8 without NUL. The number of a known field with a 32-bit
 *     type fits 32 bits.
 */
#ifndef PROTO_CODEC_SCAN_H
#define PROTO_CODEC_SCAN_H

#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#include "proto/codec/codec.h"
#include "proto/msg.h"

/*
 * The most fields that one message of the schema may have, and the largest scan_rules.nesting_most.
 */
enum { SCAN_FIELDS_MAX = 64, SCAN_NESTING_MAX = 8 };

/* The most entries of one repeated field in one message. */
struct scan_count {
    const ProtobufCMessageDescriptor *message;
    const char *field;
    uint32_t most;
};

struct scan_rules {
    const struct scan_count *counts;
    size_t count_count;
    uint32_t repeated_most; /* limit of each repeated field that `counts` does not name */
    uint32_t unknown_most;  /* limit of unknown fields in all messages of a frame together */
    uint32_t nesting_most;  /* how deep messages may nest inside the outermost message; at most
                             * SCAN_NESTING_MAX */
};

/*
 * Checks the `length` bytes of a message. 0; or CODEC_MALFORMED or CODEC_INVALID with *out_error
 * filled: the code MSG_MALFORMED or MSG_INVALID, a sentence, and the dotted path of the field that
 * is wrong, where it is known. The path of a field within the body does not begin with the body's
 * name.
 */
int scan_message(const ProtobufCMessageDescriptor *descriptor, const struct scan_rules *rules,
                 const uint8_t *bytes, size_t length, struct msg_error *out_error);

/* What scan_envelope reads of a Request or Response. */
struct scan_envelope {
    uint64_t id;                          /* 0 when absent or unreadable */
    const ProtobufCFieldDescriptor *body; /* the first body that the schema has; NULL: none */
};

/*
 * Reads the id (field 1) and the kind of body of a Request or Response. Checks nothing, and ends at
 * the first byte that it cannot read.
 */
void scan_envelope(const ProtobufCMessageDescriptor *descriptor, const uint8_t *bytes,
                   size_t length, struct scan_envelope *out_envelope);

#endif
