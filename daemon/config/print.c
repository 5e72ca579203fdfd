/* SPDX-License-Identifier: Apache-2.0 */
/* config_print: a configuration as a file, and the reference of all keys. */
#include <stdio.h>
#include <string.h>

#include "daemon/config/config.h"
#include "daemon/config/table.h"
#include "daemon/config/value.h"

/* The section's heading as in a file, and in the reference. */
static void print_heading(enum config_section section, const char *host, FILE *out)
{
    (void)fprintf(out, "[%s%s%s]\n", config_sections[section].name, host[0] != '\0' ? " " : "",
                  host);
}

static const char *host_word(enum config_section section)
{
    return section == CONFIG_SECTION_HOST ? "NAME" : "";
}

/* --- a configuration as a file ---------------------------------------------------------------- */

static void print_path(const struct config_key *key, const char *path, FILE *out)
{
    if (path[0] == '\0') {
        return;
    }
    if (strlen(key->name) + strlen(" = ") + strlen(path) > CONFIG_LINE_BYTES_MAX) {
        (void)fprintf(out, "# %s is too long for a line:\n# %s\n", key->name, path);
    } else {
        (void)fprintf(out, "%s = %s\n", key->name, path);
    }
}

static bool is_default_socket(const struct config *config, const struct config_listener *listener)
{
    size_t length = strlen(config->data);

    if (config->admin_group[0] != '\0') {
        return strcmp(listener->path, CONFIG_ADMIN_SOCKET) == 0;
    }
    return listener->kind == CONFIG_LISTENER_UNIX && length > 0 &&
           strncmp(listener->path, config->data, length) == 0 &&
           strcmp(listener->path + length, "/hearsayd.sock") == 0;
}

/*
 * Whether config_finish would add the listener again when it is left out: the loopback pair, of
 * which the second is optional as nothing named is, and the socket beside some TCP listener.
 */
static bool is_implied(const struct config *config, size_t index)
{
    const struct config_listener *all = config->listeners;
    size_t tcp_count = 0;
    bool has_pair = false;

    for (size_t i = 0; i < config->listener_count; i++) {
        tcp_count += all[i].kind == CONFIG_LISTENER_TCP ? 1 : 0;
        has_pair = has_pair || all[i].optional;
    }
    if (all[index].kind == CONFIG_LISTENER_TCP) {
        return has_pair && tcp_count == 2;
    }
    return tcp_count > 0 && config->listener_count == tcp_count + 1 &&
           is_default_socket(config, &all[index]);
}

static void print_listeners(const struct config_key *key, const struct config *config, FILE *out)
{
    char text[CONFIG_LISTENER_BYTES];

    for (size_t i = 0; i < config->listener_count; i++) {
        config_value_print_listener(&config->listeners[i], text);
        (void)fprintf(out, "%s%s = %s\n", is_implied(config, i) ? "# by default: " : "", key->name,
                      text);
    }
}

static void print_labels(const struct config_key *key, const char *labels, FILE *out)
{
    while (*labels != '\0') {
        const size_t length = strcspn(labels, "\n") + 1; /* each has one behind it */
        (void)fprintf(out, "%s = ", key->name);
        (void)fwrite(labels, 1, length, out);
        labels += length;
    }
}

static void print_schedule(const struct config_key *key, const struct config_host *host, FILE *out)
{
    char text[SCHEDULE_BYTES];

    for (size_t i = 0; i < host->schedule_count; i++) {
        schedule_print(&host->schedule[i], text);
        (void)fprintf(out, "%s = %s\n", key->name, text);
    }
}

static void print_key(const struct config_key *key, const struct config *config,
                      const struct config_host *host, FILE *out)
{
    const void *base =
        key->section == CONFIG_SECTION_HOST ? (const void *)host : (const void *)config;
    char number[CONFIG_NUMBER_BYTES];
    char profile[PROFILE_TEXT_MAX];
    uint64_t value;

    switch (key->type) {
    case CONFIG_TYPE_PATH:
        print_path(key, (const char *)base + key->offset, out);
        break;
    case CONFIG_TYPE_USER:
    case CONFIG_TYPE_GROUP:
        if (((const char *)base)[key->offset] != '\0') {
            (void)fprintf(out, "%s = %s\n", key->name, (const char *)base + key->offset);
        }
        break;
    case CONFIG_TYPE_LISTENER:
        print_listeners(key, config, out);
        break;
    case CONFIG_TYPE_SCHEDULE:
        print_schedule(key, host, out);
        break;
    case CONFIG_TYPE_LABELS:
        print_labels(key, host->here, out);
        break;
    case CONFIG_TYPE_PROFILE:
        profile_print(&host->profile, profile);
        (void)fprintf(out, "%s = %s\n", key->name, profile);
        break;
    default:
        value = config_key_get(key, base);
        /* A host's messages and bytes are 0 until config_finish, as if they were not there. */
        if (value >= key->min) {
            config_key_print(key, value, number);
            (void)fprintf(out, "%s = %s\n", key->name, number);
        }
    }
}

