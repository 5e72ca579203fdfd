/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/base/err.h"
#include "proto/codec/admin.h"
#include "proto/codec/codec.h"
#include "proto/codec/envelope.h"
#include "proto/codec/form.h"
#include "proto/codec/map.h"
#include "proto/hearsay.pb-c.h"

/* A server newer than us may send codes that we do not know; the client shows the sentence. */
static const struct map_field error_fields[] = {
    {MAP_ENUM_ROW(Hearsay__V1__Error, Hearsay__V1__ErrorCode, code, struct msg_error,
                  enum msg_error_code, code),
     .needed = true, .min = 1, .max = INT32_MAX},
    {MAP_CHARS_ROW(Hearsay__V1__Error, message, struct msg_error, message)},
    {MAP_CHARS_ROW(Hearsay__V1__Error, field, struct msg_error, field)},
    {MAP_U64_ROW(Hearsay__V1__Error, retry_after_ms, struct msg_error, retry_after_ms)},
    {MAP_NUMBERS_ROW(Hearsay__V1__Error, versions, struct msg_error, versions, version_count)},
};
static const struct map error_map =
    MAP_OF("error", &hearsay__v1__error__descriptor, struct msg_error, error_fields);

#define LIMIT_ROW(field)                                                  \
    {                                                                     \
        MAP_U32_ROW(Hearsay__V1__Limits, field, struct msg_limits, field) \
    }
static const struct map_field limits_fields[] = {
    LIMIT_ROW(frame_bytes),
    LIMIT_ROW(payload_bytes),
    LIMIT_ROW(media_type_bytes),
    LIMIT_ROW(deposit_fill_min_ppm),
    LIMIT_ROW(deposit_fill_max_ppm),
    LIMIT_ROW(query_fill_max_ppm),
    LIMIT_ROW(k_max),
    LIMIT_ROW(ttl_default_s),
    LIMIT_ROW(ttl_max_s),
    LIMIT_ROW(parts_max),
    LIMIT_ROW(requests_in_flight),
    LIMIT_ROW(deposits_per_minute),
    LIMIT_ROW(queries_per_minute),
    LIMIT_ROW(deposit_burst),
    LIMIT_ROW(query_burst),
    LIMIT_ROW(sessions),
    LIMIT_ROW(sessions_per_address),
    {MAP_U64_ROW(Hearsay__V1__Limits, session_output_bytes, struct msg_limits,
                 session_output_bytes)},
    {MAP_U64_ROW(Hearsay__V1__Limits, messages, struct msg_limits, messages)},
    {MAP_U64_ROW(Hearsay__V1__Limits, bytes, struct msg_limits, bytes)},
    {MAP_U32_ROW(Hearsay__V1__Limits, sender_share_ppm, struct msg_limits, sender_share_ppm),
     .max = LIMIT_DISTANCE_PPM, .absent = LIMIT_DISTANCE_PPM},
    LIMIT_ROW(work_bits),
    LIMIT_ROW(watches_per_session),
    LIMIT_ROW(watches),
};
static const struct map limits_map =
    MAP_OF("limits", &hearsay__v1__limits__descriptor, struct msg_limits, limits_fields);

static const struct map_field epoch_fields[] = {
    {MAP_U64_ROW(Hearsay__V1__EpochInfo, number, struct msg_epoch, number)},
    {MAP_BYTES_ROW(Hearsay__V1__EpochInfo, key, struct msg_epoch, key), .min = LIMIT_KEY_BYTES,
     .max = LIMIT_KEY_BYTES},
    {MAP_I64_ROW(Hearsay__V1__EpochInfo, starts_ms, struct msg_epoch, starts_ms)},
    {MAP_I64_ROW(Hearsay__V1__EpochInfo, ends_ms, struct msg_epoch, ends_ms)},
    {MAP_I64_ROW(Hearsay__V1__EpochInfo, kept_ms, struct msg_epoch, kept_ms)},
};
static const struct map epoch_map =
    MAP_OF("an epoch", &hearsay__v1__epoch_info__descriptor, struct msg_epoch, epoch_fields);

