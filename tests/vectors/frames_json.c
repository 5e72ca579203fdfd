/* SPDX-License-Identifier: Apache-2.0 */
/* Any message as JSON, by the tables that are made from the schema. */
#include "tests/vectors/frames_json.h"

#include <inttypes.h>

#include "proto/codec/inner.h"
#include "proto/hearsay.pb-c.h"
#include "tests/lib/check.h"

enum { HEX_BYTES_MAX = 8192 };

/* A whole number beyond 2^53, which not every reader of JSON keeps, is a string. */
static json_t *json_of_u64(uint64_t value)
{
    char digits[24];

    (void)snprintf(digits, sizeof(digits), "%" PRIu64, value);
    return value <= UINT64_C(1) << 53 ? json_integer((json_int_t)value) : json_string(digits);
}

static json_t *json_of_i64(int64_t value)
{
    char digits[24];

    if (value >= 0) {
        return json_of_u64((uint64_t)value);
    }
    (void)snprintf(digits, sizeof(digits), "%" PRId64, value);
    return value >= -(INT64_C(1) << 53) ? json_integer(value) : json_string(digits);
}

static json_t *json_of_bytes(const struct map *map, struct hearsay_bytes bytes)
{
    char hex[2 * HEX_BYTES_MAX + 1];

    if (bytes.count == 0 && strcmp(map->name, "deposit") == 0) {
        return NULL; /* a deposit without a payload has an empty one */
    }
    assert_in_range(bytes.count, 0, HEX_BYTES_MAX);
    for (size_t i = 0; i < bytes.count; i++) {
        (void)snprintf(hex + 2 * i, 3, "%02x", bytes.data[i]);
    }
    return json_stringn(hex, 2 * bytes.count);
}

static json_t *json_of_message(const struct map *map, const void *own);

static json_t *json_of_entry(const struct map_field *field, const uint8_t *entries, size_t i)
{
    struct hearsay_text text;
    uint32_t number;

    switch (field->type) {
    case MAP_LIST:
        return json_of_message(field->inner, entries + i * field->inner->own_bytes);
    case MAP_TEXTS:
        memcpy(&text, entries + i * sizeof(text), sizeof(text));
        return json_stringn(text.text, text.length);
    default:
        memcpy(&number, entries + i * sizeof(number), sizeof(number));
        return json_integer(number);
    }
}

static json_t *json_of_list(const struct map_field *field, const uint8_t *own)
{
    const uint8_t *entries = own + field->own; /* numbers are in the struct itself */
    uint32_t few = 0;
    size_t count = 0;

    if (field->type == MAP_NUMBERS) {
        memcpy(&few, own + field->own_count, sizeof(few));
        count = few;
    } else {
        memcpy(&entries, own + field->own, sizeof(entries));
        memcpy(&count, own + field->own_count, sizeof(count));
    }
    json_t *list = count > 0 ? json_array() : NULL;
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(json_array_append_new(list, json_of_entry(field, entries, i)), 0);
    }
    return list;
}

static json_t *json_of_enum(const struct map *map, const struct map_field *field, uint32_t number)
{
    const ProtobufCFieldDescriptor *wire =
        protobuf_c_message_descriptor_get_field(map->descriptor, field->number);
    const ProtobufCEnumValue *value =
        protobuf_c_enum_descriptor_get_value(wire->descriptor, (int)number);

    return value != NULL ? json_string(value->name) : json_integer(number);
}

static json_t *json_of_number(const struct map *map, const struct map_field *field,
                              const uint8_t *own)
{
    uint32_t number = 0;
    int64_t value = 0;

    if (field->type == MAP_U64 || field->type == MAP_I64) {
        memcpy(&value, own + field->own, sizeof(value));
    } else {
        memcpy(&number, own + field->own, sizeof(number));
        value = number;
    }
    if (field->own_count != 0 ? !*(const bool *)(own + field->own_count) : value == field->absent) {
        return NULL;
    }
    return field->type == MAP_ENUM  ? json_of_enum(map, field, number)
           : field->type == MAP_U64 ? json_of_u64((uint64_t)value)
                                    : json_of_i64(value);
}

static json_t *json_of_text(const struct map_field *field, const uint8_t *own)
{
    struct hearsay_text text;

    memcpy(&text, own + field->own, sizeof(text));
    return text.text == NULL ||
                   (field->absent_text != NULL && strcmp(text.text, field->absent_text->text) == 0)
               ? NULL
               : json_stringn(text.text, text.length);
}

/* NULL: the field is absent, or has the value that its absence means. */
static json_t *json_of_field(const struct map *map, const struct map_field *field,
                             const uint8_t *own)
{
    struct hearsay_bytes bytes;

    switch (field->type) {
    case MAP_U32:
    case MAP_ENUM:
    case MAP_U64:
    case MAP_I64:
        return json_of_number(map, field, own);
    case MAP_BOOL:
        return *(const bool *)(own + field->own) ? json_true() : NULL;
    case MAP_TEXT:
        return json_of_text(field, own);
    case MAP_CHARS:
        return own[field->own] == '\0' ? NULL : json_string((const char *)own + field->own);
    case MAP_BYTES:
        memcpy(&bytes, own + field->own, sizeof(bytes));
        return bytes.data == NULL ? NULL : json_of_bytes(map, bytes);
    case MAP_INNER:
        return field->own_count != 0 && !*(const bool *)(own + field->own_count)
                   ? NULL
                   : json_of_message(field->inner, own + field->own);
    default:
        return json_of_list(field, own);
    }
}

/* map NULL: the message has no fields. */
static json_t *json_of_message(const struct map *map, const void *own)
{
    json_t *object = json_object();

    for (size_t i = 0; map != NULL && i < map->field_count; i++) {
        json_t *value = json_of_field(map, &map->fields[i], own);

        if (value != NULL) {
            assert_int_equal(json_object_set_new(object, map->fields[i].name, value), 0);
        }
    }
    return object;
}

static json_t *json_of_envelope(const ProtobufCMessageDescriptor *descriptor,
                                const struct map_bodies *bodies, uint32_t kind, uint64_t id,
                                const void *message)
{
    json_t *object = json_object();

    assert_int_equal(json_object_set_new(object, "id", json_of_u64(id)), 0);
    for (size_t i = 0; i < bodies->count; i++) {
        const struct map_body *body = &bodies->rows[i];

        if (body->kind == kind) {
            json_t *inner = json_of_message(body->map, (const uint8_t *)message + body->own);
            const char *name = protobuf_c_message_descriptor_get_field(descriptor, kind)->name;
            assert_int_equal(json_object_set_new(object, name, inner), 0);
        }
    }
    return object;
}

json_t *frames_json_request(const struct hearsay_request *request)
{
    json_t *object = json_of_envelope(&hearsay__v1__request__descriptor, &codec_request_bodies,
                                      request->kind, request->id, request);
    json_t *asker = json_of_message(codec_request_asker.map, &request->asker);

    assert_int_equal(json_object_update(object, asker), 0);
    json_decref(asker);
    return object;
}

json_t *frames_json_response(const struct hearsay_response *response)
{
    return json_of_envelope(&hearsay__v1__response__descriptor, &codec_response_bodies,
                            response->kind, response->id, response);
}
