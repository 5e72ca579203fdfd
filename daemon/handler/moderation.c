/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Report by readers; Remove, Restore and Reported by the operator. What changes a message's state
 * becomes an operation; index and client hear of it when it is on storage.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "daemon/handler/handler.h"
#include "daemon/watch/watch.h"
#include "proto/codec/codec.h"

/* An operation under way, and what it was asked with. */
struct job {
    struct persist_op op;     /* first: `done` gets it back */
    struct persist_read read; /* restore: the message, to put it into the index again */
    struct persist_entry entry;
    struct service *service;
    struct requester *client;
    struct host *host;
    uint64_t request_id;
    uint32_t sender;          /* report: whose */
    bool is_uncounted;        /* report: it does not count for hide_after */
    struct persist_rule rule; /* remove: the ban that goes with it */
    char words[LIMIT_REASON_BYTES];
};

static struct job *job_new(struct service *service, struct requester *client, struct host *host,
                           const struct msg_request *request, const uint8_t *id)
{
    struct job *job = alloc_zeroed(service->alloc, 1, sizeof(*job));

    if (job == NULL) {
        requester_refuse(client, request->id, MSG_INTERNAL, NULL, "the server is out of memory");
        return NULL;
    }
    job->service = service;
    job->client = client;
    job->host = host;
    job->request_id = request->id;
    job->op.message.host = host->number;
    memcpy(job->op.message.id, id, MESSAGE_ID_BYTES);
    requester_work_begin(client, sizeof(*job), REQUESTER_ANSWER_BYTES);
    service->working++;
    return job;
}

static void job_submit(struct job *job, enum persist_kind kind, void (*done)(struct persist_op *op))
{
    job->op.kind = kind;
    job->op.done = done;
    job->op.now_ms = service_now_ms(job->service); /* not when it was asked: see persist_op */
    job->service->persist->interface->submit(job->service->persist, &job->op);
}

static void job_finish(struct job *job, const struct msg_response *response)
{
    struct service *service = job->service;
    struct requester *client = job->client;

    client->events->respond(client, response);
    if (job->read.done != NULL) {
        service->persist->interface->read_release(service->persist, &job->read);
    }
    service->working--;
    alloc_release(service->alloc, job, 1, sizeof(*job));
    requester_work_end(client, sizeof(struct job), REQUESTER_ANSWER_BYTES);
}

static void job_succeed(struct job *job, enum msg_response_kind kind)
{
    const struct msg_response response = {.id = job->request_id, .kind = kind};

    job_finish(job, &response);
}

static void job_fail(struct job *job, enum msg_error_code code, const char *field,
                     const char *sentence)
{
    struct msg_response response = {.id = job->request_id, .kind = MSG_RESPONSE_ERROR};

    msg_error_set(&response.error, code, field, "%s", sentence);
    job_finish(job, &response);
}

static void job_fail_not_found(struct job *job)
{
    job_fail(job, MSG_NOT_FOUND, "id", "there is no message with this id");
}

static void job_fail_storage(struct job *job, const char *reason)
{
    service_storage_failed(job->service, "storage", reason);
    job_fail(job, MSG_STORAGE, NULL,
             "the message store failed; nothing was changed, try again later");
}

/* --- Report ----------------------------------------------------------------------------------- */

/* What is known of the message that a report is about; NULL: it has gone, or has come anew. */
static struct moderated *find_reported(const struct job *job)
{
    struct moderated *known = moderation_find(&job->host->moderation, job->op.message.id);

    return known != NULL && known->deposited_ms == job->op.message.deposited_ms ? known : NULL;
}

/* It is on storage, and counts. */
static void take_report(const struct job *job, struct moderated *known)
{
    const struct persist_message *message = &job->op.message;

    if (known != NULL) {
        known->state = message->state;
        known->reports = message->reports;
    }
    if (message->state == PERSIST_HIDDEN) {
        service_hide(job->service, job->host, message->id);
    }
}

