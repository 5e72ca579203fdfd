/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/vectors/frames_json.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/check.h"

#define EXACT (INT64_C(1) << 53) /* whole numbers beyond this are strings */

static void put(json_t *object, const char *name, json_t *value)
{
    assert_non_null(value);
    assert_int_equal(json_object_set_new(object, name, value), 0);
}

static void put_u64(json_t *object, const char *name, uint64_t value, uint64_t absent)
{
    char digits[24];

    if (value == absent) {
        return;
    }
    if (value <= (uint64_t)EXACT) {
        put(object, name, json_integer((json_int_t)value));
        return;
    }
    (void)snprintf(digits, sizeof digits, "%llu", (unsigned long long)value); /* it fits */
    put(object, name, json_string(digits));
}

static void put_i64(json_t *object, const char *name, int64_t value, int64_t absent)
{
    char digits[24];

    if (value == absent) {
        return;
    }
    if (value >= -EXACT && value <= EXACT) {
        put(object, name, json_integer((json_int_t)value));
        return;
    }
    (void)snprintf(digits, sizeof digits, "%lld", (long long)value); /* it fits */
    put(object, name, json_string(digits));
}

static void put_bool(json_t *object, const char *name, bool value)
{
    if (value) {
        put(object, name, json_true());
    }
}

static void put_text(json_t *object, const char *name, struct msg_text text)
{
    if (text.text != NULL) {
        assert_int_equal(strlen(text.text), text.length);
        put(object, name, json_stringn(text.text, text.length));
    }
}

static void put_bytes(json_t *object, const char *name, struct msg_bytes bytes)
{
    char *hex;

    if (bytes.data == NULL) {
        return;
    }
    hex = calloc(bytes.count * 2 + 1, 1);
    assert_non_null(hex);
    for (size_t i = 0; i < bytes.count; i++) {
        (void)snprintf(hex + 2 * i, 3, "%02x", bytes.data[i]); /* it fits */
    }
    put(object, name, json_string(hex));
    free(hex);
}

static void put_name(json_t *object, const char *name, const char *value)
{
    put(object, name, json_string(value));
}

/* An array, unless it is empty: where entries go. */
static json_t *put_list(json_t *object, const char *name, size_t count)
{
    json_t *list = NULL;

    if (count > 0) {
        list = json_array();
        put(object, name, list);
    }
    return list;
}

static json_t *add_object(json_t *list)
{
    json_t *object = json_object();

    assert_int_equal(json_array_append_new(list, object), 0);
    return object;
}

static void put_numbers(json_t *object, const char *name, const uint32_t *numbers, uint32_t count)
{
    json_t *list = put_list(object, name, count);

    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(json_array_append_new(list, json_integer(numbers[i])), 0);
    }
}

/* --- requests -----------------------------------------------------------------------------------
 */

static void put_hello(json_t *body, const struct msg_request *request)
{
    const struct msg_hello *hello = &request->hello;

    put_numbers(body, "versions", hello->versions, hello->version_count);
    put_text(body, "agent", hello->agent);
    put_bytes(body, "resume_token", hello->resume_token);
    put_bytes(body, "on_behalf", hello->on_behalf);
    put_bytes(body, "on_behalf_local", hello->on_behalf_local);
}

static void put_deposit(json_t *body, const struct msg_request *request)
{
    const struct msg_deposit *deposit = &request->deposit;

    put_text(body, "host", deposit->host);
    put_bytes(body, "id", deposit->id);
    put_u64(body, "epoch", deposit->epoch, 0);
    put_bytes(body, "filter", deposit->filter);
    if (strcmp(deposit->media_type.text, "text/plain") != 0) {
        put_text(body, "media_type", deposit->media_type);
    }
    if (deposit->payload.count > 0) { /* absent is empty */
        put_bytes(body, "payload", deposit->payload);
    }
    put_u64(body, "ttl_s", deposit->ttl_s, 0);
    assert_int_equal(deposit->has_ttl, deposit->ttl_s != 0);
    put_u64(body, "reach", deposit->reach_ppm, LIMIT_DISTANCE_PPM);
    put_bytes(body, "withdraw_hash", deposit->withdraw_hash);
    put_u64(body, "work", deposit->work, 0);
}

