/* SPDX-License-Identifier: Apache-2.0 */
/* Frames come out as they went in, however the stream is cut, within the buffer that is promised.
 */
#include "core/base/err.h"
#include "proto/frame.h"
#include "tests/lib/check.h"
#include "tests/lib/fail_alloc.h"
#include "tests/lib/rng.h"
#include "tests/lib/wire_fixture.h"

enum { LIMIT = 300 };

static const size_t frame_lengths[] = {1, 2, LIMIT, 3, 100, 1, LIMIT, 7};
enum { FRAMES = sizeof frame_lengths / sizeof frame_lengths[0] };

/* Byte j of frame i. */
static uint8_t frame_byte(size_t i, size_t j)
{
    return (uint8_t)(i * 31 + j * 7 + 1);
}

static void stream_make(struct bytes *stream)
{
    bytes_init(stream, alloc_system());
    for (size_t i = 0; i < FRAMES; i++) {
        uint8_t *room = bytes_reserve(stream, LIMIT_FRAME_HEADER_BYTES + frame_lengths[i]);

        assert_non_null(room);
        frame_write_header(room, frame_lengths[i]);
        for (size_t j = 0; j < frame_lengths[i]; j++) {
            room[LIMIT_FRAME_HEADER_BYTES + j] = frame_byte(i, j);
        }
        stream->count += LIMIT_FRAME_HEADER_BYTES + frame_lengths[i];
    }
}

/* Takes out what is there; returns how many frames have come out in all. */
static size_t frames_take(struct frame_decoder *decoder, size_t seen)
{
    const uint8_t *frame;
    size_t length;
    int rv;

    while ((rv = frame_next(decoder, &frame, &length)) == 0) {
        assert_in_range(seen, 0, FRAMES - 1);
        assert_int_equal(length, frame_lengths[seen]);
        for (size_t j = 0; j < length; j++) {
            assert_int_equal(frame[j], frame_byte(seen, j));
        }
        seen++;
    }
    assert_int_equal(rv, FRAME_MORE);
    return seen;
}

/* Feeds bytes, `wanted` at a time at most, and takes frames out after each. */
static size_t stream_feed(struct frame_decoder *decoder, const uint8_t *bytes, size_t count,
                          size_t wanted, size_t seen)
{
    while (count > 0) {
        uint8_t *room;
        size_t some;

        assert_int_equal(frame_decoder_reserve(decoder, wanted, &room, &some), 0);
        assert_in_range(some, 1, wanted);
        assert_true(decoder->capacity <= LIMIT + LIMIT_FRAME_HEADER_BYTES + wanted);
        some = some < count ? some : count;
        memcpy(room, bytes, some);
        frame_decoder_commit(decoder, some);
        bytes += some;
        count -= some;
        seen = frames_take(decoder, seen);
    }
    return seen;
}

TEST(test_every_split_in_two)
{
    struct bytes stream;

    stream_make(&stream);
    for (size_t cut = 0; cut <= stream.count; cut++) {
        struct fail_alloc memory;
        struct frame_decoder decoder;
        size_t seen;

        fail_alloc_init(&memory);
        frame_decoder_init(&decoder, &memory.alloc, LIMIT);
        seen = stream_feed(&decoder, stream.data, cut, 4096, 0);
        seen = stream_feed(&decoder, stream.data + cut, stream.count - cut, 4096, seen);
        assert_int_equal(seen, FRAMES);
        assert_int_equal(frame_decoder_pending(&decoder), 0);
        frame_decoder_release(&decoder);
        assert_int_equal(memory.live_bytes, 0); /* an idle session holds no buffer */
        frame_decoder_deinit(&decoder);
    }
    bytes_deinit(&stream);
}

