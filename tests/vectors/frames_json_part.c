/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/vectors/frames_json_inner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/check.h"

#define EXACT (INT64_C(1) << 53) /* whole numbers beyond this are strings */

void frame_put(json_t *object, const char *name, json_t *value)
{
    assert_non_null(value);
    assert_int_equal(json_object_set_new(object, name, value), 0);
}

void frame_put_u64(json_t *object, const char *name, uint64_t value, uint64_t absent)
{
    char digits[24];

    if (value == absent) {
        return;
    }
    if (value <= (uint64_t)EXACT) {
        frame_put(object, name, json_integer((json_int_t)value));
        return;
    }
    (void)snprintf(digits, sizeof digits, "%llu", (unsigned long long)value); /* it fits */
    frame_put(object, name, json_string(digits));
}

void frame_put_i64(json_t *object, const char *name, int64_t value, int64_t absent)
{
    char digits[24];

    if (value == absent) {
        return;
    }
    if (value >= -EXACT && value <= EXACT) {
        frame_put(object, name, json_integer((json_int_t)value));
        return;
    }
    (void)snprintf(digits, sizeof digits, "%lld", (long long)value); /* it fits */
    frame_put(object, name, json_string(digits));
}

void frame_put_bool(json_t *object, const char *name, bool value)
{
    if (value) {
        frame_put(object, name, json_true());
    }
}

void frame_put_text(json_t *object, const char *name, struct msg_text text)
{
    if (text.text != NULL) {
        assert_int_equal(strlen(text.text), text.length);
        frame_put(object, name, json_stringn(text.text, text.length));
    }
}

void frame_put_bytes(json_t *object, const char *name, struct msg_bytes bytes)
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
    frame_put(object, name, json_string(hex));
    free(hex);
}

void frame_put_name(json_t *object, const char *name, const char *value)
{
    frame_put(object, name, json_string(value));
}

/* An array, unless it is empty: where entries go. */
json_t *frame_put_list(json_t *object, const char *name, size_t count)
{
    json_t *list = NULL;

    if (count > 0) {
        list = json_array();
        frame_put(object, name, list);
    }
    return list;
}

json_t *frame_add_object(json_t *list)
{
    json_t *object = json_object();

    assert_int_equal(json_array_append_new(list, object), 0);
    return object;
}

void frame_put_numbers(json_t *object, const char *name, const uint32_t *numbers, uint32_t count)
{
    json_t *list = frame_put_list(object, name, count);

    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(json_array_append_new(list, json_integer(numbers[i])), 0);
    }
}

void frame_put_texts(json_t *object, const char *name, const struct msg_text *texts, size_t count)
{
    json_t *list = frame_put_list(object, name, count);

    for (size_t i = 0; i < count; i++) {
        assert_int_equal(json_array_append_new(list, json_stringn(texts[i].text, texts[i].length)),
                         0);
    }
}

void frame_put_refusal(json_t *body, const struct msg_error *error)
{
    frame_put_name(body, "code", msg_error_name(error->code));
    if (error->message[0] != '\0') {
        frame_put_name(body, "message", error->message);
    }
    if (error->field[0] != '\0') {
        frame_put_name(body, "field", error->field);
    }
    frame_put_u64(body, "retry_after_ms", error->retry_after_ms, 0);
    frame_put_numbers(body, "versions", error->versions, error->version_count);
}