static const struct map_field epoch_changed_fields[] = {
    {MAP_TEXT_ROW(Hearsay__V1__EpochChanged, host, struct msg_epoch_changed, host), .needed = true,
     .min = 1, .max = LIMIT_HOST_BYTES, .form = &codec_form_host},
    {MAP_INNER_ROW(Hearsay__V1__EpochChanged, Hearsay__V1__EpochInfo, epoch,
                   struct msg_epoch_changed, struct msg_epoch, epoch, &epoch_map),
     .needed = true},
};
static const struct map epoch_changed_map =
    MAP_OF("epoch_changed", &hearsay__v1__epoch_changed__descriptor, struct msg_epoch_changed,
           epoch_changed_fields);

static const struct map_field host_fields[] = {
    {MAP_TEXT_ROW(Hearsay__V1__HostInfo, name, struct msg_host, name), .needed = true, .min = 1,
     .max = LIMIT_HOST_BYTES, .form = &codec_form_host},
    {MAP_TEXT_ROW(Hearsay__V1__HostInfo, profile, struct msg_host, profile), .needed = true,
     .min = 1, .max = LIMIT_PROFILE_BYTES},
    {MAP_TEXTS_ROW(Hearsay__V1__HostInfo, here, struct msg_host, here, here_count), .min = 1,
     .max = LIMIT_LABEL_BYTES},
    {MAP_U32_ROW(Hearsay__V1__HostInfo, suggested_max_distance, struct msg_host,
                 suggested_max_distance_ppm),
     .max = LIMIT_DISTANCE_PPM, .absent = LIMIT_DISTANCE_PPM},
    {MAP_MAYBE_ROW(Hearsay__V1__HostInfo, Hearsay__V1__EpochInfo, epoch, struct msg_host,
                   struct msg_epoch, epoch, has_epoch, &epoch_map)},
    {MAP_U64_ROW(Hearsay__V1__HostInfo, messages, struct msg_host, messages)},
    {MAP_U64_ROW(Hearsay__V1__HostInfo, bytes, struct msg_host, bytes)},
    {MAP_ENUM_ROW(Hearsay__V1__HostInfo, Hearsay__V1__Evict, evict, struct msg_host, enum msg_evict,
                  evict),
     .min = MSG_EVICT_REJECT, .max = MSG_EVICT_SOONEST_EXPIRING, .absent = MSG_EVICT_REJECT},
    {MAP_ENUM_ROW(Hearsay__V1__HostInfo, Hearsay__V1__Acceptance, accept, struct msg_host,
                  enum msg_acceptance, accept),
     .min = MSG_ACCEPT_OPEN, .max = MSG_ACCEPT_CLOSED, .absent = MSG_ACCEPT_OPEN},
    {MAP_I64_ROW(Hearsay__V1__HostInfo, accept_until_ms, struct msg_host, accept_until_ms)},
};
static const struct map host_map =
    MAP_OF("a host", &hearsay__v1__host_info__descriptor, struct msg_host, host_fields);

static const struct map_field welcome_fields[] = {
    {MAP_U32_ROW(Hearsay__V1__Welcome, version, struct msg_welcome, version), .needed = true,
     .min = 1},
    {MAP_BYTES_ROW(Hearsay__V1__Welcome, store_id, struct msg_welcome, store_id), .needed = true,
     .min = LIMIT_ID_BYTES, .max = LIMIT_ID_BYTES},
    {MAP_I64_ROW(Hearsay__V1__Welcome, now_ms, struct msg_welcome, now_ms)},
    {MAP_BOOL_ROW(Hearsay__V1__Welcome, clock_trusted, struct msg_welcome, clock_trusted)},
    {MAP_INNER_ROW(Hearsay__V1__Welcome, Hearsay__V1__Limits, limits, struct msg_welcome,
                   struct msg_limits, limits, &limits_map),
     .needed = true},
    {MAP_TEXTS_ROW(Hearsay__V1__Welcome, capabilities, struct msg_welcome, capabilities,
                   capability_count)},
    {MAP_LIST_ROW(Hearsay__V1__Welcome, Hearsay__V1__HostInfo, hosts, struct msg_welcome,
                  struct msg_host, hosts, host_count, &host_map)},
    {MAP_BYTES_ROW(Hearsay__V1__Welcome, resume_token, struct msg_welcome, resume_token), .min = 1,
     .max = LIMIT_RESUME_BYTES},
    {MAP_TEXT_ROW(Hearsay__V1__Welcome, agent, struct msg_welcome, agent),
     .max = LIMIT_AGENT_BYTES},
    {MAP_MAYBE_ROW(Hearsay__V1__Welcome, Hearsay__V1__Error, dropped, struct msg_welcome,
                   struct msg_error, dropped, has_dropped, &error_map)},
};
static const struct map welcome_map =
    MAP_OF("welcome", &hearsay__v1__welcome__descriptor, struct msg_welcome, welcome_fields);

