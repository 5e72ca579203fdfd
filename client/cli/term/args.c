/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cli/term/args.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/term/out.h"
#include "core/base/word.h"

/*
 * The codes that getopt_long returns: the letter of a short option, or LONG_CODE plus the index of
 * a long option.
 */
enum { LONG_CODE = 1000, WORD_MAX = 40, HELP_COLUMN = 29, HELP_WIDTH = 80 };

const char *args_nearest(const char *word, const char *const *names, size_t count)
{
    const char *best = NULL;
    size_t length = strlen(word);
    if (length == 0 || length > WORD_MAX) {
        return NULL;
    }
    /* A name is suggested only if `word` needs at most one edit for every three characters (one
     * edit if `word` is shorter), or if the name begins with `word`. */
    size_t best_edits = (length < 3 ? 1 : length / 3) + 1;
    for (size_t i = 0; i < count; i++) {
        size_t found = word_distance(word, names[i]);
        bool begins = length >= 2 && strncmp(word, names[i], length) == 0;
        if (begins || found < best_edits) {
            best = names[i];
            best_edits = begins ? 0 : found;
        }
    }
    return best;
}

/* The tables that getopt_long needs; and, for each code that getopt_long may return, the row of the
 * option and the struct that gets the option's value. */
struct table {
    struct option longs[ARGS_OPTIONS_MAX + 1];
    char shorts[2 * ARGS_OPTIONS_MAX + 3];
    const struct args_option *options[ARGS_OPTIONS_MAX];
    void *targets[ARGS_OPTIONS_MAX];
    const char *names[ARGS_OPTIONS_MAX];
    size_t count;
};

static void table_init(struct table *table, const struct args_group *groups, size_t group_count,
                       bool stop)
{
    memset(table, 0, sizeof(*table));
    size_t used = 0;
    /* In the string of short options, "+" makes getopt_long stop at the first word that is no
     * option, and ":" makes it report a missing value and an unknown option differently. */
    if (stop) {
        table->shorts[used++] = '+';
    }
    table->shorts[used++] = ':';
    for (size_t g = 0; g < group_count; g++) {
        for (size_t i = 0; i < groups[g].count && table->count < ARGS_OPTIONS_MAX; i++) {
            const struct args_option *option = &groups[g].options[i];
            size_t at = table->count++;
            bool valued = option->kind != ARGS_FLAG;
            table->options[at] = option;
            table->targets[at] = groups[g].target;
            table->names[at] = option->name;
            table->longs[at].name = option->name;
            table->longs[at].has_arg = valued ? required_argument : no_argument;
            table->longs[at].val = LONG_CODE + (int)at;
            if (option->letter != 0) {
                table->shorts[used++] = option->letter;
                if (valued) {
                    table->shorts[used++] = ':';
                }
            }
        }
    }
}

static size_t table_find(const struct table *table, int code)
{
    if (code >= LONG_CODE) {
        return (size_t)(code - LONG_CODE);
    }
    size_t at = 0;
    while (at < table->count && table->options[at]->letter != (char)code) {
        at++;
    }
    return at;
}

static int wrong_value(const struct args_option *option, const char *value, const char *wanted,
                       char *out_sentence)
{
    (void)snprintf(out_sentence, ARGS_SENTENCE_BYTES, "--%s: \"%.80s\" is not %s", option->name,
                   value, wanted);
    return ARGS_WRONG;
}

static int set_number(const struct args_option *option, const char *value, uint32_t *field,
                      char *out_sentence)
{
    uint64_t number = 0;
    if (number_parse(value, option->min, option->max, &number) != 0) {
        char wanted[80];
        (void)snprintf(wanted, sizeof(wanted), "a number from %" PRIu64 " to %" PRIu64, option->min,
                       option->max);
        return wrong_value(option, value, wanted, out_sentence);
    }
    *field = (uint32_t)number;
    return 0;
}

