/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/vectors/frames_json_inner.h"

#include "tests/lib/check.h"

static void put_error(json_t *body, const struct msg_response *response)
{
    frame_put_refusal(body, &response->error);
}

static void put_limits(json_t *body, const struct msg_limits *limits)
{
    frame_put_u64(body, "frame_bytes", limits->frame_bytes, 0);
    frame_put_u64(body, "payload_bytes", limits->payload_bytes, 0);
    frame_put_u64(body, "media_type_bytes", limits->media_type_bytes, 0);
    frame_put_u64(body, "deposit_fill_min_ppm", limits->deposit_fill_min_ppm, 0);
    frame_put_u64(body, "deposit_fill_max_ppm", limits->deposit_fill_max_ppm, 0);
    frame_put_u64(body, "query_fill_max_ppm", limits->query_fill_max_ppm, 0);
    frame_put_u64(body, "k_max", limits->k_max, 0);
    frame_put_u64(body, "ttl_default_s", limits->ttl_default_s, 0);
    frame_put_u64(body, "ttl_max_s", limits->ttl_max_s, 0);
    frame_put_u64(body, "parts_max", limits->parts_max, 0);
    frame_put_u64(body, "requests_in_flight", limits->requests_in_flight, 0);
    frame_put_u64(body, "deposits_per_minute", limits->deposits_per_minute, 0);
    frame_put_u64(body, "queries_per_minute", limits->queries_per_minute, 0);
    frame_put_u64(body, "deposit_burst", limits->deposit_burst, 0);
    frame_put_u64(body, "query_burst", limits->query_burst, 0);
    frame_put_u64(body, "sessions", limits->sessions, 0);
    frame_put_u64(body, "sessions_per_address", limits->sessions_per_address, 0);
    frame_put_u64(body, "session_output_bytes", limits->session_output_bytes, 0);
    frame_put_u64(body, "messages", limits->messages, 0);
    frame_put_u64(body, "bytes", limits->bytes, 0);
    frame_put_u64(body, "sender_share_ppm", limits->sender_share_ppm, 1000000);
    frame_put_u64(body, "watches_per_session", limits->watches_per_session, 0);
    frame_put_u64(body, "watches", limits->watches, 0);
}

static void put_epoch(json_t *object, const struct msg_epoch *epoch)
{
    json_t *entry = json_object();

    frame_put_u64(entry, "number", epoch->number, 0);
    frame_put_bytes(entry, "key", epoch->key);
    frame_put_i64(entry, "starts_ms", epoch->starts_ms, 0);
    frame_put_i64(entry, "ends_ms", epoch->ends_ms, 0);
    frame_put_i64(entry, "kept_ms", epoch->kept_ms, 0);
    frame_put(object, "epoch", entry);
}

static void put_epoch_changed(json_t *body, const struct msg_response *response)
{
    frame_put_text(body, "host", response->epoch_changed.host);
    put_epoch(body, &response->epoch_changed.epoch);
}

static void put_labels(json_t *body, const char *name, const struct msg_text *labels, size_t count)
{
    json_t *list = frame_put_list(body, name, count);

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
    frame_put_text(body, "host", response->here_changed.host);
    put_labels(body, "labels", response->here_changed.labels, response->here_changed.label_count);
}

static void put_noticed(json_t *body, const struct msg_response *response)
{
    frame_put_text(body, "host", response->notices.host); /* of notices_changed only */
    frame_put_notices(body, response->notices.notices, response->notices.notice_count);
}

static void put_accept_changed(json_t *body, const struct msg_response *response)
{
    const struct msg_accept_changed *changed = &response->accept_changed;

    frame_put_text(body, "host", changed->host);
    if (changed->accept != MSG_ACCEPT_OPEN) {
        frame_put_name(body, "accept", changed->accept == MSG_ACCEPT_REVIEW ? "REVIEW" : "CLOSED");
    }
    frame_put_i64(body, "accept_until_ms", changed->accept_until_ms, 0);
}

