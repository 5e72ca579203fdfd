/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cli/cmd/commands.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * The figures that become metrics; the metric bears the figure's name (print_figure says how). A *
 * stands for any word. No figure has an address, a context or an id in its name. Each series costs
 * storage: all but those of hosts are 41 at most.
 */
static const char *const exported[] = {
    "uptime_s",
    "clock_trusted",
    "reload_ok",
    "reload_timestamp_ms",
    "certificate_not_after_timestamp_ms",
    "query_total", /* deposits: the histogram counts them */
    "refused/forbidden/requests_total",
    "refused/quota/requests_total",
    "refused/rate_limited/requests_total",
    "refused/storage/requests_total",
    "refused_connections_total",
    "sessions",
    "dropped/handshake/sessions_total",
    "dropped/tls/sessions_total",
    "left/*/messages_total",
    "report_total",
    "watch_dropped/*/clients_total",
    "store_transactions_total",
    "store_failures_total",
    "written_bytes_total",
    "resident_bytes",
    "host/*/messages",
    "host/*/messages_max",
    "host/*/bytes",
    "host/*/bytes_max",
    "host/*/full",
    "host/*/hidden",
    "host/*/pending",
    "host/*/hides_withheld_total",
    "host/*/unarranged",
};

enum { METRIC_BYTES = 192 }; /* the name of a figure has 127 at most */

/* --- the text --------------------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text);
    return length >= strlen(end) && strcmp(text + length - strlen(end), end) == 0;
}

/*
 * Whether `name` is the figure of `pattern`. Only such characters fit the * as names of hosts and
 * reasons have, so that no label needs an escape.
 */
static bool figure_fits(const char *pattern, const char *name)
{
    size_t before = strcspn(pattern, "*");
    if (pattern[before] == '\0') {
        return strcmp(pattern, name) == 0;
    }
    size_t word = strncmp(pattern, name, before) == 0
                      ? strspn(name + before, "abcdefghijklmnopqrstuvwxyz0123456789_-")
                      : 0;
    return word > 0 && strcmp(name + before + word, pattern + before + 1) == 0;
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

/*
 * Prints the figure KIND/WORD/NAME as hearsay_KIND_NAME{KIND="WORD"}, and any other figure as
 * hearsay_NAME. NAME_s and NAME_ms become NAME_seconds. A metric whose name ends with _total is a
 * counter.
 */
static void print_figure(FILE *stream, const struct hearsay_figure *figure, const char *pattern,
                         bool has_head)
{
    const char *name = figure->name.text;
    int kind = (int)strcspn(name, "/");
    const char *word = name[kind] != '\0' ? name + kind + 1 : NULL;
    int letters = word != NULL ? (int)strcspn(word, "/") : 0;
    const char *rest = word != NULL ? word + letters + 1 : name;
    int digits = ends_with(rest, "_ms") ? 3 : 0;
    int length = (int)strlen(rest) - (digits > 0 ? 3 : ends_with(rest, "_s") ? 2 : 0);
    char metric[METRIC_BYTES];
    (void)snprintf(metric, sizeof(metric), "hearsay_%.*s%s%.*s%s", word != NULL ? kind : 0, name,
                   word != NULL ? "_" : "", length, rest, rest[length] != '\0' ? "_seconds" : "");
    if (!has_head) {
        char help[METRIC_BYTES];
        (void)snprintf(help, sizeof(help), "The figure %s of hearsayd.", pattern);
        print_head(stream, metric, ends_with(metric, "_total") ? "counter" : "gauge", help);
    }
    (void)fputs(metric, stream);
    if (word != NULL) {
        (void)fprintf(stream, "{%.*s=\"%.*s\"}", kind, name, letters, word);
    }
    (void)fputc(' ', stream);
    print_decimal(stream, figure->value, digits);
    (void)fputc('\n', stream);
}

/* Prints the figures that fit exported[i]. Figures that differ only in the word after the first
 * slash are series of one metric, and get one head. */
static void print_exported(FILE *stream, size_t i, const struct hearsay_stats_taken *stats)
{
    const char *name = exported[i];
    const char *before = i > 0 ? exported[i - 1] : "";
    const char *word = strchr(name, '/');
    bool has_head = word != NULL && strncmp(before, name, (size_t)(word - name) + 1) == 0 &&
                    strcmp(strrchr(before, '/'), strrchr(name, '/')) == 0;
    for (size_t j = 0; j < stats->figure_count; j++) {
        const struct hearsay_figure *figure = &stats->figures[j];
        if (figure->value >= 0 && figure_fits(name, figure->name.text)) {
            print_figure(stream, figure, name, has_head);
            has_head = true;
        }
    }
}

/* --- latencies -------------------------------------------------------------------------------- */

#define DURATION "hearsay_request_duration_seconds"

/* Prints the histogram of deposits: its buckets, the sum and the count. */
static void print_histogram(FILE *stream, const struct hearsay_stats_taken *stats)
{
    int64_t sum_us = -1;
    int64_t count = -1;
    print_head(stream, DURATION, "histogram",
               "Successful deposits: time from taking a request to giving its answer.");
    for (size_t i = 0; i < stats->figure_count; i++) {
        const struct hearsay_figure *figure = &stats->figures[i];
        if (figure_fits("deposit_le_*", figure->name.text)) {
            (void)fprintf(stream, DURATION "_bucket{request=\"deposit\",le=\"%g\"} %" PRId64 "\n",
                          (double)strtoull(strrchr(figure->name.text, '_') + 1, NULL, 10) / 1e6,
                          figure->value);
        } else if (strcmp(figure->name.text, "deposit_us_total") == 0) {
            sum_us = figure->value;
        } else if (strcmp(figure->name.text, "deposit_total") == 0) {
            count = figure->value;
        }
    }
    if (sum_us >= 0 && count >= 0) {
        (void)fprintf(stream,
                      DURATION "_bucket{request=\"deposit\",le=\"+Inf\"} %" PRId64 "\n" DURATION
                               "_sum{request=\"deposit\"} ",
                      count);
        print_decimal(stream, sum_us, 6);
        (void)fprintf(stream, "\n" DURATION "_count{request=\"deposit\"} %" PRId64 "\n", count);
    }
}

static void print_up(FILE *stream, bool is_up)
{
    print_head(stream, "hearsay_up", "gauge", "1 if the daemon has answered.");
    (void)fprintf(stream, "hearsay_up %d\n", is_up);
}

/* Prints the version of "hearsayd/0.3.0", without characters that a label would have to escape. */
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
    print_histogram(stream, stats);
    for (size_t i = 0; i < sizeof(exported) / sizeof(exported[0]); i++) {
        print_exported(stream, i, stats);
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
    struct hearsay_request request = {.kind = HEARSAY_REQUEST_STATS,
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
