/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings_options: the command line of a program with a table of keys. Every program has the
 * options --config FILE, --check-config, --print-config, --print-reference FORM, --version and
 * --help (-h). A program may add its own options. If a program has presets, --print-config may be
 * followed by the name of one.
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

/*
 * What the command line asks for. A program's own struct of options begins with this struct. The
 * strings are borrowed.
 */
struct settings_options {
    enum settings_action action;
    const char *config;      /* NULL: not given */
    const char *config_none; /* the file to read without --config, if it exists */
    const char *preset;      /* the text of the preset to print; NULL: none */
};

/* An example configuration, for example for a café: its name, and the text of its file. */
struct settings_preset {
    const char *name;
    const char *text;
};

/* An option of one program. */
struct settings_option {
    const char *name;            /* with two hyphens */
    const char *value;           /* what the help calls the value; NULL: the option has none */
    size_t offset;               /* of a const char * in the program's struct of options */
    enum settings_action action; /* of an option without a value */
    const char *help;            /* NULL: not in the help */
    /*
     * Parses the option's value and stores it in the struct of options. Returns 0, or
     * SETTINGS_REFUSED with a sentence. NULL: the text of the value is stored at `offset`, and the
     * option may be given only once.
     */
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
    const struct settings_preset *presets; /* ends with a row of NULL; NULL: none */
    const char *markdown; /* what stands above the keys in the Markdown reference */
    const char *example;  /* what stands above the keys in the example file */
    /* Writes a configuration in the form of a file. */
    void (*print)(const void *config, FILE *out);
};

/*
 * Reads the command line into *options. The struct begins with a struct settings_options. The
 * caller has set all fields to 0 or NULL. Returns 0; or SETTINGS_REFUSED with a sentence in
 * out_reason (SETTINGS_REASON_BYTES).
 */
int settings_options_parse(const struct settings_program *program, int argc, char *const argv[],
                           void *options, char *out_reason);

/*
 * Returns the name of the configuration file to read. NULL: --config is not given, and the default
 * file does not exist.
 */
const char *settings_options_file(const struct settings_options *options);

/*
 * Answers an option that asks for text, such as --help. A program calls this function twice. The
 * first call has `config` NULL, and answers options that need no configuration. The second call has
 * the configuration and the name of its file ("": no file was read). Returns true if the answer was
 * written to `out`.
 */
bool settings_options_answer(const struct settings_program *program,
                             const struct settings_options *options, const char *file,
                             const void *config, FILE *out);

/* Writes each line of a reason with the program's name before the line. */
void settings_complain(const struct settings_program *program, const char *reason, FILE *out);

#endif
