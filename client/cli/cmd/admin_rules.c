/* SPDX-License-Identifier: Apache-2.0 */
/* admin ban, unban, bans, accept, notice, notices: the operator sets the rules for all messages of
 * a host, and says something to all who read there. */
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "client/cli/cmd/commands.h"
#include "client/cli/input/input.h"

struct rules_options {
    const char *host;
    const char *hash;
    const char *text;
    struct args_list labels;
    uint32_t distance;
    bool no_here;
    bool json;
};

/*
 * admin bans prints the first HANDLE_DIGITS digits of a handle. A host has at most 1,000 bans, so
 * two bans seldom have the same digits. admin unban takes HANDLE_DIGITS_MIN or more digits.
 */
enum { HANDLE_DIGITS = 8, HANDLE_DIGITS_MIN = 4 };

/* --- handles ---------------------------------------------------------------------------------- */

/*
 * Writes the handle of a ban: the hash of the banned payload or of the banned filter, as 64
 * hexadecimal digits. A prefix of the handle names the ban if no other handle has this prefix.
 */
static void make_handle(const struct hearsay_ban_entry *ban, char out[2 * HEARSAY_HASH_BYTES + 1])
{
    uint8_t hash[HEARSAY_HASH_BYTES];
    const uint8_t *bytes = ban->payload_hash.data;
    if (bytes == NULL) {
        hearsay_hash(ban->filter.data, ban->filter.count, hash);
        bytes = hash;
    }
    number_print_hex(bytes, HEARSAY_HASH_BYTES, out);
}

/* What a ban is about; or the bans whose hashes begin with the handle that the user gave: their
 * number, and a copy of the last one. */
struct found_ban {
    size_t count;                            /* number of bans with this prefix */
    struct hearsay_bytes hash;               /* of a payload, or */
    struct hearsay_bytes filter;             /* in `bytes` */
    uint8_t bytes[HEARSAY_FILTER_BYTES_MAX]; /* no hash is longer */
};

static struct hearsay_bytes keep_bytes(struct found_ban *found, const struct hearsay_bytes *from)
{
    if (from->data != NULL) {
        memcpy(found->bytes, from->data, from->count);
    }
    return hearsay_bytes(from->data != NULL ? found->bytes : NULL, from->count);
}

static void look_at(const struct hearsay_ban_entry *ban, const char *handle,
                    struct found_ban *found)
{
    char whole[2 * HEARSAY_HASH_BYTES + 1];
    make_handle(ban, whole);
    if (strncasecmp(whole, handle, strlen(handle)) == 0) {
        found->count++;
        found->hash = keep_bytes(found, &ban->payload_hash);
        found->filter = keep_bytes(found, &ban->filter);
    }
}

/* An iterator over the bans of a host. The server sends the bans page by page. */
struct bans {
    const struct cli *cli;
    struct hearsay_request request; /* bans.skip: the bans of all pages so far */
    const struct hearsay_ban_list *page;
    size_t at;
    int code; /* an exit code */
};

static struct bans bans_of(const struct cli *cli, const char *host)
{
    return (struct bans){
        .cli = cli, .request = {.kind = HEARSAY_REQUEST_BANS, .bans.host = hearsay_text(host)}};
}

/*
 * Returns the next ban, or NULL at the end and after an error. After an error, bans->code is an
 * exit code other than CLI_DONE.
 */
static const struct hearsay_ban_entry *bans_next(struct bans *bans)
{
    const struct hearsay_ban_list *page = bans->page;
    if (page == NULL || bans->at == page->ban_count) {
        const struct hearsay_response *response = NULL;
        if (page != NULL && (!page->more || page->ban_count == 0)) {
            return NULL;
        }
        bans->code = admin_ask(bans->cli, &bans->request, &response);
        if (bans->code != CLI_DONE) {
            return NULL;
        }
        bans->page = page = &response->ban_list;
        bans->request.bans.skip += (uint32_t)page->ban_count;
        bans->at = 0;
    }
    return bans->at < page->ban_count ? &page->bans[bans->at++] : NULL;
}

/*
 * Finds the only ban whose handle begins with `handle`; *out_found was zero. Returns CLI_DONE, or
 * an exit code after printing the error.
 */
