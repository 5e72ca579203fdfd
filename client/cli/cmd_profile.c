/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile: how large a filter must be for so many labels, or what a given profile does with them.
 * Needs no server.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/commands.h"
#include "core/profile.h"
#include "core/sizing.h"

struct profile_options {
    uint32_t labels;
    const char *fpr;
    bool json;
};

static const struct profile_options profile_defaults = {.labels = 20};

static const struct args_option profile_options[] = {
    {.name = "labels",
     .letter = 'n',
     .kind = ARGS_NUMBER,
     .offset = offsetof(struct profile_options, labels),
     .value = "N",
     .min = 1,
     .max = 1000000,
     .help = "labels in a context (20)"},
    {.name = "fpr",
     .letter = 'p',
     .kind = ARGS_TEXT,
     .offset = offsetof(struct profile_options, fpr),
     .value = "P",
     .help = "rate of false positives wanted, over 0 and under 1 (0.01)"},
    {.name = "json",
     .kind = ARGS_FLAG,
     .offset = offsetof(struct profile_options, json),
     .help = "one line of JSON"},
};

struct sized {
    char text[PROFILE_TEXT_MAX];
    uint32_t labels;
    uint32_t bits;
    uint32_t hashes;
    uint32_t formula_bits; /* before rounding up; 0: the profile was given */
    double rate;
    double fill;
};

static void measure(struct sized *sized)
{
    sized->rate = sizing_false_positive_rate(sized->bits, sized->hashes, sized->labels);
    sized->fill = sizing_fill(sized->bits, sized->hashes, sized->labels);
}

static int parse_rate(const struct cli *cli, const char *text, double *out_rate)
{
    char *end = NULL;
    double rate = strtod(text, &end); /* no locale is set, so the point is a point */
    if (end == text || *end != '\0' || !isfinite(rate) || rate <= 0 || rate >= 1) {
        return cli_misuse(cli, "--fpr: \"%.80s\" is not a number over 0 and under 1", text);
    }
    *out_rate = rate;
    return CLI_DONE;
}

/* The smallest profile of about that rate. */
static int size_for(const struct cli *cli, const struct profile_options *chosen, struct sized *out)
{
    double rate = 0;
    int code = parse_rate(cli, chosen->fpr != NULL ? chosen->fpr : "0.01", &rate);
    if (code != CLI_DONE) {
        return code;
    }
    uint32_t bits = 0;
    out->labels = chosen->labels;
    if (sizing_bits(out->labels, rate, &bits) != 0 || bits > PROFILE_BITS_MAX) {
        out->bits = PROFILE_BITS_MAX;
        out->hashes = sizing_hashes(out->bits, out->labels);
        measure(out);
        cli_complain(cli,
                     "%" PRIu32 " labels at a rate of %g need more than %d bits, the most that a "
                     "profile has; v1:%d/%" PRIu32 " has a rate of %.3g",
                     out->labels, rate, PROFILE_BITS_MAX, PROFILE_BITS_MAX, out->hashes, out->rate);
        return CLI_NEGATIVE;
    }
    out->formula_bits = bits;
    out->bits = bits < PROFILE_BITS_MIN ? PROFILE_BITS_MIN : (bits + 63) / 64 * 64;
    /* d = m/n ln 2 of the rounded m would be best, but every hash costs; that of the formula is
     * enough for the rate. */
    out->hashes = sizing_hashes(bits, out->labels);
    out->hashes = out->hashes > PROFILE_HASHES_MAX ? PROFILE_HASHES_MAX : out->hashes;
    (void)snprintf(out->text, sizeof(out->text), "v1:%" PRIu32 "/%" PRIu32, out->bits, out->hashes);
    measure(out);
    return CLI_DONE;
}

static int describe(const struct cli *cli, const struct profile_options *chosen, const char *text,
                    struct sized *out)
{
    struct profile profile;
    const char *reason = NULL;
    if (profile_parse(text, strlen(text), &profile, &reason) != 0) {
        return cli_misuse(cli, "profile \"%.80s\": %s", text, reason);
    }
    if (chosen->fpr != NULL) {
        return cli_misuse(cli, "--fpr and a profile exclude each other");
    }
    profile_print(&profile, out->text);
    out->labels = chosen->labels;
    out->bits = profile.bits;
    out->hashes = profile.sections[0].hashes;
    measure(out);
    return CLI_DONE;
}

static int print_json(const struct cli *cli, const struct sized *sized)
{
    json_t *line = json_pack("{s:s, s:I, s:I, s:I, s:f, s:f}", "profile", sized->text, "labels",
                             (json_int_t)sized->labels, "bits", (json_int_t)sized->bits, "hashes",
                             (json_int_t)sized->hashes, "false_positive_rate", sized->rate,
                             "expected_fill", sized->fill);
    return out_json(&cli->out, line) == 0 ? CLI_DONE : cli_report_nomem(cli);
}

static void print_lines(const struct cli *cli, const struct sized *sized)
{
    FILE *stream = cli->out.stream;
    (void)fprintf(stream, "profile              %s\n", sized->text);
    (void)fprintf(stream, "labels               %" PRIu32 "\n", sized->labels);
    (void)fprintf(stream, "bits (m)             %" PRIu32, sized->bits);
    if (sized->formula_bits != 0 && sized->formula_bits != sized->bits) {
        (void)fprintf(stream, "  (%" PRIu32 " by the formula, rounded up to a multiple of 64)",
                      sized->formula_bits);
    }
    (void)fprintf(stream, "\nhashes (d)           %" PRIu32 "\n", sized->hashes);
    (void)fprintf(stream, "false-positive rate  %.4g\n", sized->rate);
    (void)fprintf(stream, "expected fill        %.1f %%\n", sized->fill * 100);
    if (sized->fill > 0.9) {
        (void)fputs("Nearly full filters match everything; most servers refuse them (over 90 %).\n",
                    stream);
    }
}

static int profile_run(struct cli *cli, void *options, int word_count, char *const *words)
{
    const struct profile_options *chosen = options;
    struct sized sized;
    memset(&sized, 0, sizeof(sized));
    if (word_count > 1) {
        return cli_misuse_word(cli, words[1]);
    }
    int code =
        word_count == 1 ? describe(cli, chosen, words[0], &sized) : size_for(cli, chosen, &sized);
    if (code != CLI_DONE) {
        return code;
    }
    if (chosen->json) {
        return print_json(cli, &sized);
    }
    print_lines(cli, &sized);
    return CLI_DONE;
}

const struct cli_command command_profile = {
    .name = "profile",
    .summary = "size filters, or describe a profile",
    .arguments = "[OPTION]... [PROFILE]",
    .details = "Without PROFILE: the smallest one for N labels at a rate of false positives.\n"
               "m = ceil(-n ln p / (ln 2)^2) bits, d = ceil(m/n ln 2) hashes,\n"
               "rate (1 - (1 - 1/m)^(dn))^d. With PROFILE: what it does with N labels.\n"
               "No server is asked.\n",
    .examples = "  hearsay profile --labels 20 --fpr 0.01\n"
                "  hearsay profile v1:512/4 --labels 20\n",
    .options = profile_options,
    .option_count = sizeof(profile_options) / sizeof(profile_options[0]),
    .defaults = &profile_defaults,
    .options_bytes = sizeof(profile_defaults),
    .run = profile_run,
};
