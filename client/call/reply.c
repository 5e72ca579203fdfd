/* SPDX-License-Identifier: Apache-2.0 */
#include "client/call/client.h"

#include <string.h>

#include "client/fail.h"

static const uint8_t empty_payload[1];

static int reply_lacks(struct hearsay_error *error, const char *what)
{
    return fail_set(error, HEARSAY_ERR_PROTOCOL, "the server's answer lacks %s", what);
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

static int check_changed(const struct hearsay_changed *changed, struct hearsay_error *error)
{
    for (size_t i = 0; i < changed->change_count; i++) {
        if (!msg_change_has_content(&changed->changes[i])) {
            return reply_lacks(error, "the content of a change");
        }
    }
    return HEARSAY_OK;
}

int reply_complete(struct hearsay_reply *reply, struct hearsay_error *out_error)
{
    struct hearsay_response *response = &reply->response;

    switch (response->kind) {
    case HEARSAY_RESPONSE_ERROR:
        fail_set_refused(&reply->error, &response->error);
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
    case HEARSAY_RESPONSE_CHANGED:
        return check_changed(&response->changed, out_error);
    case HEARSAY_RESPONSE_UNKNOWN:
    case HEARSAY_RESPONSE_EPOCH_CHANGED:
    case HEARSAY_RESPONSE_WELCOME:
        return reply_lacks(out_error, "a body that fits the question");
    default:
        return HEARSAY_OK;
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
    fail_set_refused(dropped, &from->dropped);
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
