/* SPDX-License-Identifier: Apache-2.0 */
/* admin stats and admin hosts: print the figures of the daemon, once or again and again. */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

#include "client/cli/cmd/commands.h"

struct stats_options {
    const char *host;
    bool json;
    bool prometheus;
    const char *output;
    bool watch;
    uint64_t interval_ms;
};

static const struct stats_options stats_defaults = {.interval_ms = 1000};

static const struct args_option stats_options[] = {
    ARGS_ROW("host", 0, ARGS_TEXT, struct stats_options, host, "HOST", "only this one (all hosts)"),
    ARGS_ROW("watch", 'w', ARGS_FLAG, struct stats_options, watch, NULL,
             "again and again, until interrupted"),
    ARGS_RANGE("interval", 0, ARGS_DURATION, struct stats_options, interval_ms, "TIME", 100,
               3600 * 1000, "between two looks of --watch (1s)"),
    ARGS_ROW("json", 0, ARGS_FLAG, struct stats_options, json, NULL,
             "one line of JSON, name by name"),
    ARGS_ROW("prometheus", 0, ARGS_FLAG, struct stats_options, prometheus, NULL,
             "Prometheus' text format"),
    ARGS_ROW("output", 0, ARGS_TEXT, struct stats_options, output, "FILE",
             "with --prometheus: replace FILE whole"),
};

/* --- reading ---------------------------------------------------------------------------------- */

/* Returns the figure called `name`, or 0 if the server sends no such figure. */
static int64_t admin_stats_figure(const struct hearsay_stats_taken *stats, const char *name)
{
    for (size_t i = 0; i < stats->figure_count; i++) {
        if (strcmp(stats->figures[i].name.text, name) == 0) {
            return stats->figures[i].value;
        }
    }
    return 0;
}

/* Returns the value of the daemon's figure that is called `prefix` followed by `name`. Returns 0 if
 * there is no such figure or if its value is negative. */
static uint64_t admin_stats_amount(const struct hearsay_stats_taken *stats, const char *prefix,
                                   const char *name)
{
    char whole[160];
    (void)snprintf(whole, sizeof(whole), "%s%s", prefix, name);
    int64_t value = admin_stats_figure(stats, whole);
    return value > 0 ? (uint64_t)value : 0;
}

/* The figures of a host are called host/NAME/FIGURE. */
enum { HOST_PREFIX_BYTES = 80 }; /* a host's name has 63 bytes at most */

static void make_prefix(const char *host, char out[HOST_PREFIX_BYTES])
{
    (void)snprintf(out, HOST_PREFIX_BYTES, "host/%s/", host);
}

/* The counters of the page that was shown before. Rates are computed from them. */
struct earlier {
    bool is_known;
    int64_t uptime_s;
    uint64_t deposits;
    uint64_t queries;
};

/* --- the page --------------------------------------------------------------------------------- */

enum { LABEL_COLUMNS = 11 };

/*
 * Prints a label and a text, which is wrapped to the width of the terminal. A label of "" continues
 * the field above.
 */
