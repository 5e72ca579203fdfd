/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes frames directly from the plain structs. To write with protobuf-c, one would first copy the
 * fields into the structs of protobuf-c.
 *
 * Encoding: https://protobuf.dev/programming-guides/encoding/
 */
#include <string.h>

#include "core/base/err.h"
#include "proto/codec/inner.h"
#include "proto/frame.h"

enum { WIRE_VARINT = 0, WIRE_LENGTH = 2, TAG_BYTES_MAX = 5, VARINT_BYTES_MAX = 10 };

/* Where a field is written, and its number. */
struct map_place {
    struct bytes *out;
    size_t end; /* upper bound of out->count */
    uint32_t number;
};

static const void *map_at(const void *base, uint16_t offset)
{
    return (const uint8_t *)base + offset;
}

/* --- bytes ------------------------------------------------------------------------------------ */

static uint8_t *map_room(struct bytes *out, size_t more)
{
    return more <= out->capacity - out->count ? out->data + out->count : bytes_reserve(out, more);
}

/* Writes a varint. Returns the number of bytes written. */
static size_t put_varint(uint8_t *at, uint64_t value)
{
    size_t count = 0;

    for (; value >= 0x80; value >>= 7) {
        at[count++] = (uint8_t)(value | 0x80);
    }
    at[count++] = (uint8_t)value;
    return count;
}

static size_t put_tag(uint8_t *at, uint32_t number, unsigned wire)
{
    return put_varint(at, (uint64_t)number << 3 | wire);
}

static int put_number(const struct map_place *place, uint64_t value)
{
    uint8_t *at = map_room(place->out, TAG_BYTES_MAX + VARINT_BYTES_MAX);

    if (at == NULL) {
        return -ERR_NOMEM;
    }
    size_t count = put_tag(at, place->number, WIRE_VARINT);
    count += put_varint(at + count, value);
    place->out->count += count; /* map_write_frame checks the limit */
    return 0;
}

static int put_data(const struct map_place *place, const void *data, size_t size)
{
    struct bytes *out = place->out;

    if (out->count > place->end || size > place->end - out->count) {
        return CODEC_TOO_LARGE; /* before memory is taken for it */
    }
    uint8_t *at = map_room(out, TAG_BYTES_MAX + VARINT_BYTES_MAX + size);
    if (at == NULL) {
        return -ERR_NOMEM;
    }
    size_t count = put_tag(at, place->number, WIRE_LENGTH);
    count += put_varint(at + count, size);
    if (size > 0) {
        memcpy(at + count, data, size);
    }
    out->count += count + size;
    return 0;
}

static int map_write(const struct map *map, const void *own, struct bytes *out, size_t end);

/*
 * Writes a message within a message: tag, length, content. The length is known after the content is
 * written. One byte is left free for the length; if the length takes more bytes, the content is
 * moved.
 */
static int put_message(const struct map_place *place, const struct map *map, const void *own)
{
    struct bytes *out = place->out;
    uint8_t *at = map_room(out, TAG_BYTES_MAX + 1);
    uint8_t prefix[VARINT_BYTES_MAX];

    if (at == NULL) {
        return -ERR_NOMEM;
    }
    out->count += put_tag(at, place->number, WIRE_LENGTH) + 1;
    size_t start = out->count;
    int rv = map_write(map, own, out, place->end);
    if (rv != 0) {
        return rv;
    }
    size_t length = out->count - start;
    size_t more = put_varint(prefix, length) - 1;
    if (more > 0) {
        if (map_room(out, more) == NULL) {
            return -ERR_NOMEM;
        }
        memmove(out->data + start + more, out->data + start, length);
        out->count += more;
    }
    memcpy(out->data + start - 1, prefix, more + 1);
    return 0;
}

/* --- fields ----------------------------------------------------------------------------------- */

/*
 * Writes a number field. If the plain struct has a bool for its presence, the bool decides whether
 * the field is written. Otherwise the field is left out if it is not needed and has its default
 * value.
 */
static int map_write_number(const struct map_place *place, const struct map_field *field,
                            const void *own, int64_t value)
{
    bool present = field->needed || value != field->absent;

    if (field->own_count != 0) {
        memcpy(&present, map_at(own, field->own_count), sizeof(present));
    }
    return present ? put_number(place, (uint64_t)value) : 0;
}

/* Writes U32 and ENUM: both have 32 bits, and no enum of the schema is negative. */
static int map_write_u32(const struct map_place *place, const struct map_field *field,
                         const void *own)
{
    uint32_t value;

    memcpy(&value, map_at(own, field->own), sizeof(value));
    return map_write_number(place, field, own, value);
}

/* Writes U64 and I64: both have the same bytes. */
static int map_write_64(const struct map_place *place, const struct map_field *field,
                        const void *own)
{
    int64_t value;

    memcpy(&value, map_at(own, field->own), sizeof(value));
    return map_write_number(place, field, own, value);
}

static int map_write_bool(const struct map_place *place, const struct map_field *field,
                          const void *own)
{
    bool value;

    memcpy(&value, map_at(own, field->own), sizeof(value));
    return map_write_number(place, field, own, value ? 1 : 0);
}

