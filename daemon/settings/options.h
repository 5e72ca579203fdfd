/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings_options: the command line of a program with a table of keys. Every program has the
 * options --config FILE, --check-config, --print-config, --print-reference FORM, --version and
 * --help (-h). A program may add its own options. If a program has presets, --print-config may be
 * followed by the name of one.
 */
#pragma once

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

struct settings_option;

enum { SETTINGS_VALUES_MAX = 24 };

/*
 * What the command line asks for. A program's own struct of options begins with this struct. The
 * strings are borrowed.
 */
struct settings_options {
    enum settings_action action;
    const char *config;      /* NULL: not given */
    const char *config_none; /* the file to read without --config, if it exists */
    const char *preset;      /* the text of the preset to print; NULL: none */
    /* The values of the options that stand for a key, in their order. */
    struct settings_option_value {
        const struct settings_option *option;
        const char *text;
    } values[SETTINGS_VALUES_MAX];
    size_t value_count;
};

/* An example configuration, for example for a café: its name, and the text of its file. */
struct settings_preset {
    const char *name;
    const char *text;
};

/* A path of the command line is relative to the working directory, and one of a file is absolute.
 */
enum settings_path {
    SETTINGS_NO_PATH,
    SETTINGS_ALWAYS_PATH,
    SETTINGS_PERHAPS_PATH /* if it begins with `./` or `../`; else it may be something else */
};

/* An option of one program. */
struct settings_option {
    const char *name;        /* with two hyphens */
    const char *value;       /* what the help calls the value; NULL: the option has none */
    const char *key;         /* the key that the option sets, of the section
                                settings_program.section; NULL: no key */
    bool is_repeatable;      /* the option may be given again and again; its values replace
                                those of the file */
    enum settings_path path; /* whether the value of the key is a path, which is made absolute */
    size_t offset;           /* without a key: of a const char * in the struct of options */
    bool is_flag;            /* an option without a value that sets the bool at `offset` */
    enum settings_action action; /* of an option without a value */
    const char *help;            /* NULL: not in the help */
    /*
     * Parses the option's value and stores it in the struct of options. Returns 0, or
     * SETTINGS_REFUSED with a sentence. NULL: the text of the value is stored for the key or at
     * `offset`, and the option may be given only once unless it is repeatable.
     */
    int (*take)(const struct settings_source *source, void *options, const char *value);
};

/* What differs from program to program. A `config` points to the program's struct of its
 * configuration, which begins with a struct settings_config. */
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
    /* Takes a word of the command line, an argument that is no option and no value of one. Words
     * and options may stand in any order. Returns 0, or SETTINGS_REFUSED with a sentence. A program
     * without such words has NULL. */
    int (*take_word)(void *options, const char *word, char *out_reason);
    /* Checks, if there were words, that all are there and that the flags belong to them. As above.
     */
    int (*check_words)(const void *options, char *out_reason);
    const char *words;   /* what they may be, for the sentence if there are none and no option asks
                            for text */
    size_t config_bytes; /* of the struct of the configuration */
    unsigned section;    /* of the keys that options set; its struct is the configuration's */
    /* Sets all defaults but those that `finish` sets. */
    void (*defaults)(void *config);
    /* As settings_target.enter. */
    int (*enter)(void *config, const struct settings_source *source,
                 const struct settings_heading *heading, void **out_base);
    /* Empties the list that the repeatable option adds to; NULL: there is no such option. */
    void (*clear)(void *config);
    /* Sets defaults that follow from other keys, and checks rules about several keys. Returns 0; or
     * SETTINGS_REFUSED with a line for each error, or -ERR_NOMEM. */
    int (*finish)(void *config, char *out_reason);
    /* What --check-config checks besides, such as users: writes warnings to `out`. Returns 0, or
     * another number with a line for each error in out_reason (SETTINGS_REASON_BYTES). */
    int (*check)(void *config, FILE *out, char *out_reason);
    /* Writes a configuration in the form of a file. NULL: it has the keys of `section` only. */
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

/* --- config ----------------------------------------------------------------------------------- */

/*
 * settings_config: a whole configuration of a program, from a file, from options of the command
 * line and from defaults. What is the same for every program stands here; a program's struct of its
 * configuration begins with a struct settings_config, and its struct settings_program says what
 * differs. A `config` of these functions points to the program's struct.
 */

/*
 * settings_config_parse parses the text of a file, which has `length` bytes; `name` is the file
 * name for sentences. settings_config_read reads the file first. All other values of *out_config
 * get their defaults. Returns 0; SETTINGS_REFUSED with a line "name:line: what is wrong and what
 * would be right" for each error in out_reason (SETTINGS_REASON_BYTES), also if the file cannot be
 * read; or -ERR_NOMEM. On failure *out_config is unchanged.
 */
int settings_config_parse(const struct settings_program *program, const char *text, size_t length,
                          const char *name, void *out_config, char *out_reason);
int settings_config_read(const struct settings_program *program, const char *file, void *out_config,
                         char *out_reason);

/*
 * Sets one key of a section, for example to the value of an option of the command line. `base` is
 * the struct of the section, and `name` is the option for sentences. Returns 0, or SETTINGS_REFUSED
 * with a sentence.
 */
int settings_config_set(const struct settings_table *table, void *config, const char *name,
                        unsigned section, void *base, const char *key, const char *value,
                        char *out_reason);

/*
 * Loads the configuration that the command line asks for: the defaults, the file, the options, and
 * then `finish` of the program. `options` begins with a struct settings_options. Returns as
 * settings_config_read, with a sentence also for -ERR_NOMEM.
 */
int settings_config_load(const struct settings_program *program, const void *options,
                         void *out_config, char *out_reason);

/*
 * Returns where a sentence about a key of a section stands: in the line of the file that set the
 * key. The sentence goes to `reason`, on a line of its own.
 */
struct settings_source settings_config_source(const struct settings_table *table,
                                              const void *config, unsigned section, const char *key,
                                              char *reason);

/*
 * Checks that a reload may replace `running` by `fresh`: no key of the section that needs a
 * restart has another value, and the file, if there was one, has not gone. The values of the
 * section are in the struct of the configuration. Returns 0, or SETTINGS_REFUSED with a sentence
 * about the first such key.
 */
int settings_config_check_reload(const struct settings_table *table, unsigned section,
                                 const void *running, const void *fresh, char *out_reason);

/* Writes each line of the reason why a reload was refused to the log. */
void settings_log_refusal(const char *reason);

/* --- start ------------------------------------------------------------------------------------ */

/*
 * settings_start: the beginning of every program: its command line, its configuration, and the
 * answers to options such as --help and --check-config.
 */

/* What the functions below return if the program goes on. */
enum { SETTINGS_GO_ON = -1, SETTINGS_EXIT_USAGE = 2 };

/*
 * Reads the command line into *options, and answers options that need no configuration. Returns
 * SETTINGS_GO_ON, or the exit status with which the program ends; then an answer or an error has
 * been printed.
 */
int settings_begin(const struct settings_program *program, int argc, char *const argv[],
                   void *options);

/*
 * Loads the configuration, and answers the options that need it. From then on SIGPIPE is ignored.
 * Returns as settings_begin.
 */
int settings_prepare(const struct settings_program *program, const void *options, void *config);

/* Flushes standard output. Returns the exit status of a program that has printed its answer. */
int settings_finish_output(const struct settings_program *program);

/*
 * Reports that a start has failed, of which `rc` is the result. Returns the exit status: a start
 * that is refused (SETTINGS_REFUSED) is a matter of the configuration.
 */
int settings_fail_start(int rc, const char *reason);