static void print_section(enum config_section section, const struct config *config,
                          const struct config_host *host, FILE *out)
{
    print_heading(section, host != NULL ? host->name : "", out);
    for (size_t i = 0; i < config_key_count; i++) {
        if (config_keys[i].section == section) {
            print_key(&config_keys[i], config, host, out);
        }
    }
}

void config_print(const struct config *config, FILE *out)
{
    print_section(CONFIG_SECTION_DAEMON, config, NULL, out);
    (void)fputc('\n', out);
    print_section(CONFIG_SECTION_LIMITS, config, NULL, out);
    for (size_t i = 0; i < config->host_count; i++) {
        (void)fputc('\n', out);
        print_section(CONFIG_SECTION_HOST, config, &config->hosts[i], out);
    }
}

/* --- the reference ---------------------------------------------------------------------------- */

/* What may stand there: words, a range, or the type's own form. At most 128 bytes with the NUL. */
enum { VALUES_BYTES = 128 };
static void describe_values(const struct config_key *key, char *out)
{
    char min[CONFIG_NUMBER_BYTES];
    char max[CONFIG_NUMBER_BYTES];
    size_t used = 0;

    out[0] = '\0';
    if (key->type == CONFIG_TYPE_CHOICE) {
        for (size_t i = 0; key->words[i] != NULL && used < VALUES_BYTES; i++) {
            used += (size_t)snprintf(out + used, VALUES_BYTES - used, "%s%s", i > 0 ? ", " : "",
                                     key->words[i]);
        }
    } else if (config_key_is_number(key)) {
        config_key_print(key, key->min, min);
        config_key_print(key, key->max, max);
        (void)snprintf(out, VALUES_BYTES, "%s to %s%s%s", min, max, key->unit != NULL ? " " : "",
                       key->unit != NULL ? key->unit : "");
    } else {
        (void)snprintf(out, VALUES_BYTES, "%s", config_type_name(key->type));
    }
}

/* Text between the bars of a Markdown table. */
static void print_cell(const char *text, FILE *out)
{
    for (; *text != '\0'; text++) {
        if (*text == '|') {
            (void)fputc('\\', out);
        }
        (void)fputc(*text, out);
    }
}

static void print_markdown_key(const struct config_key *key, FILE *out)
{
    char values[VALUES_BYTES];

    describe_values(key, values);
    (void)fprintf(out, "| `%s` | %s | ", key->name, values);
    if (key->standard != NULL) {
        (void)fprintf(out, "`%s`", key->standard);
    } else {
        print_cell(key->standard_note, out);
    }
    (void)fprintf(out, " | %s | ", key->reloadable ? "yes" : "no");
    print_cell(key->help, out);
    (void)fputs(" |\n", out);
}

void config_print_markdown(FILE *out)
{
    (void)fputs("<!-- SPDX-License-Identifier: Apache-2.0 -->\n"
                "<!-- Generated by scripts/update-reference from daemon/config/table.c. -->\n"
                "# Configuration\n\n"
                "`hearsayd` needs no configuration. It reads `/etc/hearsay/hearsayd.conf` if that "
                "is there, or the\nfile that `--config` names; options of the command line come "
                "on top. `hearsayd --check-config`\nsays whether a file is right, "
                "`hearsayd --print-config` what is in force.\n\n"
                "The form is `key = value` under a `[section]`, one to a line of at most 190 "
                "bytes, in UTF-8.\n`#` or `;` at the start of a line begins a comment, and so "
                "does a `;` after a blank. What is\nunknown, mistyped, out of range or set twice "
                "is an error with the line's number.\n\n"
                "Sizes are bytes, or have `K`, `M` or `G` after them, which are powers of 1024; "
                "`16M`, `16MB` and\n`16 MiB` are the same. Numbers may have `k` (1,000) or `M` "
                "(1,000,000). Durations have `s`, `m`,\n`h`, `d` or `w`, or the whole word, as in "
                "`1 day`, and `ms` where a range says so. Percentages have\nup to four decimal "
                "places, distances six, from 0 (the same) to 1 (nothing in common).\n\n"
                "SIGHUP reads the file again: where *reload* is yes, a change is taken over then. "
                "A file that is\nwrong, or changes anything else, is refused as a whole and what "
                "ran goes on.\n",
                out);
    for (int section = 0; section < CONFIG_SECTIONS; section++) {
        (void)fputs("\n## ", out);
        print_heading((enum config_section)section, host_word((enum config_section)section), out);
        (void)fprintf(out,
                      "\n%s\n\n| Key | Values | Default | Reload | Meaning |\n"
                      "|---|---|---|---|---|\n",
                      config_sections[section].help);
        for (size_t i = 0; i < config_key_count; i++) {
            if ((int)config_keys[i].section == section) {
                print_markdown_key(&config_keys[i], out);
            }
        }
    }
}

