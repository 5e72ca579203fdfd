/* SPDX-License-Identifier: Apache-2.0 */
/* admin stats: the daemon's numbers, once or as a page that stays up to date. */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "client/cli/admin.h"
#include "client/cli/commands.h"

struct stats_options {
    const char *host;
    bool json;
    bool watch;
    uint64_t interval_ms;
};

static const struct stats_options stats_defaults = {.interval_ms = 1000};

static const struct args_option stats_options[] = {
    {.name = "host",
     .kind = ARGS_TEXT,
     .offset = offsetof(struct stats_options, host),
     .value = "HOST",
     .help = "only this one (all hosts)"},
    {.name = "watch",
     .letter = 'w',
     .kind = ARGS_FLAG,
     .offset = offsetof(struct stats_options, watch),
     .help = "again and again, until interrupted"},
    {.name = "interval",
     .kind = ARGS_DURATION,
     .offset = offsetof(struct stats_options, interval_ms),
     .value = "TIME",
     .min = 100,
     .max = 3600 * 1000,
     .help = "between two looks of --watch (1s)"},
    {.name = "json",
     .kind = ARGS_FLAG,
     .offset = offsetof(struct stats_options, json),
     .help = "one line of JSON, name by name"},
};

/* --- reading ---------------------------------------------------------------------------------- */

/* The figure of that name, 0 where the server has none such. */
static int64_t figure(const struct hearsay_admin_reply *reply, const char *name)
{
    for (size_t i = 0; i < reply->figure_count; i++) {
        if (strcmp(reply->figures[i].name, name) == 0) {
            return reply->figures[i].value;
        }
    }
    return 0;
}

static uint64_t amount(const struct hearsay_admin_reply *reply, const char *name)
{
    int64_t value = figure(reply, name);
    return value > 0 ? (uint64_t)value : 0;
}

/* One of a host's: host/NAME/FIGURE. */
static uint64_t amount_of(const struct hearsay_admin_reply *reply, const char *host,
                          const char *what)
{
    char name[160];
    (void)snprintf(name, sizeof(name), "host/%s/%s", host, what); /* hosts have 63 bytes at most */
    return amount(reply, name);
}

/* What was counted when the page was shown before, for rates. */
struct earlier {
    bool known;
    int64_t uptime_s;
    uint64_t deposits;
    uint64_t queries;
};

/* --- the page --------------------------------------------------------------------------------- */

static void print_usage(const struct cli *cli, uint64_t messages, uint64_t messages_max,
                        uint64_t bytes, uint64_t bytes_max)
{
    char now[16];
    char most[16];
    out_print_size(bytes, now);
    out_print_size(bytes_max, most);
    (void)fprintf(cli->out.stream, "%" PRIu64 " of %" PRIu64 " messages, %s of %s", messages,
                  messages_max, now, most);
}

static void print_latency(const struct cli *cli, const struct hearsay_admin_reply *reply,
                          const char *name, const char *title, uint64_t before, bool known,
                          int64_t elapsed_s)
{
    static const char *const parts[] = {"p50", "p90", "p99", "max"};
    FILE *stream = cli->out.stream;
    char key[64];
    (void)snprintf(key, sizeof(key), "%s_total", name);
    const uint64_t total = amount(reply, key);
    (void)snprintf(key, sizeof(key), "%s_per_minute", name);
    (void)fprintf(stream, "%-10s %12" PRIu64 " %10" PRIu64, title, total, amount(reply, key));
    if (known && elapsed_s > 0 && total >= before) {
        (void)fprintf(stream, " %10" PRIu64, (total - before) / (uint64_t)elapsed_s);
    } else {
        (void)fprintf(stream, " %10s", "-");
    }
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        (void)snprintf(key, sizeof(key), "%s_%s_us", name, parts[i]);
        (void)fprintf(stream, " %9.2f", (double)amount(reply, key) / 1000);
    }
    (void)fputc('\n', stream);
}

