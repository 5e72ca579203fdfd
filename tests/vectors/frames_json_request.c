/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/vectors/frames_json_inner.h"

#include <string.h>

#include "tests/lib/check.h"

static void put_hello(json_t *body, const struct msg_request *request)
{
    const struct msg_hello *hello = &request->hello;

    frame_put_numbers(body, "versions", hello->versions, hello->version_count);
    frame_put_text(body, "agent", hello->agent);
    frame_put_bytes(body, "resume_token", hello->resume_token);
    frame_put_bytes(body, "on_behalf", hello->on_behalf);
    frame_put_bytes(body, "on_behalf_local", hello->on_behalf_local);
}

static void put_deposit(json_t *body, const struct msg_request *request)
{
    const struct msg_deposit *deposit = &request->deposit;

    frame_put_text(body, "host", deposit->host);
    frame_put_bytes(body, "id", deposit->id);
    frame_put_u64(body, "epoch", deposit->epoch, 0);
    frame_put_bytes(body, "filter", deposit->filter);
    if (strcmp(deposit->media_type.text, "text/plain") != 0) {
        frame_put_text(body, "media_type", deposit->media_type);
    }
    if (deposit->payload.count > 0) { /* absent is empty */
        frame_put_bytes(body, "payload", deposit->payload);
    }
    frame_put_u64(body, "ttl_s", deposit->ttl_s, 0);
    assert_int_equal(deposit->has_ttl, deposit->ttl_s != 0);
    frame_put_u64(body, "reach", deposit->reach_ppm, LIMIT_DISTANCE_PPM);
    frame_put_bytes(body, "withdraw_hash", deposit->withdraw_hash);
}

static void put_query(json_t *body, const struct msg_request *request)
{
    frame_put_asked(body, &request->query);
}

static void put_get(json_t *body, const struct msg_request *request)
{
    frame_put_text(body, "host", request->get.host);
    frame_put_bytes(body, "id", request->get.id);
}

static void put_withdraw(json_t *body, const struct msg_request *request)
{
    frame_put_text(body, "host", request->withdraw.host);
    frame_put_bytes(body, "id", request->withdraw.id);
    frame_put_bytes(body, "token", request->withdraw.token);
}

static void put_watch(json_t *body, const struct msg_request *request)
{
    struct msg_request inner = {.kind = MSG_REQUEST_QUERY, .query = request->watch.query};
    json_t *query = json_object();

    put_query(query, &inner);
    frame_put(body, "query", query);
    frame_put_u64(body, "after_seq", request->watch.after_seq, UINT64_MAX);
}

static void put_unwatch(json_t *body, const struct msg_request *request)
{
    frame_put_u64(body, "watch_id", request->unwatch.watch_id, 0);
}

static void put_export(json_t *body, const struct msg_request *request)
{
    frame_put_text(body, "host", request->export_page.host);
    frame_put_bytes(body, "after", request->export_page.after);
    frame_put_u64(body, "limit", request->export_page.limit, 0);
}

static void put_here(json_t *body, const struct msg_request *request)
{
    frame_put_text(body, "host", request->here.host);
    frame_put_bytes(body, "on_behalf", request->here.on_behalf);
}

static void put_summary(json_t *body, const struct msg_request *request)
{
    frame_put_text(body, "host", request->summary.host);
    frame_put_u64(body, "epoch", request->summary.epoch, 0);
    frame_put_u64(body, "groups", request->summary.groups, 0);
}

static void put_no_request(json_t *body, const struct msg_request *request)
{
    (void)body; /* it has no fields */
    (void)request;
}

static void put_report(json_t *body, const struct msg_request *request)
{
    if (request->report.kind != MSG_REPORT_OTHER) {
        frame_put_report_kind(body, request->report.kind);
    }
    frame_put_text(body, "host", request->report.host);
    frame_put_bytes(body, "id", request->report.id);
    frame_put_text(body, "reason", request->report.reason);
}

