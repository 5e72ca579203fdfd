/* SPDX-License-Identifier: Apache-2.0 */
/* query: prints the messages nearest to a context. */
#include <inttypes.h>
#include <string.h>

#include "client/cli/cmd/commands.h"
#include "client/cli/cmd/query_common.h"

/* query_ask returns this value, before it has printed anything, if the query may succeed with fewer
 * epochs. The value is no exit code. */
enum { EPOCH_IS_LOST = -100 };

static const struct query_options query_defaults = {.asked = {.k = 10,
                                                              .max_distance_ppm = QUERY_SUGGESTED,
                                                              .since_ms = INT64_MIN,
                                                              .until_ms = INT64_MAX,
                                                              .with_payload = true,
                                                              .max_staleness_ms = UINT64_MAX},
                                                    .miss = QUERY_MISS};

static const char *const order_names[] = {"similarity", "time", "newest", NULL};

static const struct args_option query_options[] = {
    QUERY_OPTIONS,
    ARGS_RANGE("count", 'k', ARGS_NUMBER, struct query_options, asked.k, "K", 1, UINT32_MAX,
               "how many at most (10)"),
    ARGS_ROW("since", 0, ARGS_MOMENT, struct query_options, since, "TIME",
             "left since: 6h (ago) or 2026-11-20T14:00Z"),
    ARGS_ROW("until", 0, ARGS_MOMENT, struct query_options, until, "TIME", "left before: likewise"),
    ARGS_NAMES("order", 'o', struct query_options, order, order_names,
               "similarity: nearest first; time: those by time; newest: the newest"),
    ARGS_ROW("batch", 'b', ARGS_TEXT, struct query_options, batch, "FILE",
             "a question a line, {\"labels\": [...]}; - is standard input"),
    ARGS_ROW("unseen", 'u', ARGS_TEXT, struct query_options, unseen, "FILE",
             "only what was not shown before; FILE remembers it"),
    ARGS_ROW("miss", 0, ARGS_DISTANCE, struct query_options, miss, "P",
             "chance that --unseen misses a message, up to 0.5 (0.001)"),
    EPOCH_OPTION(struct query_options, epoch, "open, current, or auto: all that are known (auto)"),
    ARGS_ROW("hood", 0, ARGS_FLAG, struct query_options, hood, NULL,
             "also at the other hosts of the host's hood"),
    ARGS_RANGE("fresh", 0, ARGS_DURATION, struct query_options, asked.max_staleness_ms, "TIME", 0,
               UINT64_MAX - 1,
               "with --hood: ask also each host that was not heard for so long: 5s"),
    ARGS_ROW("json", 0, ARGS_FLAG, struct query_options, json, NULL, "one line of JSON a message"),
};

/*
 * Prints the results whose distance is at most `within`, and adds their ids to `seen` (NULL: none).
 * With --group, skips the messages that the secret of the group does not open.
 */
static int print_results(const struct cli *cli, const struct query_options *options,
                         const struct hearsay_results *results, uint32_t within, int64_t now_ms,
                         struct hearsay_seen *seen)
{
    struct hearsay_error error;
    size_t shown = 0;
    bool is_cut = false;
    for (size_t i = 0; i < results->result_count; i++) {
        struct hearsay_result result = results->results[i];
        struct hearsay_content content = {.payload = NULL};
        int status = HEARSAY_OK;
        if (result.distance_ppm > within) {
            continue;
        }
        if (options->shared != NULL) {
            status = secret_open(options->shared, &result, &content, &error);
        }
        if (status == HEARSAY_NOT_OURS) {
            continue;
        }
        int code = status == HEARSAY_OK
                       ? query_print_result(cli, options, &result, now_ms, shown == 0, &is_cut)
                       : cli_report(cli, &error);
        hearsay_content_free(&content);
        if (code != CLI_DONE) {
            return code;
        }
        shown++;
        if (seen != NULL &&
            hearsay_seen_add(seen, result.id.data, when_difference(result.expires_ms, now_ms),
                             &error) != HEARSAY_OK) {
            return cli_report(cli, &error);
        }
    }
    if (!options->hood && !results->complete && hearsay_has_capability(cli->connection, "hood")) {
        cli_complain(cli, "messages may be missing: this is a copy, or gets its messages back");
    }
    if (results->capped) {
        cli_complain(cli, "one sender's further messages were left out");
    }
    if (is_cut) {
        cli_complain(cli, "texts are cut: hearsay get ID prints a whole one%s",
                     options->ids ? "" : "; --ids shows the ids");
    }
    if (shown == 0) {
        cli_complain(cli, "nothing found");
    }
    return shown > 0 ? CLI_DONE : CLI_NEGATIVE;
}

