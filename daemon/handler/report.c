/* SPDX-License-Identifier: Apache-2.0 */
/* Report: a reader reports a message. Reports of enough senders can hide the message. */
#include <inttypes.h>
#include <string.h>

#include "core/base/expiry.h"
#include "daemon/handler/inner.h"
#include "daemon/handler/job.h"
#include "daemon/system/container.h"
#include "daemon/watch/watch.h"

struct report_job {
    struct job base; /* first */
    struct persist_op op;
    uint32_t sender;     /* tag of the address that reports */
    bool is_uncounted;   /* the report does not count towards hide_after */
    bool is_own;         /* the sender has left the message itself */
    bool is_grave;       /* of the kind ILLEGAL or ABOUT_ME, and not is_own */
    bool is_first_grave; /* of its message */
    bool is_beyond;      /* the report would hide the message if no bound kept it shown */
    uint32_t text_bytes; /* of its reason, which count in host->moderation until it is stored */
    char words[PERSIST_WORDS_BYTES_MAX];
};

enum {
    HIDDEN_SHARE = 5, /* one of so many messages that are shown may be hidden by reports an hour */
    HIDDEN_LEAST = 3  /* or so many, if these are more */
};

/*
 * The texts of the reasons that a host keeps may have one byte for so many of the host's `bytes`.
 * They count neither for `bytes` nor for a sender's share, and each report may bring a thousand
 * bytes: without a bound of their own they could fill the storage. Reports that do not count, as
 * those beyond hide_per_hour, take half of it, so that one device leaves room for others' texts.
 */
