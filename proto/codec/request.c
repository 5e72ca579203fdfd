/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/base/err.h"
#include "proto/codec/codec.h"
#include "proto/codec/envelope.h"
#include "proto/codec/feed.h"
#include "proto/codec/form.h"
#include "proto/codec/map.h"
#include "proto/codec/query.h"
#include "proto/hearsay.pb-c.h"

static const struct msg_text text_plain = {.text = "text/plain", .length = 10};

static const struct map_field hello_fields[] = {
    {MAP_NUMBERS(Hello, hello, versions, version_count), .needed = true},
    {MAP_FIELD(TEXT, Hello, hello, agent), .max = LIMIT_AGENT_BYTES},
    {MAP_FIELD(BYTES, Hello, hello, resume_token), MAP_RANGE(1, LIMIT_RESUME_BYTES)},
    {MAP_FIELD(BYTES, Hello, hello, on_behalf),
     MAP_RANGE(LIMIT_ADDRESS_BYTES_MIN, LIMIT_ADDRESS_BYTES)},
    {MAP_FIELD(BYTES, Hello, hello, on_behalf_local),
     MAP_RANGE(LIMIT_ADDRESS_BYTES, LIMIT_ADDRESS_BYTES)},
};
static const struct map hello_map = MAP_OF("hello", hello, hello);

static const struct map_field deposit_fields[] = {
    FORM_HOST(Deposit, deposit),
    FORM_ID(Deposit, deposit),
    {MAP_FIELD(U64, Deposit, deposit, epoch)},
    {MAP_FIELD(BYTES, Deposit, deposit, filter), .needed = true, MAP_RANGE(1, LIMIT_FILTER_BYTES)},
    {MAP_FIELD(TEXT, Deposit, deposit, media_type), MAP_RANGE(1, LIMIT_MEDIA_TYPE_BYTES),
     .form = &codec_form_media_type, .absent_text = &text_plain},
    {MAP_FIELD(BYTES, Deposit, deposit, payload)},
    {MAP_FIELD(U32, Deposit, deposit, ttl_s), .min = 1,
     .own_count = MAP_OFFSET(struct msg_deposit, has_ttl, bool)},
    {MAP_AS(U32, Deposit, reach, deposit, reach_ppm), .max = LIMIT_DISTANCE_PPM,
     .absent = LIMIT_DISTANCE_PPM},
    {MAP_FIELD(BYTES, Deposit, deposit, withdraw_hash),
     MAP_RANGE(LIMIT_HASH_BYTES, LIMIT_HASH_BYTES)},
};
static const struct map deposit_map = MAP_OF("deposit", deposit, deposit);

static const struct map_field watch_fields[] = {
    {MAP_INNER(Watch, watch, query, Query, query, &codec_watch_query_map), .needed = true},
    {MAP_FIELD(U64, Watch, watch, after_seq), .absent = -1},
};
static const struct map watch_map = MAP_OF("watch", watch, watch);

static const struct map_field unwatch_fields[] = {{MAP_FIELD(U64, Unwatch, unwatch, watch_id)}};
static const struct map unwatch_map = MAP_OF("unwatch", unwatch, unwatch);

static const struct map_field get_fields[] = {
    FORM_HOST(Get, get),
    FORM_ID(Get, get),
};
static const struct map get_map = MAP_OF("get", get, get);

static const struct map_field withdraw_fields[] = {
    FORM_HOST(Withdraw, withdraw),
    FORM_ID(Withdraw, withdraw),
    {MAP_FIELD(BYTES, Withdraw, withdraw, token), .needed = true,
     MAP_RANGE(LIMIT_TOKEN_BYTES, LIMIT_TOKEN_BYTES)},
};
static const struct map withdraw_map = MAP_OF("withdraw", withdraw, withdraw);

static const struct map_field export_fields[] = {
    FORM_HOST(Export, export),
    {MAP_FIELD(BYTES, Export, export, after), MAP_RANGE(1, LIMIT_CURSOR_BYTES)},
    {MAP_FIELD(U32, Export, export, limit)},
};
static const struct map export_map = MAP_OF("export", export, export);

static const struct map_field here_fields[] = {
    FORM_HOST(Here, here),
    {MAP_FIELD(BYTES, Here, here, on_behalf),
     MAP_RANGE(LIMIT_ADDRESS_BYTES_MIN, LIMIT_ADDRESS_BYTES)},
};
static const struct map here_map = MAP_OF("here", here, here);

