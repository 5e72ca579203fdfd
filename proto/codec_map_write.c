/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/codec_map.h"

#include <string.h>

#include "core/err.h"

static const void *map_at(const void *base, uint16_t offset)
{
    return (const uint8_t *)base + offset;
}

static void *map_room(void *base, uint16_t offset)
{
    return (uint8_t *)base + offset;
}

static void map_set_wire_has(const struct map_field *field, void *wire)
{
    protobuf_c_boolean has = 1;

    memcpy(map_room(wire, field->wire_has), &has, sizeof has);
}

/* Whether a number is to be left out: it is the default, or our struct says that it is not there.
 */
static bool map_is_left_out(const struct map_field *field, const void *own, int64_t value)
{
    bool present;

    if (field->own_count != 0) {
        memcpy(&present, map_at(own, field->own_count), sizeof present);
        return !present;
    }
    return !field->needed && value == field->absent;
}

static int map_write_u32(struct arena *arena, const struct map_field *field, const void *own,
                         void *wire)
{
    uint32_t value;

    (void)arena; /* numbers lie in the struct itself */
    memcpy(&value, map_at(own, field->own), sizeof value);
    if (!map_is_left_out(field, own, value)) {
        memcpy(map_room(wire, field->wire), &value, sizeof value);
        map_set_wire_has(field, wire);
    }
    return 0;
}

/* U64 and I64 alike: the bytes are the same. */
static int map_write_64(struct arena *arena, const struct map_field *field, const void *own,
                        void *wire)
{
    int64_t value;

    (void)arena; /* as above */
    memcpy(&value, map_at(own, field->own), sizeof value);
    if (!map_is_left_out(field, own, value)) {
        memcpy(map_room(wire, field->wire), &value, sizeof value);
        map_set_wire_has(field, wire);
    }
    return 0;
}

static int map_write_bool(struct arena *arena, const struct map_field *field, const void *own,
                          void *wire)
{
    protobuf_c_boolean value;
    bool truth;

    (void)arena; /* as above */
    memcpy(&truth, map_at(own, field->own), sizeof truth);
    value = truth ? 1 : 0;
    if (!map_is_left_out(field, own, value)) {
        memcpy(map_room(wire, field->wire), &value, sizeof value);
        map_set_wire_has(field, wire);
    }
    return 0;
}

static int map_write_enum(struct arena *arena, const struct map_field *field, const void *own,
                          void *wire)
{
    int32_t value;

    (void)arena; /* as above */
    memcpy(&value, map_at(own, field->own), sizeof value);
    if (!map_is_left_out(field, own, value)) {
        memcpy(map_room(wire, field->wire), &value, sizeof value);
        map_set_wire_has(field, wire);
    }
    return 0;
}

static bool map_text_equal(struct msg_text a, struct msg_text b)
{
    return a.length == b.length && memcmp(a.text, b.text, a.length) == 0;
}

/* A copy with the NUL that protobuf-c looks for, and that callers need not have. */
static char *map_terminated(struct arena *arena, struct msg_text text)
{
    char *copy = text.length < SIZE_MAX ? arena_take(arena, text.length + 1) : NULL;

    if (copy != NULL) {
        memcpy(copy, text.text, text.length);
        copy[text.length] = '\0';
    }
    return copy;
}

static int map_write_text(struct arena *arena, const struct map_field *field, const void *own,
                          void *wire)
{
    struct msg_text text;
    char *copy;

    memcpy(&text, map_at(own, field->own), sizeof text);
    if (text.text == NULL ||
        (field->absent_text != NULL && map_text_equal(text, *field->absent_text))) {
        return 0;
    }
    copy = map_terminated(arena, text);
    if (copy == NULL) {
        return -ERR_NOMEM;
    }
    memcpy(map_room(wire, field->wire), &copy, sizeof copy);
    return 0;
}

static int map_write_bytes(struct arena *arena, const struct map_field *field, const void *own,
                           void *wire)
{
    struct msg_bytes bytes;
    ProtobufCBinaryData data;

    (void)arena; /* borrowed */
    memcpy(&bytes, map_at(own, field->own), sizeof bytes);
    if (bytes.data == NULL) {
        return 0;
    }
    data.len = bytes.count;
    data.data = (uint8_t *)bytes.data; /* packing only reads */
    memcpy(map_room(wire, field->wire), &data, sizeof data);
    map_set_wire_has(field, wire);
    return 0;
}

