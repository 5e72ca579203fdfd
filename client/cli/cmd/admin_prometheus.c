/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cli/cmd/admin_prometheus.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/cli/base/ask_admin.h"

/*
 * One figure of the daemon, or several with one `*` in `figure`. With `label`, each is a series:
 * the part of its name that the * stands for is the value of the label. Without, they are added up.
 * Metrics have no other labels, so no label has an address, a context or an id. Rows of one metric
 * follow one another. Each series costs storage: all but those of hosts are 40 at most.
 */
struct metric_row {
    const char *metric;
    const char *type;
    const char *help;
    const char *figure;
    const char *label; /* NULL: none */
    const char *kept;  /* the only words that the * may stand for; NULL: all */
    int digits;        /* decimals of the value: 3 for milliseconds, 6 for microseconds */
};

static const struct metric_row rows[] = {
    {"hearsay_uptime_seconds", "gauge", "Time since the start.", "uptime_s", NULL, NULL, 0},
    {"hearsay_clock_trusted", "gauge", "1 if the host's clock is known to be right.",
     "clock_trusted", NULL, NULL, 0},
    {"hearsay_last_reload_successful", "gauge",
     "0 if the last reload of the configuration was refused.", "reload_ok", NULL, NULL, 0},
    {"hearsay_last_reload_timestamp_seconds", "gauge",
     "When the configuration was last read, by the system's clock.", "reload_ms", NULL, NULL, 3},
    {"hearsay_certificate_not_after_timestamp_seconds", "gauge",
     "When the first TLS certificate of the chain expires.", "certificate_not_after", NULL, NULL,
     3},
    {"hearsay_requests_total", "counter",
     "Successful queries; hearsay_request_duration_seconds_count has the deposits.", "*_total",
     "request", "query", 0},
    {"hearsay_requests_refused_total", "counter",
     "Requests that limits, bans or the storage refused, by the error's code.", "refused_*_total",
     "code", "forbidden quota rate_limited storage", 0},
    {"hearsay_connections_refused_total", "counter", "Connections that limits refused.",
     "refused_connections_total", NULL, NULL, 0},
    {"hearsay_sessions", "gauge", "Connections now.", "sessions", NULL, NULL, 0},
    {"hearsay_tls_failures_total", "counter",
     "Sessions whose TLS failed, or whose handshake was not done in time.", "dropped_*_total", NULL,
     "handshake tls", 0},
    {"hearsay_messages_left_total", "counter", "Messages that have left the store, by the way.",
     "left_*_total", "way", NULL, 0},
    {"hearsay_reports_total", "counter", "Reports of messages.", "report_total", NULL, NULL, 0},
    {"hearsay_watch_dropped_total", "counter",
     "Watching clients that were dropped: did not read (slow), or may miss a match (failed).",
     "watch_dropped_*_total", "reason", NULL, 0},
    {"hearsay_store_commits_total", "counter", "Transactions of the store.", "store_transactions",
     NULL, NULL, 0},
    {"hearsay_store_failures_total", "counter", "Transactions of the store that failed.",
     "store_failures", NULL, NULL, 0},
    {"hearsay_written_bytes_total", "counter", "Bytes that the daemon has had written to storage.",
     "written_bytes_total", NULL, NULL, 0},
    /* Not process_resident_memory_bytes: node_exporter has a metric of that name. */
    {"hearsay_resident_memory_bytes", "gauge", "Resident memory of the daemon.", "resident_bytes",
     NULL, NULL, 0},
    {"hearsay_messages", "gauge", "Stored messages, hidden ones included.", "host/*/messages",
     "host", NULL, 0},
    {"hearsay_hidden_messages", "gauge", "Messages that are hidden or wait for review.",
     "host/*/hidden", "host", NULL, 0},
    {"hearsay_pending_messages", "gauge", "Messages that wait for review.", "host/*/pending",
     "host", NULL, 0},
    {"hearsay_limit_messages", "gauge", "Most messages of the host.", "host/*/messages_max", "host",
     NULL, 0},
    {"hearsay_stored_bytes", "gauge", "Bytes of payloads, media types and filters.", "host/*/bytes",
     "host", NULL, 0},
    {"hearsay_limit_bytes", "gauge", "Most bytes of the host.", "host/*/bytes_max", "host", NULL,
     0},
    {"hearsay_host_full", "gauge", "1 while the host or the server has no room for deposits.",
     "host/*/full", "host", NULL, 0},
    {"hearsay_hides_withheld_total", "counter",
     "Reports that would have hidden a message without hide_per_hour; absent while there are none.",
     "host/*/hides_withheld", "host", NULL, 0},
    {"hearsay_unarranged_messages", "gauge", "Messages since the last rebuild of their index.",
     "host/*/unarranged", "host", NULL, 0},
};

