/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frame: length-prefixed frames out of a stream of bytes that may be cut anywhere.
 *
 *   +---------------------------+------------------------+
 *   | length, 4 bytes, big-end. | `length` bytes, >= 1   |
 *   +---------------------------+------------------------+
 *
 * No I/O: the owner reads into frame_decoder_reserve's room, then commits, then takes frames out
 * until there are no more. A length is checked before anything is allocated for it.
 */
#ifndef PROTO_FRAME_H
#define PROTO_FRAME_H

#include "core/base/alloc.h"

#include <stddef.h>
#include <stdint.h>

/* Named outcomes of frame_next. The last two are final: the stream cannot be read any further. */
enum {
    FRAME_MORE = 1,     /* no whole frame yet */
    FRAME_EMPTY = 2,    /* a frame of length zero: malformed */
    FRAME_TOO_LARGE = 3 /* a frame over the limit */
};

struct frame_decoder {
    const struct alloc *alloc; /* borrowed */
    size_t limit_bytes;        /* of one frame, without its header */
    uint8_t *buffer;           /* owned; NULL while nothing is buffered */
    size_t capacity;
    size_t start; /* consumed up to here */
    size_t end;   /* filled up to here */
};

/* limit_bytes: 1 .. LIMIT_FRAME_BYTES_MAX. Allocates nothing. */
void frame_decoder_init(struct frame_decoder *decoder, const struct alloc *alloc,
                        size_t limit_bytes);
void frame_decoder_deinit(struct frame_decoder *decoder); /* a zeroed one is fine */

/*
 * Room to read into, at least 1 and at most `wanted` bytes (wanted >= 1), in *out_room. The buffer
 * never exceeds the limit plus the header plus `wanted` (the largest so far). Frames taken out
 * before are invalid after this. 0; -ERR_NOMEM; -ERR_BUDGET when the buffer is full of whole frames
 * that nobody took out.
 */
int frame_decoder_reserve(struct frame_decoder *decoder, size_t wanted, uint8_t **out_room,
                          size_t *out_bytes);

/* Says that the first `count` bytes of that room are filled. count <= *out_bytes. */
void frame_decoder_commit(struct frame_decoder *decoder, size_t count);

/*
 * The next whole frame, without its header: 0, *out_frame borrowed from the decoder until the next
 * call of reserve or release. Else FRAME_MORE, FRAME_EMPTY or FRAME_TOO_LARGE; with the last, the
 * claimed length is in *out_length.
 */
int frame_next(struct frame_decoder *decoder, const uint8_t **out_frame, size_t *out_length);

/* Bytes buffered and not yet taken out. */
size_t frame_decoder_pending(const struct frame_decoder *decoder);

/* Gives the buffer back if nothing is pending, so that an idle session holds none. */
void frame_decoder_release(struct frame_decoder *decoder);

/* Writes the header for a frame of `length` bytes, 1 .. LIMIT_FRAME_BYTES_MAX. */
void frame_write_header(uint8_t out_header[4], size_t length);

#endif
