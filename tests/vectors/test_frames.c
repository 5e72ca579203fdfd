/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frames.json against the codec: what another implementation wrote is read as it was meant, and
 * written again with the same bytes where there is only one way to write it.
 */
#include "proto/codec/codec.h"
#include "proto/frame.h"
#include "tests/lib/check.h"
#include "tests/vectors/frames_json.h"

static const char *vectors_path;

enum { HEADER = LIMIT_FRAME_HEADER_BYTES };

static const char *text_of(const json_t *row, const char *name)
{
    const char *text = json_string_value(json_object_get(row, name));

    assert_non_null(text);
    return text;
}

static bool is_request(const json_t *row)
{
    return strcmp(text_of(row, "side"), "request") == 0;
}

/* Whole bytes of a frame, header included. The caller frees them. */
static uint8_t *frame_of(const json_t *row, size_t *out_length)
{
    const char *hex = text_of(row, "frame");
    size_t length = strlen(hex) / 2;
    uint8_t *bytes = malloc(length + 1);

    assert_non_null(bytes);
    for (size_t i = 0; i < length; i++) {
        const char digits[3] = {hex[2 * i], hex[2 * i + 1], '\0'};

        bytes[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
    *out_length = length;
    return bytes;
}

/* Decodes into JSON and encodes again. NULL when it could not be decoded. */
static json_t *read_and_write(const json_t *row, const uint8_t *frame, size_t length,
                              struct arena *arena, struct bytes *again)
{
    struct hearsay_request request;
    struct hearsay_response response;
    struct msg_error error;

    if (is_request(row)) {
        if (codec_decode_request(frame, length, arena, &request, &error) != 0) {
            return NULL;
        }
        assert_int_equal(codec_encode_request(&request, LIMIT_FRAME_BYTES_MAX, again), 0);
        return frames_json_request(&request);
    }
    if (codec_decode_response(frame, length, arena, &response, &error) != 0) {
        return NULL;
    }
    assert_int_equal(codec_encode_response(&response, LIMIT_FRAME_BYTES_MAX, again), 0);
    return frames_json_response(&response);
}

static void check_good(const json_t *row)
{
    struct arena arena;
    struct bytes again;
    size_t length;
    uint8_t *frame = frame_of(row, &length);
    json_t *message;

    arena_init(&arena, alloc_system(), 1 << 22);
    bytes_init(&again, alloc_system());
    message = read_and_write(row, frame + HEADER, length - HEADER, &arena, &again);
    if (message == NULL) {
        fail_msg("%s: refused", text_of(row, "name"));
    }
    if (!json_equal(message, json_object_get(row, "message"))) {
        fail_msg("%s: read as %s", text_of(row, "name"), json_dumps(message, JSON_COMPACT));
    }
    if (json_is_true(json_object_get(row, "canonical")) &&
        (again.count != length || memcmp(again.data, frame, length) != 0)) {
        fail_msg("%s: written with other bytes", text_of(row, "name"));
    }
    json_decref(message);
    bytes_deinit(&again);
    arena_deinit(&arena);
    free(frame);
}

/* What a receiver of these bytes finds: an outcome's name, and the id and field of its answer. */
static const char *outcome_of(const json_t *row, const uint8_t *bytes, size_t length, uint64_t *id,
                              struct msg_error *error)
{
    static const char *const codec_outcomes[] = {"good", "malformed", "invalid"};
    struct frame_decoder decoder;
    struct hearsay_request request;
    struct hearsay_response response;
    struct arena arena;
    const uint8_t *frame;
    uint8_t *room;
    size_t some;
    int rv;

    frame_decoder_init(&decoder, alloc_system(), LIMIT_FRAME_BYTES_DEFAULT);
    assert_int_equal(frame_decoder_reserve(&decoder, length, &room, &some), 0);
    assert_int_equal(some, length);
    memcpy(room, bytes, length);
    frame_decoder_commit(&decoder, length);
    rv = frame_next(&decoder, &frame, &some);
    if (rv != 0) {
        frame_decoder_deinit(&decoder);
        return rv == FRAME_EMPTY ? "empty" : rv == FRAME_TOO_LARGE ? "too_large" : "more";
    }
    arena_init(&arena, alloc_system(), 1 << 22);
    if (is_request(row)) {
        rv = codec_decode_request(frame, some, &arena, &request, error);
        *id = request.id;
    } else {
        rv = codec_decode_response(frame, some, &arena, &response, error);
        *id = response.id;
    }
    assert_in_range(rv, 0, CODEC_INVALID);
    arena_deinit(&arena);
    frame_decoder_deinit(&decoder);
    return codec_outcomes[rv];
}

static void check_bad(const json_t *row)
{
    struct msg_error error = {0};
    uint64_t id = 0;
    size_t length;
    uint8_t *frame = frame_of(row, &length);
    const char *outcome = outcome_of(row, frame, length, &id, &error);

    if (strcmp(outcome, text_of(row, "outcome")) != 0 ||
        id != (uint64_t)json_integer_value(json_object_get(row, "id")) ||
        strcmp(error.field, text_of(row, "field")) != 0) {
        fail_msg("%s: %s, id %llu, field \"%s\": %s", text_of(row, "name"), outcome,
                 (unsigned long long)id, error.field, error.message);
    }
    free(frame);
}

static json_t *load(void)
{
    json_error_t error;
    json_t *vectors = json_load_file(vectors_path, 0, &error);

    if (vectors == NULL) {
        fail_msg("%s: line %d: %s", vectors_path, error.line, error.text);
    }
    return vectors;
}

static void for_each_row(const char *list, void (*check)(const json_t *row))
{
    json_t *vectors = load();
    const json_t *rows = json_object_get(vectors, list);

    assert_true(json_array_size(rows) > 30);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        check(json_array_get(rows, i));
    }
    json_decref(vectors);
}

TEST(test_good_frames_mean_what_was_meant)
{
    for_each_row("good", check_good);
}

TEST(test_bad_frames_have_their_outcomes)
{
    for_each_row("bad", check_bad);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        (void)fprintf(stderr, "usage: test_frames frames.json\n");
        return 2;
    }
    vectors_path = argv[1];
    return check_run(NULL, NULL);
}