TEST(test_every_size_of_pieces)
{
    struct bytes stream;

    stream_make(&stream);
    for (size_t wanted = 1; wanted <= stream.count + 1; wanted++) {
        struct frame_decoder decoder;

        frame_decoder_init(&decoder, alloc_system(), LIMIT);
        assert_int_equal(stream_feed(&decoder, stream.data, stream.count, wanted, 0), FRAMES);
        frame_decoder_deinit(&decoder);
    }
    bytes_deinit(&stream);
}

TEST(test_random_pieces)
{
    struct rng random;
    struct bytes stream;

    rng_init(&random);
    stream_make(&stream);
    for (size_t round = 0; round < 2000; round++) {
        struct frame_decoder decoder;
        size_t at = 0, seen = 0;
        size_t wanted = (size_t)(rng_next(&random) % 64) + 1;

        frame_decoder_init(&decoder, alloc_system(), LIMIT);
        while (at < stream.count) {
            size_t left = stream.count - at;
            size_t some = (size_t)(rng_next(&random) % 97) + 1;

            some = some < left ? some : left;
            seen = stream_feed(&decoder, stream.data + at, some, wanted, seen);
            at += some;
            if (rng_next(&random) % 8 == 0) {
                frame_decoder_release(&decoder); /* must not lose what is pending */
            }
        }
        assert_int_equal(seen, FRAMES);
        frame_decoder_deinit(&decoder);
    }
    bytes_deinit(&stream);
}

static void feed_header(struct frame_decoder *decoder, const uint8_t *header, size_t count)
{
    uint8_t *room;
    size_t some;

    assert_int_equal(frame_decoder_reserve(decoder, count, &room, &some), 0);
    assert_int_equal(some, count);
    memcpy(room, header, count);
    frame_decoder_commit(decoder, count);
}

TEST(test_bad_lengths_are_final)
{
    static const struct {
        uint8_t header[4];
        int outcome;
        size_t length;
    } rows[] = {
        {{0, 0, 0, 0}, FRAME_EMPTY, 0},
        {{0, 0, LIMIT >> 8, (LIMIT & 0xff) + 1}, FRAME_TOO_LARGE, LIMIT + 1},
        {{0xff, 0xff, 0xff, 0xff}, FRAME_TOO_LARGE, 0xffffffff},
        {{'G', 'E', 'T', ' '}, FRAME_TOO_LARGE, 0x47455420},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct frame_decoder decoder;
        const uint8_t *frame = NULL;
        size_t length = 0;

        frame_decoder_init(&decoder, alloc_system(), LIMIT);
        feed_header(&decoder, rows[i].header, 3);
        assert_int_equal(frame_next(&decoder, &frame, &length), FRAME_MORE);
        feed_header(&decoder, rows[i].header + 3, 1);
        for (int again = 0; again < 3; again++) {
            assert_int_equal(frame_next(&decoder, &frame, &length), rows[i].outcome);
            assert_int_equal(length, rows[i].length);
            assert_null(frame);
        }
        frame_decoder_deinit(&decoder);
    }
}

/* A peer that announces much and sends little does not make us hold much. */
TEST(test_a_claim_costs_no_memory)
{
    static const uint8_t header[4] = {0, 0x10, 0, 0}; /* 1 MiB */
    struct fail_alloc memory;
    struct frame_decoder decoder;
    const uint8_t *frame;
    size_t length;

    fail_alloc_init(&memory);
    frame_decoder_init(&decoder, &memory.alloc, LIMIT_FRAME_BYTES_MAX);
    feed_header(&decoder, header, 4);
    assert_int_equal(frame_next(&decoder, &frame, &length), FRAME_MORE);
    assert_true(memory.live_bytes <= 16);
    frame_decoder_deinit(&decoder);
    assert_int_equal(memory.live_bytes, 0);
}

