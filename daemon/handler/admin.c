/* SPDX-License-Identifier: Apache-2.0 */
/* Stats, Decisions, Reload and LogLevel, which only an administrator may send. */
#include <inttypes.h>
#include <string.h>

#include "daemon/handler/handler.h"
#include "daemon/handler/inner.h"
#include "daemon/handler/job.h"
#include "daemon/limits/figures.h"
#include "daemon/system/container.h"
#include "daemon/watch/watch.h"
#include "proto/codec/codec.h"

/* --- Stats ------------------------------------------------------------------------------------ */

/* The number of set bits of all filters of an epoch together. O(bits) */
static uint64_t set_bits(const struct epoch *epoch, uint32_t bits)
{
    uint64_t sum = 0;

    for (uint32_t set = 1; set <= bits; set++) {
        sum += (uint64_t)epoch->summary.histogram[set] * set;
    }
    return sum;
}

/*
 * The figures reported and hides_withheld_total are left out while they are 0: the figures of 64
 * hosts must fit one frame.
 */
static void add_moderation(const struct host *host, struct figures *figures)
{
    const char *name = host->config.name;
    struct moderation_counts counts;

    moderation_count(&host->moderation, &counts);
    figures_add(figures, counts.hidden, "host/%s/hidden", name);
    figures_add(figures, counts.pending, "host/%s/pending", name);
    if (counts.reported > 0) {
        figures_add(figures, counts.reported, "host/%s/reported", name);
    }
    if (host->hide_rate.withheld > 0) {
        figures_add(figures, host->hide_rate.withheld, "host/%s/hides_withheld_total", name);
    }
}

static void add_host(const struct host *host, struct figures *figures)
{
    const char *name = host->config.name;
    uint32_t bits = host->config.profile.bits;
    uint64_t count = 0;
    uint64_t set = 0;
    uint64_t bytes = 0;
    uint64_t unarranged = 0;
    uint32_t height = 0;

    for (size_t i = 0; i < host->epoch_count; i++) {
        const struct epoch *epoch = host->epochs[i];
        uint32_t this_height = index_height(epoch->index);
        struct index_wear wear;
        index_wear(epoch->index, &wear);
        unarranged += wear.unarranged;
        count += index_count(epoch->index);
        bytes += index_bytes(epoch->index);
        set += set_bits(epoch, bits);
        height = this_height > height ? this_height : height;
    }
    figures_add(figures, host->usage.messages, "host/%s/messages", name);
    figures_add(figures, host->config.messages_max, "host/%s/messages_max", name);
    figures_add(figures, host->usage.bytes, "host/%s/bytes", name);
    figures_add(figures, host->config.bytes_max, "host/%s/bytes_max", name);
    figures_add(figures, host->fullness.is_full, "host/%s/full", name);
    figures_add(figures, count, "host/%s/shown", name);
    add_moderation(host, figures);
    figures_add(figures, host->epoch_count, "host/%s/epochs", name);
    /*
     * The average share of set bits of the filters of shown messages, in millionths. There are at
     * most 16,000,000 messages and 4096 bits, so the products do not overflow.
     */
    figures_add(figures, count == 0 ? 0 : set * 1000000 / (count * bits), "host/%s/fill_ppm", name);
    figures_add(figures, height, "host/%s/tree_height", name);
    figures_add(figures, bytes, "host/%s/index_bytes", name);
    figures_add(figures, unarranged, "host/%s/unarranged", name);
}

static void add_metrics(struct service *service, struct figures *figures)
{
    int64_t now_ms = (int64_t)(service_monotonic_ns(service) / 1000000);
    struct metrics *metrics = &service->metrics;
    struct metric_report report;

    figures_add(figures, (uint64_t)(now_ms - metrics->since_ms) / 1000, "uptime_s");
    for (int m = 0; m < METRICS; m++) {
        const char *name = metrics_name((enum metric)m);
        metrics_report(metrics, (enum metric)m, now_ms, &report);
        figures_add(figures, report.total, "%s_total", name);
        figures_add(figures, report.per_minute, "%s_per_minute", name);
        figures_add(figures, report.p50_us, "%s_p50_us", name);
        figures_add(figures, report.p90_us, "%s_p90_us", name);
        figures_add(figures, report.p99_us, "%s_p99_us", name);
        figures_add(figures, report.max_us, "%s_max_us", name);
        figures_add(figures, metrics->sums_us[m], "%s_us_total", name);
    }
    for (size_t i = 0; i < METRICS_BOUNDS; i++) {
        figures_add(figures, metrics->within[i], "deposit_le_%" PRIu64, metrics_bound_us(i));
    }
    figures_add(figures, metrics->comparisons, "comparisons_total");
    figures_add(figures,
                metrics->totals[METRIC_QUERY] == 0
                    ? 0
                    : metrics->comparisons / metrics->totals[METRIC_QUERY],
                "comparisons_per_query");
}

