/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import: deposits the lines of a file, many at a time. A repeated import does not store a message
 * that is already there again, because the message gets the same id: the id in the line, or an id
 * derived from a secret, the number and the bytes of the line, and the key of the group. The epoch
 * does not change the id, so this also holds for an import that is repeated in a later epoch.
 */
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>

#include <sodium.h>

#include "client/cli/cmd/commands.h"
#include "client/cli/input/input.h"
#include "client/cli/input/pump.h"
#include "client/cli/input/record.h"

struct import_options {
    const char *host;
    const char *state;
    const char *group;
    int epoch; /* enum epoch_choice */
    bool json;
};

static const struct args_option import_options[] = {
    ARGS_ROW("host", 0, ARGS_TEXT, struct import_options, host, "HOST",
             "where to (what a line says, else the first host)"),
    ARGS_ROW("state", 0, ARGS_TEXT, struct import_options, state, "FILE",
             "the secret that makes repeating harmless (see above)"),
    SECRET_OPTION(struct import_options, group),
    EPOCH_OPTION(struct import_options, epoch, "open, current, or auto: current if known (auto)"),
    ARGS_ROW("json", 0, ARGS_FLAG, struct import_options, json, NULL, "the summary as JSON"),
};

struct import {
    struct pump_work work; /* first: import_of casts a pointer to this field back */
    struct cli *cli;
    const struct import_options *options;
    struct progress progress;
    struct hearsay_group *group; /* owned; NULL: none */
    struct epoch_follower epochs;
    uint8_t secret[DERIVE_SECRET_BYTES];
    uint64_t deposited;
    uint64_t duplicates;
    uint64_t skipped;
    uint64_t expired;
    struct hearsay_left_out left_out;
};

static struct import *import_of(struct pump_work *work)
{
    return (struct import *)(void *)work;
}

/* Prints why a line cannot be deposited, and counts the line as skipped. */
static enum pump_verdict import_skip(struct import *import, const struct pump_item *item,
                                     const char *sentence)
{
    progress_hide(&import->progress);
    cli_complain(import->cli, "line %" PRIu64 ": %s", item->number, sentence);
    import->skipped++;
    return PUMP_IS_DONE;
}

static enum pump_verdict import_stop(struct import *import, int code)
{
    import->work.stop_code = code;
    return PUMP_STOP;
}

static enum pump_verdict stop_nomem(struct import *import)
{
    progress_hide(&import->progress);
    return import_stop(import, cli_report_nomem(import->cli));
}

/*
 * Finds the epoch for a line with labels: the epoch that the line names, else the epoch that
 * deposit would choose. Epoch 0 has no key. Returns CLI_DONE or an exit code. With an exit code,
 * the line is skipped for the reason *out_sentence. If *out_sentence is NULL, the import stops.
 */
static int find_epoch(struct import *import, const struct record *record,
                      const struct hearsay_host *host, struct hearsay_epoch *out_epoch,
                      const char **out_sentence)
{
    enum epoch_choice choice = (enum epoch_choice)import->options->epoch;
    memset(out_epoch, 0, sizeof(*out_epoch));
    *out_sentence = NULL;
    if (record->has_epoch ? record->epoch == 0 : choice == EPOCH_OPEN) {
        return CLI_DONE;
    }
    int code = epoch_follow(import->cli, host, EPOCH_AUTO, &import->epochs);
    if (code != CLI_DONE) {
        return code;
    }
    uint64_t number = record->has_epoch ? record->epoch : host->epoch.number;
    const struct hearsay_epoch *found =
        number != 0 ? epoch_among(&import->epochs.epochs, number) : NULL;
    if (found != NULL && found->is_certain) {
        *out_epoch = *found;
    } else if (found != NULL) {
        *out_sentence = "the key of its epoch was stored on a connection without --tls, so another "
                        "server may have given it: import on site, use --tls in both places, or "
                        "say --epoch open";
    } else if (record->has_epoch) {
        *out_sentence = "the key of its epoch is not known";
    } else if (choice == EPOCH_CURRENT) {
        *out_sentence = "the key of the current epoch is not known";
    }
    return *out_sentence == NULL ? CLI_DONE : CLI_NEGATIVE;
}