static const struct map_field deposited_fields[] = {
    {MAP_I64_ROW(Hearsay__V1__Deposited, expires_ms, struct msg_deposited, expires_ms)},
    {MAP_BOOL_ROW(Hearsay__V1__Deposited, duplicate, struct msg_deposited, duplicate)},
    /* Needed: nothing may be taken for durable because a field is missing. */
    {MAP_ENUM_ROW(Hearsay__V1__Deposited, Hearsay__V1__Durability, durability, struct msg_deposited,
                  enum msg_durability, durability),
     .needed = true, .min = MSG_DURABILITY_STORAGE, .max = MSG_DURABILITY_RELAXED},
    {MAP_I64_ROW(Hearsay__V1__Deposited, deposited_ms, struct msg_deposited, deposited_ms)},
    {MAP_BOOL_ROW(Hearsay__V1__Deposited, held, struct msg_deposited, held)},
};
static const struct map deposited_map = MAP_OF("deposited", &hearsay__v1__deposited__descriptor,
                                               struct msg_deposited, deposited_fields);

static const struct map_field result_fields[] = {
    {MAP_BYTES_ROW(Hearsay__V1__Result, id, struct msg_result, id), .needed = true,
     .min = LIMIT_ID_BYTES, .max = LIMIT_ID_BYTES},
    {MAP_U32_ROW(Hearsay__V1__Result, intersection_count, struct msg_result, intersection_count)},
    {MAP_U32_ROW(Hearsay__V1__Result, union_count, struct msg_result, union_count)},
    {MAP_U32_ROW(Hearsay__V1__Result, distance, struct msg_result, distance_ppm),
     .max = LIMIT_DISTANCE_PPM},
    {MAP_U32_ROW(Hearsay__V1__Result, estimated_similarity, struct msg_result,
                 estimated_similarity_ppm),
     .max = LIMIT_DISTANCE_PPM},
    {MAP_I64_ROW(Hearsay__V1__Result, deposited_ms, struct msg_result, deposited_ms)},
    {MAP_I64_ROW(Hearsay__V1__Result, expires_ms, struct msg_result, expires_ms)},
    {MAP_TEXT_ROW(Hearsay__V1__Result, media_type, struct msg_result, media_type), .min = 1,
     .max = LIMIT_MEDIA_TYPE_BYTES, .form = &codec_form_media_type},
    {MAP_BYTES_ROW(Hearsay__V1__Result, payload, struct msg_result, payload)},
    {MAP_BOOL_ROW(Hearsay__V1__Result, payload_omitted, struct msg_result, payload_omitted)},
    {MAP_U64_ROW(Hearsay__V1__Result, epoch, struct msg_result, epoch)},
};
static const struct map result_map =
    MAP_OF("a result", &hearsay__v1__result__descriptor, struct msg_result, result_fields);

static const struct map_field results_fields[] = {
    {MAP_LIST_ROW(Hearsay__V1__Results, Hearsay__V1__Result, results, struct msg_results,
                  struct msg_result, results, result_count, &result_map)},
    {MAP_U64_ROW(Hearsay__V1__Results, comparisons, struct msg_results, comparisons)},
    {MAP_BOOL_ROW(Hearsay__V1__Results, exact, struct msg_results, exact)},
    {MAP_BOOL_ROW(Hearsay__V1__Results, capped, struct msg_results, capped)},
};
static const struct map results_map =
    MAP_OF("results", &hearsay__v1__results__descriptor, struct msg_results, results_fields);

static const struct map_field watching_fields[] = {
    {MAP_U64_ROW(Hearsay__V1__Watching, watch_id, struct msg_watching, watch_id)},
    {MAP_U64_ROW(Hearsay__V1__Watching, seq, struct msg_watching, seq)},
};
static const struct map watching_map =
    MAP_OF("watching", &hearsay__v1__watching__descriptor, struct msg_watching, watching_fields);

static const struct map_field match_fields[] = {
    {MAP_U64_ROW(Hearsay__V1__Match, watch_id, struct msg_match, watch_id)},
    {MAP_U64_ROW(Hearsay__V1__Match, seq, struct msg_match, seq)},
    {MAP_INNER_ROW(Hearsay__V1__Match, Hearsay__V1__Result, result, struct msg_match,
                   struct msg_result, result, &result_map),
     .needed = true},
};
static const struct map match_map =
    MAP_OF("match", &hearsay__v1__match__descriptor, struct msg_match, match_fields);