static void put_query(json_t *body, const struct msg_request *request)
{
    const struct msg_query *query = &request->query;
    json_t *list;

    put_text(body, "host", query->host);
    put_u64(body, "k", query->k, 0);
    list = put_list(body, "parts", query->part_count);
    for (size_t i = 0; i < query->part_count; i++) {
        json_t *part = add_object(list);

        put_u64(part, "epoch", query->parts[i].epoch, 0);
        put_bytes(part, "filter", query->parts[i].filter);
        put_bytes(part, "contains", query->parts[i].contains);
    }
    put_u64(body, "max_distance", query->max_distance_ppm, LIMIT_DISTANCE_PPM);
    put_i64(body, "since_ms", query->since_ms, INT64_MIN);
    put_i64(body, "until_ms", query->until_ms, INT64_MAX);
    if (query->metric == MSG_METRIC_ESTIMATED) {
        put_name(body, "metric", "ESTIMATED");
    }
    if (query->order == MSG_ORDER_TIME) {
        put_name(body, "order", "TIME");
    }
    list = put_list(body, "exclude", query->exclude_count);
    for (size_t i = 0; i < query->exclude_count; i++) {
        json_t *slice = add_object(list);

        put_bytes(slice, "bits", query->exclude[i].bits);
        put_u64(slice, "hashes", query->exclude[i].hashes, 0);
        put_u64(slice, "seed", query->exclude[i].seed, 0);
    }
    put_bool(body, "with_payload", query->with_payload);
    if (query->scope == MSG_SCOPE_HOOD) {
        put_name(body, "scope", "HOOD");
    }
}

static void put_get(json_t *body, const struct msg_request *request)
{
    put_text(body, "host", request->get.host);
    put_bytes(body, "id", request->get.id);
}

static void put_withdraw(json_t *body, const struct msg_request *request)
{
    put_text(body, "host", request->withdraw.host);
    put_bytes(body, "id", request->withdraw.id);
    put_bytes(body, "token", request->withdraw.token);
}

static void put_watch(json_t *body, const struct msg_request *request)
{
    struct msg_request inner = {.kind = MSG_REQUEST_QUERY, .query = request->watch.query};
    json_t *query = json_object();

    put_query(query, &inner);
    put(body, "query", query);
    put_u64(body, "after_seq", request->watch.after_seq, UINT64_MAX);
}

static void put_unwatch(json_t *body, const struct msg_request *request)
{
    put_u64(body, "watch_id", request->unwatch.watch_id, 0);
}

static void put_export(json_t *body, const struct msg_request *request)
{
    put_text(body, "host", request->export_page.host);
    put_bytes(body, "after", request->export_page.after);
    put_u64(body, "limit", request->export_page.limit, 0);
}

static void put_here(json_t *body, const struct msg_request *request)
{
    put_text(body, "host", request->here.host);
    put_bytes(body, "on_behalf", request->here.on_behalf);
}

static void put_summary(json_t *body, const struct msg_request *request)
{
    put_text(body, "host", request->summary.host);
    put_u64(body, "epoch", request->summary.epoch, 0);
}

static void put_no_request(json_t *body, const struct msg_request *request)
{
    (void)body; /* it has no fields */
    (void)request;
}

static void put_report_kind(json_t *object, enum msg_report_kind kind)
{
    static const char *const names[] = {"NO_KIND",    "ILLEGAL", "ABOUT_ME",
                                        "HARASSMENT", "SPAM",    "OTHER_KIND"};

    assert_true(kind >= MSG_REPORT_ILLEGAL && kind <= MSG_REPORT_OTHER);
    put_name(object, "kind", names[kind]);
}

static void put_kind_said(json_t *object, enum msg_report_kind kind)
{
    if (kind != 0) {
        put_report_kind(object, kind);
    }
}

static void put_report(json_t *body, const struct msg_request *request)
{
    if (request->report.kind != MSG_REPORT_OTHER) {
        put_report_kind(body, request->report.kind);
    }
    put_text(body, "host", request->report.host);
    put_bytes(body, "id", request->report.id);
    put_text(body, "reason", request->report.reason);
    put_u64(body, "work", request->report.work, 0);
}