static void add_departures(struct service *service, struct figures *figures)
{
    for (int i = 0; i < DEPARTURES; i++) {
        figures_add(figures, service->metrics.left[i], "left/%s/messages_total",
                    metrics_departure((enum departure)i));
    }
    figures_add(figures, service->metrics.reports, "report_total");
    figures_add(figures, service->metrics.without_here, "deposit_without_here_total");
    figures_add(figures, service_clock_trusted(service), "clock_trusted");
}

static void add_queues(const struct service *service, struct figures *figures)
{
    figures_add(figures, service->working, "working");
    figures_add(figures, service->writing_bytes, "writing_bytes");
    figures_add(figures, handler_searches_under_way(service), "searches");
    figures_add(figures, handler_searches_waiting(service), "searches_waiting");
    figures_add(figures, cache_bytes(service->cache), "cache_bytes");
}

static void add_arranging(const struct service *service, struct figures *figures)
{
    const struct arrange_figures *arranged = &service->arrange.figures;

    figures_add(figures, arranged->done, "arranged_total");
    figures_add(figures, arranged->failed, "arrange_failures");
    figures_add(figures, (uint64_t)arranged->last_ms, "arranged_last_ms");
}

static void add_store(struct service *service, struct figures *figures)
{
    struct persist_counters counters = {0};

    service->persist->interface->count(service->persist, &counters);
    figures_add(figures, counters.transactions, "store_transactions_total");
    figures_add(figures, counters.operations, "store_operations");
    figures_add(figures, counters.failures, "store_failures_total");
    figures_add(figures, counters.scrubs, "store_scrubs");
    figures_add(figures, counters.file_bytes, "store_file_bytes");
    figures_add(figures, counters.log_bytes, "store_log_bytes");
    figures_add(figures, counters.memory_bytes, "store_memory_bytes");
}

/* Adds the figures of hearsayd, and the figures of `host`. NULL: the figures of all hosts. */
static void add_all(struct service *service, const struct host *host, struct figures *figures)
{
    add_metrics(service, figures);
    figures_add(figures, service->usage.messages, "messages");
    figures_add(figures, service->config.limits.messages, "messages_max");
    figures_add(figures, service->usage.bytes, "bytes");
    figures_add(figures, service->config.limits.bytes, "bytes_max");
    add_departures(service, figures);
    add_queues(service, figures);
    watch_add_figures(service, figures);
    add_arranging(service, figures);
    add_store(service, figures);
    if (service->control != NULL) {
        service->control->add_figures(service->control->context, figures);
    }
    for (size_t i = 0; i < service->host_count; i++) {
        if (host == NULL || host == &service->hosts[i]) {
            add_host(&service->hosts[i], figures);
        }
    }
}

void handler_stats(struct ask *ask)
{
    struct service *service = ask->service;
    const struct hearsay_text *name = &ask->request->stats.host;
    struct figures figures;

    if (name->text != NULL && !ask_host(ask, name)) {
        return;
    }
    if (figures_init(&figures, &service->arena) == 0) {
        add_all(service, ask->host, &figures);
    }
    if (figures.list == NULL || figures.is_short) {
        ask_refuse_memory(ask);
    } else {
        struct hearsay_response response = {
            .id = ask->request->id,
            .kind = HEARSAY_RESPONSE_STATS_TAKEN,
            .stats_taken = {.figures = figures.list, .figure_count = figures.count},
        };
        ask_respond(ask, &response);
    }
    arena_reset(&service->arena);
}

/* --- Reload, LogLevel ------------------------------------------------------------------------- */

void handler_reload(struct ask *ask)
{
    const struct service_control *control = ask->service->control;
    char reason[CONFIG_REASON_BYTES] = "";

    int rc = control == NULL ? CONFIG_REFUSED : control->reload(control->context, reason);
    if (rc != 0) {
        ask_refuse(ask, rc < 0 ? HEARSAY_CODE_INTERNAL : HEARSAY_CODE_INVALID, NULL,
                   "the old configuration stays: %s", reason);
        return;
    }
    struct hearsay_response response = {.id = ask->request->id, .kind = HEARSAY_RESPONSE_RELOADED};
    ask_respond(ask, &response);
}

