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

static const struct map_field limits_fields[] = {
    {MAP_FIELD(U32, Limits, limits, frame_bytes)},
    {MAP_FIELD(U32, Limits, limits, payload_bytes)},
    {MAP_FIELD(U32, Limits, limits, media_type_bytes)},
    {MAP_FIELD(U32, Limits, limits, deposit_fill_min_ppm)},
    {MAP_FIELD(U32, Limits, limits, deposit_fill_max_ppm)},
    {MAP_FIELD(U32, Limits, limits, query_fill_max_ppm)},
    {MAP_FIELD(U32, Limits, limits, k_max)},
    {MAP_FIELD(U32, Limits, limits, ttl_default_s)},
    {MAP_FIELD(U32, Limits, limits, ttl_max_s)},
    {MAP_FIELD(U32, Limits, limits, parts_max)},
    {MAP_FIELD(U32, Limits, limits, requests_in_flight)},
    {MAP_FIELD(U32, Limits, limits, deposits_per_minute)},
    {MAP_FIELD(U32, Limits, limits, queries_per_minute)},
    {MAP_FIELD(U32, Limits, limits, deposit_burst)},
    {MAP_FIELD(U32, Limits, limits, query_burst)},
    {MAP_FIELD(U32, Limits, limits, sessions)},
    {MAP_FIELD(U32, Limits, limits, sessions_per_address)},
    {MAP_FIELD(U64, Limits, limits, session_output_bytes)},
    {MAP_FIELD(U64, Limits, limits, messages)},
    {MAP_FIELD(U64, Limits, limits, bytes)},
    {MAP_FIELD(U32, Limits, limits, sender_share_ppm), .max = LIMIT_DISTANCE_PPM,
     .absent = LIMIT_DISTANCE_PPM},
    {MAP_FIELD(U32, Limits, limits, watches_per_session)},
    {MAP_FIELD(U32, Limits, limits, watches)},
};
static const struct map limits_map = MAP_OF("limits", limits, limits);

static const struct map_field epoch_info_fields[] = {
    {MAP_FIELD(U64, EpochInfo, epoch, number)},
    {MAP_FIELD(BYTES, EpochInfo, epoch, key), MAP_RANGE(LIMIT_KEY_BYTES, LIMIT_KEY_BYTES)},
    {MAP_FIELD(I64, EpochInfo, epoch, starts_ms)},
    {MAP_FIELD(I64, EpochInfo, epoch, ends_ms)},
    {MAP_FIELD(I64, EpochInfo, epoch, kept_ms)},
};
static const struct map epoch_map = MAP_OF("an epoch", epoch_info, epoch);

static const struct map_field epoch_changed_fields[] = {
    {MAP_FIELD(TEXT, EpochChanged, epoch_changed, host), .needed = true,
     MAP_RANGE(1, LIMIT_HOST_BYTES), .form = &codec_form_host},
    {MAP_INNER(EpochChanged, epoch_changed, epoch, EpochInfo, epoch, &epoch_map), .needed = true},
};
static const struct map epoch_changed_map = MAP_OF("epoch_changed", epoch_changed, epoch_changed);

static const struct map_field host_info_fields[] = {
    {MAP_FIELD(TEXT, HostInfo, host, name), .needed = true, MAP_RANGE(1, LIMIT_HOST_BYTES),
     .form = &codec_form_host},
    {MAP_FIELD(TEXT, HostInfo, host, profile), .needed = true, MAP_RANGE(1, LIMIT_PROFILE_BYTES)},
    {MAP_TEXTS(HostInfo, host, here, here_count), MAP_RANGE(1, LIMIT_LABEL_BYTES)},
    {MAP_AS(U32, HostInfo, suggested_max_distance, host, suggested_max_distance_ppm),
     .max = LIMIT_DISTANCE_PPM, .absent = LIMIT_DISTANCE_PPM},
    {MAP_MAYBE(HostInfo, host, epoch, has_epoch, EpochInfo, epoch, &epoch_map)},
    {MAP_FIELD(U64, HostInfo, host, messages)},
    {MAP_FIELD(U64, HostInfo, host, bytes)},
    {MAP_ENUM(HostInfo, host, evict, Evict, evict),
     MAP_RANGE(MSG_EVICT_REJECT, MSG_EVICT_SOONEST_EXPIRING), .absent = MSG_EVICT_REJECT},
    {MAP_ENUM(HostInfo, host, accept, Acceptance, acceptance),
     MAP_RANGE(MSG_ACCEPT_OPEN, MSG_ACCEPT_CLOSED), .absent = MSG_ACCEPT_OPEN},
    {MAP_FIELD(I64, HostInfo, host, accept_until_ms)},
    {MAP_ENUM(HostInfo, host, role, Role, role), MAP_RANGE(MSG_ROLE_OWNER, MSG_ROLE_RESTORING),
     .absent = MSG_ROLE_OWNER},
    {MAP_FIELD(TEXT, HostInfo, host, hood), MAP_RANGE(1, LIMIT_HOST_BYTES),
     .form = &codec_form_host},
};
static const struct map host_map = MAP_OF("a host", host_info, host);

