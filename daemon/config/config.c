/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/config/config.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ini.h>

#include "core/base/err.h"
#include "core/base/label.h"
#include "daemon/config/key.h"
#include "daemon/config/table.h"
#include "daemon/config/value.h"

/* --- sections --------------------------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == '\r';
}

static bool is_host_name(const char *name, size_t length)
{
    if (length == 0 || length > LIMIT_HOST_BYTES || name[0] == '-' || name[length - 1] == '-') {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if (!(name[i] >= 'a' && name[i] <= 'z') && !(name[i] >= '0' && name[i] <= '9') &&
            name[i] != '-') {
            return false;
        }
    }
    return true;
}

static struct config_host *find_host(struct config *config, const char *name, size_t length)
{
    for (size_t i = 0; i < config->host_count; i++) {
        if (strlen(config->hosts[i].name) == length &&
            memcmp(config->hosts[i].name, name, length) == 0) {
            return &config->hosts[i];
        }
    }
    return NULL;
}

/*
 * What stands between the brackets: which section, and for [host NAME] the name, which is checked.
 */
static int read_section(const struct config_source *source, const char *text, size_t length,
                        enum config_section *out_section, const char **out_name,
                        size_t *out_name_length)
{
    const char *end = text + length;
    const char *word_end = text;
    const char *name;

    while (word_end < end && !is_blank(*word_end)) {
        word_end++;
    }
    for (name = word_end; name < end && is_blank(*name);) {
        name++;
    }
    for (size_t i = 0; i < CONFIG_SECTIONS; i++) {
        const char *known = config_sections[i].name;

        if (strlen(known) != (size_t)(word_end - text) || memcmp(known, text, strlen(known)) != 0) {
            continue;
        }
        if (i == CONFIG_SECTION_HOST && !is_host_name(name, (size_t)(end - name))) {
            return config_refuse(source,
                                 "[host NAME] needs a name of at most %d letters a-z, digits and "
                                 "inner hyphens, such as [host lobby]; not `%.*s`",
                                 LIMIT_HOST_BYTES, (int)(end - name), name);
        }
        if (i != CONFIG_SECTION_HOST && name != end) {
            return config_refuse(source, "[%s] has no name after it; not `%.*s`", known,
                                 (int)(end - name), name);
        }
        *out_section = (enum config_section)i;
        *out_name = name;
        *out_name_length = (size_t)(end - name);
        return 0;
    }
    return config_refuse(source,
                         "unknown section [%.*s]; there are [daemon], [limits] and [host NAME]",
                         (int)length, text);
}

/* --- a file ----------------------------------------------------------------------------------- */

struct parse {
    struct config config;
    struct config_source source; /* with the line that was read last */
    const char *at;              /* what is left */
    const char *end;
    bool refused; /* some line was: the rest is only looked at for more errors */
    bool in_section;
    bool skips_section; /* its heading was refused: nobody knows what its keys should be */
    enum config_section section;
    size_t host; /* in config.hosts, within [host NAME] */
};

/*
 * A line that begins with a bracket. Sections are read here and not by inih, which cuts their names
 * after 49 bytes and does not tell of those without keys.
 */
