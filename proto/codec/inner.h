/* SPDX-License-Identifier: Apache-2.0 */
/* inner: the parts of the codec. */
#pragma once

#include <protobuf-c/protobuf-c.h>

#include "proto/codec/codec.h"

/* --- map -------------------------------------------------------------------------------------- */

/*
 * codec_map: tables of fields. A table says which field of a message of the schema is which member
 * of a plain struct, and which values are allowed. proto/generate.py makes the tables from the
 * schema; the rows of a table are in the order of the schema. Only the codec uses this file.
 *
 * Reading: an absent field gets its default. A needed field that is absent, and a value or size out
 * of range, are refused with a sentence. Writing: absent bytes and texts are left out. A number
 * with its default value is left out, unless the field is needed or the struct has a bool for its
 * presence. Writing does not check the values.
 */

enum map_type {
    MAP_U32,
    MAP_U64,
    MAP_I64,
    MAP_BOOL,
    MAP_ENUM,
    MAP_TEXT,    /* struct hearsay_text */
    MAP_BYTES,   /* struct hearsay_bytes */
    MAP_CHARS,   /* char[]: cut to what fits */
    MAP_NUMBERS, /* uint32_t[] and its count */
    MAP_TEXTS,   /* a borrowed array of struct hearsay_text, and its count */
    MAP_LIST,    /* a borrowed array of structs, and its count */
    MAP_INNER    /* a struct within the struct */
};

struct map;

/* A rule for texts. `form` completes the sentence "FIELD is not FORM" of the error. */
struct map_form {
    bool (*holds)(const char *text, size_t length);
    const char *form;
};

struct map_field {
    const char *name; /* in the schema */
    enum map_type type;
    bool needed;
    uint16_t number;   /* of the field */
    uint16_t wire;     /* offset of the value in protobuf-c's struct */
    uint16_t wire_has; /* offset in protobuf-c's struct of the member has_NAME, or of n_NAME for a
                        * repeated field; not used for TEXT, CHARS and INNER */
    uint16_t own;      /* offset of the value in our struct */
    /*
     * offset in our struct of the count of a repeated field, or of a bool that says whether a U32
     * or INNER field is present; 0: no such member
     */
    uint16_t own_count;
    uint64_t min; /* least value of a U32 or ENUM; least size of a TEXT or BYTES, or of a text of
                   * TEXTS */
    uint64_t max; /* largest value of a U32 or ENUM, largest size in bytes of a TEXT or BYTES or of
                   * a text of TEXTS, 0: no limit; for CHARS the capacity of the array; for NUMBERS
                   * the most entries */
    uint64_t gap; /* a value of an ENUM between min and max that has left the protocol; 0: none */
    bool is_either; /* of a BYTES: the size is min or max, and nothing between */
    int64_t absent; /* the value of an absent number */
    const struct hearsay_text
        *absent_text;            /* the value of an absent text; NULL: the text stays absent */
    const struct map_form *form; /* of TEXT, or NULL */
    const struct map *inner;     /* of LIST and INNER */
};

struct map {
    const char *name; /* in sentences: "deposit" */
    const ProtobufCMessageDescriptor *descriptor;
    size_t own_bytes;
    const struct map_field *fields;
    size_t field_count;
};

/* One member of the oneof of an envelope: Request, Response or Letter. */
struct map_body {
    uint32_t kind;         /* the number of the member's field, which is also its kind in the enum
                            * msg_request_kind, msg_response_kind or msg_letter_kind */
    const struct map *map; /* NULL: the body has no fields */
    size_t own;            /* offset of the body in the struct of the envelope */
    int reply;             /* of a request: enum hearsay_response_kind of its answer */
    bool is_response;
};

struct map_bodies {
    const struct map_body *rows;
    size_t count;
};

