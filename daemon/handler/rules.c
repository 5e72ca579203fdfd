/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ban, Unban, Bans and Accept: what the operator decides for a host as a whole; and what follows
 * from it for a deposit.
 */
#include <inttypes.h>
#include <string.h>

#include "core/base/err.h"
#include "core/filter/bloom.h"
#include "daemon/handler/handler.h"
#include "daemon/host/accept.h"
#include "proto/codec/codec.h"

struct job {
    struct persist_op op; /* first: `done` gets it back */
    struct service *service;
    struct requester *client;
    struct host *host;
    uint64_t request_id;
    struct persist_rule rule;
    uint8_t value[LIMIT_FILTER_BYTES];
};

/* --- which deposits are taken ----------------------------------------------------------------- */

bool handler_takes_deposit(struct service *service, struct requester *client,
                           const struct msg_request *request, const struct host *host,
                           enum persist_state *out_state)
{
    const struct msg_deposit *deposit = &request->deposit;
    const int64_t now_ms = service_now_ms(service);
    const char *source = NULL;
    int64_t until_ms = 0;
    const enum accept mode = accept_now(host, now_ms, &source, &until_ms);

    *out_state = mode == ACCEPT_REVIEW ? PERSIST_PENDING : PERSIST_SHOWN;
    if (mode == ACCEPT_CLOSED) {
        struct msg_response response = {.id = request->id, .kind = MSG_RESPONSE_ERROR};
        msg_error_set(&response.error, MSG_FORBIDDEN, NULL,
                      "host \"%s\" takes no messages now; it can be asked all the same",
                      host->config.name);
        response.error.retry_after_ms = until_ms > now_ms ? (uint64_t)(until_ms - now_ms) : 0;
        client->events->respond(client, &response);
        return false;
    }
    const struct ban *ban =
        rules_find_ban(&host->rules, deposit->filter.data, deposit->filter.count,
                       deposit->payload.data, deposit->payload.count);
    if (ban != NULL) {
        const bool is_payload = ban->kind == PERSIST_BAN_PAYLOAD;
        requester_refuse(client, request->id, MSG_FORBIDDEN, is_payload ? "payload" : "filter",
                         "the operator of host \"%s\" has banned this %s", host->config.name,
                         is_payload ? "text" : "context");
        return false;
    }
    return true;
}

/* --- jobs ------------------------------------------------------------------------------------- */

static struct job *job_new(struct service *service, struct requester *client, struct host *host,
                           uint64_t request_id)
{
    struct job *job = alloc_zeroed(service->alloc, 1, sizeof(*job));

    if (job == NULL) {
        requester_refuse(client, request_id, MSG_INTERNAL, NULL, "the server is out of memory");
        return NULL;
    }
    job->service = service;
    job->client = client;
    job->host = host;
    job->request_id = request_id;
    job->op.now_ms = service_now_ms(service);
    job->op.rule = &job->rule;
    job->rule.host = host->number;
    job->rule.value = job->value;
    job->rule.created_ms = job->op.now_ms;
    requester_work_begin(client, sizeof(*job), REQUESTER_ANSWER_BYTES);
    service->working++;
    return job;
}

static void job_submit(struct job *job, enum persist_kind kind, void (*done)(struct persist_op *op))
{
    job->op.kind = kind;
    job->op.done = done;
    job->service->persist->interface->submit(job->service->persist, &job->op);
}

static void job_finish(struct job *job, const struct msg_response *response)
{
    struct service *service = job->service;
    struct requester *client = job->client;

    client->events->respond(client, response);
    service->working--;
    alloc_release(service->alloc, job, 1, sizeof(*job));
    requester_work_end(client, sizeof(struct job), REQUESTER_ANSWER_BYTES);
}

static void job_fail(struct job *job, enum msg_error_code code, const char *sentence)
{
    struct msg_response response = {.id = job->request_id, .kind = MSG_RESPONSE_ERROR};

    msg_error_set(&response.error, code, NULL, "%s", sentence);
    job_finish(job, &response);
}

