/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/frame.h"

#include <string.h>

#include "core/base/err.h"
#include "proto/limits.h"

void frame_decoder_init(struct frame_decoder *decoder, const struct alloc *alloc,
                        size_t limit_bytes)
{
    *decoder = (struct frame_decoder){.alloc = alloc, .limit_bytes = limit_bytes};
}

void frame_decoder_deinit(struct frame_decoder *decoder)
{
    if (decoder->buffer != NULL) { /* a zeroed struct has no allocator */
        /* The allocator may keep the buffer for the next request. It is called through a pointer,
         * so no compiler can know that nobody reads the zeroes. */
        memset(decoder->buffer, 0, decoder->used);
        alloc_release(decoder->alloc, decoder->buffer);
    }
    frame_decoder_init(decoder, decoder->alloc, decoder->limit_bytes);
}

size_t frame_decoder_pending(const struct frame_decoder *decoder)
{
    return decoder->end - decoder->start;
}

void frame_decoder_release(struct frame_decoder *decoder)
{
    if (frame_decoder_pending(decoder) == 0) {
        frame_decoder_deinit(decoder);
    }
}

/* Moves the pending bytes to the front of the buffer. If the caller takes out all whole frames
 * before each frame_decoder_reserve, each byte is moved at most once. */
static void frame_compact(struct frame_decoder *decoder)
{
    size_t pending = frame_decoder_pending(decoder);

    if (decoder->start == 0) {
        return;
    }
    if (pending > 0) {
        memmove(decoder->buffer, decoder->buffer + decoder->start, pending);
    }
    decoder->start = 0;
    decoder->end = pending;
}

/*
 * Grows the buffer to `needed` bytes or more, at most to the larger of `needed` and `most`.
 * `needed` counts the bytes that the caller reads now, not the length that a frame's header claims:
 * a peer that announces a large frame and sends one byte takes little memory.
 */
static int frame_grow(struct frame_decoder *decoder, size_t needed, size_t most)
{
    size_t doubled = decoder->capacity * 2;
    size_t capacity = doubled > most ? most : doubled;

    if (capacity < needed) {
        capacity = needed;
    }
    uint8_t *buffer = alloc_resize(decoder->alloc, decoder->buffer, capacity, 1);
    if (buffer == NULL) {
        return -ERR_NOMEM;
    }
    decoder->buffer = buffer;
    decoder->capacity = capacity;
    return 0;
}

int frame_decoder_reserve(struct frame_decoder *decoder, size_t wanted, uint8_t **out_room,
                          size_t *out_bytes)
{
    size_t frame_most = decoder->limit_bytes + LIMIT_FRAME_HEADER_BYTES;
    int rv;

    if (wanted > SIZE_MAX / 4) {
        wanted = SIZE_MAX / 4;
    }
    size_t most = frame_most + wanted;
    frame_compact(decoder);
    if (decoder->end >= most) {
        return -ERR_BUDGET;
    }
    size_t room = most - decoder->end < wanted ? most - decoder->end : wanted;
    if (decoder->capacity - decoder->end < room) {
        rv = frame_grow(decoder, decoder->end + room, most);
        if (rv != 0) {
            return rv;
        }
    }
    *out_room = decoder->buffer + decoder->end;
    *out_bytes = room;
    return 0;
}

void frame_decoder_commit(struct frame_decoder *decoder, size_t count)
{
    decoder->end += count;
    decoder->used = decoder->end > decoder->used ? decoder->end : decoder->used;
}

static size_t frame_read_header(const uint8_t *header)
{
    return (size_t)((uint32_t)header[0] << 24 | (uint32_t)header[1] << 16 |
                    (uint32_t)header[2] << 8 | (uint32_t)header[3]);
}

int frame_next(struct frame_decoder *decoder, const uint8_t **out_frame, size_t *out_length)
{
    size_t pending = frame_decoder_pending(decoder);

    if (pending < LIMIT_FRAME_HEADER_BYTES) {
        return FRAME_MORE;
    }
    size_t length = frame_read_header(decoder->buffer + decoder->start);
    if (length == 0) {
        return FRAME_EMPTY;
    }
    if (length > decoder->limit_bytes) {
        *out_length = length;
        return FRAME_TOO_LARGE;
    }
    if (pending - LIMIT_FRAME_HEADER_BYTES < length) {
        return FRAME_MORE;
    }
    *out_frame = decoder->buffer + decoder->start + LIMIT_FRAME_HEADER_BYTES;
    *out_length = length;
    decoder->start += LIMIT_FRAME_HEADER_BYTES + length;
    return 0;
}

void frame_write_header(uint8_t out_header[4], size_t length)
{
    out_header[0] = (uint8_t)(length >> 24 & 0xff);
    out_header[1] = (uint8_t)(length >> 16 & 0xff);
    out_header[2] = (uint8_t)(length >> 8 & 0xff);
    out_header[3] = (uint8_t)(length & 0xff);
}
