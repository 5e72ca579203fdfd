/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/base/err.h"
#include "proto/codec/admin.h"
#include "proto/codec/codec.h"
#include "proto/codec/envelope.h"
#include "proto/codec/form.h"
#include "proto/codec/map.h"
#include "proto/hearsay.pb-c.h"

static const struct msg_text text_plain = {.text = "text/plain", .length = 10};

static const struct map_field hello_fields[] = {
    {MAP_NUMBERS_ROW(Hearsay__V1__Hello, versions, struct msg_hello, versions, version_count),
     .needed = true},
    {MAP_TEXT_ROW(Hearsay__V1__Hello, agent, struct msg_hello, agent), .max = LIMIT_AGENT_BYTES},
    {MAP_BYTES_ROW(Hearsay__V1__Hello, resume_token, struct msg_hello, resume_token), .min = 1,
     .max = LIMIT_RESUME_BYTES},
};
static const struct map hello_map =
    MAP_OF("hello", &hearsay__v1__hello__descriptor, struct msg_hello, hello_fields);

static const struct map_field deposit_fields[] = {
    {MAP_TEXT_ROW(Hearsay__V1__Deposit, host, struct msg_deposit, host), .min = 1,
     .max = LIMIT_HOST_BYTES, .form = &codec_form_host},
    {MAP_BYTES_ROW(Hearsay__V1__Deposit, id, struct msg_deposit, id), .needed = true,
     .min = LIMIT_ID_BYTES, .max = LIMIT_ID_BYTES},
    {MAP_U64_ROW(Hearsay__V1__Deposit, epoch, struct msg_deposit, epoch)},
    {MAP_BYTES_ROW(Hearsay__V1__Deposit, filter, struct msg_deposit, filter), .needed = true,
     .min = 1, .max = LIMIT_FILTER_BYTES},
    {MAP_TEXT_ROW(Hearsay__V1__Deposit, media_type, struct msg_deposit, media_type), .min = 1,
     .max = LIMIT_MEDIA_TYPE_BYTES, .form = &codec_form_media_type, .absent_text = &text_plain},
    {MAP_BYTES_ROW(Hearsay__V1__Deposit, payload, struct msg_deposit, payload)},
    {MAP_U32_ROW(Hearsay__V1__Deposit, ttl_s, struct msg_deposit, ttl_s), .min = 1,
     .own_count = MAP_OFFSET(struct msg_deposit, has_ttl, bool)},
    {MAP_U32_ROW(Hearsay__V1__Deposit, reach, struct msg_deposit, reach_ppm),
     .max = LIMIT_DISTANCE_PPM, .absent = LIMIT_DISTANCE_PPM},
    {MAP_BYTES_ROW(Hearsay__V1__Deposit, withdraw_hash, struct msg_deposit, withdraw_hash),
     .min = LIMIT_HASH_BYTES, .max = LIMIT_HASH_BYTES},
    {MAP_U64_ROW(Hearsay__V1__Deposit, work, struct msg_deposit, work)},
};
static const struct map deposit_map =
    MAP_OF("deposit", &hearsay__v1__deposit__descriptor, struct msg_deposit, deposit_fields);

static const struct map_field part_fields[] = {
    {MAP_U64_ROW(Hearsay__V1__QueryPart, epoch, struct msg_query_part, epoch)},
    {MAP_BYTES_ROW(Hearsay__V1__QueryPart, filter, struct msg_query_part, filter), .needed = true,
     .min = 1, .max = LIMIT_FILTER_BYTES},
    {MAP_BYTES_ROW(Hearsay__V1__QueryPart, contains, struct msg_query_part, contains), .min = 1,
     .max = LIMIT_FILTER_BYTES},
};
static const struct map part_map =
    MAP_OF("a part", &hearsay__v1__query_part__descriptor, struct msg_query_part, part_fields);

static const struct map_field slice_fields[] = {
    {MAP_BYTES_ROW(Hearsay__V1__Slice, bits, struct msg_slice, bits), .needed = true, .min = 1},
    {MAP_U32_ROW(Hearsay__V1__Slice, hashes, struct msg_slice, hashes), .needed = true, .min = 1,
     .max = LIMIT_HASHES},
    {MAP_U64_ROW(Hearsay__V1__Slice, seed, struct msg_slice, seed)},
};
static const struct map slice_map =
    MAP_OF("a slice", &hearsay__v1__slice__descriptor, struct msg_slice, slice_fields);

