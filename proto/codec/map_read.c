/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/err.h"
#include "proto/codec/inner.h"

_Static_assert(sizeof(enum hearsay_metric) == sizeof(int32_t), "enums travel as 32 bits");

struct map_reader {
    const struct map *map;
    const char *within; /* for errors: the name of the field that holds the message being read;
                         * NULL: the message is the body */
    struct arena *arena;
    struct msg_error *error;
    bool is_response; /* a later version may give its enums more values */
};

/* Returns the address of a member, given its offset. */
static const void *map_at(const void *base, uint16_t offset)
{
    return (const uint8_t *)base + offset;
}

static void *map_room(void *base, uint16_t offset)
{
    return (uint8_t *)base + offset;
}

static bool map_wire_has(const struct map_field *field, const void *wire)
{
    protobuf_c_boolean has;

    memcpy(&has, map_at(wire, field->wire_has), sizeof(has));
    return has != 0;
}

/* --- refusals --------------------------------------------------------------------------------- */

int map_out_of_memory(const struct arena *arena, struct msg_error *out_error)
{
    if (!arena->refused) {
        return -ERR_NOMEM;
    }
    msg_error_set(out_error, HEARSAY_CODE_TOO_LARGE, NULL,
                  "the message takes more than %zu bytes of memory to read; send a smaller one",
                  arena->limit_bytes);
    return CODEC_INVALID;
}

/*
 * Writes the name of the wrong field into the error, after reader->within and a dot where `within`
 * is not NULL. The caller has set the sentence.
 */
static int map_refused_in(const struct map_reader *reader, const struct map_field *field)
{
    char *path = reader->error->field;
    size_t capacity = sizeof(reader->error->field);
    size_t used = 0;

    if (reader->within != NULL) {
        msg_text_copy(path, capacity - 1, reader->within, strlen(reader->within));
        used = strlen(path);
        path[used++] = '.';
    }
    msg_text_copy(path + used, capacity - used, field->name, strlen(field->name));
    return CODEC_INVALID;
}

static int map_refuse_missing(const struct map_reader *reader, const struct map_field *field)
{
    msg_error_set(reader->error, HEARSAY_CODE_INVALID, NULL, "%s needs %s", reader->map->name,
                  field->name);
    return map_refused_in(reader, field);
}

enum { MAP_SPAN_BYTES = 48 }; /* two numbers of 20 digits, " to " and a NUL */

/* Writes the numbers from `min` to `max` for a sentence: "1 to 3", or "1" if there is only one. */
static const char *map_span(char out[MAP_SPAN_BYTES], uint64_t min, uint64_t max)
{
    int used = snprintf(out, MAP_SPAN_BYTES, "%" PRIu64, min);
    if (min < max) {
        (void)snprintf(out + used, MAP_SPAN_BYTES - (size_t)used, " to %" PRIu64, max);
    }
    return out;
}

static int map_refuse_number(const struct map_reader *reader, const struct map_field *field,
                             int64_t value)
{
    char below[MAP_SPAN_BYTES];
    char above[MAP_SPAN_BYTES];

    if (field->max == 0) {
        msg_error_set(reader->error, HEARSAY_CODE_INVALID, NULL,
                      "%s is %" PRId64 "; at least %" PRIu64 " is needed", field->name, value,
                      field->min);
    } else if (field->gap != 0) {
        msg_error_set(reader->error, HEARSAY_CODE_INVALID, NULL,
                      "%s is %" PRId64 "; %s and %s are allowed", field->name, value,
                      map_span(below, field->min, field->gap - 1),
                      map_span(above, field->gap + 1, field->max));
    } else {
        msg_error_set(reader->error, HEARSAY_CODE_INVALID, NULL,
                      "%s is %" PRId64 "; %" PRIu64 " to %" PRIu64 " are allowed", field->name,
                      value, field->min, field->max);
    }
    return map_refused_in(reader, field);
}

static int map_refuse_size(const struct map_reader *reader, const struct map_field *field,
                           size_t size)
{
    if (field->min == field->max) {
        msg_error_set(reader->error, HEARSAY_CODE_INVALID, NULL,
                      "%s has %zu bytes; it must have %" PRIu64, field->name, size, field->max);
    } else if (field->max == 0) {
        msg_error_set(reader->error, HEARSAY_CODE_INVALID, NULL,
                      "%s has %zu bytes; at least %" PRIu64 " is needed", field->name, size,
                      field->min);
    } else {
        msg_error_set(reader->error, HEARSAY_CODE_INVALID, NULL,
                      "%s has %zu bytes; %" PRIu64 " %s %" PRIu64 " are allowed", field->name, size,
                      field->min, field->is_either ? "or" : "to", field->max);
    }
    return map_refused_in(reader, field);
}

