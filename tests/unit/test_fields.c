/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every field of the schema, by walking the tables: messages with random values come back from
 * their bytes as they were, and the sizes that are made from the schema are those of the bytes. A
 * field that the generator forgets is a failure here.
 */
#include "core/base/alloc.h"
#include "proto/codec/codec.h"
#include "proto/codec/inner.h"
#include "proto/codec/letter.h"
#include "proto/frame.h"
#include "tests/lib/check.h"
#include "tests/lib/rng.h"

enum { ROUNDS = 40, ENTRIES_MAX = 3, DATA_MAX = 600, ARENA_BYTES = 8 << 20 };

struct fixture {
    struct rng rng;
    struct arena made; /* what the random messages hold */
    struct arena read;
    struct bytes bytes;
    uint8_t data[DATA_MAX]; /* small letters, which every form but two allows */
    bool is_response;       /* its enums may have values of a later version */
};

static int setup(void **state)
{
    static struct fixture fixture;

    rng_init(&fixture.rng);
    arena_init(&fixture.made, alloc_system(), ARENA_BYTES);
    arena_init(&fixture.read, alloc_system(), ARENA_BYTES);
    bytes_init(&fixture.bytes, alloc_system());
    memset(fixture.data, 'a', sizeof(fixture.data));
    fixture.is_response = false;
    *state = &fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;

    arena_deinit(&fixture->made);
    arena_deinit(&fixture->read);
    bytes_deinit(&fixture->bytes);
    return 0;
}

/* --- random values ---------------------------------------------------------------------------- */

/* Of any number of bits, so that every size of a varint occurs; often 0, the usual default. */
static uint64_t any_number(struct rng *rng)
{
    return rng_chance(rng, 20) ? 0 : rng_next(rng) >> rng_below(rng, 64);
}

static uint32_t any_u32(struct fixture *fixture, const struct map_field *field)
{
    struct rng *rng = &fixture->rng;
    const bool is_open = field->type == MAP_ENUM && fixture->is_response;
    const uint64_t most = is_open ? INT32_MAX : field->max != 0 ? field->max : UINT32_MAX;
    uint64_t value = field->min + any_number(rng) % (most - field->min + 1);

    value += !is_open && field->gap != 0 && value == field->gap;
    return rng_chance(rng, 10) ? (uint32_t)most : (uint32_t)value;
}

static size_t any_size(struct rng *rng, const struct map_field *field)
{
    const uint64_t most = field->max != 0 && field->max < DATA_MAX ? field->max : DATA_MAX;

    if (field->is_either) {
        return (size_t)(rng_chance(rng, 50) ? field->min : field->max);
    }
    return (size_t)(field->min + rng_below(rng, (uint32_t)(most - field->min) + 1));
}

static struct hearsay_text any_text(struct fixture *fixture, const struct map_field *field)
{
    if (field->form == &codec_form_media_type) {
        return (struct hearsay_text){"text/html", 9};
    }
    if (field->form == &codec_form_language) {
        return (struct hearsay_text){"pt-BR", 5};
    }
    return (struct hearsay_text){(const char *)fixture->data, any_size(&fixture->rng, field)};
}

static void fill(struct fixture *fixture, const struct map *map, uint8_t *own);

static size_t fill_entries(struct fixture *fixture, const struct map_field *field, uint8_t *own)
{
    const size_t count = rng_below(&fixture->rng, ENTRIES_MAX + 1) + (field->needed ? 1 : 0);
    const size_t bytes =
        field->type == MAP_LIST ? field->inner->own_bytes : sizeof(struct hearsay_text);
    uint8_t *entries = arena_take_zeroed(&fixture->made, count + 1, bytes);

    assert_non_null(entries);
    for (size_t i = 0; i < count; i++) {
        if (field->type == MAP_LIST) {
            fill(fixture, field->inner, entries + i * bytes);
        } else {
            const struct hearsay_text text = any_text(fixture, field);
            memcpy(entries + i * bytes, &text, sizeof(text));
        }
    }
    memcpy(own + field->own, &entries, sizeof(entries));
    memcpy(own + field->own_count, &count, sizeof(count));
    return count;
}

