/* SPDX-License-Identifier: Apache-2.0 */
/*
 * echo: the opponent: the least that a libuv server with the same frames can do. It answers Hello
 * with one ready-made frame and every other request with another; of a request it reads the length
 * and the id, and writes that into the answer. All answers to what came in one read go out in one
 * write.
 */
#ifndef TESTS_BENCH_ECHO_H
#define TESTS_BENCH_ECHO_H

#include <stddef.h>
#include <stdint.h>

/*
 * The id that ready-made frames have: the smallest that takes ECHO_ID_BYTES. Smaller ones, which
 * are those of requests, are written over it in as many bytes; the protocol does not mind.
 */
enum { ECHO_ID_BYTES = 4, ECHO_ID = 1 << 7 * (ECHO_ID_BYTES - 1) };

/* Responses with the id ECHO_ID, each a frame with its header. Borrowed. */
struct echo_frames {
    const uint8_t *welcome; /* NULL: Hello is not expected */
    size_t welcome_bytes;
    const uint8_t *answer;
    size_t answer_bytes;
};

/* Serves on a listening socket (taken) until SIGTERM. 0, or -1 when it could not begin. */
int echo_serve(int listener, const struct echo_frames *frames);

#endif