static void print_field(const struct cli *cli, const char *label, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void print_field(const struct cli *cli, const char *label, const char *format, ...)
{
    char text[512];
    va_list list;
    va_start(list, format);
    (void)vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    (void)fprintf(cli->out.stream, "%-*s", LABEL_COLUMNS, label);
    out_fold(&cli->out, text, LABEL_COLUMNS);
    (void)fputc('\n', cli->out.stream);
}

/*
 * Prints the value of one placeholder of a pattern to `out`. {NAME} is the figure called NAME.
 * {NAME:size} prints the figure as a size, such as 1.4 kB. {NAME:percent} prints the figure, which
 * is in parts per million, as a percentage. {s} and {es} print a plural ending unless *count, the
 * figure before, is 1.
 */
static void fill_in(const struct hearsay_stats_taken *stats, const char *prefix, char *name,
                    uint64_t *count, char out[24])
{
    if (strcmp(name, "s") == 0 || strcmp(name, "es") == 0) {
        (void)snprintf(out, 24, "%.23s", *count == 1 ? "" : name);
        return;
    }
    char *form = strchr(name, ':');
    if (form != NULL) {
        *form++ = '\0';
    }
    *count = admin_stats_amount(stats, prefix, name);
    if (form == NULL) {
        (void)snprintf(out, 24, "%" PRIu64, *count);
    } else if (strcmp(form, "size") == 0) {
        out_print_size(*count, out);
    } else {
        (void)snprintf(out, 24, "%.1f %%", (double)*count / 10000);
    }
}

/* Prints a label, and the text that `pattern` becomes when fill_in replaces each placeholder {...}
 * by a figure of the daemon. The names of these figures begin with `prefix`. */
static void print_figures(const struct cli *cli, const struct hearsay_stats_taken *stats,
                          const char *prefix, const char *label, const char *pattern)
{
    char text[512] = "";
    uint64_t count = 0;
    while (*pattern != '\0') {
        char name[64] = "";
        char value[24] = "";
        size_t used = strlen(text);
        int plain = (int)strcspn(pattern, "{");
        if (pattern[plain] == '{') {
            (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(pattern + plain, "}") - 1,
                           pattern + plain + 1);
            fill_in(stats, prefix, name, &count, value);
        }
        (void)snprintf(text + used, sizeof(text) - used, "%.*s%s", plain, pattern, value);
        pattern += plain;
        pattern += *pattern == '{' ? strcspn(pattern, "}") + 1 : 0;
    }
    print_field(cli, label, "%s", text);
}

#define USAGE_PATTERN "{messages} of {messages_max} messages, {bytes:size} of {bytes_max:size}"

/* Prints microseconds as milliseconds, in at least 5 columns after a blank. */
static void print_ms(FILE *stream, uint64_t us)
{
    double ms = (double)us / 1000;
    (void)fprintf(stream, " %5.*f", ms < 99.995 ? 2 : ms < 999.95 ? 1 : 0, ms);
}

/*
 * Returns the requests per second since the page was shown before, or -1 if the rate is not known.
 */
static int64_t rate_of(uint64_t total, uint64_t before, const struct earlier *earlier,
                       int64_t elapsed_s)
{
    return earlier->is_known && elapsed_s > 0 && total >= before
               ? (int64_t)((total - before) / (uint64_t)elapsed_s)
               : -1;
}

/* Prints one row of the table of requests. The names of its figures begin with `prefix`. */
static void print_latency(const struct cli *cli, const struct hearsay_stats_taken *stats,
                          const char *prefix, const char *title, int64_t rate)
{
    static const char *const parts[] = {"p50_us", "p90_us", "p99_us", "max_us"};
    FILE *stream = cli->out.stream;
    uint64_t per_minute = admin_stats_amount(stats, prefix, "per_minute");
    bool is_idle = per_minute == 0 && admin_stats_amount(stats, prefix, "max_us") == 0;
    (void)fprintf(stream, "%-8s %10" PRIu64 " %7" PRIu64, title,
                  admin_stats_amount(stats, prefix, "total"), per_minute);
    if (rate >= 0) {
        (void)fprintf(stream, " %7" PRId64, rate);
    } else {
        (void)fprintf(stream, " %7s", "-");
    }
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (is_idle) {
            (void)fprintf(stream, " %5s", "-");
        } else {
            print_ms(stream, admin_stats_amount(stats, prefix, parts[i]));
        }
    }
    (void)fputc('\n', stream);
}

/* Prints the table of requests, and stores the present counters in *earlier. */
static void print_requests(const struct cli *cli, const struct hearsay_stats_taken *stats,
                           struct earlier *earlier)
{
    struct earlier now = {true, admin_stats_figure(stats, "uptime_s"),
                          admin_stats_amount(stats, "deposit_", "total"),
                          admin_stats_amount(stats, "query_", "total")};
    int64_t elapsed_s = now.uptime_s - earlier->uptime_s;
    (void)fprintf(cli->out.stream, "%-8s %10s %7s %7s %5s %5s %5s %5s\n", "", "in all", "/min",
                  "/s", "p50", "p90", "p99", "max");
    print_latency(cli, stats, "deposit_", "deposits",
                  rate_of(now.deposits, earlier->deposits, earlier, elapsed_s));
    print_latency(cli, stats, "query_", "queries",
                  rate_of(now.queries, earlier->queries, earlier, elapsed_s));
    print_figures(cli, stats, "", "",
                  "latencies in ms; {comparisons_per_query} comparison{s} a query");
    *earlier = now;
}