/* It is not, and the sender may report again. */
static void take_report_back(const struct job *job, struct moderated *known)
{
    reports_forget(job->service->reports, job->host->number, job->op.message.id, job->sender);
    if (known != NULL && job->is_uncounted) {
        known->uncounted--;
    }
    if (known != NULL && known->state == PERSIST_SHOWN && known->reports == 0 &&
        known->reporting == 0) {
        (void)moderation_remove(&job->host->moderation, job->op.message.id, NULL);
    }
}

static void on_reported(struct persist_op *op)
{
    struct job *job = (struct job *)op;
    struct moderated *known = find_reported(job);

    if (known != NULL) {
        known->reporting--;
        known->is_hiding = known->is_hiding && job->op.message.state != PERSIST_HIDDEN;
    }
    if (op->outcome == PERSIST_APPLIED) {
        take_report(job, known);
        job_succeed(job, MSG_RESPONSE_REPORT_TAKEN);
        return;
    }
    take_report_back(job, known);
    if (op->outcome == PERSIST_NOT_FOUND) {
        job_fail_not_found(job);
    } else {
        job_fail_storage(job, op->reason);
    }
}

/* What is known of a message, with one more report on its way. NULL: out of memory. */
static struct moderated *count_report(struct host *host, const struct index_item *item)
{
    struct moderated *known = moderation_find(&host->moderation, item->id);
    struct moderated fresh = {
        .state = PERSIST_SHOWN,
        .bytes = item->bytes,
        .sender = item->sender,
        .deposited_ms = item->deposited_ms,
        .expires_ms = item->expires_ms,
    };

    if (known == NULL) {
        memcpy(fresh.id, item->id, MESSAGE_ID_BYTES);
        if (moderation_put(&host->moderation, &fresh) != 0) {
            return NULL;
        }
        known = moderation_find(&host->moderation, item->id);
    }
    known->reporting++; /* below 2^32: each holds memory */
    return known;
}

/* Reports of this network hide no more in this hour. */
static void withhold(struct service *service, struct host *host)
{
    if (hides_withhold(&host->hides, service_monotonic_ms(service))) {
        log_warning("host %s: the reports of one network would hide more than hide_per_hour = "
                    "%" PRIu32 " messages; what it reports stays shown until an operator has "
                    "looked at it (hearsay admin reported)",
                    host->config.name, host->config.hide_per_hour);
    }
}

/*
 * Whether a report, which is counted in known->reporting, hides its message. Reports of a network
 * that has hidden as many messages as it may do not count for that.
 */
static bool decide(struct job *job, struct moderated *known)
{
    struct service *service = job->service;
    struct host *host = job->host;
    const struct requester *client = job->client;
    const bool is_wide = client->wide_tag != 0;
    const uint64_t network =
        (uint64_t)is_wide << 32 | (is_wide ? client->wide_tag : client->sender_tag);
    const int64_t now_ms = service_monotonic_ms(service);
    const bool is_exempt = client->sender_tag == 0;
    const uint32_t hide_after = host->config.hide_after;

    if (hide_after == 0 || known->state != PERSIST_SHOWN) {
        return false;
    }
    job->is_uncounted =
        !is_exempt && !hides_may(&host->hides, network, host->config.hide_per_hour, now_ms);
    known->uncounted += job->is_uncounted ? 1 : 0;
    const uint32_t counted = job->op.message.reports - known->uncounted;
    if (job->is_uncounted && counted < hide_after && counted + known->uncounted >= hide_after) {
        withhold(service, host);
    }
    if (counted < hide_after || known->is_hiding) {
        return counted >= hide_after;
    }
    if (!is_exempt && hides_note(&host->hides, service->alloc, network, now_ms) != 0) {
        return false; /* without memory for it, the operator decides */
    }
    known->is_hiding = true;
    return true;
}