/* The names that the one word and the one number of these requests have in the schema. */
static const struct {
    const char *word;
    const char *number;
} admin_names[] = {
    [MSG_REQUEST_REPORTED] = {NULL, "limit"},  [MSG_REQUEST_BANS] = {NULL, "skip"},
    [MSG_REQUEST_ACCEPT] = {"mode", NULL},     [MSG_REQUEST_BACKUP] = {"path", NULL},
    [MSG_REQUEST_LOG_LEVEL] = {"level", NULL}, [MSG_REQUEST_DECISIONS] = {NULL, "limit"},
    [MSG_REQUEST_NOTICE] = {"text", "drop"},
};

static void put_admin(json_t *body, const struct msg_request *request)
{
    const struct msg_admin *admin = &request->admin;

    put_text(body, "host", admin->host);
    put_bytes(body, "id", admin->id);
    put_bool(body, "ban", admin->ban);
    put_bool(body, "pending", admin->pending);
    put_bool(body, "withheld", admin->withheld);
    put_kind_said(body, admin->kind);
    put_text(body, "reason", admin->reason);
    if (request->kind == MSG_REQUEST_DECISIONS) {
        put_u64(body, "before", admin->before, UINT64_MAX);
    }
    put_bytes(body, "payload_hash", admin->payload_hash);
    put_bytes(body, "filter", admin->filter);
    put_u64(body, "max_distance", admin->max_distance_ppm, 0);
    if (admin_names[request->kind].number != NULL) {
        put_u64(body, admin_names[request->kind].number, admin->number, 0);
    }
    if (admin_names[request->kind].word != NULL) {
        put_text(body, admin_names[request->kind].word, admin->word);
    }
    put_text(body, "lang", admin->lang);
    put_i64(body, "until_ms", admin->until_ms, 0);
}

static void (*const request_writers[])(json_t *, const struct msg_request *) = {
    [MSG_REQUEST_HELLO] = put_hello,        [MSG_REQUEST_DEPOSIT] = put_deposit,
    [MSG_REQUEST_QUERY] = put_query,        [MSG_REQUEST_GET] = put_get,
    [MSG_REQUEST_WITHDRAW] = put_withdraw,  [MSG_REQUEST_PING] = put_no_request,
    [MSG_REQUEST_EXPORT] = put_export,      [MSG_REQUEST_SUMMARY] = put_summary,
    [MSG_REQUEST_HERE] = put_here,          [MSG_REQUEST_REPORT] = put_report,
    [MSG_REQUEST_STATS] = put_admin,        [MSG_REQUEST_REMOVE] = put_admin,
    [MSG_REQUEST_RESTORE] = put_admin,      [MSG_REQUEST_REPORTED] = put_admin,
    [MSG_REQUEST_BAN] = put_admin,          [MSG_REQUEST_UNBAN] = put_admin,
    [MSG_REQUEST_BANS] = put_admin,         [MSG_REQUEST_ACCEPT] = put_admin,
    [MSG_REQUEST_CHECK] = put_no_request,   [MSG_REQUEST_BACKUP] = put_admin,
    [MSG_REQUEST_COMPACT] = put_no_request, [MSG_REQUEST_RELOAD] = put_no_request,
    [MSG_REQUEST_LOG_LEVEL] = put_admin,    [MSG_REQUEST_WATCH] = put_watch,
    [MSG_REQUEST_UNWATCH] = put_unwatch,    [MSG_REQUEST_HIDE] = put_admin,
    [MSG_REQUEST_DECISIONS] = put_admin,    [MSG_REQUEST_WAIT] = put_admin,
    [MSG_REQUEST_NOTICE] = put_admin,
};

json_t *frames_json_request(const struct msg_request *request)
{
    json_t *object = json_object();

    put_u64(object, "id", request->id, 0);
    if (request->kind != MSG_REQUEST_UNKNOWN) {
        json_t *body = json_object();

        request_writers[request->kind](body, request);
        put(object, request->name, body);
    }
    return object;
}

/* --- responses ----------------------------------------------------------------------------------
 */

