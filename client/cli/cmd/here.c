/* SPDX-License-Identifier: Apache-2.0 */
/*
 * here: without --memory, prints the labels that the access point sends. With --memory, stores the
 * present context in a file as one round, and prints how many bits the filters have set, and no
 * labels. The present context has the labels that the user gives; if the user gives none, the
 * labels that the access point sends.
 */
#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "client/cli/cmd/commands.h"
#include "client/cli/input/input.h"

enum { ROUNDS_DEFAULT = 8 };

struct here_options {
    struct sensed sensed;
    const char *memory;
    uint32_t rounds; /* 0: the file's, or ROUNDS_DEFAULT for a new one */
    const char *host;
    const char *profile;
    bool places;
    bool json;
};

static const struct args_option here_options[] = {
    ARGS_ROW("memory", 0, ARGS_TEXT, struct here_options, memory, "FILE",
             "remember the context of now there; made where there is none"),
    SENSED_OPTIONS(struct here_options, sensed),
    ARGS_RANGE("rounds", 'r', ARGS_NUMBER, struct here_options, rounds, "R", 1, 255,
               "a context stays for R rounds (those of the file; 8)"),
    ARGS_ROW("host", 0, ARGS_TEXT, struct here_options, host, "HOST",
             "whose profile a new memory takes (the first host)"),
    ARGS_ROW("profile", 0, ARGS_TEXT, struct here_options, profile, "PROFILE",
             "that profile, without asking a server: v2:512/4"),
    ARGS_ROW("places", 0, ARGS_FLAG, struct here_options, places, NULL,
             "the names of the server's places instead, one a line"),
    ARGS_ROW("json", 0, ARGS_FLAG, struct here_options, json, NULL, "one line of JSON"),
};

static int here_print(const struct cli *cli, const struct here_options *options,
                      const struct hearsay_recent *recent, const struct hearsay_filter *here)
{
    struct hearsay_filter blended = {.bits = 0};
    struct hearsay_error error;
    if (hearsay_recent_add(recent, NULL, &blended, &error) != HEARSAY_OK) {
        return cli_report(cli, &error);
    }
    uint32_t set = cli_count_bits(hearsay_filter_bytes(&blended));
    uint32_t rounds = hearsay_recent_rounds(recent);
    if (!options->json) {
        (void)fprintf(cli->out.stream,
                      "%" PRIu32 " bits here, %" PRIu32 " of %" PRIu32 " in %" PRIu32
                      " round%s (%" PRIu32 ".%" PRIu32 " %%)\n",
                      cli_count_bits(hearsay_filter_bytes(here)), set, blended.bits, rounds,
                      rounds == 1 ? "" : "s", set * 100 / blended.bits,
                      set * 1000 / blended.bits % 10);
        return CLI_DONE;
    }
    json_t *line =
        json_pack("{s:s, s:I, s:I, s:I, s:o}", "profile", hearsay_recent_profile(recent), "rounds",
                  (json_int_t)rounds, "here_bits",
                  (json_int_t)cli_count_bits(hearsay_filter_bytes(here)), "memory_bits",
                  (json_int_t)set, "filter", out_json_base64(blended.bytes, blended.byte_count));
    return cli_print_json(cli, line);
}

/* Stores one round in the file of --memory, and prints the result. */
static int here_remember(const struct cli *cli, const struct here_options *options,
                         const struct hearsay_context *context, const char *profile)
{
    size_t count = 0;
    const char *const *labels = hearsay_context_labels(context, &count);
    struct hearsay_recent *recent = NULL;
    struct hearsay_filter here;
    struct hearsay_error error;
    bool is_new = access(options->memory, F_OK) != 0 && errno == ENOENT;
    uint32_t rounds = options->rounds == 0 && is_new ? ROUNDS_DEFAULT : options->rounds;
    if (hearsay_recent_open(options->memory, profile, rounds, &recent, &error) != HEARSAY_OK) {
        return cli_report(cli, &error);
    }
    int code = CLI_DONE;
    if (hearsay_recent_round(recent, labels, count, &here, &error) != HEARSAY_OK ||
        hearsay_recent_save(recent, &error) != HEARSAY_OK) {
        code = cli_report(cli, &error);
    } else {
        code = here_print(cli, options, recent, &here);
    }
    hearsay_recent_close(recent);
    return code;
}

static json_t *json_texts(const struct hearsay_text *texts, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++) {
        out_json_append(&array, json_string(texts[i].text));
    }
    return array;
}

static int print_json(const struct cli *cli, const struct hearsay_host *host,
                      const struct hearsay_here_labels *here, bool places)
{
    json_t *texts = places ? json_texts(here->places, here->place_count)
                           : json_texts(here->labels, here->label_count);
    return cli_print_json(cli, json_pack("{s:s, s:s*, s:o}", "host", host->name, "name",
                                         here->name.text, places ? "places" : "labels", texts));
}