static int find_handle(const struct cli *cli, const char *host, const char *handle,
                       struct found_ban *out_found)
{
    struct bans bans = bans_of(cli, host);
    const struct hearsay_ban_entry *ban = NULL;
    while (bans.code == CLI_DONE && (ban = bans_next(&bans)) != NULL) {
        look_at(ban, handle, out_found);
    }
    if (bans.code == CLI_DONE && out_found->count == 0) {
        cli_complain(cli, "no ban has the handle \"%.80s\"; see hearsay admin bans", handle);
        return CLI_NEGATIVE;
    }
    if (bans.code == CLI_DONE && out_found->count > 1) {
        cli_complain(cli, "%zu bans have handles that begin with \"%.80s\"; give more digits",
                     out_found->count, handle);
        return CLI_USAGE;
    }
    return bans.code;
}

/* --- ban, unban ------------------------------------------------------------------------------- */

static const struct args_option ban_options[] = {
    ARGS_ROW("text", 0, ARGS_TEXT, struct rules_options, text, "TEXT",
             "messages with this very text"),
    ARGS_ROW("hash", 0, ARGS_TEXT, struct rules_options, hash, "HASH",
             "payloads with this BLAKE2b-256, 64 hex digits"),
    ARGS_ROW("label", 'l', ARGS_LIST, struct rules_options, labels, "LABEL",
             "messages of the context of these labels; repeat it"),
    ARGS_ROW("host", 0, ARGS_TEXT, struct rules_options, host, "HOST", "where (the first host)"),
    NO_HERE_OPTION(struct rules_options, no_here),
    ARGS_ROW("distance", 0, ARGS_DISTANCE, struct rules_options, distance, "D",
             "with --label: contexts as near as this, too (0)"),
};
enum { UNBAN_OPTIONS = 5 }; /* the first of these */

/*
 * Sets *found to the filter of the labels and of the here labels, because clients add these to each
 * message: without them a short context is far from all that is left here.
 */
static int find_context(const struct cli *cli, const struct rules_options *chosen,
                        struct found_ban *found)
{
    const struct hearsay_host *host = hearsay_find_host(cli->connection, chosen->host);
    struct sensed sensed = {.labels = chosen->labels};
    struct hearsay_context *context = NULL;
    struct hearsay_filter filter;
    int code = sensed_read(cli, &sensed, &context);
    if (code == CLI_DONE && !chosen->no_here) {
        code = sensed_add_here(cli, host, false, context);
    }
    if (code == CLI_DONE) {
        code = sensed_encode(cli, host, NULL, context, &filter);
    }
    if (code == CLI_DONE) {
        struct hearsay_bytes bytes = hearsay_bytes(filter.bytes, filter.byte_count);
        found->filter = keep_bytes(found, &bytes);
    }
    hearsay_context_free(context);
    return code;
}

/* Sets *found to the hash or the filter that the handle or an option names. */
static int find_what(const struct cli *cli, const struct rules_options *chosen,
                     struct found_ban *found)
{
    memset(found, 0, sizeof(*found));
    if (cli->word_count > 0) {
        return find_handle(cli, chosen->host, cli->words[0], found);
    }
    if (chosen->labels.count > 0) {
        return find_context(cli, chosen, found);
    }
    if (chosen->text != NULL) {
        hearsay_hash(chosen->text, strlen(chosen->text), found->bytes);
    } else if (number_parse_hex(chosen->hash, found->bytes, HEARSAY_HASH_BYTES) != 0) {
        return cli_misuse(cli, "the hash is not 64 hexadecimal digits");
    }
    found->hash = hearsay_bytes(found->bytes, HEARSAY_HASH_BYTES);
    return CLI_DONE;
}

/* Bans what the options say, or takes the ban back. */
static int rule_on(struct cli *cli, const struct rules_options *chosen, bool is_ban)
{
    struct hearsay_request request;
    struct hearsay_text host = hearsay_text(chosen->host);
    const struct hearsay_response *response = NULL;
    struct found_ban found;
    int code = admin_connect_one(cli, chosen->host);
    if (code == CLI_DONE) {
        code = find_what(cli, chosen, &found);
    }
    if (code == CLI_DONE) {
        request =
            is_ban
                ? (struct hearsay_request){.kind = HEARSAY_REQUEST_BAN,
                                           .ban = {.host = host,
                                                   .payload_hash = found.hash,
                                                   .filter = found.filter,
                                                   .max_distance_ppm = chosen->distance}}
                : (struct hearsay_request){
                      .kind = HEARSAY_REQUEST_UNBAN,
                      .unban = {.host = host, .payload_hash = found.hash, .filter = found.filter}};
        code = admin_ask(cli, &request, &response);
    }
    if (code == CLI_DONE && is_ban) {
        struct hearsay_ban_entry ban = {.payload_hash = found.hash, .filter = found.filter};
        char handle[2 * HEARSAY_HASH_BYTES + 1];
        make_handle(&ban, handle);
        (void)fprintf(cli->out.stream, "banned; admin unban %.*s lifts that\n", HANDLE_DIGITS,
                      handle);
    } else if (code == CLI_DONE) {
        (void)fputs("unbanned\n", cli->out.stream);
    }
    return code;
}

