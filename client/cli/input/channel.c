/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cli/input/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILE_BYTES_MAX = 4 * 1024 * 1024 };

bool channel_is_name(const char *name)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t length = strlen(name);
    return length > 0 && length <= CHANNEL_NAME_BYTES && strspn(name, letters) == length &&
           name[0] != '-';
}

json_t *channel_table(const json_t *file)
{
    return json_object_get(file, "channels");
}

/* --- checking --------------------------------------------------------------------------------- */

static bool is_text_or_absent(const json_t *value)
{
    return value == NULL || json_is_string(value);
}

/* What is wrong with a channel, or NULL. */
static const char *wrong_of(const json_t *channel)
{
    const json_t *labels = json_object_get(channel, "labels");
    size_t i = 0;
    const json_t *label = NULL;
    if (!json_is_array(labels) || json_array_size(labels) == 0 ||
        json_array_size(labels) > HEARSAY_CONTEXT_LABELS_MAX) {
        return "has no \"labels\", an array of strings";
    }
    json_array_foreach(labels, i, label)
    {
        if (!json_is_string(label)) {
            return "has a label that is not a string";
        }
    }
    if (!is_text_or_absent(json_object_get(channel, "group")) ||
        !is_text_or_absent(json_object_get(channel, "host"))) {
        return "has a \"group\" or \"host\" that is not a string";
    }
    return NULL;
}

static int channel_check(const struct cli *cli, const char *path, const json_t *file)
{
    const char *name = NULL;
    json_t *channel = NULL;
    json_t *table = channel_table(file);
    if (!json_is_object(table)) {
        cli_complain(cli, "%s is not a file of channels: there is no object \"channels\" in it",
                     path);
        return CLI_NEGATIVE;
    }
    json_object_foreach(table, name, channel)
    {
        const char *wrong = channel_is_name(name) ? wrong_of(channel) : "has no proper name";
        if (wrong != NULL) {
            cli_complain(cli, "%s: the channel \"%.80s\" %s; mend or remove the file", path, name,
                         wrong);
            return CLI_NEGATIVE;
        }
    }
    return CLI_DONE;
}

/* --- the file --------------------------------------------------------------------------------- */

static int channel_place(const struct cli *cli, bool make, char *out_path)
{
    int code = place_file(cli, PLACE_CONFIG, "channels", make, out_path);
    if (code == PLACE_NONE) {
        cli_complain(cli,
                     "neither XDG_CONFIG_HOME nor HOME is set: there is no place for channels");
        return CLI_NEGATIVE;
    }
    return code;
}

static int channel_fail(const struct cli *cli, const char *what, const char *path)
{
    cli_complain(cli, "cannot %s %s: %s", what, path, strerror(errno));
    return CLI_NEGATIVE;
}

static int channel_parse(const struct cli *cli, const char *path, const char *text, size_t length,
                         json_t **out_file)
{
    json_error_t error;
    json_t *file = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    if (file == NULL) {
        cli_complain(cli, "%s, line %d: %s; mend or remove the file", path, error.line, error.text);
        return CLI_NEGATIVE;
    }
    int code = channel_check(cli, path, file);
    if (code != CLI_DONE) {
        json_decref(file);
        return code;
    }
    *out_file = file;
    return CLI_DONE;
}

int channel_read_all(const struct cli *cli, json_t **out_file)
{
    char path[PLACE_PATH_BYTES];
    int code = channel_place(cli, false, path);
    if (code != CLI_DONE) {
        return code;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) {
        *out_file = json_pack("{s:{}}", "channels");
        return *out_file != NULL ? CLI_DONE : cli_report_nomem(cli);
    }
    if (fd < 0) {
        return channel_fail(cli, "open", path);
    }
    char *text = malloc(FILE_BYTES_MAX + 1);
    ssize_t count = text != NULL ? cli_read(fd, text, FILE_BYTES_MAX + 1) : 0;
    if (text == NULL) {
        code = cli_report_nomem(cli);
    } else if (count < 0) {
        code = channel_fail(cli, "read", path);
    } else if (count > FILE_BYTES_MAX) {
        cli_complain(cli, "%s is no file of channels: it has over %d bytes", path, FILE_BYTES_MAX);
        code = CLI_NEGATIVE;
    } else {
        code = channel_parse(cli, path, text, (size_t)count, out_file);
    }
    free(text);
    cli_close(fd);
    return code;
}

/* Writes a temporary file in the same folder and renames it to `path`. */
static int channel_replace(const struct cli *cli, const char *path, const json_t *file)
{
    char temporary[PLACE_PATH_BYTES + 8];
    (void)snprintf(temporary, sizeof(temporary), "%s.XXXXXX", path);
    int fd = mkostemp(temporary, O_CLOEXEC); /* 0600 */
    if (fd < 0) {
        return channel_fail(cli, "write beside", path);
    }
    bool written = json_dumpfd(file, fd, JSON_INDENT(1) | JSON_SORT_KEYS) == 0 && fsync(fd) == 0;
    if (!written || rename(temporary, path) != 0) {
        int code = channel_fail(cli, "write", path);
        (void)close(fd);
        (void)unlink(temporary); /* at worst a stray file is left */
        return code;
    }
    (void)close(fd); /* fsync has said what there was to say */
    return CLI_DONE;
}

int channel_write_all(const struct cli *cli, const json_t *file)
{
    char path[PLACE_PATH_BYTES];
    int code = channel_place(cli, true, path);
    return code == CLI_DONE ? channel_replace(cli, path, file) : code;
}

/* --- one channel ------------------------------------------------------------------------------ */

static int complain_unknown(const struct cli *cli, const json_t *file, const char *name)
{
    char names[400] = "";
    const char *one = NULL;
    json_t *channel = NULL;
    json_object_foreach(channel_table(file), one, channel)
    {
        size_t used = strlen(names);
        (void)snprintf(names + used, sizeof(names) - used, "%s%s", used > 0 ? ", " : "", one);
    }
    cli_complain(cli, "there is no channel \"%.80s\"; %s%s", name,
                 names[0] != '\0' ? "there are: " : "hearsay channel save makes one", names);
    return CLI_USAGE;
}

int channel_find(const struct cli *cli, const char *name, struct channel *out_channel)
{
    json_t *file = NULL;
    int code = channel_read_all(cli, &file);
    if (code != CLI_DONE) {
        return code;
    }
    json_t *found = json_object_get(channel_table(file), name);
    if (found == NULL) {
        code = complain_unknown(cli, file, name);
        json_decref(file);
        return code;
    }
    out_channel->file = file;
    out_channel->labels = json_object_get(found, "labels");
    out_channel->group = json_string_value(json_object_get(found, "group"));
    out_channel->host = json_string_value(json_object_get(found, "host"));
    return CLI_DONE;
}

void channel_free(struct channel *channel)
{
    json_decref(channel->file);
    memset(channel, 0, sizeof(*channel));
}

int channel_add_labels(const struct cli *cli, const struct channel *channel,
                       struct hearsay_context *context)
{
    struct hearsay_error error;
    size_t i = 0;
    const json_t *label = NULL;
    json_array_foreach(channel->labels, i, label)
    {
        if (hearsay_context_add_label(context, json_string_value(label), &error) != HEARSAY_OK) {
            return cli_report(cli, &error);
        }
    }
    return CLI_DONE;
}