/* Whether it is on storage, and in force; answers when not. */
static bool is_done(struct job *job)
{
    const enum persist_outcome outcome = job->op.outcome;

    if (outcome != PERSIST_APPLIED && outcome != PERSIST_NOT_FOUND) {
        service_storage_failed(job->service, "storage", job->op.reason);
        job_fail(job, MSG_STORAGE,
                 "the message store could not write to its storage; nothing was changed");
        return false;
    }
    if (job->op.kind == PERSIST_RULE_DROP) {
        rules_drop(&job->host->rules, &job->rule);
    } else if (rules_put(&job->host->rules, &job->rule) != 0) {
        job_fail(job, MSG_INTERNAL,
                 "the server is out of memory; this is in force after its next start");
        return false;
    }
    return true;
}

/* --- Ban, Unban ------------------------------------------------------------------------------- */

static void on_banned(struct persist_op *op)
{
    struct job *job = (struct job *)op;

    if (is_done(job)) {
        const struct msg_response response = {.id = job->request_id, .kind = MSG_RESPONSE_BANNED};
        log_info("host %s: the operator has banned a %s", job->host->config.name,
                 job->rule.kind == PERSIST_BAN_PAYLOAD ? "payload" : "filter");
        job_finish(job, &response);
    }
}

static void on_unbanned(struct persist_op *op)
{
    struct job *job = (struct job *)op;
    const struct msg_response response = {.id = job->request_id, .kind = MSG_RESPONSE_UNBANNED};

    if (op->outcome == PERSIST_NOT_FOUND) {
        job_fail(job, MSG_NOT_FOUND, "there is no such ban; `bans` lists those there are");
    } else if (is_done(job)) {
        job_finish(job, &response);
    }
}

/* Who may, where, and that exactly one thing is named. NULL: answered. */
static struct host *check_ban(struct service *service, struct requester *client,
                              const struct msg_request *request)
{
    const struct msg_admin *asked = &request->admin;
    uint64_t filter[PROFILE_WORDS_MAX];
    struct host *host = NULL;

    if (!handler_is_administrator(client, request) ||
        (host = handler_host(service, client, request, &asked->host)) == NULL) {
        return NULL;
    }
    if ((asked->payload_hash.data != NULL) == (asked->filter.data != NULL)) {
        requester_refuse(client, request->id, MSG_INVALID, "payload_hash",
                         "%s needs payload_hash or filter, one of them", request->name);
        return NULL;
    }
    if (asked->filter.data != NULL &&
        !handler_filter(service, client, request, host, &asked->filter, "filter", filter)) {
        return NULL;
    }
    return host;
}

static void fill_rule(struct job *job, const struct msg_admin *asked)
{
    const bool is_payload = asked->payload_hash.data != NULL;
    const struct msg_bytes *value = is_payload ? &asked->payload_hash : &asked->filter;

    job->rule.kind = is_payload ? PERSIST_BAN_PAYLOAD : PERSIST_BAN_FILTER;
    job->rule.value_bytes = value->count; /* the codec has seen to its size */
    memcpy(job->value, value->data, value->count);
    job->rule.number = is_payload ? 0 : asked->max_distance_ppm;
}

void handler_ban(struct service *service, struct requester *client,
                 const struct msg_request *request)
{
    struct host *host = check_ban(service, client, request);
    struct job *job = host == NULL ? NULL : job_new(service, client, host, request->id);

    if (job == NULL) {
        return;
    }
    fill_rule(job, &request->admin);
    if (!rules_have_room(&host->rules, &job->rule)) {
        job_fail(job, MSG_QUOTA, "this host has 1000 bans, and there may be no more: unban some");
        return;
    }
    job_submit(job, PERSIST_RULE_PUT, on_banned);
}

void handler_unban(struct service *service, struct requester *client,
                   const struct msg_request *request)
{
    struct host *host = check_ban(service, client, request);
    struct job *job = host == NULL ? NULL : job_new(service, client, host, request->id);

    if (job != NULL) {
        fill_rule(job, &request->admin);
        job_submit(job, PERSIST_RULE_DROP, on_unbanned);
    }
}

