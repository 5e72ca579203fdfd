/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames out of a stream: wherever the stream is cut, the same frames come out as from the whole of
 * it, the same end is met, and the buffer keeps its bound.
 */
#include "core/base/err.h"
#include "proto/frame.h"
#include "proto/limits.h"
#include "tests/fuzz/fuzz.h"

enum { HEADER = LIMIT_FRAME_HEADER_BYTES };

/* The plain way: a stream that is there as a whole. */
struct reference {
    const uint8_t *data;
    size_t count;
    size_t at;
    size_t limit;
};

static int reference_next(struct reference *stream, const uint8_t **out_frame, size_t *out_length)
{
    const size_t left = stream->count - stream->at;
    const uint8_t *header = stream->data + stream->at;
    size_t length;

    if (left < HEADER) {
        return FRAME_MORE;
    }
    length = (size_t)header[0] << 24 | (size_t)header[1] << 16 | (size_t)header[2] << 8 | header[3];
    *out_length = length;
    if (length == 0) {
        return FRAME_EMPTY;
    }
    if (length > stream->limit) {
        return FRAME_TOO_LARGE;
    }
    if (left - HEADER < length) {
        return FRAME_MORE;
    }
    *out_frame = header + HEADER;
    stream->at += HEADER + length;
    return 0;
}

/* Takes out all that is whole. What frame_next said last. */
static int take_frames(struct frame_decoder *decoder, struct reference *reference)
{
    for (;;) {
        struct reference before = *reference;
        const uint8_t *frame = NULL;
        const uint8_t *expected = NULL;
        size_t length = 0;
        size_t expected_length = 0;
        const int rc = frame_next(decoder, &frame, &length);

        /* What has come so far is a prefix: the reference is asked only where that holds a frame.
         */
        if (rc == FRAME_MORE) {
            return rc;
        }
        FUZZ_CHECK(reference_next(reference, &expected, &expected_length) == rc);
        if (rc != 0) {
            FUZZ_CHECK(rc != FRAME_TOO_LARGE || length == expected_length);
            *reference = before;
            return rc;
        }
        FUZZ_CHECK(length == expected_length && memcmp(frame, expected, length) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    const size_t limit = 1 + fuzz_u16(&input) % 5000;
    const size_t wanted = 1 + fuzz_byte(&input);
    uint32_t cut = fuzz_byte(&input) + 1U;
    struct reference reference = {.data = input.data, .count = input.left, .limit = limit};
    struct frame_decoder decoder;
    int rc = FRAME_MORE;

    frame_decoder_init(&decoder, alloc_system(), limit);
    while (input.left > 0 && rc == FRAME_MORE) {
        uint8_t *room = NULL;
        size_t room_bytes = 0;
        size_t count = 0;

        cut = cut * 1103515245U + 12345U;
        FUZZ_CHECK(frame_decoder_reserve(&decoder, wanted, &room, &room_bytes) == 0);
        FUZZ_CHECK(room_bytes >= 1 && room_bytes <= wanted);
        FUZZ_CHECK(decoder.capacity <= limit + HEADER + wanted);
        const uint8_t *bytes = fuzz_bytes(&input, 1 + (cut >> 16) % room_bytes, &count);
        memcpy(room, bytes, count);
        frame_decoder_commit(&decoder, count);
        rc = take_frames(&decoder, &reference);
        if ((cut & 0x100) != 0) {
            frame_decoder_release(&decoder);
        }
    }
    if (rc == FRAME_MORE) { /* nothing whole is left behind */
        const uint8_t *frame = NULL;
        size_t length = 0;

        FUZZ_CHECK(reference_next(&reference, &frame, &length) == FRAME_MORE);
        FUZZ_CHECK(frame_decoder_pending(&decoder) == reference.count - reference.at);
    }
    frame_decoder_deinit(&decoder);
    return 0;
}
