/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codec_map: tables that say how a message of hearsay.proto and its plain struct correspond, and
 * what each field must be like. One table serves both directions.
 *
 * Only the codec uses this. Rows stand in the order of their fields' numbers. They are made with
 * the MAP_..._ROW macros below, which refuse to compile when a field's C type on either side is not
 * what the row says.
 *
 * Reading: an absent field gets its default; a field that is needed, or whose value or size is out
 * of range, is refused with a sentence. Writing: a field whose value is its default is left out,
 * unless it is needed; bytes and text are left out when they are absent. Writing checks nothing.
 */
#ifndef PROTO_CODEC_MAP_H
#define PROTO_CODEC_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#include "proto/arena.h"
#include "proto/bytes.h"
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
    MAP_TEXTS,   /* a borrowed array of struct msg_text and its count */
    MAP_LIST,    /* a borrowed array of structs and its count */
    MAP_INNER    /* a struct within the struct */
};

struct map;

/* A rule about a text's form, and how to say it: "<field> is not <form>". */
struct map_form {
    bool (*holds)(const char *text, size_t length);
    const char *form;
};

struct map_field {
    const char *name; /* in hearsay.proto */
    enum map_type type;
    bool needed;
    uint16_t wire;      /* offset of the value in protobuf-c's struct */
    uint16_t wire_has;  /* of its has_ flag, or of n_ for what is repeated; text has neither */
    uint16_t own;       /* offset of the value in our struct */
    uint16_t own_count; /* of its count, or of a bool that says whether it was present; 0: none. Of
                           INNER the bool decides whether it is written */
    uint64_t min;       /* of a U32 or ENUM; of the size of TEXT and BYTES */
    uint64_t max;       /* the same; of CHARS the capacity, of NUMBERS the most there may be */
    int64_t absent;     /* what a number is when it is absent */
    const struct msg_text *absent_text; /* what a text is when it is absent; NULL: absent */
    const struct map_form *form;        /* of TEXT, or NULL */
    const struct map *inner;            /* of LIST and INNER */
};

struct map {
    const char *name; /* in sentences: "deposit" */
    const ProtobufCMessageDescriptor *descriptor;
    size_t own_bytes;
    const struct map_field *fields;
    size_t field_count;
};

/* Named outcomes. */
enum {
    MAP_REFUSED =
        1, /* map_read: a field is wrong, or the message needs more memory than its budget */
    MAP_TOO_LARGE = 2 /* writing: the message would exceed its limit */
};

/*
 * Reads a message that protobuf-c unpacked (and that borrows from `arena`) into *out, all of whose
 * map->own_bytes are written. 0; MAP_REFUSED with *out_error filled; -ERR_NOMEM.
 */
int map_read(const struct map *map, const ProtobufCMessage *wire, struct arena *arena, void *out,
             struct msg_error *out_error);

/*
 * Appends a Request or Response to `out`: the id, and our struct as the body with this number.
 * A `map` of NULL is a body without fields, a number of 0 no body at all. 0; MAP_TOO_LARGE when
 * that takes more than limit_bytes, -ERR_NOMEM: out->count is unchanged then. What is in `out` may
 * not be part of our struct.
 */
int map_write_envelope(uint64_t id, uint32_t number, const struct map *map, const void *own,
                       size_t limit_bytes, struct bytes *out);

/*
 * What an allocation refused by the arena means when it was for a peer's message: MAP_REFUSED with
 * *out_error saying that it is too large when the budget is used up, else -ERR_NOMEM.
 */
int map_out_of_memory(const struct arena *arena, struct msg_error *out_error);

/* --- rows ------------------------------------------------------------------------------------- */

/* The offset of a member, which must have this type. Arrays count as pointers. */
#define MAP_OFFSET(Struct, member, type) \
    (offsetof(Struct, member) + 0 * sizeof(_Generic(((Struct *)0)->member, type : 1)))

