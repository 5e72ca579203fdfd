/* SPDX-License-Identifier: Apache-2.0 */
/* Nothing a peer sends does any harm, and memory running out loses nothing. */
#include "core/base/err.h"
#include "proto/codec/codec.h"
#include "tests/lib/check.h"
#include "tests/lib/fail_alloc.h"
#include "tests/lib/rng.h"
#include "tests/lib/wire_fixture.h"

enum { HEADER = LIMIT_FRAME_HEADER_BYTES };

/* --- bombs ------------------------------------------------------------------------------------ */

TEST(test_too_many_parts_are_refused_before_unpacking)
{
    static const uint32_t counts[] = {LIMIT_PARTS + 1, 100000};
    struct hearsay_request request;
    struct msg_error error;

    for (size_t i = 0; i < 2; i++) {
        struct fail_alloc memory;
        struct arena arena;
        struct bytes query, bytes;

        bytes_init(&query, alloc_system());
        bytes_init(&bytes, alloc_system());
        for (uint32_t n = 0; n < counts[i]; n++) {
            wire_put_data(&query, 3, "", 0);
        }
        wire_put_data(&bytes, 4, query.data, query.count);
        wire_put_number(&bytes, 1, 33); /* behind it, and still found */
        fail_alloc_init(&memory);
        arena_init(&arena, &memory.alloc, 1 << 20);
        assert_int_equal(codec_decode_request(bytes.data, bytes.count, &arena, &request, &error),
                         CODEC_INVALID);
        assert_int_equal(memory.requests, 0);
        assert_int_equal(request.id, 33);
        assert_string_equal(request.name, "query");
        assert_string_equal(error.field, "parts");
        assert_non_null(strstr(error.message, "64"));
        arena_deinit(&arena);
        bytes_deinit(&bytes);
        bytes_deinit(&query);
    }
}

/* The most that the limits allow, in a frame of the default size, fits the promised memory. */
TEST(test_the_largest_messages_fit_the_promised_memory)
{
    struct msg_error error;

    for (size_t s = 0; s < 2; s++) {
        const uint32_t unknown = s == 0 ? LIMIT_UNKNOWN_REQUEST : LIMIT_UNKNOWN_RESPONSE;
        struct arena arena;
        struct bytes list, bytes;

        bytes_init(&list, alloc_system());
        bytes_init(&bytes, alloc_system());
        wire_put_number(&bytes, 1, 1);
        if (s == 0) {
            wire_put_number(&list, 2, 10);
            for (uint32_t n = 0; n < LIMIT_PARTS; n++) {
                wire_put_data(&list, 3, "\x08\x01\x12\x01\x01\x1a\x01\x01", 8);
            }
            for (uint32_t n = 0; n < LIMIT_SLICES; n++) {
                wire_put_data(&list, 9, "\x0a\x01\x01\x10\x01", 5);
            }
            wire_put_data(&bytes, 4, list.data, list.count);
        } else {
            for (uint32_t n = 0; n < LIMIT_RESULTS; n++) {
                wire_put_data(&list, 1,
                              "\x0a\x10"
                              "0123456789abcdef"
                              "\x42\x03"
                              "a/b",
                              23);
            }
            wire_put_data(&bytes, 4, list.data, list.count);
        }
        for (uint32_t n = 0; n < unknown; n++) {
            wire_put_number(&bytes, 100, n & 0x7f);
        }
        assert_true(bytes.count <= LIMIT_FRAME_BYTES_DEFAULT);
        arena_init(&arena, alloc_system(), wire_sides[s].arena_bytes);
        assert_int_equal(wire_sides[s].decode(bytes.data, bytes.count, &arena, &error), 0);
        arena_deinit(&arena);
        bytes_deinit(&list);
        bytes_deinit(&bytes);
    }
}

TEST(test_every_prefix_has_a_clean_outcome)
{
    for (size_t s = 0; s < 2; s++) {
        for (size_t i = 0; i < wire_sides[s].sample_count(); i++) {
            struct msg_error error;
            struct bytes bytes;

            wire_sample(&wire_sides[s], i, &bytes);
            for (size_t length = 0; length + HEADER < bytes.count; length++) {
                struct arena arena;
                /* A block of its own, so that a sanitizer sees a read beyond it. */
                uint8_t *cut = malloc(length + 1);
                int rv;

                assert_non_null(cut);
                memcpy(cut, bytes.data + HEADER, length);
                arena_init(&arena, alloc_system(), 1 << 20);
                rv = wire_sides[s].decode(cut, length, &arena, &error);
                assert_in_range(rv, 0, CODEC_INVALID);
                arena_deinit(&arena);
                free(cut);
            }
            bytes_deinit(&bytes);
        }
    }
}

