/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/codec/inner.h"

const struct map_body *codec_body(const struct codec_envelope *envelope, uint32_t kind)
{
    for (size_t i = 0; i < envelope->bodies->count; i++) {
        if (envelope->bodies->rows[i].kind == kind) {
            return &envelope->bodies->rows[i];
        }
    }
    return NULL;
}

/* --- protobuf-c's allocator over an arena ----------------------------------------------------- */

struct codec_memory {
    struct arena *arena;
    bool failed;
};

static void *codec_memory_take(void *data, size_t bytes)
{
    struct codec_memory *memory = data;
    void *room = arena_take(memory->arena, bytes);

    memory->failed = memory->failed || room == NULL;
    return room;
}

static void codec_memory_give(void *data, void *room)
{
    (void)data; /* the arena takes everything back at once */
    (void)room;
}

int codec_unpack(const struct codec_envelope *envelope, struct hearsay_bytes frame,
                 struct arena *arena, ProtobufCMessage **out_message, struct msg_error *out_error)
{
    struct scan_rules rules = {
        .counts = codec_counts,
        .count_count = codec_count_count,
        .repeated_most = LIMIT_REPEATED,
        .unknown_most = envelope->unknown_most,
        .nesting_most = LIMIT_NESTING,
    };
    struct codec_memory memory = {.arena = arena};
    ProtobufCAllocator allocator = {codec_memory_take, codec_memory_give, &memory};
    int rv = scan_message(envelope->descriptor, &rules, frame.data, frame.count, out_error);

    if (rv != 0) {
        return rv;
    }
    ProtobufCMessage *message =
        protobuf_c_message_unpack(envelope->descriptor, &allocator, frame.count, frame.data);
    if (message == NULL && memory.failed) {
        return map_out_of_memory(arena, out_error);
    }
    if (message == NULL) { /* not expected: the scan should refuse what protobuf-c refuses */
        msg_error_set(out_error, HEARSAY_CODE_MALFORMED, NULL, "the bytes are not a %s",
                      envelope->name);
        return CODEC_MALFORMED;
    }
    *out_message = message;
    return 0;
}
