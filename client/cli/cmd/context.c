/* SPDX-License-Identifier: Apache-2.0 */
/* context: prints the labels of a context and their filter. Stores and sends nothing. */
#include <inttypes.h>
#include <string.h>

#include "client/cli/cmd/commands.h"
#include "client/cli/input/input.h"

enum { PROFILE_TEXT_BYTES = 256 };

struct context_options {
    struct sensed sensed;
    const char *profile;
    const char *host;
    bool json;
};

static const struct args_option context_options[] = {
    SENSED_OPTIONS(struct context_options, sensed),
    ARGS_ROW("profile", 'p', ARGS_TEXT, struct context_options, profile, "PROFILE",
             "of this profile, such as v2:512/4; no server is asked"),
    ARGS_ROW("host", 0, ARGS_TEXT, struct context_options, host, "HOST",
             "of the profile of this host (the first host)"),
    ARGS_ROW("json", 0, ARGS_FLAG, struct context_options, json, NULL, "one line of JSON"),
};

/* What is printed. */
struct shown {
    const char *profile;
    const char *const *labels;
    size_t label_count;
    struct hearsay_filter filter; /* of all of them */
    struct hearsay_filter joint;  /* bits of joint sections: a pair of labels sets them */
};

static bool has_bit(const struct hearsay_filter *filter, uint32_t bit)
{
    return (filter->bytes[bit / 8] >> bit % 8 & 1) != 0;
}

/* Encodes one label. The set bits of the filter are the positions of this label. */
static int encode_label(const struct cli *cli, const struct shown *shown, size_t at,
                        struct hearsay_filter *out)
{
    struct hearsay_error error;
    struct hearsay_encode encode = {
        .profile = shown->profile, .labels = &shown->labels[at], .label_count = 1};
    return hearsay_encode(&encode, out, &error) == HEARSAY_OK ? CLI_DONE : cli_report(cli, &error);
}

/* Computes shown->joint: the bits that pairs of labels set, and that no single label sets. */
static int find_joint(const struct cli *cli, struct shown *shown)
{
    shown->joint = shown->filter;
    for (size_t i = 0; i < shown->label_count; i++) {
        struct hearsay_filter filter;
        int code = encode_label(cli, shown, i, &filter);
        if (code != CLI_DONE) {
            return code;
        }
        for (uint32_t byte = 0; byte < filter.byte_count; byte++) {
            shown->joint.bytes[byte] &= (uint8_t)~filter.bytes[byte];
        }
    }
    return CLI_DONE;
}

/* Returns the positions of the set bits as a JSON array, or NULL when memory is out. */
static json_t *json_positions(const struct hearsay_filter *filter)
{
    json_t *positions = json_array();
    for (uint32_t bit = 0; bit < filter->bits; bit++) {
        if (has_bit(filter, bit)) {
            out_json_append(&positions, json_integer(bit));
        }
    }
    return positions;
}

static int print_json(const struct cli *cli, const struct shown *shown)
{
    json_t *labels = json_array();
    uint32_t set = cli_count_bits(hearsay_filter_bytes(&shown->filter));
    for (size_t i = 0; i < shown->label_count; i++) {
        struct hearsay_filter filter;
        int code = encode_label(cli, shown, i, &filter);
        if (code != CLI_DONE) {
            json_decref(labels);
            return code;
        }
        out_json_append(&labels, json_pack("{s:s, s:o}", "label", shown->labels[i], "positions",
                                           json_positions(&filter)));
    }
    json_t *line = json_pack("{s:s, s:o, s:o, s:I, s:I, s:f, s:o}", "profile", shown->profile,
                             "labels", labels, "joint", json_positions(&shown->joint), "bits",
                             (json_int_t)shown->filter.bits, "set", (json_int_t)set, "fill",
                             (double)set / shown->filter.bits, "filter",
                             out_json_base64(shown->filter.bytes, shown->filter.byte_count));
    return cli_print_json(cli, line);
}

/* The rest of a line. */
static void print_positions(FILE *stream, const struct hearsay_filter *filter)
{
    for (uint32_t bit = 0; bit < filter->bits; bit++) {
        if (has_bit(filter, bit)) {
            (void)fprintf(stream, " %" PRIu32, bit);
        }
    }
    (void)fputc('\n', stream);
}