#define MAP_NUMBER_ROW(Type, Wire, wire_type, wire_name, Own, own_type, own_name)     \
    .name = #wire_name, .type = Type, .wire = MAP_OFFSET(Wire, wire_name, wire_type), \
    .wire_has = MAP_OFFSET(Wire, has_##wire_name, protobuf_c_boolean),                \
    .own = MAP_OFFSET(Own, own_name, own_type)

#define MAP_U32_ROW(Wire, wire_name, Own, own_name) \
    MAP_NUMBER_ROW(MAP_U32, Wire, uint32_t, wire_name, Own, uint32_t, own_name)
#define MAP_U64_ROW(Wire, wire_name, Own, own_name) \
    MAP_NUMBER_ROW(MAP_U64, Wire, uint64_t, wire_name, Own, uint64_t, own_name)
#define MAP_I64_ROW(Wire, wire_name, Own, own_name) \
    MAP_NUMBER_ROW(MAP_I64, Wire, int64_t, wire_name, Own, int64_t, own_name)
#define MAP_BOOL_ROW(Wire, wire_name, Own, own_name) \
    MAP_NUMBER_ROW(MAP_BOOL, Wire, protobuf_c_boolean, wire_name, Own, bool, own_name)
#define MAP_ENUM_ROW(Wire, wire_type, wire_name, Own, own_type, own_name) \
    MAP_NUMBER_ROW(MAP_ENUM, Wire, wire_type, wire_name, Own, own_type, own_name)
#define MAP_BYTES_ROW(Wire, wire_name, Own, own_name) \
    MAP_NUMBER_ROW(MAP_BYTES, Wire, ProtobufCBinaryData, wire_name, Own, struct msg_bytes, own_name)

/* Text has no flag on the wire's side: its pointer says whether it is there. */
#define MAP_TEXT_ROW(Wire, wire_name, Own, own_name)                                   \
    .name = #wire_name, .type = MAP_TEXT, .wire = MAP_OFFSET(Wire, wire_name, char *), \
    .own = MAP_OFFSET(Own, own_name, struct msg_text)
#define MAP_CHARS_ROW(Wire, wire_name, Own, own_name)                                   \
    .name = #wire_name, .type = MAP_CHARS, .wire = MAP_OFFSET(Wire, wire_name, char *), \
    .own = MAP_OFFSET(Own, own_name, char *), .max = sizeof((Own *)0)->own_name

#define MAP_REPEATED_ROW(Type, Wire, wire_type, wire_name, Own, own_type, own_name)   \
    .name = #wire_name, .type = Type, .wire = MAP_OFFSET(Wire, wire_name, wire_type), \
    .wire_has = MAP_OFFSET(Wire, n_##wire_name, size_t),                              \
    .own = MAP_OFFSET(Own, own_name, own_type)

#define MAP_NUMBERS_ROW(Wire, wire_name, Own, own_name, own_count_name)                    \
    MAP_REPEATED_ROW(MAP_NUMBERS, Wire, uint32_t *, wire_name, Own, uint32_t *, own_name), \
        .own_count = MAP_OFFSET(Own, own_count_name, uint32_t),                            \
        .max = sizeof((Own *)0)->own_name / sizeof(uint32_t)
#define MAP_TEXTS_ROW(Wire, wire_name, Own, own_name, own_count_name)                              \
    MAP_REPEATED_ROW(MAP_TEXTS, Wire, char **, wire_name, Own, const struct msg_text *, own_name), \
        .own_count = MAP_OFFSET(Own, own_count_name, size_t)
#define MAP_LIST_ROW(Wire, wire_type, wire_name, Own, own_type, own_name, own_count_name, map)  \
    MAP_REPEATED_ROW(MAP_LIST, Wire, wire_type **, wire_name, Own, const own_type *, own_name), \
        .own_count = MAP_OFFSET(Own, own_count_name, size_t), .inner = (map)
#define MAP_INNER_ROW(Wire, wire_type, wire_name, Own, own_type, own_name, map)              \
    .name = #wire_name, .type = MAP_INNER, .wire = MAP_OFFSET(Wire, wire_name, wire_type *), \
    .own = MAP_OFFSET(Own, own_name, own_type), .inner = (map)

/* An inner one that may be absent; our struct has a bool that says so, not as its first member. */
#define MAP_MAYBE_ROW(Wire, wire_type, wire_name, Own, own_type, own_name, own_has, map) \
    MAP_INNER_ROW(Wire, wire_type, wire_name, Own, own_type, own_name, map),             \
        .own_count = MAP_OFFSET(Own, own_has, bool)

/* A whole map; `rows` is an array. */
#define MAP_OF(text, wire_descriptor, Own, rows)                                   \
    {                                                                              \
        .name = (text), .descriptor = (wire_descriptor), .own_bytes = sizeof(Own), \
        .fields = (rows), .field_count = sizeof(rows) / sizeof(rows)[0]            \
    }

#endif
