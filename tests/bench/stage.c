/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/stage.h"

#include <string.h>

#include "proto/codec/codec.h"

enum { PATIENCE_MS = 60 * 1000, ARENA_BYTES = 1024 * 1024 };

static int connect_all(struct stage *stage, size_t peer_count)
{
    while (stage->peer_count < peer_count) {
        if (peer_connect(&stage->peers[stage->peer_count++], stage->child.port) != 0) {
            return -1;
        }
    }
    return 0;
}

static int greet_all(struct stage *stage)
{
    struct arena arena;
    int rc = 0;

    arena_init(&arena, alloc_system(), ARENA_BYTES);
    for (size_t i = 0; i < stage->peer_count && rc == 0; i++) {
        struct hearsay_response welcome;
        rc = peer_greet(&stage->peers[i], &arena, &welcome);
        arena_reset(&arena);
    }
    arena_deinit(&arena);
    return rc;
}

int stage_connect(struct stage *stage, size_t peer_count)
{
    return connect_all(stage, peer_count) == 0 ? greet_all(stage) : -1;
}

int stage_begin(struct stage *stage, const struct bench_options *options, const char *directory,
                size_t peer_count)
{
    memset(stage, 0, sizeof(*stage));
    return child_start_daemon(&stage->child, options->hearsayd, directory) == 0
               ? stage_connect(stage, peer_count)
               : -1;
}

/* A frame that the echo can write ids into. */
static int encode(const struct hearsay_response *response, struct bytes *out)
{
    struct hearsay_response with_id = *response;

    with_id.id = ECHO_ID;
    const int rc = codec_encode_response(&with_id, LIMIT_FRAME_BYTES_DEFAULT, out);
    return rc == 0 ? 0 : bench_fail("an answer of the echo's could not be encoded");
}

int stage_begin_echo(struct stage *stage, const struct hearsay_response *welcome,
                     const struct hearsay_response *answer, size_t peer_count)
{
    struct bytes welcome_frame;
    struct bytes answer_frame;

    memset(stage, 0, sizeof(*stage));
    bytes_init(&welcome_frame, alloc_system());
    bytes_init(&answer_frame, alloc_system());
    int rc = welcome != NULL ? encode(welcome, &welcome_frame) : 0;
    if (rc == 0) {
        rc = encode(answer, &answer_frame);
    }
    if (rc == 0) {
        const struct echo_frames frames = {
            .welcome = welcome_frame.data,
            .welcome_bytes = welcome_frame.count,
            .answer = answer_frame.data,
            .answer_bytes = answer_frame.count,
        };
        rc = child_start_echo(&stage->child, &frames);
    }
    if (rc == 0) {
        rc = connect_all(stage, peer_count);
    }
    bytes_deinit(&welcome_frame);
    bytes_deinit(&answer_frame);
    return rc;
}

void stage_end(struct stage *stage)
{
    for (size_t i = 0; i < stage->peer_count; i++) {
        peer_close(&stage->peers[i]);
    }
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
        .expected = HEARSAY_RESPONSE_DEPOSITED,
        .patience_ms = PATIENCE_MS,
    };

    return peer_run(stage->peers, stage->peer_count, &load, out);
}
