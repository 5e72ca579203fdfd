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

static int translate_result(const struct msg_result *from, struct hearsay_result *to,
                            struct hearsay_error *error)
{
    if (!copy_id(&from->id, to->id)) {
        return reply_lacks(error, "a message's id");
    }
    to->epoch = from->epoch;
    to->intersection_count = from->intersection_count;
    to->union_count = from->union_count;
    to->distance = from->distance_ppm;
    to->deposited_ms = from->deposited_ms;
    to->expires_ms = from->expires_ms;
    to->payload_omitted = from->payload_omitted;
    to->host = from->host.text;
    bool asked_for = from->payload.data != NULL || from->media_type.text != NULL;
    if (asked_for || from->payload_omitted) {
        to->media_type = type_or_default(&from->media_type);
    }
    if (asked_for && !from->payload_omitted) {
        /* A sender may leave an empty payload out. */
        to->payload = from->payload.data != NULL ? from->payload.data : empty_payload;
        to->payload_bytes = from->payload.count;
    }
    return HEARSAY_OK;
}

static int translate_results(const struct msg_results *from, struct arena *arena,
                             struct hearsay_results *to, struct hearsay_error *error)
{
    struct hearsay_result *results = NULL;
    int status = reply_take(arena, from->result_count, sizeof(*results), &results, error);
    for (size_t i = 0; i < from->result_count && status == HEARSAY_OK; i++) {
        status = translate_result(&from->results[i], &results[i], error);
    }
    to->results = results;
    to->result_count = from->result_count;
    to->comparisons = from->comparisons;
    to->exact = from->exact;
    to->capped = from->capped;
    to->notices = from->notices;
    to->notice_count = from->notice_count;
    to->complete = from->complete;
    to->peers = from->peers;
    to->peers_asked = from->peers_asked;
    to->peers_silent = from->peers_silent;
    to->peers_other = from->peers_other;
    to->as_of_ms = from->as_of_ms;
    to->peers_skipped = from->peers_skipped;
    to->bridge_away = from->bridge_away;
    return status;
}

