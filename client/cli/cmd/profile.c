/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile: computes the filter size for a number of labels, or the rates of a given profile. Needs
 * no server.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/cmd/commands.h"
#include "core/filter/sizing.h"
#include "core/profile/profile.h"

enum { LABELS_MAX = 1000000, NAME_BYTES = 2 * PROFILE_NAME_MAX + 16 };

/* Most servers refuse a filter with more than half of its bits set. Some contexts set more than
 * expected. */
static const double FILL_MOST = 0.45;

struct profile_options {
    const char *labels; /* a number, or a number for each section */
    const char *fpr;
    bool json;
};

static const struct args_option profile_options[] = {
    ARGS_ROW("labels", 'n', ARGS_TEXT, struct profile_options, labels, "N",
             "labels in a context (20), or in each section, or wifi=20,geo=4,..."),
    ARGS_ROW("fpr", 'p', ARGS_TEXT, struct profile_options, fpr, "P",
             "rate of false positives wanted, over 0 and under 1 (0.01)"),
    ARGS_ROW("json", 0, ARGS_FLAG, struct profile_options, json, NULL, "one line of JSON"),
};

/* A profile, and the number of labels in each of its sections. */
struct sized {
    struct profile profile;
    uint32_t labels[PROFILE_SECTIONS_MAX]; /* pairs, where the section is joint */
    uint32_t formula_bits;                 /* before rounding up; 0: the profile was given */
};

static double section_rate(const struct sized *sized, uint32_t s)
{
    return profile_section_rate(&sized->profile, s, sized->labels[s]);
}

static double section_fill(const struct sized *sized, uint32_t s)
{
    return profile_section_fill(&sized->profile, s, sized->labels[s]);
}

static double whole_fill(const struct sized *sized)
{
    double set = 0;
    for (uint32_t s = 0; s < sized->profile.section_count; s++) {
        set += section_fill(sized, s) * sized->profile.sections[s].bits;
    }
    return set / sized->profile.bits;
}

/* The expected fill of the fullest section that has more than one label, which is always taken. */
static double fullest_section(const struct sized *sized)
{
    double most = 0;
    for (uint32_t s = 0; s < sized->profile.section_count; s++) {
        double fill = sized->labels[s] > 1 ? section_fill(sized, s) : 0;
        most = fill > most ? fill : most;
    }
    return most;
}

static bool is_sectioned(const struct profile *profile)
{
    return profile->sections[0].kind != PROFILE_ALL;
}

/* Returns the number of labels in the whole context. Pairs of joint sections do not count. */
static uint32_t whole_labels(const struct sized *sized)
{
    uint32_t sum = 0;
    for (uint32_t s = 0; s < sized->profile.section_count; s++) {
        sum += sized->profile.sections[s].kind != PROFILE_JOINT ? sized->labels[s] : 0;
    }
    return sum;
}

/* --- how many labels -------------------------------------------------------------------------- */

/*
 * Returns how many labels of a section a typical context has: 20 without sections and in the
 * section wifi, 9 in any, 4 in geo, 2 in time, 3 in topic, 1 in any other section.
 */
static uint32_t usual_labels(const struct profile_section *section)
{
    static const struct {
        const char *name;
        uint32_t labels;
    } usual[] = {{"", 20}, {"any", 9}, {"wifi", 20}, {"geo", 4}, {"time", 2}, {"topic", 3}};
    char name[NAME_BYTES];
    profile_print_name(section, name);
    for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++) {
        if (strcmp(usual[i].name, name) == 0) {
            return usual[i].labels;
        }
    }
    return 1;
}

/* Sets the same number of labels for each section, but one pair for a joint section. */
static int fill_labels(const struct cli *cli, const char *text, struct sized *out)
{
    uint64_t number = 0;
    if (number_parse(text, 1, LABELS_MAX, &number) != 0) {
        return cli_misuse(cli, "--labels: \"%.80s\" is not a number from 1 to %d", text,
                          LABELS_MAX);
    }
    for (uint32_t s = 0; s < out->profile.section_count; s++) {
        bool joint = out->profile.sections[s].kind == PROFILE_JOINT;
        out->labels[s] = joint ? 1 : (uint32_t)number;
    }
    return CLI_DONE;
}