static void put_error(json_t *body, const struct msg_response *response)
{
    const struct msg_error *error = &response->error;

    put_name(body, "code", msg_error_name(error->code));
    if (error->message[0] != '\0') {
        put_name(body, "message", error->message);
    }
    if (error->field[0] != '\0') {
        put_name(body, "field", error->field);
    }
    put_u64(body, "retry_after_ms", error->retry_after_ms, 0);
    put_numbers(body, "versions", error->versions, error->version_count);
}

static void put_limits(json_t *body, const struct msg_limits *limits)
{
    put_u64(body, "frame_bytes", limits->frame_bytes, 0);
    put_u64(body, "payload_bytes", limits->payload_bytes, 0);
    put_u64(body, "media_type_bytes", limits->media_type_bytes, 0);
    put_u64(body, "deposit_fill_min_ppm", limits->deposit_fill_min_ppm, 0);
    put_u64(body, "deposit_fill_max_ppm", limits->deposit_fill_max_ppm, 0);
    put_u64(body, "query_fill_max_ppm", limits->query_fill_max_ppm, 0);
    put_u64(body, "k_max", limits->k_max, 0);
    put_u64(body, "ttl_default_s", limits->ttl_default_s, 0);
    put_u64(body, "ttl_max_s", limits->ttl_max_s, 0);
    put_u64(body, "parts_max", limits->parts_max, 0);
    put_u64(body, "requests_in_flight", limits->requests_in_flight, 0);
    put_u64(body, "deposits_per_minute", limits->deposits_per_minute, 0);
    put_u64(body, "queries_per_minute", limits->queries_per_minute, 0);
    put_u64(body, "deposit_burst", limits->deposit_burst, 0);
    put_u64(body, "query_burst", limits->query_burst, 0);
    put_u64(body, "sessions", limits->sessions, 0);
    put_u64(body, "sessions_per_address", limits->sessions_per_address, 0);
    put_u64(body, "session_output_bytes", limits->session_output_bytes, 0);
    put_u64(body, "messages", limits->messages, 0);
    put_u64(body, "bytes", limits->bytes, 0);
    put_u64(body, "sender_share_ppm", limits->sender_share_ppm, 1000000);
    put_u64(body, "work_bits", limits->work_bits, 0);
    put_u64(body, "watches_per_session", limits->watches_per_session, 0);
    put_u64(body, "watches", limits->watches, 0);
}

static void put_epoch(json_t *object, const struct msg_epoch *epoch)
{
    json_t *entry = json_object();

    put_u64(entry, "number", epoch->number, 0);
    put_bytes(entry, "key", epoch->key);
    put_i64(entry, "starts_ms", epoch->starts_ms, 0);
    put_i64(entry, "ends_ms", epoch->ends_ms, 0);
    put_i64(entry, "kept_ms", epoch->kept_ms, 0);
    put(object, "epoch", entry);
}

static void put_epoch_changed(json_t *body, const struct msg_response *response)
{
    put_text(body, "host", response->epoch_changed.host);
    put_epoch(body, &response->epoch_changed.epoch);
}

static void put_labels(json_t *body, const char *name, const struct msg_text *labels, size_t count)
{
    json_t *list = put_list(body, name, count);

    for (size_t i = 0; i < count; i++) {
        assert_int_equal(json_array_append_new(list, json_string(labels[i].text)), 0);
    }
}

static void put_here_labels(json_t *body, const struct msg_response *response)
{
    put_labels(body, "labels", response->here_labels.labels, response->here_labels.label_count);
}

static void put_here_changed(json_t *body, const struct msg_response *response)
{
    put_text(body, "host", response->here_changed.host);
    put_labels(body, "labels", response->here_changed.labels, response->here_changed.label_count);
}

static void put_notices(json_t *body, const struct msg_house_notice *notices, size_t count)
{
    json_t *list = put_list(body, "notices", count);

    for (size_t i = 0; i < count; i++) {
        json_t *object = add_object(list);

        put_u64(object, "number", notices[i].number, 0);
        put_text(object, "text", notices[i].text);
        put_text(object, "lang", notices[i].lang);
        put_i64(object, "since_ms", notices[i].since_ms, 0);
        put_i64(object, "until_ms", notices[i].until_ms, 0);
    }
}