static const struct map_field got_fields[] = {
    {MAP_BYTES_ROW(Hearsay__V1__Got, id, struct msg_got, id), .needed = true, .min = LIMIT_ID_BYTES,
     .max = LIMIT_ID_BYTES},
    {MAP_U64_ROW(Hearsay__V1__Got, epoch, struct msg_got, epoch)},
    {MAP_I64_ROW(Hearsay__V1__Got, deposited_ms, struct msg_got, deposited_ms)},
    {MAP_I64_ROW(Hearsay__V1__Got, expires_ms, struct msg_got, expires_ms)},
    {MAP_TEXT_ROW(Hearsay__V1__Got, media_type, struct msg_got, media_type), .min = 1,
     .max = LIMIT_MEDIA_TYPE_BYTES, .form = &codec_form_media_type},
    {MAP_BYTES_ROW(Hearsay__V1__Got, payload, struct msg_got, payload)},
};
static const struct map got_map =
    MAP_OF("got", &hearsay__v1__got__descriptor, struct msg_got, got_fields);

static const struct map_field pong_fields[] = {
    {MAP_I64_ROW(Hearsay__V1__Pong, now_ms, struct msg_pong, now_ms)},
    {MAP_BOOL_ROW(Hearsay__V1__Pong, clock_trusted, struct msg_pong, clock_trusted)},
};
static const struct map pong_map =
    MAP_OF("pong", &hearsay__v1__pong__descriptor, struct msg_pong, pong_fields);

static const struct map_field exported_message_fields[] = {
    {MAP_BYTES_ROW(Hearsay__V1__ExportedMessage, id, struct msg_exported_message, id),
     .needed = true, .min = LIMIT_ID_BYTES, .max = LIMIT_ID_BYTES},
    {MAP_U64_ROW(Hearsay__V1__ExportedMessage, epoch, struct msg_exported_message, epoch)},
    {MAP_BYTES_ROW(Hearsay__V1__ExportedMessage, filter, struct msg_exported_message, filter),
     .needed = true, .min = 1, .max = LIMIT_FILTER_BYTES},
    {MAP_TEXT_ROW(Hearsay__V1__ExportedMessage, media_type, struct msg_exported_message,
                  media_type),
     .min = 1, .max = LIMIT_MEDIA_TYPE_BYTES, .form = &codec_form_media_type},
    {MAP_BYTES_ROW(Hearsay__V1__ExportedMessage, payload, struct msg_exported_message, payload)},
    {MAP_I64_ROW(Hearsay__V1__ExportedMessage, deposited_ms, struct msg_exported_message,
                 deposited_ms)},
    {MAP_I64_ROW(Hearsay__V1__ExportedMessage, expires_ms, struct msg_exported_message,
                 expires_ms)},
    {MAP_U32_ROW(Hearsay__V1__ExportedMessage, reach, struct msg_exported_message, reach_ppm),
     .max = LIMIT_DISTANCE_PPM, .absent = LIMIT_DISTANCE_PPM},
    {MAP_BYTES_ROW(Hearsay__V1__ExportedMessage, withdraw_hash, struct msg_exported_message,
                   withdraw_hash),
     .min = LIMIT_HASH_BYTES, .max = LIMIT_HASH_BYTES},
};
static const struct map exported_message_map =
    MAP_OF("a message", &hearsay__v1__exported_message__descriptor, struct msg_exported_message,
           exported_message_fields);

static const struct map_field exported_fields[] = {
    {MAP_LIST_ROW(Hearsay__V1__Exported, Hearsay__V1__ExportedMessage, messages,
                  struct msg_exported, struct msg_exported_message, messages, message_count,
                  &exported_message_map)},
    {MAP_BYTES_ROW(Hearsay__V1__Exported, next, struct msg_exported, next), .min = 1,
     .max = LIMIT_CURSOR_BYTES},
};
static const struct map exported_map =
    MAP_OF("exported", &hearsay__v1__exported__descriptor, struct msg_exported, exported_fields);