/* max 0: any size. */
static bool map_size_is_right(const struct map_field *field, size_t size)
{
    bool is_within = size >= field->min && (field->max == 0 || size <= field->max);

    return is_within && (!field->is_either || size == field->min || size == field->max);
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Writes the bool of the plain struct that says whether the field was present, if there is one. */
static void map_note_presence(const struct map_field *field, bool present, void *own)
{
    if (field->own_count != 0) {
        memcpy(map_room(own, field->own_count), &present, sizeof(present));
    }
}

static int map_read_32(const struct map_reader *reader, const struct map_field *field,
                       const void *wire, void *own)
{
    bool present = map_wire_has(field, wire);
    uint32_t bits = (uint32_t)field->absent;

    if (!present && field->needed) {
        return map_refuse_missing(reader, field);
    }
    if (present) {
        memcpy(&bits, map_at(wire, field->wire), sizeof(bits));
        int64_t value = field->type == MAP_ENUM ? (int32_t)bits : (int64_t)bits;
        bool is_open = reader->is_response && field->type == MAP_ENUM;
        if (value < (int64_t)field->min ||
            (!is_open && ((field->max != 0 && value > (int64_t)field->max) ||
                          (field->gap != 0 && value == (int64_t)field->gap)))) {
            return map_refuse_number(reader, field, value);
        }
    }
    map_note_presence(field, present, own);
    memcpy(map_room(own, field->own), &bits, sizeof(bits));
    return 0;
}

/* Reads U64 and I64: both have the same bytes, and every value is allowed. */
static int map_read_64(const struct map_reader *reader, const struct map_field *field,
                       const void *wire, void *own)
{
    int64_t value = field->absent;

    (void)reader; /* any number will do */
    if (map_wire_has(field, wire)) {
        memcpy(&value, map_at(wire, field->wire), sizeof(value));
    }
    memcpy(map_room(own, field->own), &value, sizeof(value));
    return 0;
}

static int map_read_bool(const struct map_reader *reader, const struct map_field *field,
                         const void *wire, void *own)
{
    protobuf_c_boolean value = 0;

    (void)reader; /* either will do */
    if (map_wire_has(field, wire)) {
        memcpy(&value, map_at(wire, field->wire), sizeof(value));
    }
    bool truth = value != 0;
    memcpy(map_room(own, field->own), &truth, sizeof(truth));
    return 0;
}

static int map_check_text(const struct map_reader *reader, const struct map_field *field,
                          struct hearsay_text text)
{
    if (!map_size_is_right(field, text.length)) {
        return map_refuse_size(reader, field, text.length);
    }
    if (field->form != NULL && !field->form->holds(text.text, text.length)) {
        msg_error_set(reader->error, HEARSAY_CODE_INVALID, NULL, "%s is not %s", field->name,
                      field->form->form);
        return map_refused_in(reader, field);
    }
    return 0;
}

static int map_read_text(const struct map_reader *reader, const struct map_field *field,
                         const void *wire, void *own)
{
    struct hearsay_text text = {0};
    int rv;

    memcpy(&text.text, map_at(wire, field->wire), sizeof(text.text));
    if (text.text != NULL) {
        text.length = strlen(text.text); /* the scan let no NUL through */
        rv = map_check_text(reader, field, text);
        if (rv != 0) {
            return rv;
        }
    } else if (field->needed) {
        return map_refuse_missing(reader, field);
    } else if (field->absent_text != NULL) {
        text = *field->absent_text;
    }
    memcpy(map_room(own, field->own), &text, sizeof(text));
    return 0;
}

static int map_read_bytes(const struct map_reader *reader, const struct map_field *field,
                          const void *wire, void *own)
{
    static const uint8_t nothing[1];
    ProtobufCBinaryData data;
    struct hearsay_bytes bytes = {0};

    if (map_wire_has(field, wire)) {
        memcpy(&data, map_at(wire, field->wire), sizeof(data));
        /*
         * protobuf-c has a NULL pointer for an empty field. In struct hearsay_bytes NULL means that
         * the field is absent.
         */
        bytes.data = data.len > 0 ? data.data : nothing;
        bytes.count = data.len;
        if (!map_size_is_right(field, bytes.count)) {
            return map_refuse_size(reader, field, bytes.count);
        }
    } else if (field->needed) {
        return map_refuse_missing(reader, field);
    }
    memcpy(map_room(own, field->own), &bytes, sizeof(bytes));
    return 0;
}

static int map_read_chars(const struct map_reader *reader, const struct map_field *field,
                          const void *wire, void *own)
{
    char *text;

    (void)reader; /* what is too long is cut */
    memcpy(&text, map_at(wire, field->wire), sizeof(text));
    if (text != NULL) {
        msg_text_copy(map_room(own, field->own), (size_t)field->max, text, strlen(text));
    }
    return 0;
}

static size_t map_wire_count(const struct map_field *field, const void *wire)
{
    size_t count;

    memcpy(&count, map_at(wire, field->wire_has), sizeof(count));
    return count;
}

static int map_read_numbers(const struct map_reader *reader, const struct map_field *field,
                            const void *wire, void *own)
{
    size_t count = map_wire_count(field, wire);
    uint32_t kept = (uint32_t)count;
    uint32_t *numbers;

    if (count == 0 && field->needed) {
        return map_refuse_missing(reader, field);
    }
    if (count > field->max) { /* the scan has checked the count before; this second check protects
                               * the array */
        return map_refuse_number(reader, field, (int64_t)count);
    }
    memcpy(&numbers, map_at(wire, field->wire), sizeof(numbers));
    if (count > 0) {
        memcpy(map_room(own, field->own), numbers, count * sizeof(*numbers));
    }
    memcpy(map_room(own, field->own_count), &kept, sizeof(kept));
    return 0;
}

static int map_read_fields(const struct map_reader *reader, const void *wire, void *own);

static int map_read_line(const struct map_reader *reader, const struct map_field *field,
                         const char *line, void *out)
{
    struct hearsay_text text = {.text = line, .length = strlen(line)};

    memcpy(out, &text, sizeof(text));
    return map_check_text(reader, field, text);
}

/* Reads a list of messages if the field has an inner map, else a list of texts. */
static int map_read_entries(const struct map_reader *reader, const struct map_field *field,
                            const void *wire, void *own)
{
    size_t count = map_wire_count(field, wire);
    size_t entry_bytes =
        field->inner != NULL ? field->inner->own_bytes : sizeof(struct hearsay_text);
    struct map_reader inner = {field->inner, field->name, reader->arena, reader->error,
                               reader->is_response};
    uint8_t *entries = NULL;
    const uint8_t *items; /* an array of pointers */

    if (count == 0 && field->needed) {
        return map_refuse_missing(reader, field);
    }
    memcpy(&items, map_at(wire, field->wire), sizeof(items));
    if (count > 0) {
        entries = arena_take_zeroed(reader->arena, count, entry_bytes);
        if (entries == NULL) {
            return map_out_of_memory(reader->arena, reader->error);
        }
    }
    for (size_t i = 0; i < count; i++) {
        uint8_t *entry = entries + i * entry_bytes;
        const void *item;

        memcpy(&item, items + i * sizeof(item), sizeof(item));
        int rv = field->inner != NULL ? map_read_fields(&inner, item, entry)
                                      : map_read_line(reader, field, item, entry);
        if (rv != 0) {
            return rv;
        }
    }
    memcpy(map_room(own, field->own), &entries, sizeof(entries));
    memcpy(map_room(own, field->own_count), &count, sizeof(count));
    return 0;
}

static int map_read_inner(const struct map_reader *reader, const struct map_field *field,
                          const void *wire, void *own)
{
    struct map_reader inner = {field->inner, field->name, reader->arena, reader->error,
                               reader->is_response};
    const ProtobufCMessage *message;

    memcpy(&message, map_at(wire, field->wire), sizeof(message));
    map_note_presence(field, message != NULL, own);
    if (message != NULL) {
        return map_read_fields(&inner, message, map_room(own, field->own));
    }
    return field->needed ? map_refuse_missing(reader, field) : 0;
}

typedef int map_read_row(const struct map_reader *, const struct map_field *, const void *, void *);

static map_read_row *const map_readers[] = {
    [MAP_U32] = map_read_32,          [MAP_U64] = map_read_64,        [MAP_I64] = map_read_64,
    [MAP_BOOL] = map_read_bool,       [MAP_ENUM] = map_read_32,       [MAP_TEXT] = map_read_text,
    [MAP_BYTES] = map_read_bytes,     [MAP_CHARS] = map_read_chars,   [MAP_LIST] = map_read_entries,
    [MAP_NUMBERS] = map_read_numbers, [MAP_TEXTS] = map_read_entries, [MAP_INNER] = map_read_inner,
};

static int map_read_fields(const struct map_reader *reader, const void *wire, void *own)
{
    for (size_t i = 0; i < reader->map->field_count; i++) {
        const struct map_field *field = &reader->map->fields[i];
        int rv = map_readers[field->type](reader, field, wire, own);

        if (rv != 0) {
            return rv;
        }
    }
    return 0;
}

int map_read_body(const struct map_body *body, const void *wire, struct arena *arena, void *out,
                  struct msg_error *out_error)
{
    struct map_reader reader = {body->map, NULL, arena, out_error, body->is_response};
    uint8_t *own = (uint8_t *)out + body->own;

    if (body->map == NULL) {
        return 0;
    }
    memset(own, 0, body->map->own_bytes);
    return map_read_fields(&reader, wire, own);
}
