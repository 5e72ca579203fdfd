/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "client/call/reply.h"
#include "client/fail.h"

static const uint8_t empty_payload[1];

/* Room for `count` structs, *out NULL where there are none. 0 or HEARSAY_ERR_NOMEM. */
static int reply_admin_take(struct arena *arena, size_t count, size_t bytes, void *out,
                            struct hearsay_error *error)
{
    void *room = NULL;
    if (count > 0) {
        room = arena_take_zeroed(arena, count, bytes);
        if (room == NULL) {
            return fail_set_nomem(error);
        }
    }
    memcpy(out, &room, sizeof(room));
    return HEARSAY_OK;
}

/* Texts were decoded with a NUL behind them. */
static int translate_texts(const struct msg_text *from, size_t count, struct arena *arena,
                           const char *const **out, struct hearsay_error *error)
{
    const char **texts = NULL;
    int status = reply_admin_take(arena, count, sizeof(*texts), &texts, error);
    for (size_t i = 0; i < count && status == HEARSAY_OK; i++) {
        texts[i] = from[i].text;
    }
    if (status == HEARSAY_OK) {
        *out = texts;
    }
    return status;
}

static int translate_figures(const struct msg_stats_taken *from, struct arena *arena,
                             struct hearsay_admin_reply *to, struct hearsay_error *error)
{
    struct hearsay_figure *figures = NULL;
    int status = reply_admin_take(arena, from->figure_count, sizeof(*figures), &figures, error);
    if (status != HEARSAY_OK) {
        return status;
    }
    for (size_t i = 0; i < from->figure_count; i++) {
        figures[i].name = from->figures[i].name.text; /* needed: the codec has seen to it */
        figures[i].value = from->figures[i].value;
    }
    to->figures = figures;
    to->figure_count = from->figure_count;
    return HEARSAY_OK;
}

static int translate_reported(const struct msg_reported_message *from, struct arena *arena,
                              struct hearsay_reported *to, struct hearsay_error *error)
{
    struct hearsay_message *message = &to->message;
    memcpy(message->id, from->id.data, HEARSAY_ID_BYTES); /* the codec has seen to its length */
    message->deposited_ms = from->deposited_ms;
    message->expires_ms = from->expires_ms;
    message->media_type = from->media_type.text != NULL ? from->media_type.text : "text/plain";
    message->payload = from->payload.data != NULL ? from->payload.data : empty_payload;
    message->payload_bytes = from->payload.data != NULL ? from->payload.count : 0;
    to->reports = from->reports;
    to->hidden = from->hidden;
    to->pending = from->pending;
    to->payload_omitted = from->payload_omitted;
    to->reason_count = from->reason_count;
    return translate_texts(from->reasons, from->reason_count, arena, &to->reasons, error);
}

static int translate_list(const struct msg_reported_list *from, struct arena *arena,
                          struct hearsay_admin_reply *to, struct hearsay_error *error)
{
    struct hearsay_reported *messages = NULL;
    int status = reply_admin_take(arena, from->message_count, sizeof(*messages), &messages, error);
    for (size_t i = 0; i < from->message_count && status == HEARSAY_OK; i++) {
        status = translate_reported(&from->messages[i], arena, &messages[i], error);
    }
    if (status == HEARSAY_OK) {
        to->reported = messages;
        to->reported_count = from->message_count;
        to->total = from->total;
    }
    return status;
}

static int translate_bans(const struct msg_ban_list *from, struct arena *arena,
                          struct hearsay_admin_reply *to, struct hearsay_error *error)
{
    struct hearsay_ban *bans = NULL;
    int status = reply_admin_take(arena, from->ban_count, sizeof(*bans), &bans, error);
    if (status != HEARSAY_OK) {
        return status;
    }
    for (size_t i = 0; i < from->ban_count; i++) {
        bans[i].payload_hash = from->bans[i].payload_hash.data;
        bans[i].filter = from->bans[i].filter.data;
        bans[i].filter_bytes = from->bans[i].filter.count;
        bans[i].max_distance = from->bans[i].max_distance_ppm;
        bans[i].since_ms = from->bans[i].since_ms;
    }
    to->bans = bans;
    to->ban_count = from->ban_count;
    to->more = from->more;
    return HEARSAY_OK;
}

int reply_translate_admin(const struct msg_response *response, struct arena *arena,
                          struct hearsay_admin_reply *out_reply, struct hearsay_error *out_error)
{
    memset(out_reply, 0, sizeof(*out_reply));
    switch (response->kind) {
    case MSG_RESPONSE_STATS_TAKEN:
        return translate_figures(&response->stats_taken, arena, out_reply, out_error);
    case MSG_RESPONSE_REPORTED_LIST:
        return translate_list(&response->reported_list, arena, out_reply, out_error);
    case MSG_RESPONSE_BAN_LIST:
        return translate_bans(&response->ban_list, arena, out_reply, out_error);
    case MSG_RESPONSE_ACCEPTING:
        out_reply->word = response->accepting.mode.text;
        out_reply->source =
            response->accepting.source.text != NULL ? response->accepting.source.text : "";
        out_reply->until_ms = response->accepting.until_ms;
        return HEARSAY_OK;
    case MSG_RESPONSE_CHECKED:
        out_reply->problem_count = response->checked.problem_count;
        out_reply->messages = response->checked.messages;
        return translate_texts(response->checked.problems, response->checked.problem_count, arena,
                               &out_reply->problems, out_error);
    case MSG_RESPONSE_LOG_LEVEL_SET:
        out_reply->word = response->log_level.level.text;
        return HEARSAY_OK;
    case MSG_RESPONSE_BACKED_UP:
    case MSG_RESPONSE_COMPACTED:
        out_reply->bytes_before = response->bytes_taken.before;
        out_reply->bytes_after = response->bytes_taken.after;
        return HEARSAY_OK;
    default:
        return HEARSAY_OK; /* nothing but the fact */
    }
}
