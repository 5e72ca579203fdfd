/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/config/options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/err.h"
#include "daemon/settings/table.h"

#define DEFAULT_FILE "/etc/hearsay/hearsayd.conf"

/* --- the command line ------------------------------------------------------------------------- */

/* An option: it asks for an action, or its value goes into a field of struct options. */
struct option_row {
    const char *name;
    const char *value; /* what the help calls the value; NULL: the option has none */
    size_t offset;     /* of a const char *, for options with a value */
    enum options_action action;
    const char *help; /* NULL: not in the help */
};

#define FIELD(member) offsetof(struct options, member), OPTIONS_RUN

static const struct option_row rows[] = {
    {"--config", "FILE", FIELD(config), "read FILE instead of " DEFAULT_FILE},
    {"--data", "DIR", FIELD(data), "keep the messages in DIR"},
    {"--listen", "ADDRESS", FIELD(listen),
     "listen on 127.0.0.1:7117, [::1]:7117, /path/to/socket, ...; repeat for more"},
    {"--log-level", "LEVEL", FIELD(log_level), "error, warning, info or debug"},
    {"--durability", "WORD", FIELD(durability), "storage or relaxed"},
    {"--restore", "FILE", FIELD(restore),
     "bring FILE, a backup, into an empty data directory and exit"},
    {"--check-config", NULL, 0, OPTIONS_CHECK_CONFIG, "check the configuration and exit"},
    {"--print-config", NULL, 0, OPTIONS_PRINT_CONFIG, "print the configuration in force and exit"},
    {"--print-reference", "FORM", 0, OPTIONS_PRINT_MARKDOWN, NULL},
    {"--version", NULL, 0, OPTIONS_VERSION, "print the version and exit"},
    {"--help", NULL, 0, OPTIONS_HELP, "print this and exit"},
};

static const size_t row_count = sizeof(rows) / sizeof(rows[0]);