static int print_lines(const struct cli *cli, const struct shown *shown)
{
    FILE *stream = cli->out.stream;
    uint32_t set = cli_count_bits(hearsay_filter_bytes(&shown->filter));
    (void)fprintf(stream, "profile  %s\nlabels   %zu\n", shown->profile, shown->label_count);
    for (size_t i = 0; i < shown->label_count; i++) {
        struct hearsay_filter filter;
        int code = encode_label(cli, shown, i, &filter);
        if (code != CLI_DONE) {
            return code;
        }
        (void)fputs("  ", stream);
        out_text(&cli->out, shown->labels[i], 0);
        (void)fprintf(stream, "%*s",
                      (int)(strlen(shown->labels[i]) < 30 ? 30 - strlen(shown->labels[i]) : 1), "");
        print_positions(stream, &filter);
    }
    if (cli_count_bits(hearsay_filter_bytes(&shown->joint)) > 0) {
        (void)fprintf(stream, "%-32s", "joint");
        print_positions(stream, &shown->joint);
    }
    json_t *filter = out_json_base64(shown->filter.bytes, shown->filter.byte_count);
    if (filter == NULL) {
        return cli_report_nomem(cli);
    }
    (void)fprintf(stream, "fill     %" PRIu32 " of %" PRIu32 " bits, %.1f %%\nfilter   %s\n", set,
                  shown->filter.bits, 100.0 * set / shown->filter.bits, json_string_value(filter));
    json_decref(filter);
    return CLI_DONE;
}

static int context_show(const struct cli *cli, const struct context_options *chosen,
                        const struct hearsay_context *context, const char *profile)
{
    struct hearsay_error error;
    struct shown shown = {.profile = profile};
    shown.labels = hearsay_context_labels(context, &shown.label_count);
    struct hearsay_encode encode = {
        .profile = profile, .labels = shown.labels, .label_count = shown.label_count};
    if (hearsay_encode(&encode, &shown.filter, &error) != HEARSAY_OK) {
        return cli_report(cli, &error);
    }
    int code = find_joint(cli, &shown);
    if (code != CLI_DONE) {
        return code;
    }
    return chosen->json ? print_json(cli, &shown) : print_lines(cli, &shown);
}

/* Copies the profile of the host to `out`. */
static int ask_profile(struct cli *cli, const char *name, char out[PROFILE_TEXT_BYTES])
{
    const struct hearsay_host *host = NULL;
    int code = connect_host(cli, name, &host);
    if (code == CLI_DONE) {
        (void)snprintf(out, PROFILE_TEXT_BYTES, "%s", host->profile);
    }
    return code;
}

static int context_run(struct cli *cli, void *options)
{
    const struct context_options *chosen = options;
    if (chosen->profile != NULL && chosen->host != NULL) {
        return cli_misuse(cli, "--profile and --host exclude each other");
    }
    char asked[PROFILE_TEXT_BYTES];
    struct hearsay_context *context = NULL;
    int code = sensed_read(cli, &chosen->sensed, &context);
    if (code == CLI_DONE && chosen->profile == NULL) {
        code = ask_profile(cli, chosen->host, asked);
    }
    if (code == CLI_DONE) {
        code =
            context_show(cli, chosen, context, chosen->profile != NULL ? chosen->profile : asked);
    }
    hearsay_context_free(context);
    return code;
}

const struct cli_command command_context = {
    .name = "context",
    .summary = "show the labels and the filter of a context",
    .arguments = "CONTEXT... [OPTION]...",
    .details =
        "CONTEXT is any of --label, --wifi, --scan, --at, --time and --topic, as deposit and\n"
        "query take them. Prints each label with its positions in the filter, those of pairs in\n"
        "joint sections, how many bits are set, and the filter in base64, as import takes it.\n"
        "Nothing is left anywhere.\n",
    .examples = "  iw dev wlan0 scan | hearsay context --scan - --profile v2:512/2\n"
                "  hearsay context --at 48.1497,11.5678 --topic Coffee --json\n",
    CLI_OPTIONS(context_options, struct context_options),
    .words_max = CLI_ONLY_LABELS,
    .run = context_run,
};
