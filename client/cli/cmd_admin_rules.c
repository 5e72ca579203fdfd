/* SPDX-License-Identifier: Apache-2.0 */
/* admin ban, unban, bans, accept: what holds for all messages of a host. */
#include <inttypes.h>
#include <string.h>

#include "client/cli/admin.h"
#include "client/cli/commands.h"
#include "client/cli/number.h"
#include "client/cli/when.h"

struct rules_options {
    const char *host;
    const char *hash;
    const char *text;
    struct args_list labels;
    uint32_t distance;
    bool json;
};

static const struct rules_options rules_defaults;

/* --- ban, unban ------------------------------------------------------------------------------- */

#define WHAT_OPTIONS                                                                       \
    {.name = "text",                                                                       \
     .kind = ARGS_TEXT,                                                                    \
     .offset = offsetof(struct rules_options, text),                                       \
     .value = "TEXT",                                                                      \
     .help = "messages with this very text"},                                              \
        {.name = "hash",                                                                   \
         .kind = ARGS_TEXT,                                                                \
         .offset = offsetof(struct rules_options, hash),                                   \
         .value = "HASH",                                                                  \
         .help = "payloads with this BLAKE2b-256, 64 hex digits"},                         \
        {.name = "label",                                                                  \
         .letter = 'l',                                                                    \
         .kind = ARGS_LIST,                                                                \
         .offset = offsetof(struct rules_options, labels),                                 \
         .value = "LABEL",                                                                 \
         .help = "messages of the context of these labels; repeat it"},                    \
    {                                                                                      \
        .name = "host", .kind = ARGS_TEXT, .offset = offsetof(struct rules_options, host), \
        .value = "HOST", .help = "where (the first host)"                                  \
    }

static const struct args_option ban_options[] = {
    WHAT_OPTIONS,
    {.name = "distance",
     .kind = ARGS_DISTANCE,
     .offset = offsetof(struct rules_options, distance),
     .value = "D",
     .help = "with --label: contexts as near as this, too (0)"},
};
static const struct args_option unban_options[] = {WHAT_OPTIONS};

/* What the options name, in *admin; `hash` and `filter` are room for it. */
static int fill_what(const struct cli *cli, const struct hearsay *server,
                     const struct rules_options *chosen, struct hearsay_admin *admin, uint8_t *hash,
                     struct hearsay_filter *filter)
{
    struct hearsay_error error;
    admin->host = chosen->host;
    admin->max_distance = chosen->distance;
    if (chosen->labels.count > 0) {
        if (hearsay_encode(server, chosen->host, chosen->labels.items, chosen->labels.count, filter,
                           &error) != HEARSAY_OK) {
            return cli_report(cli, &error);
        }
        admin->filter = filter;
        return CLI_DONE;
    }
    if (chosen->text != NULL) {
        hearsay_hash_payload(chosen->text, strlen(chosen->text), hash);
    } else if (number_parse_hex(chosen->hash, hash, HEARSAY_HASH_BYTES) != 0) {
        return cli_misuse(cli, "the hash is not 64 hexadecimal digits");
    }
    admin->payload_hash = hash;
    return CLI_DONE;
}

static int rule_on(struct cli *cli, const struct rules_options *chosen, int word_count,
                   char *const *words, enum hearsay_admin_kind kind, const char *done)
{
    struct hearsay_admin admin = {.kind = kind};
    const struct hearsay_admin_reply *reply = NULL;
    uint8_t hash[HEARSAY_HASH_BYTES];
    struct hearsay_filter filter;
    struct hearsay *server = NULL;
    const int named = (chosen->text != NULL) + (chosen->hash != NULL) + (chosen->labels.count > 0);
    if (word_count > 0) {
        return cli_misuse_word(cli, words[0]);
    }
    if (named != 1) {
        return cli_misuse(cli, "one of --text, --hash and --label says what");
    }
    int code = admin_connect(cli, chosen->host, &server);
    if (code != CLI_DONE) {
        return code;
    }
    code = fill_what(cli, server, chosen, &admin, hash, &filter);
    if (code == CLI_DONE) {
        code = admin_ask(cli, server, &admin, false, &reply);
    }
    if (code == CLI_DONE) {
        (void)fprintf(cli->out.stream, "%s\n", done);
    }
    hearsay_close(server);
    return code;
}

