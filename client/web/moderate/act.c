/* SPDX-License-Identifier: Apache-2.0 */
#include "client/web/moderate/page.h"

#include <string.h>

#include <sodium.h>

#include "client/web/form.h"
#include "client/web/route/secret.h"

enum { NOTICE_SECONDS_MAX = 366 * 24 * 3600 };

struct desk_notice act_notice(const struct hearsay_error *error)
{
    struct desk_notice notice = {.key = "error.refused", .value = error->sentence, .is_bad = true};

    if (error->status != HEARSAY_ERR_REFUSED) {
        notice.key = "moderate.away";
    } else if (error->code == HEARSAY_CODE_QUOTA) {
        notice.key = "moderate.five";
    } else if (error->code == HEARSAY_CODE_NOT_FOUND || error->code == HEARSAY_CODE_REMOVED) {
        notice.key = "moderate.gone";
    } else if (error->code == HEARSAY_CODE_INVALID && strcmp(error->field, "id") == 0) {
        notice.key = "moderate.already";
    }
    return notice;
}

/* Fills the request for a notice: to put one up, or to take one down. */
static bool fill_notice(const struct desk *desk, const struct desk_act *act,
                        struct hearsay_text host, struct hearsay_request *out)
{
    struct hearsay_notice notice = {.host = host};
    uint64_t value = 0;

    if (strcmp(act->act, "unnotice") == 0) {
        if (act->number == NULL || !form_read_number(act->number, UINT32_MAX, &value)) {
            return false;
        }
        notice.drop = (uint32_t)value;
    } else {
        notice.text = hearsay_text(act->text);
        notice.lang = hearsay_text(act->lang);
        notice.place = hearsay_text(act->at);
        if (act->until != NULL && form_read_number(act->until, NOTICE_SECONDS_MAX, &value)) {
            notice.until_ms = desk->now_ms + (int64_t)value * 1000;
        }
    }
    *out = (struct hearsay_request){.kind = HEARSAY_REQUEST_NOTICE, .notice = notice};
    return notice.drop != 0 || act->text != NULL;
}

/* Fills the request that lifts a ban; the request borrows `room`. */
static bool fill_unban(const struct desk_act *act, struct hearsay_text host,
                       uint8_t room[HEARSAY_FILTER_BYTES_MAX], struct hearsay_request *out)
{
    size_t bytes = 0;

    if (act->what == NULL || (act->what[0] != 't' && act->what[0] != 'c') ||
        sodium_hex2bin(room, HEARSAY_FILTER_BYTES_MAX, act->what + 1, strlen(act->what + 1), NULL,
                       &bytes, NULL) != 0 ||
        bytes == 0) {
        return false;
    }
    bool is_text = act->what[0] == 't';
    struct hearsay_bytes value = hearsay_bytes(room, bytes);
    struct hearsay_bytes none = hearsay_bytes(NULL, 0);
    *out = (struct hearsay_request){.kind = HEARSAY_REQUEST_UNBAN,
                                    .unban = {.host = host,
                                              .payload_hash = is_text ? value : none,
                                              .filter = is_text ? none : value}};
    return true;
}

/* Fills the request for what was pressed. False: it is nothing for hearsayd. */
static bool act_fill(const struct desk *desk, const struct desk_act *act, struct hearsay_text host,
                     uint8_t room[HEARSAY_FILTER_BYTES_MAX], struct hearsay_request *out)
{
    const char *word = act->act != NULL ? act->act : "";
    const char *said = act->reason != NULL && act->reason[0] != '\0' ? act->reason : NULL;
    struct hearsay_text reason = hearsay_text(said);
    enum hearsay_report_kind why = form_report_kind_of(act->why);
    struct hearsay_bytes id = hearsay_bytes(room, HEARSAY_ID_BYTES);

    if (strcmp(word, "accept") == 0) {
        *out = (struct hearsay_request){.kind = HEARSAY_REQUEST_ACCEPT,
                                        .accept = {.host = host, .mode = hearsay_text(act->mode)}};
        return act->mode != NULL;
    }
    if (strcmp(word, "notice") == 0 || strcmp(word, "unnotice") == 0) {
        return fill_notice(desk, act, host, out);
    }
    if (strcmp(word, "unban") == 0) {
        return fill_unban(act, host, room, out);
    }
    if (act->id == NULL || !secret_read_hex(act->id, room)) {
        return false;
    }
    if (strcmp(word, "hide") == 0) {
        *out = (struct hearsay_request){
            .kind = HEARSAY_REQUEST_HIDE,
            .hide = {.host = host, .id = id, .kind = why, .reason = reason}};
    } else if (strcmp(word, "show") == 0) {
        *out = (struct hearsay_request){
            .kind = HEARSAY_REQUEST_RESTORE,
            .restore = {.host = host, .id = id, .kind = why, .reason = reason}};
    } else if (strcmp(word, "remove") == 0) {
        *out = (struct hearsay_request){
            .kind = HEARSAY_REQUEST_REMOVE,
            .remove = {
                .host = host, .id = id, .ban = act->ban != NULL, .kind = why, .reason = reason}};
    }
    return out->kind != HEARSAY_REQUEST_UNKNOWN;
}

/* What is said about an act that was done. */
static struct desk_notice notice_done(const struct desk *desk, const struct desk_act *act,
                                      const struct hearsay_response *response)
{
    struct desk_notice notice = {.key = "moderate.done_accept"};
    int64_t destroyed_ms = response->removed.destroyed_ms;

    if (response->kind == HEARSAY_RESPONSE_NOTICED) {
        notice.key =
            strcmp(act->act, "notice") == 0 ? "moderate.done_notice" : "moderate.done_unnotice";
    } else if (response->kind == HEARSAY_RESPONSE_UNBANNED) {
        notice.key = "moderate.done_unban";
    } else if (response->kind == HEARSAY_RESPONSE_HIDDEN) {
        notice.key = "moderate.done_hide";
    } else if (response->kind == HEARSAY_RESPONSE_RESTORED) {
        notice.key = response->restored.banned_hash.data != NULL ? "moderate.done_show_banned"
                                                                 : "moderate.done_show";
    } else if (response->kind == HEARSAY_RESPONSE_REMOVED && destroyed_ms > desk->now_ms) {
        notice.key = "moderate.done_remove_until";
        notice.seconds = (uint64_t)(destroyed_ms - desk->now_ms) / 1000 + 1;
    } else if (response->kind == HEARSAY_RESPONSE_REMOVED) {
        notice.key = "moderate.done_remove";
    }
    return notice;
}

struct desk_notice act_do(const struct desk *desk, const struct desk_act *act, const char *host,
                          struct hearsay *server, struct hearsay_error *error)
{
    uint8_t room[HEARSAY_FILTER_BYTES_MAX]; /* an id, or what is banned */
    struct hearsay_request request = {.kind = HEARSAY_REQUEST_UNKNOWN};
    const struct hearsay_response *response = NULL;

    if (!act_fill(desk, act, hearsay_text(host[0] != '\0' ? host : NULL), room, &request)) {
        return (struct desk_notice){.key = NULL};
    }
    if ((act->id != NULL && act->reason != NULL &&
         strlen(act->reason) > HEARSAY_REASON_BYTES_MAX) ||
        (request.kind == HEARSAY_REQUEST_NOTICE &&
         request.notice.text.length > HEARSAY_NOTICE_BYTES_MAX)) {
        return (struct desk_notice){.key = "error.too_long", .is_bad = true};
    }
    return hearsay_ask(server, &request, ACT_CALL_MS, &response, error) == HEARSAY_OK
               ? notice_done(desk, act, response)
               : act_notice(error);
}