enum { LABEL_BYTES = 64 }; /* a host's name has 63 at most */

/* --- the text --------------------------------------------------------------------------------- */

/*
 * Whether `name` fits `pattern`, with one * at most. Copies what the * stands for. Only such
 * characters fit the * as names of hosts and codes have; no label needs an escape.
 */
static bool figure_fits(const char *pattern, const char *name, char out_label[LABEL_BYTES])
{
    size_t before = strcspn(pattern, "*");
    out_label[0] = '\0';
    if (pattern[before] == '\0') {
        return strcmp(pattern, name) == 0;
    }
    const char *behind = pattern + before + 1;
    size_t fixed = before + strlen(behind);
    size_t length = strlen(name);
    if (length <= fixed || length - fixed >= LABEL_BYTES || strncmp(pattern, name, before) != 0 ||
        strcmp(name + length - strlen(behind), behind) != 0) {
        return false;
    }
    (void)snprintf(out_label, LABEL_BYTES, "%.*s", (int)(length - fixed), name + before);
    return strspn(out_label, "abcdefghijklmnopqrstuvwxyz0123456789_-") == length - fixed;
}

static void print_head(FILE *stream, const char *metric, const char *type, const char *help)
{
    (void)fprintf(stream, "# HELP %s %s\n# TYPE %s %s\n", metric, help, metric, type);
}

static void print_decimal(FILE *stream, int64_t value, int digits)
{
    int64_t unit = digits == 6 ? 1000000 : digits == 3 ? 1000 : 1;
    (void)fprintf(stream, "%" PRId64, value / unit);
    if (digits > 0) {
        (void)fprintf(stream, ".%0*" PRId64, digits, value % unit);
    }
}

static void print_value(FILE *stream, const struct metric_row *row, const char *label,
                        int64_t value)
{
    (void)fputs(row->metric, stream);
    if (row->label != NULL) {
        (void)fprintf(stream, "{%s=\"%s\"}", row->label, label);
    }
    (void)fputc(' ', stream);
    print_decimal(stream, value, row->digits);
    (void)fputc('\n', stream);
}

/* Whether a word is one of `words`, with a blank between any two; NULL: all are. */
static bool is_kept(const char *words, const char *word)
{
    size_t length = strlen(word);
    while (words != NULL) {
        if (strncmp(words, word, length) == 0 && (words[length] == ' ' || words[length] == '\0')) {
            return true;
        }
        words = strchr(words, ' ');
        if (words == NULL) {
            return false;
        }
        words++;
    }
    return true;
}

static void print_row(FILE *stream, const struct metric_row *row,
                      const struct hearsay_stats_taken *stats)
{
    bool has_head = false;
    int64_t sum = 0;
    for (size_t i = 0; i < stats->figure_count; i++) {
        const struct hearsay_figure *figure = &stats->figures[i];
        char label[LABEL_BYTES];
        if (!figure_fits(row->figure, figure->name.text, label) || figure->value < 0 ||
            !is_kept(row->kept, label)) {
            continue;
        }
        if (!has_head) {
            print_head(stream, row->metric, row->type, row->help);
            has_head = true;
        }
        if (row->label != NULL) {
            print_value(stream, row, label, figure->value);
        }
        sum += figure->value;
    }
    if (has_head && row->label == NULL) {
        print_value(stream, row, NULL, sum);
    }
}

/* --- latencies -------------------------------------------------------------------------------- */

#define DURATION "hearsay_request_duration_seconds"

