/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stage: a server and the connections to it, made and ended together.
 */
#ifndef TESTS_BENCH_STAGE_H
#define TESTS_BENCH_STAGE_H

#include "tests/bench/child.h"
#include "tests/bench/peer.h"

struct stage {
    struct child child;
    struct peer peers[PEER_MAX];
    size_t peer_count;
};

/*
 * A daemon with its data in DIRECTORY/data, and `peer_count` greeted connections. 0 or -1;
 * stage_end in any case.
 */
int stage_begin(struct stage *stage, const struct bench_options *options, const char *directory,
                size_t peer_count);

/* The connections alone, to a stage whose child was started otherwise. */
int stage_connect(struct stage *stage, size_t peer_count);

/*
 * The same with an echo server. Its connections are not greeted; it answers Hello with `welcome`
 * (NULL: not at all) and everything else with `answer`.
 */
int stage_begin_echo(struct stage *stage, const struct msg_response *welcome,
                     const struct msg_response *answer, size_t peer_count);

void stage_end(struct stage *stage); /* a zeroed one is fine */

/*
 * Deposits all of `frames`, with `in_flight` of them under way over all connections together.
 * 0 or -1.
 */
int stage_deposit(struct stage *stage, const struct frames *frames, uint64_t in_flight,
                  struct peer_outcome *out);

#endif
