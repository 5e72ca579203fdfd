/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cli/input/input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int join_words(const struct cli *cli, int count, char *const *words, struct payload *out)
{
    size_t bytes = 1;
    for (int i = 0; i < count; i++) {
        bytes += strlen(words[i]) + 1;
    }
    out->bytes = malloc(bytes);
    if (out->bytes == NULL) {
        return cli_report_nomem(cli);
    }
    for (int i = 0; i < count; i++) {
        size_t length = strlen(words[i]);
        if (i > 0) {
            out->bytes[out->count++] = ' ';
        }
        memcpy(out->bytes + out->count, words[i], length);
        out->count += length;
    }
    out->size_bytes = out->count;
    out->whole = true;
    return CLI_DONE;
}

/* Reads at most one byte more than the largest payload, so that a larger input can be detected. */
static int read_all(const struct cli *cli, int fd, const char *name, struct payload *out)
{
    out->bytes = malloc(PAYLOAD_BYTES_MAX + 1);
    if (out->bytes == NULL) {
        return cli_report_nomem(cli);
    }
    ssize_t count = cli_read(fd, out->bytes, PAYLOAD_BYTES_MAX + 1);
    if (count < 0) {
        cli_complain(cli, "cannot read %s: %s", name, strerror(errno));
        return CLI_USAGE;
    }
    out->count = (size_t)count;
    out->whole = count <= PAYLOAD_BYTES_MAX;
    struct stat state;
    out->size_bytes = out->count;
    if (!out->whole && fstat(fd, &state) == 0 && S_ISREG(state.st_mode) &&
        state.st_size > (off_t)out->count) {
        out->size_bytes = (uint64_t)state.st_size;
        out->whole = true;
    }
    return CLI_DONE;
}

static int read_input(const struct cli *cli, const char *file, struct payload *out)
{
    if (file == NULL || strcmp(file, "-") == 0) {
        if (isatty(STDIN_FILENO) != 0 && cli->err.terminal) {
            (void)fputs("The message, ended by Ctrl-D on a line of its own:\n", cli->err.stream);
        }
        return read_all(cli, STDIN_FILENO, "standard input", out);
    }
    int fd = cli_open(cli, file);
    if (fd < 0) {
        return CLI_USAGE;
    }
    int code = read_all(cli, fd, file, out);
    cli_close(fd);
    return code;
}

int payload_read(const struct cli *cli, const char *file, int word_count, char *const *words,
                 struct payload *out_payload)
{
    memset(out_payload, 0, sizeof(*out_payload));
    if (file != NULL && word_count > 0) {
        return cli_misuse(cli, "--file and TEXT exclude each other");
    }
    int code = word_count > 0 ? join_words(cli, word_count, words, out_payload)
                              : read_input(cli, file, out_payload);
    if (code != CLI_DONE) {
        return code;
    }
    if (out_payload->count == 0) {
        return cli_misuse(cli, "the message is empty");
    }
    out_payload->type = text_is_utf8(out_payload->bytes, out_payload->count)
                            ? "text/plain"
                            : "application/octet-stream";
    return CLI_DONE;
}

void payload_free(struct payload *payload)
{
    free(payload->bytes);
    memset(payload, 0, sizeof(*payload));
}