static void print_hosts(const struct cli *cli, const struct hearsay_welcome *welcome,
                        const struct hearsay_admin_reply *reply, const char *only)
{
    FILE *stream = cli->out.stream;
    for (size_t i = 0; i < welcome->host_count; i++) {
        const char *host = welcome->hosts[i].name;
        if (only != NULL && strcmp(only, host) != 0) {
            continue;
        }
        (void)fprintf(stream, "host       %s (%s)\n           ", host, welcome->hosts[i].profile);
        print_usage(cli, amount_of(reply, host, "messages"), amount_of(reply, host, "messages_max"),
                    amount_of(reply, host, "bytes"), amount_of(reply, host, "bytes_max"));
        (void)fprintf(stream,
                      "\n           %" PRIu64 " shown, %" PRIu64 " hidden (%" PRIu64
                      " for review), fill %.1f %%, tree height %" PRIu64,
                      amount_of(reply, host, "shown"), amount_of(reply, host, "hidden"),
                      amount_of(reply, host, "pending"),
                      (double)amount_of(reply, host, "fill_ppm") / 10000,
                      amount_of(reply, host, "tree_height"));
        (void)fputc('\n', stream);
    }
}

static void print_watches(const struct cli *cli, const struct hearsay_admin_reply *reply)
{
    FILE *stream = cli->out.stream;
    (void)fprintf(stream,
                  "watches    %" PRIu64 " of %" PRIu64 " clients, with %" PRIu64 " of %" PRIu64
                  " filters; %" PRIu64 " catch up\n",
                  amount(reply, "watches"), amount(reply, "watch_clients"),
                  amount(reply, "watch_filters"), amount(reply, "watch_filters_max"),
                  amount(reply, "watches_catching_up"));
    (void)fprintf(stream,
                  "           %" PRIu64 " matches pushed, %" PRIu64 " wait, %" PRIu64
                  " deposits to match; dropped: %" PRIu64 " slow, %" PRIu64 " failed\n",
                  amount(reply, "matches_total"), amount(reply, "matches_waiting"),
                  amount(reply, "match_deposits_waiting"),
                  amount(reply, "watch_dropped_slow_total"),
                  amount(reply, "watch_dropped_failed_total"));
}

static void print_store(const struct cli *cli, const struct hearsay_admin_reply *reply)
{
    char file[16];
    char log[16];
    char resident[16];
    out_print_size(amount(reply, "store_file_bytes"), file);
    out_print_size(amount(reply, "store_log_bytes"), log);
    out_print_size(amount(reply, "resident_bytes"), resident);
    (void)fprintf(cli->out.stream,
                  "store      %s, log %s; %" PRIu64 " operations in %" PRIu64 " commits, %" PRIu64
                  " failures\nmemory     %s\n",
                  file, log, amount(reply, "store_operations"), amount(reply, "store_transactions"),
                  amount(reply, "store_failures"), resident);
}

static void print_page(const struct cli *cli, const struct hearsay_welcome *welcome,
                       const struct hearsay_admin_reply *reply, const char *only,
                       struct earlier *earlier)
{
    FILE *stream = cli->out.stream;
    const int64_t uptime_s = figure(reply, "uptime_s");
    const int64_t elapsed_s = uptime_s - earlier->uptime_s;
    (void)fputs("daemon     ", stream);
    out_text(&cli->out, welcome->agent, 0);
    (void)fprintf(stream,
                  ", up %" PRId64 " d %02d:%02d:%02d\n"
                  "all        ",
                  uptime_s / 86400, (int)(uptime_s / 3600 % 24), (int)(uptime_s / 60 % 60),
                  (int)(uptime_s % 60));
    print_usage(cli, amount(reply, "messages"), amount(reply, "messages_max"),
                amount(reply, "bytes"), amount(reply, "bytes_max"));
    (void)fputc('\n', stream);
    print_hosts(cli, welcome, reply, only);
    (void)fprintf(stream, "%-10s %12s %10s %10s %9s %9s %9s %9s\n", "", "in all", "a minute",
                  "a second", "p50 ms", "p90 ms", "p99 ms", "max ms");
    print_latency(cli, reply, "deposit", "deposits", earlier->deposits, earlier->known, elapsed_s);
    print_latency(cli, reply, "query", "queries", earlier->queries, earlier->known, elapsed_s);
    (void)fprintf(stream, "           %" PRIu64 " comparisons a query\n",
                  amount(reply, "comparisons_per_query"));
    (void)fprintf(stream,
                  "queues     %" PRIu64 " sessions, %" PRIu64 " requests under way, %" PRIu64
                  " searches and %" PRIu64 " that wait\n",
                  amount(reply, "sessions"), amount(reply, "working"), amount(reply, "searches"),
                  amount(reply, "searches_waiting"));
    print_watches(cli, reply);
    print_store(cli, reply);
    *earlier = (struct earlier){true, uptime_s, amount(reply, "deposit_total"),
                                amount(reply, "query_total")};
}