static bool map_text_equal(struct hearsay_text a, struct hearsay_text b)
{
    return a.length == b.length && memcmp(a.text, b.text, a.length) == 0;
}

static int map_write_text(const struct map_place *place, const struct map_field *field,
                          const void *own)
{
    struct hearsay_text text;

    memcpy(&text, map_at(own, field->own), sizeof(text));
    if (text.text == NULL ||
        (field->absent_text != NULL && map_text_equal(text, *field->absent_text))) {
        return 0;
    }
    return put_data(place, text.text, text.length);
}

static int map_write_bytes(const struct map_place *place, const struct map_field *field,
                           const void *own)
{
    struct hearsay_bytes bytes;

    memcpy(&bytes, map_at(own, field->own), sizeof(bytes));
    return bytes.data == NULL ? 0 : put_data(place, bytes.data, bytes.count);
}

static int map_write_chars(const struct map_place *place, const struct map_field *field,
                           const void *own)
{
    const char *text = map_at(own, field->own);

    return text[0] == '\0' ? 0 : put_data(place, text, strlen(text));
}

static int map_write_numbers(const struct map_place *place, const struct map_field *field,
                             const void *own)
{
    const uint32_t *numbers = map_at(own, field->own);
    uint32_t count;
    int rv = 0;

    memcpy(&count, map_at(own, field->own_count), sizeof(count));
    for (uint32_t i = 0; i < count && i < field->max && rv == 0; i++) {
        rv = put_number(place, numbers[i]);
    }
    return rv;
}

/* Writes a list of messages if the field has an inner map, else a list of texts. */
static int map_write_entries(const struct map_place *place, const struct map_field *field,
                             const void *own)
{
    const uint8_t *entries;
    struct hearsay_text text;
    size_t count;
    int rv = 0;

    memcpy(&entries, map_at(own, field->own), sizeof(entries));
    memcpy(&count, map_at(own, field->own_count), sizeof(count));
    for (size_t i = 0; i < count && rv == 0; i++) {
        if (field->inner != NULL) {
            rv = put_message(place, field->inner, entries + i * field->inner->own_bytes);
        } else {
            memcpy(&text, entries + i * sizeof(text), sizeof(text));
            rv = put_data(place, text.text, text.length);
        }
    }
    return rv;
}

static int map_write_inner(const struct map_place *place, const struct map_field *field,
                           const void *own)
{
    bool is_there = true;

    if (field->own_count != 0) {
        memcpy(&is_there, map_at(own, field->own_count), sizeof(is_there));
    }
    return is_there ? put_message(place, field->inner, map_at(own, field->own)) : 0;
}

typedef int map_write_row(const struct map_place *, const struct map_field *, const void *);

static map_write_row *const map_writers[] = {
    [MAP_U32] = map_write_u32,         [MAP_U64] = map_write_64,
    [MAP_I64] = map_write_64,          [MAP_BOOL] = map_write_bool,
    [MAP_ENUM] = map_write_u32,        [MAP_TEXT] = map_write_text,
    [MAP_BYTES] = map_write_bytes,     [MAP_CHARS] = map_write_chars,
    [MAP_NUMBERS] = map_write_numbers, [MAP_TEXTS] = map_write_entries,
    [MAP_LIST] = map_write_entries,    [MAP_INNER] = map_write_inner,
};

/* Writes all fields of a message; map NULL: there are none. */
static int map_write(const struct map *map, const void *own, struct bytes *out, size_t end)
{
    struct map_place place = {.out = out, .end = end};

    for (size_t i = 0; map != NULL && i < map->field_count; i++) {
        const struct map_field *field = &map->fields[i];

        place.number = field->number;
        int rv = map_writers[field->type](&place, field, own);
        if (rv != 0) {
            return rv;
        }
    }
    return out->count > end ? CODEC_TOO_LARGE : 0;
}

int map_write_frame(uint64_t id, const struct map_body *body, const struct map_body *own_fields,
                    const void *message, size_t limit_bytes, struct bytes *out)
{
    enum { ID_NUMBER = 1 };
    size_t before = out->count;
    size_t start = before + LIMIT_FRAME_HEADER_BYTES;
    size_t limit = limit_bytes < LIMIT_FRAME_BYTES_MAX ? limit_bytes : LIMIT_FRAME_BYTES_MAX;
    struct map_place place = {.out = out, .end = start + limit, .number = ID_NUMBER};
    int rv = -ERR_NOMEM;

    if (bytes_reserve(out, LIMIT_FRAME_HEADER_BYTES) != NULL) {
        out->count = start;
        rv = put_number(&place, id);
    }
    if (rv == 0 && body != NULL) {
        place.number = body->kind;
        rv = put_message(&place, body->map, (const uint8_t *)message + body->own);
    }
    if (rv == 0 && own_fields != NULL) {
        rv = map_write(own_fields->map, (const uint8_t *)message + own_fields->own, out, place.end);
    }
    if (rv == 0 && out->count > place.end) {
        rv = CODEC_TOO_LARGE;
    }
    if (rv != 0) {
        out->count = before;
        return rv;
    }
    frame_write_header(out->data + before, out->count - start);
    return 0;
}