/* Prints what the operator says, above the results. A row of a result begins with an age. */
static int print_notices(const struct cli *cli, const struct query_options *options,
                         const struct hearsay_results *results)
{
    int code = CLI_DONE;
    for (size_t i = 0; i < results->notice_count && code == CLI_DONE; i++) {
        if (options->json) {
            code = cli_print_json(cli, out_json_notice(&results->notices[i]));
            continue;
        }
        out_colour(&cli->out, OUT_BOLD);
        (void)fputs("From the house: ", cli->out.stream);
        out_colour(&cli->out, OUT_PLAIN);
        out_text(&cli->out, results->notices[i].text.text, 0);
        (void)fputc('\n', cli->out.stream);
    }
    return code;
}

/* Prints why the answer of a hood is not complete, at the end of the line of print_asked. */
static void print_lack(FILE *out, const struct hearsay_results *results)
{
    if (results->complete) {
        return;
    }
    (void)fputs("; not complete: ", out);
    if (results->bridge_away) {
        (void)fputs("the bridge is away, or does not serve this hood, so hosts of other servers "
                    "were not asked",
                    out);
    } else if (results->peers_silent > 0) {
        (void)fprintf(out, "%" PRIu32 " gave no answer", results->peers_silent);
    } else if (results->peers_skipped == 0) {
        (void)fputs("messages may be missing", out);
    }
    if (results->peers_skipped > 0) {
        (void)fprintf(out, "%s%" PRIu32 " %s more than the bridge can ask",
                      results->peers_silent > 0 ? ", " : "", results->peers_skipped,
                      results->peers_skipped == 1 ? "is" : "are");
    }
}

/* Prints how many hosts of the hood were asked, as the last line of a table. */
static void print_asked_line(const struct cli *cli, const struct hearsay_results *results)
{
    FILE *out = cli->out.stream;
    char age[WHEN_BYTES];
    when_print_span(when_difference(hearsay_now_ms(cli->connection), results->as_of_ms), age);
    (void)fprintf(out, "asked %" PRIu32 " of %" PRIu32 " other hosts%s, as of %s%s",
                  results->peers_asked, results->peers,
                  results->bridge_away ? " of this server" : "", age,
                  strcmp(age, "now") == 0 ? "" : " ago");
    if (results->peers_other > 0) {
        (void)fprintf(out, "; %" PRIu32 " with another profile not asked", results->peers_other);
    }
    print_lack(out, results);
    (void)fputc('\n', out);
}

/* Prints how many hosts were asked, below the results, which have the exit code `code`. Returns the
 * exit code. */
static int print_asked(const struct cli *cli, const struct query_options *options,
                       const struct hearsay_results *results, int code)
{
    if (!options->json) {
        print_asked_line(cli, results);
        return code;
    }
    int printed = cli_print_json(cli, out_json_asked(results));
    return printed == CLI_DONE ? code : printed;
}

static void report_beyond(const struct cli *cli, size_t beyond, uint32_t suggested)
{
    char distance[16];
    out_print_millionths(suggested, distance);
    if (beyond > 0) {
        cli_complain(cli,
                     "%zu more lie%s beyond the host's suggested distance of %s; --max-distance 1 "
                     "shows %s",
                     beyond, beyond == 1 ? "s" : "", distance, beyond == 1 ? "it" : "them");
    }
}

static size_t count_beyond(const struct hearsay_results *results, uint32_t distance)
{
    size_t count = 0;
    for (size_t i = 0; i < results->result_count; i++) {
        count += results->results[i].distance_ppm > distance ? 1 : 0;
    }
    return count;
}

/*
 * Sends the query and prints the results. `seen` (NULL: none) gets the ids of the printed messages.
 */
static int query_ask(const struct cli *cli, const struct query_options *options,
                     struct hearsay_query *query, struct hearsay_seen *seen)
{
    struct hearsay_error error;
    const struct hearsay_results *results = NULL;
    uint32_t within = query->max_distance_ppm;
    bool suggested =
        options->asked.max_distance_ppm == QUERY_SUGGESTED && within < HEARSAY_DISTANCE_ONE;
    /*
     * The nearest messages within a distance are also among the nearest messages of all. So one
     * query without a distance is enough: results beyond the distance are counted, not printed.
     * The newest messages within it need not be among the newest of all.
     */
    suggested = suggested && query->order != HEARSAY_ORDER_NEWEST;
    if (suggested) {
        query->max_distance_ppm = HEARSAY_DISTANCE_ONE;
    }
    if (hearsay_query(cli->connection, query, cli_timeout(cli), &results, &error) != HEARSAY_OK) {
        /* A server whose store was restored may not know all epochs. */
        return error.code == HEARSAY_CODE_UNKNOWN_EPOCH && options->epoch == EPOCH_AUTO &&
                       query->part_count > 2
                   ? EPOCH_IS_LOST
                   : cli_report(cli, &error);
    }
    size_t beyond = suggested ? count_beyond(results, within) : 0;
    int code = print_notices(cli, options, results);
    if (code == CLI_DONE) {
        code = print_results(cli, options, results, within, hearsay_now_ms(cli->connection), seen);
        if (options->hood) {
            code = print_asked(cli, options, results, code);
        }
    }
    report_beyond(cli, beyond, within);
    return code;
}