/*
 * Encodes the labels of a line, with the keys of the epoch and the group, and sets the line's
 * epoch. Returns PUMP_IS_SENT if the line can be sent.
 */
static enum pump_verdict encode_record(struct import *import, const struct pump_item *item,
                                       const struct hearsay_host *host, struct record *record)
{
    struct hearsay_error error;
    struct hearsay_epoch epoch;
    const char *sentence = NULL;
    int code = find_epoch(import, record, host, &epoch, &sentence);
    if (code != CLI_DONE) {
        return sentence != NULL ? import_skip(import, item, sentence) : import_stop(import, code);
    }
    struct hearsay_keys keys = {.group = import->group,
                                .epoch_key = epoch.number != 0 ? epoch.key : NULL};
    struct hearsay_encode encode = {.host = host, .keys = &keys};
    encode.labels = hearsay_context_labels(record->context, &encode.label_count);
    if (hearsay_encode(&encode, &record->filter, &error) != HEARSAY_OK) {
        return import_skip(import, item, error.sentence);
    }
    record->epoch = epoch.number;
    return PUMP_IS_SENT;
}

static enum pump_verdict submit_deposit(struct import *import, struct pump_item *item,
                                        struct hearsay_deposit *deposit)
{
    struct hearsay_error error;
    struct hearsay_content sealed = {.payload = NULL};
    int status = HEARSAY_OK;
    if (import->group != NULL) {
        /*
         * A repeated import must send the same bytes, because the server refuses a known id with
         * other bytes.
         */
        struct hearsay_sealing plain = {.id = deposit->id.data,
                                        .media_type = deposit->media_type.text,
                                        .payload = deposit->payload.data,
                                        .payload_bytes = deposit->payload.count,
                                        .is_repeatable = true};
        status = hearsay_group_seal(import->group, &plain, &sealed, &error);
        deposit->media_type = hearsay_text(sealed.media_type);
        deposit->payload = hearsay_bytes(sealed.payload, sealed.payload_bytes);
    }
    if (status == HEARSAY_OK) {
        status = hearsay_submit_deposit(import->cli->connection, deposit, &item->ticket, &error);
    }
    hearsay_content_free(&sealed);
    switch (status) {
    case HEARSAY_OK:
        return PUMP_IS_SENT;
    case HEARSAY_FULL:
        return PUMP_IS_FULL;
    case HEARSAY_ERR_ARGUMENT:
        return import_skip(import, item, error.sentence);
    case HEARSAY_ERR_NOMEM:
        return stop_nomem(import);
    default:
        return PUMP_IS_LOST;
    }
}

/* Sends the message of a line whose filter is complete: encoded from labels, or exported. A message
 * that has expired is counted and not sent. */
static enum pump_verdict deposit_record(struct import *import, struct pump_item *item,
                                        const char *host, const struct record *record)
{
    struct hearsay_deposit deposit;
    uint8_t id[HEARSAY_ID_BYTES];
    uint8_t token[HEARSAY_TOKEN_BYTES];
    uint8_t hash[HEARSAY_HASH_BYTES];
    if (record->is_answer && hearsay_in_flight(import->cli->connection) > 0) {
        return PUMP_IS_FULL; /* the message that it answers may not be stored yet */
    }
    hearsay_deposit_init(&deposit, NULL);
    if (!record_ttl(record, hearsay_now_ms(import->cli->connection), &deposit.ttl_s)) {
        import->expired++;
        return PUMP_IS_DONE;
    }
    derive_id(import->secret, item->number, item->line, item->length, id);
    derive_token(import->secret, item->number, item->line, item->length, token);
    hearsay_hash(token, HEARSAY_TOKEN_BYTES, hash);
    deposit.host = hearsay_text(host);
    deposit.id = hearsay_bytes(record->has_id ? record->id : id, HEARSAY_ID_BYTES);
    deposit.epoch = record->epoch;
    deposit.filter = hearsay_filter_bytes(&record->filter);
    deposit.media_type = hearsay_text(record->media_type);
    deposit.payload = hearsay_bytes(record->payload, record->payload_bytes);
    deposit.reach_ppm = record->reach;
    if (record->is_answer) {
        deposit.answers = hearsay_bytes(record->answers, HEARSAY_ID_BYTES);
    }
    if (!record->no_withdrawal) {
        deposit.withdraw_hash =
            hearsay_bytes(record->has_hash ? record->withdraw_hash : hash, HEARSAY_HASH_BYTES);
    }
    return submit_deposit(import, item, &deposit);
}

