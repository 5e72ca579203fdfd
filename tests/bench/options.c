/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/options.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/bench.h"

enum { HELP_COLUMNS = 18, FIRST_LONG = 256 /* above every letter */ };

/* The table in the form that getopt_long takes. */
struct getopt_table {
    char letters[2 * OPTIONS_ROWS_MAX + 3];
    struct option names[OPTIONS_ROWS_MAX + 2];
    size_t name_count;
    const struct option_row
        *rows[OPTIONS_ROWS_MAX]; /* --NAME of row i has the code FIRST_LONG + i */
    size_t row_count;
};

static const struct option_row help_row = {.name = "help", .help = "this text"};

/* ---- help ---- */

static bool is_letter(const struct option_row *row)
{
    return row->name[1] == '\0';
}

static const char *dashes(const struct option_row *row)
{
    return is_letter(row) ? "-" : "--";
}

static void print_row(const struct option_row *row, FILE *out)
{
    char left[64];
    const char *line = row->help;

    snprintf(left, sizeof(left), "%s%s%s%s", dashes(row), row->name, row->value != NULL ? " " : "",
             row->value != NULL ? row->value : "");
    fprintf(out, "  %-*s", HELP_COLUMNS, left);
    for (;;) {
        const char *end = strchr(line, '\n');

        fprintf(out, " %.*s\n", end != NULL ? (int)(end - line) : (int)strlen(line), line);
        if (end == NULL) {
            return;
        }
        fprintf(out, "  %-*s", HELP_COLUMNS, "");
        line = end + 1;
    }
}

void options_help(const struct options_table *table, FILE *out)
{
    fprintf(out, "usage: hearsay-bench %s [OPTION...]\n\n%s\n",
            table->command != NULL ? table->command : "COMMAND", table->about);
    for (const struct option_group *group = table->groups; group->count > 0; group++) {
        if (group->heading != NULL) {
            fprintf(out, "%s%s:\n", group > table->groups ? "\n" : "", group->heading);
        }
        for (size_t i = 0; i < group->count; i++) {
            print_row(&group->rows[i], out);
        }
    }
    print_row(&help_row, out);
    if (table->notes != NULL) {
        fprintf(out, "\n%s", table->notes);
    }
}

/* ---- values ---- */

/* Says what was wrong, and where to read what would be right. */
static __attribute__((format(printf, 2, 3))) enum options_outcome
refuse(const struct options_table *table, const char *format, ...)
{
    char what[512];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(what, sizeof(what), format, arguments);
    va_end(arguments);
    (void)bench_fail("%s; see hearsay-bench%s%s --help", what, table->command != NULL ? " " : "",
                     table->command != NULL ? table->command : "");
    return OPTIONS_REFUSED;
}

static bool is_number(const struct option_row *row)
{
    return row->u32 != NULL || row->u64 != NULL || row->size != NULL;
}

/* Writes what a correct value looks like, for example "--count takes a number from 1 to 99". */
static void print_wanted(const struct option_row *row, char *out, size_t room)
{
    if (is_number(row)) {
        (void)snprintf(out, room, "%s%s takes a number from %" PRIu64 " to %" PRIu64, dashes(row),
                       row->name, row->least, row->most);
    } else {
        (void)snprintf(out, room, "%s%s takes %s", dashes(row), row->name,
                       row->flag != NULL ? "no value" : row->value);
    }
}

static int read_number(const struct option_row *row, const char *text, uint64_t *out)
{
    char wanted[128];
    char *end = NULL;

    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value < row->least ||
        value > row->most) {
        print_wanted(row, wanted, sizeof(wanted));
        return bench_fail("%s, not %s", wanted, text);
    }
    *out = value;
    return 0;
}

static int read_profile(const struct option_row *row, const char *text)
{
    const char *reason = NULL;

    return profile_parse(text, strlen(text), row->profile, &reason) == 0
               ? 0
               : bench_fail("%s%s %s: %s", dashes(row), row->name, text, reason);
}