/*
 * Text for mdoc: a line for each sentence, as manual pages have it, and nothing that troff would
 * take for a request or an escape.
 */
static void print_mdoc_text(const char *text, FILE *out)
{
    bool line_start = true;

    for (; *text != '\0'; text++) {
        if (line_start && (*text == '.' || *text == '\'')) {
            (void)fputs("\\&", out);
        }
        line_start = false;
        if (*text == '\\') {
            (void)fputs("\\e", out);
        } else if (*text == '-') {
            (void)fputs("\\-", out);
        } else if (text[0] == '.' && text[1] == ' ') {
            (void)fputs(".\n", out);
            text++;
            line_start = true;
        } else {
            (void)fputc(*text, out);
        }
    }
    (void)fputc('\n', out);
}

static void print_mdoc_key(const struct config_key *key, FILE *out)
{
    char values[VALUES_BYTES];
    char line[VALUES_BYTES + 256];
    const char *standard = key->standard != NULL ? key->standard : key->standard_note;

    describe_values(key, values);
    (void)fprintf(out, ".It Ic %s No = Ar %s\n", key->name, config_type_name(key->type));
    print_mdoc_text(key->help, out);
    (void)fputs(".br\n", out);
    if (config_key_is_number(key)) {
        (void)snprintf(line, sizeof(line), "%s %s; default %s.",
                       key->type == CONFIG_TYPE_CHOICE ? "One of" : "From", values, standard);
    } else {
        (void)snprintf(line, sizeof(line), "Default: %s.", standard);
    }
    print_mdoc_text(line, out);
    if (!key->reloadable) {
        (void)fputs("A change needs a restart.\n", out);
    }
}

void config_print_mdoc(FILE *out)
{
    for (int section = 0; section < CONFIG_SECTIONS; section++) {
        (void)fputs(".Ss ", out);
        print_heading((enum config_section)section, host_word((enum config_section)section), out);
        print_mdoc_text(config_sections[section].help, out);
        (void)fputs(".Bl -tag -width Ds\n", out);
        for (size_t i = 0; i < config_key_count; i++) {
            if ((int)config_keys[i].section == section) {
                print_mdoc_key(&config_keys[i], out);
            }
        }
        (void)fputs(".El\n", out);
    }
}

/* --- the example ------------------------------------------------------------------------------ */

/* Text as comments of at most 90 columns. */
static void print_comment(const char *text, FILE *out)
{
    enum { COLUMNS = 90 };
    size_t column = 0;

    while (*text != '\0') {
        size_t word = strcspn(text, " ");

        if (column > 0 && column + 1 + word > COLUMNS) {
            (void)fputc('\n', out);
            column = 0;
        }
        (void)fprintf(out, "%s%.*s", column == 0 ? "# " : " ", (int)word, text);
        column += word + (column == 0 ? 2 : 1);
        text += word;
        text += *text == ' ' ? 1 : 0;
    }
    (void)fputc('\n', out);
}

static void print_example_key(const struct config_key *key, FILE *out)
{
    (void)fputc('\n', out);
    print_comment(key->help, out);
    if (key->standard != NULL) {
        (void)fprintf(out, "#%s = %s\n", key->name, key->standard);
    } else if (key->type == CONFIG_TYPE_LISTENER) {
        (void)fprintf(out, "#%s = 127.0.0.1:%d\n#%s = [::1]:%d\n", key->name, LIMIT_PORT, key->name,
                      LIMIT_PORT);
    } else if (key->type == CONFIG_TYPE_USER || key->type == CONFIG_TYPE_GROUP) {
        (void)fprintf(out, "#%s = hearsay\n", key->name);
    } else if (key->example != NULL) {
        (void)fprintf(out, "#%s = %s\n", key->name, key->example);
    } else if (key->type == CONFIG_TYPE_SCHEDULE) {
        (void)fprintf(out, "#%s = 22:00-06:00 closed\n", key->name);
    } else if (key->type == CONFIG_TYPE_LABELS) {
        (void)fprintf(out, "#%s = geo:u281zd, wifi:a4:2b:8c:01:02:03\n", key->name);
    } else {
        /* A host's bound, which is that of the whole. */
        (void)fprintf(out, "#%s = %s\n", key->name,
                      config_key_find(CONFIG_SECTION_LIMITS, key->name)->standard);
    }
}

void config_print_example(FILE *out)
{
    (void)fputs("# SPDX-License-Identifier: Apache-2.0\n"
                "# hearsayd.conf: every key at its default; see hearsayd.conf(5).\n",
                out);
    for (int section = 0; section < CONFIG_SECTIONS; section++) {
        (void)fputc('\n', out);
        print_comment(config_sections[section].help, out);
        print_heading((enum config_section)section, section == CONFIG_SECTION_HOST ? "default" : "",
                      out);
        for (size_t i = 0; i < config_key_count; i++) {
            if ((int)config_keys[i].section == section) {
                print_example_key(&config_keys[i], out);
            }
        }
    }
}