static int parse_section_line(struct parse *parse, const char *line, size_t length)
{
    const char *close = memchr(line, ']', length);
    const char *rest;
    const char *name;
    size_t name_length;
    const struct config_host *host;
    int result;

    if (close == NULL) {
        return config_refuse(&parse->source, "a section ends with a bracket, such as [daemon]");
    }
    for (rest = close + 1; rest < line + length && is_blank(*rest);) {
        rest++;
    }
    if (rest < line + length && *rest != ';' && *rest != '#') {
        return config_refuse(&parse->source,
                             "nothing but a comment may follow a section's bracket");
    }
    line++;
    while (line < close && is_blank(*line)) {
        line++;
    }
    while (close > line && is_blank(close[-1])) {
        close--;
    }
    result = read_section(&parse->source, line, (size_t)(close - line), &parse->section, &name,
                          &name_length);
    if (result != 0) {
        return result;
    }
    parse->in_section = true;
    if (parse->section != CONFIG_SECTION_HOST) {
        return 0;
    }

    host = find_host(&parse->config, name, name_length);
    if (host != NULL) {
        return config_refuse(&parse->source, "[host %s] stands in line %u already", host->name,
                             host->line);
    }
    if (parse->config.host_count == LIMIT_HOSTS) {
        return config_refuse(&parse->source, "there may be at most %d hosts", LIMIT_HOSTS);
    }
    char copy[LIMIT_HOST_BYTES + 1];
    memcpy(copy, name, name_length);
    copy[name_length] = '\0';
    parse->host = parse->config.host_count;
    config_add_host(&parse->config, copy);
    parse->config.hosts[parse->host].line = parse->source.line;
    for (size_t i = 0; i < config_key_count; i++) {
        if (config_keys[i].section == CONFIG_SECTION_HOST) {
            parse->config.key_lines[i] = 0; /* each section begins anew */
        }
    }
    return 0;
}

/* Whether a line without blanks around it is neither a comment nor `key = value`. */
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

/* What is wrong with a line as such. */
static int check_line(struct parse *parse, const char *line, size_t length)
{
    if (length > CONFIG_LINE_BYTES_MAX) {
        return config_refuse(&parse->source, "the line has %zu bytes; at most %d are read", length,
                             CONFIG_LINE_BYTES_MAX);
    }
    if (memchr(line, '\0', length) != NULL) {
        return config_refuse(&parse->source,
                             "the line contains a NUL byte; this is not a text file");
    }
    if (!label_is_utf8(line, length)) {
        return config_refuse(&parse->source, "the line is not UTF-8");
    }
    return 0;
}

/*
 * inih's reader: gives it the next line without the blanks before it (inih would take an indented
 * line for more of the one before), an empty one in place of a section and of a line that is
 * refused. NULL at the end.
 */
static char *parse_read_line(char *buffer, int size, void *context)
{
    static const char mark[] = "\xef\xbb\xbf"; /* byte order mark, as some editors write it */
    struct parse *parse = context;
    const char *line = parse->at;
    const char *end;
    size_t length;

    if (line == parse->end) {
        return NULL;
    }
    end = memchr(line, '\n', (size_t)(parse->end - line));
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
    const bool is_wrong = check_line(parse, line, (size_t)(end - line)) != 0;
    while (line < end && is_blank(*line)) {
        line++;
    }
    length = (size_t)(end - line);
    if (is_wrong) {
        parse->refused = true;
        length = 0;
    } else if (length > 0 && *line == '[') {
        parse->skips_section = parse_section_line(parse, line, length) != 0;
        parse->refused = parse->refused || parse->skips_section;
        length = 0;
    } else if (is_neither(line, length)) {
        parse->refused = true;
        length = 0;
        (void)config_refuse(&parse->source, "the line is neither `key = value` nor [section] nor a "
                                            "comment, which begins with #");
    }
    assert(size > CONFIG_LINE_BYTES_MAX + 1);
    (void)size; /* inih's buffer holds 200 bytes, which CONFIG_LINE_BYTES_MAX is made for */
    memcpy(buffer, line, length);
    buffer[length] = '\n';
    buffer[length + 1] = '\0';
    return buffer;
}

static int parse_key(struct parse *parse, const char *name, const char *value)
{
    const struct config_key *key;
    unsigned *key_line;

    if (name[0] == '\0') {
        return config_refuse(&parse->source, "a key is missing before `=`");
    }
    if (!parse->in_section) {
        return config_refuse(&parse->source,
                             "`%.100s` stands before any section; begin with [daemon], [limits] or "
                             "[host NAME]",
                             name);
    }
    key = config_key_find(parse->section, name);
    if (key == NULL) {
        return config_refuse_unknown_key(&parse->source, parse->section, name);
    }
    key_line = &parse->config.key_lines[key - config_keys];
    if (!key->repeatable && *key_line != 0) {
        return config_refuse(&parse->source, "`%s` is set in line %u already", name, *key_line);
    }
    *key_line = parse->source.line;
    return config_set_key(&parse->source, key, &parse->config, &parse->config.hosts[parse->host],
                          value);
}

