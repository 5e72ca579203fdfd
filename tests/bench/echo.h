/* SPDX-License-Identifier: Apache-2.0 */
/*
 * echo: the opponent: the least that a libuv server with the same frames can do. For every frame
 * it answers with one fixed frame; all answers to what came in one read go out in one write.
 */
#ifndef TESTS_BENCH_ECHO_H
#define TESTS_BENCH_ECHO_H

#include <stddef.h>
#include <stdint.h>

/*
 * Serves on a listening socket (taken) until SIGTERM. `answer` (borrowed) is sent as it is. 0, or
 * -1 when it could not begin.
 */
int echo_serve(int listener, const uint8_t *answer, size_t answer_bytes);

#endif