static const struct map_field query_fields[] = {
    {MAP_TEXT_ROW(Hearsay__V1__Query, host, struct msg_query, host), .min = 1,
     .max = LIMIT_HOST_BYTES, .form = &codec_form_host},
    {MAP_U32_ROW(Hearsay__V1__Query, k, struct msg_query, k), .needed = true, .min = 1},
    {MAP_LIST_ROW(Hearsay__V1__Query, Hearsay__V1__QueryPart, parts, struct msg_query,
                  struct msg_query_part, parts, part_count, &part_map),
     .needed = true},
    {MAP_U32_ROW(Hearsay__V1__Query, max_distance, struct msg_query, max_distance_ppm),
     .max = LIMIT_DISTANCE_PPM, .absent = LIMIT_DISTANCE_PPM},
    {MAP_I64_ROW(Hearsay__V1__Query, since_ms, struct msg_query, since_ms), .absent = INT64_MIN},
    {MAP_I64_ROW(Hearsay__V1__Query, until_ms, struct msg_query, until_ms), .absent = INT64_MAX},
    {MAP_ENUM_ROW(Hearsay__V1__Query, Hearsay__V1__Metric, metric, struct msg_query,
                  enum msg_metric, metric),
     .min = MSG_METRIC_BITS, .max = MSG_METRIC_ESTIMATED, .absent = MSG_METRIC_BITS},
    {MAP_ENUM_ROW(Hearsay__V1__Query, Hearsay__V1__Order, order, struct msg_query, enum msg_order,
                  order),
     .min = MSG_ORDER_SIMILARITY, .max = MSG_ORDER_TIME, .absent = MSG_ORDER_SIMILARITY},
    {MAP_LIST_ROW(Hearsay__V1__Query, Hearsay__V1__Slice, exclude, struct msg_query,
                  struct msg_slice, exclude, exclude_count, &slice_map)},
    {MAP_BOOL_ROW(Hearsay__V1__Query, with_payload, struct msg_query, with_payload)},
};
static const struct map query_map =
    MAP_OF("query", &hearsay__v1__query__descriptor, struct msg_query, query_fields);

/* The query of a watch: k is not needed, and left to the handler to refuse. */
static const struct map_field watch_query_fields[] = {
    {MAP_TEXT_ROW(Hearsay__V1__Query, host, struct msg_query, host), .min = 1,
     .max = LIMIT_HOST_BYTES, .form = &codec_form_host},
    {MAP_U32_ROW(Hearsay__V1__Query, k, struct msg_query, k)},
    {MAP_LIST_ROW(Hearsay__V1__Query, Hearsay__V1__QueryPart, parts, struct msg_query,
                  struct msg_query_part, parts, part_count, &part_map),
     .needed = true},
    {MAP_U32_ROW(Hearsay__V1__Query, max_distance, struct msg_query, max_distance_ppm),
     .max = LIMIT_DISTANCE_PPM, .absent = LIMIT_DISTANCE_PPM},
    {MAP_I64_ROW(Hearsay__V1__Query, since_ms, struct msg_query, since_ms), .absent = INT64_MIN},
    {MAP_I64_ROW(Hearsay__V1__Query, until_ms, struct msg_query, until_ms), .absent = INT64_MAX},
    {MAP_ENUM_ROW(Hearsay__V1__Query, Hearsay__V1__Metric, metric, struct msg_query,
                  enum msg_metric, metric),
     .min = MSG_METRIC_BITS, .max = MSG_METRIC_ESTIMATED, .absent = MSG_METRIC_BITS},
    {MAP_ENUM_ROW(Hearsay__V1__Query, Hearsay__V1__Order, order, struct msg_query, enum msg_order,
                  order),
     .min = MSG_ORDER_SIMILARITY, .max = MSG_ORDER_TIME, .absent = MSG_ORDER_SIMILARITY},
    {MAP_LIST_ROW(Hearsay__V1__Query, Hearsay__V1__Slice, exclude, struct msg_query,
                  struct msg_slice, exclude, exclude_count, &slice_map)},
    {MAP_BOOL_ROW(Hearsay__V1__Query, with_payload, struct msg_query, with_payload)},
};
static const struct map watch_query_map =
    MAP_OF("query", &hearsay__v1__query__descriptor, struct msg_query, watch_query_fields);

static const struct map_field watch_fields[] = {
    {MAP_INNER_ROW(Hearsay__V1__Watch, Hearsay__V1__Query, query, struct msg_watch,
                   struct msg_query, query, &watch_query_map),
     .needed = true},
    {MAP_U64_ROW(Hearsay__V1__Watch, after_seq, struct msg_watch, after_seq), .absent = -1},
};
static const struct map watch_map =
    MAP_OF("watch", &hearsay__v1__watch__descriptor, struct msg_watch, watch_fields);

static const struct map_field unwatch_fields[] = {
    {MAP_U64_ROW(Hearsay__V1__Unwatch, watch_id, struct msg_unwatch, watch_id)},
};
static const struct map unwatch_map =
    MAP_OF("unwatch", &hearsay__v1__unwatch__descriptor, struct msg_unwatch, unwatch_fields);

