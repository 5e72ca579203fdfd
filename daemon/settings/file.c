/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/settings/table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include <ini.h>

#include "core/base/err.h"
#include "core/base/label.h"
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
 * inih takes what follows a blank and a semicolon for a comment if it was compiled so, as Debian's
 * is, and a title or a password would lose its end without a word. A comment therefore stands on a
 * line of its own, and inih gets this byte, which is never part of UTF-8, instead of each
 * semicolon. parse_handle puts the semicolons back.
 */
static const char hidden_semicolon = '\xff';

static void replace_bytes(char *text, size_t length, char from, char to)
{
    for (size_t i = 0; i < length; i++) {
        if (text[i] == from) {
            text[i] = to;
        }
    }
}

static bool is_comment(const char *line, size_t length)
{
    return length > 0 && (line[0] == '#' || line[0] == ';');
}

/* Checks the encoding of a line, and the length of one that is not a comment. */
static int check_line(struct parse *parse, const char *line, size_t length)
{
    if (memchr(line, '\0', length) != NULL) {
        return settings_refuse(&parse->source,
                               "the line contains a NUL byte; this is not a text file");
    }
    if (!label_is_utf8(line, length)) {
        return settings_refuse(&parse->source, "the line is not UTF-8");
    }
    if (length > SETTINGS_LINE_BYTES_MAX && !is_comment(line, length)) {
        return settings_refuse(&parse->source,
                               "the line has %zu bytes; at most %d are read; a key that holds a "
                               "list may be set in several lines",
                               length, SETTINGS_LINE_BYTES_MAX);
    }
    return 0;
}

/*
 * Checks a line without the blanks at its beginning, and handles it if it is a heading. Returns
 * whether the line is for inih, because it has the form `key = value`.
 */
static bool takes_line(struct parse *parse, const char *line, size_t length)
{
    if (check_line(parse, line, length) != 0) {
        parse->refused = true;
        return false;
    }
    if (length == 0 || is_comment(line, length)) {
        return false;
    }
    if (*line == '[') {
        parse->skips_section = parse_heading_line(parse, line, length) != 0;
        parse->refused = parse->refused || parse->skips_section;
        return false;
    }
    if (memchr(line, '=', length) == NULL && memchr(line, ':', length) == NULL) {
        parse->refused = true;
        (void)settings_refuse(&parse->source,
                              "the line is neither `key = value` nor [section] nor a "
                              "comment, which begins with #");
        return false;
    }
    return true;
}

/*
 * Gives the next line to inih, or NULL at the end. Blanks at the beginning are removed, because
 * inih reads an indented line as a continuation. inih gets an empty line instead of one that is
 * not `key = value`.
 */
static char *parse_read_line(char *buffer, int size, void *context)
{
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
    if (end > line && end[-1] == '\r') {
        end--;
    }
    while (line < end && is_blank(*line)) {
        line++;
    }
    size_t length = (size_t)(end - line);
    if (!takes_line(parse, line, length)) {
        length = 0;
    }
    assert(size > SETTINGS_LINE_BYTES_MAX + 1);
    (void)size; /* inih's buffer has 200 bytes */
    memcpy(buffer, line, length);
    replace_bytes(buffer, length, ';', hidden_semicolon);
    buffer[length] = '\n';
    buffer[length + 1] = '\0';
    return buffer;
}

/* Whether the value contains what looks like a comment. */
static bool seems_commented(const char *value)
{
    for (const char *at = strpbrk(value, "#;"); at != NULL; at = strpbrk(at + 1, "#;")) {
        if (at > value && is_blank(at[-1])) {
            return true;
        }
    }
    return false;
}

static int parse_value(struct parse *parse, const struct settings_key *key, const char *value)
{
    for (const char *at = value; *at != '\0'; at++) {
        if (((unsigned char)*at < ' ' && *at != '\t') || *at == 0x7f) {
            return settings_refuse(&parse->source, "`%s` may not contain control characters",
                                   key->name);
        }
    }
    int rc = settings_set(&parse->source, key, parse->base, value);
    if (rc == SETTINGS_REFUSED && seems_commented(value)) {
        (void)settings_refuse(&parse->source, "a comment needs a line of its own, because # and ; "
                                              "within a value belong to the value");
    }
    return rc;
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
    return parse_value(parse, key, value);
}

static void copy_line(const char *text, char *out)
{
    size_t length = strlen(text);

    memcpy(out, text, length + 1);
    replace_bytes(out, length, hidden_semicolon, ';');
}

/* Handles a key for inih. Always returns 1; an error is stored in `parse`. */
static int parse_handle(void *context, const char *section, const char *name, const char *value)
{
    struct parse *parse = context;
    char own_name[SETTINGS_LINE_BYTES_MAX + 1];
    char own_value[SETTINGS_LINE_BYTES_MAX + 1];

    (void)section; /* see parse_heading_line */
    copy_line(name, own_name);
    copy_line(value != NULL ? value : "", own_value);
    if (!parse->skips_section && parse_key(parse, own_name, own_value) != 0) {
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
    if (rc > 0) { /* takes_line should have found what inih cannot read */
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
