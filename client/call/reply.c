/* SPDX-License-Identifier: Apache-2.0 */
#include "client/call/reply.h"

#include <string.h>

#include "client/fail.h"

static const uint8_t empty_payload[1];

static int reply_lacks(struct hearsay_error *error, const char *what)
{
    return fail_set(error, HEARSAY_ERR_PROTOCOL, "the server's answer lacks %s", what);
}

/*
 * Allocates `count` zeroed structs of `bytes` bytes each in the arena, and writes their address to
 * the pointer at `out`. Writes NULL when `count` is 0.
 */
static int reply_take(struct arena *arena, size_t count, size_t bytes, void *out,
                      struct hearsay_error *error)
{
    void *array = count > 0 ? arena_take_zeroed(arena, count, bytes) : NULL;
    if (count > 0 && array == NULL) {
        return fail_set_nomem(error);
    }
    memcpy(out, &array, sizeof(array));
    return HEARSAY_OK;
}

/* Makes an array of the texts in the arena. *out is never NULL. */
static int reply_texts(const struct hearsay_text *from, size_t count, struct arena *arena,
                       const char *const **out, struct hearsay_error *error)
{
    const char **texts = arena_take_zeroed(arena, count + 1, sizeof(*texts)); /* never NULL */
    if (texts == NULL) {
        return fail_set_nomem(error);
    }
    for (size_t i = 0; i < count; i++) {
        texts[i] = from[i].text != NULL ? from[i].text : "";
    }
    *out = texts;
    return HEARSAY_OK;
}

static bool copy_id(const struct hearsay_bytes *from, uint8_t *to)
{
    if (from->count != HEARSAY_ID_BYTES || from->data == NULL) {
        return false;
    }
    memcpy(to, from->data, HEARSAY_ID_BYTES);
    return true;
}

/* What an absent type means: hearsay.proto, Deposit. */
static const char *type_or_default(const struct hearsay_text *type)
{
    return type->text != NULL ? type->text : "text/plain";
}

/* Fills in what the sender of a message may leave out: `text/plain` and an empty payload. */
static void fill_content(struct hearsay_text *media_type, struct hearsay_bytes *payload)
{
    if (media_type->text == NULL) {
        *media_type = (struct hearsay_text){"text/plain", 10};
    }
    if (payload->data == NULL) {
        payload->data = empty_payload;
    }
}

/* The same for a result, which need not have any content. */
static void fill_result(struct hearsay_result *result)
{
    bool has_content = result->payload.data != NULL || result->media_type.text != NULL;

    if (has_content && !result->payload_omitted) {
        fill_content(&result->media_type, &result->payload);
    }
}

static int translate_message(const struct hearsay_bytes *id, const struct hearsay_text *media_type,
                             const struct hearsay_bytes *payload, struct hearsay_message *to,
                             struct hearsay_error *error)
{
    if (!copy_id(id, to->id)) {
        return reply_lacks(error, "the message's id");
    }
    to->media_type = type_or_default(media_type);
    to->payload = payload->data != NULL ? payload->data : empty_payload;
    to->payload_bytes = payload->data != NULL ? payload->count : 0;
    return HEARSAY_OK;
}

static int translate_exported(const struct hearsay_exported_message *from,
                              struct hearsay_exported *to, struct hearsay_error *error)
{
    int status =
        translate_message(&from->id, &from->media_type, &from->payload, &to->message, error);
    if (status != HEARSAY_OK) {
        return status;
    }
    if (from->filter.data == NULL) {
        return reply_lacks(error, "a message's filter");
    }
    to->message.epoch = from->epoch;
    to->message.deposited_ms = from->deposited_ms;
    to->message.expires_ms = from->expires_ms;
    to->filter = from->filter.data;
    to->filter_bytes = from->filter.count;
    to->reach = from->reach_ppm;
    to->withdraw_hash =
        from->withdraw_hash.count == HEARSAY_HASH_BYTES ? from->withdraw_hash.data : NULL;
    return HEARSAY_OK;
}

static int translate_page(const struct msg_exported *from, struct arena *arena,
                          struct hearsay_page *to, struct hearsay_error *error)
{
    struct hearsay_exported *messages = NULL;
    int status = reply_take(arena, from->message_count, sizeof(*messages), &messages, error);
    for (size_t i = 0; i < from->message_count && status == HEARSAY_OK; i++) {
        status = translate_exported(&from->messages[i], &messages[i], error);
    }
    to->messages = messages;
    to->message_count = from->message_count;
    to->next = from->next.data;
    to->next_bytes = from->next.data != NULL ? from->next.count : 0;
    return status;
}