static int print_json(const struct cli *cli, const struct hearsay_admin_reply *reply)
{
    json_t *line = json_object();
    int failed = line == NULL;
    for (size_t i = 0; i < reply->figure_count; i++) {
        failed |= json_object_set_new(line, reply->figures[i].name,
                                      json_integer(reply->figures[i].value));
    }
    if (failed != 0) {
        json_decref(line);
        return cli_report_nomem(cli);
    }
    return out_json(&cli->out, line) == 0 ? CLI_DONE : cli_report_nomem(cli);
}

/* --- running ---------------------------------------------------------------------------------- */

static void wait_ms(uint64_t ms)
{
    const struct timespec pause = {.tv_sec = (time_t)(ms / 1000),
                                   .tv_nsec = (long)(ms % 1000) * 1000000};
    (void)nanosleep(&pause, NULL); /* woken early by a signal: a look too soon does no harm */
}

static int show(const struct cli *cli, struct hearsay *server, const struct stats_options *chosen)
{
    const struct hearsay_admin admin = {.kind = HEARSAY_ADMIN_STATS, .host = chosen->host};
    struct earlier earlier = {.known = false};
    for (;;) {
        const struct hearsay_admin_reply *reply = NULL;
        int code = admin_ask(cli, server, &admin, false, &reply);
        if (code == CLI_DONE && chosen->json) {
            code = print_json(cli, reply);
        } else if (code == CLI_DONE) {
            if (chosen->watch && cli->out.terminal) {
                (void)fputs("\033[H\033[J", cli->out.stream); /* from the top, on an empty page */
            }
            print_page(cli, hearsay_welcome(server), reply, chosen->host, &earlier);
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

static int stats_run(struct cli *cli, void *options, int word_count, char *const *words)
{
    const struct stats_options *chosen = options;
    struct hearsay *server = NULL;
    if (word_count > 0) {
        return cli_misuse_word(cli, words[0]);
    }
    int code = admin_connect(cli, chosen->host, &server);
    if (code == CLI_DONE) {
        code = show(cli, server, chosen);
        hearsay_close(server);
    }
    return code;
}

const struct cli_command command_admin_stats = {
    .name = "admin stats",
    .summary = "show the daemon's numbers",
    .arguments = "[OPTION]...",
    .details =
        "Messages and bytes, rates, latencies (percentiles of the last one to two minutes,\n"
        "from a request taken to its answer given), queues, watches, and the store. With --json\n"
        "all of them by name; docs/operations.md says what each is.\n",
    .examples = "  hearsay --server /var/lib/hearsay/hearsayd.sock admin stats --watch\n"
                "  hearsay admin stats --json | jq .query_p99_us\n",
    .options = stats_options,
    .option_count = sizeof(stats_options) / sizeof(stats_options[0]),
    .defaults = &stats_defaults,
    .options_bytes = sizeof(stats_defaults),
    .run = stats_run,
};