static const struct map_field accept_changed_fields[] = {
    {MAP_FIELD(TEXT, AcceptChanged, accept_changed, host), .needed = true,
     MAP_RANGE(1, LIMIT_HOST_BYTES), .form = &codec_form_host},
    {MAP_ENUM(AcceptChanged, accept_changed, accept, Acceptance, acceptance),
     MAP_RANGE(MSG_ACCEPT_OPEN, MSG_ACCEPT_CLOSED), .absent = MSG_ACCEPT_OPEN},
    {MAP_FIELD(I64, AcceptChanged, accept_changed, accept_until_ms)},
};
static const struct map accept_changed_map =
    MAP_OF("accept_changed", accept_changed, accept_changed);

static const struct map_field welcome_fields[] = {
    {MAP_FIELD(U32, Welcome, welcome, version), .needed = true, .min = 1},
    {MAP_FIELD(BYTES, Welcome, welcome, store_id), .needed = true,
     MAP_RANGE(LIMIT_ID_BYTES, LIMIT_ID_BYTES)},
    {MAP_FIELD(I64, Welcome, welcome, now_ms)},
    {MAP_FIELD(BOOL, Welcome, welcome, clock_trusted)},
    {MAP_INNER(Welcome, welcome, limits, Limits, limits, &limits_map), .needed = true},
    {MAP_TEXTS(Welcome, welcome, capabilities, capability_count)},
    {MAP_LIST(Welcome, welcome, hosts, host_count, HostInfo, host)},
    {MAP_FIELD(BYTES, Welcome, welcome, resume_token), MAP_RANGE(1, LIMIT_RESUME_BYTES)},
    {MAP_FIELD(TEXT, Welcome, welcome, agent), .max = LIMIT_AGENT_BYTES},
    {MAP_MAYBE(Welcome, welcome, dropped, has_dropped, Error, error, &codec_error_map)},
};
static const struct map welcome_map = MAP_OF("welcome", welcome, welcome);

static const struct map_field deposited_fields[] = {
    {MAP_FIELD(I64, Deposited, deposited, expires_ms)},
    {MAP_FIELD(BOOL, Deposited, deposited, duplicate)},
    /*
     * The field is needed, so that no client takes an absent field for a promise that the message
     * survives a power failure.
     */
    {MAP_ENUM(Deposited, deposited, durability, Durability, durability), .needed = true,
     MAP_RANGE(MSG_DURABILITY_STORAGE, MSG_DURABILITY_REPLICATED)},
    {MAP_FIELD(I64, Deposited, deposited, deposited_ms)},
    {MAP_FIELD(BOOL, Deposited, deposited, held)},
    {MAP_FIELD(BOOL, Deposited, deposited, without_here)},
};
static const struct map deposited_map = MAP_OF("deposited", deposited, deposited);

static const struct map_field watching_fields[] = {
    {MAP_FIELD(U64, Watching, watching, watch_id)},
    {MAP_FIELD(U64, Watching, watching, seq)},
};
static const struct map watching_map = MAP_OF("watching", watching, watching);

static const struct map_field match_fields[] = {
    {MAP_FIELD(U64, Match, match, watch_id)},
    {MAP_FIELD(U64, Match, match, seq)},
    {MAP_INNER(Match, match, result, Result, result, &codec_result_map), .needed = true},
};
static const struct map match_map = MAP_OF("match", match, match);

