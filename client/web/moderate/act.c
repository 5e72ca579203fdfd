/* SPDX-License-Identifier: Apache-2.0 */
#include "client/web/moderate/act.h"

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
static bool act_fill(const struct desk_act *act, struct hearsay_admin *request, uint8_t *id_room)
{
    static const struct {
        const char *word;
        enum hearsay_admin_kind kind;
    } acts[] = {
        {"hide", HEARSAY_ADMIN_HIDE},
        {"show", HEARSAY_ADMIN_RESTORE},
        {"remove", HEARSAY_ADMIN_REMOVE},
        {"accept", HEARSAY_ADMIN_ACCEPT},
    };

    for (size_t i = 0; act->act != NULL && i < sizeof(acts) / sizeof(acts[0]); i++) {
        if (strcmp(act->act, acts[i].word) == 0) {
            request->kind = acts[i].kind;
        }
    }
    if (request->kind == HEARSAY_ADMIN_ACCEPT) {
        request->word = act->mode;
        return act->mode != NULL;
    }
    if (act->id == NULL || !secret_read_hex(act->id, id_room)) {
        return false;
    }
    request->id = id_room;
    request->why = form_report_kind_of(act->why);
    request->reason = act->reason != NULL && act->reason[0] != '\0' ? act->reason : NULL;
    request->ban = act->ban != NULL;
    return request->kind != 0;
}

/* What is said about an act that was done. */
static struct desk_notice notice_done(const struct desk *desk, enum hearsay_admin_kind kind,
                                      const struct hearsay_admin_reply *reply)
{
    struct desk_notice notice = {.key = "moderate.done_accept"};

    if (kind == HEARSAY_ADMIN_HIDE) {
        notice.key = "moderate.done_hide";
    } else if (kind == HEARSAY_ADMIN_RESTORE) {
        notice.key =
            reply->banned_hash != NULL ? "moderate.done_show_banned" : "moderate.done_show";
    } else if (kind == HEARSAY_ADMIN_REMOVE && reply->destroyed_ms > desk->now_ms) {
        notice.key = "moderate.done_remove_until";
        notice.seconds = (uint64_t)(reply->destroyed_ms - desk->now_ms) / 1000 + 1;
    } else if (kind == HEARSAY_ADMIN_REMOVE) {
        notice.key = "moderate.done_remove";
    }
    return notice;
}

struct desk_notice act_do(const struct desk *desk, const struct desk_act *act, const char *host,
                          struct hearsay *server, struct hearsay_error *error)
{
    uint8_t id[HEARSAY_ID_BYTES];
    struct hearsay_admin request = {.host = host[0] != '\0' ? host : NULL};
    const struct hearsay_admin_reply *reply = NULL;

    if (!act_fill(act, &request, id)) {
        return (struct desk_notice){.key = NULL};
    }
    if (request.reason != NULL && strlen(request.reason) > REASON_BYTES_MAX) {
        return (struct desk_notice){.key = "error.too_long", .is_bad = true};
    }
    return hearsay_admin(server, &request, ACT_CALL_MS, &reply, error) == HEARSAY_OK
               ? notice_done(desk, request.kind, reply)
               : act_notice(error);
}