static int print_labels(const struct cli *cli, const struct here_options *options,
                        const struct hearsay_host *host)
{
    struct hearsay_request request = {
        .kind = HEARSAY_REQUEST_HERE,
        .here = {.host = hearsay_text(host->name), .places = options->places}};
    const struct hearsay_response *response = NULL;
    int code = cli_ask(cli, &request, &response);
    if (code != CLI_DONE) {
        return code;
    }
    const struct hearsay_here_labels *here = &response->here_labels;
    const struct hearsay_text *texts = options->places ? here->places : here->labels;
    size_t count = options->places ? here->place_count : here->label_count;
    if (options->json) {
        code = print_json(cli, host, here, options->places);
    }
    for (size_t i = 0; i < count && !options->json; i++) {
        out_text(&cli->out, texts[i].text, 0);
        (void)fputc('\n', cli->out.stream);
    }
    if (count == 0) {
        cli_complain(cli, options->places ? "the server has no places with names"
                                          : "the access point does not say what is around it");
    }
    return code == CLI_DONE && count == 0 ? CLI_NEGATIVE : code;
}

/* Without --memory: prints the labels that the access point sends, or the names of places. */
static int here_show(struct cli *cli, const struct here_options *options)
{
    const struct hearsay_host *host = NULL;
    int code = connect_host(cli, options->host, &host);
    return code == CLI_DONE ? print_labels(cli, options, host) : code;
}

/*
 * Stores the present context in the file of --memory, with the profile of a host. If no context is
 * given, stores the labels that the access point sends.
 */
static int remember_as_host(struct cli *cli, const struct here_options *options,
                            struct hearsay_context *context)
{
    const struct hearsay_host *host = NULL;
    int code = connect_host(cli, options->host, &host);
    if (code == CLI_DONE && !sensed_given(&options->sensed)) {
        code = sensed_add_here(cli, host, false, context);
    }
    return code == CLI_DONE ? here_remember(cli, options, context, host->profile) : code;
}

static int here_run(struct cli *cli, void *options)
{
    const struct here_options *chosen = options;
    bool given = sensed_given(&chosen->sensed);
    if (chosen->memory == NULL && (given || chosen->rounds != 0 || chosen->profile != NULL)) {
        return cli_misuse(cli, "where to remember is missing: --memory FILE");
    }
    if (chosen->memory != NULL && chosen->places) {
        return cli_misuse(cli, "--memory and --places exclude each other");
    }
    if (chosen->memory == NULL) {
        return here_show(cli, chosen);
    }
    if (!given && chosen->profile != NULL) {
        return cli_misuse(cli,
                          "--profile asks no server, so a context is needed, such as -l LABEL");
    }
    if (chosen->host != NULL && chosen->profile != NULL) {
        return cli_misuse(cli, "--host and --profile exclude each other");
    }
    struct hearsay_context *context = NULL;
    int code = given ? sensed_read(cli, &chosen->sensed, &context)
                     : sensed_read_some(cli, &chosen->sensed, &context);
    if (code != CLI_DONE) {
        return code;
    }
    /* An existing file holds its profile, so no server is needed. */
    if (chosen->profile != NULL ||
        (given && chosen->host == NULL && access(chosen->memory, F_OK) == 0)) {
        code = here_remember(cli, chosen, context, chosen->profile);
    } else {
        code = remember_as_host(cli, chosen, context);
    }
    hearsay_context_free(context);
    return code;
}

const struct cli_command command_here = {
    .name = "here",
    .summary = "what is around here; or remember it, for query --memory",
    .arguments = "[--memory FILE [CONTEXT...]] [OPTION]...",
    .details =
        "Prints the labels of what the access point says is around it, one a line: what\n"
        "deposit, query and watch add to their contexts. With --places it prints the names of\n"
        "all places that the server tells apart, which hearsay admin notice and list take.\n"
        "Exit code 1: none.\n\n"
        "With --memory it remembers. CONTEXT is any of --label, --wifi, --scan, --at, --time\n"
        "and --topic, together; without any it is what the access point says. Each call is a\n"
        "round. What was there in a round stays in the memory for R rounds, and goes by itself\n"
        "unless it is there again: the contexts of the last rounds blend into one, that query\n"
        "--memory asks with. The server is asked for the profile of a new memory, and for what\n"
        "is around where no context is given. The labels stand in FILE, which nobody else may\n"
        "read, so that they can be asked with in epochs and for groups.\n",
    .examples = "  hearsay here\n"
                "  hearsay here --memory way --rounds 5 -l wifi:a4:2b:8c:01:02:03 -l geo:u281zd\n"
                "  iw dev wlan0 scan | hearsay here --memory way --scan -\n"
                "  hearsay query --memory way\n",
    CLI_OPTIONS(here_options, struct here_options),
    .words_max = CLI_ONLY_LABELS,
    .run = here_run,
};