static const struct map_field summary_fields[] = {
    FORM_HOST(Summary, summary),
    {MAP_FIELD(U64, Summary, summary, epoch)},
    {MAP_FIELD(U32, Summary, summary, groups)},
};
static const struct map summary_map = MAP_OF("summary", summary, summary);

static const struct map_field report_fields[] = {
    FORM_HOST(Report, report),
    FORM_ID(Report, report),
    {MAP_FIELD(TEXT, Report, report, reason), MAP_RANGE(1, LIMIT_REASON_BYTES),
     .form = &codec_form_line},
    {MAP_ENUM(Report, report, kind, ReportKind, report_kind), .absent = MSG_REPORT_OTHER,
     MAP_RANGE(MSG_REPORT_ILLEGAL, MSG_REPORT_OTHER)},
};
static const struct map report_map = MAP_OF("report", report, report);

static const struct map_field stats_fields[] = {FORM_HOST(Stats, admin)};
static const struct map stats_map = MAP_OF("stats", stats, admin);

/* The rows for `kind` and `reason` of a request whose decision is recorded. */
#define DECISION_ROWS(Wire)                                                   \
    {MAP_ENUM(Wire, admin, kind, ReportKind, report_kind),                    \
     MAP_RANGE(MSG_REPORT_ILLEGAL, MSG_REPORT_OTHER)},                        \
    {                                                                         \
        MAP_FIELD(TEXT, Wire, admin, reason), MAP_RANGE(1, LIMIT_NOTE_BYTES), \
            .form = &codec_form_line                                          \
    }

static const struct map_field remove_fields[] = {
    FORM_HOST(Remove, admin),
    FORM_ID(Remove, admin),
    {MAP_FIELD(BOOL, Remove, admin, ban)},
    DECISION_ROWS(Remove),
};
static const struct map remove_map = MAP_OF("remove", remove, admin);

static const struct map_field restore_fields[] = {
    FORM_HOST(Restore, admin),
    FORM_ID(Restore, admin),
    DECISION_ROWS(Restore),
};
static const struct map restore_map = MAP_OF("restore", restore, admin);

static const struct map_field hide_fields[] = {
    FORM_HOST(Hide, admin),
    FORM_ID(Hide, admin),
    DECISION_ROWS(Hide),
};
static const struct map hide_map = MAP_OF("hide", hide, admin);

static const struct map_field decisions_fields[] = {
    FORM_HOST(Decisions, admin),
    {MAP_AS(U32, Decisions, limit, admin, number)},
    {MAP_FIELD(U64, Decisions, admin, before), .absent = -1},
};
static const struct map decisions_map = MAP_OF("decisions", decisions, admin);

static const struct map_field wait_fields[] = {FORM_HOST(Wait, admin)};
static const struct map wait_map = MAP_OF("wait", wait, admin);

static const struct map_field reported_fields[] = {
    FORM_HOST(Reported, admin),
    {MAP_AS(U32, Reported, limit, admin, number)},
    {MAP_FIELD(BOOL, Reported, admin, pending)},
    {MAP_FIELD(BOOL, Reported, admin, withheld)},
    {MAP_FIELD(BOOL, Reported, admin, all)},
    {MAP_FIELD(BYTES, Reported, admin, after), MAP_RANGE(1, LIMIT_CURSOR_BYTES)},
};
static const struct map reported_map = MAP_OF("reported", reported, admin);

static const struct map_field ban_fields[] = {
    FORM_HOST(Ban, admin),
    {MAP_FIELD(BYTES, Ban, admin, payload_hash), MAP_RANGE(LIMIT_HASH_BYTES, LIMIT_HASH_BYTES)},
    {MAP_FIELD(BYTES, Ban, admin, filter), MAP_RANGE(1, LIMIT_FILTER_BYTES)},
    {MAP_AS(U32, Ban, max_distance, admin, max_distance_ppm), .max = LIMIT_DISTANCE_PPM},
};
static const struct map ban_map = MAP_OF("ban", ban, admin);

static const struct map_field unban_fields[] = {
    FORM_HOST(Unban, admin),
    {MAP_FIELD(BYTES, Unban, admin, payload_hash), MAP_RANGE(LIMIT_HASH_BYTES, LIMIT_HASH_BYTES)},
    {MAP_FIELD(BYTES, Unban, admin, filter), MAP_RANGE(1, LIMIT_FILTER_BYTES)},
};
static const struct map unban_map = MAP_OF("unban", unban, admin);