/* Whether this is the sender's first report of the message; answers when not. */
static bool note_reporter(struct service *service, struct requester *client,
                          const struct msg_request *request, const struct host *host)
{
    if (service->reports == NULL) {
        service->reports = alloc_array(service->alloc, 1, sizeof(*service->reports));
        if (service->reports == NULL) {
            requester_refuse(client, request->id, MSG_INTERNAL, NULL,
                             "the server is out of memory");
            return false;
        }
        reports_init(service->reports);
    }
    if (!reports_note(service->reports, host->number, request->report.id.data,
                      client->sender_tag)) {
        const struct msg_response response = {.id = request->id, .kind = MSG_RESPONSE_REPORT_TAKEN};
        client->events->respond(client, &response);
        return false;
    }
    return true;
}

void handler_report(struct service *service, struct requester *client,
                    const struct msg_request *request)
{
    const struct msg_report *report = &request->report;
    struct host *host = handler_host(service, client, request, &report->host);
    struct moderated *known = NULL;
    struct index_item item;

    if (host == NULL) {
        return;
    }
    if (host_find(host, report->id.data, NULL, &item, NULL) != 0 ||
        item.expires_ms <= service_now_ms(service)) {
        requester_refuse(client, request->id, MSG_NOT_FOUND, "id",
                         "there is no message with this id");
        return;
    }
    if (!handler_check_work(service, client, request, host) ||
        !note_reporter(service, client, request, host)) {
        return;
    }
    struct job *job = job_new(service, client, host, request, report->id.data);
    if (job == NULL || (known = count_report(host, &item)) == NULL) {
        reports_forget(service->reports, host->number, report->id.data, client->sender_tag);
        if (job != NULL) {
            job_fail(job, MSG_INTERNAL, NULL, "the server is out of memory");
        }
        return;
    }
    job->sender = client->sender_tag;
    job->op.message.deposited_ms = item.deposited_ms;
    /* As many as there will be, when those before it are on storage. */
    job->op.message.reports = known->reports + known->reporting;
    job->op.message.state = decide(job, known) ? PERSIST_HIDDEN : PERSIST_SHOWN;
    if (report->reason.text != NULL) {
        memcpy(job->words, report->reason.text, report->reason.length);
        job->op.words = job->words;
        job->op.words_bytes = report->reason.length;
    }
    job_submit(job, PERSIST_MODERATE, on_reported);
}

/* --- Remove ----------------------------------------------------------------------------------- */

static void on_removed(struct persist_op *op)
{
    struct job *job = (struct job *)op;

    if (op->outcome == PERSIST_NOT_FOUND) {
        job_fail_not_found(job);
    } else if (op->outcome != PERSIST_APPLIED) {
        job_fail_storage(job, op->reason);
    } else {
        service_forget(job->service, job->host, op->message.id);
        if (op->rule != NULL) {
            job->rule.value = op->payload_hash;
            job->rule.value_bytes = sizeof(op->payload_hash);
            if (rules_put(&job->host->rules, &job->rule) != 0) {
                log_warning("memory is short: a ban is in force after the next start only");
            }
        }
        log_info("host %s: the operator has removed a message", job->host->config.name);
        job_succeed(job, MSG_RESPONSE_REMOVED);
    }
}

void handler_remove(struct service *service, struct requester *client,
                    const struct msg_request *request)
{
    struct host *host = NULL;

    if (!handler_is_administrator(client, request) ||
        (host = handler_host(service, client, request, &request->admin.host)) == NULL) {
        return;
    }
    if (request->admin.ban && host->rules.ban_count == RULES_BANS_MAX) {
        requester_refuse(client, request->id, MSG_QUOTA, "ban",
                         "this host has 1000 bans, and there may be no more: unban some, or remove "
                         "without");
        return;
    }
    struct job *job = job_new(service, client, host, request, request->admin.id.data);
    if (job == NULL) {
        return;
    }
    if (request->admin.ban) {
        job->rule = (struct persist_rule){
            .host = host->number,
            .kind = PERSIST_BAN_PAYLOAD,
            .created_ms = service_now_ms(service),
        };
        job->op.rule = &job->rule;
    }
    job_submit(job, PERSIST_REMOVE, on_removed);
}