/* Counts which of --text, --hash and --label are given. */
static int named_count(const struct rules_options *chosen)
{
    return (chosen->text != NULL) + (chosen->hash != NULL) + (chosen->labels.count > 0);
}

static int ban_run(struct cli *cli, void *options)
{
    if (named_count(options) != 1) {
        return cli_misuse(cli, "one of --text, --hash and --label says what");
    }
    return rule_on(cli, options, true);
}

const struct cli_command command_admin_ban = {
    .name = "admin ban",
    .summary = "refuse messages with this text, or of this context",
    .arguments = "--text TEXT | --hash HASH | -l LABEL... [OPTION]...",
    .details =
        "From now on; those that are there stay. admin remove --ban does both for one message.\n"
        "The context of a ban has the labels that the server says are around its access point,\n"
        "as the context of each message has, unless --no-here is given. More labels than those\n"
        "of the ban make a message differ from it; admin bans prints the ban's handle.\n",
    .examples = "  hearsay admin ban --text 'Buy now'\n"
                "  hearsay admin ban -l topic:casino --distance 0.3\n",
    CLI_OPTIONS(ban_options, struct rules_options),
    .run = ban_run,
};

static int unban_run(struct cli *cli, void *options)
{
    const char *handle = cli->word_count > 0 ? cli->words[0] : NULL;
    if (named_count(options) + cli->word_count != 1) {
        return cli_misuse(cli, "a ban's handle, or one of --text, --hash and --label, says what");
    }
    if (handle != NULL && (strlen(handle) < HANDLE_DIGITS_MIN ||
                           strspn(handle, "0123456789abcdefABCDEF") != strlen(handle))) {
        return cli_misuse(cli,
                          "\"%.80s\" is not a ban's handle, at least %d hexadecimal digits of what "
                          "hearsay admin bans prints first",
                          handle, HANDLE_DIGITS_MIN);
    }
    return rule_on(cli, options, false);
}

const struct cli_command command_admin_unban = {
    .name = "admin unban",
    .summary = "take a ban back",
    .arguments = "HANDLE | --text TEXT | --hash HASH | -l LABEL... [OPTION]...",
    .details =
        "HANDLE is what admin bans prints first, or any beginning of it that is long enough\n"
        "to tell it from the others. LABELs, and --no-here, are to be those of the ban.\n",
    .examples = "  hearsay admin unban 3f29c01d\n"
                "  hearsay admin unban --text 'Buy now'\n",
    .options = ban_options,
    .option_count = UNBAN_OPTIONS,
    .options_bytes = sizeof(struct rules_options),
    .words_max = 1,
    .run = unban_run,
};

/* --- bans ------------------------------------------------------------------------------------- */

static const struct args_option bans_options[] = {
    ARGS_ROW("host", 0, ARGS_TEXT, struct rules_options, host, "HOST", "where (the first host)"),
    ARGS_ROW("json", 0, ARGS_FLAG, struct rules_options, json, NULL, "one line of JSON a ban"),
};

static int print_ban_json(const struct cli *cli, const struct hearsay_ban_entry *ban,
                          const char *handle)
{
    json_t *line = ban->payload_hash.data != NULL
                       ? json_pack("{s:s, s:o, s:o}", "handle", handle, "payload_hash",
                                   out_json_hex(ban->payload_hash.data, HEARSAY_HASH_BYTES),
                                   "since", out_json_time(ban->since_ms))
                       : json_pack("{s:s, s:o, s:o, s:o}", "handle", handle, "filter",
                                   out_json_base64(ban->filter.data, ban->filter.count),
                                   "max_distance", out_json_millionths(ban->max_distance_ppm),
                                   "since", out_json_time(ban->since_ms));
    return cli_print_json(cli, line);
}