static void put_welcome(json_t *body, const struct msg_response *response)
{
    const struct msg_welcome *welcome = &response->welcome;
    json_t *limits = json_object();
    json_t *list;

    frame_put_u64(body, "version", welcome->version, 0);
    frame_put_bytes(body, "store_id", welcome->store_id);
    frame_put_i64(body, "now_ms", welcome->now_ms, 0);
    frame_put_bool(body, "clock_trusted", welcome->clock_trusted);
    put_limits(limits, &welcome->limits);
    frame_put(body, "limits", limits);
    list = frame_put_list(body, "capabilities", welcome->capability_count);
    for (size_t i = 0; i < welcome->capability_count; i++) {
        assert_int_equal(json_array_append_new(list, json_string(welcome->capabilities[i].text)),
                         0);
    }
    list = frame_put_list(body, "hosts", welcome->host_count);
    for (size_t i = 0; i < welcome->host_count; i++) {
        json_t *host = frame_add_object(list);

        frame_put_text(host, "name", welcome->hosts[i].name);
        frame_put_text(host, "profile", welcome->hosts[i].profile);
        frame_put_u64(host, "suggested_max_distance", welcome->hosts[i].suggested_max_distance_ppm,
                      LIMIT_DISTANCE_PPM);
        if (welcome->hosts[i].has_epoch) {
            put_epoch(host, &welcome->hosts[i].epoch);
        }
        put_labels(host, "here", welcome->hosts[i].here, welcome->hosts[i].here_count);
        frame_put_u64(host, "messages", welcome->hosts[i].messages, 0);
        frame_put_u64(host, "bytes", welcome->hosts[i].bytes, 0);
        if (welcome->hosts[i].evict != MSG_EVICT_REJECT) {
            frame_put_name(host, "evict",
                           welcome->hosts[i].evict == MSG_EVICT_OLDEST ? "OLDEST"
                                                                       : "SOONEST_EXPIRING");
        }
        if (welcome->hosts[i].accept != MSG_ACCEPT_OPEN) {
            frame_put_name(host, "accept",
                           welcome->hosts[i].accept == MSG_ACCEPT_REVIEW ? "REVIEW" : "CLOSED");
        }
        frame_put_i64(host, "accept_until_ms", welcome->hosts[i].accept_until_ms, 0);
        if (welcome->hosts[i].role != MSG_ROLE_OWNER) {
            frame_put_name(host, "role",
                           welcome->hosts[i].role == MSG_ROLE_REPLICA ? "REPLICA" : "RESTORING");
        }
        frame_put_text(host, "hood", welcome->hosts[i].hood);
    }
    frame_put_text(body, "agent", welcome->agent);
    frame_put_bytes(body, "resume_token", welcome->resume_token);
    if (welcome->has_dropped) {
        const struct msg_response dropped = {.error = welcome->dropped};
        json_t *error = json_object();

        put_error(error, &dropped);
        frame_put(body, "dropped", error);
    }
}

static void put_deposited(json_t *body, const struct msg_response *response)
{
    static const char *const durabilities[] = {NULL, "ON_STORAGE", "RELAXED", "REPLICATED"};
    const struct msg_deposited *deposited = &response->deposited;

    frame_put_i64(body, "expires_ms", deposited->expires_ms, 0);
    frame_put_bool(body, "duplicate", deposited->duplicate);
    frame_put_name(body, "durability", durabilities[deposited->durability]);
    frame_put_i64(body, "deposited_ms", deposited->deposited_ms, 0);
    frame_put_bool(body, "held", response->deposited.held);
}

static void put_watching(json_t *body, const struct msg_response *response)
{
    frame_put_u64(body, "watch_id", response->watching.watch_id, 0);
    frame_put_u64(body, "seq", response->watching.seq, 0);
}

static void put_match(json_t *body, const struct msg_response *response)
{
    json_t *result = json_object();

    frame_put_u64(body, "watch_id", response->match.watch_id, 0);
    frame_put_u64(body, "seq", response->match.seq, 0);
    frame_put_result(result, &response->match.result);
    frame_put(body, "result", result);
}

static void put_results(json_t *body, const struct msg_response *response)
{
    frame_put_found(body, &response->results);
}

static void put_got(json_t *body, const struct msg_response *response)
{
    const struct msg_got *got = &response->got;

    frame_put_bytes(body, "id", got->id);
    frame_put_u64(body, "epoch", got->epoch, 0);
    frame_put_i64(body, "deposited_ms", got->deposited_ms, 0);
    frame_put_i64(body, "expires_ms", got->expires_ms, 0);
    frame_put_text(body, "media_type", got->media_type);
    frame_put_bytes(body, "payload", got->payload);
}

static void put_pong(json_t *body, const struct msg_response *response)
{
    frame_put_i64(body, "now_ms", response->pong.now_ms, 0);
    frame_put_bool(body, "clock_trusted", response->pong.clock_trusted);
}

static void put_exported(json_t *body, const struct msg_response *response)
{
    const struct msg_exported *exported = &response->exported;
    json_t *list = frame_put_list(body, "messages", exported->message_count);

    for (size_t i = 0; i < exported->message_count; i++) {
        frame_put_exported_message(frame_add_object(list), &exported->messages[i]);
    }
    frame_put_bytes(body, "next", exported->next);
}