static const struct map_field get_fields[] = {
    {MAP_TEXT_ROW(Hearsay__V1__Get, host, struct msg_get, host), .min = 1, .max = LIMIT_HOST_BYTES,
     .form = &codec_form_host},
    {MAP_BYTES_ROW(Hearsay__V1__Get, id, struct msg_get, id), .needed = true, .min = LIMIT_ID_BYTES,
     .max = LIMIT_ID_BYTES},
};
static const struct map get_map =
    MAP_OF("get", &hearsay__v1__get__descriptor, struct msg_get, get_fields);

static const struct map_field withdraw_fields[] = {
    {MAP_TEXT_ROW(Hearsay__V1__Withdraw, host, struct msg_withdraw, host), .min = 1,
     .max = LIMIT_HOST_BYTES, .form = &codec_form_host},
    {MAP_BYTES_ROW(Hearsay__V1__Withdraw, id, struct msg_withdraw, id), .needed = true,
     .min = LIMIT_ID_BYTES, .max = LIMIT_ID_BYTES},
    {MAP_BYTES_ROW(Hearsay__V1__Withdraw, token, struct msg_withdraw, token), .needed = true,
     .min = LIMIT_TOKEN_BYTES, .max = LIMIT_TOKEN_BYTES},
};
static const struct map withdraw_map =
    MAP_OF("withdraw", &hearsay__v1__withdraw__descriptor, struct msg_withdraw, withdraw_fields);

static const struct map_field export_fields[] = {
    {MAP_TEXT_ROW(Hearsay__V1__Export, host, struct msg_export, host), .min = 1,
     .max = LIMIT_HOST_BYTES, .form = &codec_form_host},
    {MAP_BYTES_ROW(Hearsay__V1__Export, after, struct msg_export, after), .min = 1,
     .max = LIMIT_CURSOR_BYTES},
    {MAP_U32_ROW(Hearsay__V1__Export, limit, struct msg_export, limit)},
};
static const struct map export_map =
    MAP_OF("export", &hearsay__v1__export__descriptor, struct msg_export, export_fields);

static const struct map_field here_fields[] = {
    {MAP_TEXT_ROW(Hearsay__V1__Here, host, struct msg_here, host), .min = 1,
     .max = LIMIT_HOST_BYTES, .form = &codec_form_host},
};
static const struct map here_map =
    MAP_OF("here", &hearsay__v1__here__descriptor, struct msg_here, here_fields);

static const struct map_field summary_fields[] = {
    {MAP_TEXT_ROW(Hearsay__V1__Summary, host, struct msg_summary, host), .min = 1,
     .max = LIMIT_HOST_BYTES, .form = &codec_form_host},
    {MAP_U64_ROW(Hearsay__V1__Summary, epoch, struct msg_summary, epoch)},
};
static const struct map summary_map =
    MAP_OF("summary", &hearsay__v1__summary__descriptor, struct msg_summary, summary_fields);

#define ADMIN_BODY(NAME, name)                                                      \
    {                                                                               \
        MSG_REQUEST_##NAME, HEARSAY__V1__REQUEST__BODY_##NAME, &codec_##name##_map, \
            offsetof(struct msg_request, admin)                                     \
    }

static const struct codec_body request_bodies[] = {
    {MSG_REQUEST_HELLO, HEARSAY__V1__REQUEST__BODY_HELLO, &hello_map,
     offsetof(struct msg_request, hello)},
    {MSG_REQUEST_DEPOSIT, HEARSAY__V1__REQUEST__BODY_DEPOSIT, &deposit_map,
     offsetof(struct msg_request, deposit)},
    {MSG_REQUEST_QUERY, HEARSAY__V1__REQUEST__BODY_QUERY, &query_map,
     offsetof(struct msg_request, query)},
    {MSG_REQUEST_GET, HEARSAY__V1__REQUEST__BODY_GET, &get_map, offsetof(struct msg_request, get)},
    {MSG_REQUEST_WITHDRAW, HEARSAY__V1__REQUEST__BODY_WITHDRAW, &withdraw_map,
     offsetof(struct msg_request, withdraw)},
    {MSG_REQUEST_PING, HEARSAY__V1__REQUEST__BODY_PING, NULL, 0},
    {MSG_REQUEST_EXPORT, HEARSAY__V1__REQUEST__BODY_EXPORT, &export_map,
     offsetof(struct msg_request, export_page)},
    {MSG_REQUEST_HERE, HEARSAY__V1__REQUEST__BODY_HERE, &here_map,
     offsetof(struct msg_request, here)},
    {MSG_REQUEST_SUMMARY, HEARSAY__V1__REQUEST__BODY_SUMMARY, &summary_map,
     offsetof(struct msg_request, summary)},
    {MSG_REQUEST_WATCH, HEARSAY__V1__REQUEST__BODY_WATCH, &watch_map,
     offsetof(struct msg_request, watch)},
    {MSG_REQUEST_UNWATCH, HEARSAY__V1__REQUEST__BODY_UNWATCH, &unwatch_map,
     offsetof(struct msg_request, unwatch)},
    {MSG_REQUEST_REPORT, HEARSAY__V1__REQUEST__BODY_REPORT, &codec_report_map,
     offsetof(struct msg_request, report)},
    ADMIN_BODY(STATS, stats),
    ADMIN_BODY(REMOVE, remove),
    ADMIN_BODY(RESTORE, restore),
    ADMIN_BODY(REPORTED, reported),
    ADMIN_BODY(BAN, ban),
    ADMIN_BODY(UNBAN, unban),
    ADMIN_BODY(BANS, bans),
    ADMIN_BODY(ACCEPT, accept),
    {MSG_REQUEST_CHECK, HEARSAY__V1__REQUEST__BODY_CHECK, NULL, 0},
    ADMIN_BODY(BACKUP, backup),
    {MSG_REQUEST_COMPACT, HEARSAY__V1__REQUEST__BODY_COMPACT, NULL, 0},
    {MSG_REQUEST_RELOAD, HEARSAY__V1__REQUEST__BODY_RELOAD, NULL, 0},
    ADMIN_BODY(LOG_LEVEL, log_level),
};