enum { TEXTS_SHARE = 16 };

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

    if (known != NULL &&
        (known->reports == 0 || job->is_first_grave || (job->is_beyond && !known->is_beyond))) {
        known->is_new = true;
        known->new_kind = job->op.words_bytes > 0 ? (uint8_t)(job->words[0] - '0')
                                                  : (uint8_t)HEARSAY_REPORT_OTHER_KIND;
        job->base.host->has_news = true;
    }
    if (known != NULL) {
        known->is_beyond = message->state != PERSIST_HIDDEN && (known->is_beyond || job->is_beyond);
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
    if (known != NULL) {
        known->uncounted -= job->is_uncounted;
        known->own -= job->is_own;
        known->grave -= job->is_grave;
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

    job->base.host->moderation.texts_bytes -= job->text_bytes;
    if (known != NULL) {
        if (op->outcome == PERSIST_APPLIED) {
            moderation_set_texts(&job->base.host->moderation, known, op->message.texts_bytes);
        }
        known->reporting--;
        known->is_hiding = known->is_hiding && job->op.message.state != PERSIST_HIDDEN;
    }
    if (op->outcome == PERSIST_APPLIED) {
        take_report(job, known);
        job->base.service->metrics.reports++;
        wait_tell(job->base.service, job->base.host);
        job_succeed(&job->base, HEARSAY_RESPONSE_REPORT_TAKEN);
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

/* Messages of the host that guests can see, with expired ones that are not deleted yet. */
static size_t count_shown(const struct host *host)
{
    size_t count = 0;

    for (size_t i = 0; i < host->epoch_count; i++) {
        count += index_count(host->epochs[i]->index);
    }
    return count;
}

/* How many messages of the host reports may hide in an hour, those of grave kinds left out. */
static uint32_t hidden_most(const struct host *host)
{
    size_t most = count_shown(host) / HIDDEN_SHARE;

    most = most < HIDDEN_LEAST ? HIDDEN_LEAST : most;
    return most < HIDE_RATE_KEPT ? (uint32_t)most : HIDE_RATE_KEPT;
}

/*
 * Called when a bound has kept a report from hiding its message. Counts the report as withheld, and
 * logs a warning at most once an hour. is_of_host: the bound is that of the host.
 */
static void report_withhold(struct service *service, struct host *host, bool is_of_host)
{
    if (!hide_rate_withhold(&host->hide_rate, service_monotonic_ms(service))) {
        return;
    }
    if (is_of_host) {
        log_warning("host %s: reports would hide more than %" PRIu32
                    " messages in an hour, a fifth of what is shown; to hide a further one takes "
                    "twice as many senders, or an operator (hearsay admin list)",
                    host->config.name, hidden_most(host));
    } else {
        log_warning("host %s: a message stays shown although enough senders have reported it, "
                    "because some of them have reported more than hide_per_hour = %" PRIu32
                    " messages; an operator has to look at it (hearsay admin list)",
                    host->config.name, host->config.hide_per_hour);
    }
}

/*
 * Called when grave reports have hidden a message, which no bound keeps them from. Logs a warning
 * if they have hidden more within an hour than the other kinds may, at most once an hour.
 */
static void report_note_grave(struct service *service, struct host *host)
{
    struct hide_rate *rate = &host->grave_rate;
    uint32_t most = hidden_most(host);
    int64_t now_ms = service_monotonic_ms(service);

    if (hide_rate_allows(rate, 0, most, now_ms)) {
        (void)hide_rate_note(rate, service->alloc, 0, now_ms); /* without memory nothing is told */
    } else if (hide_rate_withhold(rate, now_ms)) {
        log_warning("host %s: reports of the kinds illegal and about-me have hidden more than "
                    "%" PRIu32 " messages within an hour, and no bound keeps them from hiding all; "
                    "look at these messages (hearsay admin list) and show again what is fine "
                    "(hearsay admin restore ID)",
                    host->config.name, most);
    }
}

/*
 * Whether a report of the client counts towards hide_after. If it does, the report is one of the
 * hide_per_hour reports of its sender that count in an hour; otherwise a few devices could hide all
 * messages of a host. All addresses of an IPv6 /64 on link together have as many reports as are
 * needed to hide hide_per_hour messages. Reports of clients without limits always count.
 */
static bool report_pays(struct service *service, struct host *host, const struct requester *client)
{
    struct hide_rate *rate = &host->hide_rate;
    uint32_t per_hour = host->config.hide_per_hour;
    uint32_t after = host->config.hide_after > 0 ? host->config.hide_after : 1;
    uint64_t wide = (uint64_t)1 << 32 | client->wide_tag;
    int64_t now_ms = service_monotonic_ms(service);

    if (client->sender_tag == 0) {
        return true;
    }
    if (!hide_rate_allows(rate, client->sender_tag, per_hour, now_ms) ||
        (client->wide_tag != 0 && !hide_rate_allows(rate, wide, per_hour * after, now_ms))) {
        return false;
    }
    return hide_rate_note(rate, service->alloc, client->sender_tag, now_ms) == 0 &&
           (client->wide_tag == 0 || hide_rate_note(rate, service->alloc, wide, now_ms) == 0);
}

/* Counts the report in the entry of its message, which is not stored yet. */
static void report_count(struct report_job *job, struct moderated *known,
                         enum hearsay_report_kind kind)
{
    const struct requester *client = job->base.client;

    job->is_own = client->sender_tag != 0 && client->sender_tag == known->sender;
    job->is_grave =
        !job->is_own && (kind == HEARSAY_REPORT_ILLEGAL || kind == HEARSAY_REPORT_ABOUT_ME);
    job->is_uncounted = job->is_own || !report_pays(job->base.service, job->base.host, client);
    known->uncounted += job->is_uncounted;
    known->own += job->is_own;
    known->grave += job->is_grave;
    job->is_first_grave = job->is_grave && known->grave == 1;
}

/*
 * How many senders it takes to hide a message now: hide_after, and twice as many each time that
 * reports have hidden as many messages as hidden_most within an hour. So whoever has many devices
 * cannot empty a board; and whoever has some messages of their own hidden gains little for the
 * others.
 */
static uint64_t senders_needed(const struct host *host, int64_t now_ms)
{
    uint64_t needed = host->config.hide_after;
    uint32_t most = hidden_most(host);

    for (uint32_t allowed = most; needed <= UINT32_MAX; allowed += most) {
        if (hide_rate_allows(&host->hidden_rate, 0, allowed, now_ms)) {
            break;
        }
        needed *= 2;
    }
    return needed;
}

/*
 * Whether the store hides the message with this report. known->reporting includes this report.
 * Enough reports of the grave kinds always hide a message, because the law gives no time for them.
 * For all other kinds it takes more senders, the more messages reports have hidden in the last
 * hour.
 */
static bool report_decide(struct report_job *job, struct moderated *known)
{
    struct service *service = job->base.service;
    struct host *host = job->base.host;
    uint32_t hide_after = host->config.hide_after;
    uint32_t counted = job->op.message.reports - known->uncounted;
    int64_t now_ms = service_monotonic_ms(service);

    if (hide_after == 0 || known->state != PERSIST_SHOWN || known->is_hiding) {
        return known->is_hiding;
    }
    if (known->grave < hide_after && job->base.client->sender_tag != 0) {
        bool is_enough = counted >= hide_after;

        if (job->op.message.reports - known->own < hide_after) {
            return false;
        }
        if (counted < senders_needed(host, now_ms)) {
            job->is_beyond = true;
            report_withhold(service, host, is_enough);
            return false;
        }
        if (hide_rate_note(&host->hidden_rate, service->alloc, 0, now_ms) != 0) {
            return false; /* out of memory: the operator decides */
        }
    } else if (known->grave < hide_after && counted < hide_after) {
        return false;
    } else if (known->grave >= hide_after) {
        report_note_grave(service, host);
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
    const struct hearsay_request *request = ask->request;

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
        struct hearsay_response response = {.id = request->id,
                                            .kind = HEARSAY_RESPONSE_REPORT_TAKEN};
        ask_respond(ask, &response);
        return false;
    }
    return true;
}

/* The kind of the report goes to the store in any case, the text of its reason while there is room
 * for it. */
static void copy_reason(struct report_job *job, const struct hearsay_report *report)
{
    struct moderation *moderation = &job->base.host->moderation;
    uint64_t room_bytes = job->base.host->config.bytes_max / TEXTS_SHARE;
    size_t length = report->reason.length;

    if (length == 0 && report->kind == HEARSAY_REPORT_OTHER_KIND) {
        return;
    }
    if (moderation->texts_bytes + length > room_bytes / (job->is_uncounted ? 2 : 1)) {
        length = 0;
    }
    job->words[0] = (char)('0' + report->kind);
    if (length > 0) {
        memcpy(job->words + 1, report->reason.text, length);
    }
    job->op.words = job->words;
    job->op.words_bytes = 1 + length;
    job->text_bytes = (uint32_t)length;
    moderation->texts_bytes += length;
}

static void submit_report(struct report_job *job, const struct hearsay_report *report)
{
    copy_reason(job, report);
    job->op.kind = PERSIST_MODERATE;
    job->op.done = on_reported;
    job->op.now_ms = service_now_ms(job->base.service);
    job_write(&job->base, &job->op);
}

void handler_report(struct ask *ask)
{
    struct service *service = ask->service;
    const struct hearsay_report *report = &ask->request->report;
    struct moderated *known = NULL;
    struct index_item item;

    if (!ask_host(ask, &report->host) || !ask_owns(ask)) {
        return;
    }
    if (host_find(ask->host, report->id.data, NULL, &item, NULL) != 0 ||
        message_expired(item.expires_ms, service_now_ms(service))) {
        ask_refuse(ask, HEARSAY_CODE_NOT_FOUND, "id", "there is no message with this id");
        return;
    }
    if (!note_reporter(ask)) {
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
    report_count(job, known, report->kind);
    job->op.message.state = report_decide(job, known) ? PERSIST_HIDDEN : PERSIST_SHOWN;
    submit_report(job, report);
}
