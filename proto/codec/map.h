/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codec_map: tables of fields. A table says which field of a message of hearsay.proto is which
 * member of a plain struct, and which values are allowed. Only the codec uses this file.
 *
 * The rows of a table must stand in the order of the field numbers. The macros below make the rows.
 * A row does not compile if the C type of the field in protobuf-c's struct, or of the member in the
 * plain struct, is not the type that the macro expects.
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
    MAP_TEXT,    /* struct msg_text */
    MAP_BYTES,   /* struct msg_bytes */
    MAP_CHARS,   /* char[]: cut to what fits */
    MAP_NUMBERS, /* uint32_t[] and its count */
    MAP_TEXTS,   /* a borrowed array of struct msg_text, and its count */
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
    const char *name; /* in hearsay.proto */
    enum map_type type;
    bool needed;
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
    const struct msg_text
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

/* One member of the oneof of Request or Response. */
struct map_body {
    int kind;              /* enum msg_request_kind or enum msg_response_kind */
    uint32_t number;       /* the field number of the member */
    const struct map *map; /* NULL: the body has no fields */
    size_t own;            /* offset of the body in struct msg_request or struct msg_response */
    int reply;             /* of a request: enum msg_response_kind of its answer */
};

/*
 * Reads a body that protobuf-c unpacked into the arena. `out` is the struct msg_request or
 * msg_response; its member for the body is written, and borrows from the arena. 0; CODEC_INVALID
 * with *out_error filled: a field is wrong, or the message needs more memory than the arena's
 * limit; -ERR_NOMEM.
 */
int map_read_body(const struct map_body *body, const void *wire, struct arena *arena, void *out,
                  struct msg_error *out_error);

/*
 * Appends a frame with its header to `out`: the id, and the body of `message`, a struct msg_request
 * or msg_response. body NULL: a frame without a body. `own_fields` says where `message` has further
 * fields of the envelope itself, which are written behind the body; NULL: there are none. 0;
 * CODEC_TOO_LARGE when the frame without its header would have more than limit_bytes or
 * LIMIT_FRAME_BYTES_MAX; -ERR_NOMEM. If the result is not 0, out->count is unchanged. `message`
 * must not point into the memory of `out`.
 */
int map_write_frame(uint64_t id, const struct map_body *body, const struct map_body *own_fields,
                    const void *message, size_t limit_bytes, struct bytes *out);

/* Called after an allocation from the arena failed while a peer's message was read. Returns
 * CODEC_INVALID with *out_error "too large" if the arena's limit was exceeded, else -ERR_NOMEM. */
int map_out_of_memory(const struct arena *arena, struct msg_error *out_error);

/* --- rows ------------------------------------------------------------------------------------- */

/*
 * The arguments of a row name the message in hearsay.proto, the plain struct without "msg_", and
 * the field. MAP_FIELD is for a field whose member in the plain struct has the same name, MAP_AS
 * for a field whose member has another name.
 */
#define MAP_FIELD(TYPE, Wire, own, field) MAP_AS(TYPE, Wire, field, own, field)
#define MAP_AS(TYPE, Wire, wire_field, own, own_field) \
    MAP_##TYPE##_ROW(Hearsay__V1__##Wire, wire_field, struct msg_##own, own_field)

/* Gives the offset of a member of a struct. Does not compile if the member has another type; an
 * array counts as a pointer. */
#define MAP_OFFSET(Struct, member, type) \
    (offsetof(Struct, member) + 0 * sizeof(_Generic(((Struct *)0)->member, type : 1)))

#define MAP_VALUE(Type, Wire, wire_type, wire_name, Own, own_type, own_name)          \
    .name = #wire_name, .type = Type, .wire = MAP_OFFSET(Wire, wire_name, wire_type), \
    .own = MAP_OFFSET(Own, own_name, own_type)