/* Sends the query. With --unseen, the server leaves out the messages whose ids are in the file of
 * --unseen, and the ids of the shown messages are added to the file. */
static int ask_unseen(const struct cli *cli, const struct query_options *options,
                      struct hearsay_query *query)
{
    struct hearsay_error error;
    struct hearsay_seen *seen = NULL;
    if (options->unseen == NULL) {
        return query_ask(cli, options, query, NULL);
    }
    if (hearsay_seen_open(options->unseen, &seen, &error) != HEARSAY_OK) {
        return cli_report(cli, &error);
    }
    if (hearsay_seen_exclude(seen, cli->connection, options->miss, query, &error) != HEARSAY_OK) {
        hearsay_seen_close(seen);
        return cli_report(cli, &error);
    }
    size_t before = hearsay_seen_count(seen);
    int code = query_ask(cli, options, query, seen);
    /* The output is flushed before the file is saved: a message whose id was saved, but which was
     * not printed, would not be shown the next time. */
    if (code == CLI_DONE) {
        code = cli_flush(cli);
    }
    bool nothing_new = code == CLI_NEGATIVE && hearsay_seen_count(seen) == before;
    if ((code == CLI_DONE || nothing_new) && hearsay_seen_save(seen, &error) != HEARSAY_OK) {
        code = cli_report(cli, &error);
    }
    hearsay_seen_close(seen);
    return code;
}

static int ask_parts(const struct cli *cli, const struct query_options *options,
                     const struct asked_from *from)
{
    struct hearsay_error error;
    struct asked asked;
    struct hearsay_query query;
    bool about_contains = false;
    query_prepare(options, cli->connection, from->host, &query);
    int code = CLI_DONE;
    if (asked_make(&asked, cli->connection, from, &query, &about_contains, &error) == HEARSAY_OK) {
        fullness_warn_query(cli, cli->connection, from, &asked);
        code = ask_unseen(cli, options, &query);
    } else {
        code = cli_report(cli, &error);
    }
    asked_free(&asked);
    return code;
}

static int query_once(const struct cli *cli, struct query_options *options,
                      struct hearsay_context *context)
{
    const struct hearsay_host *host = NULL;
    struct hearsay_error error;
    struct hearsay_recent *lately = NULL;
    struct epochs epochs;
    int code = cli_find_host(cli, cli->connection, options->host, &host);
    if (code == CLI_DONE) {
        code = query_complete_context(cli, options, host, context);
    }
    if (code == CLI_DONE && query_open_memory(options, host, &lately, &error) != HEARSAY_OK) {
        code = cli_report(cli, &error);
    }
    if (code != CLI_DONE) {
        return code;
    }
    struct asked_from from = {
        .host = host,
        .group = options->shared,
        .epochs = &epochs,
        .contains = options->contains.items,
        .contains_count = options->contains.count,
        .lately = lately,
    };
    from.labels = hearsay_context_labels(context, &from.label_count);
    code = epoch_find(cli, cli->connection, host, (enum epoch_choice)options->epoch, &epochs);
    if (code == CLI_DONE) {
        code = ask_parts(cli, options, &from);
    }
    if (code == EPOCH_IS_LOST) {
        cli_complain(cli, "the server has lost epochs; asking in the current one only");
        (void)epoch_find(cli, cli->connection, host, EPOCH_LATEST,
                         &epochs); /* has no reason to fail */
        code = ask_parts(cli, options, &from);
    }
    hearsay_recent_close(lately);
    return code;
}

/*
 * Refuses options that exclude each other. Returns CLI_DONE, or an exit code after printing the
 * error.
 */
