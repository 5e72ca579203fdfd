/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/codec/inner.h"

#include <string.h>

#include "core/base/label.h"

/* Encoding: https://protobuf.dev/programming-guides/encoding/ */
enum {
    WIRE_VARINT = 0,
    WIRE_64 = 1,
    WIRE_LENGTH = 2,
    WIRE_GROUP_BEGIN = 3,
    WIRE_GROUP_END = 4,
    WIRE_32 = 5
};

/*
 * The most bytes of a varint of 64 bits, and of a tag or a length, which have 32 bits. A byte of a
 * varint holds 7 bits of the number.
 */
enum { VARINT_BYTES_MAX = 10, VARINT_32_BYTES_MAX = 5 };

struct scan_cursor {
    const uint8_t *at;
    size_t left;
};

/* One field as read from the wire. */
struct scan_value {
    uint32_t number; /* of the field */
    uint32_t wire;
    uint64_t varint;      /* WIRE_VARINT */
    const uint8_t *bytes; /* WIRE_LENGTH */
    size_t length;
};

struct scan {
    const struct scan_rules *rules;
    struct msg_error *error;
    uint32_t unknown_count;
    uint32_t depth;                                         /* messages that we are within */
    const ProtobufCFieldDescriptor *path[SCAN_NESTING_MAX]; /* the fields that hold them */
};

/* The state of the scan of one message. */
struct scan_level {
    const ProtobufCMessageDescriptor *descriptor;
    bool oneof_seen;
    uint32_t counts[SCAN_FIELDS_MAX]; /* by the field's place in the descriptor */
};

/* --- sentences -------------------------------------------------------------------------------- */

/*
 * Appends a field's name to a path, after a dot if the path is not empty. What does not fit in
 * `capacity` bytes is left out.
 */
static void scan_path_append(char *path, size_t capacity, const char *name)
{
    size_t used = strlen(path);

    if (used > 0 && used + 1 < capacity) {
        path[used++] = '.';
        path[used] = '\0';
    }
    msg_text_copy(path + used, capacity - used, name, strlen(name));
}

/*
 * Writes the dotted path of a field to `out_path`. If `field` is NULL, writes the path of the
 * message that the scan is in. The path of a field within the body does not begin with the body's
 * name.
 */
static void scan_path(const struct scan *scan, const ProtobufCFieldDescriptor *field,
                      char *out_path, size_t capacity)
{
    out_path[0] = '\0';
    for (uint32_t i = 1; i < scan->depth; i++) {
        scan_path_append(out_path, capacity, scan->path[i]->name);
    }
    if (field != NULL) {
        scan_path_append(out_path, capacity, field->name);
    }
}

/* Fills a MALFORMED error. `sentence` says what is wrong with the bytes. */
static int scan_malformed(const struct scan *scan, const ProtobufCFieldDescriptor *field,
                          const char *sentence)
{
    char path[sizeof(scan->error->field)];

    scan_path(scan, field, path, sizeof(path));
    msg_error_set(scan->error, HEARSAY_CODE_MALFORMED, path, "%s", sentence);
    return CODEC_MALFORMED;
}

/* Fills an error about a field. The sentence is the field's path, then `rule`. */
static int scan_refuse(const struct scan *scan, const ProtobufCFieldDescriptor *field,
                       enum hearsay_code code, const char *rule)
{
    char path[sizeof(scan->error->field)];

    scan_path(scan, field, path, sizeof(path));
    msg_error_set(scan->error, code, path, "%s %s", path, rule);
    return code == HEARSAY_CODE_MALFORMED ? CODEC_MALFORMED : CODEC_INVALID;
}

/* --- values ----------------------------------------------------------------------------------- */

/* Outcomes of reading a field; read_sentences has a sentence for each. */
enum {
    READ_TRUNCATED = 1,
    READ_OVERLONG,
    READ_FIELD_ZERO,
    READ_GROUP,
    READ_WIRE_TYPE,
    READ_LENGTH
};

static const char *const read_sentences[] = {
    [READ_TRUNCATED] = "the message ends in the middle of a field",
    [READ_OVERLONG] = "a number, tag or length takes more bytes than its type can need",
    [READ_FIELD_ZERO] = "field number 0 is not allowed; numbers begin at 1",
    [READ_GROUP] = "groups (wire types 3 and 4) are not part of this protocol",
    [READ_WIRE_TYPE] = "wire types 6 and 7 do not exist",
    [READ_LENGTH] = "a field claims more bytes than the message has left",
};