static void put_summarized(json_t *body, const struct msg_response *response)
{
    const struct msg_summarized *summarized = &response->summarized;

    frame_put_bytes(body, "union_filter", summarized->union_filter);
    frame_put_u64(body, "cardinality_min", summarized->cardinality_min, 0);
    frame_put_u64(body, "cardinality_max", summarized->cardinality_max, 0);
    frame_put_u64(body, "count", summarized->count, 0);
    frame_put_u64(body, "seq", summarized->seq, 0);
    json_t *list = frame_put_list(body, "groups", summarized->group_count);
    for (size_t i = 0; i < summarized->group_count; i++) {
        const struct msg_summary_group *group = &summarized->groups[i];
        json_t *entry = frame_add_object(list);

        frame_put_bytes(entry, "union_filter", group->union_filter);
        frame_put_numbers(entry, "least", group->least, group->least_count);
        frame_put_numbers(entry, "most", group->most, group->most_count);
        frame_put_u64(entry, "count", group->count, 0);
        frame_put_i64(entry, "newest_ms", group->newest_ms, 0);
    }
}

static void put_stats_taken(json_t *body, const struct msg_response *response)
{
    const struct msg_stats_taken *stats = &response->stats_taken;
    json_t *list = frame_put_list(body, "figures", stats->figure_count);

    for (size_t i = 0; i < stats->figure_count; i++) {
        json_t *figure = frame_add_object(list);

        frame_put_text(figure, "name", stats->figures[i].name);
        frame_put_i64(figure, "value", stats->figures[i].value, 0);
    }
}

static void put_reasons(json_t *object, const struct msg_reported_message *message)
{
    json_t *list = frame_put_list(object, "reasons", message->reason_count);

    for (size_t i = 0; i < message->reason_count; i++) {
        json_t *reason = frame_add_object(list);

        frame_put_report_kind(reason, message->reasons[i].kind);
        frame_put_text(reason, "text", message->reasons[i].text);
    }
}

static void put_reported_list(json_t *body, const struct msg_response *response)
{
    const struct msg_reported_list *reported = &response->reported_list;
    json_t *list = frame_put_list(body, "messages", reported->message_count);

    for (size_t i = 0; i < reported->message_count; i++) {
        const struct msg_reported_message *message = &reported->messages[i];
        json_t *object = frame_add_object(list);

        frame_put_bytes(object, "id", message->id);
        frame_put_u64(object, "reports", message->reports, 0);
        frame_put_text(object, "media_type", message->media_type);
        frame_put_bytes(object, "payload", message->payload);
        put_reasons(object, message);
        frame_put_bool(object, "hidden", message->hidden);
        frame_put_bool(object, "pending", message->pending);
        frame_put_i64(object, "deposited_ms", message->deposited_ms, 0);
        frame_put_i64(object, "expires_ms", message->expires_ms, 0);
        frame_put_bool(object, "payload_omitted", message->payload_omitted);
        frame_put_i64(object, "destroyed_ms", message->destroyed_ms, 0);
    }
    frame_put_u64(body, "total", reported->total, 0);
    frame_put_bytes(body, "next", reported->next);
    frame_put_bytes(body, "previous", reported->previous);
}

static void put_removed(json_t *body, const struct msg_response *response)
{
    frame_put_i64(body, "destroyed_ms", response->removed.destroyed_ms, 0);
}

static void put_restored(json_t *body, const struct msg_response *response)
{
    frame_put_bytes(body, "banned_hash", response->restored.banned_hash);
}

static void put_decision_list(json_t *body, const struct msg_response *response)
{
    const struct msg_decision_list *from = &response->decision_list;
    json_t *list = frame_put_list(body, "decisions", from->decision_count);

    for (size_t i = 0; i < from->decision_count; i++) {
        const struct msg_decision *decision = &from->decisions[i];
        json_t *object = frame_add_object(list);

        frame_put_u64(object, "number", decision->number, 0);
        frame_put_i64(object, "time_ms", decision->time_ms, 0);
        frame_put_text(object, "act", decision->act);
        frame_put_bytes(object, "id", decision->id);
        frame_put_kind_said(object, decision->kind);
        frame_put_u64(object, "reports", decision->reports, 0);
        frame_put_text(object, "reason", decision->reason);
        frame_put_u64(object, "uid", decision->uid, 0);
        frame_put_bool(object, "web", decision->web);
    }
    frame_put_bool(body, "more", from->more);
}

static void put_similar_list(json_t *body, const struct msg_response *response)
{
    const struct msg_similar_list *from = &response->similar_list;
    json_t *list = frame_put_list(body, "groups", from->group_count);

    for (size_t i = 0; i < from->group_count; i++) {
        const struct msg_similar_group *group = &from->groups[i];
        json_t *object = frame_add_object(list);

        frame_put_bytes(object, "oldest", group->oldest);
        frame_put_i64(object, "oldest_ms", group->oldest_ms, 0);
        frame_put_bytes(object, "newest", group->newest);
        frame_put_i64(object, "newest_ms", group->newest_ms, 0);
        frame_put_u64(object, "count", group->count, 0);
        frame_put_u64(object, "epoch", group->epoch, 0);
    }
    frame_put_u64(body, "total", from->total, 0);
    frame_put_u64(body, "messages", from->messages, 0);
}