static void put_noticed(json_t *body, const struct msg_response *response)
{
    put_text(body, "host", response->notices.host); /* of notices_changed only */
    put_notices(body, response->notices.notices, response->notices.notice_count);
}

static void put_accept_changed(json_t *body, const struct msg_response *response)
{
    const struct msg_accept_changed *changed = &response->accept_changed;

    put_text(body, "host", changed->host);
    if (changed->accept != MSG_ACCEPT_OPEN) {
        put_name(body, "accept", changed->accept == MSG_ACCEPT_REVIEW ? "REVIEW" : "CLOSED");
    }
    put_i64(body, "accept_until_ms", changed->accept_until_ms, 0);
}

static void put_welcome(json_t *body, const struct msg_response *response)
{
    const struct msg_welcome *welcome = &response->welcome;
    json_t *limits = json_object();
    json_t *list;

    put_u64(body, "version", welcome->version, 0);
    put_bytes(body, "store_id", welcome->store_id);
    put_i64(body, "now_ms", welcome->now_ms, 0);
    put_bool(body, "clock_trusted", welcome->clock_trusted);
    put_limits(limits, &welcome->limits);
    put(body, "limits", limits);
    list = put_list(body, "capabilities", welcome->capability_count);
    for (size_t i = 0; i < welcome->capability_count; i++) {
        assert_int_equal(json_array_append_new(list, json_string(welcome->capabilities[i].text)),
                         0);
    }
    list = put_list(body, "hosts", welcome->host_count);
    for (size_t i = 0; i < welcome->host_count; i++) {
        json_t *host = add_object(list);

        put_text(host, "name", welcome->hosts[i].name);
        put_text(host, "profile", welcome->hosts[i].profile);
        put_u64(host, "suggested_max_distance", welcome->hosts[i].suggested_max_distance_ppm,
                LIMIT_DISTANCE_PPM);
        if (welcome->hosts[i].has_epoch) {
            put_epoch(host, &welcome->hosts[i].epoch);
        }
        put_labels(host, "here", welcome->hosts[i].here, welcome->hosts[i].here_count);
        put_u64(host, "messages", welcome->hosts[i].messages, 0);
        put_u64(host, "bytes", welcome->hosts[i].bytes, 0);
        if (welcome->hosts[i].evict != MSG_EVICT_REJECT) {
            put_name(host, "evict",
                     welcome->hosts[i].evict == MSG_EVICT_OLDEST ? "OLDEST" : "SOONEST_EXPIRING");
        }
        if (welcome->hosts[i].accept != MSG_ACCEPT_OPEN) {
            put_name(host, "accept",
                     welcome->hosts[i].accept == MSG_ACCEPT_REVIEW ? "REVIEW" : "CLOSED");
        }
        put_i64(host, "accept_until_ms", welcome->hosts[i].accept_until_ms, 0);
        put_text(host, "hood", welcome->hosts[i].hood);
    }
    put_text(body, "agent", welcome->agent);
    put_bytes(body, "resume_token", welcome->resume_token);
    if (welcome->has_dropped) {
        const struct msg_response dropped = {.error = welcome->dropped};
        json_t *error = json_object();

        put_error(error, &dropped);
        put(body, "dropped", error);
    }
}

static void put_deposited(json_t *body, const struct msg_response *response)
{
    const struct msg_deposited *deposited = &response->deposited;

    put_i64(body, "expires_ms", deposited->expires_ms, 0);
    put_bool(body, "duplicate", deposited->duplicate);
    put_name(body, "durability",
             deposited->durability == MSG_DURABILITY_STORAGE ? "ON_STORAGE" : "RELAXED");
    put_i64(body, "deposited_ms", deposited->deposited_ms, 0);
    put_bool(body, "held", response->deposited.held);
}

static void put_result(json_t *entry, const struct msg_result *result)
{
    put_bytes(entry, "id", result->id);
    put_u64(entry, "intersection_count", result->intersection_count, 0);
    put_u64(entry, "union_count", result->union_count, 0);
    put_u64(entry, "distance", result->distance_ppm, 0);
    put_u64(entry, "estimated_similarity", result->estimated_similarity_ppm, 0);
    put_i64(entry, "deposited_ms", result->deposited_ms, 0);
    put_i64(entry, "expires_ms", result->expires_ms, 0);
    put_text(entry, "media_type", result->media_type);
    put_bytes(entry, "payload", result->payload);
    put_bool(entry, "payload_omitted", result->payload_omitted);
    put_u64(entry, "epoch", result->epoch, 0);
    put_text(entry, "host", result->host);
}