static int take_number(const struct option_row *row, const char *text)
{
    uint64_t number = 0;

    if (read_number(row, text, &number) != 0) {
        return -1;
    }
    if (row->u32 != NULL) {
        *row->u32 = (uint32_t)number;
    } else if (row->size != NULL) {
        *row->size = (size_t)number;
    } else {
        *row->u64 = number;
    }
    return 0;
}

static int take_value(const struct option_row *row, char *value)
{
    if (is_number(row)) {
        return take_number(row, value);
    }
    if (row->parse != NULL) {
        return row->parse(value, row->destination);
    }
    if (row->profile != NULL) {
        return read_profile(row, value);
    }
    if (row->text != NULL) {
        *row->text = value;
    } else {
        *row->flag = true;
    }
    return 0;
}

/* ---- the command line ---- */

static void add_row(const struct option_row *row, struct getopt_table *out)
{
    const size_t i = out->row_count++;
    const bool takes_value = row->flag == NULL;

    assert(i < OPTIONS_ROWS_MAX);
    assert(row->u32 == NULL || row->most <= UINT32_MAX);
    assert(row->size == NULL || row->most <= SIZE_MAX);
    out->rows[i] = row;
    if (is_letter(row)) {
        strcat(out->letters, row->name);
        strcat(out->letters, takes_value ? ":" : "");
        return;
    }
    out->names[out->name_count++] = (struct option){
        row->name, takes_value ? required_argument : no_argument, NULL, FIRST_LONG + (int)i};
}

static void getopt_table_init(const struct options_table *table, struct getopt_table *out)
{
    memset(out, 0, sizeof(*out));
    strcpy(out->letters, ":h"); /* ':': getopt prints nothing itself */
    out->names[out->name_count++] = (struct option){"help", no_argument, NULL, 'h'};
    for (const struct option_group *group = table->groups; group->count > 0; group++) {
        for (size_t i = 0; i < group->count; i++) {
            add_row(&group->rows[i], out);
        }
    }
}

/* Returns the row with this code of getopt_long, or NULL if there is none. */
static const struct option_row *row_of(const struct getopt_table *table, int code)
{
    if (code >= FIRST_LONG) {
        return table->rows[code - FIRST_LONG];
    }
    for (size_t i = 0; i < table->row_count; i++) {
        if (is_letter(table->rows[i]) && table->rows[i]->name[0] == code) {
            return table->rows[i];
        }
    }
    return NULL;
}

/*
 * Reports an error of getopt_long, which returned '?' or ':'. `optopt` is the code of the option,
 * or 0 if the option has no code.
 */
static enum options_outcome refuse_option(const struct options_table *table,
                                          const struct getopt_table *known, const char *word)
{
    const struct option_row *row = row_of(known, optopt);
    char wanted[128];

    if (row != NULL) {
        print_wanted(row, wanted, sizeof(wanted));
        return refuse(table, "%s", wanted);
    }
    return optopt == 0 ? refuse(table, "%s is no option", word)
                       : refuse(table, "-%c is no option", optopt);
}

enum options_outcome options_read(const struct options_table *table, int argc, char **argv)
{
    struct getopt_table known;
    int code;

    getopt_table_init(table, &known);
    while ((code = getopt_long(argc, argv, known.letters, known.names, NULL)) != -1) {
        if (code == 'h') {
            options_help(table, stdout);
            return OPTIONS_HELP;
        }
        if (code == '?' || code == ':') {
            return refuse_option(table, &known, argv[optind - 1]);
        }
        if (take_value(row_of(&known, code), optarg) != 0) {
            return OPTIONS_REFUSED;
        }
    }
    const int allowed = table->word != NULL ? 1 : 0;
    if (argc - optind > allowed) {
        return refuse(table, "%s is no option", argv[optind + allowed]);
    }
    if (optind < argc) {
        *table->word = argv[optind];
    }
    return OPTIONS_RUN;
}