static void print_hosts(const struct cli *cli, const struct hearsay_welcome *welcome,
                        const struct hearsay_stats_taken *stats, const char *only)
{
    for (size_t i = 0; i < welcome->host_count; i++) {
        const char *host = welcome->hosts[i].name;
        char prefix[HOST_PREFIX_BYTES];
        if (only != NULL && strcmp(only, host) != 0) {
            continue;
        }
        make_prefix(host, prefix);
        print_field(cli, "host", "%s (%s)", host, welcome->hosts[i].profile);
        print_figures(cli, stats, prefix, "", USAGE_PATTERN);
        print_figures(cli, stats, prefix, "",
                      "{shown} shown, {hidden} hidden ({pending} for review), "
                      "fill {fill_ppm:percent}, tree height {tree_height}");
    }
}

/* Prints the words and the values of the figures KIND/WORD/... that are above 0. */
static void print_counts(const struct cli *cli, const struct hearsay_stats_taken *stats,
                         const char *kind)
{
    size_t length = strlen(kind);
    char text[512] = "";
    size_t used = 0;
    for (size_t i = 0; i < stats->figure_count && used < sizeof(text); i++) {
        const struct hearsay_figure *one = &stats->figures[i];
        if (strncmp(one->name.text, kind, length) != 0 || one->name.text[length] != '/' ||
            one->value <= 0) {
            continue;
        }
        const char *word = one->name.text + length + 1;
        int letters = (int)strspn(word, "abcdefghijklmnopqrstuvwxyz_");
        if (word[letters] != '/') {
            continue; /* the word is printed unescaped */
        }
        int added = snprintf(text + used, sizeof(text) - used, "%s%" PRId64 " %.*s",
                             used > 0 ? ", " : "", one->value, letters, word);
        used += added > 0 ? (size_t)added : 0;
    }
    if (used > 0) {
        print_field(cli, kind, "%s", text);
    }
}

static void print_certificate(const struct cli *cli, const struct hearsay_stats_taken *stats)
{
    time_t end = (time_t)(admin_stats_figure(stats, "certificate_not_after_timestamp_ms") / 1000);
    char date[32];
    struct tm parts;
    if (end > 0 && gmtime_r(&end, &parts) != NULL &&
        strftime(date, sizeof(date), "%Y-%m-%d %H:%M UTC", &parts) > 0) {
        print_field(cli, "TLS", "the certificate expires on %s", date);
    }
}

static void print_page(const struct cli *cli, const struct hearsay_welcome *welcome,
                       const struct hearsay_stats_taken *stats, const char *only,
                       struct earlier *earlier)
{
    FILE *stream = cli->out.stream;
    int64_t uptime_s = admin_stats_figure(stats, "uptime_s");
    (void)fputs("daemon     ", stream);
    out_text(&cli->out, welcome->agent, 0);
    (void)fprintf(stream, ", up %" PRId64 " d %02d:%02d:%02d\n", uptime_s / 86400,
                  (int)(uptime_s / 3600 % 24), (int)(uptime_s / 60 % 60), (int)(uptime_s % 60));
    print_figures(cli, stats, "", "all", USAGE_PATTERN);
    print_hosts(cli, welcome, stats, only);
    print_requests(cli, stats, earlier);
    print_figures(cli, stats, "", "queues",
                  "{sessions} session{s}, {refused_connections_total} refused, {working} "
                  "request{s} under way, {searches} search{es} "
                  "and {searches_waiting} waiting");
    print_counts(cli, stats, "dropped");
    print_counts(cli, stats, "refused");
    print_certificate(cli, stats);
    print_figures(cli, stats, "", "watches",
                  "{watches} of {watch_clients} client{s}, with {watch_filters} of "
                  "{watch_filters_max} filter{s}; {watches_catching_up} catching up");
    print_figures(cli, stats, "", "",
                  "{matches_total} match{es} pushed, {matches_waiting} waiting, "
                  "{match_deposits_waiting} deposit{s} to match; dropped: "
                  "{watch_dropped/slow/clients_total} slow, "
                  "{watch_dropped/failed/clients_total} failed");
    print_figures(
        cli, stats, "", "store",
        "{store_file_bytes:size}, log {store_log_bytes:size}; {store_operations} "
        "operation{s} in {store_transactions_total} commit{s}, {store_failures_total} failure{s}");
    print_figures(cli, stats, "", "memory", "{resident_bytes:size}");
}