static void put_watching(json_t *body, const struct msg_response *response)
{
    put_u64(body, "watch_id", response->watching.watch_id, 0);
    put_u64(body, "seq", response->watching.seq, 0);
}

static void put_match(json_t *body, const struct msg_response *response)
{
    json_t *result = json_object();

    put_u64(body, "watch_id", response->match.watch_id, 0);
    put_u64(body, "seq", response->match.seq, 0);
    put_result(result, &response->match.result);
    put(body, "result", result);
}

static void put_results(json_t *body, const struct msg_response *response)
{
    const struct msg_results *results = &response->results;
    json_t *list = put_list(body, "results", results->result_count);

    for (size_t i = 0; i < results->result_count; i++) {
        put_result(add_object(list), &results->results[i]);
    }
    put_u64(body, "comparisons", results->comparisons, 0);
    put_bool(body, "exact", results->exact);
    put_bool(body, "capped", results->capped);
    put_notices(body, results->notices, results->notice_count);
    put_bool(body, "complete", results->complete);
    put_u64(body, "peers", results->peers, 0);
    put_u64(body, "peers_asked", results->peers_asked, 0);
    put_u64(body, "peers_other", results->peers_other, 0);
    put_i64(body, "as_of_ms", results->as_of_ms, 0);
}

static void put_got(json_t *body, const struct msg_response *response)
{
    const struct msg_got *got = &response->got;

    put_bytes(body, "id", got->id);
    put_u64(body, "epoch", got->epoch, 0);
    put_i64(body, "deposited_ms", got->deposited_ms, 0);
    put_i64(body, "expires_ms", got->expires_ms, 0);
    put_text(body, "media_type", got->media_type);
    put_bytes(body, "payload", got->payload);
}

static void put_pong(json_t *body, const struct msg_response *response)
{
    put_i64(body, "now_ms", response->pong.now_ms, 0);
    put_bool(body, "clock_trusted", response->pong.clock_trusted);
}

static void put_exported(json_t *body, const struct msg_response *response)
{
    const struct msg_exported *exported = &response->exported;
    json_t *list = put_list(body, "messages", exported->message_count);

    for (size_t i = 0; i < exported->message_count; i++) {
        const struct msg_exported_message *message = &exported->messages[i];
        json_t *entry = add_object(list);

        put_bytes(entry, "id", message->id);
        put_u64(entry, "epoch", message->epoch, 0);
        put_bytes(entry, "filter", message->filter);
        put_text(entry, "media_type", message->media_type);
        put_bytes(entry, "payload", message->payload);
        put_i64(entry, "deposited_ms", message->deposited_ms, 0);
        put_i64(entry, "expires_ms", message->expires_ms, 0);
        put_u64(entry, "reach", message->reach_ppm, LIMIT_DISTANCE_PPM);
        put_bytes(entry, "withdraw_hash", message->withdraw_hash);
    }
    put_bytes(body, "next", exported->next);
}

static void put_summarized(json_t *body, const struct msg_response *response)
{
    const struct msg_summarized *summarized = &response->summarized;

    put_bytes(body, "union_filter", summarized->union_filter);
    put_u64(body, "cardinality_min", summarized->cardinality_min, 0);
    put_u64(body, "cardinality_max", summarized->cardinality_max, 0);
    put_u64(body, "count", summarized->count, 0);
}

static void put_texts(json_t *object, const char *name, const struct msg_text *texts, size_t count)
{
    json_t *list = put_list(object, name, count);

    for (size_t i = 0; i < count; i++) {
        assert_int_equal(json_array_append_new(list, json_stringn(texts[i].text, texts[i].length)),
                         0);
    }
}

static void put_stats_taken(json_t *body, const struct msg_response *response)
{
    const struct msg_stats_taken *stats = &response->stats_taken;
    json_t *list = put_list(body, "figures", stats->figure_count);

    for (size_t i = 0; i < stats->figure_count; i++) {
        json_t *figure = add_object(list);

        put_text(figure, "name", stats->figures[i].name);
        put_i64(figure, "value", stats->figures[i].value, 0);
    }
}

