/* SPDX-License-Identifier: Apache-2.0 */
/*
 * echo: a minimal libuv server with the frames of hearsayd, for comparison. It answers Hello with
 * one ready-made frame and every other request with another ready-made frame. It reads only the
 * length and the id of a request, and writes the id into the answer. All answers to the requests of
 * one read are sent in one write.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * The id of ready-made frames: the smallest id of ECHO_ID_BYTES bytes. The server writes the id of
 * a request over this id, in as many bytes; the protocol allows unnecessary bytes in a number.
 */
enum { ECHO_ID_BYTES = 4, ECHO_ID = 1 << 7 * (ECHO_ID_BYTES - 1) };

/* Responses with the id ECHO_ID. Each is a frame with its header. Borrowed. */
struct echo_frames {
    const uint8_t *welcome; /* NULL: Hello is not expected */
    size_t welcome_bytes;
    const uint8_t *answer;
    size_t answer_bytes;
};

/*
 * Serves on a listening socket until SIGTERM, and closes the socket. Returns 0, or -1 if the server
 * could not start.
 */
int echo_serve(int listener, const struct echo_frames *frames);