static enum pump_verdict submit_record(struct import *import, struct pump_item *item,
                                       struct record *record)
{
    const char *name = import->options->host != NULL ? import->options->host : record->host;
    const struct hearsay_host *host = hearsay_find_host(import->cli->connection, name);
    /* What --host names, all lines lack: the answer to the first ends the import. */
    if (host == NULL && (!record->has_filter || import->options->host == NULL)) {
        char why[160];
        (void)snprintf(why, sizeof(why),
                       "the server has no host \"%.64s\"; --host NAME imports all lines to NAME",
                       name);
        return import_skip(import, item, why);
    }
    if (!record->has_filter) {
        enum pump_verdict verdict = encode_record(import, item, host, record);
        if (verdict != PUMP_IS_SENT) {
            return verdict;
        }
        /*
         * Without an id in the line, the message's id is derived from the line. If the server
         * already has a message with this id, this line was imported before, perhaps in an earlier
         * epoch.
         */
        item->is_marked = !record->has_id && host->epoch.number != 0;
    } else if (host != NULL && strcmp(host->profile, record->profile) != 0) {
        char why[600]; /* two profiles of at most 255 bytes */
        (void)snprintf(
            why, sizeof(why),
            "its filter was made for the profile %.255s and would match nothing, because "
            "the host has %s",
            record->profile, host->profile);
        return import_skip(import, item, why);
    } else if (import->group != NULL) {
        return import_skip(
            import, item,
            "it has a filter, which cannot be keyed: --group takes lines with labels");
    }
    return deposit_record(import, item, name, record);
}

static enum pump_verdict import_submit(struct pump_work *work, struct pump_item *item)
{
    struct import *import = import_of(work);
    if (item->line == NULL) {
        return import_skip(import, item, "the line is too long");
    }
    if (strspn(item->line, " \t") == item->length) {
        return PUMP_IS_DONE; /* blank */
    }
    struct record record;
    struct jsonline_error wrong;
    enum pump_verdict verdict = PUMP_IS_DONE;
    switch (record_parse(item->line, item->length, &record, &wrong)) {
    case 0:
        verdict = submit_record(import, item, &record);
        if (verdict == PUMP_IS_SENT && record.context != NULL) {
            struct hearsay_left_out left_out;
            hearsay_context_left_out(record.context, &left_out);
            sensed_count_left_out(&left_out, &import->left_out);
        }
        break;
    case JSONLINE_WRONG:
        verdict = import_skip(import, item, wrong.sentence);
        break;
    default:
        verdict = stop_nomem(import);
        break;
    }
    record_deinit(&record);
    return verdict;
}

static enum pump_verdict import_reply(struct pump_work *work, struct pump_item *item,
                                      const struct hearsay_reply *reply)
{
    struct import *import = import_of(work);
    if (reply->response.kind == HEARSAY_RESPONSE_DEPOSITED) {
        import->duplicates += reply->response.deposited.duplicate ? 1 : 0;
        import->deposited += reply->response.deposited.duplicate ? 0 : 1;
        return PUMP_IS_DONE;
    }
    const struct hearsay_error *error = &reply->error;
    if (error->code == HEARSAY_CODE_UNSUPPORTED || error->code == HEARSAY_CODE_UNKNOWN_HOST) {
        /* Most of the other lines would get the same answer. */
        progress_hide(&import->progress);
        return import_stop(import, cli_report(import->cli, error));
    }
    if (error->code == HEARSAY_CODE_ALREADY_EXISTS && item->is_marked) {
        import->duplicates++; /* an earlier import deposited this line in another epoch */
        return PUMP_IS_DONE;
    }
    char sentence[700];
    (void)snprintf(sentence, sizeof(sentence), "%s: %s", hearsay_code_name(error->code),
                   error->sentence);
    return import_skip(import, item, sentence);
}