/* Reads a varint of at most `bytes_most` bytes. The value must fit `bits` bits. */
static int read_varint(struct scan_cursor *cursor, size_t bytes_most, unsigned bits,
                       uint64_t *out_value)
{
    uint64_t value = 0;

    for (size_t i = 0; i < bytes_most; i++) {
        if (i == cursor->left) {
            return READ_TRUNCATED;
        }
        uint8_t byte = cursor->at[i];
        if (i == VARINT_BYTES_MAX - 1 && byte > 1) {
            return READ_OVERLONG; /* bits beyond the 64th, or an eleventh byte */
        }
        value |= (uint64_t)(byte & 0x7f) << (7 * i);
        if ((byte & 0x80) == 0) {
            if (bits < 64 && value >> bits != 0) {
                return READ_OVERLONG;
            }
            cursor->at += i + 1;
            cursor->left -= i + 1;
            *out_value = value;
            return 0;
        }
    }
    return READ_OVERLONG;
}

static int read_tag(struct scan_cursor *cursor, struct scan_value *value)
{
    uint64_t tag;
    int rv = read_varint(cursor, VARINT_32_BYTES_MAX, 32, &tag);

    if (rv != 0) {
        return rv;
    }
    value->number = (uint32_t)(tag >> 3);
    value->wire = (uint32_t)(tag & 7);
    return value->number == 0 ? READ_FIELD_ZERO : 0;
}

static int read_bytes(struct scan_cursor *cursor, uint64_t length, struct scan_value *value)
{
    if (length > cursor->left) {
        return READ_LENGTH;
    }
    value->bytes = cursor->at;
    value->length = (size_t)length;
    cursor->at += value->length;
    cursor->left -= value->length;
    return 0;
}

static int read_payload(struct scan_cursor *cursor, struct scan_value *value)
{
    uint64_t length;
    int rv;

    switch (value->wire) {
    case WIRE_VARINT:
        return read_varint(cursor, VARINT_BYTES_MAX, 64, &value->varint);
    case WIRE_64:
        return read_bytes(cursor, 8, value) == 0 ? 0 : READ_TRUNCATED;
    case WIRE_32:
        return read_bytes(cursor, 4, value) == 0 ? 0 : READ_TRUNCATED;
    case WIRE_LENGTH:
        rv = read_varint(cursor, VARINT_32_BYTES_MAX, 32, &length);
        return rv != 0 ? rv : read_bytes(cursor, length, value);
    case WIRE_GROUP_BEGIN:
    case WIRE_GROUP_END:
        return READ_GROUP;
    default:
        return READ_WIRE_TYPE;
    }
}

/* The wire type of each declared type, also of types that the schema does not use. */
static const uint8_t wire_types[] = {
    [PROTOBUF_C_TYPE_INT32] = WIRE_VARINT,   [PROTOBUF_C_TYPE_SINT32] = WIRE_VARINT,
    [PROTOBUF_C_TYPE_SFIXED32] = WIRE_32,    [PROTOBUF_C_TYPE_INT64] = WIRE_VARINT,
    [PROTOBUF_C_TYPE_SINT64] = WIRE_VARINT,  [PROTOBUF_C_TYPE_SFIXED64] = WIRE_64,
    [PROTOBUF_C_TYPE_UINT32] = WIRE_VARINT,  [PROTOBUF_C_TYPE_FIXED32] = WIRE_32,
    [PROTOBUF_C_TYPE_UINT64] = WIRE_VARINT,  [PROTOBUF_C_TYPE_FIXED64] = WIRE_64,
    [PROTOBUF_C_TYPE_FLOAT] = WIRE_32,       [PROTOBUF_C_TYPE_DOUBLE] = WIRE_64,
    [PROTOBUF_C_TYPE_BOOL] = WIRE_VARINT,    [PROTOBUF_C_TYPE_ENUM] = WIRE_VARINT,
    [PROTOBUF_C_TYPE_STRING] = WIRE_LENGTH,  [PROTOBUF_C_TYPE_BYTES] = WIRE_LENGTH,
    [PROTOBUF_C_TYPE_MESSAGE] = WIRE_LENGTH,
};

