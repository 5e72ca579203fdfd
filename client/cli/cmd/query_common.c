/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cli/cmd/query_common.h"

#include <stdio.h>
#include <string.h>

#include "core/profile/profile.h"

const char *const query_metric_names[] = {"phi", "bits", NULL};

enum { BAR_CELLS = 10, TEXT_COLUMNS_MIN = 20 };

static int64_t server_time(const struct args_moment *moment, int64_t now_ms)
{
    return moment->kind == ARGS_AGO ? when_difference(now_ms, moment->ms) : moment->ms;
}

void query_prepare(const struct query_options *options, const struct hearsay *server,
                   const struct hearsay_host *host, struct hearsay_query *out_query)
{
    int64_t now_ms = hearsay_now_ms(server);
    *out_query = options->asked;
    out_query->host = hearsay_text(host->name);
    /* The suggested distance is one by phi; by bits it would leave out other messages. */
    uint32_t suggested = options->metric == 1 || options->is_unbounded
                             ? HEARSAY_DISTANCE_ONE
                             : host->suggested_max_distance;
    if (options->asked.max_distance_ppm == QUERY_SUGGESTED) {
        out_query->max_distance_ppm = suggested;
    }
    if (options->since.kind != ARGS_NO_MOMENT) {
        out_query->since_ms = server_time(&options->since, now_ms);
    }
    if (options->until.kind != ARGS_NO_MOMENT) {
        out_query->until_ms = server_time(&options->until, now_ms);
    }
    out_query->scope = options->hood ? HEARSAY_SCOPE_HOOD : HEARSAY_SCOPE_HERE;
    out_query->order = options->order == 2   ? HEARSAY_ORDER_NEWEST
                       : options->order == 1 ? HEARSAY_ORDER_TIME
                                             : HEARSAY_ORDER_SIMILARITY;
    out_query->metric = options->metric == 1 ? HEARSAY_METRIC_BITS : HEARSAY_METRIC_PHI;
}

/* The width of the column HOST; a longer name takes more. */
enum { HOST_COLUMNS = 12 };

static void print_heading(const struct cli *cli, const struct query_options *options)
{
    out_colour(&cli->out, OUT_BOLD);
    (void)fprintf(cli->out.stream, "%-5s %-*s ", "AGE", BAR_CELLS + 5, "SIMILARITY");
    if (options->hood) {
        (void)fprintf(cli->out.stream, "%-*s ", HOST_COLUMNS, "HOST");
    }
    (void)fprintf(cli->out.stream, "%sTEXT",
                  options->ids ? "ID                               " : "");
    out_colour(&cli->out, OUT_PLAIN);
    (void)fputc('\n', cli->out.stream);
}

/* Prints the text of a message, or a note with its type and size if it is no text. Returns whether
 * the text was cut. */
static bool print_content(const struct cli *cli, const struct hearsay_result *result, size_t width)
{
    FILE *stream = cli->out.stream;
    if (!result->payload_omitted &&
        out_is_text(result->media_type.text, result->payload.data, result->payload.count)) {
        const char *text = (const char *)result->payload.data;
        size_t length = result->payload.count;
        while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == '\r')) {
            length--; /* a line feed at the end is not printed */
        }
        (void)text_print(stream, text, length, width);
        return width > 0 && text_columns(text, length, width) > width;
    }
    char note[400];
    char size[16];
    const char *type = result->media_type.text != NULL ? result->media_type.text
                       : result->payload_omitted       ? "text/plain"
                                                       : "-";
    out_print_size(result->payload.count, size);
    (void)snprintf(note, sizeof(note), "(%s, %s)", type,
                   result->payload_omitted ? "too large to list: hearsay get ID" : size);
    out_colour(&cli->out, OUT_DIM);
    out_text(&cli->out, note, width);
    out_colour(&cli->out, OUT_PLAIN);
    return false;
}

