/* SPDX-License-Identifier: Apache-2.0 */
/* stage: a server and the connections to the server, which are started and ended together. */
#pragma once

#include "tests/bench/child.h"
#include "tests/bench/peer.h"

struct stage {
    struct child child;
    struct peer peers[PEER_MAX];
    size_t peer_count;
};

/*
 * Starts a daemon with its data in DIRECTORY/data, and `peer_count` connections that have said
 * Hello. Returns 0 or -1; call stage_end in both cases.
 */
int stage_begin(struct stage *stage, const struct bench_options *options, const char *directory,
                size_t peer_count);

/* Makes only the connections, to a stage whose server was started in another way. */
int stage_connect(struct stage *stage, size_t peer_count);

/*
 * Starts an echo server and its connections, which do not say Hello. The server answers Hello with
 * `welcome` (NULL: not at all) and every other request with `answer`.
 */
int stage_begin_echo(struct stage *stage, const struct hearsay_response *welcome,
                     const struct hearsay_response *answer, size_t peer_count);

void stage_end(struct stage *stage); /* a zeroed one is fine */

/*
 * Sends all deposits in `frames`, with `in_flight` deposits in flight over all connections
 * together. Returns 0 or -1.
 */
int stage_deposit(struct stage *stage, const struct frames *frames, uint64_t in_flight,
                  struct peer_outcome *out);