/*
 * Returns whether a number fits its declared type. Without this check protobuf-c cuts a larger
 * number to 32 bits.
 */
static bool scan_number_fits(ProtobufCType type, uint64_t number)
{
    uint64_t below_zero = UINT64_C(0xffffffff80000000); /* INT32_MIN, sign-extended */

    switch (type) {
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_SINT32:
        return number <= UINT32_MAX;
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_ENUM:
        return number <= INT32_MAX || number >= below_zero;
    default:
        return true;
    }
}

static bool scan_text_is_sound(const struct scan_value *value)
{
    return value->length == 0 || (memchr(value->bytes, 0, value->length) == NULL &&
                                  label_is_utf8((const char *)value->bytes, value->length));
}

/* --- fields ----------------------------------------------------------------------------------- */

static int scan_level(struct scan *scan, const ProtobufCMessageDescriptor *descriptor,
                      const uint8_t *bytes, size_t length);

/* Checks the content of one number, text or inner message. Bytes may have any content. */
static int scan_content(struct scan *scan, const ProtobufCFieldDescriptor *field,
                        const struct scan_value *value)
{
    if (value->wire == WIRE_VARINT && !scan_number_fits(field->type, value->varint)) {
        return scan_refuse(scan, field, HEARSAY_CODE_INVALID, "does not fit 32 bits");
    }
    if (field->type == PROTOBUF_C_TYPE_STRING && !scan_text_is_sound(value)) {
        return scan_refuse(scan, field, HEARSAY_CODE_INVALID, "must be UTF-8 without NUL");
    }
    if (field->type != PROTOBUF_C_TYPE_MESSAGE) {
        return 0;
    }
    if (scan->depth >= scan->rules->nesting_most || scan->depth >= SCAN_NESTING_MAX) {
        return scan_refuse(scan, field, HEARSAY_CODE_MALFORMED, "is nested too deep");
    }
    scan->path[scan->depth++] = field;
    int rv = scan_level(scan, field->descriptor, value->bytes, value->length);
    scan->depth--;
    return rv;
}

/*
 * Checks that each number in a packed field is complete and fits the field's type. Counts the
 * numbers.
 */
static int scan_packed(struct scan *scan, const ProtobufCFieldDescriptor *field,
                       const struct scan_value *value, uint32_t *out_count)
{
    struct scan_cursor cursor = {.at = value->bytes, .left = value->length};
    uint32_t count = 0;

    while (cursor.left > 0) {
        struct scan_value element = {.number = value->number, .wire = wire_types[field->type]};
        int rv = read_payload(&cursor, &element);

        if (rv != 0) {
            return scan_malformed(scan, field, read_sentences[rv]);
        }
        rv = scan_content(scan, field, &element);
        if (rv != 0) {
            return rv;
        }
        count++;
    }
    *out_count = count;
    return 0;
}

static uint32_t scan_count_most(const struct scan_rules *rules,
                                const ProtobufCMessageDescriptor *message, uint32_t number)
{
    for (size_t i = 0; i < rules->count_count; i++) {
        const struct scan_count *row = &rules->counts[i];

        if (row->message == message && row->number == number) {
            return row->most;
        }
    }
    return rules->repeated_most;
}

static int scan_repeated(struct scan *scan, struct scan_level *level,
                         const ProtobufCFieldDescriptor *field, const struct scan_value *value,
                         uint32_t *count)
{
    bool packable =
        field->type != PROTOBUF_C_TYPE_MESSAGE && wire_types[field->type] != WIRE_LENGTH;
    uint32_t most = scan_count_most(scan->rules, level->descriptor, field->id);
    uint32_t added = 1;
    int rv;

    if (packable && value->wire == WIRE_LENGTH) {
        rv = scan_packed(scan, field, value, &added);
    } else {
        rv = scan_content(scan, field, value);
    }
    if (rv != 0) {
        return rv;
    }
    /*
     * A field has fewer than 2^32 bytes, so `added` is exact. *count is at most `most`, so the
     * subtraction does not wrap.
     */
    if (added > most - *count) {
        char path[sizeof(scan->error->field)];

        scan_path(scan, field, path, sizeof(path));
        msg_error_set(scan->error, HEARSAY_CODE_INVALID, path,
                      "%s has too many entries; %u are allowed", path, (unsigned)most);
        return CODEC_INVALID;
    }
    *count += added;
    return 0;
}