/* Reading on without taking frames out ends at the promised size. */
TEST(test_frames_left_inside)
{
    enum { WANTED = 64 };
    struct frame_decoder decoder;
    uint8_t *room;
    size_t some, filled = 0;
    int rv;

    frame_decoder_init(&decoder, alloc_system(), LIMIT);
    while ((rv = frame_decoder_reserve(&decoder, WANTED, &room, &some)) == 0) {
        memset(room, 0, some);
        frame_decoder_commit(&decoder, some);
        filled += some;
        assert_true(filled <= LIMIT + LIMIT_FRAME_HEADER_BYTES + WANTED);
    }
    assert_int_equal(rv, -ERR_BUDGET);
    assert_int_equal(frame_decoder_pending(&decoder), filled);
    frame_decoder_deinit(&decoder);
}

/* When memory runs out nothing is lost: the same bytes go in at the next try. */
TEST(test_nth_allocation_fails)
{
    struct bytes stream;

    stream_make(&stream);
    for (size_t n = 1;; n++) {
        struct fail_alloc memory;
        struct frame_decoder decoder;
        size_t at = 0, seen = 0;

        fail_alloc_init(&memory);
        fail_alloc_arm(&memory, n);
        frame_decoder_init(&decoder, &memory.alloc, LIMIT);
        while (at < stream.count) {
            uint8_t *room;
            size_t some;
            int rv = frame_decoder_reserve(&decoder, 16, &room, &some);

            assert_true(rv == 0 || rv == -ERR_NOMEM);
            if (rv == 0) {
                some = some < stream.count - at ? some : stream.count - at;
                memcpy(room, stream.data + at, some);
                frame_decoder_commit(&decoder, some);
                at += some;
                seen = frames_take(&decoder, seen);
            }
        }
        assert_int_equal(seen, FRAMES);
        frame_decoder_deinit(&decoder);
        assert_int_equal(memory.live_bytes, 0);
        if (memory.requests < n) {
            break; /* it was never reached: all have failed once */
        }
    }
    bytes_deinit(&stream);
}

TEST(test_header_is_big_endian)
{
    uint8_t header[4];

    frame_write_header(header, 0x0a0b0c);
    assert_memory_equal(header, ((const uint8_t[4]){0, 0x0a, 0x0b, 0x0c}), 4);
}

TEST(test_zeroed_one_can_be_given_back)
{
    struct frame_decoder decoder = {0};

    frame_decoder_deinit(&decoder);
    frame_decoder_release(&decoder);
}

/* An allocator whose blocks must be zeroed before they are freed. */
static void *resize_zeroed(void *context, void *block, size_t bytes)
{
    unsigned *freed = context;

    for (size_t i = 0; bytes == 0 && block != NULL && i < LIMIT; i++) {
        assert_int_equal(((const uint8_t *)block)[i], 0);
        *freed += i == 0;
    }
    return bytes == 0 || block != NULL ? alloc_system()->resize(NULL, block, bytes)
                                       : calloc(1, bytes);
}

/* The allocator may keep the buffer and hand it to another connection: no request is left in it,
 * wherever in the buffer it was. */
TEST(freed_buffer_has_no_request)
{
    unsigned freed = 0;
    const struct alloc alloc = {.resize = resize_zeroed, .context = &freed};
    struct frame_decoder decoder;
    struct bytes stream;
    size_t seen = 0;

    stream_make(&stream);
    frame_decoder_init(&decoder, &alloc, LIMIT);
    for (size_t at = 0, some = 0; at < stream.count; at += some) {
        uint8_t *room = NULL;
        size_t bytes = 0;

        assert_int_equal(frame_decoder_reserve(&decoder, LIMIT, &room, &bytes), 0);
        some = stream.count - at < bytes ? stream.count - at : bytes;
        memcpy(room, stream.data + at, some);
        frame_decoder_commit(&decoder, some);
        seen = frames_take(&decoder, seen);
        frame_decoder_release(&decoder);
    }
    assert_int_equal(seen, FRAMES);
    assert_true(freed > 0);
    frame_decoder_deinit(&decoder);
    bytes_deinit(&stream);
}