/* --- answers to administrators ---------------------------------------------------------------- */

static int translate_figures(const struct hearsay_stats_taken *from, struct arena *arena,
                             struct hearsay_admin_reply *to, struct hearsay_error *error)
{
    struct hearsay_figure *figures = NULL;
    int status = reply_take(arena, from->figure_count, sizeof(*figures), &figures, error);
    for (size_t i = 0; i < from->figure_count && status == HEARSAY_OK; i++) {
        figures[i].name = from->figures[i].name.text; /* needed: the codec has seen to it */
        figures[i].value = from->figures[i].value;
    }
    to->figures = figures;
    to->figure_count = from->figure_count;
    return status;
}

static int translate_reported(const struct hearsay_reported_message *from, struct arena *arena,
                              struct hearsay_reported *to, struct hearsay_error *error)
{
    struct hearsay_message *message = &to->message;
    int status = translate_message(&from->id, &from->media_type, &from->payload, message, error);
    if (status != HEARSAY_OK) {
        return status;
    }
    message->deposited_ms = from->deposited_ms;
    message->expires_ms = from->expires_ms;
    to->reports = from->reports;
    to->hidden = from->hidden;
    to->pending = from->pending;
    to->payload_omitted = from->payload_omitted;
    struct hearsay_reason *reasons = NULL;
    status = reply_take(arena, from->reason_count, sizeof(*reasons), &reasons, error);
    for (size_t i = 0; i < from->reason_count && status == HEARSAY_OK; i++) {
        reasons[i].kind = (enum hearsay_report_kind)from->reasons[i].kind;
        reasons[i].text = from->reasons[i].text.text;
    }
    to->reasons = reasons;
    to->reason_count = from->reason_count;
    to->destroyed_ms = from->destroyed_ms;
    return status;
}

static int translate_list(const struct hearsay_reported_list *from, struct arena *arena,
                          struct hearsay_admin_reply *to, struct hearsay_error *error)
{
    struct hearsay_reported *messages = NULL;
    int status = reply_take(arena, from->message_count, sizeof(*messages), &messages, error);
    for (size_t i = 0; i < from->message_count && status == HEARSAY_OK; i++) {
        status = translate_reported(&from->messages[i], arena, &messages[i], error);
    }
    to->reported = messages;
    to->reported_count = from->message_count;
    to->total = from->total;
    to->next = from->next.data;
    to->next_bytes = from->next.count;
    to->previous = from->previous.data;
    to->previous_bytes = from->previous.count;
    return status;
}

static int translate_bans(const struct hearsay_ban_list *from, struct arena *arena,
                          struct hearsay_admin_reply *to, struct hearsay_error *error)
{
    struct hearsay_ban *bans = NULL;
    int status = reply_take(arena, from->ban_count, sizeof(*bans), &bans, error);
    for (size_t i = 0; i < from->ban_count && status == HEARSAY_OK; i++) {
        bans[i].payload_hash = from->bans[i].payload_hash.data;
        bans[i].filter = from->bans[i].filter.data;
        bans[i].filter_bytes = from->bans[i].filter.count;
        bans[i].max_distance = from->bans[i].max_distance_ppm;
        bans[i].since_ms = from->bans[i].since_ms;
    }
    to->bans = bans;
    to->ban_count = from->ban_count;
    to->more = from->more;
    return status;
}

static int translate_decisions(const struct hearsay_decision_list *from, struct arena *arena,
                               struct hearsay_admin_reply *to, struct hearsay_error *error)
{
    struct hearsay_decision *decisions = NULL;
    int status = reply_take(arena, from->decision_count, sizeof(*decisions), &decisions, error);
    for (size_t i = 0; i < from->decision_count && status == HEARSAY_OK; i++) {
        const struct msg_decision *decision = &from->decisions[i];
        decisions[i] = (struct hearsay_decision){
            .number = decision->number,
            .time_ms = decision->time_ms,
            .act = decision->act.text,
            .id = decision->id.data,
            .why = (enum hearsay_report_kind)decision->kind,
            .reports = decision->reports,
            .reason = decision->reason.text,
            .uid = decision->uid,
            .web = decision->web,
        };
    }
    to->decisions = decisions;
    to->decision_count = from->decision_count;
    to->more = from->more;
    return status;
}