static const struct map_field bans_fields[] = {
    FORM_HOST(Bans, admin),
    {MAP_AS(U32, Bans, skip, admin, number)},
};
static const struct map bans_map = MAP_OF("bans", bans, admin);

static const struct map_field accept_fields[] = {
    FORM_HOST(Accept, admin),
    {MAP_AS(TEXT, Accept, mode, admin, word), MAP_RANGE(1, LIMIT_WORD_BYTES),
     .form = &codec_form_line},
};
static const struct map accept_map = MAP_OF("accept", accept, admin);

static const struct map_field notice_fields[] = {
    FORM_HOST(Notice, admin),
    {MAP_AS(TEXT, Notice, text, admin, word), MAP_RANGE(1, LIMIT_NOTICE_BYTES),
     .form = &codec_form_line},
    {MAP_FIELD(TEXT, Notice, admin, lang), MAP_RANGE(1, LIMIT_LANGUAGE_BYTES),
     .form = &codec_form_language},
    {MAP_FIELD(I64, Notice, admin, until_ms)},
    {MAP_AS(U32, Notice, drop, admin, number)},
};
static const struct map notice_map = MAP_OF("notice", notice, admin);

static const struct map_field similar_fields[] = {
    FORM_HOST(Similar, admin),
    {MAP_AS(U32, Similar, max_distance, admin, max_distance_ppm), .max = LIMIT_DISTANCE_PPM},
    {MAP_AS(U32, Similar, limit, admin, number)},
};
static const struct map similar_map = MAP_OF("similar", similar, admin);

static const struct map_field backup_fields[] = {
    {MAP_AS(TEXT, Backup, path, admin, word), .needed = true, MAP_RANGE(1, LIMIT_PATH_BYTES),
     .form = &codec_form_line},
};
static const struct map backup_map = MAP_OF("backup", backup, admin);

static const struct map_field log_level_fields[] = {
    {MAP_AS(TEXT, LogLevel, level, admin, word), MAP_RANGE(1, LIMIT_WORD_BYTES),
     .form = &codec_form_line},
};
static const struct map log_level_map = MAP_OF("log_level", log_level, admin);

static const struct map_field serve_fields[] = {
    {MAP_TEXTS(Serve, serve, hoods, hood_count), MAP_RANGE(1, LIMIT_HOST_BYTES)},
};
static const struct map serve_map = MAP_OF("serve", serve, serve);

static const struct map_field answered_fields[] = {
    {MAP_FIELD(U64, Answered, answered, ask_id), .needed = true},
    {MAP_MAYBE(Answered, answered, results, has_results, Results, results, &codec_results_map)},
    {MAP_MAYBE(Answered, answered, error, has_error, Error, error, &codec_error_map)},
};
static const struct map answered_map = MAP_OF("answered", answered, answered);

static const struct map_field changes_fields[] = {
    FORM_HOST(Changes, changes),
    {MAP_FIELD(U64, Changes, changes, after)},
    {MAP_FIELD(U32, Changes, changes, limit)},
    {MAP_FIELD(U32, Changes, changes, wait_ms), .max = LIMIT_CHANGES_WAIT_MS},
    {MAP_FIELD(U64, Changes, changes, replicated)},
    {MAP_FIELD(BOOL, Changes, changes, no_copy)},
    {MAP_FIELD(BOOL, Changes, changes, waiting)},
};
static const struct map changes_map = MAP_OF("changes", changes, changes);

static const struct map_field apply_fields[] = {
    FORM_HOST(Apply, apply),
    {QUERY_LIST(Apply, apply, changes, change_count, Change, change)},
    {MAP_ENUM(Apply, apply, as, ApplyAs, apply_as), .needed = true,
     MAP_RANGE(MSG_AS_REPLICA, MSG_AS_OPERATOR)},
    {MAP_FIELD(BOOL, Apply, apply, restored)},
};
static const struct map apply_map = MAP_OF("apply", apply, apply);

/* REPLY is the kind of the answer to the request. EMPTY is for requests without fields. */
#define BODY(NAME, table, member, REPLY)                                     \
    {                                                                        \
        MSG_REQUEST_##NAME, HEARSAY__V1__REQUEST__BODY_##NAME, &table##_map, \
            offsetof(struct msg_request, member), MSG_RESPONSE_##REPLY       \
    }
#define EMPTY(NAME, REPLY)                                                                   \
    {                                                                                        \
        MSG_REQUEST_##NAME, HEARSAY__V1__REQUEST__BODY_##NAME, NULL, 0, MSG_RESPONSE_##REPLY \
    }

