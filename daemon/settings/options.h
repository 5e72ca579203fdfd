/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings_options: the command line of a program with a table of keys. Every program has the
 * options --config FILE, --check-config, --print-config, --print-reference FORM, --version and
 * --help (-h). A program may add options of its own, which all have a value.
 */
#ifndef DAEMON_SETTINGS_OPTIONS_H
#define DAEMON_SETTINGS_OPTIONS_H

#include "daemon/settings/table.h"

enum settings_action {
    SETTINGS_RUN,
    SETTINGS_CHECK_CONFIG,
    SETTINGS_PRINT_CONFIG,
    SETTINGS_PRINT_MARKDOWN,
    SETTINGS_PRINT_MDOC,
    SETTINGS_PRINT_EXAMPLE,
    SETTINGS_VERSION,
    SETTINGS_HELP
};

/* The first member of a program's own struct of options. Strings are borrowed from the command
   line. */
struct settings_options {
    enum settings_action action;
    const char *config;      /* NULL: not given */
    const char *config_none; /* the file to read without --config, if it exists */
};

/* An option of one program. */
struct settings_option {
    const char *name;            /* with two hyphens */
    const char *value;           /* what the help calls the value; NULL: the option has none */
    size_t offset;               /* of a const char * in the program's struct of options */
    enum settings_action action; /* of an option without a value */
    const char *help;            /* NULL: not in the help */
    /* Puts the value into the struct of options. NULL: the value goes to `offset`, once. */
    int (*take)(const struct settings_source *source, void *options, const char *value);
};

/* What differs from program to program. */
struct settings_program {
    const char *name;
    const char *version;
    const char *file;  /* the configuration file if --config names none */
    const char *about; /* help: the text above the options */
    const char *more;  /* help: the text below the options */
    const struct settings_option *options;
    size_t option_count;
    const struct settings_table *table;
    const char *markdown; /* what stands above the keys in the Markdown reference */
    const char *example;  /* what stands above the keys in the example file */
    /* Writes a configuration as a file that gives the same configuration. */
    void (*print)(const void *config, FILE *out);
};

/*
 * Reads the command line into *options, which begins with a struct settings_options and is zeroed
 * by the caller. 0, or SETTINGS_REFUSED with a sentence in out_reason (SETTINGS_REASON_BYTES).
 */
int settings_options_parse(const struct settings_program *program, int argc, char *const argv[],
                           void *options, char *out_reason);

/* The configuration file to read. NULL: --config names none, and the default file does not exist.
 */
const char *settings_options_file(const struct settings_options *options);

/*
 * Answers an option that asks for text, such as --help. To be called twice: first with `config`
 * NULL, for options that need no configuration; then with the configuration, which was read from
 * `file` ("": from no file). True: the answer is written to `out`.
 */
bool settings_options_answer(const struct settings_program *program,
                             const struct settings_options *options, const char *file,
                             const void *config, FILE *out);

/* Writes the lines of a reason, each with the program's name before it. */
void settings_complain(const struct settings_program *program, const char *reason, FILE *out);

#endif