static const struct map_field summarized_fields[] = {
    {MAP_BYTES_ROW(Hearsay__V1__Summarized, union_filter, struct msg_summarized, union_filter),
     .needed = true, .min = 1, .max = LIMIT_FILTER_BYTES},
    {MAP_U32_ROW(Hearsay__V1__Summarized, cardinality_min, struct msg_summarized, cardinality_min)},
    {MAP_U32_ROW(Hearsay__V1__Summarized, cardinality_max, struct msg_summarized, cardinality_max)},
    {MAP_U64_ROW(Hearsay__V1__Summarized, count, struct msg_summarized, count)},
};
static const struct map summarized_map = MAP_OF("summarized", &hearsay__v1__summarized__descriptor,
                                                struct msg_summarized, summarized_fields);

static const struct map_field here_labels_fields[] = {
    {MAP_TEXTS_ROW(Hearsay__V1__HereLabels, labels, struct msg_here_labels, labels, label_count)},
};
static const struct map here_labels_map =
    MAP_OF("here_labels", &hearsay__v1__here_labels__descriptor, struct msg_here_labels,
           here_labels_fields);

static const struct map_field here_changed_fields[] = {
    {MAP_TEXT_ROW(Hearsay__V1__HereChanged, host, struct msg_here_changed, host), .min = 1,
     .max = LIMIT_HOST_BYTES, .form = &codec_form_host},
    {MAP_TEXTS_ROW(Hearsay__V1__HereChanged, labels, struct msg_here_changed, labels, label_count)},
};
static const struct map here_changed_map =
    MAP_OF("here_changed", &hearsay__v1__here_changed__descriptor, struct msg_here_changed,
           here_changed_fields);

static const struct codec_body response_bodies[] = {
    {MSG_RESPONSE_RESULTS, HEARSAY__V1__RESPONSE__BODY_RESULTS, &results_map,
     offsetof(struct msg_response, results)},
    {MSG_RESPONSE_DEPOSITED, HEARSAY__V1__RESPONSE__BODY_DEPOSITED, &deposited_map,
     offsetof(struct msg_response, deposited)},
    {MSG_RESPONSE_ERROR, HEARSAY__V1__RESPONSE__BODY_ERROR, &error_map,
     offsetof(struct msg_response, error)},
    {MSG_RESPONSE_WELCOME, HEARSAY__V1__RESPONSE__BODY_WELCOME, &welcome_map,
     offsetof(struct msg_response, welcome)},
    {MSG_RESPONSE_GOT, HEARSAY__V1__RESPONSE__BODY_GOT, &got_map,
     offsetof(struct msg_response, got)},
    {MSG_RESPONSE_WITHDRAWN, HEARSAY__V1__RESPONSE__BODY_WITHDRAWN, NULL, 0},
    {MSG_RESPONSE_PONG, HEARSAY__V1__RESPONSE__BODY_PONG, &pong_map,
     offsetof(struct msg_response, pong)},
    {MSG_RESPONSE_EXPORTED, HEARSAY__V1__RESPONSE__BODY_EXPORTED, &exported_map,
     offsetof(struct msg_response, exported)},
    {MSG_RESPONSE_HERE_LABELS, HEARSAY__V1__RESPONSE__BODY_HERE_LABELS, &here_labels_map,
     offsetof(struct msg_response, here_labels)},
    {MSG_RESPONSE_HERE_CHANGED, HEARSAY__V1__RESPONSE__BODY_HERE_CHANGED, &here_changed_map,
     offsetof(struct msg_response, here_changed)},
    {MSG_RESPONSE_SUMMARIZED, HEARSAY__V1__RESPONSE__BODY_SUMMARIZED, &summarized_map,
     offsetof(struct msg_response, summarized)},
    {MSG_RESPONSE_WATCHING, HEARSAY__V1__RESPONSE__BODY_WATCHING, &watching_map,
     offsetof(struct msg_response, watching)},
    {MSG_RESPONSE_UNWATCHED, HEARSAY__V1__RESPONSE__BODY_UNWATCHED, NULL, 0},
    {MSG_RESPONSE_MATCH, HEARSAY__V1__RESPONSE__BODY_MATCH, &match_map,
     offsetof(struct msg_response, match)},
    {MSG_RESPONSE_REPORT_TAKEN, HEARSAY__V1__RESPONSE__BODY_REPORT_TAKEN, NULL, 0},
    {MSG_RESPONSE_STATS_TAKEN, HEARSAY__V1__RESPONSE__BODY_STATS_TAKEN, &codec_stats_taken_map,
     offsetof(struct msg_response, stats_taken)},
    {MSG_RESPONSE_REMOVED, HEARSAY__V1__RESPONSE__BODY_REMOVED, NULL, 0},
    {MSG_RESPONSE_RESTORED, HEARSAY__V1__RESPONSE__BODY_RESTORED, NULL, 0},
    {MSG_RESPONSE_REPORTED_LIST, HEARSAY__V1__RESPONSE__BODY_REPORTED_LIST,
     &codec_reported_list_map, offsetof(struct msg_response, reported_list)},
    {MSG_RESPONSE_BANNED, HEARSAY__V1__RESPONSE__BODY_BANNED, NULL, 0},
    {MSG_RESPONSE_UNBANNED, HEARSAY__V1__RESPONSE__BODY_UNBANNED, NULL, 0},
    {MSG_RESPONSE_BAN_LIST, HEARSAY__V1__RESPONSE__BODY_BAN_LIST, &codec_ban_list_map,
     offsetof(struct msg_response, ban_list)},
    {MSG_RESPONSE_ACCEPTING, HEARSAY__V1__RESPONSE__BODY_ACCEPTING, &codec_accepting_map,
     offsetof(struct msg_response, accepting)},
    {MSG_RESPONSE_CHECKED, HEARSAY__V1__RESPONSE__BODY_CHECKED, &codec_checked_map,
     offsetof(struct msg_response, checked)},
    {MSG_RESPONSE_BACKED_UP, HEARSAY__V1__RESPONSE__BODY_BACKED_UP, &codec_backed_up_map,
     offsetof(struct msg_response, bytes_taken)},
    {MSG_RESPONSE_COMPACTED, HEARSAY__V1__RESPONSE__BODY_COMPACTED, &codec_compacted_map,
     offsetof(struct msg_response, bytes_taken)},
    {MSG_RESPONSE_RELOADED, HEARSAY__V1__RESPONSE__BODY_RELOADED, NULL, 0},
    {MSG_RESPONSE_LOG_LEVEL_SET, HEARSAY__V1__RESPONSE__BODY_LOG_LEVEL_SET,
     &codec_log_level_set_map, offsetof(struct msg_response, log_level)},
    {MSG_RESPONSE_EPOCH_CHANGED, HEARSAY__V1__RESPONSE__BODY_EPOCH_CHANGED, &epoch_changed_map,
     offsetof(struct msg_response, epoch_changed)},
};