static void put_reasons(json_t *object, const struct msg_reported_message *message)
{
    json_t *list = put_list(object, "reasons", message->reason_count);

    for (size_t i = 0; i < message->reason_count; i++) {
        json_t *reason = add_object(list);

        put_report_kind(reason, message->reasons[i].kind);
        put_text(reason, "text", message->reasons[i].text);
    }
}

static void put_reported_list(json_t *body, const struct msg_response *response)
{
    const struct msg_reported_list *reported = &response->reported_list;
    json_t *list = put_list(body, "messages", reported->message_count);

    for (size_t i = 0; i < reported->message_count; i++) {
        const struct msg_reported_message *message = &reported->messages[i];
        json_t *object = add_object(list);

        put_bytes(object, "id", message->id);
        put_u64(object, "reports", message->reports, 0);
        put_text(object, "media_type", message->media_type);
        put_bytes(object, "payload", message->payload);
        put_reasons(object, message);
        put_bool(object, "hidden", message->hidden);
        put_bool(object, "pending", message->pending);
        put_i64(object, "deposited_ms", message->deposited_ms, 0);
        put_i64(object, "expires_ms", message->expires_ms, 0);
        put_bool(object, "payload_omitted", message->payload_omitted);
        put_i64(object, "destroyed_ms", message->destroyed_ms, 0);
    }
    put_u64(body, "total", reported->total, 0);
}

static void put_removed(json_t *body, const struct msg_response *response)
{
    put_i64(body, "destroyed_ms", response->removed.destroyed_ms, 0);
}

static void put_restored(json_t *body, const struct msg_response *response)
{
    put_bytes(body, "banned_hash", response->restored.banned_hash);
}

static void put_decision_list(json_t *body, const struct msg_response *response)
{
    const struct msg_decision_list *from = &response->decision_list;
    json_t *list = put_list(body, "decisions", from->decision_count);

    for (size_t i = 0; i < from->decision_count; i++) {
        const struct msg_decision *decision = &from->decisions[i];
        json_t *object = add_object(list);

        put_u64(object, "number", decision->number, 0);
        put_i64(object, "time_ms", decision->time_ms, 0);
        put_text(object, "act", decision->act);
        put_bytes(object, "id", decision->id);
        put_kind_said(object, decision->kind);
        put_u64(object, "reports", decision->reports, 0);
        put_text(object, "reason", decision->reason);
        put_u64(object, "uid", decision->uid, 0);
        put_bool(object, "web", decision->web);
    }
    put_bool(body, "more", from->more);
}

static void put_waited(json_t *body, const struct msg_response *response)
{
    put_bytes(body, "id", response->waited.id);
    put_kind_said(body, response->waited.kind);
    put_bool(body, "pending", response->waited.pending);
    put_u64(body, "count", response->waited.count, 0);
}

static void put_ban_list(json_t *body, const struct msg_response *response)
{
    const struct msg_ban_list *bans = &response->ban_list;
    json_t *list = put_list(body, "bans", bans->ban_count);

    for (size_t i = 0; i < bans->ban_count; i++) {
        json_t *object = add_object(list);

        put_bytes(object, "payload_hash", bans->bans[i].payload_hash);
        put_bytes(object, "filter", bans->bans[i].filter);
        put_u64(object, "max_distance", bans->bans[i].max_distance_ppm, 0);
        put_i64(object, "since_ms", bans->bans[i].since_ms, 0);
    }
    put_bool(body, "more", bans->more);
}

static void put_accepting(json_t *body, const struct msg_response *response)
{
    put_text(body, "mode", response->accepting.mode);
    put_text(body, "source", response->accepting.source);
    put_i64(body, "until_ms", response->accepting.until_ms, 0);
}

static void put_checked(json_t *body, const struct msg_response *response)
{
    put_texts(body, "problems", response->checked.problems, response->checked.problem_count);
    put_u64(body, "messages", response->checked.messages, 0);
}

static void put_backed_up(json_t *body, const struct msg_response *response)
{
    put_u64(body, "bytes", response->bytes_taken.after, 0);
}