static const struct map_field got_fields[] = {
    FORM_ID(Got, got),
    {MAP_FIELD(U64, Got, got, epoch)},
    {MAP_FIELD(I64, Got, got, deposited_ms)},
    {MAP_FIELD(I64, Got, got, expires_ms)},
    {MAP_FIELD(TEXT, Got, got, media_type), MAP_RANGE(1, LIMIT_MEDIA_TYPE_BYTES),
     .form = &codec_form_media_type},
    {MAP_FIELD(BYTES, Got, got, payload)},
};
static const struct map got_map = MAP_OF("got", got, got);

static const struct map_field pong_fields[] = {
    {MAP_FIELD(I64, Pong, pong, now_ms)},
    {MAP_FIELD(BOOL, Pong, pong, clock_trusted)},
};
static const struct map pong_map = MAP_OF("pong", pong, pong);

static const struct map_field exported_fields[] = {
    {QUERY_LIST(Exported, exported, messages, message_count, ExportedMessage, exported_message)},
    {MAP_FIELD(BYTES, Exported, exported, next), MAP_RANGE(1, LIMIT_CURSOR_BYTES)},
};
static const struct map exported_map = MAP_OF("exported", exported, exported);

static const struct map_field summarized_fields[] = {
    {MAP_FIELD(BYTES, Summarized, summarized, union_filter), .needed = true,
     MAP_RANGE(1, LIMIT_FILTER_BYTES)},
    {MAP_FIELD(U32, Summarized, summarized, cardinality_min)},
    {MAP_FIELD(U32, Summarized, summarized, cardinality_max)},
    {MAP_FIELD(U64, Summarized, summarized, count)},
    {MAP_FIELD(U64, Summarized, summarized, seq)},
    {QUERY_LIST(Summarized, summarized, groups, group_count, SummaryGroup, summary_group)},
};
static const struct map summarized_map = MAP_OF("summarized", summarized, summarized);

static const struct map_field here_labels_fields[] = {
    {MAP_TEXTS(HereLabels, here_labels, labels, label_count)},
};
static const struct map here_labels_map = MAP_OF("here_labels", here_labels, here_labels);

static const struct map_field here_changed_fields[] = {
    FORM_HOST(HereChanged, here_changed),
    {MAP_TEXTS(HereChanged, here_changed, labels, label_count)},
};
static const struct map here_changed_map = MAP_OF("here_changed", here_changed, here_changed);

static const struct map_field figure_fields[] = {
    {MAP_FIELD(TEXT, Figure, figure, name), .needed = true, MAP_RANGE(1, LIMIT_FIGURE_BYTES)},
    {MAP_FIELD(I64, Figure, figure, value)},
};
static const struct map figure_map = MAP_OF("a figure", figure, figure);

static const struct map_field stats_taken_fields[] = {
    {MAP_LIST(StatsTaken, stats_taken, figures, figure_count, Figure, figure)},
};
static const struct map stats_taken_map = MAP_OF("stats_taken", stats_taken, stats_taken);

static const struct map_field removed_fields[] = {
    {MAP_FIELD(I64, Removed, removed, destroyed_ms)},
};
static const struct map removed_map = MAP_OF("removed", removed, removed);

static const struct map_field restored_fields[] = {
    {MAP_FIELD(BYTES, Restored, restored, banned_hash),
     MAP_RANGE(LIMIT_HASH_BYTES, LIMIT_HASH_BYTES)},
};
static const struct map restored_map = MAP_OF("restored", restored, restored);

static const struct map_field report_reason_fields[] = {
    {MAP_ENUM(ReportReason, report_reason, kind, ReportKind, report_kind), .needed = true,
     MAP_RANGE(1, INT32_MAX)},
    {MAP_FIELD(TEXT, ReportReason, report_reason, text), .max = LIMIT_REASON_BYTES},
};
static const struct map report_reason_map = MAP_OF("a reason", report_reason, report_reason);