/* NAME=N. */
static int set_labels(const struct cli *cli, const char *item, struct sized *out)
{
    const char *sign = strrchr(item, '=');
    uint64_t number = 0;
    if (sign == NULL || number_parse(sign + 1, 0, LABELS_MAX, &number) != 0) {
        return cli_misuse(cli,
                          "--labels: \"%.80s\" is not SECTION=N with N from 0 to %d, as in wifi=20",
                          item, LABELS_MAX);
    }
    for (uint32_t s = 0; s < out->profile.section_count; s++) {
        char name[NAME_BYTES];
        profile_print_name(&out->profile.sections[s], name);
        if (strlen(name) == (size_t)(sign - item) && memcmp(name, item, strlen(name)) == 0) {
            out->labels[s] = (uint32_t)number;
            return CLI_DONE;
        }
    }
    char names[PROFILE_TEXT_MAX];
    profile_print_names(&out->profile, names);
    return cli_misuse(cli, "--labels: the profile has no section \"%.*s\"; its sections are %s",
                      (int)(sign - item < 80 ? sign - item : 80), item, names);
}

/*
 * Parses NAME=N,NAME=N,... A comma in parentheses, as in joint(geo,time)=1, does not end an item.
 * Overwrites the commas in `list`.
 */
static int set_all_labels(const struct cli *cli, char *list, struct sized *out)
{
    bool inside = false;
    char *item = list;
    for (char *at = list;; at++) {
        inside = (inside || *at == '(') && *at != ')';
        if (*at != '\0' && (*at != ',' || inside)) {
            continue;
        }
        bool last = *at == '\0';
        *at = '\0';
        int code = set_labels(cli, item, out);
        if (code != CLI_DONE || last) {
            return code;
        }
        item = at + 1;
    }
}

static int choose_labels(const struct cli *cli, const char *text, struct sized *out)
{
    for (uint32_t s = 0; s < out->profile.section_count; s++) {
        out->labels[s] = usual_labels(&out->profile.sections[s]);
    }
    if (text == NULL) {
        return CLI_DONE;
    }
    if (!is_sectioned(&out->profile) || strchr(text, '=') == NULL) {
        return fill_labels(cli, text, out);
    }
    char *list = strdup(text);
    if (list == NULL) {
        return cli_report_nomem(cli);
    }
    int code = set_all_labels(cli, list, out);
    free(list);
    return code;
}

/* --- which profile ---------------------------------------------------------------------------- */