static void fill_numbers(struct rng *rng, const struct map_field *field, uint8_t *own)
{
    const uint32_t count =
        (field->needed ? 1 : 0) + rng_below(rng, (uint32_t)field->max - (field->needed ? 1 : 0));

    for (uint32_t i = 0; i < count; i++) {
        const uint32_t number = (uint32_t)any_number(rng);
        memcpy(own + field->own + i * sizeof(number), &number, sizeof(number));
    }
    memcpy(own + field->own_count, &count, sizeof(count));
}

static void fill_number(struct fixture *fixture, const struct map_field *field, bool present,
                        uint8_t *own)
{
    struct rng *rng = &fixture->rng;
    const bool flag = rng_chance(rng, 50);
    const uint32_t small = present ? any_u32(fixture, field) : (uint32_t)field->absent;
    const uint64_t number = present ? any_number(rng) : (uint64_t)field->absent;

    if (field->type == MAP_BOOL) {
        memcpy(own + field->own, &flag, sizeof(flag));
    } else if (field->type == MAP_U32 || field->type == MAP_ENUM) {
        memcpy(own + field->own, &small, sizeof(small));
    } else {
        memcpy(own + field->own, &number, sizeof(number));
    }
}

static void fill_field(struct fixture *fixture, const struct map_field *field, uint8_t *own)
{
    const bool present = field->needed || rng_chance(&fixture->rng, 70);
    const struct hearsay_text text = any_text(fixture, field);
    const struct hearsay_bytes bytes = {fixture->data, any_size(&fixture->rng, field)};

    switch (field->type) {
    case MAP_TEXT:
        memcpy(own + field->own, present ? &text : &(struct hearsay_text){NULL, 0}, sizeof(text));
        break;
    case MAP_BYTES:
        memcpy(own + field->own, present ? &bytes : &(struct hearsay_bytes){NULL, 0},
               sizeof(bytes));
        break;
    case MAP_CHARS:
        memset(own + field->own, 'a', rng_below(&fixture->rng, (uint32_t)field->max));
        break;
    case MAP_NUMBERS:
        fill_numbers(&fixture->rng, field, own);
        break;
    case MAP_TEXTS:
    case MAP_LIST:
        (void)fill_entries(fixture, field, own);
        break;
    case MAP_INNER:
        if (present || field->own_count == 0) {
            fill(fixture, field->inner, own + field->own);
        }
        break;
    default:
        fill_number(fixture, field, present, own);
    }
    if (field->own_count != 0 && field->type != MAP_NUMBERS && field->type != MAP_TEXTS &&
        field->type != MAP_LIST) {
        memcpy(own + field->own_count, &present, sizeof(present));
    }
}

static void fill(struct fixture *fixture, const struct map *map, uint8_t *own)
{
    assert_int_equal(map->field_count, map->descriptor->n_fields); /* each field has its row */
    for (size_t i = 0; i < map->field_count; i++) {
        fill_field(fixture, &map->fields[i], own);
    }
}

/* --- comparison ------------------------------------------------------------------------------- */

static void compare(const struct map *map, const uint8_t *made, const uint8_t *read);

static void compare_entries(const struct map_field *field, const uint8_t *made, const uint8_t *read)
{
    const uint8_t *entries[2];
    struct hearsay_text texts[2];
    size_t counts[2];

    memcpy(&entries[0], made + field->own, sizeof(entries[0]));
    memcpy(&entries[1], read + field->own, sizeof(entries[1]));
    memcpy(&counts[0], made + field->own_count, sizeof(counts[0]));
    memcpy(&counts[1], read + field->own_count, sizeof(counts[1]));
    assert_int_equal(counts[0], counts[1]);
    for (size_t i = 0; i < counts[0]; i++) {
        if (field->type == MAP_LIST) {
            const size_t place = i * field->inner->own_bytes;
            compare(field->inner, entries[0] + place, entries[1] + place);
            continue;
        }
        memcpy(&texts[0], entries[0] + i * sizeof(texts[0]), sizeof(texts[0]));
        memcpy(&texts[1], entries[1] + i * sizeof(texts[1]), sizeof(texts[1]));
        assert_int_equal(texts[0].length, texts[1].length);
        assert_memory_equal(texts[0].text, texts[1].text, texts[0].length);
    }
}

