/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements the calls of hearsay/admin.h, hearsay_report and hearsay_submit_report. All of these
 * calls but hearsay_submit_report wait for the reply.
 */
#include "client/call/calls.h"
#include "client/fail.h"

int hearsay_submit_report(struct hearsay *server, const struct hearsay_report *report,
                          uint64_t *out_ticket, struct hearsay_error *out_error)
{
    struct hearsay_request request = {.kind = HEARSAY_REQUEST_REPORT, .report = *report};

    if (report->kind < HEARSAY_REPORT_ILLEGAL || report->kind > HEARSAY_REPORT_OTHER_KIND) {
        return fail_set(out_error, HEARSAY_ERR_ARGUMENT, "the report has no kind");
    }
    return client_submit(server, &request, out_ticket, out_error);
}

int hearsay_report(struct hearsay *server, const struct hearsay_report *report, int timeout_ms,
                   struct hearsay_error *out_error)
{
    const struct reply *reply = NULL;
    uint64_t ticket = 0;
    int status = calls_prepare(server, timeout_ms, out_error);
    if (status == HEARSAY_OK) {
        status = hearsay_submit_report(server, report, &ticket, out_error);
    }
    return status == HEARSAY_OK ? calls_finish(server, ticket, timeout_ms, &reply, out_error)
                                : status;
}

/* --- administration --------------------------------------------------------------------------- */

static void fill_moderation(const struct hearsay_admin *admin, struct hearsay_request *out)
{
    const struct hearsay_text host = hearsay_text(admin->host);
    const struct hearsay_bytes id = hearsay_bytes(admin->id, HEARSAY_ID_BYTES);
    const enum hearsay_report_kind kind = admin->why;
    const struct hearsay_text reason = hearsay_text(admin->reason);

    switch (out->kind) {
    case HEARSAY_REQUEST_REMOVE:
        out->remove = (struct hearsay_remove){host, id, admin->ban, kind, reason};
        return;
    case HEARSAY_REQUEST_RESTORE:
        out->restore = (struct hearsay_restore){host, id, kind, reason};
        return;
    case HEARSAY_REQUEST_HIDE:
        out->hide = (struct hearsay_hide){host, id, kind, reason};
        return;
    case HEARSAY_REQUEST_REPORTED:
        out->reported = (struct msg_reported){
            .host = host,
            .limit = admin->number,
            .pending = admin->pending,
            .withheld = admin->withheld,
            .all = admin->all,
            .after = hearsay_bytes(admin->after, admin->after_bytes),
        };
        return;
    case HEARSAY_REQUEST_DECISIONS:
        out->decisions = (struct hearsay_decisions){
            host, admin->number, admin->before == 0 ? UINT64_MAX : admin->before};
        return;
    case HEARSAY_REQUEST_SIMILAR:
        out->similar = (struct msg_similar){host, admin->max_distance, admin->number};
        return;
    default:
        return; /* nothing, or fill_rules has done it */
    }
}

static void fill_rules(const struct hearsay_admin *admin, struct hearsay_request *out)
{
    const struct hearsay_text host = hearsay_text(admin->host);
    const struct hearsay_text word = hearsay_text(admin->word);
    const struct hearsay_bytes hash = hearsay_bytes(admin->payload_hash, HEARSAY_HASH_BYTES);

    switch (out->kind) {
    case HEARSAY_REQUEST_BAN:
        out->ban =
            (struct msg_ban){host, hash, hearsay_filter_bytes(admin->filter), admin->max_distance};
        return;
    case HEARSAY_REQUEST_UNBAN:
        out->unban = (struct hearsay_unban){host, hash, hearsay_filter_bytes(admin->filter)};
        return;
    case HEARSAY_REQUEST_BANS:
        out->bans = (struct hearsay_bans){host, admin->number};
        return;
    case HEARSAY_REQUEST_ACCEPT:
        out->accept = (struct msg_accept){host, word};
        return;
    case HEARSAY_REQUEST_NOTICE:
        out->notice = (struct msg_notice){host, word, hearsay_text(admin->lang), admin->until_ms,
                                          admin->number};
        return;
    case HEARSAY_REQUEST_STATS:
        out->stats.host = host;
        return;
    case HEARSAY_REQUEST_WAIT:
        out->wait.host = host;
        return;
    case HEARSAY_REQUEST_BACKUP:
        out->backup.path = word;
        return;
    case HEARSAY_REQUEST_LOG_LEVEL:
        out->log_level.level = word;
        return;
    default:
        return; /* nothing, or fill_moderation does it */
    }
}