static const struct codec_envelope response_envelope = {
    .name = "response",
    .descriptor = &hearsay__v1__response__descriptor,
    .unknown_most = LIMIT_UNKNOWN_RESPONSE,
    .bodies = response_bodies,
    .body_count = sizeof(response_bodies) / sizeof(response_bodies[0]),
};

int codec_decode_response(const uint8_t *frame, size_t length, struct arena *arena,
                          struct msg_response *out, struct msg_error *out_error)
{
    struct scan_envelope envelope;
    const Hearsay__V1__Response *wire;
    const struct codec_body *body;
    ProtobufCMessage *message;
    int rv;

    memset(out, 0, sizeof(*out));
    scan_envelope(response_envelope.descriptor, frame, length, &envelope);
    out->id = envelope.id;
    rv = codec_unpack(&response_envelope, frame, length, arena, &message, out_error);
    if (rv != 0) {
        return rv;
    }
    wire = (const Hearsay__V1__Response *)(const void *)message;
    body = codec_body_numbered(&response_envelope, (uint32_t)wire->body_case);
    if (body == NULL) {
        return 0; /* MSG_RESPONSE_UNKNOWN: of a later version, or none */
    }
    if (body->map != NULL) {
        /* Every member of the oneof is a pointer to a message. */
        rv = map_read(body->map, (const ProtobufCMessage *)(const void *)wire->welcome, arena,
                      (uint8_t *)out + body->own, out_error);
        if (rv != 0) {
            return rv == MAP_REFUSED ? CODEC_INVALID : rv;
        }
    }
    out->kind = (enum msg_response_kind)body->kind;
    return 0;
}

/* --- sizes ------------------------------------------------------------------------------------ */

/*
 * Bytes of fields on the wire at most. Every field here has a number below 16, so a tag is one
 * byte; nothing in a frame is longer than LIMIT_FRAME_BYTES_MAX, so a length is three at most.
 */
