/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings_config: a whole configuration of a program, from a file, from options of the command
 * line and from defaults. What is the same for every program stands here; a program's struct of its
 * configuration begins with a struct settings_config, and its struct settings_program says what
 * differs. A `config` of these functions points to the program's struct.
 */
#ifndef DAEMON_SETTINGS_CONFIG_H
#define DAEMON_SETTINGS_CONFIG_H

#include "daemon/settings/options.h"

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
 * restart has another value. The values of the section are in the struct of the configuration.
 * Returns 0, or SETTINGS_REFUSED with a sentence about the first such key.
 */
int settings_config_check_reload(const struct settings_table *table, unsigned section,
                                 const void *running, const void *fresh, char *out_reason);

/* Writes each line of the reason why a reload was refused to the log. */
void settings_log_refusal(const char *reason);

#endif