/* inih's handler. Always says yes, so that inih reports only lines that it cannot read: none. */
static int parse_handle(void *context, const char *section, const char *name, const char *value)
{
    struct parse *parse = context;

    (void)section; /* see parse_section_line */
    if (!parse->skips_section && parse_key(parse, name, value != NULL ? value : "") != 0) {
        parse->refused = true;
    }
    return 1;
}

int config_parse(const char *text, size_t length, const char *name, struct config *out_config,
                 char *out_reason)
{
    struct config_source source = {.name = name, .reason = out_reason, .collects = true};
    struct parse *parse;
    int result;

    out_reason[0] = '\0';
    if (length > CONFIG_FILE_BYTES_MAX) {
        return config_refuse(&source, "the file is too large; at most %d bytes are read",
                             CONFIG_FILE_BYTES_MAX);
    }
    if (strlen(name) >= sizeof(out_config->file)) {
        return config_refuse(&source, "the file's name is too long");
    }
    parse = calloc(1, sizeof(*parse));
    if (parse == NULL) {
        return -ERR_NOMEM;
    }
    config_defaults(&parse->config);
    memcpy(parse->config.file, name, strlen(name));
    parse->source = source;
    parse->at = text;
    parse->end = text + length;

    result = ini_parse_stream(parse_read_line, parse, parse_handle, parse);
    if (result < 0) {
        result = -ERR_NOMEM;
    } else if (parse->refused) {
        result = CONFIG_REFUSED;
    } else if (result > 0) { /* is_neither should have found what inih could not read */
        source.line = (unsigned)result;
        result = config_refuse(&source, "the line cannot be read");
    } else {
        *out_config = parse->config;
    }
    free(parse);
    return result;
}

/* Reads at most one byte more than a file may have. Negative with errno set on failure. */
static ssize_t read_all(const char *file, char *buffer, size_t room)
{
    int descriptor = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    size_t length = 0;
    ssize_t count = 0;
    int saved_errno;

    if (descriptor < 0) {
        return -1;
    }
    do {
        count = read(descriptor, buffer + length, room - length);
        if (count > 0) {
            length += (size_t)count;
        }
    } while ((count > 0 && length < room) || (count < 0 && errno == EINTR));
    saved_errno = errno;
    (void)close(descriptor); /* it was only read */
    errno = saved_errno;
    return count < 0 ? -1 : (ssize_t)length;
}

int config_read(const char *file, struct config *out_config, char *out_reason)
{
    struct config_source source = {.name = file, .reason = out_reason};
    char *buffer = malloc((size_t)CONFIG_FILE_BYTES_MAX + 1);
    ssize_t length;
    int result;

    if (buffer == NULL) {
        return -ERR_NOMEM;
    }
    length = read_all(file, buffer, (size_t)CONFIG_FILE_BYTES_MAX + 1);
    if (length < 0) {
        result = config_refuse(&source, "cannot be read: %s", strerror(errno));
    } else {
        result = config_parse(buffer, (size_t)length, file, out_config, out_reason);
    }
    free(buffer);
    return result;
}

int config_set(struct config *config, const char *name, const char *section, const char *key,
               const char *value, char *out_reason)
{
    const struct config_source source = {.name = name, .reason = out_reason};
    enum config_section number;
    const char *host_name;
    size_t host_name_length;
    const struct config_key *found;
    struct config_host *host = NULL;
    int result =
        read_section(&source, section, strlen(section), &number, &host_name, &host_name_length);

    if (result != 0) {
        return result;
    }
    found = config_key_find(number, key);
    if (found == NULL) {
        return config_refuse_unknown_key(&source, number, key);
    }
    if (number == CONFIG_SECTION_HOST) {
        host = find_host(config, host_name, host_name_length);
        if (host == NULL) {
            return config_refuse(&source, "there is no host `%s`", host_name);
        }
    }
    config->key_lines[found - config_keys] = 0;
    return config_set_key(&source, found, config, host, value);
}