static void import_show(struct pump_work *work, const struct lines *lines, bool hide)
{
    struct import *import = import_of(work);
    if (hide) {
        progress_hide(&import->progress);
        return;
    }
    progress_show(&import->progress, lines->bytes,
                  import->deposited + import->duplicates + import->skipped + import->expired,
                  pump_now_ms());
}

static int import_summarise(const struct import *import)
{
    const struct out *out = &import->cli->out;
    if (import->options->json) {
        json_t *summary =
            json_pack("{s:I, s:I, s:I, s:I}", "deposited", (json_int_t)import->deposited,
                      "duplicates", (json_int_t)import->duplicates, "expired",
                      (json_int_t)import->expired, "skipped", (json_int_t)import->skipped);
        return cli_print_json(import->cli, summary);
    }
    (void)fprintf(out->stream,
                  "%" PRIu64 " deposited, %" PRIu64 " already there, %" PRIu64 " skipped",
                  import->deposited, import->duplicates, import->skipped);
    if (import->expired > 0) {
        (void)fprintf(out->stream, ", %" PRIu64 " expired", import->expired);
    }
    (void)fputc('\n', out->stream);
    return CLI_DONE;
}

/*
 * Turns SIGINT and SIGTERM into input of a file descriptor, so that the import can tell how far it
 * came before it ends. Returns the descriptor. Returns -1 if this fails: a signal then kills the
 * program.
 */
static int catch_signals(void)
{
    sigset_t set;
    sigset_t before;
    (void)sigemptyset(&set); /* these three fail for wrong numbers only */
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGTERM);
    if (sigprocmask(SIG_BLOCK, &set, &before) != 0) {
        return -1;
    }
    int signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals < 0) {
        (void)sigprocmask(SIG_SETMASK, &before, NULL);
    }
    return signals;
}

/* Prints after a signal how many lines were imported, and how to continue. */
static void tell_of_interruption(const struct import *import)
{
    cli_complain(import->cli,
                 "interrupted: %" PRIu64 " deposited, %" PRIu64 " already there, %" PRIu64
                 " skipped so far; run the same command again to go on, nothing is stored twice",
                 import->deposited, import->duplicates, import->skipped);
}

/* Imports the lines of the file `fd`. */
static int import_lines(struct import *import, int fd)
{
    struct lines lines;
    struct pump pump;
    lines_init(&lines, fd);
    int code = pump_init(&pump, import->cli, &import->work, &lines);
    if (code == CLI_DONE) {
        pump.signals = catch_signals();
        code = pump_run(&pump);
        if (pump.signalled != 0) {
            tell_of_interruption(import);
        } else if (code != CLI_DONE && pump.head < pump.tail) {
            cli_complain(import->cli,
                         "stopped; all before line %" PRIu64 " is dealt with. Run the same command "
                         "again to go on: what is there already is not stored twice",
                         pump.ring[pump.head % PUMP_RING].number);
        }
    }
    sensed_say_left_out(import->cli, &import->left_out);
    int summed =
        pump.signalled != 0 && !import->options->json ? CLI_DONE : import_summarise(import);
    cli_close(pump.signals);
    pump_deinit(&pump);
    lines_deinit(&lines);
    code = code == CLI_DONE ? summed : code;
    return code == CLI_DONE && import->skipped > 0 ? CLI_NEGATIVE : code;
}

/*
 * Reads the secret from which ids are derived. With --group, derives another secret from this
 * secret and from bytes that depend on the key of the group.
 */
