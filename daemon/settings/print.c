/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/settings/table.h"

#include <string.h>

/* [section], or [section label]. */
static void print_heading(const struct settings_section *section, const char *label, FILE *out)
{
    (void)fprintf(out, "[%s%s%s]\n", section->name, label != NULL ? " " : "",
                  label != NULL ? label : "");
}

/* --- a configuration as a file ---------------------------------------------------------------- */

static void print_path(const struct settings_key *key, const char *path, FILE *out)
{
    if (path[0] == '\0') {
        return;
    }
    if (strlen(key->name) + strlen(" = ") + strlen(path) > SETTINGS_LINE_BYTES_MAX) {
        (void)fprintf(out, "# %s is too long for a line:\n# %s\n", key->name, path);
    } else {
        (void)fprintf(out, "%s = %s\n", key->name, path);
    }
}

static void print_key(const struct settings_key *key, const void *base, FILE *out)
{
    const char *text = (const char *)base + key->offset;
    char number[SETTINGS_NUMBER_BYTES];
    uint64_t value;

    switch (key->type) {
    case SETTINGS_TYPE_PATH:
        print_path(key, text, out);
        break;
    case SETTINGS_TYPE_USER:
    case SETTINGS_TYPE_GROUP:
    case SETTINGS_TYPE_NAME:
        if (text[0] != '\0') {
            (void)fprintf(out, "%s = %s\n", key->name, text);
        }
        break;
    case SETTINGS_TYPE_OWN:
        key->own->print(key, base, out);
        break;
    default:
        value = settings_get(key, base);
        /*
         * A value below the range means that the key is not set, and other keys determine its
         * effect.
         */
        if (value >= key->min) {
            settings_print_value(key, value, number);
            (void)fprintf(out, "%s = %s\n", key->name, number);
        }
    }
}

void settings_print_section(const struct settings_table *table, unsigned section, const char *label,
                            const void *base, FILE *out)
{
    print_heading(&table->sections[section], label, out);
    for (size_t i = 0; i < table->key_count; i++) {
        if (table->keys[i].section == section) {
            print_key(&table->keys[i], base, out);
        }
    }
}

/* --- the reference ---------------------------------------------------------------------------- */

/*
 * Describes the possible values of a key: its words, its range, or the name of its type
 * (VALUES_BYTES).
 */
enum { VALUES_BYTES = 128 };
static void describe_values(const struct settings_key *key, char *out)
{
    char min[SETTINGS_NUMBER_BYTES];
    char max[SETTINGS_NUMBER_BYTES];
    size_t used = 0;

    out[0] = '\0';
    if (key->type == SETTINGS_TYPE_CHOICE) {
        for (size_t i = 0; key->words[i] != NULL && used < VALUES_BYTES; i++) {
            used += (size_t)snprintf(out + used, VALUES_BYTES - used, "%s%s", i > 0 ? ", " : "",
                                     key->words[i]);
        }
    } else if (settings_is_number(key)) {
        settings_print_value(key, key->min, min);
        settings_print_value(key, key->max, max);
        (void)snprintf(out, VALUES_BYTES, "%s to %s%s%s", min, max, key->unit != NULL ? " " : "",
                       key->unit != NULL ? key->unit : "");
    } else {
        (void)snprintf(out, VALUES_BYTES, "%s", settings_key_type(key));
    }
}

/* Writes text for a cell of a Markdown table. */
static void print_cell(const char *text, FILE *out)
{
    for (; *text != '\0'; text++) {
        if (*text == '|') {
            (void)fputc('\\', out);
        }
        (void)fputc(*text, out);
    }
}

static void print_markdown_key(const struct settings_key *key, FILE *out)
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

void settings_print_markdown(const struct settings_table *table, FILE *out)
{
    for (size_t section = 0; section < table->section_count; section++) {
        (void)fputs("\n## ", out);
        print_heading(&table->sections[section], table->sections[section].label, out);
        (void)fprintf(out,
                      "\n%s\n\n| Key | Values | Default | Reload | Meaning |\n"
                      "|---|---|---|---|---|\n",
                      table->sections[section].help);
        for (size_t i = 0; i < table->key_count; i++) {
            if (table->keys[i].section == section) {
                print_markdown_key(&table->keys[i], out);
            }
        }
    }
}

/*
 * Writes text for mdoc(7). Ends a line after a full stop and a blank, so that most sentences begin
 * a line, as in manual pages. Escapes backslashes, hyphens, and a full stop or an apostrophe at the
 * beginning of a line.
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

static void print_mdoc_key(const struct settings_key *key, FILE *out)
{
    char values[VALUES_BYTES];
    char line[VALUES_BYTES + 256];
    const char *standard = key->standard != NULL ? key->standard : key->standard_note;

    describe_values(key, values);
    (void)fprintf(out, ".It Ic %s No = Ar %s\n", key->name, settings_key_type(key));
    print_mdoc_text(key->help, out);
    (void)fputs(".br\n", out);
    if (settings_is_number(key)) {
        (void)snprintf(line, sizeof(line), "%s %s; default %s.",
                       key->type == SETTINGS_TYPE_CHOICE ? "One of" : "From", values, standard);
    } else {
        (void)snprintf(line, sizeof(line), "Default: %s.", standard);
    }
    print_mdoc_text(line, out);
    if (!key->reloadable) {
        (void)fputs("A change needs a restart.\n", out);
    }
}

void settings_print_mdoc(const struct settings_table *table, FILE *out)
{
    for (size_t section = 0; section < table->section_count; section++) {
        (void)fputs(".Ss ", out);
        print_heading(&table->sections[section], table->sections[section].label, out);
        print_mdoc_text(table->sections[section].help, out);
        (void)fputs(".Bl -tag -width Ds\n", out);
        for (size_t i = 0; i < table->key_count; i++) {
            if (table->keys[i].section == section) {
                print_mdoc_key(&table->keys[i], out);
            }
        }
        (void)fputs(".El\n", out);
    }
}

/* --- the example ------------------------------------------------------------------------------ */

/* Writes text as comment lines of at most 90 columns. */
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

static void print_example_key(const struct settings_key *key, FILE *out)
{
    const char *value = key->standard != NULL ? key->standard : key->example;

    (void)fputc('\n', out);
    print_comment(key->help, out);
    while (value != NULL) {
        size_t length = strcspn(value, "\n");

        (void)fprintf(out, "#%s = %.*s\n", key->name, (int)length, value);
        value = value[length] == '\n' ? value + length + 1 : NULL;
    }
}

void settings_print_example(const struct settings_table *table, FILE *out)
{
    for (size_t section = 0; section < table->section_count; section++) {
        (void)fputc('\n', out);
        print_comment(table->sections[section].help, out);
        print_heading(&table->sections[section], table->sections[section].example, out);
        for (size_t i = 0; i < table->key_count; i++) {
            if (table->keys[i].section == section) {
                print_example_key(&table->keys[i], out);
            }
        }
    }
}