static const struct map_field reported_message_fields[] = {
    FORM_ID(ReportedMessage, reported_message),
    {MAP_FIELD(U32, ReportedMessage, reported_message, reports)},
    {MAP_FIELD(TEXT, ReportedMessage, reported_message, media_type),
     MAP_RANGE(1, LIMIT_MEDIA_TYPE_BYTES), .form = &codec_form_media_type},
    {MAP_FIELD(BYTES, ReportedMessage, reported_message, payload)},
    {MAP_LIST(ReportedMessage, reported_message, reasons, reason_count, ReportReason,
              report_reason)},
    {MAP_FIELD(BOOL, ReportedMessage, reported_message, hidden)},
    {MAP_FIELD(BOOL, ReportedMessage, reported_message, pending)},
    {MAP_FIELD(I64, ReportedMessage, reported_message, deposited_ms)},
    {MAP_FIELD(I64, ReportedMessage, reported_message, expires_ms)},
    {MAP_FIELD(BOOL, ReportedMessage, reported_message, payload_omitted)},
    {MAP_FIELD(I64, ReportedMessage, reported_message, destroyed_ms)},
};
static const struct map reported_message_map =
    MAP_OF("a message", reported_message, reported_message);

static const struct map_field reported_list_fields[] = {
    {MAP_LIST(ReportedList, reported_list, messages, message_count, ReportedMessage,
              reported_message)},
    {MAP_FIELD(U64, ReportedList, reported_list, total)},
    {MAP_FIELD(BYTES, ReportedList, reported_list, next), MAP_RANGE(1, LIMIT_CURSOR_BYTES)},
    {MAP_FIELD(BYTES, ReportedList, reported_list, previous), MAP_RANGE(1, LIMIT_CURSOR_BYTES)},
};
static const struct map reported_list_map = MAP_OF("reported_list", reported_list, reported_list);

static const struct map_field ban_entry_fields[] = {
    {MAP_FIELD(BYTES, BanEntry, ban_entry, payload_hash),
     MAP_RANGE(LIMIT_HASH_BYTES, LIMIT_HASH_BYTES)},
    {MAP_FIELD(BYTES, BanEntry, ban_entry, filter), MAP_RANGE(1, LIMIT_FILTER_BYTES)},
    {MAP_AS(U32, BanEntry, max_distance, ban_entry, max_distance_ppm), .max = LIMIT_DISTANCE_PPM},
    {MAP_FIELD(I64, BanEntry, ban_entry, since_ms)},
};
static const struct map ban_entry_map = MAP_OF("a ban", ban_entry, ban_entry);

static const struct map_field ban_list_fields[] = {
    {MAP_LIST(BanList, ban_list, bans, ban_count, BanEntry, ban_entry)},
    {MAP_FIELD(BOOL, BanList, ban_list, more)},
};
static const struct map ban_list_map = MAP_OF("ban_list", ban_list, ban_list);

static const struct map_field decision_fields[] = {
    {MAP_FIELD(U64, Decision, decision, number)},
    {MAP_FIELD(I64, Decision, decision, time_ms)},
    {MAP_FIELD(TEXT, Decision, decision, act), .needed = true, MAP_RANGE(1, LIMIT_WORD_BYTES)},
    {MAP_FIELD(BYTES, Decision, decision, id), MAP_RANGE(LIMIT_ID_BYTES, LIMIT_ID_BYTES)},
    {MAP_ENUM(Decision, decision, kind, ReportKind, report_kind), MAP_RANGE(1, INT32_MAX)},
    {MAP_FIELD(U32, Decision, decision, reports)},
    {MAP_FIELD(TEXT, Decision, decision, reason), .max = LIMIT_NOTE_BYTES},
    {MAP_FIELD(U32, Decision, decision, uid)},
    {MAP_FIELD(BOOL, Decision, decision, web)},
};
static const struct map decision_map = MAP_OF("a decision", decision, decision);

static const struct map_field decision_list_fields[] = {
    {MAP_LIST(DecisionList, decision_list, decisions, decision_count, Decision, decision)},
    {MAP_FIELD(BOOL, DecisionList, decision_list, more)},
};
static const struct map decision_list_map = MAP_OF("decision_list", decision_list, decision_list);

static const struct map_field waited_fields[] = {
    FORM_ID(Waited, waited),
    {MAP_ENUM(Waited, waited, kind, ReportKind, report_kind), MAP_RANGE(1, INT32_MAX)},
    {MAP_FIELD(BOOL, Waited, waited, pending)},
    {MAP_FIELD(U64, Waited, waited, count)},
};
static const struct map waited_map = MAP_OF("waited", waited, waited);