/* The row of the option that `argument` begins with; *out_value: what follows `=`, or NULL. */
static const struct option_row *find_row(const char *argument, const char **out_value)
{
    size_t length = strcspn(argument, "=");

    *out_value = argument[length] == '=' ? argument + length + 1 : NULL;
    if (strcmp(argument, "-h") == 0) {
        argument = "--help";
        length = strlen(argument);
    }
    for (size_t i = 0; i < row_count; i++) {
        if (strlen(rows[i].name) == length && strncmp(rows[i].name, argument, length) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

static int refuse_unknown(const char *argument, char *out_reason)
{
    struct settings_source source = {.name = "command line", .reason = out_reason};
    char name[64];
    const struct option_row *nearest = NULL;
    size_t nearest_distance = 0;

    (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(argument, "="), argument);
    for (size_t i = 0; i < row_count; i++) {
        size_t distance = settings_edit_distance(name, rows[i].name);

        if (distance <= strlen(rows[i].name) / 3 &&
            (nearest == NULL || distance < nearest_distance)) {
            nearest = &rows[i];
            nearest_distance = distance;
        }
    }
    if (argument[0] != '-') {
        return settings_refuse(&source, "`%.200s` is not an option; see hearsayd --help", argument);
    }
    if (nearest != NULL) {
        return settings_refuse(&source, "unknown option `%.200s`; did you mean %s?", argument,
                               nearest->name);
    }
    return settings_refuse(&source, "unknown option `%.200s`; see hearsayd --help", argument);
}

static int take_value(const struct option_row *row, const char *value, struct options *options,
                      char *out_reason)
{
    static const struct {
        const char *form;
        enum options_action action;
    } forms[] = {{"markdown", OPTIONS_PRINT_MARKDOWN},
                 {"mdoc", OPTIONS_PRINT_MDOC},
                 {"example", OPTIONS_PRINT_EXAMPLE}};
    struct settings_source source = {.name = row->name, .reason = out_reason};
    const char **field = (const char **)(void *)((char *)options + row->offset);

    if (row->action == OPTIONS_PRINT_MARKDOWN) {
        for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
            if (strcmp(forms[i].form, value) == 0) {
                options->action = forms[i].action;
                return 0;
            }
        }
        return settings_refuse(&source, "must be markdown, mdoc or example; not `%.200s`", value);
    }
    if (row->offset == offsetof(struct options, listen)) {
        if (options->listen_count == CONFIG_LISTENERS_MAX) {
            return settings_refuse(&source, "there may be at most %d", CONFIG_LISTENERS_MAX - 1);
        }
        options->listen[options->listen_count++] = value;
        return 0;
    }
    if (*field != NULL) {
        return settings_refuse(&source, "is given twice");
    }
    *field = value;
    return 0;
}

int options_parse(int argc, char *const argv[], struct options *out_options, char *out_reason)
{
    struct options options = {.action = OPTIONS_RUN, .config_none = DEFAULT_FILE};

    for (int i = 1; i < argc; i++) {
        const char *value;
        const struct option_row *row = find_row(argv[i], &value);
        struct settings_source source = {.reason = out_reason};
        int rc;

        if (row == NULL) {
            return refuse_unknown(argv[i], out_reason);
        }
        source.name = row->name;
        if (row->value == NULL) {
            if (value != NULL) {
                return settings_refuse(&source, "takes no value");
            }
            options.action = row->action;
            continue;
        }
        if (value == NULL && i + 1 < argc) {
            value = argv[++i];
        }
        if (value == NULL || value[0] == '\0') {
            return settings_refuse(&source, "needs a value: %s %s", row->name, row->value);
        }
        rc = take_value(row, value, &options, out_reason);
        if (rc != 0) {
            return rc;
        }
    }
    *out_options = options;
    return 0;
}

/* --- the configuration ------------------------------------------------------------------------ */

/* A printf into `room` bytes that says whether it fitted. */
static bool print_into(char *out, size_t room, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static bool print_into(char *out, size_t room, const char *format, ...)
{
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(out, room, format, arguments);
    va_end(arguments);
    return length >= 0 && (size_t)length < room;
}

/* A path of the command line, from the working directory (out: CONFIG_PATH_BYTES). */
static int make_absolute(const char *name, const char *path, char *out, char *out_reason)
{
    struct settings_source source = {.name = name, .reason = out_reason};
    char directory[CONFIG_PATH_BYTES];

    if (path[0] == '/') {
        return print_into(out, CONFIG_PATH_BYTES, "%s", path)
                   ? 0
                   : settings_refuse(&source, "the path is too long");
    }
    if (getcwd(directory, sizeof(directory)) == NULL) {
        return settings_refuse(&source, "the working directory is not known: %s", strerror(errno));
    }
    while (strncmp(path, "./", 2) == 0) {
        path += 2;
    }
    return print_into(out, CONFIG_PATH_BYTES, "%s/%s", strcmp(directory, "/") == 0 ? "" : directory,
                      path)
               ? 0
               : settings_refuse(&source, "the path is too long");
}

/* `./socket` and `../socket` are paths too; anything else relative may be a mistyped address. */
static int set_listeners(const struct options *options, struct config *config, char *out_reason)
{
    char path[CONFIG_PATH_BYTES];

    if (options->listen_count > 0) {
        config->listener_count = 0;
    }
    for (size_t i = 0; i < options->listen_count; i++) {
        const char *value = options->listen[i];
        int rc;

        if (strncmp(value, "./", 2) == 0 || strncmp(value, "../", 3) == 0) {
            rc = make_absolute("--listen", value, path, out_reason);
            if (rc != 0) {
                return rc;
            }
            value = path;
        }
        rc = config_set(config, "--listen", "daemon", "listen", value, out_reason);
        if (rc != 0) {
            return rc;
        }
    }
    return 0;
}

static int set_from_options(const struct options *options, struct config *config, char *out_reason)
{
    char path[CONFIG_PATH_BYTES];
    int rc = set_listeners(options, config, out_reason);

    if (rc == 0 && options->data != NULL) {
        rc = make_absolute("--data", options->data, path, out_reason);
        if (rc == 0) {
            rc = config_set(config, "--data", "daemon", "data", path, out_reason);
        }
    }
    if (rc == 0 && options->log_level != NULL) {
        rc = config_set(config, "--log-level", "daemon", "log_level", options->log_level,
                        out_reason);
    }
    if (rc == 0 && options->durability != NULL) {
        rc = config_set(config, "--durability", "daemon", "durability", options->durability,
                        out_reason);
    }
    return rc;
}

/* Sets the default data directory: see the key `data` in table.c. */
static int set_default_data(struct config *config, char *out_reason)
{
    struct settings_source source = {.name = "data directory", .reason = out_reason};
    const char *service = getenv("STATE_DIRECTORY");
    const char *state = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");
    char path[CONFIG_PATH_BYTES];
    bool fits;

    if (config->data[0] != '\0') {
        return 0;
    }
    if (service != NULL && service[0] == '/') {
        /* A unit may name several directories with colons between them; the first one is used. */
        fits = print_into(path, sizeof(path), "%.*s", (int)strcspn(service, ":"), service);
    } else if (geteuid() == 0) {
        fits = print_into(path, sizeof(path), "/var/lib/hearsay");
    } else if (state != NULL && state[0] == '/') {
        fits = print_into(path, sizeof(path), "%s/hearsayd", state);
    } else if (home != NULL && home[0] == '/') {
        fits = print_into(path, sizeof(path), "%s/.local/state/hearsayd", home);
    } else {
        return settings_refuse(&source, "none is known: HOME is not set; name one with --data DIR");
    }
    if (!fits) {
        return settings_refuse(&source, "its path is too long; name another with --data DIR");
    }
    return config_set(config, "data directory", "daemon", "data", path, out_reason);
}

/* The file that was named must be there; the default one need not. */
static int read_file(const struct options *options, struct config *config, char *out_reason)
{
    if (options->config != NULL) {
        return config_read(options->config, config, out_reason);
    }
    if (access(options->config_none, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR)) {
        config_defaults(config);
        return 0;
    }
    return config_read(options->config_none, config, out_reason);
}

int options_load(const struct options *options, struct config *out_config, char *out_reason)
{
    struct config *config = malloc(sizeof(*config)); /* too large for a small machine's stack */
    int rc;

    if (config == NULL) {
        (void)snprintf(out_reason, CONFIG_REASON_BYTES, "%s", err_text(-ERR_NOMEM));
        return -ERR_NOMEM;
    }
    rc = read_file(options, config, out_reason);
    if (rc == 0) {
        rc = set_from_options(options, config, out_reason);
    }
    if (rc == 0) {
        rc = set_default_data(config, out_reason);
    }
    if (rc == 0) {
        rc = config_finish(config, out_reason);
    }
    if (rc == 0) {
        *out_config = *config;
    } else if (rc < 0) {
        (void)snprintf(out_reason, CONFIG_REASON_BYTES, "%s", err_text(rc));
    }
    free(config);
    return rc;
}

/* --- answers ---------------------------------------------------------------------------------- */

static void print_help(FILE *out)
{
    (void)fputs("usage: hearsayd [OPTION]...\n\n"
                "Stores messages by the context they were left in, and gives those of similar\n"
                "contexts back. Needs no options and no configuration.\n\n",
                out);
    for (size_t i = 0; i < row_count; i++) {
        char left[32];

        if (rows[i].help == NULL) {
            continue;
        }
        (void)snprintf(left, sizeof(left), "%s%s%s", rows[i].name, rows[i].value != NULL ? " " : "",
                       rows[i].value != NULL ? rows[i].value : "");
        (void)fprintf(out, "  %-19s %s\n", left, rows[i].help);
    }
    (void)fputs("\nSIGHUP reads the configuration again, SIGTERM ends the daemon.\n"
                "See hearsayd(8) and hearsayd.conf(5).\n",
                out);
}

bool options_answer(const struct options *options, const struct config *config, FILE *out)
{
    switch (options->action) {
    case OPTIONS_RUN:
        return false;
    case OPTIONS_CHECK_CONFIG:
        if (config != NULL && config->file[0] != '\0') {
            (void)fprintf(out, "%s: correct\n", config->file);
        } else if (config != NULL) {
            (void)fprintf(out,
                          "there is no %s, and --config names no file: the defaults are correct\n",
                          options->config_none);
        }
        return config != NULL;
    case OPTIONS_PRINT_CONFIG:
        if (config != NULL) {
            config_print(config, out);
        }
        return config != NULL;
    case OPTIONS_PRINT_MARKDOWN:
        config_print_markdown(out);
        return true;
    case OPTIONS_PRINT_MDOC:
        config_print_mdoc(out);
        return true;
    case OPTIONS_PRINT_EXAMPLE:
        config_print_example(out);
        return true;
    case OPTIONS_VERSION:
        (void)fputs("hearsayd " HEARSAY_VERSION "\n", out);
        return true;
    case OPTIONS_HELP:
        print_help(out);
        return true;
    }
    return false;
}
