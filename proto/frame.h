/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frame: takes length-prefixed frames out of a stream of bytes that may be cut anywhere.
 *
 *   +---------------------------+------------------------+
 *   | length, 4 bytes, big-end. | `length` bytes, >= 1   |
 *   +---------------------------+------------------------+
 *
 * The decoder does no I/O. Its owner reads bytes into the room that frame_decoder_reserve returns,
 * calls frame_decoder_commit, and then frame_next until there is no whole frame. The decoder
 * allocates memory for bytes that are read, not for the length that a header claims.
 */
#pragma once

#include <stdint.h>

#include "core/base/alloc.h"

/*
 * Positive outcomes of frame_next. After FRAME_EMPTY or FRAME_TOO_LARGE no further frame of the
 * stream can be read.
 */
enum {
    FRAME_MORE = 1,     /* no whole frame yet */
    FRAME_EMPTY = 2,    /* a frame of length zero: malformed */
    FRAME_TOO_LARGE = 3 /* a frame over the limit */
};

struct frame_decoder {
    const struct alloc *alloc; /* borrowed */
    size_t limit_bytes;        /* largest frame, without its header */
    uint8_t *buffer;           /* owned; `capacity` bytes, or NULL */
    size_t capacity;
    size_t start; /* consumed up to here */
    size_t end;   /* filled up to here */
    size_t used;  /* so many bytes of the buffer have had bytes of the stream */
};

/*
 * Prepares a decoder. limit_bytes: the largest frame without its header, 1 ..
 * LIMIT_FRAME_BYTES_MAX. Allocates nothing. The decoder borrows `alloc`.
 */
void frame_decoder_init(struct frame_decoder *decoder, const struct alloc *alloc,
                        size_t limit_bytes);
void frame_decoder_deinit(struct frame_decoder *decoder); /* a zeroed struct is fine */

/*
 * Returns memory to read into: *out_room, with *out_bytes bytes, at least 1 and at most `wanted`
 * (wanted >= 1). The buffer grows to at most limit_bytes plus 4 bytes of header plus the largest
 * `wanted` so far. Frames that frame_next returned before become invalid. 0; -ERR_NOMEM;
 * -ERR_BUDGET: the buffer is full, because the caller did not call frame_next until FRAME_MORE.
 */
int frame_decoder_reserve(struct frame_decoder *decoder, size_t wanted, uint8_t **out_room,
                          size_t *out_bytes);

/*
 * Tells the decoder that the caller has filled the first `count` bytes of the memory from the last
 * frame_decoder_reserve; `count` is not larger than that memory.
 */
void frame_decoder_commit(struct frame_decoder *decoder, size_t count);

/*
 * Takes out the next whole frame. 0: *out_frame is the frame without its header and *out_length its
 * length; the frame is borrowed from the decoder until the next frame_decoder_reserve,
 * frame_decoder_release or frame_decoder_deinit. Otherwise FRAME_MORE, FRAME_EMPTY, or
 * FRAME_TOO_LARGE with the claimed length in *out_length.
 */
int frame_next(struct frame_decoder *decoder, const uint8_t **out_frame, size_t *out_length);

/* Returns how many bytes of the buffer frame_next has not taken out, headers included. */
size_t frame_decoder_pending(const struct frame_decoder *decoder);

/* Overwrites the bytes that were read, and frees the buffer, if frame_next has taken out every
 * byte. */
void frame_decoder_release(struct frame_decoder *decoder);

/* Writes the header of a frame of `length` bytes, 1 .. LIMIT_FRAME_BYTES_MAX. */
void frame_write_header(uint8_t out_header[4], size_t length);