/* Prints the histogram of one request: its buckets, the sum and the count. */
static void print_histogram(FILE *stream, const struct hearsay_stats_taken *stats,
                            const char *request)
{
    char within[48];
    char sum[32];
    char count[32];
    (void)snprintf(within, sizeof(within), "%s_le_*", request);
    (void)snprintf(sum, sizeof(sum), "%s_us_total", request);
    (void)snprintf(count, sizeof(count), "%s_total", request);
    const struct hearsay_figure *sum_figure = NULL;
    const struct hearsay_figure *count_figure = NULL;
    for (size_t i = 0; i < stats->figure_count; i++) {
        const struct hearsay_figure *figure = &stats->figures[i];
        char bound[LABEL_BYTES];
        if (figure_fits(within, figure->name.text, bound)) {
            (void)fprintf(stream, DURATION "_bucket{request=\"%s\",le=\"%g\"} %" PRId64 "\n",
                          request, (double)strtoull(bound, NULL, 10) / 1e6, figure->value);
        } else if (figure_fits(sum, figure->name.text, bound)) {
            sum_figure = figure;
        } else if (figure_fits(count, figure->name.text, bound)) {
            count_figure = figure;
        }
    }
    if (sum_figure != NULL && count_figure != NULL) {
        (void)fprintf(stream, DURATION "_bucket{request=\"%s\",le=\"+Inf\"} %" PRId64 "\n", request,
                      count_figure->value);
        (void)fprintf(stream, DURATION "_sum{request=\"%s\"} ", request);
        print_decimal(stream, sum_figure->value, 6);
        (void)fprintf(stream, "\n" DURATION "_count{request=\"%s\"} %" PRId64 "\n", request,
                      count_figure->value);
    }
}

static void print_up(FILE *stream, bool is_up)
{
    print_head(stream, "hearsay_up", "gauge", "1 if the daemon has answered.");
    (void)fprintf(stream, "hearsay_up %d\n", is_up);
}

/* Prints the version of "hearsayd/0.2.0", without characters that a label would have to escape. */
static void print_build(FILE *stream, const char *agent)
{
    const char *version = agent != NULL ? strchr(agent, '/') : NULL;
    version = version != NULL ? version + 1 : "";
    print_head(stream, "hearsay_build_info", "gauge", "The version of the daemon.");
    (void)fprintf(stream, "hearsay_build_info{version=\"%.*s\"} 1\n",
                  (int)strspn(version, "0123456789abcdefghijklmnopqrstuvwxyz.+~-"), version);
}

static void print_all(FILE *stream, const char *agent, const struct hearsay_stats_taken *stats)
{
    print_up(stream, true);
    print_build(stream, agent);
    print_head(stream, DURATION, "histogram",
               "Successful deposits: time from taking a request to giving its answer.");
    print_histogram(stream, stats, "deposit");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        print_row(stream, &rows[i], stats);
    }
}

/* --- the file --------------------------------------------------------------------------------- */

static int fail_file(const struct cli *cli, const char *file)
{
    cli_complain(cli,
                 "cannot write %s: %s; --output takes a file in a directory that exists and "
                 "that you may write to",
                 file, strerror(errno));
    return CLI_NEGATIVE;
}

/*
 * Replaces the file: who reads at the same time reads the old text or the new one. `stats` NULL:
 * the daemon did not answer. The file is not synced: after a power loss the next run replaces it.
 */
static int replace_file(const struct cli *cli, const char *file,
                        const struct hearsay_stats_taken *stats)
{
    char fresh[4096]; /* another name in the same directory, which does not end in .prom */
    int size = snprintf(fresh, sizeof(fresh), "%s.XXXXXX", file);
    int fd = -1;
    errno = ENAMETOOLONG;
    if (size < (int)sizeof(fresh)) {
        fd = mkstemp(fresh);
    }
    FILE *stream = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (stream == NULL) {
        int code = fail_file(cli, file);
        if (fd >= 0) {
            (void)close(fd);
            (void)unlink(fresh);
        }
        return code;
    }
    if (stats != NULL) {
        print_all(stream, hearsay_welcome(cli->connection)->agent, stats);
    } else {
        print_up(stream, false);
    }
    bool failed = fchmod(fd, 0644) != 0; /* another user reads the file */
    failed = ferror(stream) != 0 || failed;
    failed = fclose(stream) != 0 || failed;
    if (failed || rename(fresh, file) != 0) {
        int code = fail_file(cli, file);
        (void)unlink(fresh);
        return code;
    }
    return CLI_DONE;
}

int admin_prometheus(struct cli *cli, const char *host, const char *file)
{
    const struct hearsay_request request = {.kind = HEARSAY_REQUEST_STATS,
                                            .stats.host = hearsay_text(host)};
    const struct hearsay_response *response = NULL;
    int code = admin_call(cli, host, &request, &response);
    const struct hearsay_stats_taken *stats = code == CLI_DONE ? &response->stats_taken : NULL;
    if (file != NULL && code != CLI_USAGE) {
        int written = replace_file(cli, file, stats);
        return code == CLI_DONE ? written : code;
    }
    if (code != CLI_DONE) {
        return code;
    }
    print_all(cli->out.stream, hearsay_welcome(cli->connection)->agent, stats);
    return cli_flush(cli);
}
