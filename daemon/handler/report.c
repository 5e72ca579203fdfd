/* SPDX-License-Identifier: Apache-2.0 */
/* Report: a reader reports a message. Reports of enough senders can hide the message. */
#include <inttypes.h>
#include <string.h>

#include "core/base/expiry.h"
#include "daemon/handler/inner.h"
#include "daemon/handler/job.h"
#include "daemon/system/container.h"
#include "daemon/watch/wait.h"

struct report_job {
    struct job base; /* first */
    struct persist_op op;
    uint32_t sender;   /* tag of the address that reports */
    bool is_uncounted; /* the report does not count towards hide_after */
    char words[PERSIST_WORDS_BYTES_MAX];
};

/*
 * The moderation entry of the reported message. NULL: the message was removed, or another message
 * has its id now.
 */
static struct moderated *find_reported(const struct report_job *job)
{
    struct moderated *known = moderation_find(&job->base.host->moderation, job->op.message.id);

    return known != NULL && known->deposited_ms == job->op.message.deposited_ms ? known : NULL;
}

/* The store has stored the report: updates memory. */
static void take_report(const struct report_job *job, struct moderated *known)
{
    const struct persist_message *message = &job->op.message;

    if (known != NULL && known->reports == 0) {
        known->is_new = true;
        known->new_kind =
            job->op.words_bytes > 0 ? (uint8_t)(job->words[0] - '0') : (uint8_t)MSG_REPORT_OTHER;
        job->base.host->has_news = true;
    }
    if (known != NULL) {
        known->state = message->state;
        known->reports = message->reports;
    }
    if (message->state == PERSIST_HIDDEN) {
        service_hide(job->base.service, job->base.host, message->id);
    }
}

/* The report was not stored: the sender may report the message again. */
static void take_report_back(const struct report_job *job, struct moderated *known)
{
    reports_forget(job->base.service->reports, job->base.host->number, job->op.message.id,
                   job->sender);
    if (known != NULL && job->is_uncounted) {
        known->uncounted--;
    }
    if (known != NULL && known->state == PERSIST_SHOWN && known->reports == 0 &&
        known->reporting == 0) {
        (void)moderation_remove(&job->base.host->moderation, job->op.message.id, NULL);
    }
}

static void on_reported(struct persist_op *op)
{
    struct report_job *job = CONTAINER_OF(op, struct report_job, op);
    struct moderated *known = find_reported(job);

    if (known != NULL) {
        known->reporting--;
        known->is_hiding = known->is_hiding && job->op.message.state != PERSIST_HIDDEN;
    }
    if (op->outcome == PERSIST_APPLIED) {
        take_report(job, known);
        job->base.service->metrics.reports++;
        wait_tell(job->base.service, job->base.host);
        job_succeed(&job->base, MSG_RESPONSE_REPORT_TAKEN);
        return;
    }
    take_report_back(job, known);
    if (op->outcome == PERSIST_NOT_FOUND) {
        job_fail_not_found(&job->base);
    } else {
        job_fail_write(&job->base, op->reason);
    }
}

/*
 * Counts a report that waits for the store. Makes a moderation entry if the message has none.
 * Returns the entry, or NULL if memory is short.
 */
static struct moderated *count_report(struct host *host, const struct index_item *item)
{
    struct moderated *known = moderation_take(&host->moderation, item);

    if (known != NULL) {
        known->reporting++; /* cannot overflow: each report holds memory */
    }
    return known;
}

/*
 * Called when hide_rate_allows has kept a report from hiding its message. Counts the report as
 * withheld, and logs a warning at most once an hour.
 */
static void report_withhold(struct service *service, struct host *host)
{
    if (hide_rate_withhold(&host->hide_rate, service_monotonic_ms(service))) {
        log_warning("host %s: the reports of one network would hide more than hide_per_hour = "
                    "%" PRIu32 " messages; what it reports stays shown until an operator has "
                    "looked at it (hearsay admin list)",
                    host->config.name, host->config.hide_per_hour);
    }
}

/*
 * Whether the store hides the message with this report. known->reporting includes this report. A
 * report does not count if hide_rate_allows does not let its network hide one more message.
 */