static bool print_row(const struct cli *cli, const struct query_options *options,
                      const struct hearsay_result *result, int64_t now_ms)
{
    FILE *stream = cli->out.stream;
    char age[WHEN_BYTES];
    when_print_span(when_difference(now_ms, result->deposited_ms), age);
    (void)fprintf(stream, "%-5s ", age);
    out_similarity(&cli->out, HEARSAY_DISTANCE_ONE - result->distance_ppm, BAR_CELLS);
    (void)fputc(' ', stream);
    size_t used = 6 + BAR_CELLS + 6;
    if (result->host.text != NULL) {
        size_t columns = result->host.length;
        (void)fprintf(stream, "%-*s ", HOST_COLUMNS, result->host.text);
        used += (columns > HOST_COLUMNS ? columns : HOST_COLUMNS) + 1;
    }
    bool ids = options->ids || result->payload_omitted;
    if (ids) {
        out_hex(&cli->out, result->id.data, HEARSAY_ID_BYTES);
        (void)fputc(' ', stream);
        used += 2 * HEARSAY_ID_BYTES + 1;
    }
    size_t width = cli->out.width;
    if (width > 0) {
        width = width > used + TEXT_COLUMNS_MIN ? width - used : TEXT_COLUMNS_MIN;
    }
    bool is_cut = print_content(cli, result, width);
    (void)fputc('\n', stream);
    return is_cut;
}

int query_print_result(const struct cli *cli, const struct query_options *options,
                       const struct hearsay_result *result, int64_t now_ms, bool is_first,
                       bool *cut)
{
    if (options->json) {
        return cli_print_json(cli, out_json_result(result, true));
    }
    if (is_first) {
        print_heading(cli, options);
    }
    if (print_row(cli, options, result, now_ms) && cut != NULL) {
        *cut = true;
    }
    return CLI_DONE;
}

int query_open_memory(const struct query_options *options, const struct hearsay_host *host,
                      struct hearsay_recent **out_recent, struct hearsay_error *out_error)
{
    *out_recent = NULL;
    return options->memory != NULL
               ? hearsay_recent_open(options->memory, host->profile, 0, out_recent, out_error)
               : HEARSAY_OK;
}

int query_find_channel(const struct cli *cli, const char *name, struct channel *out_channel,
                       const char **group, const char **host)
{
    int code = name != NULL ? channel_find(cli, name, out_channel) : CLI_DONE;
    *group = *group != NULL ? *group : out_channel->group;
    *host = *host != NULL ? *host : out_channel->host;
    return code;
}

int query_read_context(const struct cli *cli, const struct sensed *sensed, bool may_be_empty,
                       const struct channel *channel, struct hearsay_context **out_context)
{
    if (channel->labels == NULL) {
        return may_be_empty ? sensed_read_some(cli, sensed, out_context)
                            : sensed_read(cli, sensed, out_context);
    }
    int code = sensed_read_some(cli, sensed, out_context);
    return code == CLI_DONE ? channel_add_labels(cli, channel, *out_context) : code;
}

/* Demands the label of the context, if the context is one label and nothing else is asked for: with
 * a memory it is only one of the places and topics. Returns CLI_DONE or an exit code. */
static int demand_only_label(const struct cli *cli, struct query_options *options,
                             const struct hearsay_context *context)
{
    const char *only = options->memory == NULL ? hearsay_context_only_label(context) : NULL;
    if (only != NULL && args_list_add(&options->contains, only) != 0) {
        return cli_report_nomem(cli);
    }
    options->is_unbounded = options->is_unbounded || only != NULL;
    return CLI_DONE;
}

int query_begin_context(const struct cli *cli, struct query_options *options,
                        const struct channel *channel, struct hearsay_context **out_context)
{
    bool may_be_empty = !options->no_here || options->memory != NULL;
    size_t count = 0;
    int code = query_read_context(cli, &options->sensed, may_be_empty, channel, out_context);
    if (code != CLI_DONE) {
        return code;
    }
    (void)hearsay_context_labels(*out_context, &count);
    /* Other access points of a hood have other here labels, so these bound nothing there, either.
     */
    options->is_unbounded =
        count == 0 && options->memory == NULL && (options->contains.count > 0 || options->hood);
    return demand_only_label(cli, options, *out_context);
}

int query_complete_context(const struct cli *cli, struct query_options *options,
                           const struct hearsay_host *host, struct hearsay_context *context)
{
    size_t count = 0;
    (void)hearsay_context_labels(context, &count);
    int code =
        options->no_here ? CLI_DONE : sensed_add_here(cli, host, options->memory != NULL, context);
    bool is_here_alone = count == 0 && options->memory == NULL && !options->is_unbounded;
    return code == CLI_DONE && is_here_alone ? demand_only_label(cli, options, context) : code;
}

