/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/settings/file.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include <ini.h>

#include "core/base/err.h"
#include "core/base/label.h"
#include "daemon/settings/key.h"
#include "daemon/system/file.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == '\r';
}

/* --- headings --------------------------------------------------------------------------------- */

/*
 * Writes the list of all sections, such as "[daemon], [limits] and [host NAME]". `word` ("and",
 * "or") joins the last two.
 */
enum { SECTIONS_BYTES = 256 };
static void list_sections(const struct settings_table *table, const char *word, char *out)
{
    size_t used = 0;

    out[0] = '\0';
    for (size_t i = 0; i < table->section_count && used < SECTIONS_BYTES; i++) {
        const struct settings_section *section = &table->sections[i];
        bool is_last = i + 1 == table->section_count;

        used += (size_t)snprintf(out + used, SECTIONS_BYTES - used, "%s%s%s[%s%s%s]",
                                 i == 0    ? ""
                                 : is_last ? " "
                                           : ", ",
                                 i > 0 && is_last ? word : "", i > 0 && is_last ? " " : "",
                                 section->name, section->label != NULL ? " " : "",
                                 section->label != NULL ? section->label : "");
    }
}

int settings_read_heading(const struct settings_source *source, const struct settings_table *table,
                          const char *text, size_t length, struct settings_heading *out_heading)
{
    const char *end = text + length;
    const char *word_end = text;
    const char *label;
    char known[SECTIONS_BYTES];

    while (word_end < end && !is_blank(*word_end)) {
        word_end++;
    }
    for (label = word_end; label < end && is_blank(*label);) {
        label++;
    }
    for (unsigned i = 0; i < table->section_count; i++) {
        const char *name = table->sections[i].name;

        if (strlen(name) != (size_t)(word_end - text) || memcmp(name, text, strlen(name)) != 0) {
            continue;
        }
        if (table->sections[i].label == NULL && label != end) {
            return settings_refuse(source, "[%s] has no name after it; not `%.*s`", name,
                                   (int)(end - label), label);
        }
        *out_heading = (struct settings_heading){i, label, (size_t)(end - label)};
        return 0;
    }
    list_sections(table, "and", known);
    return settings_refuse(source, "unknown section [%.*s]; there are %s", (int)length, text,
                           known);
}

/* --- lines ------------------------------------------------------------------------------------ */

struct parse {
    const struct settings_target *target;
    struct settings_source source; /* with the line that was read last */
    const char *at;                /* what is left */
    const char *end;
    bool refused; /* a line was refused: the remaining lines are read only to find more errors */
    bool in_section;
    bool skips_section; /* the heading of this section was refused: its keys cannot be checked */
    unsigned section;
    void *base; /* the struct of the section */
};

/*
 * Parses a line that begins with a bracket: the heading of a section. inih does not parse headings
 * here, because inih cuts them after 49 bytes and does not report sections without keys.
 */
static int parse_heading_line(struct parse *parse, const char *line, size_t length)
{
    const struct settings_table *table = parse->target->table;
    struct settings_heading heading;
    const char *close = memchr(line, ']', length);
    const char *rest;

    if (close == NULL) {
        return settings_refuse(&parse->source, "a section ends with a bracket, such as [%s]",
                               table->sections[0].name);
    }
    for (rest = close + 1; rest < line + length && is_blank(*rest);) {
        rest++;
    }
    if (rest < line + length && *rest != ';' && *rest != '#') {
        return settings_refuse(&parse->source,
                               "nothing but a comment may follow a section's bracket");
    }
    line++;
    while (line < close && is_blank(*line)) {
        line++;
    }
    while (close > line && is_blank(close[-1])) {
        close--;
    }
    int rc = settings_read_heading(&parse->source, table, line, (size_t)(close - line), &heading);
    if (rc != 0) {
        return rc;
    }
    parse->section = heading.section;
    parse->in_section = true;
    rc = parse->target->enter(parse->target->context, &parse->source, &heading, &parse->base);
    if (rc != 0 || table->sections[heading.section].label == NULL) {
        return rc;
    }
    for (size_t i = 0; i < table->key_count; i++) {
        if (table->keys[i].section == heading.section) {
            parse->target->key_lines[i] = 0; /* a section with another label */
        }
    }
    return 0;
}

/*
 * Whether a line is neither empty nor a comment nor `key = value`. The line has no blanks at its
 * beginning.
 */
static bool is_neither(const char *line, size_t length)
{
    if (length == 0 || line[0] == '#' || line[0] == ';') {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if (line[i] == '=' || line[i] == ':') {
            return false;
        }
        if (line[i] == ';' && i > 0 && is_blank(line[i - 1])) {
            return true; /* the rest is a comment */
        }
    }
    return true;
}

/* Checks the length and the encoding of a line. */
static int check_line(struct parse *parse, const char *line, size_t length)
{
    if (length > SETTINGS_LINE_BYTES_MAX) {
        return settings_refuse(&parse->source, "the line has %zu bytes; at most %d are read",
                               length, SETTINGS_LINE_BYTES_MAX);
    }
    if (memchr(line, '\0', length) != NULL) {
        return settings_refuse(&parse->source,
                               "the line contains a NUL byte; this is not a text file");
    }
    if (!label_is_utf8(line, length)) {
        return settings_refuse(&parse->source, "the line is not UTF-8");
    }
    return 0;
}