/* --- Restore ---------------------------------------------------------------------------------- */

static const char restored_text[] =
    "the message with this id is shown already, and reports do not hide it";

static void job_fail_restored(struct job *job)
{
    job_fail(job, MSG_INVALID, "id", restored_text);
}

static void on_restored(struct persist_op *op)
{
    struct job *job = (struct job *)op;
    struct moderated *known = moderation_find(&job->host->moderation, op->message.id);

    if (op->outcome == PERSIST_NOT_FOUND) {
        job_fail_not_found(job);
        return;
    }
    if (op->outcome != PERSIST_APPLIED) {
        job_fail_storage(job, op->reason);
        return;
    }
    if (known != NULL && known->state == PERSIST_APPROVED && op->shown_seq == 0) {
        job_fail_restored(job); /* by another request, meanwhile */
        return;
    }
    if (known != NULL) {
        known->state = PERSIST_APPROVED; /* reports do not hide it any more */
        known->reports = op->message.reports;
    }
    const int rc = service_show(job->service, job->host, &job->entry.message);
    if (op->shown_seq != 0) {
        watch_numbered(job->service, job->host, rc == 0 ? &job->entry.message : NULL,
                       op->shown_seq);
    }
    if (rc == HOST_NO_EPOCH) {
        job_fail(job, MSG_UNKNOWN_EPOCH, "id", "the message's epoch has ended");
    } else if (rc != 0) {
        watch_missed(job->service, job->host);
        job_fail(job, MSG_INTERNAL, NULL,
                 "the server is out of memory; the message is shown after its next start");
    } else {
        log_info("host %s: the operator shows a message", job->host->config.name);
        job_succeed(job, MSG_RESPONSE_RESTORED);
    }
}

static void on_read_for_restore(struct persist_read *read)
{
    struct job *job = (struct job *)(void *)((char *)read - offsetof(struct job, read));

    if (read->failed) {
        job_fail_storage(job, read->reason);
    } else if (!job->entry.found ||
               moderation_find(&job->host->moderation, job->op.message.id) == NULL) {
        job_fail_not_found(job);
    } else {
        job->op.message.deposited_ms = job->entry.message.deposited_ms;
        job->op.message.state = PERSIST_APPROVED;
        job_submit(job, PERSIST_MODERATE, on_restored);
    }
}

void handler_restore(struct service *service, struct requester *client,
                     const struct msg_request *request)
{
    const uint8_t *id = request->admin.id.data;
    struct host *host = NULL;

    if (!handler_is_administrator(client, request) ||
        (host = handler_host(service, client, request, &request->admin.host)) == NULL) {
        return;
    }
    const struct moderated *known = moderation_find(&host->moderation, id);
    if (known != NULL && known->state == PERSIST_APPROVED) {
        requester_refuse(client, request->id, MSG_INVALID, "id", "%s", restored_text);
        return;
    }
    if (known == NULL) {
        const bool is_shown = host_find(host, id, NULL, NULL, NULL) == 0;
        requester_refuse(client, request->id, is_shown ? MSG_INVALID : MSG_NOT_FOUND, "id",
                         is_shown ? "the message with this id is neither hidden nor reported"
                                  : "there is no message with this id");
        return;
    }
    struct job *job = job_new(service, client, host, request, id);
    if (job == NULL) {
        return;
    }
    job->read.kind = PERSIST_READ_PAYLOADS;
    job->read.entries = &job->entry;
    job->read.entry_count = 1;
    job->read.done = on_read_for_restore;
    job->entry.message.host = host->number;
    memcpy(job->entry.message.id, id, MESSAGE_ID_BYTES);
    service->persist->interface->read(service->persist, &job->read);
}

