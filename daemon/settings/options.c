/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/settings/options.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "core/base/word.h"

/* --- rows ------------------------------------------------------------------------------------- */

static int take_form(const struct settings_source *source, void *options, const char *value)
{
    static const char *const forms[] = {"markdown", "mdoc", "example"};

    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        if (strcmp(forms[i], value) == 0) {
            ((struct settings_options *)options)->action =
                (enum settings_action)(SETTINGS_PRINT_MARKDOWN + i);
            return 0;
        }
    }
    return settings_refuse(source, "must be markdown, mdoc or example; not `%.200s`", value);
}

/*
 * The options of every program. The first row comes before the program's own options, the other
 * rows come after them.
 */
static const struct settings_option common[] = {
    {"--config", "FILE", .offset = offsetof(struct settings_options, config),
     .help = "read FILE instead of "},
    {"--check-config", .action = SETTINGS_CHECK_CONFIG, .help = "check the configuration and exit"},
    {"--print-config", .action = SETTINGS_PRINT_CONFIG,
     .help = "print the configuration in force and exit"},
    {"--print-reference", "FORM", .take = take_form},
    {"--version", .action = SETTINGS_VERSION, .help = "print the version and exit"},
    {"--help", .action = SETTINGS_HELP, .help = "print this and exit"},
};

static size_t row_count(const struct settings_program *program)
{
    return program->option_count + sizeof(common) / sizeof(common[0]);
}

static const struct settings_option *row_at(const struct settings_program *program, size_t i)
{
    if (i == 0) {
        return &common[0];
    }
    return i <= program->option_count ? &program->options[i - 1]
                                      : &common[i - program->option_count];
}

/*
 * Returns the row of an option of the command line; NULL: there is no such option. *out_value: the
 * text after `=`, or NULL.
 */
static const struct settings_option *find_row(const struct settings_program *program,
                                              const char *argument, const char **out_value)
{
    size_t length = strcspn(argument, "=");

    *out_value = argument[length] == '=' ? argument + length + 1 : NULL;
    if (strcmp(argument, "-h") == 0) {
        argument = "--help";
        length = strlen(argument);
    }
    for (size_t i = 0; i < row_count(program); i++) {
        const struct settings_option *row = row_at(program, i);

        if (strlen(row->name) == length && strncmp(row->name, argument, length) == 0) {
            return row;
        }
    }
    return NULL;
}

static int refuse_unknown(const struct settings_program *program, const char *argument,
                          char *out_reason)
{
    struct settings_source source = {.name = "command line", .reason = out_reason};
    char name[64];
    const struct settings_option *nearest = NULL;
    size_t nearest_distance = 0;

    (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(argument, "="), argument);
    for (size_t i = 0; i < row_count(program); i++) {
        const struct settings_option *row = row_at(program, i);
        size_t distance = word_distance(name, row->name);

        if (distance <= strlen(row->name) / 3 && (nearest == NULL || distance < nearest_distance)) {
            nearest = row;
            nearest_distance = distance;
        }
    }
    if (argument[0] != '-') {
        return settings_refuse(&source, "`%.200s` is not an option; see %s --help", argument,
                               program->name);
    }
    if (nearest != NULL) {
        return settings_refuse(&source, "unknown option `%.200s`; did you mean %s?", argument,
                               nearest->name);
    }
    return settings_refuse(&source, "unknown option `%.200s`; see %s --help", argument,
                           program->name);
}

/* --- the command line ------------------------------------------------------------------------- */

/* Keeps the value of an option that stands for a key. settings_config_load sets the key. */
static int take_key(const struct settings_source *source, const struct settings_option *row,
                    struct settings_options *options, const char *value)
{
    for (size_t i = 0; i < options->value_count && !row->is_repeatable; i++) {
        if (options->values[i].option == row) {
            return settings_refuse(source, "is given twice");
        }
    }
    if (options->value_count == SETTINGS_VALUES_MAX) {
        return settings_refuse(source, "is given too often");
    }
    options->values[options->value_count++] = (struct settings_option_value){row, value};
    return 0;
}

static int take_value(const struct settings_source *source, const struct settings_option *row,
                      void *options, const char *value)
{
    const char **field = (const char **)(void *)((char *)options + row->offset);

    if (row->take != NULL) {
        return row->take(source, options, value);
    }
    if (row->key != NULL) {
        return take_key(source, row, options, value);
    }
    if (*field != NULL) {
        return settings_refuse(source, "is given twice");
    }
    *field = value;
    return 0;
}

/* Stores the text of a preset, or refuses its name with the names of all presets. */
static int take_preset(const struct settings_program *program, const struct settings_source *source,
                       struct settings_options *options, const char *name)
{
    char names[128] = "";
    size_t used = 0;

    for (const struct settings_preset *preset = program->presets; preset->name != NULL; preset++) {
        if (strcmp(preset->name, name) == 0) {
            options->preset = preset->text;
            return 0;
        }
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
                                 used == 0                ? ""
                                 : preset[1].name == NULL ? " or "
                                                          : ", ",
                                 preset->name);
    }
    return settings_refuse(source, "must be followed by %s, or by nothing; not by `%.200s`", names,
                           name);
}