static int ban_run(struct cli *cli, void *options, int word_count, char *const *words)
{
    return rule_on(cli, options, word_count, words, HEARSAY_ADMIN_BAN, "banned");
}

const struct cli_command command_admin_ban = {
    .name = "admin ban",
    .summary = "refuse messages with this text, or of this context",
    .arguments = "--text TEXT | --hash HASH | -l LABEL... [OPTION]...",
    .details = "From now on; those that are there stay. admin remove --ban does both for one\n"
               "message.\n",
    .examples = "  hearsay admin ban --text 'Buy now'\n"
                "  hearsay admin ban -l topic:casino --distance 0.3\n",
    .options = ban_options,
    .option_count = sizeof(ban_options) / sizeof(ban_options[0]),
    .defaults = &rules_defaults,
    .options_bytes = sizeof(rules_defaults),
    .run = ban_run,
};

static int unban_run(struct cli *cli, void *options, int word_count, char *const *words)
{
    return rule_on(cli, options, word_count, words, HEARSAY_ADMIN_UNBAN, "unbanned");
}

const struct cli_command command_admin_unban = {
    .name = "admin unban",
    .summary = "take a ban back",
    .arguments = "--text TEXT | --hash HASH | -l LABEL... [OPTION]...",
    .details = "",
    .examples = "  hearsay admin unban --text 'Buy now'\n",
    .options = unban_options,
    .option_count = sizeof(unban_options) / sizeof(unban_options[0]),
    .defaults = &rules_defaults,
    .options_bytes = sizeof(rules_defaults),
    .run = unban_run,
};

/* --- bans ------------------------------------------------------------------------------------- */

static const struct args_option bans_options[] = {
    {.name = "host",
     .kind = ARGS_TEXT,
     .offset = offsetof(struct rules_options, host),
     .value = "HOST",
     .help = "where (the first host)"},
    {.name = "json",
     .kind = ARGS_FLAG,
     .offset = offsetof(struct rules_options, json),
     .help = "one line of JSON a ban"},
};

static int print_ban(const struct cli *cli, const struct rules_options *chosen,
                     const struct hearsay_ban *ban)
{
    char since[WHEN_BYTES];
    char distance[16];
    if (chosen->json) {
        json_t *line = json_object();
        int failed = line == NULL;
        if (ban->payload_hash != NULL) {
            failed |= json_object_set_new(line, "payload_hash",
                                          out_json_hex(ban->payload_hash, HEARSAY_HASH_BYTES));
        } else {
            failed |= json_object_set_new(line, "filter",
                                          out_json_base64(ban->filter, ban->filter_bytes));
            failed |=
                json_object_set_new(line, "max_distance", out_json_millionths(ban->max_distance));
        }
        failed |= json_object_set_new(line, "since", out_json_time(ban->since_ms));
        if (failed != 0) {
            json_decref(line);
            return cli_report_nomem(cli);
        }
        return out_json(&cli->out, line) == 0 ? CLI_DONE : cli_report_nomem(cli);
    }
    const bool is_payload = ban->payload_hash != NULL;
    const uint8_t *bytes = is_payload ? ban->payload_hash : ban->filter;
    when_print(ban->since_ms, since);
    (void)fprintf(cli->out.stream, "%s  %s ", since, is_payload ? "payload" : "filter ");
    for (size_t i = 0; i < (is_payload ? HEARSAY_HASH_BYTES : ban->filter_bytes); i++) {
        (void)fprintf(cli->out.stream, "%02x", bytes[i]);
    }
    if (!is_payload) {
        out_print_millionths(ban->max_distance, distance);
        (void)fprintf(cli->out.stream, "  distance %s", distance);
    }
    (void)fputc('\n', cli->out.stream);
    return CLI_DONE;
}