static int print_json(const struct cli *cli, const struct hearsay_stats_taken *stats)
{
    json_t *line = json_object();
    for (size_t i = 0; i < stats->figure_count; i++) {
        out_json_set(&line, stats->figures[i].name.text, json_integer(stats->figures[i].value));
    }
    return cli_print_json(cli, line);
}

/* --- running ---------------------------------------------------------------------------------- */

static void wait_ms(uint64_t ms)
{
    struct timespec pause = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};
    (void)nanosleep(&pause, NULL); /* a signal may end the pause early, which is harmless */
}

static int admin_stats_show(const struct cli *cli, const struct stats_options *chosen)
{
    struct hearsay_request request = {.kind = HEARSAY_REQUEST_STATS,
                                      .stats.host = hearsay_text(chosen->host)};
    struct earlier earlier = {.is_known = false};
    for (;;) {
        const struct hearsay_response *response = NULL;
        int code = admin_ask(cli, &request, &response);
        if (code == CLI_DONE && chosen->json) {
            code = print_json(cli, &response->stats_taken);
        } else if (code == CLI_DONE) {
            if (chosen->watch && cli->out.terminal) {
                (void)fputs("\033[H\033[J", cli->out.stream); /* clears the terminal */
            }
            print_page(cli, hearsay_welcome(cli->connection), &response->stats_taken, chosen->host,
                       &earlier);
        }
        if (code == CLI_DONE) {
            code = cli_flush(cli);
        }
        if (code != CLI_DONE || !chosen->watch) {
            return code;
        }
        if (!chosen->json && !cli->out.terminal) {
            (void)fputc('\n', cli->out.stream);
        }
        wait_ms(chosen->interval_ms);
    }
}

static int stats_run(struct cli *cli, void *options)
{
    const struct stats_options *chosen = options;
    if (chosen->prometheus && (chosen->json || chosen->watch)) {
        return cli_misuse(cli, "--prometheus is one look, in a format of its own: leave out --json "
                               "and --watch, and let a timer call it");
    }
    if (chosen->output != NULL && !chosen->prometheus) {
        return cli_misuse(cli, "--output goes with --prometheus only; the shell's > does for the "
                               "others");
    }
    if (chosen->prometheus) {
        return admin_prometheus(cli, chosen->host, chosen->output);
    }
    int code = admin_connect(cli, chosen->host);
    return code == CLI_DONE ? admin_stats_show(cli, chosen) : code;
}

const struct cli_command command_admin_stats = {
    .name = "admin stats",
    .summary = "show the daemon's numbers",
    .arguments = "[OPTION]...",
    .details =
        "Messages and bytes, rates, latencies (percentiles of the last one to three minutes,\n"
        "from a request taken to its answer given), queues, watches, and the store. With --json\n"
        "all of them by name; docs/operations/monitoring.md says what each is. With --prometheus\n"
        "and --output a timer makes the file that node_exporter's textfile collector reads.\n",
    .examples = "  hearsay admin stats --watch\n"
                "  hearsay admin stats --json | jq .query_p99_us\n"
                "  hearsay admin stats --prometheus --output hearsay.prom\n",
    CLI_OPTIONS(stats_options, struct stats_options),
    .defaults = &stats_defaults,
    .run = stats_run,
};

/* --- hosts ------------------------------------------------------------------------------------ */

static const struct args_option hosts_options[] = {
    ARGS_ROW("json", 0, ARGS_FLAG, struct plain_options, json, NULL,
             "one line of JSON a host, and one for all"),
};

/* How many messages and bytes one host, or all hosts together, have and may have. */
struct fullness {
    uint64_t messages;
    uint64_t messages_max;
    uint64_t bytes;
    uint64_t bytes_max;
};

/*
 * Returns the used and the allowed amounts. `prefix` begins the names of the figures: "host/NAME/"
 * for one host, "" for all hosts together.
 */
