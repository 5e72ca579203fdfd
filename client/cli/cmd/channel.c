/* SPDX-License-Identifier: Apache-2.0 */
/* channel: saves contexts under names, for query, watch and deposit. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/cmd/commands.h"
#include "client/cli/input/input.h"

struct channel_options {
    struct sensed sensed;
    bool here;
    const char *group;
    const char *host;
    bool json;
};

static const struct args_option channel_options[] = {
    SENSED_OPTIONS(struct channel_options, sensed),
    ARGS_ROW("here", 0, ARGS_FLAG, struct channel_options, here, NULL,
             "what the access point says is around it now"),
    SECRET_OPTION(struct channel_options, group),
    ARGS_ROW("host", 0, ARGS_TEXT, struct channel_options, host, "HOST",
             "where it is asked for and left (the first host)"),
    ARGS_ROW("json", 0, ARGS_FLAG, struct channel_options, json, NULL,
             "list: one line of JSON a channel"),
};

/* --- save ------------------------------------------------------------------------------------- */

/* Gets the labels of the access point's surroundings from the server and adds them to the context.
 * Returns CLI_DONE or an exit code. */
static int add_here(struct cli *cli, const char *host_name, struct hearsay_context *context)
{
    const struct hearsay_host *host = NULL;
    int code = connect_host(cli, host_name, &host);
    return code == CLI_DONE ? sensed_add_here(cli, host, false, context) : code;
}

/*
 * Makes the path of the file with the group's secret absolute, because a channel is used from any
 * folder. The channel itself holds no secret.
 */
static int resolve_group(const struct cli *cli, const char *value, char out_path[PATH_MAX])
{
    if (strcmp(value, "-") == 0 || secret_is_plain(value) || realpath(value, out_path) == NULL) {
        return cli_misuse(cli, "--group: a channel takes the name of a file with the secret, not "
                               "the secret; there is no such file");
    }
    return CLI_DONE;
}

/* Returns a channel as a JSON object, or NULL when memory is out. */
static json_t *make_channel(const struct hearsay_context *context, const char *group,
                            const char *host)
{
    size_t count = 0;
    const char *const *labels = hearsay_context_labels(context, &count);
    return json_pack("{s:s*, s:s*, s:o}", "group", group, "host", host, "labels",
                     cli_json_strings(labels, count));
}

static int put_channel(const struct cli *cli, const char *name, json_t *channel)
{
    json_t *file = NULL;
    int code = channel == NULL ? cli_report_nomem(cli) : channel_read_all(cli, &file);
    if (code == CLI_DONE && json_object_get(channel_table(file), name) == NULL &&
        json_object_size(channel_table(file)) >= CHANNELS_MAX) {
        cli_complain(cli, "there are %d channels already: remove one first", CHANNELS_MAX);
        code = CLI_NEGATIVE;
    }
    if (code == CLI_DONE && json_object_set(channel_table(file), name, channel) != 0) {
        code = cli_report_nomem(cli);
    }
    if (code == CLI_DONE) {
        code = channel_write_all(cli, file);
    }
    json_decref(file);
    return code;
}

static int channel_save(struct cli *cli, const struct channel_options *chosen, const char *name)
{
    char group[PATH_MAX];
    struct hearsay_context *context = NULL;
    if (!channel_is_name(name)) {
        return cli_misuse(cli,
                          "\"%.80s\" is no name of a channel: 1 to %d letters a-z and A-Z, digits, "
                          ". _ and -, not beginning with -",
                          name, CHANNEL_NAME_BYTES);
    }
    int code = chosen->group != NULL ? resolve_group(cli, chosen->group, group) : CLI_DONE;
    if (code == CLI_DONE) {
        code = chosen->here ? sensed_read_some(cli, &chosen->sensed, &context)
                            : sensed_read(cli, &chosen->sensed, &context);
    }
    if (code == CLI_DONE && chosen->here) {
        code = add_here(cli, chosen->host, context);
    }
    if (code == CLI_DONE) {
        json_t *channel = make_channel(context, chosen->group != NULL ? group : NULL, chosen->host);
        code = put_channel(cli, name, channel);
        json_decref(channel);
    }
    hearsay_context_free(context);
    return code;
}

/* --- list, remove ----------------------------------------------------------------------------- */

