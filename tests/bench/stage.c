/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/stage.h"

#include "proto/codec.h"

#include <string.h>

enum { PATIENCE_MS = 60 * 1000, ARENA_BYTES = 1024 * 1024 };

static int connect_all(struct stage *stage, size_t peer_count)
{
    while (stage->peer_count < peer_count) {
        if (peer_connect(&stage->peers[stage->peer_count++], stage->child.port) != 0)
            return -1;
    }
    return 0;
}

int stage_begin(struct stage *stage, const struct bench_options *options, const char *directory,
                size_t peer_count)
{
    memset(stage, 0, sizeof(*stage));
    if (child_start_daemon(&stage->child, options->hearsayd, directory) != 0 ||
        connect_all(stage, peer_count) != 0)
        return -1;
    for (size_t i = 0; i < peer_count; i++) {
        if (peer_greet(&stage->peers[i]) != 0)
            return -1;
    }
    return 0;
}

int stage_begin_echo(struct stage *stage, const struct msg_response *answer, size_t peer_count)
{
    struct arena arena;
    struct bytes frame;

    memset(stage, 0, sizeof(*stage));
    arena_init(&arena, alloc_system(), ARENA_BYTES);
    bytes_init(&frame, alloc_system());
    int rc = codec_encode_response(answer, &arena, LIMIT_FRAME_BYTES_DEFAULT, &frame);
    if (rc != 0)
        rc = bench_fail("the echo's answer could not be encoded");
    if (rc == 0)
        rc = child_start_echo(&stage->child, frame.data, frame.count);
    if (rc == 0)
        rc = connect_all(stage, peer_count);
    bytes_deinit(&frame);
    arena_deinit(&arena);
    return rc;
}

void stage_end(struct stage *stage)
{
    for (size_t i = 0; i < stage->peer_count; i++)
        peer_close(&stage->peers[i]);
    stage->peer_count = 0;
    child_stop(&stage->child);
}

int stage_deposit(struct stage *stage, const struct frames *frames, uint64_t in_flight,
                  struct peer_outcome *out)
{
    const struct peer_load load = {
        .frames = frames,
        .total = frames->count,
        .window = in_flight / stage->peer_count,
        .expected = MSG_RESPONSE_DEPOSITED,
        .patience_ms = PATIENCE_MS,
    };

    return peer_run(stage->peers, stage->peer_count, &load, out);
}
