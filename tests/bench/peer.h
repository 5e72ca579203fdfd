/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer: a client that keeps several requests in flight over one or more connections, from one
 * thread, with poll. It sends ready-made frames and reads only the kind of each answer, because the
 * client's own CPU time would make the server look better than it is.
 */
#pragma once

#include "proto/arena.h"
#include "proto/frame.h"
#include "tests/bench/workload.h"

enum { PEER_MAX = 64 };

struct peer {
    int descriptor;
    struct frame_decoder input;
    size_t first; /* its frames in load.frames, `count` of them */
    size_t count;
    uint64_t total; /* requests to make; beyond `count` its frames are sent again */
    uint64_t sent;
    uint64_t answered;
    size_t partial_bytes; /* of frame `sent`, gone out already */
};

struct peer_load {
    const struct frames *frames; /* divided among the peers */
    uint64_t total;              /* requests in all */
    uint64_t window;             /* requests of one peer in flight */
    enum hearsay_response_kind expected;
    int64_t patience_ms;  /* for the whole of it */
    double *latencies_us; /* NULL, or room for total; one peer and a window of 1 */
};

struct peer_outcome {
    double seconds;     /* from the first byte sent to the last answer */
    double cpu_seconds; /* of this thread */
    uint64_t bytes_in;
};

/* Connects to 127.0.0.1:port. 0 or -1. peer_close in any case. */
int peer_connect(struct peer *peer, uint16_t port);
void peer_close(struct peer *peer); /* one that was never connected is fine */

/* Says Hello and waits for Welcome, which borrows from the arena. Returns 0 or -1. */
int peer_greet(struct peer *peer, struct arena *arena, struct hearsay_response *out);

/*
 * Sends the load and waits for all answers. An answer of another kind, a closed connection or a
 * timeout is a failure. Returns 0 or -1.
 */
int peer_run(struct peer *peers, size_t peer_count, const struct peer_load *load,
             struct peer_outcome *out);

/*
 * Sends one request (frame `number`) and waits for its answer. The bytes of the answer are borrowed
 * from the peer until its next use; the response is borrowed from the arena. Returns 0 or -1.
 */
int peer_ask(struct peer *peer, const struct frames *frames, size_t number, struct arena *arena,
             struct hearsay_response *out, size_t *out_bytes);
