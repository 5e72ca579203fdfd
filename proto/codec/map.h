/* SPDX-License-Identifier: Apache-2.0 */
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
#ifndef PROTO_CODEC_MAP_H
#define PROTO_CODEC_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#include "proto/arena.h"
#include "proto/bytes.h"
#include "proto/codec/codec.h"
#include "proto/msg.h"

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
};

struct map_bodies {
    const struct map_body *rows;
    size_t count;
};

/*
 * Reads a body that protobuf-c unpacked into the arena. `out` is the struct hearsay_request or
 * hearsay_response; its member for the body is written, and borrows from the arena. 0; CODEC_INVALID
 * with *out_error filled: a field is wrong, or the message needs more memory than the arena's
 * limit; -ERR_NOMEM.
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

#endif