/* --- Bans ------------------------------------------------------------------------------------- */

void handler_bans(struct service *service, struct requester *client,
                  const struct msg_request *request)
{
    const size_t frame_bytes = service->config.limits.frame_bytes;
    struct msg_response response = {.id = request->id, .kind = MSG_RESPONSE_BAN_LIST};
    struct msg_ban_list *list = &response.ban_list;
    size_t used = CODEC_ENVELOPE_BYTES_MAX;
    const struct host *host = NULL;

    if (!handler_is_administrator(client, request) ||
        (host = handler_host(service, client, request, &request->admin.host)) == NULL) {
        return;
    }
    struct msg_ban_entry *entries =
        arena_take_zeroed(&service->arena, host->rules.ban_count + 1, sizeof(*entries));
    if (entries == NULL) {
        requester_refuse(client, request->id, MSG_INTERNAL, NULL, "the server is out of memory");
        return;
    }
    for (uint32_t i = request->admin.number; i < host->rules.ban_count; i++) {
        const struct ban *ban = &host->rules.bans[i];
        const struct msg_bytes value = {ban->value, ban->value_bytes};
        struct msg_ban_entry *entry = &entries[list->ban_count];
        used += ban->value_bytes + 32; /* tags, lengths, two numbers */
        if (used > frame_bytes) {
            list->more = true;
            break;
        }
        *entry = (struct msg_ban_entry){.max_distance_ppm = ban->max_distance_ppm,
                                        .since_ms = ban->since_ms};
        *(ban->kind == PERSIST_BAN_PAYLOAD ? &entry->payload_hash : &entry->filter) = value;
        list->ban_count++;
    }
    list->bans = entries;
    client->events->respond(client, &response);
    arena_reset(&service->arena);
}

/* --- Accept ----------------------------------------------------------------------------------- */

static void fill_accepting(struct service *service, const struct host *host,
                           struct msg_accepting *out)
{
    const char *source = NULL;
    const enum accept mode = accept_now(host, service_now_ms(service), &source, &out->until_ms);

    out->mode = (struct msg_text){accept_name(mode), strlen(accept_name(mode))};
    out->source = (struct msg_text){source, strlen(source)};
}

static void on_accepting(struct persist_op *op)
{
    struct job *job = (struct job *)op;
    struct msg_response response = {.id = job->request_id, .kind = MSG_RESPONSE_ACCEPTING};

    if (is_done(job)) {
        fill_accepting(job->service, job->host, &response.accepting);
        log_info("host %s: deposits are %.*s (%.*s)", job->host->config.name,
                 (int)response.accepting.mode.length, response.accepting.mode.text,
                 (int)response.accepting.source.length, response.accepting.source.text);
        job_finish(job, &response);
    }
}

void handler_accept(struct service *service, struct requester *client,
                    const struct msg_request *request)
{
    const struct msg_text *word = &request->admin.word;
    enum accept mode = ACCEPT_OPEN;
    struct host *host = NULL;

    if (!handler_is_administrator(client, request) ||
        (host = handler_host(service, client, request, &request->admin.host)) == NULL) {
        return;
    }
    if (word->text == NULL) {
        struct msg_response response = {.id = request->id, .kind = MSG_RESPONSE_ACCEPTING};
        fill_accepting(service, host, &response.accepting);
        client->events->respond(client, &response);
        return;
    }
    const bool is_auto = strcmp(word->text, "auto") == 0;
    if (!is_auto && accept_parse(word->text, word->length, &mode) != 0) {
        requester_refuse(client, request->id, MSG_INVALID, "mode",
                         "there is no mode \"%s\"; it is open, review, closed, or auto",
                         word->text);
        return;
    }
    struct job *job = job_new(service, client, host, request->id);
    if (job != NULL) {
        job->rule.kind = PERSIST_ACCEPT;
        job->rule.number = mode;
        job_submit(job, is_auto ? PERSIST_RULE_DROP : PERSIST_RULE_PUT, on_accepting);
    }
}
