/* SPDX-License-Identifier: Apache-2.0 */
#include "client/web/moderate/page.h"

#include <string.h>

#include "client/web/form.h"
#include "client/web/route/secret.h"

enum { REASON_BYTES_MAX = 200 /* as hearsayd has it */ };

struct desk_notice act_notice(const struct hearsay_error *error)
{
    struct desk_notice notice = {.key = "error.refused", .value = error->sentence, .is_bad = true};

    if (error->status != HEARSAY_ERR_REFUSED) {
        notice.key = "moderate.away";
    } else if (error->code == HEARSAY_CODE_NOT_FOUND || error->code == HEARSAY_CODE_REMOVED) {
        notice.key = "moderate.gone";
    } else if (error->code == HEARSAY_CODE_INVALID && strcmp(error->field, "id") == 0) {
        notice.key = "moderate.already";
    }
    return notice;
}

/* Fills the request for what was pressed. False: it is nothing for hearsayd. */
static bool act_fill(const struct desk_act *act, struct hearsay_text host, uint8_t *id_room,
                     struct hearsay_request *out)
{
    const char *word = act->act != NULL ? act->act : "";
    const char *said = act->reason != NULL && act->reason[0] != '\0' ? act->reason : NULL;
    const struct hearsay_text reason = hearsay_text(said);
    const enum hearsay_report_kind why = form_report_kind_of(act->why);
    const struct hearsay_bytes id = hearsay_bytes(id_room, HEARSAY_ID_BYTES);

    if (strcmp(word, "accept") == 0) {
        *out = (struct hearsay_request){.kind = HEARSAY_REQUEST_ACCEPT,
                                        .accept = {host, hearsay_text(act->mode)}};
        return act->mode != NULL;
    }
    if (act->id == NULL || !secret_read_hex(act->id, id_room)) {
        return false;
    }
    if (strcmp(word, "hide") == 0) {
        *out =
            (struct hearsay_request){.kind = HEARSAY_REQUEST_HIDE, .hide = {host, id, why, reason}};
    } else if (strcmp(word, "show") == 0) {
        *out = (struct hearsay_request){.kind = HEARSAY_REQUEST_RESTORE,
                                        .restore = {host, id, why, reason}};
    } else if (strcmp(word, "remove") == 0) {
        *out = (struct hearsay_request){.kind = HEARSAY_REQUEST_REMOVE,
                                        .remove = {host, id, act->ban != NULL, why, reason}};
    }
    return out->kind != HEARSAY_REQUEST_UNKNOWN;
}

/* What is said about an act that was done. */
static struct desk_notice notice_done(const struct desk *desk,
                                      const struct hearsay_response *response)
{
    struct desk_notice notice = {.key = "moderate.done_accept"};
    int64_t destroyed_ms = response->removed.destroyed_ms;

    if (response->kind == HEARSAY_RESPONSE_HIDDEN) {
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
    uint8_t id[HEARSAY_ID_BYTES];
    struct hearsay_request request = {.kind = HEARSAY_REQUEST_UNKNOWN};
    const struct hearsay_response *response = NULL;

    if (!act_fill(act, hearsay_text(host[0] != '\0' ? host : NULL), id, &request)) {
        return (struct desk_notice){.key = NULL};
    }
    if (request.kind != HEARSAY_REQUEST_ACCEPT && act->reason != NULL &&
        strlen(act->reason) > REASON_BYTES_MAX) {
        return (struct desk_notice){.key = "error.too_long", .is_bad = true};
    }
    return hearsay_ask(server, &request, ACT_CALL_MS, &response, error) == HEARSAY_OK
               ? notice_done(desk, response)
               : act_notice(error);
}
