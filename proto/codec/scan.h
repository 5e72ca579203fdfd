/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan: a walk over a message's wire bytes against its schema, before protobuf-c sees them.
 *
 * protobuf-c allocates whatever the wire claims: for every field, every repetition, every unknown
 * field. The scan allocates nothing, looks at each byte about once, and lets through only what
 * unpacks within known bounds:
 *
 *   - every tag, number and length is whole and not over-long, every length fits what is left;
 *   - no field number 0, no groups, every known field has the wire type of its declared type
 *     (repeated numbers may be packed);
 *   - a field that is not repeated occurs once, and one member of a oneof (protobuf would merge or
 *     replace: two peers could read the same bytes differently);
 *   - repeated fields have no more entries than their limits, unknown ones than theirs;
 *   - messages nest no deeper than a limit; what is inside unknown fields is not looked at;
 *   - text is UTF-8 without NUL, 32-bit numbers fit 32 bits.
 *
 * Only the codec uses this.
 */
#ifndef PROTO_CODEC_SCAN_H
#define PROTO_CODEC_SCAN_H

#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#include "proto/codec/codec.h"
#include "proto/msg.h"

/* The largest number of fields that one message of the schema may have, and of nested messages. */
enum { SCAN_FIELDS_MAX = 64, SCAN_NESTING_MAX = 8 };

/* How often a repeated field may occur in one message. */
struct scan_count {
    const ProtobufCMessageDescriptor *message;
    const char *field;
    uint32_t most;
};

struct scan_rules {
    const struct scan_count *counts;
    size_t count_count;
    uint32_t repeated_most; /* of repeated fields that `counts` does not name */
    uint32_t unknown_most;  /* unknown fields, all messages together */
    uint32_t nesting_most;  /* messages within messages, at most SCAN_NESTING_MAX */
};

/*
 * Checks `length` bytes. 0, CODEC_MALFORMED or CODEC_INVALID with *out_error filled: MSG_MALFORMED
 * or MSG_INVALID, a sentence, and the field as a dotted path within the outermost body.
 */
int scan_message(const ProtobufCMessageDescriptor *descriptor, const struct scan_rules *rules,
                 const uint8_t *bytes, size_t length, struct msg_error *out_error);

/* What can be said of an envelope (Request or Response) before it is known to be sound. */
struct scan_envelope {
    uint64_t id;                          /* 0 when absent or unreadable */
    const ProtobufCFieldDescriptor *body; /* the first member of the oneof; NULL when absent */
};

/* Reads an envelope's own fields as far as its bytes make sense. Field 1 is the id. */
void scan_envelope(const ProtobufCMessageDescriptor *descriptor, const uint8_t *bytes,
                   size_t length, struct scan_envelope *out_envelope);

#endif