static int scan_single(struct scan *scan, struct scan_level *level,
                       const ProtobufCFieldDescriptor *field, const struct scan_value *value,
                       uint32_t *count)
{
    if ((*count)++ > 0) {
        return scan_refuse(scan, field, HEARSAY_CODE_MALFORMED, "occurs twice in one message");
    }
    if ((field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0) {
        if (level->oneof_seen) {
            return scan_refuse(scan, field, HEARSAY_CODE_MALFORMED,
                               "is a second body; a message has one at most");
        }
        level->oneof_seen = true;
    }
    return scan_content(scan, field, value);
}

/* A field that the schema knows. */
static int scan_known(struct scan *scan, struct scan_level *level,
                      const ProtobufCFieldDescriptor *field, const struct scan_value *value)
{
    size_t place = (size_t)(field - level->descriptor->fields);
    bool repeated = field->label == PROTOBUF_C_LABEL_REPEATED;
    uint32_t declared = wire_types[field->type];
    bool packed = repeated && declared != WIRE_LENGTH && value->wire == WIRE_LENGTH;

    if (place >= SCAN_FIELDS_MAX) {
        return scan_refuse(scan, field, HEARSAY_CODE_MALFORMED, "cannot be checked");
    }
    if (value->wire != declared && !packed) {
        return scan_refuse(scan, field, HEARSAY_CODE_MALFORMED,
                           "has a wire type that does not match its type in the schema");
    }
    return repeated ? scan_repeated(scan, level, field, value, &level->counts[place])
                    : scan_single(scan, level, field, value, &level->counts[place]);
}

static int scan_unknown(struct scan *scan)
{
    if (scan->unknown_count < scan->rules->unknown_most) {
        scan->unknown_count++;
        return 0;
    }
    msg_error_set(scan->error, HEARSAY_CODE_INVALID, NULL,
                  "the message has too many unknown fields; %u are allowed",
                  (unsigned)scan->rules->unknown_most);
    return CODEC_INVALID;
}

static int scan_level(struct scan *scan, const ProtobufCMessageDescriptor *descriptor,
                      const uint8_t *bytes, size_t length)
{
    struct scan_cursor cursor = {.at = bytes, .left = length};
    struct scan_level level = {.descriptor = descriptor};

    while (cursor.left > 0) {
        struct scan_value value = {0};
        const ProtobufCFieldDescriptor *field = NULL;
        int rv = read_tag(&cursor, &value);

        if (rv == 0) {
            field = protobuf_c_message_descriptor_get_field(descriptor, value.number);
            rv = read_payload(&cursor, &value);
        }
        if (rv != 0) {
            return scan_malformed(scan, field, read_sentences[rv]);
        }
        rv = field != NULL ? scan_known(scan, &level, field, &value) : scan_unknown(scan);
        if (rv != 0) {
            return rv;
        }
    }
    return 0;
}

int scan_message(const ProtobufCMessageDescriptor *descriptor, const struct scan_rules *rules,
                 const uint8_t *bytes, size_t length, struct msg_error *out_error)
{
    struct scan scan = {.rules = rules, .error = out_error};

    return scan_level(&scan, descriptor, bytes, length);
}

void scan_envelope(const ProtobufCMessageDescriptor *descriptor, const uint8_t *bytes,
                   size_t length, struct scan_envelope *out_envelope)
{
    struct scan_cursor cursor = {.at = bytes, .left = length};

    *out_envelope = (struct scan_envelope){0};
    while (cursor.left > 0) {
        struct scan_value value = {0};

        if (read_tag(&cursor, &value) != 0) {
            return;
        }
        const ProtobufCFieldDescriptor *field =
            protobuf_c_message_descriptor_get_field(descriptor, value.number);
        if (field != NULL && (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0 &&
            out_envelope->body == NULL) {
            out_envelope->body = field;
        }
        if (read_payload(&cursor, &value) != 0) {
            return;
        }
        if (value.number == 1 && value.wire == WIRE_VARINT && out_envelope->id == 0) {
            out_envelope->id = value.varint;
        }
    }
}