enum {
    SIZE_TAG = 1,
    SIZE_LENGTH = 3,
    SIZE_U32 = SIZE_TAG + 5,
    SIZE_64 = SIZE_TAG + 10,
    SIZE_BOOL = SIZE_TAG + 1,
    SIZE_ID = SIZE_TAG + SIZE_LENGTH + LIMIT_ID_BYTES,
    SIZE_DATA = SIZE_TAG + SIZE_LENGTH /* and the data themselves */
};

/* A sum that stops at SIZE_MAX, which fits no frame. */
static size_t size_add(size_t a, size_t b)
{
    return a > SIZE_MAX - b ? SIZE_MAX : a + b;
}

size_t codec_result_bytes_max(size_t payload_bytes, size_t media_type_bytes)
{
    size_t fixed = SIZE_DATA /* of the list */ + SIZE_ID + 4 * SIZE_U32 + 3 * SIZE_64 + SIZE_BOOL;

    return size_add(size_add(fixed + 2 * SIZE_DATA, payload_bytes), media_type_bytes);
}

size_t codec_exported_bytes_max(const struct msg_exported_message *message)
{
    size_t fixed = SIZE_DATA /* of the list */ + SIZE_ID + 3 * SIZE_64 + SIZE_U32 + 4 * SIZE_DATA;
    size_t data = size_add(message->filter.count, message->payload.count);

    data = size_add(data, message->media_type.length);
    return size_add(size_add(fixed, data), message->withdraw_hash.count);
}

/* --- exact sizes ------------------------------------------------------------------------------ */

static size_t varint_bytes(uint64_t value)
{
    size_t count = 1;

    for (; value >= 0x80; value >>= 7) {
        count++;
    }
    return count;
}

/* Of a number that is left out when it is 0. */
static size_t number_bytes(uint64_t value)
{
    return value == 0 ? 0 : SIZE_TAG + varint_bytes(value);
}

/* Of data with their tag and length. */
static size_t data_bytes(size_t size)
{
    return size_add(SIZE_TAG + varint_bytes(size), size);
}

static size_t result_fields_bytes(const struct msg_result *result)
{
    size_t size = data_bytes(result->id.count) + number_bytes(result->intersection_count) +
                  number_bytes(result->union_count) + number_bytes(result->distance_ppm) +
                  number_bytes(result->estimated_similarity_ppm) +
                  number_bytes((uint64_t)result->deposited_ms) +
                  number_bytes((uint64_t)result->expires_ms) + number_bytes(result->epoch) +
                  number_bytes(result->payload_omitted ? 1 : 0);

    if (result->media_type.text != NULL) {
        size = size_add(size, data_bytes(result->media_type.length));
    }
    if (result->payload.data != NULL) {
        size = size_add(size, data_bytes(result->payload.count));
    }
    return size;
}

size_t codec_result_bytes(const struct msg_result *result)
{
    return data_bytes(result_fields_bytes(result));
}

/* Of a frame with a body of so many bytes, whose field number takes `tag` bytes. */
static size_t frame_bytes(uint64_t id, size_t tag, size_t body)
{
    return size_add(SIZE_TAG + varint_bytes(id) + tag - SIZE_TAG, data_bytes(body));
}

size_t codec_results_bytes(const struct msg_response *response, size_t results_bytes)
{
    const struct msg_results *results = &response->results;
    size_t rest = number_bytes(results->comparisons) + number_bytes(results->exact ? 1 : 0) +
                  number_bytes(results->capped ? 1 : 0);

    return frame_bytes(response->id, SIZE_TAG, size_add(results_bytes, rest));
}

size_t codec_match_bytes(const struct msg_response *response)
{
    const struct msg_match *match = &response->match;
    size_t body = size_add(number_bytes(match->watch_id) + number_bytes(match->seq),
                           codec_result_bytes(&match->result));

    return frame_bytes(response->id, SIZE_TAG + 1, body); /* its number is 16 or more */
}

/* --- encoding --------------------------------------------------------------------------------- */

int codec_encode_response(const struct msg_response *response, size_t limit_bytes,
                          struct bytes *out)
{
    const struct codec_body *body = codec_body_of_kind(&response_envelope, (int)response->kind);

    if (body == NULL) {
        return codec_write(response->id, 0, NULL, NULL, limit_bytes, out);
    }
    return codec_write(response->id, body->number, body->map, (const uint8_t *)response + body->own,
                       limit_bytes, out);
}
