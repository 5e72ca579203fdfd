/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cli/base/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static void complain_list(const struct cli *cli, const char *format, va_list list)
    __attribute__((format(printf, 2, 0)));

static void complain_list(const struct cli *cli, const char *format, va_list list)
{
    char sentence[1024];
    (void)vsnprintf(sentence, sizeof(sentence), format, list);
    out_colour(&cli->err, OUT_RED);
    (void)fputs("hearsay:", cli->err.stream);
    out_colour(&cli->err, OUT_PLAIN);
    (void)fputc(' ', cli->err.stream);
    (void)text_print(cli->err.stream, sentence, strlen(sentence), 0);
    (void)fputc('\n', cli->err.stream);
}

void cli_complain(const struct cli *cli, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    complain_list(cli, format, list);
    va_end(list);
}

int cli_misuse(const struct cli *cli, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    complain_list(cli, format, list);
    va_end(list);
    const char *name = cli->command != NULL ? cli->command->name : NULL;
    (void)fprintf(cli->err.stream, "Try: hearsay %s%s--help\n", name != NULL ? name : "",
                  name != NULL ? " " : "");
    return CLI_USAGE;
}

int cli_report(const struct cli *cli, const struct hearsay_error *error)
{
    switch (error->status) {
    case HEARSAY_ERR_REFUSED:
        cli_complain(cli, "the server refused (%s%s%s): %s", hearsay_code_name(error->code),
                     error->field[0] != '\0' ? ", " : "", error->field, error->sentence);
        if (error->retry_after_ms > 0) {
            cli_complain(cli, "worth trying again in %" PRIu64 " s",
                         error->retry_after_ms / 1000 + (error->retry_after_ms % 1000 != 0));
        }
        return error->code == HEARSAY_CODE_NOT_FOUND || error->code == HEARSAY_CODE_REMOVED
                   ? CLI_NEGATIVE
                   : CLI_REFUSED;
    case HEARSAY_ERR_ARGUMENT:
        cli_complain(cli, "%s", error->sentence);
        return CLI_USAGE;
    case HEARSAY_ERR_NOMEM:
    case HEARSAY_ERR_SYSTEM:
    case HEARSAY_ERR_FILE:
        cli_complain(cli, "%s", error->sentence);
        return CLI_NEGATIVE;
    default:
        cli_complain(cli, "%s", error->sentence);
        return CLI_CONNECTION;
    }
}

int cli_report_nomem(const struct cli *cli)
{
    cli_complain(cli, "out of memory");
    return CLI_NEGATIVE;
}

int cli_print_json(const struct cli *cli, json_t *line)
{
    return out_json(&cli->out, line) == 0 ? CLI_DONE : cli_report_nomem(cli);
}

json_t *cli_json_strings(const char *const *strings, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++) {
        out_json_append(&array, json_string(strings[i]));
    }
    return array;
}

int cli_ask(const struct cli *cli, const struct hearsay_request *request,
            const struct hearsay_response **out_response)
{
    struct hearsay_error error;
    int status = hearsay_ask(cli->connection, request, cli_timeout(cli), out_response, &error);
    return status == HEARSAY_OK ? CLI_DONE : cli_report(cli, &error);
}

int cli_carry_out(const struct cli *cli, const struct hearsay_request *request, const char *done,
                  const uint8_t id[HEARSAY_ID_BYTES], bool json)
{
    int code = cli_ask(cli, request, NULL);
    if (code == CLI_DONE && json) {
        return cli_print_json(
            cli, json_pack("{s:o, s:b}", "id", out_json_hex(id, HEARSAY_ID_BYTES), done, 1));
    }
    if (code == CLI_DONE) {
        (void)fprintf(cli->out.stream, "%s\n", done);
    }
    return code;
}

int cli_flush(const struct cli *cli)
{
    if (out_flush(&cli->out) == 0) {
        return CLI_DONE;
    }
    if (out_has_no_reader(&cli->out)) {
        return CLI_NO_READER;
    }
    cli_complain(cli, "cannot write to standard output: %s",
                 errno != 0 ? strerror(errno) : "an earlier write failed");
    return CLI_NEGATIVE;
}