#define MAP_FLAGGED(Type, Wire, wire_type, wire_name, Own, own_type, own_name) \
    MAP_VALUE(Type, Wire, wire_type, wire_name, Own, own_type, own_name),      \
        .wire_has = MAP_OFFSET(Wire, has_##wire_name, protobuf_c_boolean)

#define MAP_U32_ROW(Wire, wire_name, Own, own_name) \
    MAP_FLAGGED(MAP_U32, Wire, uint32_t, wire_name, Own, uint32_t, own_name)
#define MAP_U64_ROW(Wire, wire_name, Own, own_name) \
    MAP_FLAGGED(MAP_U64, Wire, uint64_t, wire_name, Own, uint64_t, own_name)
#define MAP_I64_ROW(Wire, wire_name, Own, own_name) \
    MAP_FLAGGED(MAP_I64, Wire, int64_t, wire_name, Own, int64_t, own_name)
#define MAP_BOOL_ROW(Wire, wire_name, Own, own_name) \
    MAP_FLAGGED(MAP_BOOL, Wire, protobuf_c_boolean, wire_name, Own, bool, own_name)
#define MAP_BYTES_ROW(Wire, wire_name, Own, own_name) \
    MAP_FLAGGED(MAP_BYTES, Wire, ProtobufCBinaryData, wire_name, Own, struct msg_bytes, own_name)
#define MAP_ENUM(Wire, own, field, WireEnum, own_enum)                                           \
    MAP_FLAGGED(MAP_ENUM, Hearsay__V1__##Wire, Hearsay__V1__##WireEnum, field, struct msg_##own, \
                enum msg_##own_enum, field)

/*
 * protobuf-c's structs have no flag that says whether a text is present: the pointer to an absent
 * text is NULL.
 */
#define MAP_TEXT_ROW(Wire, wire_name, Own, own_name) \
    MAP_VALUE(MAP_TEXT, Wire, char *, wire_name, Own, struct msg_text, own_name)
#define MAP_CHARS_ROW(Wire, wire_name, Own, own_name)                     \
    MAP_VALUE(MAP_CHARS, Wire, char *, wire_name, Own, char *, own_name), \
        .max = sizeof((Own *)0)->own_name

/* Makes a row for a repeated field. `count` is the member of the plain struct with the number of
 * entries. */
#define MAP_REPEATED(Type, Wire, wire_type, own, own_type, field, count, count_type)           \
    MAP_VALUE(Type, Hearsay__V1__##Wire, wire_type, field, struct msg_##own, own_type, field), \
        .wire_has = MAP_OFFSET(Hearsay__V1__##Wire, n_##field, size_t),                        \
        .own_count = MAP_OFFSET(struct msg_##own, count, count_type)
#define MAP_NUMBERS(Wire, own, field, count)                                              \
    MAP_REPEATED(MAP_NUMBERS, Wire, uint32_t *, own, uint32_t *, field, count, uint32_t), \
        .max = sizeof((struct msg_##own *)0)->field / sizeof(uint32_t)
#define MAP_TEXTS(Wire, own, field, count) \
    MAP_REPEATED(MAP_TEXTS, Wire, char **, own, const struct msg_text *, field, count, size_t)
#define MAP_LIST(Wire, own, field, count, Entry, entry)                                           \
    MAP_REPEATED(MAP_LIST, Wire, Hearsay__V1__##Entry **, own, const struct msg_##entry *, field, \
                 count, size_t),                                                                  \
        .inner = &entry##_map

/*
 * MAP_INNER: a message within a message. MAP_MAYBE: a message within a message; the bool `own_has`
 * of the plain struct says whether the inner message is present. `own_has` must not be the first
 * member of its struct.
 */
#define MAP_INNER(Wire, own, field, Inner, own_inner, map)                                     \
    MAP_VALUE(MAP_INNER, Hearsay__V1__##Wire, Hearsay__V1__##Inner *, field, struct msg_##own, \
              struct msg_##own_inner, field),                                                  \
        .inner = (map)
#define MAP_MAYBE(Wire, own, field, own_has, Inner, own_inner, map) \
    MAP_INNER(Wire, own, field, Inner, own_inner, map),             \
        .own_count = MAP_OFFSET(struct msg_##own, own_has, bool)

#define MAP_RANGE(least, most) .min = (least), .max = (most)

/*
 * Both make a struct map. MAP_OF takes the rows from the array <wire>_fields, MAP_OF_ROWS from the
 * array `rows`.
 */
#define MAP_OF(text, wire, own) MAP_OF_ROWS(text, wire, own, wire##_fields)
#define MAP_OF_ROWS(text, wire, own, rows)                                \
    {                                                                     \
        .name = (text), .descriptor = &hearsay__v1__##wire##__descriptor, \
        .own_bytes = sizeof(struct msg_##own), .fields = (rows),          \
        .field_count = sizeof(rows) / sizeof(rows)[0]                     \
    }

#endif