static void compare_bytes(const struct map_field *field, const uint8_t *made, const uint8_t *read)
{
    struct hearsay_bytes bytes[2];

    memcpy(&bytes[0], made + field->own,
           sizeof(bytes[0])); /* struct hearsay_text is laid out alike */
    memcpy(&bytes[1], read + field->own, sizeof(bytes[1]));
    if (bytes[0].data == NULL && field->absent_text != NULL) {
        bytes[0] = (struct hearsay_bytes){(const uint8_t *)field->absent_text->text,
                                          field->absent_text->length};
    }
    assert_int_equal(bytes[0].data == NULL, bytes[1].data == NULL);
    assert_int_equal(bytes[0].count, bytes[1].count);
    if (bytes[0].count > 0) {
        assert_memory_equal(bytes[0].data, bytes[1].data, bytes[0].count);
    }
}

static void compare_field(const struct map_field *field, const uint8_t *made, const uint8_t *read)
{
    static const size_t bytes[] = {
        [MAP_U32] = 4, [MAP_U64] = 8, [MAP_I64] = 8, [MAP_BOOL] = sizeof(bool), [MAP_ENUM] = 4};
    uint32_t count = 0;

    switch (field->type) {
    case MAP_TEXT:
    case MAP_BYTES:
        compare_bytes(field, made, read);
        break;
    case MAP_TEXTS:
    case MAP_LIST:
        compare_entries(field, made, read);
        break;
    case MAP_CHARS:
        assert_string_equal((const char *)made + field->own, (const char *)read + field->own);
        break;
    case MAP_NUMBERS:
        memcpy(&count, made + field->own_count, sizeof(count));
        assert_memory_equal(made + field->own_count, read + field->own_count, sizeof(count));
        assert_memory_equal(made + field->own, read + field->own, count * sizeof(count));
        break;
    case MAP_INNER:
        if (field->own_count != 0) {
            assert_int_equal(made[field->own_count], read[field->own_count]);
        }
        if (field->own_count == 0 || made[field->own_count] != 0) {
            compare(field->inner, made + field->own, read + field->own);
        }
        break;
    default:
        if (field->own_count != 0) {
            assert_int_equal(made[field->own_count], read[field->own_count]);
        }
        assert_memory_equal(made + field->own, read + field->own, bytes[field->type]);
    }
}

static void compare(const struct map *map, const uint8_t *made, const uint8_t *read)
{
    for (size_t i = 0; i < map->field_count; i++) {
        compare_field(&map->fields[i], made, read);
    }
}

static void begin_round(struct fixture *fixture)
{
    arena_reset(&fixture->made);
    arena_reset(&fixture->read);
    fixture->bytes.count = 0;
}

/* Nothing that was read borrows from the frame. */
static void end_frame(struct fixture *fixture)
{
    memset(fixture->bytes.data, 0xff, fixture->bytes.count);
}

/* --- the envelopes ---------------------------------------------------------------------------- */