static bool report_decide(struct report_job *job, struct moderated *known)
{
    struct service *service = job->base.service;
    struct host *host = job->base.host;
    const struct requester *client = job->base.client;
    bool is_wide = client->wide_tag != 0;
    uint64_t network = (uint64_t)is_wide << 32 | (is_wide ? client->wide_tag : client->sender_tag);
    int64_t now_ms = service_monotonic_ms(service);
    bool is_exempt = client->sender_tag == 0;
    uint32_t hide_after = host->config.hide_after;

    if (hide_after == 0 || known->state != PERSIST_SHOWN) {
        return false;
    }
    job->is_uncounted = !is_exempt && !hide_rate_allows(&host->hide_rate, network,
                                                        host->config.hide_per_hour, now_ms);
    known->uncounted += job->is_uncounted ? 1 : 0;
    uint32_t counted = job->op.message.reports - known->uncounted;
    if (job->is_uncounted && counted < hide_after && counted + known->uncounted >= hide_after) {
        report_withhold(service, host);
    }
    if (counted < hide_after || known->is_hiding) {
        return counted >= hide_after;
    }
    if (!is_exempt && hide_rate_note(&host->hide_rate, service->alloc, network, now_ms) != 0) {
        return false; /* out of memory: the operator decides */
    }
    known->is_hiding = true;
    return true;
}

/*
 * Records that the sender reports the message. If this report is recorded already, sends the same
 * answer as to the first report and returns false. Also returns false after an error was sent.
 */
static bool note_reporter(const struct ask *ask)
{
    struct service *service = ask->service;
    const struct msg_request *request = ask->request;

    if (service->reports == NULL) {
        service->reports = alloc_array(service->alloc, 1, sizeof(*service->reports));
        if (service->reports == NULL) {
            ask_refuse_memory(ask);
            return false;
        }
        reports_init(service->reports);
    }
    if (!reports_note(service->reports, ask->host->number, request->report.id.data,
                      ask->client->sender_tag)) {
        struct msg_response response = {.id = request->id, .kind = MSG_RESPONSE_REPORT_TAKEN};
        ask_respond(ask, &response);
        return false;
    }
    return true;
}

static void submit_report(struct report_job *job, const struct msg_report *report)
{
    if (report->reason.length > 0 || report->kind != MSG_REPORT_OTHER) {
        job->words[0] = (char)('0' + report->kind);
        if (report->reason.length > 0) {
            memcpy(job->words + 1, report->reason.text, report->reason.length);
        }
        job->op.words = job->words;
        job->op.words_bytes = 1 + report->reason.length;
    }
    job->op.kind = PERSIST_MODERATE;
    job->op.done = on_reported;
    job->op.now_ms = service_now_ms(job->base.service);
    job_submit(&job->base, &job->op);
}

void handler_report(struct ask *ask)
{
    struct service *service = ask->service;
    const struct msg_report *report = &ask->request->report;
    struct moderated *known = NULL;
    struct index_item item;

    if (!ask_host(ask, &report->host) || !ask_owns(ask)) {
        return;
    }
    if (host_find(ask->host, report->id.data, NULL, &item, NULL) != 0 ||
        message_expired(item.expires_ms, service_now_ms(service))) {
        ask_refuse(ask, MSG_NOT_FOUND, "id", "there is no message with this id");
        return;
    }
    if (!ask_work(ask) || !note_reporter(ask)) {
        return;
    }
    struct report_job *job = job_new(ask, sizeof(*job), 0);
    if (job == NULL || (known = count_report(ask->host, &item)) == NULL) {
        reports_forget(service->reports, ask->host->number, report->id.data,
                       ask->client->sender_tag);
        if (job != NULL) {
            job_fail_memory(&job->base);
        }
        return;
    }
    job->sender = ask->client->sender_tag;
    job->op.message.host = ask->host->number;
    memcpy(job->op.message.id, report->id.data, MESSAGE_ID_BYTES);
    job->op.message.deposited_ms = item.deposited_ms;
    /*
     * The number of stored reports of this message, plus the reports that wait for the store. This
     * report is one of the latter.
     */
    job->op.message.reports = known->reports + known->reporting;
    job->op.message.state = report_decide(job, known) ? PERSIST_HIDDEN : PERSIST_SHOWN;
    submit_report(job, report);
}