static struct fullness fullness_of(const struct hearsay_stats_taken *stats, const char *prefix)
{
    return (struct fullness){admin_stats_amount(stats, prefix, "messages"),
                             admin_stats_amount(stats, prefix, "messages_max"),
                             admin_stats_amount(stats, prefix, "bytes"),
                             admin_stats_amount(stats, prefix, "bytes_max")};
}

/* Returns the used share of messages or of bytes, whichever is greater; 1 is full. */
static double full_share(const struct fullness *full)
{
    double messages =
        full->messages_max > 0 ? (double)full->messages / (double)full->messages_max : 0;
    double bytes = full->bytes_max > 0 ? (double)full->bytes / (double)full->bytes_max : 0;
    return messages > bytes ? messages : bytes;
}

static void print_fullness(const struct cli *cli, const char *name, int name_columns,
                           const struct fullness *full)
{
    char messages[48];
    char bytes[16];
    char bytes_max[16];
    (void)snprintf(messages, sizeof(messages), "%" PRIu64 " of %" PRIu64, full->messages,
                   full->messages_max);
    out_print_size(full->bytes, bytes);
    out_print_size(full->bytes_max, bytes_max);
    (void)fprintf(cli->out.stream, "%-*s  %3.0f %%  %-16s  %s of %s\n", name_columns, name,
                  full_share(full) * 100, messages, bytes, bytes_max);
}

/* `name`: NULL for all hosts together. */
static int print_fullness_json(const struct cli *cli, const char *name, const struct fullness *full)
{
    json_t *line = json_pack("{s:s?, s:f, s:I, s:I, s:I, s:I}", "host", name, "full",
                             full_share(full), "messages", (json_int_t)full->messages,
                             "messages_max", (json_int_t)full->messages_max, "bytes",
                             (json_int_t)full->bytes, "bytes_max", (json_int_t)full->bytes_max);
    return cli_print_json(cli, line);
}

static int print_all_fullness(const struct cli *cli, const struct hearsay_welcome *welcome,
                              const struct hearsay_stats_taken *stats, bool json)
{
    struct fullness all = fullness_of(stats, "");
    int code = CLI_DONE;
    int name_columns = cli_host_columns(welcome, (int)sizeof("(all hosts)") - 1);
    if (!json) {
        out_colour(&cli->out, OUT_BOLD);
        (void)fprintf(cli->out.stream, "%-*s   FULL  %-16s  BYTES", name_columns, "HOST",
                      "MESSAGES");
        out_colour(&cli->out, OUT_PLAIN);
        (void)fputc('\n', cli->out.stream);
    }
    for (size_t i = 0; i < welcome->host_count && code == CLI_DONE; i++) {
        const char *name = welcome->hosts[i].name;
        char prefix[HOST_PREFIX_BYTES];
        make_prefix(name, prefix);
        struct fullness full = fullness_of(stats, prefix);
        if (json) {
            code = print_fullness_json(cli, name, &full);
        } else {
            print_fullness(cli, name, name_columns, &full);
        }
    }
    if (!json) {
        print_fullness(cli, "(all hosts)", name_columns, &all);
    } else if (code == CLI_DONE) {
        code = print_fullness_json(cli, NULL, &all);
    }
    return code;
}

static int hosts_run(struct cli *cli, void *options)
{
    const struct plain_options *chosen = options;
    struct hearsay_request request = {.kind = HEARSAY_REQUEST_STATS};
    const struct hearsay_response *response = NULL;
    int code = admin_call(cli, NULL, &request, &response);
    if (code == CLI_DONE) {
        code = print_all_fullness(cli, hearsay_welcome(cli->connection), &response->stats_taken,
                                  chosen->json);
    }
    return code;
}

const struct cli_command command_admin_hosts = {
    .name = "admin hosts",
    .summary = "show how full each host is",
    .arguments = "[OPTION]...",
    .details =
        "FULL is the greater share of the two: messages, and bytes of payloads, media types\n"
        "and filters. A host takes no more at 100 %, of its own or of all hosts together.\n",
    .examples = "  hearsay admin hosts\n",
    CLI_OPTIONS(hosts_options, struct plain_options),
    .run = hosts_run,
};