static void put_waited(json_t *body, const struct msg_response *response)
{
    frame_put_bytes(body, "id", response->waited.id);
    frame_put_kind_said(body, response->waited.kind);
    frame_put_bool(body, "pending", response->waited.pending);
    frame_put_u64(body, "count", response->waited.count, 0);
}

static void put_ban_list(json_t *body, const struct msg_response *response)
{
    const struct msg_ban_list *bans = &response->ban_list;
    json_t *list = frame_put_list(body, "bans", bans->ban_count);

    for (size_t i = 0; i < bans->ban_count; i++) {
        json_t *object = frame_add_object(list);

        frame_put_bytes(object, "payload_hash", bans->bans[i].payload_hash);
        frame_put_bytes(object, "filter", bans->bans[i].filter);
        frame_put_u64(object, "max_distance", bans->bans[i].max_distance_ppm, 0);
        frame_put_i64(object, "since_ms", bans->bans[i].since_ms, 0);
    }
    frame_put_bool(body, "more", bans->more);
}

static void put_accepting(json_t *body, const struct msg_response *response)
{
    frame_put_text(body, "mode", response->accepting.mode);
    frame_put_text(body, "source", response->accepting.source);
    frame_put_i64(body, "until_ms", response->accepting.until_ms, 0);
}

static void put_checked(json_t *body, const struct msg_response *response)
{
    frame_put_texts(body, "problems", response->checked.problems, response->checked.problem_count);
    frame_put_u64(body, "messages", response->checked.messages, 0);
}

static void put_backed_up(json_t *body, const struct msg_response *response)
{
    frame_put_u64(body, "bytes", response->bytes_taken.after, 0);
}

static void put_compacted(json_t *body, const struct msg_response *response)
{
    frame_put_u64(body, "bytes_before", response->bytes_taken.before, 0);
    frame_put_u64(body, "bytes_after", response->bytes_taken.after, 0);
}

static void put_log_level_set(json_t *body, const struct msg_response *response)
{
    frame_put_text(body, "level", response->log_level.level);
}

static void put_ask(json_t *body, const struct msg_response *response)
{
    json_t *query = json_object();

    frame_put_u64(body, "ask_id", response->ask.ask_id, 0);
    frame_put_asked(query, &response->ask.query);
    frame_put(body, "query", query);
    frame_put_u64(body, "peers_max", response->ask.peers_max, 0);
}

static void put_changed(json_t *body, const struct msg_response *response)
{
    frame_put_feed(body, response->changed.changes, response->changed.change_count);
    frame_put_u64(body, "next", response->changed.next, 0);
    frame_put_bool(body, "more", response->changed.more);
    frame_put_u64(body, "waiting", response->changed.waiting, 0);
    frame_put_i64(body, "waiting_since_ms", response->changed.waiting_since_ms, 0);
}

static void put_applied(json_t *body, const struct msg_response *response)
{
    frame_put_u64(body, "changed", response->applied.changed, 0);
    frame_put_u64(body, "conflicts", response->applied.conflicts, 0);
    frame_put_u64(body, "no_room", response->applied.no_room, 0);
    frame_put_u64(body, "not_kept", response->applied.not_kept, 0);
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
    [MSG_RESPONSE_SIMILAR_LIST] = {"similar_list", put_similar_list},
    [MSG_RESPONSE_EPOCH_CHANGED] = {"epoch_changed", put_epoch_changed},
    [MSG_RESPONSE_ASK] = {"ask", put_ask},
    [MSG_RESPONSE_SERVING] = {"serving", put_no_response},
    [MSG_RESPONSE_ANSWER_TAKEN] = {"answer_taken", put_no_response},
    [MSG_RESPONSE_CHANGED] = {"changed", put_changed},
    [MSG_RESPONSE_APPLIED] = {"applied", put_applied},
};

/* Responses may have id 0, and then it is in the vectors; one without an id means 0. */
json_t *frames_json_response(const struct msg_response *response)
{
    json_t *object = json_object();

    frame_put_u64(object, "id", response->id, UINT64_MAX);
    if (response->kind != MSG_RESPONSE_UNKNOWN) {
        json_t *body = json_object();

        response_writers[response->kind].write(body, response);
        frame_put(object, response_writers[response->kind].name, body);
    }
    return object;
}