static int print_channel(const struct cli *cli, bool as_json, const char *name,
                         const json_t *channel)
{
    size_t i = 0;
    const json_t *label = NULL;
    const char *group = json_string_value(json_object_get(channel, "group"));
    const char *host = json_string_value(json_object_get(channel, "host"));
    if (as_json) {
        json_t *line = json_copy((json_t *)channel);
        out_json_set(&line, "name", json_string(name));
        return cli_print_json(cli, line);
    }
    out_text(&cli->out, name, 0);
    (void)fputs("  ", cli->out.stream);
    json_array_foreach(json_object_get(channel, "labels"), i, label)
    {
        (void)fputs(i > 0 ? " " : "", cli->out.stream);
        out_text(&cli->out, json_string_value(label), 0);
    }
    if (group != NULL) {
        (void)fputs("  group ", cli->out.stream);
        out_text(&cli->out, group, 0);
    }
    if (host != NULL) {
        (void)fputs("  host ", cli->out.stream);
        out_text(&cli->out, host, 0);
    }
    (void)fputc('\n', cli->out.stream);
    return CLI_DONE;
}

static int channel_list(const struct cli *cli, bool as_json)
{
    json_t *file = NULL;
    const char *name = NULL;
    json_t *channel = NULL;
    int code = channel_read_all(cli, &file);
    if (code != CLI_DONE) {
        return code;
    }
    json_object_foreach(channel_table(file), name, channel)
    {
        if (code == CLI_DONE) {
            code = print_channel(cli, as_json, name, channel);
        }
    }
    json_decref(file);
    return code;
}

static int remove_channel(const struct cli *cli, const char *name)
{
    json_t *file = NULL;
    int code = channel_read_all(cli, &file);
    if (code == CLI_DONE && json_object_del(channel_table(file), name) != 0) {
        cli_complain(cli, "there is no channel \"%.80s\"", name);
        code = CLI_NEGATIVE;
    }
    if (code == CLI_DONE) {
        code = channel_write_all(cli, file);
    }
    json_decref(file);
    return code;
}

/* --- the command ------------------------------------------------------------------------------ */

static int channel_run(struct cli *cli, void *options)
{
    static const char *const verbs[] = {"save", "list", "remove"};
    const struct channel_options *chosen = options;
    if (cli->word_count == 0) {
        return cli_misuse(cli, "what is to be done is missing: save, list or remove");
    }
    bool lists = strcmp(cli->words[0], "list") == 0;
    bool saves = strcmp(cli->words[0], "save") == 0;
    if (!lists && !saves && strcmp(cli->words[0], "remove") != 0) {
        const char *near = args_nearest(cli->words[0], verbs, 3);
        return cli_misuse(cli, "\"%.80s\" is none of save, list and remove%s%s%s", cli->words[0],
                          near != NULL ? "; did you mean \"" : "", near != NULL ? near : "",
                          near != NULL ? "\"?" : "");
    }
    if (!lists && cli->word_count < 2) {
        return cli_misuse(cli, "the channel's name is missing");
    }
    if (cli->word_count > (lists ? 1 : 2)) {
        return cli_misuse_word(cli, cli->words[lists ? 1 : 2]);
    }
    if (!saves && (sensed_given(&chosen->sensed) || chosen->here || chosen->group != NULL ||
                   chosen->host != NULL)) {
        return cli_misuse(cli, "only channel save takes a context, --group and --host");
    }
    if (lists) {
        return channel_list(cli, chosen->json);
    }
    return saves ? channel_save(cli, chosen, cli->words[1]) : remove_channel(cli, cli->words[1]);
}

const struct cli_command command_channel = {
    .name = "channel",
    .summary = "contexts by name, for query, watch and deposit --channel",
    .arguments = "save NAME CONTEXT... [OPTION]... | list [--json] | remove NAME",
    .details =
        "A channel is a context that is kept under a name, with the file of a group's secret and\n"
        "a host where they are given. CONTEXT is any of --label, --wifi, --scan, --at, --time,\n"
        "--topic and --here together; what it says now is kept, as labels. A channel of the\n"
        "same name is replaced. They are kept in $XDG_CONFIG_HOME/hearsay/channels, or in\n"
        "~/.config/hearsay/channels.\n",
    .examples = "  hearsay channel save kitchen -l geo:u281zd --topic Coffee\n"
                "  hearsay channel save team --here --group ~/.config/hearsay/team\n"
                "  hearsay query --channel kitchen --since 12h --order time\n"
                "  hearsay channel list\n"
                "  hearsay channel remove kitchen\n",
    CLI_OPTIONS(channel_options, struct channel_options),
    .words_max = CLI_ANY_WORDS,
    .run = channel_run,
};