/* Finds the log level of this name. Sends an error if there is none. */
static bool find_level(const struct ask *ask, const char *name, enum log_level *out_level)
{
    for (int level = LOG_LEVEL_ERROR; level <= LOG_LEVEL_DEBUG; level++) {
        if (strcmp(name, log_level_name((enum log_level)level)) == 0) {
            *out_level = (enum log_level)level;
            return true;
        }
    }
    ask_refuse(ask, HEARSAY_CODE_INVALID, "level",
               "there is no level \"%s\"; it is error, warning, info or debug", name);
    return false;
}

void handler_log_level(struct ask *ask)
{
    const char *word = ask->request->log_level.level.text;
    enum log_level level = LOG_LEVEL_ERROR;

    if (word != NULL) {
        if (!find_level(ask, word, &level)) {
            return;
        }
        log_set_level(level);
        log_info("log level: %s, until the next reload or start", word);
    }
    const char *name = log_level_name(log_get_level());
    struct hearsay_response response = {.id = ask->request->id,
                                        .kind = HEARSAY_RESPONSE_LOG_LEVEL_SET,
                                        .log_level_set = {.level = {name, strlen(name)}}};
    ask_respond(ask, &response);
}

/* --- Decisions -------------------------------------------------------------------------------- */

enum {
    DECISIONS_MAX = 128,
    DECISION_REST_BYTES = 96 /* upper bound for a decision without its reason: tags, lengths, id,
                       word, numbers */
};

struct decisions_job {
    struct job base; /* first */
    struct persist_read read;
    struct persist_decision decisions[DECISIONS_MAX];
};

static void fill_decision(const struct persist_decision *from, struct hearsay_decision *out)
{
    *out = (struct hearsay_decision){
        .number = from->number,
        .time_ms = from->time_ms,
        .act = {from->act, strlen(from->act)},
        .kind = (enum hearsay_report_kind)from->kind,
        .reports = from->reports,
        .uid = from->uid,
        .web = from->web,
    };
    if (from->has_id) {
        out->id = (struct hearsay_bytes){from->id, MESSAGE_ID_BYTES};
    }
    if (from->reason[0] != '\0') {
        out->reason = (struct hearsay_text){from->reason, strlen(from->reason)};
    }
}

static void on_decisions_read(struct persist_read *read)
{
    struct decisions_job *job = CONTAINER_OF(read, struct decisions_job, read);
    struct service *service = job->base.service;
    struct hearsay_response response = {.id = job->base.request_id,
                                        .kind = HEARSAY_RESPONSE_DECISION_LIST};
    size_t used = CODEC_ENVELOPE_BYTES_MAX;
    size_t fits = 0;

    if (read->failed) {
        job_fail_read(&job->base, read->reason);
        return;
    }
    struct hearsay_decision *decisions =
        arena_take_zeroed(&service->arena, DECISIONS_MAX, sizeof(*decisions));
    if (decisions == NULL) {
        job_fail_memory(&job->base);
        return;
    }
    while (fits < read->decision_count) {
        used += strlen(job->decisions[fits].reason) + DECISION_REST_BYTES;
        if (used > service->config.limits.frame_bytes) {
            break;
        }
        fits++;
    }
    for (size_t i = 0; i < fits; i++) { /* the store has the newest one first */
        fill_decision(&job->decisions[fits - 1 - i], &decisions[i]);
    }
    response.decision_list =
        (struct hearsay_decision_list){.decisions = decisions,
                                       .decision_count = fits,
                                       .more = read->page_more || fits < read->decision_count};
    job_finish(&job->base, &response);
    arena_reset(&service->arena);
}

void handler_decisions(struct ask *ask)
{
    const struct hearsay_decisions *asked = &ask->request->decisions;

    if (!ask_host(ask, &asked->host)) {
        return;
    }
    struct decisions_job *job = job_new(ask, sizeof(*job), 0);
    if (job == NULL) {
        return;
    }
    job->read.kind = PERSIST_READ_DECISIONS;
    job->read.decisions = job->decisions;
    job->read.decision_count =
        asked->limit == 0 || asked->limit > DECISIONS_MAX ? DECISIONS_MAX : asked->limit;
    job->read.page_host = ask->host->number;
    job->read.decisions_before = asked->before > INT64_MAX ? INT64_MAX : asked->before;
    job->read.done = on_decisions_read;
    job_read(&job->base, &job->read);
}
