/* SPDX-License-Identifier: Apache-2.0 */
/* The scan lets through what unpacks within known bounds, and says what is wrong with the rest. */
#include "proto/codec/inner.h"
#include "proto/hearsay.pb-c.h"
#include "tests/lib/check.h"
#include "tests/lib/wire_fixture.h"

static int scan(const ProtobufCMessageDescriptor *descriptor, const void *bytes, size_t length,
                struct msg_error *out_error)
{
    const struct scan_rules rules = {
        .counts = codec_counts,
        .count_count = codec_count_count,
        .repeated_most = LIMIT_REPEATED,
        .unknown_most = LIMIT_UNKNOWN_REQUEST,
        .nesting_most = LIMIT_NESTING,
    };

    memset(out_error, 0, sizeof *out_error);
    return scan_message(descriptor, &rules, bytes, length, out_error);
}

/* Bytes as they stand on the wire, and what becomes of them in a Request. */
struct scan_row {
    const char *what;
    const char *bytes;
    size_t length;
    int outcome;
    const char *field;
};
#define ROW(what, literal, outcome, field)                 \
    {                                                      \
        what, literal, sizeof(literal) - 1, outcome, field \
    }

static const struct scan_row request_rows[] = {
    ROW("nothing at all", "", 0, ""),
    ROW("an id", "\x08\x05", 0, ""),
    ROW("the largest id", "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 0, ""),
    ROW("an id in more bytes than it needs", "\x08\x85\x80\x80\x00", 0, ""),
    ROW("an id of 65 bits", "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", CODEC_MALFORMED, "id"),
    ROW("an id of 11 bytes", "\x08\x85\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", CODEC_MALFORMED,
        "id"),
    ROW("an id that does not end", "\x08\x85", CODEC_MALFORMED, "id"),
    ROW("a tag alone", "\x08", CODEC_MALFORMED, "id"),
    ROW("a tag that does not end", "\x88", CODEC_MALFORMED, ""),
    ROW("a tag of six bytes", "\x88\x80\x80\x80\x80\x00\x05", CODEC_MALFORMED, ""),
    ROW("a tag over 32 bits", "\x88\x80\x80\x80\x10\x05", CODEC_MALFORMED, ""),
    ROW("a tag in more bytes than it needs", "\x88\x80\x00\x05", 0, ""),
    ROW("field number 0", "\x00\x05", CODEC_MALFORMED, ""),
    ROW("the largest field number", "\xf8\xff\xff\xff\x0f\x05", 0, ""),
    ROW("a group begins", "\x0b", CODEC_MALFORMED, "id"),
    ROW("a group ends", "\x0c", CODEC_MALFORMED, "id"),
    ROW("an unknown group", "\xa3\x06\xa4\x06", CODEC_MALFORMED, ""),
    ROW("wire type 6", "\x0e\x00", CODEC_MALFORMED, "id"),
    ROW("wire type 7", "\x0f\x00", CODEC_MALFORMED, "id"),
    ROW("an id as bytes", "\x0a\x01\x05", CODEC_MALFORMED, "id"),
    ROW("an id as 64 fixed bits", "\x09\x05\0\0\0\0\0\0\0", CODEC_MALFORMED, "id"),
    ROW("an id as 32 fixed bits", "\x0d\x05\0\0\0", CODEC_MALFORMED, "id"),
    ROW("the id twice", "\x08\x05\x08\x05", CODEC_MALFORMED, "id"),
    ROW("an empty hello", "\x08\x05\x12\x00", 0, ""),
    ROW("a hello longer than the frame", "\x12\x01", CODEC_MALFORMED, "hello"),
    ROW("a hello of 4 GiB", "\x12\xff\xff\xff\xff\x0f", CODEC_MALFORMED, "hello"),
    ROW("a length of six bytes", "\x12\x80\x80\x80\x80\x80\x00", CODEC_MALFORMED, "hello"),
    ROW("a length over 32 bits", "\x12\x80\x80\x80\x80\x10", CODEC_MALFORMED, "hello"),
    ROW("two hellos, which protobuf would merge", "\x12\x00\x12\x00", CODEC_MALFORMED, "hello"),
    ROW("a hello and a ping", "\x12\x00\x62\x00", CODEC_MALFORMED, "ping"),
    ROW("a ping and something newer", "\x62\x00\xa2\x06\x00", 0, ""),
    ROW("versions one by one", "\x12\x04\x08\x01\x08\x02", 0, ""),
    ROW("versions packed", "\x12\x04\x0a\x02\x01\x02", 0, ""),
    ROW("versions both ways", "\x12\x06\x0a\x02\x01\x02\x08\x03", 0, ""),
    ROW("versions packed, none", "\x12\x02\x0a\x00", 0, ""),
    ROW("a packed version that does not end", "\x12\x03\x0a\x01\x80", CODEC_MALFORMED, "versions"),
    ROW("a version over 32 bits", "\x12\x06\x08\x80\x80\x80\x80\x10", CODEC_INVALID, "versions"),
    ROW("a packed version over 32 bits", "\x12\x07\x0a\x05\x80\x80\x80\x80\x10", CODEC_INVALID,
        "versions"),
    ROW("17 versions, packed", "\x12\x13\x0a\x11\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1", CODEC_INVALID,
        "versions"),
    ROW("16 versions, packed", "\x12\x12\x0a\x10\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1", 0, ""),
    ROW("an agent", "\x12\x04\x12\x02\xc3\xa9", 0, ""),
    ROW("an agent with a NUL", "\x12\x05\x12\x03\x61\x00\x62", CODEC_INVALID, "agent"),
    ROW("an agent that is not UTF-8", "\x12\x03\x12\x01\xff", CODEC_INVALID, "agent"),
    ROW("an agent of half a character", "\x12\x03\x12\x01\xc3", CODEC_INVALID, "agent"),
    ROW("an agent twice", "\x12\x06\x12\x01\x61\x12\x01\x62", CODEC_MALFORMED, "agent"),
    ROW("an agent beyond its hello", "\x12\x03\x12\x02\x61\x61", CODEC_MALFORMED, "agent"),
    ROW("a metric below zero", "\x22\x0b\x38\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 0, ""),
    ROW("a metric over 32 bits", "\x22\x06\x38\x80\x80\x80\x80\x08", CODEC_INVALID, "metric"),
    ROW("a k over 32 bits", "\x22\x06\x10\x81\x80\x80\x80\x10", CODEC_INVALID, "k"),
    ROW("a k in more bytes than it needs", "\x22\x07\x10\x81\x80\x80\x80\x80\x00", 0, ""),
    ROW("a part with two filters", "\x22\x06\x1a\x04\x12\x00\x12\x00", CODEC_MALFORMED,
        "parts.filter"),
    ROW("a part whose filter is cut off", "\x22\x04\x1a\x02\x12\x01", CODEC_MALFORMED,
        "parts.filter"),
};

TEST(test_rows)
{
    for (size_t i = 0; i < sizeof request_rows / sizeof request_rows[0]; i++) {
        const struct scan_row *row = &request_rows[i];
        struct msg_error error;
        int rv = scan(&hearsay__v1__request__descriptor, row->bytes, row->length, &error);

        if (rv != row->outcome || strcmp(error.field, row->field) != 0) {
            fail_msg("%s: outcome %d, field \"%s\", sentence \"%s\"", row->what, rv, error.field,
                     error.message);
        }
        if (rv != 0) {
            assert_true(strlen(error.message) > 10);
            assert_int_equal(error.code,
                             rv == CODEC_INVALID ? HEARSAY_CODE_INVALID : HEARSAY_CODE_MALFORMED);
        }
    }
}

/* What is inside unknown fields is not looked at, however deep it claims to be. */
TEST(test_nesting_within_unknown_fields)
{
    struct bytes inner, outer;
    struct msg_error error;

    bytes_init(&inner, alloc_system());
    for (int depth = 0; depth < 1000; depth++) {
        bytes_init(&outer, alloc_system());
        wire_put_data(&outer, 900, inner.data != NULL ? inner.data : (const uint8_t *)"",
                      inner.count);
        bytes_deinit(&inner);
        inner = outer;
    }
    assert_int_equal(scan(&hearsay__v1__request__descriptor, inner.data, inner.count, &error), 0);
    bytes_deinit(&inner);
}

/* A limit below what the schema needs stands in for a schema that nests deeper. */
TEST(test_nesting_is_bounded)
{
    const struct scan_rules rules = {.repeated_most = 1, .nesting_most = 1};
    struct msg_error error;

    assert_int_equal(scan_message(&hearsay__v1__request__descriptor, &rules,
                                  (const uint8_t *)"\x22\x02\x1a\x00", 4, &error),
                     CODEC_MALFORMED);
    assert_string_equal(error.field, "parts");
}

/* Each limit: as many as it says pass, one more does not. */
TEST(test_counts_at_their_limits)
{
    for (size_t i = 0; i < codec_count_count; i++) {
        const struct scan_count *row = &codec_counts[i];
        const ProtobufCFieldDescriptor *field =
            protobuf_c_message_descriptor_get_field(row->message, row->number);
        struct msg_error error;
        struct bytes bytes;

        assert_non_null(field);
        bytes_init(&bytes, alloc_system());
        for (uint32_t n = 0; n <= row->most; n++) {
            assert_int_equal(scan(row->message, bytes.data, bytes.count, &error), 0);
            if (field->type == PROTOBUF_C_TYPE_UINT32) {
                wire_put_number(&bytes, field->id, 1);
            } else {
                wire_put_data(&bytes, field->id, "", 0);
            }
        }
        assert_int_equal(scan(row->message, bytes.data, bytes.count, &error), CODEC_INVALID);
        assert_string_equal(error.field, field->name);
        bytes_deinit(&bytes);
    }
}

TEST(test_unknown_fields_are_counted)
{
    struct msg_error error;
    struct bytes bytes;

    bytes_init(&bytes, alloc_system());
    for (uint32_t n = 0; n < LIMIT_UNKNOWN_REQUEST; n++) {
        wire_put_number(&bytes, 100 + n, n);
    }
    assert_int_equal(scan(&hearsay__v1__request__descriptor, bytes.data, bytes.count, &error), 0);
    wire_put_data(&bytes, 2, "\xf8\x07\x00", 3); /* one more, within a hello */
    assert_int_equal(scan(&hearsay__v1__request__descriptor, bytes.data, bytes.count, &error),
                     CODEC_INVALID);
    bytes_deinit(&bytes);
}

TEST(test_envelope_as_far_as_it_is_readable)
{
    static const struct {
        const char *bytes;
        size_t length;
        uint64_t id;
        const char *body;
    } rows[] = {
        {"", 0, 0, NULL},
        {"\x08\x07\x12\x00", 4, 7, "hello"},
        {"\x12\x00\x08\x07", 4, 7, "hello"},        /* the id may come last */
        {"\x08\x07\x12\x7f", 4, 7, "hello"},        /* the body is cut off */
        {"\x12\x7f\x08\x07", 4, 0, "hello"},        /* and so the id is not reached */
        {"\x08\x07\x00", 3, 7, NULL},               /* field number 0 */
        {"\x09\x07\0\0\0\0\0\0\0", 9, 0, NULL},     /* an id of another wire type */
        {"\x62\x00\x12\x00\x08\x09", 6, 9, "ping"}, /* the first body counts */
        {"\xa2\x06\x00\x08\x09", 5, 9, NULL},       /* an unknown body */
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct scan_envelope envelope;

        scan_envelope(&hearsay__v1__request__descriptor, (const uint8_t *)rows[i].bytes,
                      rows[i].length, &envelope);
        assert_int_equal(envelope.id, rows[i].id);
        if (rows[i].body == NULL) {
            assert_null(envelope.body);
        } else {
            assert_string_equal(envelope.body->name, rows[i].body);
        }
    }
}

/* --- the schema keeps to what the scan takes for granted ----------------------------------------
 */

static bool count_is_listed(const ProtobufCMessageDescriptor *message, uint32_t number)
{
    for (size_t i = 0; i < codec_count_count; i++) {
        if (codec_counts[i].message == message && codec_counts[i].number == number) {
            return true;
        }
    }
    return false;
}

static void check_schema(const ProtobufCMessageDescriptor *message, unsigned depth)
{
    unsigned oneof = 0;
    bool has_oneof = false;

    assert_in_range(depth, 0, LIMIT_NESTING); /* so it is not recursive either */
    assert_in_range(message->n_fields, 0, SCAN_FIELDS_MAX);
    for (unsigned i = 0; i < message->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &message->fields[i];

        if ((field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0) {
            assert_true(!has_oneof || oneof == field->quantifier_offset); /* one at most */
            has_oneof = true;
            oneof = field->quantifier_offset;
            assert_int_equal(field->type, PROTOBUF_C_TYPE_MESSAGE);
        }
        if (field->label == PROTOBUF_C_LABEL_REPEATED && !count_is_listed(message, field->id)) {
            fail_msg("%s.%s has no limit in codec_counts", message->name, field->name);
        }
        assert_int_not_equal(field->label, PROTOBUF_C_LABEL_REQUIRED);
        if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
            check_schema(field->descriptor, depth + 1);
        }
    }
}

TEST(test_schema_keeps_the_scan_s_assumptions)
{
    check_schema(&hearsay__v1__request__descriptor, 0);
    check_schema(&hearsay__v1__response__descriptor, 0);
    assert_in_range(LIMIT_NESTING, 1, SCAN_NESTING_MAX);
}