/*
 * Reads a body that protobuf-c unpacked into the arena. `out` is the struct hearsay_request or
 * hearsay_response; its member for the body is written, and borrows from the arena. 0;
 * CODEC_INVALID with *out_error filled: a field is wrong, or the message needs more memory than the
 * arena's limit; -ERR_NOMEM.
 */
int map_read_body(const struct map_body *body, const void *wire, struct arena *arena, void *out,
                  struct msg_error *out_error);

/*
 * Appends a frame with its header to `out`: the id, and the body of `message`, a struct
 * hearsay_request or hearsay_response. body NULL: a frame without a body. `own_fields` says where
 * `message` has further fields of the envelope itself, which are written behind the body; NULL:
 * there are none. 0; CODEC_TOO_LARGE when the frame without its header would have more than
 * limit_bytes or LIMIT_FRAME_BYTES_MAX; -ERR_NOMEM. If the result is not 0, out->count is
 * unchanged. `message` must not point into the memory of `out`.
 */
int map_write_frame(uint64_t id, const struct map_body *body, const struct map_body *own_fields,
                    const void *message, size_t limit_bytes, struct bytes *out);

/* Called after an allocation from the arena failed while a peer's message was read. Returns
 * CODEC_INVALID with *out_error "too large" if the arena's limit was exceeded, else -ERR_NOMEM. */
int map_out_of_memory(const struct arena *arena, struct msg_error *out_error);

/*
 * Gives the offset of a member of a struct, for a row of a table. Does not compile if the member
 * has another type; an array counts as a pointer.
 */
#define MAP_OFFSET(Struct, member, type) \
    (offsetof(Struct, member) + 0 * sizeof(_Generic(((Struct *)0)->member, type : 1)))

/* --- scan ------------------------------------------------------------------------------------- */

/*
 * Checks a message's wire bytes against the schema before protobuf-c unpacks the bytes. Only
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

/*
 * The most fields that one message of the schema may have, and the largest scan_rules.nesting_most.
 */
enum { SCAN_FIELDS_MAX = 64, SCAN_NESTING_MAX = 8 };

/* The most entries of one repeated field in one message. */
struct scan_count {
    const ProtobufCMessageDescriptor *message;
    uint32_t number; /* of the field */
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
 * filled: the code HEARSAY_CODE_MALFORMED or HEARSAY_CODE_INVALID, a sentence, and the dotted path
 * of the field that is wrong, where it is known. The path of a field within the body does not begin
 * with the body's name.
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

/* --- envelope --------------------------------------------------------------------------------- */

/*
 * codec_envelope: unpacks the bytes of a frame into protobuf-c's structs, for requests and for
 * responses. Only the codec uses this file.
 */

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

/* --- form ------------------------------------------------------------------------------------- */

/*
 * codec_form: rules for texts in the protocol, such as a host's name. Only the codec uses this
 * file.
 */

/* A host's name: 1 to LIMIT_HOST_BYTES characters of a-z, 0-9 and -, with no - at either end. */
extern const struct map_form codec_form_host;

/* A media type: see codec_is_media_type. */
extern const struct map_form codec_form_media_type;

/* A text without ASCII control characters (0x00 to 0x1f, 0x7f). */
extern const struct map_form codec_form_line;

/* A tag of a language as BCP 47 forms it: parts of 1 to 8 letters and digits with - between them,
 * the first of 2 to 8 letters. */
extern const struct map_form codec_form_language;

/* --- tables ----------------------------------------------------------------------------------- */

/*
 * codec_tables: the tables that proto/generate.py makes from the schema. Only the codec uses this
 * file.
 */

/* The bodies of the envelopes, with the tables of their fields. */
extern const struct map_bodies codec_request_bodies;
extern const struct map_bodies codec_response_bodies;
extern const struct map_bodies codec_letter_bodies;

/* The fields of Request itself but its id, as if they were a body. */
extern const struct map_body codec_request_asker;

/* Has a row for every repeated field: the most entries of the field. */
extern const struct scan_count codec_counts[];
extern const size_t codec_count_count;