void frame_put_asked(json_t *body, const struct msg_query *query)
{
    json_t *list;

    frame_put_text(body, "host", query->host);
    frame_put_u64(body, "k", query->k, 0);
    list = frame_put_list(body, "parts", query->part_count);
    for (size_t i = 0; i < query->part_count; i++) {
        json_t *part = frame_add_object(list);

        frame_put_u64(part, "epoch", query->parts[i].epoch, 0);
        frame_put_bytes(part, "filter", query->parts[i].filter);
        frame_put_bytes(part, "contains", query->parts[i].contains);
    }
    frame_put_u64(body, "max_distance", query->max_distance_ppm, LIMIT_DISTANCE_PPM);
    frame_put_i64(body, "since_ms", query->since_ms, INT64_MIN);
    frame_put_i64(body, "until_ms", query->until_ms, INT64_MAX);
    if (query->metric == MSG_METRIC_BITS) {
        frame_put_name(body, "metric", "BITS");
    }
    if (query->order != MSG_ORDER_SIMILARITY) {
        frame_put_name(body, "order", query->order == MSG_ORDER_TIME ? "TIME" : "NEWEST");
    }
    list = frame_put_list(body, "exclude", query->exclude_count);
    for (size_t i = 0; i < query->exclude_count; i++) {
        json_t *slice = frame_add_object(list);

        frame_put_bytes(slice, "bits", query->exclude[i].bits);
        frame_put_u64(slice, "hashes", query->exclude[i].hashes, 0);
        frame_put_u64(slice, "seed", query->exclude[i].seed, 0);
    }
    frame_put_bool(body, "with_payload", query->with_payload);
    if (query->scope == MSG_SCOPE_HOOD) {
        frame_put_name(body, "scope", "HOOD");
    }
    frame_put_u64(body, "wait_ms", query->wait_ms, LIMIT_WAIT_MS_DEFAULT);
    frame_put_u64(body, "max_staleness_ms", query->max_staleness_ms, UINT64_MAX);
    frame_put_u64(body, "floor", query->floor, 0);
}

void frame_put_report_kind(json_t *object, enum msg_report_kind kind)
{
    static const char *const names[] = {"NO_KIND",    "ILLEGAL", "ABOUT_ME",
                                        "HARASSMENT", "SPAM",    "OTHER_KIND"};

    assert_true(kind >= MSG_REPORT_ILLEGAL && kind <= MSG_REPORT_OTHER);
    frame_put_name(object, "kind", names[kind]);
}

void frame_put_kind_said(json_t *object, enum msg_report_kind kind)
{
    if (kind != 0) {
        frame_put_report_kind(object, kind);
    }
}

void frame_put_exported_message(json_t *entry, const struct msg_exported_message *message)
{
    frame_put_bytes(entry, "id", message->id);
    frame_put_u64(entry, "epoch", message->epoch, 0);
    frame_put_bytes(entry, "filter", message->filter);
    frame_put_text(entry, "media_type", message->media_type);
    frame_put_bytes(entry, "payload", message->payload);
    frame_put_i64(entry, "deposited_ms", message->deposited_ms, 0);
    frame_put_i64(entry, "expires_ms", message->expires_ms, 0);
    frame_put_u64(entry, "reach", message->reach_ppm, LIMIT_DISTANCE_PPM);
    frame_put_bytes(entry, "withdraw_hash", message->withdraw_hash);
    frame_put_u64(entry, "state", message->state, 0);
    frame_put_u64(entry, "reports", message->reports, 0);
}

static void put_gone(json_t *change, const struct msg_gone *gone)
{
    static const char *const whys[] = {NULL, "WAS_WITHDRAWN", "WAS_REMOVED", "WAS_EVICTED"};
    json_t *entry = json_object();

    frame_put_bytes(entry, "id", gone->id);
    frame_put_i64(entry, "until_ms", gone->until_ms, 0);
    frame_put_name(entry, "why", whys[gone->why]);
    frame_put(change, "gone", entry);
}

static void put_rule_state(json_t *change, const struct msg_rule_state *rule)
{
    json_t *entry = json_object();

    frame_put_u64(entry, "kind", rule->kind, 0);
    frame_put_bytes(entry, "value", rule->value);
    frame_put_u64(entry, "number", rule->number, 0);
    frame_put_i64(entry, "created_ms", rule->created_ms, 0);
    frame_put_bool(entry, "dropped", rule->dropped);
    frame_put_i64(entry, "until_ms", rule->until_ms, 0);
    frame_put(change, "rule", entry);
}