/* --- filters that are too full ---------------------------------------------------------------- */

enum { PPM = 1000000, ADVICE_BYTES = 512 };

static uint32_t count_set(const struct hearsay_filter *filter,
                          const struct profile_section *section)
{
    uint32_t set = 0;
    for (uint32_t p = section->first_bit; p < section->first_bit + section->bits; p++) {
        set += filter->bytes[p / 8] >> p % 8 & 1;
    }
    return set;
}

static bool is_of(const char *label, const char *attribute, size_t length)
{
    return strncmp(label, attribute, length) == 0 && label[length] == ':';
}

/* The labels of one section. */
struct section_labels {
    size_t count;
    const char *attribute; /* of most of them, `length` bytes; NULL: there are none */
    size_t length;
    size_t of_attribute;
};

static struct section_labels count_labels(const struct fullness *made,
                                          const struct profile *profile,
                                          const struct profile_section *section)
{
    struct section_labels found = {.attribute = NULL};
    for (size_t i = 0; i < made->label_count; i++) {
        const char *label = made->labels[i];
        size_t length = strcspn(label, ":");
        size_t same = 0;
        if (profile_section_of(profile, label, strlen(label)) != section) {
            continue;
        }
        found.count++;
        for (size_t j = 0; j < made->label_count; j++) {
            same += is_of(made->labels[j], label, length) ? 1 : 0;
        }
        if (same > found.of_attribute) {
            found.attribute = label;
            found.length = length;
            found.of_attribute = same;
        }
    }
    return found;
}

/* Writes what the user can leave out. */
static void advise_on_fullness(const struct fullness *made, const struct profile *profile,
                               const struct profile_section *section, char out_advice[ADVICE_BYTES])
{
    struct section_labels labels = count_labels(made, profile, section);
    if (section->kind == PROFILE_JOINT) {
        (void)snprintf(out_advice, ADVICE_BYTES,
                       "leave out labels of %.*s or of %.*s, each pair of which takes bits",
                       section->name.length, section->name.bytes, section->other.length,
                       section->other.bytes);
    } else if (labels.count == 0) {
        (void)snprintf(out_advice, ADVICE_BYTES,
                       "leave out --memory, or remember fewer rounds with `hearsay here`");
    } else {
        (void)snprintf(out_advice, ADVICE_BYTES,
                       "leave out some of its %zu labels, of which %zu have the attribute %.*s",
                       labels.count, labels.of_attribute, (int)labels.length, labels.attribute);
    }
}

void fullness_warn(const struct cli *cli, const struct fullness *made, uint32_t most_ppm)
{
    struct profile profile;
    const char *text = made->host->profile;
    const char *reason = NULL;
    if (most_ppm == 0 || profile_parse(text, strlen(text), &profile, &reason) != 0) {
        return;
    }
    for (uint32_t s = 0; s < profile.section_count; s++) {
        const struct profile_section *section = &profile.sections[s];
        uint32_t set = count_set(made->filter, section);
        char name[PROFILE_TEXT_MAX];
        char advice[ADVICE_BYTES];
        if (set <= section->hashes || (uint64_t)set * PPM <= (uint64_t)most_ppm * section->bits) {
            continue;
        }
        profile_print_name(section, name);
        advise_on_fullness(made, &profile, section, advice);
        cli_complain(cli,
                     "%s%s has %.1f %% of its bits set, and the server takes at most %.1f %%: %s",
                     name[0] != '\0' ? "the section " : "the filter", name,
                     (double)set * 100 / section->bits, (double)most_ppm / 10000, advice);
    }
}

void fullness_warn_query(const struct cli *cli, const struct hearsay *server,
                         const struct asked_from *from, const struct asked *asked)
{
    uint32_t most_ppm = hearsay_welcome(server)->limits.query_fill_max_ppm;
    struct fullness made = {.host = from->host,
                            .filter = &asked->filters[0],
                            .labels = from->labels,
                            .label_count = from->label_count};
    fullness_warn(cli, &made, most_ppm);
    if (asked->parts[0].contains.data != NULL) {
        made.filter = &asked->filters[1];
        made.labels = from->contains;
        made.label_count = from->contains_count;
        fullness_warn(cli, &made, most_ppm);
    }
}
