/* SPDX-License-Identifier: Apache-2.0 */
/* watch: prints the messages near to a context that the server pushes: new ones, and with --since
 * or --after-seq also stored ones. */
#include <signal.h>
#include <string.h>

#include "client/cli/cmd/commands.h"
#include "client/cli/cmd/query_common.h"

struct watch_options {
    struct query_options query; /* first: its options are rows of this command, too */
    const char *after_seq;
    const char *re; /* the id of the message whose answers are watched; NULL: none */
    uint32_t count; /* 0: for ever */
};
_Static_assert(offsetof(struct watch_options, query) == 0, "QUERY_OPTIONS are at its beginning");

static const struct watch_options watch_defaults = {
    .query = {.asked = {.k = 1,
                        .max_distance_ppm = QUERY_SUGGESTED,
                        .since_ms = INT64_MIN,
                        .until_ms = INT64_MAX,
                        .with_payload = true}}};

static const struct args_option watch_options[] = {
    QUERY_OPTIONS,
    ARGS_ROW("after-seq", 0, ARGS_TEXT, struct watch_options, after_seq, "N",
             "first what came after N; 0: all there is (from now on)"),
    ARGS_ROW("since", 0, ARGS_MOMENT, struct watch_options, query.since, "TIME",
             "first what was left since: 6h (ago) or 2026-11-20T14:00Z"),
    ARGS_RANGE("count", 'k', ARGS_NUMBER, struct watch_options, count, "N", 1, UINT32_MAX,
               "ends after N messages (never)"),
    ARGS_ROW("re", 0, ARGS_TEXT, struct watch_options, re, "ID",
             "the answers to this message; without CONTEXT"),
    EPOCH_OPTION(struct watch_options, query.epoch,
                 "open, or current: in that one only (all whose keys are known)"),
    ARGS_ROW("json", 0, ARGS_FLAG, struct watch_options, query.json, NULL,
             "one line of JSON a message, with its sequence number"),
};

/* The handler of SIGINT and SIGTERM sets this flag. A signal handler gets no pointer, so the flag
 * is global. */
static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    (void)number;
    interrupted = 1;
}

/* One watch under way. */
struct watch_run {
    const struct cli *cli;
    struct watch_options *options;
    struct hearsay_context *context;
    bool has_here;         /* its labels were added */
    const uint8_t *parent; /* whose answers are watched; NULL: messages near to the context are */
    enum epoch_choice epoch;
    struct asked asked;
    uint32_t shown;
    int code;
};

static int connect_to(void *context, const uint8_t *token, size_t token_bytes,
                      struct hearsay **out_server, struct hearsay_error *error)
{
    const struct watch_run *run = context;
    return connect_resuming(run->cli, token, token_bytes, out_server, error);
}

/* Ends the watch after an error that was already printed. */
static int fail_with(struct watch_run *run, int code, struct hearsay_error *error)
{
    run->code = code;
    memset(error, 0, sizeof(*error));
    error->status = HEARSAY_ERR_ARGUMENT;
    return HEARSAY_ERR_ARGUMENT;
}

/*
 * Finds the epochs to watch: the newest, with the open epoch at most as many as the server allows
 * filters in the watches of a session.
 */
static int find_epochs(const struct watch_run *run, const struct hearsay *server,
                       const struct hearsay_host *host, struct epochs *out)
{
    uint32_t most = hearsay_welcome(server)->limits.watches_per_session;
    int code = epoch_find(run->cli, server, host, run->epoch, out);
    if (code == CLI_DONE && most > 0 && out->known_count + (out->open ? 1 : 0) > most) {
        out->known_count = most - (out->open ? 1 : 0);
    }
    return code;
}

/* Makes a query for the answers to a message. */
static int prepare_answers(struct watch_run *run, const struct hearsay *server,
                           const struct hearsay_host *host, struct hearsay_query *query)
{
    query_prepare(&run->options->query, server, host, query);
    query->answers = hearsay_bytes(run->parent, HEARSAY_ID_BYTES);
    return HEARSAY_OK;
}