/* --- Reported --------------------------------------------------------------------------------- */

enum { LIST_MAX = 128 };

struct list_job {
    struct persist_read read; /* first: `done` gets it back */
    struct service *service;
    struct requester *client;
    struct host *host;
    uint64_t request_id;
    size_t answer_bytes;
    uint64_t total;
    struct moderated moderated[LIST_MAX]; /* as they were when it was asked */
    struct persist_entry entries[LIST_MAX];
};

/* Most reported first, then oldest first; of those pending nobody has reported any. */
static int compare_moderated(const void *left, const void *right)
{
    const struct moderated *a = left;
    const struct moderated *b = right;

    if (a->reports != b->reports) {
        return a->reports > b->reports ? -1 : 1;
    }
    if (a->deposited_ms != b->deposited_ms) {
        return a->deposited_ms < b->deposited_ms ? -1 : 1;
    }
    return memcmp(a->id, b->id, MESSAGE_ID_BYTES);
}

static bool is_wanted(const struct moderated *moderated, bool pending, int64_t now_ms)
{
    const bool is_pending = moderated->state == PERSIST_PENDING;

    return moderated->expires_ms > now_ms && is_pending == pending &&
           (pending || moderated->state == PERSIST_HIDDEN ||
            (moderated->state == PERSIST_SHOWN && moderated->reports > 0));
}

/* Keeps the first of them in order: a heap would be quicker, and is not needed here. */
static void choose(struct list_job *job, const struct moderation *moderation, size_t most,
                   bool pending)
{
    const int64_t now_ms = service_now_ms(job->service);
    size_t count = 0;

    for (uint32_t i = 0; i < moderation->count; i++) {
        const struct moderated *one = &moderation->entries[i];
        if (!is_wanted(one, pending, now_ms)) {
            continue;
        }
        job->total++;
        if (count == most && compare_moderated(one, &job->moderated[count - 1]) >= 0) {
            continue;
        }
        size_t at = count < most ? count++ : count - 1;
        for (; at > 0 && compare_moderated(one, &job->moderated[at - 1]) < 0; at--) {
            job->moderated[at] = job->moderated[at - 1];
        }
        job->moderated[at] = *one;
    }
    for (size_t i = 0; i < count; i++) {
        job->entries[i].message.host = job->host->number;
        memcpy(job->entries[i].message.id, job->moderated[i].id, MESSAGE_ID_BYTES);
    }
    job->read.entry_count = count;
}

/* Lines as texts, in the arena. Returns how many; fewer when memory is short. */
static size_t split_reasons(struct service *service, const struct persist_entry *entry,
                            const struct msg_text **out_texts)
{
    const char *at = entry->reasons;
    const char *end = at == NULL ? NULL : at + entry->reasons_bytes;
    size_t count = 0;
    struct msg_text *texts =
        at == NULL ? NULL
                   : arena_take_zeroed(&service->arena, PERSIST_REASONS_KEPT, sizeof(*texts));

    while (texts != NULL && at < end && count < PERSIST_REASONS_KEPT) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop == NULL ? end : stop;
        texts[count++] = (struct msg_text){at, (size_t)(stop - at)};
        at = stop + 1;
    }
    *out_texts = texts;
    return count;
}

/* Bytes of a message in the answer at most, without its payload. */
static size_t entry_bytes(const struct msg_reported_message *message)
{
    size_t bytes = codec_result_bytes_max(0, message->media_type.length);

    for (size_t i = 0; i < message->reason_count; i++) {
        bytes += message->reasons[i].length + 4;
    }
    return bytes;
}

