/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/settings/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/err.h"
#include "daemon/system/log.h"

/* --- a file ----------------------------------------------------------------------------------- */

int settings_config_parse(const struct settings_program *program, const char *text, size_t length,
                          const char *name, void *out_config, char *out_reason)
{
    struct settings_source source = {.name = name, .reason = out_reason};
    struct settings_config *fresh;

    if (strlen(name) >= sizeof(fresh->file)) {
        return settings_refuse(&source, "the file's name is too long");
    }
    fresh = malloc(program->config_bytes); /* too large for a small machine's stack */
    if (fresh == NULL) {
        return -ERR_NOMEM;
    }
    program->defaults(fresh);
    memcpy(fresh->file, name, strlen(name));
    struct settings_target target = {
        .table = program->table,
        .context = fresh,
        .enter = program->enter,
        .key_lines = fresh->key_lines,
    };
    int rc = settings_parse(&target, text, length, name, out_reason);
    if (rc == 0) {
        memcpy(out_config, fresh, program->config_bytes);
    }
    free(fresh);
    return rc;
}

int settings_config_read(const struct settings_program *program, const char *file, void *out_config,
                         char *out_reason)
{
    char *text = NULL;
    size_t length = 0;
    int rc = settings_read(file, &text, &length, out_reason);

    if (rc == 0) {
        rc = settings_config_parse(program, text, length, file, out_config, out_reason);
    }
    free(text);
    return rc;
}

/* --- options ---------------------------------------------------------------------------------- */

int settings_config_set(const struct settings_table *table, void *config, const char *name,
                        unsigned section, void *base, const char *key, const char *value,
                        char *out_reason)
{
    struct settings_source source = {.name = name, .reason = out_reason};
    struct settings_config *common = config;
    const struct settings_key *found = settings_find(table, section, key);

    if (found == NULL) {
        return settings_refuse_unknown(&source, table, section, key);
    }
    common->key_lines[found - table->keys] = 0;
    return settings_set(&source, found, base, value);
}

/*
 * Makes a path of the command line absolute: a relative path is relative to the working directory.
 * `out` has SETTINGS_FILE_BYTES.
 */
static int make_absolute(const char *name, const char *path, char *out, char *out_reason)
{
    struct settings_source source = {.name = name, .reason = out_reason};
    char directory[SETTINGS_FILE_BYTES];

    if (getcwd(directory, sizeof(directory)) == NULL) {
        return settings_refuse(&source, "the working directory is not known: %s", strerror(errno));
    }
    while (strncmp(path, "./", 2) == 0) {
        path += 2;
    }
    int length = snprintf(out, SETTINGS_FILE_BYTES, "%s/%s",
                          strcmp(directory, "/") == 0 ? "" : directory, path);
    return length > 0 && length < SETTINGS_FILE_BYTES
               ? 0
               : settings_refuse(&source, "the path is too long");
}

/* Whether a value of the command line is a relative path. A value that may also be something else,
 * such as an address, is a path only if it begins with `./` or `../`. */
static bool is_relative(const struct settings_option *option, const char *value)
{
    switch (option->path) {
    case SETTINGS_ALWAYS_PATH:
        return value[0] != '/';
    case SETTINGS_PERHAPS_PATH:
        return strncmp(value, "./", 2) == 0 || strncmp(value, "../", 3) == 0;
    default:
        return false;
    }
}

static int set_from_options(const struct settings_program *program,
                            const struct settings_options *options, void *config, char *out_reason)
{
    char path[SETTINGS_FILE_BYTES];
    bool is_cleared = false;
    int rc = 0;

    for (size_t i = 0; i < options->value_count && rc == 0; i++) {
        const struct settings_option *option = options->values[i].option;
        const char *value = options->values[i].text;

        if (option->is_repeatable && !is_cleared) { /* the list replaces that of the file */
            program->clear(config);
            is_cleared = true;
        }
        if (is_relative(option, value)) {
            rc = make_absolute(option->name, value, path, out_reason);
            value = path;
        }
        if (rc == 0) {
            rc = settings_config_set(program->table, config, option->name, program->section, config,
                                     option->key, value, out_reason);
        }
    }
    return rc;
}

int settings_config_load(const struct settings_program *program, const void *options,
                         void *out_config, char *out_reason)
{
    const char *file = settings_options_file(options);
    void *config = malloc(program->config_bytes); /* too large for a small machine's stack */
    int rc = -ERR_NOMEM;

    if (config != NULL && file != NULL) {
        rc = settings_config_read(program, file, config, out_reason);
    } else if (config != NULL) {
        program->defaults(config);
        rc = 0;
    }
    rc = rc == 0 ? set_from_options(program, options, config, out_reason) : rc;
    rc = rc == 0 ? program->finish(config, out_reason) : rc;
    if (rc == 0) {
        memcpy(out_config, config, program->config_bytes);
    } else if (rc < 0) {
        (void)snprintf(out_reason, SETTINGS_REASON_BYTES, "%s", err_text(rc));
    }
    free(config);
    return rc;
}

/* --- sentences about a configuration ---------------------------------------------------------- */

struct settings_source settings_config_source(const struct settings_table *table,
                                              const void *config, unsigned section, const char *key,
                                              char *reason)
{
    const struct settings_config *common = config;
    const struct settings_key *found = settings_find(table, section, key);

    return (struct settings_source){
        .name = common->file[0] != '\0' ? common->file : "configuration",
        .line = found != NULL ? common->key_lines[found - table->keys] : 0,
        .reason = reason,
        .collects = true,
    };
}

static int check_unchanged(const struct settings_source *source, const struct settings_key *key,
                           const void *running, const void *fresh)
{
    if (key->type != SETTINGS_TYPE_OWN) {
        return settings_check_unchanged(source, key, running, fresh);
    }
    return memcmp((const char *)running + key->offset, (const char *)fresh + key->offset,
                  key->width) == 0
               ? 0
               : settings_refuse(source, "a change of `%s` needs a restart", key->name);
}

int settings_config_check_reload(const struct settings_table *table, unsigned section,
                                 const void *running, const void *fresh, char *out_reason)
{
    const struct settings_config *before = running;
    const struct settings_config *after = fresh;
    int rc = 0;

    if (before->file[0] != '\0' && after->file[0] == '\0') {
        struct settings_source source = {.name = before->file, .reason = out_reason};
        return settings_refuse(&source, "is gone; put it back, or restart without it");
    }
    for (size_t i = 0; i < table->key_count && rc == 0; i++) {
        const struct settings_key *key = &table->keys[i];
        struct settings_source source =
            settings_config_source(table, fresh, key->section, key->name, out_reason);

        source.collects = false;
        if (!key->reloadable && key->section == section) {
            rc = check_unchanged(&source, key, running, fresh);
        }
    }
    return rc;
}

void settings_log_refusal(const char *reason)
{
    while (reason != NULL) {
        const char *end = strchr(reason, '\n');

        log_error("configuration not reloaded, the old one stays: %.*s", (int)strcspn(reason, "\n"),
                  reason);
        reason = end != NULL ? end + 1 : NULL;
    }
}