static int watch_prepare(void *context, struct hearsay *server, struct hearsay_query *query,
                         struct hearsay_error *error)
{
    struct watch_run *run = context;
    struct query_options *options = &run->options->query;
    const struct hearsay_host *host = NULL;
    struct epochs epochs;
    bool about_contains = false;
    int code = cli_find_host(run->cli, server, options->host, &host);
    if (code == CLI_DONE && run->parent != NULL) {
        return prepare_answers(run, server, host, query);
    }
    if (code == CLI_DONE && !run->has_here) {
        code = query_complete_context(run->cli, options, host, run->context);
        run->has_here = true;
    }
    if (code == CLI_DONE) {
        code = find_epochs(run, server, host, &epochs);
    }
    if (code != CLI_DONE) {
        return fail_with(run, code, error);
    }
    struct asked_from from = {
        .host = host,
        .group = options->shared,
        .epochs = &epochs,
        .contains = options->contains.items,
        .contains_count = options->contains.count,
    };
    struct hearsay_recent *lately = NULL;
    int status = query_open_memory(options, host, &lately, error);
    if (status != HEARSAY_OK) {
        return status;
    }
    from.lately = lately;
    from.labels = hearsay_context_labels(run->context, &from.label_count);
    query_prepare(options, server, host, query);
    asked_free(&run->asked);
    status = asked_make(&run->asked, server, &from, query, &about_contains, error);
    if (status == HEARSAY_OK) {
        fullness_warn_query(run->cli, server, &from, &run->asked);
    }
    hearsay_recent_close(lately);
    return status;
}

static int print_match(const struct watch_run *run, const struct hearsay *server, uint64_t seq,
                       const struct hearsay_result *result)
{
    const struct cli *cli = run->cli;
    int code = CLI_DONE;
    if (run->options->query.json) {
        json_t *object = out_json_result(result, true);
        out_json_set(&object, "seq", json_integer((json_int_t)seq));
        code = cli_print_json(cli, object);
    } else {
        code = query_print_result(cli, &run->options->query, result, hearsay_now_ms(server),
                                  run->shown == 0, NULL);
    }
    return code == CLI_DONE ? cli_flush(cli)
                            : code; /* flush each message: a reader may wait for it */
}

static bool on_match(void *context, const struct hearsay *server, const struct hearsay_match *match)
{
    struct watch_run *run = context;
    const struct hearsay_group *group = run->options->query.shared;
    struct hearsay_result result = match->result;
    struct hearsay_content content = {.payload = NULL};
    struct hearsay_error error;
    int status = group != NULL ? secret_open(group, &result, &content, &error) : HEARSAY_OK;
    if (status == HEARSAY_NOT_OURS) { /* the filter is near by chance */
        return true;
    }
    run->code = status == HEARSAY_OK ? print_match(run, server, match->seq, &result)
                                     : cli_report(run->cli, &error);
    hearsay_content_free(&content);
    if (run->code != CLI_DONE) {
        return false;
    }
    run->shown++;
    return run->options->count == 0 || run->shown < run->options->count;
}

static void on_dropped(void *context, const struct hearsay_error *why)
{
    const struct watch_run *run = context;
    cli_complain(run->cli, "the server had ended the connection: %s", why->sentence);
}

static bool on_lost(void *context, const struct hearsay_error *why, int retry_ms)
{
    const struct watch_run *run = context;
    cli_complain(run->cli, "%s; trying again in %d s", why->sentence, (retry_ms + 999) / 1000);
    return true;
}

static bool on_goes_on(void *context)
{
    (void)context;
    return interrupted == 0;
}

static void catch_signals(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof(action));
    action.sa_handler = on_signal;
    (void)sigaction(SIGINT, &action, NULL); /* both fail for wrong numbers only */
    (void)sigaction(SIGTERM, &action, NULL);
}

/*
 * Chooses the sequence number to start after: the value of --after-seq, else 0 with --since, else
 * HEARSAY_NO_SEQ, which means only new messages.
 */
static int choose_start(const struct cli *cli, const struct watch_options *options,
                        uint64_t *out_after)
{
    *out_after = options->query.since.kind != ARGS_NO_MOMENT ? 0 : HEARSAY_NO_SEQ;
    if (options->after_seq != NULL &&
        number_parse(options->after_seq, 0, INT64_MAX, out_after) != 0) {
        return cli_misuse(cli, "--after-seq takes a number from 0 on, not \"%.80s\"",
                          options->after_seq);
    }
    return CLI_DONE;
}