static int take_profile(const struct cli *cli, const char *text, struct sized *out)
{
    const char *reason = NULL;
    if (profile_parse(text, strlen(text), &out->profile, &reason) != 0) {
        char sentence[PROFILE_SENTENCE_MAX];
        profile_explain(text, strlen(text), sentence);
        return cli_misuse(cli, "profile \"%.255s\": %s", text, sentence);
    }
    return CLI_DONE;
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

/* Computes a profile without sections for a number of labels and a rate of false positives, by the
 * formulas of core/filter/sizing.h. */
static int size_for(const struct cli *cli, const struct profile_options *chosen, struct sized *out)
{
    double rate = 0;
    uint64_t labels = 20;
    uint32_t bits = 0;
    int code = parse_rate(cli, chosen->fpr != NULL ? chosen->fpr : "0.01", &rate);
    if (code != CLI_DONE) {
        return code;
    }
    if (chosen->labels != NULL && number_parse(chosen->labels, 1, LABELS_MAX, &labels) != 0) {
        return cli_misuse(cli, "--labels: \"%.80s\" is not a number from 1 to %d", chosen->labels,
                          LABELS_MAX);
    }
    uint32_t count = (uint32_t)labels;
    if (sizing_bits(count, rate, &bits) != 0 || bits > PROFILE_BITS_MAX) {
        uint32_t hashes = sizing_hashes(PROFILE_BITS_MAX, count);
        cli_complain(cli,
                     "%" PRIu32 " labels at a rate of %g need more than %d bits, the most that a "
                     "profile has; v2:%d/%" PRIu32 " has a rate of %.3g",
                     count, rate, PROFILE_BITS_MAX, PROFILE_BITS_MAX, hashes,
                     sizing_false_positive_rate(PROFILE_BITS_MAX, hashes, count));
        return CLI_NEGATIVE;
    }
    /*
     * The number of hashes is computed from the number of bits before rounding up. With the rounded
     * number there could be more hashes. Every hash costs time, and the wanted rate is met without
     * more hashes.
     */
    uint32_t hashes = sizing_hashes(bits, count);
    out->formula_bits = bits;
    out->labels[0] = count;
    bits = bits < PROFILE_BITS_MIN ? PROFILE_BITS_MIN : (bits + 63) / 64 * 64;
    do { /* half of the formula's bits are set, and servers refuse a filter with more */
        char text[PROFILE_TEXT_MAX];
        (void)snprintf(text, sizeof(text), "v2:%" PRIu32 "/%" PRIu32, bits,
                       hashes > PROFILE_HASHES_MAX ? PROFILE_HASHES_MAX : hashes);
        code = take_profile(cli, text, out);
        bits += 64;
    } while (code == CLI_DONE && fullest_section(out) > FILL_MOST && bits <= PROFILE_BITS_MAX);
    return code;
}

static int profile_describe(const struct cli *cli, const struct profile_options *chosen,
                            const char *text, struct sized *out)
{
    int code = take_profile(cli, text, out);
    if (code != CLI_DONE) {
        return code;
    }
    if (chosen->fpr != NULL) {
        return cli_misuse(cli, "--fpr and a profile exclude each other");
    }
    return choose_labels(cli, chosen->labels, out);
}

/* --- output ----------------------------------------------------------------------------------- */

static json_t *json_section(const struct sized *sized, uint32_t s)
{
    const struct profile_section *section = &sized->profile.sections[s];
    char name[NAME_BYTES];
    profile_print_name(section, name);
    return json_pack("{s:s, s:I, s:I, s:I, s:I, s:f, s:f}", "section", name, "first_bit",
                     (json_int_t)section->first_bit, "bits", (json_int_t)section->bits, "hashes",
                     (json_int_t)section->hashes, "labels", (json_int_t)sized->labels[s],
                     "false_positive_rate", section_rate(sized, s), "expected_fill",
                     section_fill(sized, s));
}

/* NULL without memory. */
static json_t *json_sections(const struct sized *sized)
{
    json_t *sections = json_array();
    for (uint32_t s = 0; s < sized->profile.section_count; s++) {
        out_json_append(&sections, json_section(sized, s));
    }
    return sections;
}

static int print_json(const struct cli *cli, const struct sized *sized)
{
    char text[PROFILE_TEXT_MAX];
    profile_print(&sized->profile, text);
    json_t *line = json_pack(
        "{s:s, s:I, s:I, s:f, s:f}", "profile", text, "labels", (json_int_t)whole_labels(sized),
        "bits", (json_int_t)sized->profile.bits, "false_positive_rate",
        profile_rate(&sized->profile, sized->labels), "expected_fill", whole_fill(sized));
    if (is_sectioned(&sized->profile)) {
        out_json_set(&line, "sections", json_sections(sized));
    } else {
        out_json_set(&line, "hashes", json_integer(sized->profile.sections[0].hashes));
    }
    return cli_print_json(cli, line);
}

static void print_sections(FILE *stream, const struct sized *sized)
{
    (void)fprintf(stream, "\n%-20s %5s %5s %7s %7s  %s\n", "section", "bits", "d", "labels", "fill",
                  "false-positive rate");
    for (uint32_t s = 0; s < sized->profile.section_count; s++) {
        const struct profile_section *section = &sized->profile.sections[s];
        char name[NAME_BYTES];
        profile_print_name(section, name);
        (void)fprintf(stream, "%-20s %5" PRIu32 " %5" PRIu32 " %7" PRIu32 " %5.1f %%  %.4g\n", name,
                      section->bits, section->hashes, sized->labels[s],
                      section_fill(sized, s) * 100, section_rate(sized, s));
    }
    (void)fputs("\nThe rate of the whole is the product of the sections': of a context with a new "
                "label in\neach section and new pairs in joint ones.\n",
                stream);
    for (uint32_t s = 0; s < sized->profile.section_count; s++) {
        const struct profile_section *section = &sized->profile.sections[s];
        if (section->kind != PROFILE_JOINT || profile_joint_factor(&sized->profile, section) == 1) {
            continue;
        }
        char name[NAME_BYTES];
        profile_print_name(section, name);
        (void)fprintf(stream,
                      "%s: labels that collide in their own sections collide here more often, as "
                      "the\nnumbers of bits are all even. It still tells pairs of known labels "
                      "apart; an odd number\nof bits for it does both.\n",
                      name);
    }
}

static void print_lines(const struct cli *cli, const struct sized *sized)
{
    FILE *stream = cli->out.stream;
    char text[PROFILE_TEXT_MAX];
    profile_print(&sized->profile, text);
    (void)fprintf(stream, "profile              %s\n", text);
    (void)fprintf(stream, "labels               %" PRIu32 "\n", whole_labels(sized));
    (void)fprintf(stream, "bits (m)             %" PRIu32, sized->profile.bits);
    if (sized->formula_bits != 0 && sized->formula_bits != sized->profile.bits) {
        (void)fprintf(stream,
                      "  (%" PRIu32
                      " by the formula; a multiple of 64, of which at most 45 %% are set)",
                      sized->formula_bits);
    }
    if (!is_sectioned(&sized->profile)) {
        (void)fprintf(stream, "\nhashes (d)           %" PRIu32, sized->profile.sections[0].hashes);
    }
    (void)fprintf(stream, "\nfalse-positive rate  %.4g\n",
                  profile_rate(&sized->profile, sized->labels));
    (void)fprintf(stream, "expected fill        %.1f %%\n", whole_fill(sized) * 100);
    if (is_sectioned(&sized->profile)) {
        print_sections(stream, sized);
    }
    if (fullest_section(sized) > FILL_MOST) {
        (void)fprintf(stream,
                      "A section is about %.0f %% full. Most servers refuse a filter if more than "
                      "50 %% of a section is set.\n",
                      fullest_section(sized) * 100);
    }
}

static int profile_run(struct cli *cli, void *options)
{
    const struct profile_options *chosen = options;
    struct sized sized;
    memset(&sized, 0, sizeof(sized));
    int code = cli->word_count == 1 ? profile_describe(cli, chosen, cli->words[0], &sized)
                                    : size_for(cli, chosen, &sized);
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
    .details = "Without PROFILE: a small one for N labels at a rate of false positives.\n"
               "m = ceil(-n ln p / (ln 2)^2) bits, d = ceil(m/n ln 2) hashes,\n"
               "rate (1 - (1 - 1/m)^(dn))^d; then more bits, until at most 45 % are set.\n"
               "With PROFILE: what it does with N labels, section by section; the\n"
               "rate of the whole is the product of theirs.\n"
               "No server is asked.\n",
    .examples = "  hearsay profile --labels 20 --fpr 0.01\n"
                "  hearsay profile v2:512/4 --labels 20\n"
                "  hearsay profile 'v2:wifi=288/2,time=32/1,topic=96/2,any=96/2' \\\n"
                "    --labels wifi=20,topic=3\n",
    CLI_OPTIONS(profile_options, struct profile_options),
    .words_max = 1,
    .run = profile_run,
};