static const enum hearsay_request_kind kinds[] = {
    [HEARSAY_ADMIN_STATS] = HEARSAY_REQUEST_STATS,
    [HEARSAY_ADMIN_REMOVE] = HEARSAY_REQUEST_REMOVE,
    [HEARSAY_ADMIN_RESTORE] = HEARSAY_REQUEST_RESTORE,
    [HEARSAY_ADMIN_REPORTED] = HEARSAY_REQUEST_REPORTED,
    [HEARSAY_ADMIN_BAN] = HEARSAY_REQUEST_BAN,
    [HEARSAY_ADMIN_UNBAN] = HEARSAY_REQUEST_UNBAN,
    [HEARSAY_ADMIN_BANS] = HEARSAY_REQUEST_BANS,
    [HEARSAY_ADMIN_ACCEPT] = HEARSAY_REQUEST_ACCEPT,
    [HEARSAY_ADMIN_CHECK] = HEARSAY_REQUEST_CHECK,
    [HEARSAY_ADMIN_BACKUP] = HEARSAY_REQUEST_BACKUP,
    [HEARSAY_ADMIN_COMPACT] = HEARSAY_REQUEST_COMPACT,
    [HEARSAY_ADMIN_RELOAD] = HEARSAY_REQUEST_RELOAD,
    [HEARSAY_ADMIN_LOG_LEVEL] = HEARSAY_REQUEST_LOG_LEVEL,
    [HEARSAY_ADMIN_HIDE] = HEARSAY_REQUEST_HIDE,
    [HEARSAY_ADMIN_DECISIONS] = HEARSAY_REQUEST_DECISIONS,
    [HEARSAY_ADMIN_WAIT] = HEARSAY_REQUEST_WAIT,
    [HEARSAY_ADMIN_NOTICE] = HEARSAY_REQUEST_NOTICE,
    [HEARSAY_ADMIN_SIMILAR] = HEARSAY_REQUEST_SIMILAR,
};

int hearsay_admin(struct hearsay *server, const struct hearsay_admin *admin, int timeout_ms,
                  const struct hearsay_admin_reply **out_reply, struct hearsay_error *out_error)
{
    const struct reply *reply = NULL;
    if ((int)admin->kind < HEARSAY_ADMIN_STATS || admin->kind > HEARSAY_ADMIN_SIMILAR) {
        return fail_set(out_error, HEARSAY_ERR_ARGUMENT, "there is no such request");
    }
    struct hearsay_request request = {.kind = kinds[admin->kind]};
    fill_rules(admin, &request);
    fill_moderation(admin, &request);
    int status = calls_ask(server, &request, timeout_ms, &reply, out_error);
    if (status == HEARSAY_OK) {
        *out_reply = &reply->admin;
    }
    return status;
}

int hearsay_export(struct hearsay *server, const struct hearsay_export *page, int timeout_ms,
                   const struct hearsay_page **out_page, struct hearsay_error *out_error)
{
    struct hearsay_request request = {
        .kind = HEARSAY_REQUEST_EXPORT,
        .export_ = {.host = hearsay_text(page->host),
                    .after = hearsay_bytes(page->after, page->after_bytes),
                    .limit = page->limit}};
    const struct reply *reply = NULL;
    int status = calls_ask(server, &request, timeout_ms, &reply, out_error);
    if (status == HEARSAY_OK) {
        *out_page = &reply->page;
    }
    return status;
}