static int watch_until_end(struct watch_run *run, uint64_t after_seq)
{
    struct hearsay_watch watch = {
        .connection = {.timeout_ms = cli_timeout(run->cli)},
        .after_seq = after_seq,
        .context = run,
        .connect = connect_to,
        .prepare = watch_prepare,
        .match = on_match,
        .dropped = on_dropped,
        .lost = on_lost,
        .goes_on = on_goes_on,
    };
    struct hearsay_error error;
    catch_signals();
    int status = hearsay_watch(&watch, &error);
    /* The server may not know an epoch whose key the client has: the server's store was restored
     * from a backup, or another server gave the key. */
    if (status != HEARSAY_OK && run->code == CLI_DONE && run->shown == 0 &&
        error.code == HEARSAY_CODE_UNKNOWN_EPOCH && run->epoch == EPOCH_AUTO) {
        cli_complain(run->cli, "the server does not have all epochs whose keys are known; watching "
                               "in the open one and the current one only");
        run->epoch = EPOCH_LATEST;
        status = hearsay_watch(&watch, &error);
    }
    if (status != HEARSAY_OK && run->code == CLI_DONE) {
        run->code = cli_report(run->cli, &error);
    }
    return run->code;
}

/* Makes the context. With --re there is none. */
static int watch_context(const struct cli *cli, struct watch_options *chosen,
                         const struct channel *channel, struct hearsay_context **out_context)
{
    size_t count = 0;
    if (chosen->re == NULL) {
        return query_begin_context(cli, &chosen->query, channel, out_context);
    }
    int code = query_read_context(cli, &chosen->query.sensed, true, channel, out_context);
    if (code == CLI_DONE) {
        (void)hearsay_context_labels(*out_context, &count);
    }
    if (count > 0 || chosen->query.memory != NULL || chosen->query.contains.count > 0) {
        return cli_misuse(cli, "--re takes no context, no --channel, --memory or --contains: all "
                               "answers to the message are shown");
    }
    return code;
}

static int watch_run(struct cli *cli, void *options)
{
    struct watch_options *chosen = options;
    struct query_options *query = &chosen->query;
    uint8_t parent[HEARSAY_ID_BYTES];
    if (chosen->re != NULL && cli_parse_id(cli, chosen->re, parent) != CLI_DONE) {
        return CLI_USAGE;
    }
    struct hearsay_context *context = NULL;
    struct channel channel = {.file = NULL};
    uint64_t after_seq = HEARSAY_NO_SEQ;
    int code = choose_start(cli, chosen, &after_seq);
    if (code == CLI_DONE) {
        code = query_find_channel(cli, query->channel, &channel, &query->group, &query->host);
    }
    if (code == CLI_DONE) {
        code = watch_context(cli, chosen, &channel, &context);
    }
    if (code == CLI_DONE && query->group != NULL) {
        code = secret_group(cli, query->group, &query->shared);
    }
    if (code == CLI_DONE) {
        struct watch_run run = {.cli = cli,
                                .options = chosen,
                                .context = context,
                                .parent = chosen->re != NULL ? parent : NULL,
                                .epoch = (enum epoch_choice)query->epoch};
        code = watch_until_end(&run, after_seq);
        asked_free(&run.asked);
    }
    hearsay_context_free(context);
    hearsay_group_free(query->shared);
    channel_free(&channel);
    return code;
}

const struct cli_command command_watch = {
    .name = "watch",
    .summary = "show the messages near to a context as they come",
    .arguments = "[CONTEXT... | --memory FILE] [OPTION]...",
    .details =
        "CONTEXT is any of --label, --wifi, --scan, --at, --time and --topic together, read once,\n"
        "at the beginning. Where the server says what is around its access point, that is added,\n"
        "unless --no-here is given. If CONTEXT is one topic, one access point or one other label,\n"
        "only messages with it are shown, however far.\n"
        "Prints each message as soon as it is left, once and in order.\n"
        "With --re only the answers to one message are shown, and no other messages.\n\n"
        "When the connection is lost it connects again, after 1 s, then twice as long each time "
        "up\n"
        "to 60 s, and goes on where it was: nothing is missed but what has expired meanwhile, or\n"
        "was taken back. Ends with an interrupt (Ctrl-C) or after --count messages.\n\n"
        "With --json each message has its sequence number, \"seq\": to go on from there later, "
        "give\n"
        "it as --after-seq.\n",
    .examples = "  hearsay watch -l wifi:a4:2b:8c:01:02:03 -l geo:u281zd\n"
                "  hearsay watch -l geo:u281zd --contains topic:coffee --max-distance 1\n"
                "  hearsay watch --re 00112233445566778899aabbccddeeff --after-seq 0\n"
                "  hearsay watch --channel kitchen --since 12h\n"
                "  hearsay watch -l geo:u281zd --json --after-seq 4711 --count 1\n",
    CLI_OPTIONS(watch_options, struct watch_options),
    .defaults = &watch_defaults,
    .words_max = CLI_ONLY_LABELS,
    .run = watch_run,
};