static void put_decision_id(json_t *change, const struct msg_decision_id *id)
{
    json_t *entry = json_object();

    frame_put_bytes(entry, "store_id", id->store_id);
    frame_put_u64(entry, "number", id->number, 0);
    frame_put_i64(entry, "time_ms", id->time_ms, 0);
    frame_put(change, "decision", entry);
}

void frame_put_feed(json_t *body, const struct msg_change *changes, size_t count)
{
    json_t *list = frame_put_list(body, "changes", count);

    for (size_t i = 0; i < count; i++) {
        json_t *change = frame_add_object(list);

        frame_put_u64(change, "seq", changes[i].seq, 0);
        if (changes[i].has_message) {
            json_t *entry = json_object();

            frame_put_exported_message(entry, &changes[i].message);
            frame_put(change, "message", entry);
        }
        if (changes[i].has_gone) {
            put_gone(change, &changes[i].gone);
        }
        if (changes[i].has_rule) {
            put_rule_state(change, &changes[i].rule);
        }
        if (changes[i].has_decision) {
            put_decision_id(change, &changes[i].decision);
        }
    }
}

void frame_put_result(json_t *entry, const struct msg_result *result)
{
    frame_put_bytes(entry, "id", result->id);
    frame_put_u64(entry, "intersection_count", result->intersection_count, 0);
    frame_put_u64(entry, "union_count", result->union_count, 0);
    frame_put_u64(entry, "distance", result->distance_ppm, 0);
    frame_put_i64(entry, "deposited_ms", result->deposited_ms, 0);
    frame_put_i64(entry, "expires_ms", result->expires_ms, 0);
    frame_put_text(entry, "media_type", result->media_type);
    frame_put_bytes(entry, "payload", result->payload);
    frame_put_bool(entry, "payload_omitted", result->payload_omitted);
    frame_put_u64(entry, "epoch", result->epoch, 0);
    frame_put_text(entry, "host", result->host);
    frame_put_bytes(entry, "filter", result->filter);
}

void frame_put_notices(json_t *body, const struct msg_house_notice *notices, size_t count)
{
    json_t *list = frame_put_list(body, "notices", count);

    for (size_t i = 0; i < count; i++) {
        json_t *object = frame_add_object(list);

        frame_put_u64(object, "number", notices[i].number, 0);
        frame_put_text(object, "text", notices[i].text);
        frame_put_text(object, "lang", notices[i].lang);
        frame_put_i64(object, "since_ms", notices[i].since_ms, 0);
        frame_put_i64(object, "until_ms", notices[i].until_ms, 0);
    }
}

void frame_put_found(json_t *body, const struct msg_results *results)
{
    json_t *list = frame_put_list(body, "results", results->result_count);

    for (size_t i = 0; i < results->result_count; i++) {
        frame_put_result(frame_add_object(list), &results->results[i]);
    }
    frame_put_u64(body, "comparisons", results->comparisons, 0);
    frame_put_bool(body, "exact", results->exact);
    frame_put_bool(body, "capped", results->capped);
    frame_put_notices(body, results->notices, results->notice_count);
    frame_put_bool(body, "complete", results->complete);
    frame_put_u64(body, "peers", results->peers, 0);
    frame_put_u64(body, "peers_asked", results->peers_asked, 0);
    frame_put_u64(body, "peers_silent", results->peers_silent, 0);
    frame_put_u64(body, "peers_other", results->peers_other, 0);
    frame_put_i64(body, "as_of_ms", results->as_of_ms, 0);
    frame_put_u64(body, "seq", results->seq, 0);
    frame_put_bool(body, "bridge_away", results->bridge_away);
    frame_put_u64(body, "peers_skipped", results->peers_skipped, 0);
}