static const struct map_body request_bodies[] = {
    BODY(HELLO, hello, hello, WELCOME),
    BODY(DEPOSIT, deposit, deposit, DEPOSITED),
    {MSG_REQUEST_QUERY, HEARSAY__V1__REQUEST__BODY_QUERY, &codec_query_map,
     offsetof(struct msg_request, query), MSG_RESPONSE_RESULTS},
    BODY(GET, get, get, GOT),
    BODY(WITHDRAW, withdraw, withdraw, WITHDRAWN),
    EMPTY(PING, PONG),
    BODY(EXPORT, export, export_page, EXPORTED),
    BODY(HERE, here, here, HERE_LABELS),
    BODY(SUMMARY, summary, summary, SUMMARIZED),
    BODY(WATCH, watch, watch, WATCHING),
    BODY(UNWATCH, unwatch, unwatch, UNWATCHED),
    BODY(REPORT, report, report, REPORT_TAKEN),
    BODY(STATS, stats, admin, STATS_TAKEN),
    BODY(REMOVE, remove, admin, REMOVED),
    BODY(RESTORE, restore, admin, RESTORED),
    BODY(REPORTED, reported, admin, REPORTED_LIST),
    BODY(BAN, ban, admin, BANNED),
    BODY(UNBAN, unban, admin, UNBANNED),
    BODY(BANS, bans, admin, BAN_LIST),
    BODY(ACCEPT, accept, admin, ACCEPTING),
    EMPTY(CHECK, CHECKED),
    BODY(BACKUP, backup, admin, BACKED_UP),
    EMPTY(COMPACT, COMPACTED),
    EMPTY(RELOAD, RELOADED),
    BODY(LOG_LEVEL, log_level, admin, LOG_LEVEL_SET),
    BODY(HIDE, hide, admin, HIDDEN),
    BODY(DECISIONS, decisions, admin, DECISION_LIST),
    BODY(WAIT, wait, admin, WAITED),
    BODY(NOTICE, notice, admin, NOTICED),
    BODY(SIMILAR, similar, admin, SIMILAR_LIST),
    BODY(SERVE, serve, serve, SERVING),
    BODY(ANSWERED, answered, answered, ANSWER_TAKEN),
    BODY(CHANGES, changes, changes, CHANGED),
    BODY(APPLY, apply, apply, APPLIED),
};

static const struct codec_envelope request_envelope = {
    .name = "request",
    .descriptor = &hearsay__v1__request__descriptor,
    .unknown_most = LIMIT_UNKNOWN_REQUEST,
    .bodies = request_bodies,
    .body_count = sizeof(request_bodies) / sizeof(request_bodies[0]),
};

int codec_decode_request(const uint8_t *frame, size_t length, struct arena *arena,
                         struct msg_request *out, struct msg_error *out_error)
{
    struct scan_envelope envelope;
    ProtobufCMessage *message;

    memset(out, 0, sizeof(*out));
    scan_envelope(request_envelope.descriptor, frame, length, &envelope);
    out->id = envelope.id;
    out->name = envelope.body != NULL ? envelope.body->name : "";
    int rv = codec_unpack(&request_envelope, (struct msg_bytes){frame, length}, arena, &message,
                          out_error);
    if (rv != CODEC_MALFORMED && rv >= 0 && out->id == 0) {
        msg_error_set(out_error, MSG_MALFORMED, "id",
                      "a request needs an id other than 0, for its answer to carry back");
        return CODEC_MALFORMED;
    }
    if (rv != 0) {
        return rv;
    }
    const Hearsay__V1__Request *wire = (const Hearsay__V1__Request *)(const void *)message;
    const struct map_body *body = codec_body_numbered(&request_envelope, (uint32_t)wire->body_case);
    if (body == NULL) {
        return 0; /* MSG_REQUEST_UNKNOWN */
    }
    rv = map_read_body(body, wire->hello, arena, out, out_error);
    if (rv == 0) {
        out->kind = (enum msg_request_kind)body->kind;
    }
    return rv;
}

int codec_encode_request(const struct msg_request *request, size_t limit_bytes, struct bytes *out)
{
    const struct map_body *body = codec_body_of_kind(&request_envelope, (int)request->kind);

    return map_write_frame(request->id, body, request, limit_bytes, out);
}

enum msg_response_kind codec_reply_kind(enum msg_request_kind kind)
{
    return (enum msg_response_kind)codec_body_of_kind(&request_envelope, (int)kind)->reply;
}