static int set_duration(const struct args_option *option, const char *value, uint64_t *field,
                        char *out_sentence)
{
    uint64_t ms = 0;
    if (number_parse_duration(value, &ms) != 0) {
        return wrong_value(option, value, "a duration such as 90s, 15m, 2h or 3d", out_sentence);
    }
    if (ms < option->min || ms > option->max) {
        char least[NUMBER_DURATION_BYTES];
        char most[NUMBER_DURATION_BYTES];
        char wanted[80];
        number_print_duration(option->min, least);
        number_print_duration(option->max, most);
        (void)snprintf(wanted, sizeof(wanted), "a duration from %s to %s", least, most);
        return wrong_value(option, value, wanted, out_sentence);
    }
    *field = ms;
    return 0;
}

static int set_moment(const struct args_option *option, const char *value,
                      struct args_moment *field, char *out_sentence)
{
    struct args_moment moment = {.kind = ARGS_AT};
    if (when_parse(value, &moment.ms) != 0) {
        uint64_t ago_ms = 0;
        if (number_parse_duration(value, &ago_ms) != 0 || ago_ms > INT64_MAX / 4) {
            return wrong_value(option, value, "a duration such as 6h or 2026-11-20T14:00Z",
                               out_sentence);
        }
        moment.kind = ARGS_AGO;
        moment.ms = (int64_t)ago_ms;
    }
    *field = moment;
    return 0;
}

static int set_choice(const struct args_option *option, const char *value, int *field,
                      char *out_sentence)
{
    char wanted[80] = "one of";
    for (int i = 0; option->choices[i] != NULL; i++) {
        if (strcmp(option->choices[i], value) == 0) {
            *field = i;
            return 0;
        }
        size_t used = strlen(wanted);
        (void)snprintf(wanted + used, sizeof(wanted) - used, "%s %s", i == 0 ? "" : ",",
                       option->choices[i]);
    }
    return wrong_value(option, value, wanted, out_sentence);
}

int args_list_add(struct args_list *list, const char *value)
{
    const char **items = realloc(list->items, (list->count + 1) * sizeof(*items));
    if (items == NULL) {
        return ARGS_NOMEM;
    }
    items[list->count] = value;
    list->items = items;
    list->count++;
    return 0;
}

static int set_option(const struct args_option *option, void *target, const char *value,
                      char *out_sentence)
{
    void *field = (char *)target + option->offset;
    switch (option->kind) {
    case ARGS_FLAG:
        *(bool *)field = true;
        return 0;
    case ARGS_TEXT:
        if (value[0] == '\0') {
            return wrong_value(option, value, "a value", out_sentence);
        }
        *(const char **)field = value;
        return 0;
    case ARGS_LIST:
        return args_list_add(field, value);
    case ARGS_NUMBER:
        return set_number(option, value, field, out_sentence);
    case ARGS_DURATION:
        return set_duration(option, value, field, out_sentence);
    case ARGS_DISTANCE:
        if (number_parse_distance(value, field) != 0) {
            return wrong_value(option, value, "a decimal from 0 to 1 with at most six decimals",
                               out_sentence);
        }
        return 0;
    case ARGS_MOMENT:
        return set_moment(option, value, field, out_sentence);
    case ARGS_CHOICE:
        return set_choice(option, value, field, out_sentence);
    }
    return ARGS_WRONG;
}

/*
 * Reports an unknown option, or a value of an option that takes none. getopt's variable optopt is
 * the letter of an unknown short option, or the code of a long option that takes no value. For an
 * unknown long option optopt is 0, and argv[optind - 1] is the option.
 */