static void put_compacted(json_t *body, const struct msg_response *response)
{
    put_u64(body, "bytes_before", response->bytes_taken.before, 0);
    put_u64(body, "bytes_after", response->bytes_taken.after, 0);
}

static void put_log_level_set(json_t *body, const struct msg_response *response)
{
    put_text(body, "level", response->log_level.level);
}

static void put_no_response(json_t *body, const struct msg_response *response)
{
    (void)body; /* it has no fields */
    (void)response;
}

static const struct {
    const char *name;
    void (*write)(json_t *, const struct msg_response *);
} response_writers[] = {
    [MSG_RESPONSE_ERROR] = {"error", put_error},
    [MSG_RESPONSE_WELCOME] = {"welcome", put_welcome},
    [MSG_RESPONSE_DEPOSITED] = {"deposited", put_deposited},
    [MSG_RESPONSE_RESULTS] = {"results", put_results},
    [MSG_RESPONSE_GOT] = {"got", put_got},
    [MSG_RESPONSE_WITHDRAWN] = {"withdrawn", put_no_response},
    [MSG_RESPONSE_PONG] = {"pong", put_pong},
    [MSG_RESPONSE_EXPORTED] = {"exported", put_exported},
    [MSG_RESPONSE_SUMMARIZED] = {"summarized", put_summarized},
    [MSG_RESPONSE_HERE_LABELS] = {"here_labels", put_here_labels},
    [MSG_RESPONSE_HERE_CHANGED] = {"here_changed", put_here_changed},
    [MSG_RESPONSE_ACCEPT_CHANGED] = {"accept_changed", put_accept_changed},
    [MSG_RESPONSE_WATCHING] = {"watching", put_watching},
    [MSG_RESPONSE_UNWATCHED] = {"unwatched", put_no_response},
    [MSG_RESPONSE_MATCH] = {"match", put_match},
    [MSG_RESPONSE_REPORT_TAKEN] = {"report_taken", put_no_response},
    [MSG_RESPONSE_STATS_TAKEN] = {"stats_taken", put_stats_taken},
    [MSG_RESPONSE_REMOVED] = {"removed", put_removed},
    [MSG_RESPONSE_RESTORED] = {"restored", put_restored},
    [MSG_RESPONSE_REPORTED_LIST] = {"reported_list", put_reported_list},
    [MSG_RESPONSE_BANNED] = {"banned", put_no_response},
    [MSG_RESPONSE_UNBANNED] = {"unbanned", put_no_response},
    [MSG_RESPONSE_NOTICED] = {"noticed", put_noticed},
    [MSG_RESPONSE_NOTICES_CHANGED] = {"notices_changed", put_noticed},
    [MSG_RESPONSE_BAN_LIST] = {"ban_list", put_ban_list},
    [MSG_RESPONSE_ACCEPTING] = {"accepting", put_accepting},
    [MSG_RESPONSE_CHECKED] = {"checked", put_checked},
    [MSG_RESPONSE_BACKED_UP] = {"backed_up", put_backed_up},
    [MSG_RESPONSE_COMPACTED] = {"compacted", put_compacted},
    [MSG_RESPONSE_RELOADED] = {"reloaded", put_no_response},
    [MSG_RESPONSE_LOG_LEVEL_SET] = {"log_level_set", put_log_level_set},
    [MSG_RESPONSE_HIDDEN] = {"hidden", put_no_response},
    [MSG_RESPONSE_DECISION_LIST] = {"decision_list", put_decision_list},
    [MSG_RESPONSE_WAITED] = {"waited", put_waited},
    [MSG_RESPONSE_EPOCH_CHANGED] = {"epoch_changed", put_epoch_changed},
};

/* Responses may have id 0, and then it is in the vectors; one without an id means 0. */
json_t *frames_json_response(const struct msg_response *response)
{
    json_t *object = json_object();

    put_u64(object, "id", response->id, UINT64_MAX);
    if (response->kind != MSG_RESPONSE_UNKNOWN) {
        json_t *body = json_object();

        response_writers[response->kind].write(body, response);
        put(object, response_writers[response->kind].name, body);
    }
    return object;
}