static int query_check(const struct cli *cli, const struct query_options *chosen)
{
    if (chosen->batch != NULL &&
        (sensed_given(&chosen->sensed) || chosen->no_here || chosen->channel != NULL)) {
        return cli_misuse(cli, "--batch and --label, --wifi, --scan, --at, --time, --topic, "
                               "--no-here and --channel exclude each other");
    }
    if (chosen->batch != NULL && (chosen->memory != NULL || chosen->unseen != NULL)) {
        return cli_misuse(cli, "--batch and --%s exclude each other",
                          chosen->memory != NULL ? "memory" : "unseen");
    }
    if (chosen->hood && chosen->unseen != NULL) {
        return cli_misuse(cli, "--hood and --unseen exclude each other: messages of several hosts "
                               "may have the same id, and the file has ids only");
    }
    if (chosen->asked.max_staleness_ms != UINT64_MAX && !chosen->hood) {
        return cli_misuse(cli, "--fresh is of use with --hood only");
    }
    if (chosen->miss == 0 || chosen->miss > QUERY_MISS_MAX) {
        return cli_misuse(cli, "--miss must be 0.000001 to 0.5");
    }
    if (chosen->miss != QUERY_MISS && chosen->unseen == NULL) {
        return cli_misuse(cli, "--miss is of use with --unseen only");
    }
    return CLI_DONE;
}

/*
 * Runs the query with the context of the options and of `channel`. Without --channel, the channel
 * has no labels.
 */
static int query_with_channel(struct cli *cli, struct query_options *chosen,
                              const struct channel *channel)
{
    struct hearsay_context *context = NULL;
    int code = CLI_DONE;
    if (chosen->batch == NULL) {
        code = query_begin_context(cli, chosen, channel, &context);
    }
    if (code == CLI_DONE && chosen->group != NULL) {
        code = secret_group(cli, chosen->group, &chosen->shared);
    }
    if (code == CLI_DONE) {
        code = connect_server(cli);
    }
    if (code == CLI_DONE) {
        code = chosen->batch != NULL ? query_batch(cli, chosen) : query_once(cli, chosen, context);
    }
    hearsay_context_free(context);
    hearsay_group_free(chosen->shared);
    return code;
}

static int query_run(struct cli *cli, void *options)
{
    struct query_options *chosen = options;
    struct channel channel = {.file = NULL};
    int code = query_find_channel(cli, chosen->channel, &channel, &chosen->group, &chosen->host);
    if (code == CLI_DONE) {
        code = query_check(cli, chosen);
    }
    if (code == CLI_DONE) {
        code = query_with_channel(cli, chosen, &channel);
    }
    channel_free(&channel);
    return code;
}

const struct cli_command command_query = {
    .name = "query",
    .summary = "find the messages nearest to a context",
    .arguments = "[CONTEXT... | --memory FILE | --batch FILE] [OPTION]...",
    .details =
        "CONTEXT is any of --label, --wifi, --scan, --at, --time and --topic together. Where the\n"
        "server says what is around its access point, that is added, unless --no-here is given.\n"
        "If CONTEXT is one topic, one access point or one other label, only messages with it are\n"
        "found, however far; what is around here then only decides the order.\n"
        "Prints age, similarity and text. Exit code 1 when nothing is near enough.\n\n"
        "With --unseen the server leaves out what was shown before and sends K others. It is\n"
        "told by a filter of the ids, which takes another message for a seen one with chance P.\n\n"
        "Where a host has epochs, all those are asked in whose keys the user was given, on site,\n"
        "and which still live; and the open one. Keys are kept in $XDG_STATE_HOME/hearsay/keys.\n"
        "With --group only that group's messages are found, and opened.\n\n"
        "With --batch every line is a JSON object: the context (\"labels\", an array of strings;\n"
        "\"wifi\", \"at\", \"time\", \"topics\"), perhaps \"k\", \"contains\" (array of\n"
        "strings), \"max_distance\". Each is answered by one line, in order:\n"
        "{\"results\": [...], \"comparisons\": N, \"exact\": true,\n"
        "\"capped\": false}, or {\"error\": \"line N: "
        "...\"},\n"
        "which makes the exit code 1. The other options apply to all of them.\n",
    .examples = "  hearsay query --channel kitchen --since 12h --order time\n"
                "  hearsay query -l wifi:a4:2b:8c:01:02:03 -l geo:u281zd\n"
                "  iw dev wlan0 scan | hearsay query --scan - --at 48.1497,11.5678\n"
                "  hearsay query -l geo:u281zd --contains topic:coffee --since 6h --order time\n"
                "  hearsay query -l geo:u281zd --unseen seen\n"
                "  hearsay query -l geo:u281zd --group ~/.config/hearsay/team\n"
                "  hearsay query -l geo:u281zd -k 100 --max-distance 1 --json\n"
                "  echo '{\"labels\": [\"geo:u281zd\"], \"k\": 3}' | hearsay query --batch -\n",
    CLI_OPTIONS(query_options, struct query_options),
    .defaults = &query_defaults,
    .words_max = CLI_ONLY_LABELS,
    .run = query_run,
};