static int translate_similar(const struct hearsay_similar_list *from, struct arena *arena,
                             struct hearsay_admin_reply *to, struct hearsay_error *error)
{
    struct hearsay_similar *groups = NULL;
    int status = reply_take(arena, from->group_count, sizeof(*groups), &groups, error);
    for (size_t i = 0; i < from->group_count && status == HEARSAY_OK; i++) {
        const struct hearsay_similar_group *group = &from->groups[i];
        groups[i] = (struct hearsay_similar){
            .oldest = group->oldest.data,
            .newest = group->newest.data,
            .oldest_ms = group->oldest_ms,
            .newest_ms = group->newest_ms,
            .count = group->count,
            .epoch = group->epoch,
        };
    }
    to->similar = groups;
    to->similar_count = from->group_count;
    to->total = from->total;
    to->messages = from->messages;
    return status;
}

static int translate_admin(const struct hearsay_response *response, struct arena *arena,
                           struct hearsay_admin_reply *out_reply, struct hearsay_error *out_error)
{
    switch (response->kind) {
    case HEARSAY_RESPONSE_STATS_TAKEN:
        return translate_figures(&response->stats_taken, arena, out_reply, out_error);
    case HEARSAY_RESPONSE_REPORTED_LIST:
        return translate_list(&response->reported_list, arena, out_reply, out_error);
    case HEARSAY_RESPONSE_BAN_LIST:
        return translate_bans(&response->ban_list, arena, out_reply, out_error);
    case HEARSAY_RESPONSE_ACCEPTING:
        out_reply->word = response->accepting.mode.text;
        out_reply->source =
            response->accepting.source.text != NULL ? response->accepting.source.text : "";
        out_reply->until_ms = response->accepting.until_ms;
        return HEARSAY_OK;
    case HEARSAY_RESPONSE_CHECKED:
        out_reply->problem_count = response->checked.problem_count;
        out_reply->messages = response->checked.messages;
        return reply_texts(response->checked.problems, response->checked.problem_count, arena,
                           &out_reply->problems, out_error);
    case HEARSAY_RESPONSE_NOTICED:
        out_reply->notices = response->noticed.notices;
        out_reply->notice_count = response->noticed.notice_count;
        return HEARSAY_OK;
    case HEARSAY_RESPONSE_LOG_LEVEL_SET:
        out_reply->word = response->log_level_set.level.text;
        return HEARSAY_OK;
    case HEARSAY_RESPONSE_REMOVED:
        out_reply->destroyed_ms = response->removed.destroyed_ms;
        return HEARSAY_OK;
    case HEARSAY_RESPONSE_RESTORED:
        out_reply->banned_hash = response->restored.banned_hash.data;
        return HEARSAY_OK;
    case HEARSAY_RESPONSE_DECISION_LIST:
        return translate_decisions(&response->decision_list, arena, out_reply, out_error);
    case HEARSAY_RESPONSE_SIMILAR_LIST:
        return translate_similar(&response->similar_list, arena, out_reply, out_error);
    case HEARSAY_RESPONSE_WAITED:
        out_reply->id = response->waited.id.data;
        out_reply->why = (enum hearsay_report_kind)response->waited.kind;
        out_reply->pending = response->waited.pending;
        out_reply->count = response->waited.count;
        return HEARSAY_OK;
    case HEARSAY_RESPONSE_BACKED_UP:
        out_reply->bytes_after = response->backed_up.bytes;
        return HEARSAY_OK;
    case HEARSAY_RESPONSE_COMPACTED:
        out_reply->bytes_before = response->compacted.bytes_before;
        out_reply->bytes_after = response->compacted.bytes_after;
        return HEARSAY_OK;
    default:
        return HEARSAY_OK; /* nothing but the fact */
    }
}

static int check_changed(const struct hearsay_changed *changed, struct hearsay_error *error)
{
    for (size_t i = 0; i < changed->change_count; i++) {
        if (!msg_change_has_content(&changed->changes[i])) {
            return reply_lacks(error, "the content of a change");
        }
    }
    return HEARSAY_OK;
}

/* --- all answers ------------------------------------------------------------------------------ */

int reply_complete(struct reply *reply, struct arena *arena, struct hearsay_error *out_error)
{
    struct hearsay_response *response = &reply->shown.response;

    switch (response->kind) {
    case HEARSAY_RESPONSE_ERROR:
        (void)fail_set_refused(&reply->shown.error, &response->error);
        return HEARSAY_OK;
    case HEARSAY_RESPONSE_RESULTS:
        for (size_t i = 0; i < response->results.result_count; i++) { /* they are in the arena */
            fill_result((struct hearsay_result *)&response->results.results[i]);
        }
        return HEARSAY_OK;
    case HEARSAY_RESPONSE_MATCH:
        fill_result(&response->match.result);
        return HEARSAY_OK;
    case HEARSAY_RESPONSE_GOT:
        fill_content(&response->got.media_type, &response->got.payload);
        return HEARSAY_OK;
    case HEARSAY_RESPONSE_EXPORTED:
        return translate_page(&response->exported, arena, &reply->page, out_error);
    case HEARSAY_RESPONSE_CHANGED:
        return check_changed(&response->changed, out_error);
    case HEARSAY_RESPONSE_UNKNOWN:
    case HEARSAY_RESPONSE_EPOCH_CHANGED:
    case HEARSAY_RESPONSE_WELCOME:
        return reply_lacks(out_error, "a body that fits the question");
    default:
        memset(&reply->admin, 0, sizeof(reply->admin));
        return translate_admin(response, arena, &reply->admin, out_error);
    }
}