static int print_all(const struct cli *cli, struct hearsay *server,
                     const struct rules_options *chosen)
{
    struct hearsay_admin admin = {.kind = HEARSAY_ADMIN_BANS, .host = chosen->host};
    const struct hearsay_admin_reply *reply = NULL;
    int code = CLI_DONE;
    do {
        code = admin_ask(cli, server, &admin, false, &reply);
        if (code != CLI_DONE) {
            return code;
        }
        for (size_t i = 0; i < reply->ban_count && code == CLI_DONE; i++) {
            code = print_ban(cli, chosen, &reply->bans[i]);
        }
        admin.number += (uint32_t)reply->ban_count;
    } while (code == CLI_DONE && reply->more && reply->ban_count > 0);
    if (admin.number == 0 && !chosen->json) {
        (void)fputs("nothing is banned\n", cli->out.stream);
    }
    return code;
}

static int bans_run(struct cli *cli, void *options, int word_count, char *const *words)
{
    const struct rules_options *chosen = options;
    struct hearsay *server = NULL;
    if (word_count > 0) {
        return cli_misuse_word(cli, words[0]);
    }
    int code = admin_connect(cli, chosen->host, &server);
    if (code == CLI_DONE) {
        code = print_all(cli, server, chosen);
        hearsay_close(server);
    }
    return code;
}

const struct cli_command command_admin_bans = {
    .name = "admin bans",
    .summary = "list the bans",
    .arguments = "[OPTION]...",
    .details = "A hash goes to unban --hash.\n",
    .examples = "  hearsay admin bans\n",
    .options = bans_options,
    .option_count = sizeof(bans_options) / sizeof(bans_options[0]),
    .defaults = &rules_defaults,
    .options_bytes = sizeof(rules_defaults),
    .run = bans_run,
};

/* --- accept ----------------------------------------------------------------------------------- */

static const struct args_option accept_options[] = {
    {.name = "host",
     .kind = ARGS_TEXT,
     .offset = offsetof(struct rules_options, host),
     .value = "HOST",
     .help = "where (the first host)"},
};

static int accept_run(struct cli *cli, void *options, int word_count, char *const *words)
{
    const struct rules_options *chosen = options;
    struct hearsay_admin admin = {.kind = HEARSAY_ADMIN_ACCEPT, .host = chosen->host};
    const struct hearsay_admin_reply *reply = NULL;
    struct hearsay *server = NULL;
    if (word_count > 1) {
        return cli_misuse_word(cli, words[1]);
    }
    admin.word = word_count > 0 ? words[0] : NULL;
    int code = admin_connect(cli, chosen->host, &server);
    if (code != CLI_DONE) {
        return code;
    }
    code = admin_ask(cli, server, &admin, false, &reply);
    if (code == CLI_DONE) {
        (void)fprintf(cli->out.stream, "%s (%s", reply->word, reply->source);
        if (reply->until_ms != 0) {
            char until[WHEN_BYTES];
            when_print(reply->until_ms, until);
            (void)fprintf(cli->out.stream, ", until %s", until);
        }
        (void)fputs(")\n", cli->out.stream);
    }
    hearsay_close(server);
    return code;
}

const struct cli_command command_admin_accept = {
    .name = "admin accept",
    .summary = "print or set which messages are taken",
    .arguments = "[OPTION]... [open|review|closed|auto]",
    .details = "open: all. review: they are stored, and nobody sees them until you have looked at\n"
               "them (admin list --pending). closed: none. auto: as the configuration says, with\n"
               "its schedule. What is set here lasts, over restarts too, until auto.\n",
    .examples = "  hearsay admin accept\n"
                "  hearsay admin accept review\n",
    .options = accept_options,
    .option_count = sizeof(accept_options) / sizeof(accept_options[0]),
    .defaults = &rules_defaults,
    .options_bytes = sizeof(rules_defaults),
    .run = accept_run,
};