static const struct codec_envelope request_envelope = {
    .name = "request",
    .descriptor = &hearsay__v1__request__descriptor,
    .unknown_most = LIMIT_UNKNOWN_REQUEST,
    .bodies = request_bodies,
    .body_count = sizeof(request_bodies) / sizeof(request_bodies[0]),
};

/* Reads the body into the request. Same outcomes as codec_decode_request. */
static int request_read_body(const Hearsay__V1__Request *wire, struct arena *arena,
                             struct msg_request *out, struct msg_error *out_error)
{
    const struct codec_body *body =
        codec_body_numbered(&request_envelope, (uint32_t)wire->body_case);
    int rv;

    if (body == NULL) {
        bool none = wire->body_case == HEARSAY__V1__REQUEST__BODY__NOT_SET;

        out->kind = none ? MSG_REQUEST_UNKNOWN : MSG_REQUEST_KNOWN_ONLY;
        return 0;
    }
    if (body->map != NULL) {
        /* Every member of the oneof is a pointer to a message. */
        rv = map_read(body->map, (const ProtobufCMessage *)(const void *)wire->hello, arena,
                      (uint8_t *)out + body->own, out_error);
        if (rv != 0) {
            return rv == MAP_REFUSED ? CODEC_INVALID : rv;
        }
    }
    out->kind = (enum msg_request_kind)body->kind;
    return 0;
}

int codec_decode_request(const uint8_t *frame, size_t length, struct arena *arena,
                         struct msg_request *out, struct msg_error *out_error)
{
    struct scan_envelope envelope;
    ProtobufCMessage *message;
    int rv;

    memset(out, 0, sizeof(*out));
    scan_envelope(request_envelope.descriptor, frame, length, &envelope);
    out->id = envelope.id;
    out->name = envelope.body != NULL ? envelope.body->name : "";
    rv = codec_unpack(&request_envelope, frame, length, arena, &message, out_error);
    if (rv != CODEC_MALFORMED && rv >= 0 && out->id == 0) {
        msg_error_set(out_error, MSG_MALFORMED, "id",
                      "a request needs an id other than 0, for its answer to carry back");
        return CODEC_MALFORMED;
    }
    if (rv != 0) {
        return rv;
    }
    return request_read_body((const Hearsay__V1__Request *)(const void *)message, arena, out,
                             out_error);
}

/* The member of the oneof with this name, NULL when there is none. */
static const ProtobufCFieldDescriptor *request_member_named(const char *name)
{
    const ProtobufCFieldDescriptor *field = NULL;

    if (name != NULL) {
        field = protobuf_c_message_descriptor_get_field_by_name(request_envelope.descriptor, name);
    }
    return field != NULL && (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0 ? field : NULL;
}

int codec_encode_request(const struct msg_request *request, size_t limit_bytes, struct bytes *out)
{
    const struct codec_body *body = codec_body_of_kind(&request_envelope, (int)request->kind);
    const ProtobufCFieldDescriptor *member = NULL;

    if (body != NULL) {
        return codec_write(request->id, body->number, body->map,
                           (const uint8_t *)request + body->own, limit_bytes, out);
    }
    if (request->kind == MSG_REQUEST_KNOWN_ONLY) {
        member = request_member_named(request->name);
    }
    return codec_write(request->id, member != NULL ? member->id : 0, NULL, NULL, limit_bytes, out);
}