static const struct map_field similar_group_fields[] = {
    {MAP_FIELD(BYTES, SimilarGroup, similar_group, oldest), .needed = true,
     MAP_RANGE(LIMIT_ID_BYTES, LIMIT_ID_BYTES)},
    {MAP_FIELD(I64, SimilarGroup, similar_group, oldest_ms)},
    {MAP_FIELD(BYTES, SimilarGroup, similar_group, newest), .needed = true,
     MAP_RANGE(LIMIT_ID_BYTES, LIMIT_ID_BYTES)},
    {MAP_FIELD(I64, SimilarGroup, similar_group, newest_ms)},
    {MAP_FIELD(U64, SimilarGroup, similar_group, count)},
    {MAP_FIELD(U64, SimilarGroup, similar_group, epoch)},
};
static const struct map similar_group_map = MAP_OF("a group", similar_group, similar_group);

static const struct map_field similar_list_fields[] = {
    {MAP_LIST(SimilarList, similar_list, groups, group_count, SimilarGroup, similar_group)},
    {MAP_FIELD(U64, SimilarList, similar_list, total)},
    {MAP_FIELD(U64, SimilarList, similar_list, messages)},
};
static const struct map similar_list_map = MAP_OF("similar_list", similar_list, similar_list);

static const struct map_field accepting_fields[] = {
    {MAP_FIELD(TEXT, Accepting, accepting, mode), .needed = true, MAP_RANGE(1, LIMIT_WORD_BYTES)},
    {MAP_FIELD(TEXT, Accepting, accepting, source), .max = LIMIT_WORD_BYTES},
    {MAP_FIELD(I64, Accepting, accepting, until_ms)},
};
static const struct map accepting_map = MAP_OF("accepting", accepting, accepting);

static const struct map_field noticed_fields[] = {
    {QUERY_LIST(Noticed, notices, notices, notice_count, HouseNotice, house_notice)},
};
static const struct map noticed_map = MAP_OF("noticed", noticed, notices);

static const struct map_field notices_changed_fields[] = {
    {MAP_FIELD(TEXT, NoticesChanged, notices, host), .needed = true, MAP_RANGE(1, LIMIT_HOST_BYTES),
     .form = &codec_form_host},
    {QUERY_LIST(NoticesChanged, notices, notices, notice_count, HouseNotice, house_notice)},
};
static const struct map notices_changed_map = MAP_OF("notices_changed", notices_changed, notices);

static const struct map_field checked_fields[] = {
    {MAP_TEXTS(Checked, checked, problems, problem_count), .max = LIMIT_ERROR_BYTES},
    {MAP_FIELD(U64, Checked, checked, messages)},
};
static const struct map checked_map = MAP_OF("checked", checked, checked);

static const struct map_field backed_up_fields[] = {
    {MAP_AS(U64, BackedUp, bytes, bytes_taken, after)},
};
static const struct map backed_up_map = MAP_OF("backed_up", backed_up, bytes_taken);

static const struct map_field compacted_fields[] = {
    {MAP_AS(U64, Compacted, bytes_before, bytes_taken, before)},
    {MAP_AS(U64, Compacted, bytes_after, bytes_taken, after)},
};
static const struct map compacted_map = MAP_OF("compacted", compacted, bytes_taken);

static const struct map_field log_level_set_fields[] = {
    {MAP_FIELD(TEXT, LogLevelSet, log_level, level), .needed = true,
     MAP_RANGE(1, LIMIT_WORD_BYTES)},
};
static const struct map log_level_set_map = MAP_OF("log_level_set", log_level_set, log_level);

static const struct map_field ask_fields[] = {
    {MAP_FIELD(U64, Ask, ask, ask_id), .needed = true},
    {MAP_INNER(Ask, ask, query, Query, query, &codec_query_map), .needed = true},
    {MAP_FIELD(U32, Ask, ask, peers_max)},
};
static const struct map ask_map = MAP_OF("ask", ask, ask);

static const struct map_field changed_fields[] = {
    {QUERY_LIST(Changed, changed, changes, change_count, Change, change)},
    {MAP_FIELD(U64, Changed, changed, next)},
    {MAP_FIELD(BOOL, Changed, changed, more)},
    {MAP_FIELD(U32, Changed, changed, waiting)},
    {MAP_FIELD(I64, Changed, changed, waiting_since_ms)},
};
static const struct map changed_map = MAP_OF("changed", changed, changed);