/* --- memory ----------------------------------------------------------------------------------- */

TEST(test_a_budget_that_is_too_small)
{
    for (size_t s = 0; s < 2; s++) {
        for (size_t i = 0; i < wire_sides[s].sample_count(); i++) {
            struct bytes bytes;
            size_t limit = 0;
            int rv;

            wire_sample(&wire_sides[s], i, &bytes);
            do {
                struct fail_alloc memory;
                struct arena arena;
                struct msg_error error;

                fail_alloc_init(&memory);
                arena_init(&arena, &memory.alloc, limit);
                rv =
                    wire_sides[s].decode(bytes.data + HEADER, bytes.count - HEADER, &arena, &error);
                if (rv != 0) {
                    assert_int_equal(rv, CODEC_INVALID);
                    assert_int_equal(error.code, HEARSAY_CODE_TOO_LARGE);
                    assert_true(arena.refused);
                }
                assert_true(memory.live_bytes <= limit);
                arena_deinit(&arena);
                assert_int_equal(memory.live_bytes, 0);
                limit += 64;
            } while (rv != 0);
            bytes_deinit(&bytes);
        }
    }
}

TEST(test_nth_allocation_fails_in_decoding)
{
    for (size_t s = 0; s < 2; s++) {
        for (size_t i = 0; i < wire_sides[s].sample_count(); i++) {
            struct bytes bytes;
            size_t n = 0;
            int rv;

            wire_sample(&wire_sides[s], i, &bytes);
            do {
                struct fail_alloc memory;
                struct arena arena;
                struct msg_error error;

                fail_alloc_init(&memory);
                fail_alloc_arm(&memory, ++n);
                arena_init(&arena, &memory.alloc, 1 << 20);
                rv =
                    wire_sides[s].decode(bytes.data + HEADER, bytes.count - HEADER, &arena, &error);
                assert_true(rv == 0 || rv == -ERR_NOMEM);
                arena_deinit(&arena);
                assert_int_equal(memory.live_bytes, 0);
            } while (rv != 0);
            bytes_deinit(&bytes);
        }
    }
}

/* A frame is written piece by piece: the output is full after each of its bytes. */
TEST(test_memory_runs_out_in_encoding)
{
    for (size_t s = 0; s < 2; s++) {
        for (size_t i = 0; i < wire_sides[s].sample_count(); i++) {
            size_t room = 0;
            int rv;

            do {
                struct fail_alloc memory;
                struct bytes out;

                fail_alloc_init(&memory);
                bytes_init(&out, &memory.alloc);
                assert_non_null(bytes_reserve(&out, 4096));
                out.count = out.capacity - room;
                memset(out.data, 'b', out.count);
                fail_alloc_arm(&memory, 1);
                rv = wire_sides[s].encode_sample(i, &out);
                if (rv != 0) {
                    assert_int_equal(rv, -ERR_NOMEM);
                    assert_int_equal(out.count, out.capacity - room); /* nothing half-written */
                }
                for (size_t at = 0; at < out.capacity - room; at++) {
                    assert_int_equal(out.data[at], 'b');
                }
                bytes_deinit(&out);
                assert_int_equal(memory.live_bytes, 0);
                room++;
            } while (rv != 0);
            assert_true(room > HEADER);
        }
    }
}

TEST(test_output_that_cannot_grow)
{
    struct fail_alloc memory;
    struct bytes out;

    fail_alloc_init(&memory);
    fail_alloc_arm(&memory, 1);
    bytes_init(&out, &memory.alloc);
    assert_int_equal(codec_encode_response(wire_response(3), 65536, &out), -ERR_NOMEM);
    assert_int_equal(out.count, 0);
    assert_int_equal(codec_encode_response(wire_response(3), 65536, &out), 0);
    bytes_deinit(&out);
}

/* --- sizes ------------------------------------------------------------------------------------ */