/*
 * Gives the next line to inih, or NULL at the end. Blanks at the beginning are removed, because
 * inih reads an indented line as a continuation. inih gets an empty line instead of a heading, and
 * instead of a line that this function refuses.
 */
static char *parse_read_line(char *buffer, int size, void *context)
{
    static const char mark[] = "\xef\xbb\xbf"; /* byte order mark, as some editors write it */
    struct parse *parse = context;
    const char *line = parse->at;

    if (line == parse->end) {
        return NULL;
    }
    const char *end = memchr(line, '\n', (size_t)(parse->end - line));
    parse->at = end != NULL ? end + 1 : parse->end;
    if (end == NULL) {
        end = parse->end;
    }
    parse->source.line++;
    if (parse->source.line == 1 && end - line >= 3 && memcmp(line, mark, 3) == 0) {
        line += 3;
    }
    if (end > line && end[-1] == '\r') {
        end--;
    }
    bool is_wrong = check_line(parse, line, (size_t)(end - line)) != 0;
    while (line < end && is_blank(*line)) {
        line++;
    }
    size_t length = (size_t)(end - line);
    if (is_wrong) {
        parse->refused = true;
        length = 0;
    } else if (length > 0 && *line == '[') {
        parse->skips_section = parse_heading_line(parse, line, length) != 0;
        parse->refused = parse->refused || parse->skips_section;
        length = 0;
    } else if (is_neither(line, length)) {
        parse->refused = true;
        length = 0;
        (void)settings_refuse(&parse->source,
                              "the line is neither `key = value` nor [section] nor a "
                              "comment, which begins with #");
    }
    assert(size > SETTINGS_LINE_BYTES_MAX + 1);
    (void)size; /* inih's buffer has 200 bytes */
    memcpy(buffer, line, length);
    buffer[length] = '\n';
    buffer[length + 1] = '\0';
    return buffer;
}

static int parse_key(struct parse *parse, const char *name, const char *value)
{
    const struct settings_table *table = parse->target->table;

    if (name[0] == '\0') {
        return settings_refuse(&parse->source, "a key is missing before `=`");
    }
    if (!parse->in_section) {
        char known[SECTIONS_BYTES];

        list_sections(table, "or", known);
        return settings_refuse(&parse->source, "`%.100s` stands before any section; begin with %s",
                               name, known);
    }
    const struct settings_key *key = settings_find(table, parse->section, name);
    if (key == NULL) {
        return settings_refuse_unknown(&parse->source, table, parse->section, name);
    }
    unsigned *key_line = &parse->target->key_lines[key - table->keys];
    if (!key->repeatable && *key_line != 0) {
        return settings_refuse(&parse->source, "`%s` is set in line %u already", name, *key_line);
    }
    *key_line = parse->source.line;
    return settings_set(&parse->source, key, parse->base, value);
}

/* Handles a key for inih. Always returns 1; an error is stored in `parse`. */
static int parse_handle(void *context, const char *section, const char *name, const char *value)
{
    struct parse *parse = context;

    (void)section; /* see parse_heading_line */
    if (!parse->skips_section && parse_key(parse, name, value != NULL ? value : "") != 0) {
        parse->refused = true;
    }
    return 1;
}

int settings_parse(const struct settings_target *target, const char *text, size_t length,
                   const char *name, char *out_reason)
{
    struct parse parse = {
        .target = target,
        .source = {.name = name, .reason = out_reason, .collects = true},
        .at = text,
        .end = text + length,
    };

    out_reason[0] = '\0';
    if (length > SETTINGS_FILE_BYTES_MAX) {
        return settings_refuse(&parse.source, "the file is too large; at most %d bytes are read",
                               SETTINGS_FILE_BYTES_MAX);
    }
    int rc = ini_parse_stream(parse_read_line, &parse, parse_handle, &parse);
    if (rc < 0) {
        return -ERR_NOMEM;
    }
    if (parse.refused) {
        return SETTINGS_REFUSED;
    }
    if (rc > 0) { /* is_neither should have found what inih cannot read */
        parse.source.line = (unsigned)rc;
        return settings_refuse(&parse.source, "the line cannot be read");
    }
    return 0;
}

int settings_read(const char *file, char **out_text, size_t *out_length, char *out_reason)
{
    struct settings_source source = {.name = file, .reason = out_reason};
    char *text = malloc((size_t)SETTINGS_FILE_BYTES_MAX + 1);

    if (text == NULL) {
        return -ERR_NOMEM;
    }
    ssize_t length = file_read(file, text, (size_t)SETTINGS_FILE_BYTES_MAX + 1);
    if (length < 0) {
        free(text);
        return settings_refuse(&source, "cannot be read: %s", strerror((int)-length));
    }
    *out_text = text;
    *out_length = (size_t)length;
    return 0;
}