static int unknown_option(const struct table *table, char **argv, char *out_sentence)
{
    if (optopt > 0 && optopt < LONG_CODE) {
        (void)snprintf(out_sentence, ARGS_SENTENCE_BYTES, "there is no option -%c", optopt);
        return ARGS_WRONG;
    }
    if (optopt >= LONG_CODE) {
        (void)snprintf(out_sentence, ARGS_SENTENCE_BYTES, "--%s takes no value",
                       table->options[optopt - LONG_CODE]->name);
        return ARGS_WRONG;
    }
    char word[WORD_MAX + 2];
    (void)snprintf(word, sizeof(word), "%s", argv[optind - 1] + 2);
    word[strcspn(word, "=")] = '\0';
    size_t begin_alike = 0;
    for (size_t i = 0; i < table->count; i++) {
        begin_alike += strncmp(word, table->names[i], strlen(word)) == 0 ? 1 : 0;
    }
    const char *near = args_nearest(word, table->names, table->count);
    (void)snprintf(out_sentence, ARGS_SENTENCE_BYTES, "%s --%s%s%s%s",
                   begin_alike > 1 ? "more than one option begins with" : "there is no option",
                   word, near != NULL ? "; did you mean --" : "", near != NULL ? near : "",
                   near != NULL ? "?" : "");
    return ARGS_WRONG;
}

static int missing_value(const struct table *table, char *out_sentence)
{
    size_t at = table_find(table, optopt);
    (void)snprintf(out_sentence, ARGS_SENTENCE_BYTES, "--%s needs a value, %s",
                   table->options[at]->name, table->options[at]->value);
    return ARGS_WRONG;
}

int args_parse(int argc, char **argv, const struct args_group *groups, size_t group_count,
               bool stop, int *out_first, char out_sentence[ARGS_SENTENCE_BYTES])
{
    struct table table;
    table_init(&table, groups, group_count, stop);
    opterr = 0;
    optind = 0; /* begins anew, and with another set of options */
    for (;;) {
        int code = getopt_long(argc, argv, table.shorts, table.longs, NULL);
        if (code == -1) {
            break;
        }
        if (code == '?') {
            return unknown_option(&table, argv, out_sentence);
        }
        if (code == ':') {
            return missing_value(&table, out_sentence);
        }
        size_t at = table_find(&table, code);
        int status = set_option(table.options[at], table.targets[at], optarg, out_sentence);
        if (status != 0) {
            return status;
        }
    }
    *out_first = optind;
    return 0;
}

void args_free(const struct args_group *group)
{
    for (size_t i = 0; i < group->count; i++) {
        if (group->options[i].kind == ARGS_LIST) {
            struct args_list *list =
                (struct args_list *)(void *)((char *)group->target + group->options[i].offset);
            free(list->items);
            memset(list, 0, sizeof(*list));
        }
    }
}

/* Prints what stands for the value of an option. Returns the number of columns. */
static int print_value(FILE *stream, const struct args_option *option)
{
    if (option->value != NULL) {
        return fprintf(stream, " %s%s", option->value, option->kind == ARGS_LIST ? "..." : "");
    }
    int columns = 0;
    for (size_t i = 0; option->choices != NULL && option->choices[i] != NULL; i++) {
        columns += fprintf(stream, "%c%s", i == 0 ? ' ' : '|', option->choices[i]);
    }
    return columns;
}

void args_print_prose(FILE *stream, int column, const char *text)
{
    int used = column;

    while (*text != '\0') {
        int length = (int)strcspn(text, " \n");
        if (used > column && used + 1 + length > HELP_WIDTH) {
            (void)fprintf(stream, "\n%*s", column, "");
            used = column;
        }
        used += fprintf(stream, "%s%.*s", used > column ? " " : "", length, text);
        text += length;
        text += strspn(text, " \n");
    }
    (void)fputc('\n', stream);
}

void args_print_help(FILE *stream, const struct args_group *group)
{
    for (size_t i = 0; i < group->count; i++) {
        const struct args_option *option = &group->options[i];
        int columns = option->letter != 0
                          ? fprintf(stream, "  -%c, --%s", option->letter, option->name)
                          : fprintf(stream, "      --%s", option->name);
        columns += print_value(stream, option);
        if (columns > HELP_COLUMN - 2) {
            (void)fputc('\n', stream);
            columns = 0;
        }
        (void)fprintf(stream, "%*s", HELP_COLUMN - columns, "");
        args_print_prose(stream, HELP_COLUMN, option->help);
    }
}