static int translate_match(const struct msg_match *from, struct hearsay_match *to,
                           struct hearsay_error *error)
{
    to->watch_id = from->watch_id;
    to->seq = from->seq;
    return translate_result(&from->result, &to->result, error);
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

static int translate_got(const struct hearsay_got *from, struct hearsay_message *to,
                         struct hearsay_error *error)
{
    to->epoch = from->epoch;
    to->deposited_ms = from->deposited_ms;
    to->expires_ms = from->expires_ms;
    return translate_message(&from->id, &from->media_type, &from->payload, to, error);
}

static int translate_summary(const struct hearsay_summarized *from, struct hearsay_summary *to,
                             struct hearsay_error *error)
{
    const struct hearsay_bytes *filter = &from->union_filter;
    if (filter->data == NULL || filter->count > HEARSAY_FILTER_BYTES_MAX) {
        return reply_lacks(error, "the union filter");
    }
    to->union_filter.byte_count = (uint32_t)filter->count;
    to->union_filter.bits = (uint32_t)filter->count * 8; /* m is a multiple of 64 */
    memcpy(to->union_filter.bytes, filter->data, filter->count);
    to->cardinality_min = from->cardinality_min;
    to->cardinality_max = from->cardinality_max;
    to->count = from->count;
    return HEARSAY_OK;
}

static int take_changed(const struct hearsay_changed *from, struct hearsay_changed *to,
                        struct hearsay_error *error)
{
    for (size_t i = 0; i < from->change_count; i++) {
        if (!msg_change_has_content(&from->changes[i])) {
            return reply_lacks(error, "the content of a change");
        }
    }
    *to = *from;
    return HEARSAY_OK;
}

/* --- all answers ------------------------------------------------------------------------------ */

int reply_translate(struct reply *reply, struct arena *arena, struct hearsay_error *out_error)
{
    const struct hearsay_response *response = &reply->response;
    struct hearsay_reply *shown = &reply->shown;
    memset(shown, 0, sizeof(*shown));
    shown->ticket = response->id;
    switch (response->kind) {
    case HEARSAY_RESPONSE_ERROR:
        shown->kind = HEARSAY_REPLY_ERROR;
        (void)fail_set_refused(&shown->error, &response->error);
        return HEARSAY_OK;
    case HEARSAY_RESPONSE_DEPOSITED:
        shown->kind = HEARSAY_REPLY_DEPOSITED;
        shown->deposited.deposited_ms = response->deposited.deposited_ms;
        shown->deposited.expires_ms = response->deposited.expires_ms;
        shown->deposited.duplicate = response->deposited.duplicate;
        shown->deposited.held = response->deposited.held;
        shown->deposited.without_here = response->deposited.without_here;
        shown->deposited.durable = response->deposited.durability != HEARSAY_DURABILITY_RELAXED;
        return HEARSAY_OK;
    case HEARSAY_RESPONSE_RESULTS:
        shown->kind = HEARSAY_REPLY_RESULTS;
        return translate_results(&response->results, arena, &shown->results, out_error);
    case HEARSAY_RESPONSE_GOT:
        shown->kind = HEARSAY_REPLY_MESSAGE;
        return translate_got(&response->got, &shown->message, out_error);
    case HEARSAY_RESPONSE_WITHDRAWN:
        shown->kind = HEARSAY_REPLY_WITHDRAWN;
        return HEARSAY_OK;
    case HEARSAY_RESPONSE_PONG:
        shown->kind = HEARSAY_REPLY_PONG;
        shown->pong.now_ms = response->pong.now_ms;
        shown->pong.clock_trusted = response->pong.clock_trusted;
        return HEARSAY_OK;
    case HEARSAY_RESPONSE_HERE_LABELS:
        shown->kind = HEARSAY_REPLY_HERE;
        shown->here.label_count = response->here_labels.label_count;
        return reply_texts(response->here_labels.labels, response->here_labels.label_count, arena,
                           &shown->here.labels, out_error);
    case HEARSAY_RESPONSE_SUMMARIZED:
        return translate_summary(&response->summarized, &reply->summary, out_error);
    case HEARSAY_RESPONSE_WATCHING:
        shown->kind = HEARSAY_REPLY_WATCHING;
        shown->watching.watch_id = response->watching.watch_id;
        shown->watching.seq = response->watching.seq;
        return HEARSAY_OK;
    case HEARSAY_RESPONSE_UNWATCHED:
        shown->kind = HEARSAY_REPLY_UNWATCHED;
        return HEARSAY_OK;
    case HEARSAY_RESPONSE_REPORT_TAKEN:
        shown->kind = HEARSAY_REPLY_REPORTED;
        return HEARSAY_OK;
    case HEARSAY_RESPONSE_MATCH:
        shown->kind = HEARSAY_REPLY_MATCH;
        return translate_match(&response->match, &shown->match, out_error);
    case HEARSAY_RESPONSE_HERE_CHANGED:
        shown->kind = HEARSAY_REPLY_HERE_CHANGED;
        shown->here_changed.label_count = response->here_changed.label_count;
        return reply_texts(response->here_changed.labels, response->here_changed.label_count, arena,
                           &shown->here_changed.labels, out_error);
    case HEARSAY_RESPONSE_CHANGED:
        shown->kind = HEARSAY_REPLY_CHANGED;
        return take_changed(&response->changed, &shown->changed, out_error);
    case HEARSAY_RESPONSE_APPLIED:
        shown->kind = HEARSAY_REPLY_APPLIED;
        shown->applied = response->applied;
        return HEARSAY_OK;
    case HEARSAY_RESPONSE_UNKNOWN:
    case HEARSAY_RESPONSE_EPOCH_CHANGED:
    case HEARSAY_RESPONSE_WELCOME:
        break;
    default:
        return HEARSAY_OK; /* for hearsay_ask */
    }
    return reply_lacks(out_error, "a body that fits the question");
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
        if (from->hosts[i].name.text == NULL || from->hosts[i].profile.text == NULL) {
            return reply_lacks(error, "a host's name or profile");
        }
        hosts[i].name = from->hosts[i].name.text;
        hosts[i].profile = from->hosts[i].profile.text;
        hosts[i].hood = from->hosts[i].hood.text;
        hosts[i].role = (enum hearsay_role)from->hosts[i].role;
        hosts[i].suggested_max_distance = from->hosts[i].suggested_max_distance_ppm;
        hosts[i].messages = from->hosts[i].messages;
        hosts[i].bytes = from->hosts[i].bytes;
        hosts[i].evict = (enum hearsay_evict)from->hosts[i].evict;
        hosts[i].accept = (enum hearsay_accept)from->hosts[i].accept;
        hosts[i].accept_until_ms = from->hosts[i].accept_until_ms;
        reply_translate_epoch(&from->hosts[i].epoch, &hosts[i].epoch);
        hosts[i].here_count = from->hosts[i].here_count;
        int status = reply_texts(from->hosts[i].here, from->hosts[i].here_count, arena,
                                 &hosts[i].here, error);
        if (status != HEARSAY_OK) {
            return status;
        }
        if (hosts[i].suggested_max_distance > HEARSAY_DISTANCE_ONE) {
            hosts[i].suggested_max_distance = HEARSAY_DISTANCE_ONE;
        }
    }
    to->hosts = hosts;
    *out_hosts = hosts;
    to->host_count = from->host_count;
    return HEARSAY_OK;
}

static void translate_limits(const struct msg_limits *from, struct hearsay_limits *to)
{
    to->frame_bytes = from->frame_bytes;
    to->payload_bytes = from->payload_bytes;
    to->media_type_bytes = from->media_type_bytes;
    to->deposit_fill_min_ppm = from->deposit_fill_min_ppm;
    to->deposit_fill_max_ppm = from->deposit_fill_max_ppm;
    to->query_fill_max_ppm = from->query_fill_max_ppm;
    to->k_max = from->k_max;
    to->ttl_default_s = from->ttl_default_s;
    to->ttl_max_s = from->ttl_max_s;
    to->parts_max = from->parts_max;
    to->requests_in_flight = from->requests_in_flight;
    to->deposits_per_minute = from->deposits_per_minute;
    to->queries_per_minute = from->queries_per_minute;
    to->deposit_burst = from->deposit_burst;
    to->query_burst = from->query_burst;
    to->sessions = from->sessions;
    to->sessions_per_address = from->sessions_per_address;
    to->session_output_bytes = from->session_output_bytes;
    to->messages = from->messages;
    to->bytes = from->bytes;
    to->sender_share_ppm = from->sender_share_ppm;
    to->watches_per_session = from->watches_per_session;
    to->watches = from->watches;
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
    if (!copy_id(&welcome->store_id, out_welcome->store_id)) {
        return reply_lacks(out_error, "the store's id");
    }
    translate_limits(&welcome->limits, &out_welcome->limits);
    int status = translate_resumption(welcome, arena, out_welcome, out_error);
    if (status != HEARSAY_OK) {
        return status;
    }
    out_welcome->capability_count = welcome->capability_count;
    status = reply_texts(welcome->capabilities, welcome->capability_count, arena,
                         &out_welcome->capabilities, out_error);
    return status == HEARSAY_OK ? translate_hosts(welcome, arena, out_welcome, out_hosts, out_error)
                                : status;
}