static int map_write_chars(struct arena *arena, const struct map_field *field, const void *own,
                           void *wire)
{
    const char *text = map_at(own, field->own);

    (void)arena; /* borrowed */
    if (text[0] != '\0') {
        memcpy(map_room(wire, field->wire), &text, sizeof text);
    }
    return 0;
}

static int map_write_numbers(struct arena *arena, const struct map_field *field, const void *own,
                             void *wire)
{
    const void *numbers = map_at(own, field->own);
    uint32_t kept;
    size_t count;

    (void)arena; /* borrowed */
    memcpy(&kept, map_at(own, field->own_count), sizeof kept);
    count = kept < field->max ? kept : (size_t)field->max;
    memcpy(map_room(wire, field->wire), &numbers, sizeof numbers);
    memcpy(map_room(wire, field->wire_has), &count, sizeof count);
    return 0;
}

static int map_write_texts(struct arena *arena, const struct map_field *field, const void *own,
                           void *wire)
{
    const struct msg_text *texts;
    char **lines;
    size_t count;

    memcpy(&texts, map_at(own, field->own), sizeof texts);
    memcpy(&count, map_at(own, field->own_count), sizeof count);
    if (count == 0) {
        return 0;
    }
    lines = arena_take_zeroed(arena, count, sizeof *lines);
    if (lines == NULL) {
        return -ERR_NOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        lines[i] = map_terminated(arena, texts[i]);
        if (lines[i] == NULL) {
            return -ERR_NOMEM;
        }
    }
    memcpy(map_room(wire, field->wire), &lines, sizeof lines);
    memcpy(map_room(wire, field->wire_has), &count, sizeof count);
    return 0;
}

/* One block holds the structs, another the pointers to them that protobuf-c asks for. */
static int map_write_list(struct arena *arena, const struct map_field *field, const void *own,
                          void *wire)
{
    const struct map *inner = field->inner;
    const size_t wire_bytes = inner->descriptor->sizeof_message;
    ProtobufCMessage **pointers;
    const uint8_t *entries;
    uint8_t *messages;
    size_t count, total;

    memcpy(&entries, map_at(own, field->own), sizeof entries);
    memcpy(&count, map_at(own, field->own_count), sizeof count);
    if (count == 0) {
        return 0;
    }
    pointers = arena_take_zeroed(arena, count, sizeof(ProtobufCMessage *));
    messages = alloc_multiply(count, wire_bytes, &total) ? arena_take(arena, total) : NULL;
    if (pointers == NULL || messages == NULL) {
        return -ERR_NOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        int rv;

        pointers[i] = (ProtobufCMessage *)(void *)(messages + i * wire_bytes);
        inner->descriptor->message_init(pointers[i]);
        rv = map_write(inner, entries + i * inner->own_bytes, arena, pointers[i]);
        if (rv != 0) {
            return rv;
        }
    }
    memcpy(map_room(wire, field->wire), &pointers, sizeof pointers);
    memcpy(map_room(wire, field->wire_has), &count, sizeof count);
    return 0;
}

static int map_write_inner(struct arena *arena, const struct map_field *field, const void *own,
                           void *wire)
{
    ProtobufCMessage *message = arena_take(arena, field->inner->descriptor->sizeof_message);
    int rv;

    if (message == NULL) {
        return -ERR_NOMEM;
    }
    field->inner->descriptor->message_init(message);
    rv = map_write(field->inner, map_at(own, field->own), arena, message);
    if (rv != 0) {
        return rv;
    }
    memcpy(map_room(wire, field->wire), &message, sizeof message);
    return 0;
}

typedef int map_write_row(struct arena *, const struct map_field *, const void *, void *);

static map_write_row *const map_writers[] = {
    [MAP_U32] = map_write_u32,     [MAP_U64] = map_write_64,      [MAP_I64] = map_write_64,
    [MAP_BOOL] = map_write_bool,   [MAP_ENUM] = map_write_enum,   [MAP_TEXT] = map_write_text,
    [MAP_BYTES] = map_write_bytes, [MAP_CHARS] = map_write_chars, [MAP_NUMBERS] = map_write_numbers,
    [MAP_TEXTS] = map_write_texts, [MAP_LIST] = map_write_list,   [MAP_INNER] = map_write_inner,
};

int map_write(const struct map *map, const void *own, struct arena *arena,
              ProtobufCMessage *out_wire)
{
    for (size_t i = 0; i < map->field_count; i++) {
        const struct map_field *field = &map->fields[i];
        int rv = map_writers[field->type](arena, field, own, out_wire);

        if (rv != 0) {
            return rv;
        }
    }
    return 0;
}