static int print_ban(const struct cli *cli, const struct hearsay_ban_entry *ban, bool json)
{
    FILE *stream = cli->out.stream;
    char handle[2 * HEARSAY_HASH_BYTES + 1];
    char since[WHEN_BYTES];
    char distance[16];
    make_handle(ban, handle);
    if (json) {
        return print_ban_json(cli, ban, handle);
    }
    when_print(ban->since_ms, since);
    (void)fprintf(stream, "%.*s  %s  ", HANDLE_DIGITS, handle, since);
    if (ban->payload_hash.data != NULL) {
        (void)fputs("payload\n", stream);
    } else {
        out_print_millionths(ban->max_distance_ppm, distance);
        (void)fprintf(stream, "context, distance %s\n", distance);
    }
    return CLI_DONE;
}

static int print_all(const struct cli *cli, const struct rules_options *chosen)
{
    struct bans bans = bans_of(cli, chosen->host);
    const struct hearsay_ban_entry *ban = NULL;
    while (bans.code == CLI_DONE && (ban = bans_next(&bans)) != NULL) {
        bans.code = print_ban(cli, ban, chosen->json);
    }
    if (bans.code == CLI_DONE && bans.request.bans.skip == 0 && !chosen->json) {
        (void)fputs("nothing is banned\n", cli->out.stream);
    }
    return bans.code;
}

static int bans_run(struct cli *cli, void *options)
{
    const struct rules_options *chosen = options;
    int code = admin_connect_one(cli, chosen->host);
    return code == CLI_DONE ? print_all(cli, chosen) : code;
}

const struct cli_command command_admin_bans = {
    .name = "admin bans",
    .summary = "list the bans",
    .arguments = "[OPTION]...",
    .details =
        "A handle, when it was banned, and what: a payload, or a context and those near to it.\n"
        "admin unban takes the handle. --json has the whole hash or filter.\n",
    .examples = "  hearsay admin bans\n",
    CLI_OPTIONS(bans_options, struct rules_options),
    .run = bans_run,
};

/* --- accept ----------------------------------------------------------------------------------- */

static const struct args_option accept_options[] = {
    ARGS_ROW("host", 0, ARGS_TEXT, struct rules_options, host, "HOST", "where (the first host)"),
};

static int accept_run(struct cli *cli, void *options)
{
    const struct rules_options *chosen = options;
    const char *mode = cli->word_count > 0 ? cli->words[0] : NULL;
    struct hearsay_request request = {
        .kind = HEARSAY_REQUEST_ACCEPT,
        .accept = {.host = hearsay_text(chosen->host), .mode = hearsay_text(mode)}};
    const struct hearsay_response *response = NULL;
    int code = admin_call_one(cli, chosen->host, &request, &response);
    if (code == CLI_DONE) {
        const struct hearsay_accepting *now = &response->accepting;
        (void)fprintf(cli->out.stream, "%s (%s", now->mode.text,
                      now->source.text != NULL ? now->source.text : "");
        if (now->until_ms != 0) {
            char until[WHEN_BYTES];
            when_print(now->until_ms, until);
            (void)fprintf(cli->out.stream, ", until %s", until);
        }
        (void)fputs(")\n", cli->out.stream);
    }
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
    CLI_OPTIONS(accept_options, struct rules_options),
    .words_max = 1,
    .run = accept_run,
};

/* --- notice, notices -------------------------------------------------------------------------- */

struct notice_options {
    const char *host;
    const char *lang;
    const char *place;
    struct args_moment until;
    uint32_t drop;
    bool json;
};

static void print_notice(const struct cli *cli, const struct hearsay_house_notice *notice)
{
    char until[WHEN_BYTES] = "";
    if (notice->until_ms != 0) {
        when_print(notice->until_ms, until);
    }
    (void)fprintf(cli->out.stream, "%" PRIu32 "  %-24s  %-5s  ", notice->number,
                  notice->until_ms != 0 ? until : "no end",
                  notice->lang.text != NULL ? notice->lang.text : "-");
    if (notice->place.text != NULL) {
        (void)fputs("at ", cli->out.stream);
        out_text(&cli->out, notice->place.text, 0);
        (void)fputs(": ", cli->out.stream);
    }
    out_text(&cli->out, notice->text.text, 0);
    (void)fputc('\n', cli->out.stream);
}