static void put_changes(json_t *body, const struct msg_request *request)
{
    frame_put_text(body, "host", request->changes.host);
    frame_put_u64(body, "after", request->changes.after, 0);
    frame_put_u64(body, "limit", request->changes.limit, 0);
    frame_put_u64(body, "wait_ms", request->changes.wait_ms, 0);
    frame_put_u64(body, "replicated", request->changes.replicated, 0);
    frame_put_bool(body, "no_copy", request->changes.no_copy);
    frame_put_bool(body, "waiting", request->changes.waiting);
}

static void put_apply(json_t *body, const struct msg_request *request)
{
    static const char *const whom[] = {NULL, "AS_REPLICA", "AS_RESTORE", "AS_OPERATOR"};

    frame_put_text(body, "host", request->apply.host);
    frame_put_feed(body, request->apply.changes, request->apply.change_count);
    frame_put_name(body, "as", whom[request->apply.as]);
    frame_put_bool(body, "restored", request->apply.restored);
}

/* The names that the one word and the one number of these requests have in the schema. */
static const struct {
    const char *word;
    const char *number;
} admin_names[] = {
    [MSG_REQUEST_REPORTED] = {NULL, "limit"},  [MSG_REQUEST_BANS] = {NULL, "skip"},
    [MSG_REQUEST_ACCEPT] = {"mode", NULL},     [MSG_REQUEST_BACKUP] = {"path", NULL},
    [MSG_REQUEST_LOG_LEVEL] = {"level", NULL}, [MSG_REQUEST_DECISIONS] = {NULL, "limit"},
    [MSG_REQUEST_NOTICE] = {"text", "drop"},   [MSG_REQUEST_SIMILAR] = {NULL, "limit"},
};

static void put_admin(json_t *body, const struct msg_request *request)
{
    const struct msg_admin *admin = &request->admin;

    frame_put_text(body, "host", admin->host);
    frame_put_bytes(body, "id", admin->id);
    frame_put_bool(body, "ban", admin->ban);
    frame_put_bool(body, "pending", admin->pending);
    frame_put_bool(body, "withheld", admin->withheld);
    frame_put_bool(body, "all", admin->all);
    frame_put_bytes(body, "after", admin->after);
    frame_put_kind_said(body, admin->kind);
    frame_put_text(body, "reason", admin->reason);
    if (request->kind == MSG_REQUEST_DECISIONS) {
        frame_put_u64(body, "before", admin->before, UINT64_MAX);
    }
    frame_put_bytes(body, "payload_hash", admin->payload_hash);
    frame_put_bytes(body, "filter", admin->filter);
    frame_put_u64(body, "max_distance", admin->max_distance_ppm, 0);
    if (admin_names[request->kind].number != NULL) {
        frame_put_u64(body, admin_names[request->kind].number, admin->number, 0);
    }
    if (admin_names[request->kind].word != NULL) {
        frame_put_text(body, admin_names[request->kind].word, admin->word);
    }
    frame_put_text(body, "lang", admin->lang);
    frame_put_i64(body, "until_ms", admin->until_ms, 0);
}

static void put_serve(json_t *body, const struct msg_request *request)
{
    frame_put_texts(body, "hoods", request->serve.hoods, request->serve.hood_count);
}

static void put_answered(json_t *body, const struct msg_request *request)
{
    const struct msg_answered *answered = &request->answered;

    frame_put_u64(body, "ask_id", answered->ask_id, 0);
    if (answered->has_results) {
        json_t *results = json_object();

        frame_put_found(results, &answered->results);
        frame_put(body, "results", results);
    }
    if (answered->has_error) {
        json_t *error = json_object();

        frame_put_refusal(error, &answered->error);
        frame_put(body, "error", error);
    }
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
    [MSG_REQUEST_SIMILAR] = put_admin,      [MSG_REQUEST_NOTICE] = put_admin,
    [MSG_REQUEST_SERVE] = put_serve,        [MSG_REQUEST_ANSWERED] = put_answered,
    [MSG_REQUEST_CHANGES] = put_changes,    [MSG_REQUEST_APPLY] = put_apply,
};

json_t *frames_json_request(const struct msg_request *request)
{
    json_t *object = json_object();

    frame_put_u64(object, "id", request->id, 0);
    if (request->kind != MSG_REQUEST_UNKNOWN) {
        json_t *body = json_object();

        request_writers[request->kind](body, request);
        frame_put(object, request->name, body);
    }
    return object;
}