TEST(test_frames_end_at_their_limit)
{
    for (size_t i = 0; i < wire_response_count(); i++) {
        struct bytes out;
        size_t length;

        wire_sample(&wire_sides[1], i, &out);
        length = out.count - HEADER;
        assert_int_equal(codec_encode_response(wire_response(i), length, &out), 0);
        assert_int_equal(out.count, 2 * (HEADER + length));
        for (size_t limit = 0; limit < length; limit++) {
            assert_int_equal(codec_encode_response(wire_response(i), limit, &out), CODEC_TOO_LARGE);
            assert_int_equal(out.count, 2 * (HEADER + length));
        }
        bytes_deinit(&out);
    }
}

/* The bytes of a response with a body of this kind. */
static size_t response_bytes(const struct hearsay_response *response)
{
    struct bytes out;
    size_t length;

    bytes_init(&out, alloc_system());
    assert_int_equal(codec_encode_response(response, LIMIT_FRAME_BYTES_MAX, &out), 0);
    length = out.count - HEADER;
    bytes_deinit(&out);
    return length;
}

/* What fits by the promised sizes fits indeed. Numbers are those that take the most bytes. */
TEST(test_promised_sizes_are_enough)
{
    static const size_t payloads[] = {0, 1, 127, 128, 16383, 16384, 1000000};
    static uint8_t payload[1000000];
    static char type[LIMIT_MEDIA_TYPE_BYTES + 1];

    memset(type, 'a', sizeof type - 1);
    for (size_t i = 0; i < sizeof payloads / sizeof payloads[0]; i++) {
        const struct hearsay_result result = {.id = {payload, 16},
                                              .epoch = UINT64_MAX,
                                              .intersection_count = UINT32_MAX,
                                              .union_count = UINT32_MAX,
                                              .distance_ppm = UINT32_MAX,
                                              .deposited_ms = -1,
                                              .expires_ms = -1,
                                              .media_type = {type, sizeof type - 1},
                                              .payload = {payload, payloads[i]},
                                              .payload_omitted = true};
        const struct hearsay_exported_message message = {
            .id = {payload, 16},
            .epoch = UINT64_MAX,
            .filter = {payload, LIMIT_FILTER_BYTES},
            .media_type = {type, sizeof type - 1},
            .payload = {payload, payloads[i]},
            .deposited_ms = -1,
            .expires_ms = -1,
            .reach_ppm = UINT32_MAX,
            .withdraw_hash = {payload, LIMIT_HASH_BYTES},
            .state = UINT32_MAX,
            .reports = UINT32_MAX};
        const struct hearsay_response results = {.id = UINT64_MAX,
                                                 .kind = HEARSAY_RESPONSE_RESULTS,
                                                 .results = {.results = &result,
                                                             .result_count = 1,
                                                             .comparisons = UINT64_MAX,
                                                             .exact = true,
                                                             .capped = true,
                                                             .complete = true,
                                                             .peers = UINT32_MAX,
                                                             .peers_asked = UINT32_MAX,
                                                             .peers_silent = UINT32_MAX,
                                                             .peers_other = UINT32_MAX,
                                                             .as_of_ms = -1,
                                                             .seq = UINT64_MAX,
                                                             .bridge_away = true,
                                                             .peers_skipped = UINT32_MAX}};
        const struct hearsay_response exported = {
            .id = UINT64_MAX,
            .kind = HEARSAY_RESPONSE_EXPORTED,
            .exported = {&message, 1, {payload, LIMIT_CURSOR_BYTES}}};

        const struct hearsay_change change = {
            .seq = UINT64_MAX,
            .has_message = true,
            .has_gone = true,
            .has_rule = true,
            .message = message,
            .has_decision = true,
            .gone = {{payload, 16}, -1, HEARSAY_WAS_EVICTED},
            .rule = {LIMIT_RULE_KIND, {payload, LIMIT_RULE_BYTES}, UINT32_MAX, -1, true, -1},
            .decision = {{payload, 16}, UINT64_MAX, -1}};
        const size_t content_bytes = LIMIT_FILTER_BYTES + sizeof type - 1 + payloads[i];
        const struct hearsay_response changed = {.id = UINT64_MAX,
                                                 .kind = HEARSAY_RESPONSE_CHANGED,
                                                 .changed = {&change, 1, UINT64_MAX, true, 0, 0}};

        assert_true(response_bytes(&changed) <=
                    CODEC_ENVELOPE_BYTES_MAX + CODEC_CHANGE_BARE_BYTES_MAX +
                        CODEC_EXPORTED_MESSAGE_BARE_BYTES_MAX + CODEC_GONE_BARE_BYTES_MAX +
                        CODEC_RULE_STATE_BARE_BYTES_MAX + CODEC_DECISION_ID_BARE_BYTES_MAX +
                        LIMIT_RULE_BYTES + content_bytes);
        assert_true(response_bytes(&results) <= CODEC_ENVELOPE_BYTES_MAX +
                                                    CODEC_RESULT_BARE_BYTES_MAX + payloads[i] +
                                                    sizeof type - 1);
        assert_true(response_bytes(&exported) <= CODEC_ENVELOPE_BYTES_MAX +
                                                     CODEC_EXPORTED_MESSAGE_BARE_BYTES_MAX +
                                                     content_bytes);
    }
}