static int open_secret(struct import *import)
{
    static const uint8_t no_id[HEARSAY_ID_BYTES];
    struct hearsay_content sealed;
    struct hearsay_error error;
    int code = derive_open(import->cli, import->options->state, import->secret);
    if (code != CLI_DONE || import->options->group == NULL) {
        return code;
    }
    code = secret_group(import->cli, import->options->group, &import->group);
    if (code != CLI_DONE) {
        return code;
    }
    struct hearsay_sealing nothing = {.id = no_id, .payload = "", .is_repeatable = true};
    if (hearsay_group_seal(import->group, &nothing, &sealed, &error) != HEARSAY_OK) {
        return cli_report(import->cli, &error);
    }
    derive_secret(import->secret, sealed.payload, sealed.payload_bytes);
    hearsay_content_free(&sealed);
    return CLI_DONE;
}

static int import_to_server(struct import *import, int fd)
{
    const struct hearsay_host *host = NULL;
    struct hearsay_epoch epoch;
    int code = connect_host(import->cli, import->options->host, &host);
    if (code == CLI_DONE && import->options->epoch == EPOCH_CURRENT) {
        code = epoch_for_deposit(import->cli, host, EPOCH_CURRENT, &epoch);
    }
    if (code != CLI_DONE) {
        return code;
    }
    return import_lines(import, fd);
}

static int import_file(struct import *import, const char *name)
{
    int code = open_secret(import);
    int fd = code == CLI_DONE ? cli_open(import->cli, name) : -1;
    if (fd < 0) {
        return code == CLI_DONE ? CLI_USAGE : code;
    }
    progress_init(&import->progress, &import->cli->err, fd, pump_now_ms());
    code = import_to_server(import, fd);
    cli_close(fd);
    return code;
}

static int import_run(struct cli *cli, void *options)
{
    if (cli->word_count == 0) {
        return cli_misuse(cli, "a file is missing, or - for standard input");
    }
    struct import import = {
        .work = {.submit = import_submit, .reply = import_reply, .show = import_show},
        .cli = cli,
        .options = options,
    };
    int code = import_file(&import, cli->words[0]);
    hearsay_group_free(import.group);
    sodium_memzero(import.secret, sizeof(import.secret));
    return code;
}

const struct cli_command command_import = {
    .name = "import",
    .summary = "deposit the lines of a file",
    .arguments = "[OPTION]... FILE|-",
    .details =
        "Each line is a JSON object: \"labels\" (array of strings) or what is sensed (\"wifi\",\n"
        "an object of BSSIDs and dBm; \"at\", [LAT, LON]; \"time\"; \"topics\"), and\n"
        "\"text\" or \"payload_base64\"; perhaps \"type\", \"ttl\" (seconds, or \"2h\"), \"id\" "
        "(hex), "
        "\"reach\",\n"
        "\"host\". Lines as export writes them go in too and keep their expiry. Wrong lines\n"
        "are reported by number and skipped; the exit code is 1 then.\n\n"
        "Where a host has epochs, lines with labels go to the current one, as with deposit; a "
        "line\n"
        "may name another whose key is known, \"epoch\": 0 being the open one. With --group they\n"
        "are for that group only.\n\n"
        "Run it again after it was interrupted: ids and withdraw tokens derive from a\n"
        "secret in the state file, the line's number and the line, so what is there is\n"
        "not stored twice. The file is made in $XDG_STATE_HOME/hearsay, or in\n"
        "~/.local/state/hearsay, as import-secret.\n",
    .examples = "  hearsay import messages.jsonl\n"
                "  hearsay -s ~/hearsayd.sock export | hearsay -s 192.168.8.1 import -\n"
                "  echo '{\"labels\": [\"topic:tea\"], \"text\": \"hi\", \"ttl\": \"2h\"}' | "
                "hearsay import -\n",
    CLI_OPTIONS(import_options, struct import_options),
    .words_max = 1,
    .run = import_run,
};