/* As many as fit the frame, each with its payload if that fits, too. */
static size_t fill_list(struct list_job *job, struct msg_reported_message *messages)
{
    const size_t frame_bytes = job->service->config.limits.frame_bytes;
    size_t used = CODEC_ENVELOPE_BYTES_MAX;
    size_t count = 0;

    for (size_t i = 0; i < job->read.entry_count; i++) {
        const struct persist_entry *entry = &job->entries[i];
        const struct moderated *moderated = &job->moderated[i];
        if (!entry->found) {
            continue;
        }
        struct msg_reported_message *out = &messages[count];
        *out = (struct msg_reported_message){
            .id = {moderated->id, MESSAGE_ID_BYTES},
            .reports = moderated->reports,
            .hidden = moderated->state >= PERSIST_HIDDEN,
            .pending = moderated->state == PERSIST_PENDING,
            .deposited_ms = moderated->deposited_ms,
            .expires_ms = moderated->expires_ms,
            .payload_omitted = entry->omitted,
        };
        if (!entry->omitted) {
            out->media_type =
                (struct msg_text){entry->message.media_type, entry->message.media_type_bytes};
        }
        out->reason_count = split_reasons(job->service, entry, &out->reasons);
        used += entry_bytes(out);
        if (used > frame_bytes) {
            break;
        }
        if (!entry->omitted && entry->message.payload_bytes <= frame_bytes - used) {
            used += entry->message.payload_bytes;
            out->payload = (struct msg_bytes){entry->message.payload, entry->message.payload_bytes};
        } else {
            out->payload_omitted = true;
        }
        count++;
    }
    return count;
}

static void on_list_read(struct persist_read *read)
{
    struct list_job *job = (struct list_job *)read;
    struct service *service = job->service;
    struct requester *client = job->client;
    struct msg_response response = {.id = job->request_id, .kind = MSG_RESPONSE_REPORTED_LIST};
    const size_t answer_bytes = job->answer_bytes;
    struct msg_reported_message *messages =
        arena_take_zeroed(&service->arena, read->entry_count + 1, sizeof(*messages));

    if (read->failed) {
        service_storage_failed(service, "reading", read->reason);
        requester_refuse(client, job->request_id, MSG_STORAGE, NULL,
                         "the message store could not read its storage; try again later");
    } else if (messages == NULL) {
        requester_refuse(client, job->request_id, MSG_INTERNAL, NULL,
                         "the server is out of memory");
    } else {
        response.reported_list.message_count = fill_list(job, messages);
        response.reported_list.messages = messages;
        response.reported_list.total = job->total;
        client->events->respond(client, &response);
    }
    arena_reset(&service->arena);
    service->persist->interface->read_release(service->persist, read);
    service->working--;
    alloc_release(service->alloc, job, 1, sizeof(*job));
    requester_work_end(client, sizeof(struct list_job) + answer_bytes, answer_bytes);
}

void handler_reported(struct service *service, struct requester *client,
                      const struct msg_request *request)
{
    const struct msg_admin *asked = &request->admin;
    const size_t most = asked->number == 0 || asked->number > LIST_MAX ? LIST_MAX : asked->number;
    struct host *host = NULL;

    if (!handler_is_administrator(client, request) ||
        (host = handler_host(service, client, request, &asked->host)) == NULL) {
        return;
    }
    struct list_job *job = alloc_zeroed(service->alloc, 1, sizeof(*job));
    if (job == NULL) {
        requester_refuse(client, request->id, MSG_INTERNAL, NULL, "the server is out of memory");
        return;
    }
    job->service = service;
    job->client = client;
    job->host = host;
    job->request_id = request->id;
    job->answer_bytes = service->config.limits.frame_bytes;
    job->read.kind = PERSIST_READ_REPORTED;
    job->read.entries = job->entries;
    job->read.content_limit = service->config.limits.frame_bytes;
    job->read.done = on_list_read;
    choose(job, &host->moderation, most, asked->pending);
    requester_work_begin(client, sizeof(*job) + job->answer_bytes, job->answer_bytes);
    service->working++;
    service->persist->interface->read(service->persist, &job->read);
}