/* --- mutation --------------------------------------------------------------------------------- */

/* Changes, drops, repeats or moves a few bytes. Returns the new length. */
static size_t mutate(struct rng *random, uint8_t *bytes, size_t length, size_t capacity)
{
    static const uint8_t telling[] = {0, 1, 0x7f, 0x80, 0xff, 0x08, 0x0a, 0x12, 0x1a, 0x22};
    uint64_t times = rng_next(random) % 4 + 1;

    for (uint64_t t = 0; t < times && length > 0; t++) {
        size_t at = (size_t)(rng_next(random) % length);
        size_t some = (size_t)(rng_next(random) % (length - at) % 24) + 1;

        switch (rng_next(random) % 6) {
        case 0:
            bytes[at] ^= (uint8_t)(1u << rng_next(random) % 8);
            break;
        case 1:
            bytes[at] = telling[rng_next(random) % sizeof telling];
            break;
        case 2:
            bytes[at] = (uint8_t)rng_next(random);
            break;
        case 3: /* drop */
            memmove(bytes + at, bytes + at + some, length - at - some);
            length -= some;
            break;
        case 4: /* repeat */
            if (length + some <= capacity) {
                memmove(bytes + at + some, bytes + at, length - at);
                length += some;
            }
            break;
        default: /* copy elsewhere */
            memmove(bytes + rng_next(random) % (length - some + 1), bytes + at, some);
            break;
        }
    }
    return length;
}

static void check_mutant(const struct wire_side *side, const uint8_t *bytes, size_t length,
                         struct arena *arena, size_t *decoded)
{
    struct msg_error error;
    struct bytes once, twice;
    /* A block of its own, so that a sanitizer sees a read beyond it. */
    uint8_t *own = malloc(length + 1);
    int rv;

    assert_non_null(own);
    memcpy(own, bytes, length);
    bytes_init(&once, alloc_system());
    bytes_init(&twice, alloc_system());
    arena_reset(arena);
    rv = side->again(own, length, arena, &once, &error);
    free(own);
    assert_in_range(rv, 0, CODEC_INVALID);
    if (rv == 0) {
        (*decoded)++;
        assert_int_equal(
            side->again(once.data + HEADER, once.count - HEADER, arena, &twice, &error), 0);
        assert_int_equal(once.count, twice.count);
        assert_memory_equal(once.data, twice.data, once.count);
    } else {
        assert_int_equal(error.code,
                         rv == CODEC_MALFORMED ? HEARSAY_CODE_MALFORMED : HEARSAY_CODE_INVALID);
        assert_true(strlen(error.message) > 10);
        /* protobuf-c must never be the one to find that something is wrong. */
        assert_null(strstr(error.message, "the bytes are not a"));
    }
    bytes_deinit(&twice);
    bytes_deinit(&once);
}

TEST(test_mutants)
{
    enum { ROUNDS = 200000, CAPACITY = 4096 };
    struct rng random;

    rng_init(&random);
    for (size_t s = 0; s < 2; s++) {
        struct arena arena;
        size_t decoded = 0;

        arena_init(&arena, alloc_system(), wire_sides[s].arena_bytes);
        for (size_t round = 0; round < ROUNDS / 2; round++) {
            static uint8_t buffer[CAPACITY];
            struct bytes bytes;
            size_t length;

            wire_sample(&wire_sides[s], (size_t)(rng_next(&random) % wire_sides[s].sample_count()),
                        &bytes);
            length = bytes.count - HEADER;
            memcpy(buffer, bytes.data + HEADER, length);
            bytes_deinit(&bytes);
            length = mutate(&random, buffer, length, sizeof buffer);
            check_mutant(&wire_sides[s], buffer, length, &arena, &decoded);
        }
        print_message("%s: %zu of %d mutants could be read\n", wire_sides[s].name, decoded,
                      ROUNDS / 2);
        arena_deinit(&arena);
    }
}
