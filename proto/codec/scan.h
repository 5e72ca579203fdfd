/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan: checks a message's wire bytes against the schema before protobuf-c unpacks the bytes. Only
 * the codec uses this file.
 *
 * protobuf-c allocates memory for each field, each repetition and each unknown field that the bytes
 * claim. The scan allocates nothing and reads each byte about once. A message passes only if
 * protobuf-c can unpack the message within known bounds:
 *
 *   - Every tag, number and length is whole and not longer than needed for its type. Every length
 *     fits the bytes that remain.
 *   - No field has number 0, no field is a group, and every known field has the wire type of its
 *     declared type. Repeated numbers may be packed.
 *   - A field that is not repeated occurs once, and a oneof has one member. protobuf would merge or
 *     replace values, and two peers could read the same bytes differently.
 *   - Repeated fields and unknown fields have no more entries than their limits.
 *   - Messages nest no deeper than a limit. The scan does not look into unknown fields.
 *   - Text is UTF-8 without NUL. 32-bit numbers fit 32 bits.
 */
#ifndef PROTO_CODEC_SCAN_H
#define PROTO_CODEC_SCAN_H

#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#include "proto/codec/codec.h"
#include "proto/msg.h"

/* The most fields that one message of the schema may have, and the deepest nesting of messages. */
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
    uint32_t nesting_most;  /* deepest nesting of messages, at most SCAN_NESTING_MAX */
};

/*
 * Checks the `length` bytes of a message. 0, CODEC_MALFORMED or CODEC_INVALID with *out_error
 * filled: the code MSG_MALFORMED or MSG_INVALID, a sentence, and the field as a dotted path within
 * the outermost body.
 */
int scan_message(const ProtobufCMessageDescriptor *descriptor, const struct scan_rules *rules,
                 const uint8_t *bytes, size_t length, struct msg_error *out_error);

/*
 * The parts of an envelope (Request or Response) that can be read before the scan has checked the
 * bytes.
 */
struct scan_envelope {
    uint64_t id;                          /* 0 when absent or unreadable */
    const ProtobufCFieldDescriptor *body; /* the first body that the bytes name; NULL when absent */
};

/* Reads the id (field 1) and the kind of body of an envelope, as far as the bytes can be read. */
void scan_envelope(const ProtobufCMessageDescriptor *descriptor, const uint8_t *bytes,
                   size_t length, struct scan_envelope *out_envelope);

#endif