TEST_OF(requests, struct fixture *fixture, setup, teardown)
{
    for (size_t i = 0; i < codec_request_bodies.count * ROUNDS; i++) {
        const struct map_body *body = &codec_request_bodies.rows[i % codec_request_bodies.count];
        struct hearsay_request made = {.id = 1 + rng_below(&fixture->rng, 1000),
                                       .kind = (enum hearsay_request_kind)body->kind};
        struct hearsay_request read;
        struct msg_error error;

        begin_round(fixture);
        for (size_t f = 0; f < codec_request_asker.map->field_count; f++) {
            fill_field(fixture, &codec_request_asker.map->fields[f], (uint8_t *)&made.asker);
        }
        if (body->map != NULL) {
            fill(fixture, body->map, (uint8_t *)&made + body->own);
        }
        assert_int_equal(codec_encode_request(&made, LIMIT_FRAME_BYTES_MAX, &fixture->bytes), 0);
        assert_int_equal(codec_decode_request(fixture->bytes.data + LIMIT_FRAME_HEADER_BYTES,
                                              fixture->bytes.count - LIMIT_FRAME_HEADER_BYTES,
                                              &fixture->read, &read, &error),
                         0);
        end_frame(fixture);
        assert_int_equal(read.id, made.id);
        assert_int_equal(read.kind, made.kind);
        assert_string_equal(read.name, codec_request_name(read.kind));
        compare(codec_request_asker.map, (uint8_t *)&made.asker, (uint8_t *)&read.asker);
        if (body->map != NULL) {
            compare(body->map, (uint8_t *)&made + body->own, (uint8_t *)&read + body->own);
        }
    }
}

/* The sizes that are made from the schema are exact. */
static void check_size(const struct hearsay_response *response, size_t bytes)
{
    size_t results_bytes = 0;

    if (response->kind == HEARSAY_RESPONSE_MATCH) {
        assert_int_equal(codec_match_bytes(response), bytes);
    } else if (response->kind == HEARSAY_RESPONSE_RESULTS) {
        for (size_t i = 0; i < response->results.result_count; i++) {
            results_bytes += codec_result_bytes(&response->results.results[i]);
        }
        assert_int_equal(codec_results_bytes(response, results_bytes), bytes);
    }
}

TEST_OF(responses, struct fixture *fixture, setup, teardown)
{
    fixture->is_response = true;
    for (size_t i = 0; i < codec_response_bodies.count * ROUNDS; i++) {
        const struct map_body *body = &codec_response_bodies.rows[i % codec_response_bodies.count];
        struct hearsay_response made = {.id = any_number(&fixture->rng),
                                        .kind = (enum hearsay_response_kind)body->kind};
        struct hearsay_response read;
        struct msg_error error;

        begin_round(fixture);
        if (body->map != NULL) {
            fill(fixture, body->map, (uint8_t *)&made + body->own);
        }
        assert_int_equal(codec_encode_response(&made, LIMIT_FRAME_BYTES_MAX, &fixture->bytes), 0);
        check_size(&made, fixture->bytes.count - LIMIT_FRAME_HEADER_BYTES);
        assert_int_equal(codec_decode_response(fixture->bytes.data + LIMIT_FRAME_HEADER_BYTES,
                                               fixture->bytes.count - LIMIT_FRAME_HEADER_BYTES,
                                               &fixture->read, &read, &error),
                         0);
        end_frame(fixture);
        assert_int_equal(read.kind, made.kind);
        if (body->map != NULL) {
            compare(body->map, (uint8_t *)&made + body->own, (uint8_t *)&read + body->own);
        }
    }
}

TEST_OF(letters, struct fixture *fixture, setup, teardown)
{
    for (size_t i = 0; i < codec_letter_bodies.count * ROUNDS; i++) {
        const struct map_body *body = &codec_letter_bodies.rows[i % codec_letter_bodies.count];
        struct msg_letter made = {.kind = (enum msg_letter_kind)body->kind};
        struct msg_letter read;
        struct msg_error error;

        begin_round(fixture);
        fill(fixture, body->map, (uint8_t *)&made + body->own);
        assert_int_equal(letter_encode(&made, &fixture->bytes), 0);
        assert_int_equal(
            letter_decode(fixture->bytes.data, fixture->bytes.count, &fixture->read, &read, &error),
            0);
        end_frame(fixture);
        assert_int_equal(read.kind, made.kind);
        compare(body->map, (uint8_t *)&made + body->own, (uint8_t *)&read + body->own);
    }
}