static const struct map_field applied_fields[] = {
    {MAP_FIELD(U32, Applied, applied, changed)},
    {MAP_FIELD(U32, Applied, applied, conflicts)},
    {MAP_FIELD(U32, Applied, applied, no_room)},
    {MAP_FIELD(U32, Applied, applied, not_kept)},
};
static const struct map applied_map = MAP_OF("applied", applied, applied);

#define BODY(NAME, table, member)                                              \
    {                                                                          \
        MSG_RESPONSE_##NAME, HEARSAY__V1__RESPONSE__BODY_##NAME, &table##_map, \
            offsetof(struct msg_response, member), 0                           \
    }
#define EMPTY(NAME)                                                         \
    {                                                                       \
        MSG_RESPONSE_##NAME, HEARSAY__V1__RESPONSE__BODY_##NAME, NULL, 0, 0 \
    }

static const struct map_body response_bodies[] = {
    {MSG_RESPONSE_RESULTS, HEARSAY__V1__RESPONSE__BODY_RESULTS, &codec_results_map,
     offsetof(struct msg_response, results), 0},
    BODY(DEPOSITED, deposited, deposited),
    {MSG_RESPONSE_ERROR, HEARSAY__V1__RESPONSE__BODY_ERROR, &codec_error_map,
     offsetof(struct msg_response, error), 0},
    BODY(WELCOME, welcome, welcome),
    BODY(GOT, got, got),
    EMPTY(WITHDRAWN),
    BODY(PONG, pong, pong),
    BODY(EXPORTED, exported, exported),
    BODY(HERE_LABELS, here_labels, here_labels),
    BODY(HERE_CHANGED, here_changed, here_changed),
    BODY(SUMMARIZED, summarized, summarized),
    BODY(WATCHING, watching, watching),
    EMPTY(UNWATCHED),
    BODY(MATCH, match, match),
    EMPTY(REPORT_TAKEN),
    BODY(STATS_TAKEN, stats_taken, stats_taken),
    BODY(REMOVED, removed, removed),
    BODY(RESTORED, restored, restored),
    BODY(REPORTED_LIST, reported_list, reported_list),
    EMPTY(BANNED),
    EMPTY(UNBANNED),
    BODY(BAN_LIST, ban_list, ban_list),
    BODY(ACCEPTING, accepting, accepting),
    BODY(CHECKED, checked, checked),
    BODY(BACKED_UP, backed_up, bytes_taken),
    BODY(COMPACTED, compacted, bytes_taken),
    EMPTY(RELOADED),
    BODY(LOG_LEVEL_SET, log_level_set, log_level),
    EMPTY(HIDDEN),
    BODY(DECISION_LIST, decision_list, decision_list),
    BODY(WAITED, waited, waited),
    BODY(SIMILAR_LIST, similar_list, similar_list),
    BODY(EPOCH_CHANGED, epoch_changed, epoch_changed),
    BODY(ACCEPT_CHANGED, accept_changed, accept_changed),
    BODY(NOTICED, noticed, notices),
    BODY(NOTICES_CHANGED, notices_changed, notices),
    BODY(ASK, ask, ask),
    EMPTY(SERVING),
    EMPTY(ANSWER_TAKEN),
    BODY(CHANGED, changed, changed),
    BODY(APPLIED, applied, applied),
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
    ProtobufCMessage *message;

    memset(out, 0, sizeof(*out));
    scan_envelope(response_envelope.descriptor, frame, length, &envelope);
    out->id = envelope.id;
    int rv = codec_unpack(&response_envelope, (struct msg_bytes){frame, length}, arena, &message,
                          out_error);
    if (rv != 0) {
        return rv;
    }
    const Hearsay__V1__Response *wire = (const Hearsay__V1__Response *)(const void *)message;
    const struct map_body *body =
        codec_body_numbered(&response_envelope, (uint32_t)wire->body_case);
    if (body == NULL) {
        return 0; /* MSG_RESPONSE_UNKNOWN: the body is of a later version, or absent */
    }
    rv = map_read_body(body, wire->welcome, arena, out, out_error);
    if (rv == 0) {
        out->kind = (enum msg_response_kind)body->kind;
    }
    return rv;
}

int codec_encode_response(const struct msg_response *response, size_t limit_bytes,
                          struct bytes *out)
{
    return map_write_frame(response->id,
                           codec_body_of_kind(&response_envelope, (int)response->kind), response,
                           limit_bytes, out);
}
