/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/codec/envelope.h"

#include <stdbool.h>

#include "core/base/err.h"
#include "proto/bridge.pb-c.h"
#include "proto/hearsay.pb-c.h"

const struct scan_count codec_counts[] = {
    {&hearsay__v1__hello__descriptor, "versions", LIMIT_VERSIONS},
    {&hearsay__v1__error__descriptor, "versions", LIMIT_VERSIONS},
    {&hearsay__v1__query__descriptor, "parts", LIMIT_PARTS},
    {&hearsay__v1__query__descriptor, "exclude", LIMIT_SLICES},
    {&hearsay__v1__welcome__descriptor, "capabilities", LIMIT_CAPABILITIES},
    {&hearsay__v1__welcome__descriptor, "hosts", LIMIT_HOSTS},
    {&hearsay__v1__host_info__descriptor, "here", LIMIT_LABELS},
    {&hearsay__v1__results__descriptor, "results", LIMIT_RESULTS},
    {&hearsay__v1__exported__descriptor, "messages", LIMIT_EXPORTED},
    {&hearsay__v1__here_labels__descriptor, "labels", LIMIT_LABELS},
    {&hearsay__v1__here_changed__descriptor, "labels", LIMIT_LABELS},
    {&hearsay__v1__stats_taken__descriptor, "figures", LIMIT_FIGURES},
    {&hearsay__v1__reported_list__descriptor, "messages", LIMIT_REPORTED},
    {&hearsay__v1__reported_message__descriptor, "reasons", LIMIT_REASONS},
    {&hearsay__v1__ban_list__descriptor, "bans", LIMIT_BANS},
    {&hearsay__v1__decision_list__descriptor, "decisions", LIMIT_DECISIONS},
    {&hearsay__v1__similar_list__descriptor, "groups", LIMIT_SIMILAR},
    {&hearsay__v1__results__descriptor, "notices", LIMIT_NOTICES},
    {&hearsay__v1__noticed__descriptor, "notices", LIMIT_NOTICES},
    {&hearsay__v1__notices_changed__descriptor, "notices", LIMIT_NOTICES},
    {&hearsay__v1__summarized__descriptor, "groups", LIMIT_GROUPS},
    {&hearsay__v1__summary_group__descriptor, "least", LIMIT_SECTIONS},
    {&hearsay__v1__summary_group__descriptor, "most", LIMIT_SECTIONS},
    {&hearsay__v1__serve__descriptor, "hoods", LIMIT_HOSTS},
    {&hearsay__v1__changed__descriptor, "changes", LIMIT_CHANGES},
    {&hearsay__v1__apply__descriptor, "changes", LIMIT_CHANGES},
    {&hearsay__v1__page__descriptor, "changes", LIMIT_CHANGES},
    {&hearsay__v1__peer_summary__descriptor, "groups", LIMIT_GROUPS},
    {&hearsay__v1__checked__descriptor, "problems", LIMIT_REPEATED},
};
const size_t codec_count_count = sizeof(codec_counts) / sizeof(codec_counts[0]);

const struct map_body *codec_body_numbered(const struct codec_envelope *envelope, uint32_t number)
{
    for (size_t i = 0; i < envelope->body_count; i++) {
        if (envelope->bodies[i].number == number) {
            return &envelope->bodies[i];
        }
    }
    return NULL;
}

const struct map_body *codec_body_of_kind(const struct codec_envelope *envelope, int kind)
{
    for (size_t i = 0; i < envelope->body_count; i++) {
        if (envelope->bodies[i].kind == kind) {
            return &envelope->bodies[i];
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

int codec_unpack(const struct codec_envelope *envelope, struct msg_bytes frame, struct arena *arena,
                 ProtobufCMessage **out_message, struct msg_error *out_error)
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
        msg_error_set(out_error, MSG_MALFORMED, NULL, "the bytes are not a %s", envelope->name);
        return CODEC_MALFORMED;
    }
    *out_message = message;
    return 0;
}