int settings_options_parse(const struct settings_program *program, int argc, char *const argv[],
                           void *options, char *out_reason)
{
    struct settings_options *asked = options;
    bool has_words = false;

    asked->config_none = program->file;
    for (int i = 1; i < argc; i++) {
        const char *value;
        const struct settings_option *row = find_row(program, argv[i], &value);

        if (row == NULL && program->take_word != NULL && argv[i][0] != '-') {
            if (program->take_word(options, argv[i], out_reason) != 0) {
                return SETTINGS_REFUSED;
            }
            has_words = true;
            continue;
        }
        if (row == NULL) {
            return refuse_unknown(program, argv[i], out_reason);
        }
        struct settings_source source = {.name = row->name, .reason = out_reason};
        if (row->value == NULL) {
            bool may_have = row->action == SETTINGS_PRINT_CONFIG && program->presets != NULL;

            if (value == NULL && may_have && i + 1 < argc && argv[i + 1][0] != '-') {
                value = argv[++i];
            }
            if (value != NULL && !may_have) {
                return settings_refuse(&source, "takes no value");
            }
            if (value != NULL && take_preset(program, &source, asked, value) != 0) {
                return SETTINGS_REFUSED;
            }
            if (row->is_flag) {
                *(bool *)(void *)((char *)options + row->offset) = true;
            } else {
                asked->action = row->action;
            }
            continue;
        }
        if (value == NULL && i + 1 < argc) {
            value = argv[++i];
        }
        if (value == NULL || value[0] == '\0') {
            return settings_refuse(&source, "needs a value: %s %s", row->name, row->value);
        }
        int rc = take_value(&source, row, options, value);
        if (rc != 0) {
            return rc;
        }
    }
    if (has_words && program->check_words(options, out_reason) != 0) {
        return SETTINGS_REFUSED;
    }
    if (program->take_word != NULL && !has_words && asked->action == SETTINGS_RUN) {
        struct settings_source source = {.name = "command line", .reason = out_reason};

        return settings_refuse(&source, "say what to do: %s; see %s --help", program->words,
                               program->name);
    }
    return 0;
}

const char *settings_options_file(const struct settings_options *options)
{
    if (options->config != NULL) {
        return options->config; /* must be there */
    }
    return access(options->config_none, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR)
               ? NULL
               : options->config_none;
}

/* --- answers ---------------------------------------------------------------------------------- */

static void print_help(const struct settings_program *program, FILE *out)
{
    (void)fprintf(out, "usage: %s %s[OPTION]...\n\n%s\n", program->name,
                  program->take_word != NULL ? "COMMAND " : "", program->about);
    for (size_t i = 0; i < row_count(program); i++) {
        const struct settings_option *row = row_at(program, i);
        char left[32];

        if (row->help == NULL) {
            continue;
        }
        (void)snprintf(left, sizeof(left), "%s%s%s", row->name, row->value != NULL ? " " : "",
                       row->value != NULL ? row->value : "");
        (void)fprintf(out, "  %-19s %s%s\n", left, row->help, i == 0 ? program->file : "");
    }
    (void)fprintf(out, "\n%s", program->more);
}

static void say_correct(const struct settings_options *options, const char *file, FILE *out)
{
    if (file[0] != '\0') {
        (void)fprintf(out, "%s: correct\n", file);
    } else {
        (void)fprintf(out, "there is no %s, and --config names no file: the defaults are correct\n",
                      options->config_none);
    }
}

bool settings_options_answer(const struct settings_program *program,
                             const struct settings_options *options, const char *file,
                             const void *config, FILE *out)
{
    switch (options->action) {
    case SETTINGS_RUN:
        return false;
    case SETTINGS_CHECK_CONFIG:
        if (config != NULL) {
            say_correct(options, file, out);
        }
        return config != NULL;
    case SETTINGS_PRINT_CONFIG:
        if (options->preset != NULL) {
            (void)fputs(options->preset, out);
            return true;
        }
        if (config != NULL && program->print != NULL) {
            program->print(config, out);
        } else if (config != NULL) {
            settings_print_section(program->table, program->section, NULL, config, out);
        }
        return config != NULL;
    case SETTINGS_PRINT_MARKDOWN:
        (void)fputs(program->markdown, out);
        settings_print_markdown(program->table, out);
        return true;
    case SETTINGS_PRINT_MDOC:
        settings_print_mdoc(program->table, out);
        return true;
    case SETTINGS_PRINT_EXAMPLE:
        (void)fputs(program->example, out);
        settings_print_example(program->table, out);
        return true;
    case SETTINGS_VERSION:
        (void)fprintf(out, "%s %s\n", program->name, program->version);
        return true;
    case SETTINGS_HELP:
        print_help(program, out);
        return true;
    }
    return false;
}

void settings_complain(const struct settings_program *program, const char *reason, FILE *out)
{
    while (reason != NULL) {
        const char *end = strchr(reason, '\n');

        (void)fprintf(out, "%s: %.*s\n", program->name, (int)strcspn(reason, "\n"), reason);
        reason = end != NULL ? end + 1 : NULL;
    }
}