/* Sends the request, and prints all notices that there are then. */
static int notice_call(struct cli *cli, const struct hearsay_request *request, bool json)
{
    const struct hearsay_response *response = NULL;
    int code = admin_ask(cli, request, &response);
    for (size_t i = 0; code == CLI_DONE && i < response->noticed.notice_count; i++) {
        if (json) {
            code = cli_print_json(cli, out_json_notice(&response->noticed.notices[i]));
        } else {
            print_notice(cli, &response->noticed.notices[i]);
        }
    }
    if (code == CLI_DONE && response->noticed.notice_count == 0 && !json) {
        (void)fputs("there are no notices\n", cli->out.stream);
    }
    return code;
}

static const struct args_option notice_options[] = {
    ARGS_ROW("until", 0, ARGS_MOMENT, struct notice_options, until, "TIME",
             "ends by itself: 6h (from now) or 2026-11-20T14:00Z"),
    ARGS_ROW("lang", 0, ARGS_TEXT, struct notice_options, lang, "LANG",
             "language of the text, such as de or pt-BR"),
    ARGS_ROW("place", 0, ARGS_TEXT, struct notice_options, place, "NAME",
             "shown at this place only, by its name in here_map"),
    ARGS_RANGE("drop", 0, ARGS_NUMBER, struct notice_options, drop, "NUMBER", 1, UINT32_MAX,
               "take this notice down"),
    ARGS_ROW("host", 0, ARGS_TEXT, struct notice_options, host, "HOST", "where (the first host)"),
};

static int notice_run(struct cli *cli, void *options)
{
    const struct notice_options *chosen = options;
    const char *text = cli->word_count > 0 ? cli->words[0] : NULL;
    struct hearsay_request request = {.kind = HEARSAY_REQUEST_NOTICE,
                                      .notice = {.host = hearsay_text(chosen->host),
                                                 .text = hearsay_text(text),
                                                 .lang = hearsay_text(chosen->lang),
                                                 .place = hearsay_text(chosen->place),
                                                 .drop = chosen->drop}};
    if ((text != NULL) == (chosen->drop != 0)) {
        return cli_misuse(cli, "a text to put up, or --drop and a number, is needed: one of them");
    }
    int code = admin_connect_one(cli, chosen->host);
    if (code != CLI_DONE) {
        return code;
    }
    if (chosen->until.kind != ARGS_NO_MOMENT) {
        int64_t now_ms = hearsay_now_ms(cli->connection);
        request.notice.until_ms = chosen->until.kind == ARGS_AT
                                      ? chosen->until.ms
                                      : when_difference(now_ms, -chosen->until.ms); /* their sum */
    }
    return notice_call(cli, &request, false);
}

const struct cli_command command_admin_notice = {
    .name = "admin notice",
    .summary = "say something to all who read, as the house",
    .arguments = "TEXT [OPTION]... | --drop NUMBER",
    .details =
        "The page for phones shows it above all messages, from the house; no guest can write\n"
        "there. One line of up to 500 bytes; at most five at a host. The same text again gets\n"
        "the new end. Prints all notices that there are then.\n",
    .examples = "  hearsay admin notice 'Last orders.' --place 'Main stage'\n"
                "  hearsay admin notice 'The bar closes at one.' --until 3h --lang en\n"
                "  hearsay admin notice --drop 1\n",
    CLI_OPTIONS(notice_options, struct notice_options),
    .words_max = 1,
    .run = notice_run,
};

static const struct args_option notices_options[] = {
    ARGS_ROW("host", 0, ARGS_TEXT, struct notice_options, host, "HOST", "where (the first host)"),
    ARGS_ROW("json", 0, ARGS_FLAG, struct notice_options, json, NULL, "one line of JSON a notice"),
};

static int notices_run(struct cli *cli, void *options)
{
    const struct notice_options *chosen = options;
    struct hearsay_request request = {.kind = HEARSAY_REQUEST_NOTICE,
                                      .notice.host = hearsay_text(chosen->host)};
    int code = admin_connect_one(cli, chosen->host);
    return code == CLI_DONE ? notice_call(cli, &request, chosen->json) : code;
}

const struct cli_command command_admin_notices = {
    .name = "admin notices",
    .summary = "list what the house says",
    .arguments = "[OPTION]...",
    .details =
        "The number, the end, the language, the place if it is shown at one only, and the text\n"
        "of each notice, oldest first.\n"
        "admin notice --drop takes the number.\n",
    .examples = "  hearsay admin notices\n",
    CLI_OPTIONS(notices_options, struct notice_options),
    .run = notices_run,
};