int cli_timeout(const struct cli *cli)
{
    return cli->timeout_ms == 0 ? 10000 : (int)cli->timeout_ms;
}

void cli_name_hosts(const struct hearsay_welcome *welcome, size_t first, char out[CLI_HOSTS_BYTES])
{
    out[0] = '\0';
    for (size_t i = first; i < welcome->host_count; i++) {
        size_t used = strlen(out);
        (void)snprintf(out + used, CLI_HOSTS_BYTES - used, "%s%s", i == first ? "" : ", ",
                       welcome->hosts[i].name);
    }
}

int cli_find_host(const struct cli *cli, const struct hearsay *server, const char *name,
                  const struct hearsay_host **out_host)
{
    const struct hearsay_host *host = hearsay_find_host(server, name);
    if (host != NULL) {
        *out_host = host;
        return CLI_DONE;
    }
    char names[CLI_HOSTS_BYTES];
    cli_name_hosts(hearsay_welcome(server), 0, names);
    cli_complain(cli, "the server has no host \"%s\"; it has: %s", name, names);
    return CLI_USAGE;
}

int cli_host_columns(const struct hearsay_welcome *welcome, int least)
{
    for (size_t i = 0; i < welcome->host_count; i++) {
        int length = (int)strlen(welcome->hosts[i].name); /* 63 at most, in ASCII */
        least = length > least ? length : least;
    }
    return least;
}

/*
 * Finds the digits of the id in the address of a message's page. Returns the text itself if it is
 * no such address.
 */
static const char *find_id(const char *text)
{
    static const char *const schemes[] = {"http://", "https://"};
    const char *path = text;
    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
        if (strncasecmp(text, schemes[i], strlen(schemes[i])) == 0) {
            path = text + strlen(schemes[i]);
        }
    }
    path += strcspn(path, "/?#"); /* the name of the access point */
    return strncmp(path, "/m/", 3) == 0 ? path + 3 : text;
}

int cli_parse_id(const struct cli *cli, const char *text, uint8_t out_id[HEARSAY_ID_BYTES])
{
    char digits[2 * HEARSAY_ID_BYTES + 1];
    const char *id = find_id(text);
    size_t length = id == text ? strlen(id) : strcspn(id, "?#");
    bool fits = length < sizeof(digits);
    if (fits) {
        memcpy(digits, id, length);
        digits[length] = '\0';
    }
    if (!fits || number_parse_hex(digits, out_id, HEARSAY_ID_BYTES) != 0) {
        return cli_misuse(cli,
                          "\"%.80s\" is not a message's id, 32 hexadecimal digits, nor the address "
                          "of its page, such as http://hearsay.lan/m/ID",
                          text);
    }
    return CLI_DONE;
}

uint32_t cli_count_bits(struct hearsay_bytes filter)
{
    uint32_t count = 0;
    for (size_t i = 0; i < filter.count; i++) {
        for (uint8_t left = filter.data[i]; left != 0; left &= (uint8_t)(left - 1)) {
            count++;
        }
    }
    return count;
}

int cli_misuse_word(const struct cli *cli, const char *word)
{
    return cli_misuse(cli, "there is a word too many, \"%.80s\"", word);
}

int cli_open(const struct cli *cli, const char *path)
{
    if (strcmp(path, "-") == 0) {
        return STDIN_FILENO;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        cli_complain(cli, "cannot open %s: %s", path, strerror(errno));
    }
    return fd;
}

ssize_t cli_read(int fd, char *buffer, size_t most)
{
    size_t count = 0;
    while (count < most) {
        ssize_t got = read(fd, buffer + count, most - count);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return -1;
        }
        if (got == 0) {
            break;
        }
        count += (size_t)got;
    }
    return (ssize_t)count;
}

void cli_close(int fd)
{
    if (fd > STDIN_FILENO) {
        (void)close(fd); /* it was only read */
    }
}