void reply_translate_epoch(const struct hearsay_epoch_info *from, struct hearsay_epoch *to)
{
    memset(to, 0, sizeof(*to));
    to->number = from->number;
    to->has_key = from->key.count == HEARSAY_KEY_BYTES && from->number != 0;
    to->is_certain = to->has_key;
    if (to->has_key) {
        memcpy(to->key, from->key.data, HEARSAY_KEY_BYTES);
    }
    to->starts_ms = from->starts_ms;
    to->ends_ms = from->ends_ms;
    to->kept_ms = from->kept_ms;
}

static int translate_hosts(const struct msg_welcome *from, struct arena *arena,
                           struct hearsay_welcome *to, struct hearsay_host **out_hosts,
                           struct hearsay_error *error)
{
    struct hearsay_host *hosts = arena_take_zeroed(arena, from->host_count, sizeof(*hosts));
    if (hosts == NULL) {
        return fail_set_nomem(error);
    }
    for (size_t i = 0; i < from->host_count; i++) {
        hosts[i].name = from->hosts[i].name.text;
        hosts[i].profile = from->hosts[i].profile.text;
        hosts[i].hood = from->hosts[i].hood.text;
        hosts[i].role = from->hosts[i].role;
        hosts[i].suggested_max_distance = from->hosts[i].suggested_max_distance_ppm;
        hosts[i].messages = from->hosts[i].messages;
        hosts[i].bytes = from->hosts[i].bytes;
        hosts[i].evict = from->hosts[i].evict;
        hosts[i].accept = from->hosts[i].accept;
        hosts[i].accept_until_ms = from->hosts[i].accept_until_ms;
        reply_translate_epoch(&from->hosts[i].epoch, &hosts[i].epoch);
        hosts[i].here = from->hosts[i].here;
        hosts[i].here_count = from->hosts[i].here_count;
    }
    to->hosts = hosts;
    *out_hosts = hosts;
    to->host_count = from->host_count;
    return HEARSAY_OK;
}

/* Copies the resume token, and the reason why the server dropped the earlier connection. */
static int translate_resumption(const struct msg_welcome *from, struct arena *arena,
                                struct hearsay_welcome *to, struct hearsay_error *error)
{
    if (from->resume_token.data != NULL && from->resume_token.count <= HEARSAY_RESUME_BYTES_MAX) {
        memcpy(to->resume_token, from->resume_token.data, from->resume_token.count);
        to->resume_bytes = from->resume_token.count;
    }
    if (!from->has_dropped) {
        return HEARSAY_OK;
    }
    struct hearsay_error *dropped = arena_take_zeroed(arena, 1, sizeof(*dropped));
    if (dropped == NULL) {
        return fail_set_nomem(error);
    }
    (void)fail_set_refused(dropped, &from->dropped);
    to->dropped = dropped;
    return HEARSAY_OK;
}

int reply_translate_welcome(const struct msg_welcome *welcome, struct arena *arena,
                            struct hearsay_welcome *out_welcome, struct hearsay_host **out_hosts,
                            struct hearsay_error *out_error)
{
    memset(out_welcome, 0, sizeof(*out_welcome));
    out_welcome->version = welcome->version;
    out_welcome->now_ms = welcome->now_ms;
    out_welcome->clock_trusted = welcome->clock_trusted;
    out_welcome->agent = welcome->agent.text != NULL ? welcome->agent.text : "";
    memcpy(out_welcome->store_id, welcome->store_id.data, HEARSAY_ID_BYTES); /* needed */
    out_welcome->limits = welcome->limits;
    out_welcome->capabilities = welcome->capabilities;
    out_welcome->capability_count = welcome->capability_count;
    int status = translate_resumption(welcome, arena, out_welcome, out_error);
    return status == HEARSAY_OK ? translate_hosts(welcome, arena, out_welcome, out_hosts, out_error)
                                : status;
}
