/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cli/input/input.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <sodium.h>

/*
 * The longest secret, its line end of up to two bytes, and one byte more to detect a longer secret.
 */
enum { LINE_BYTES = HEARSAY_SECRET_BYTES_MAX + 3 };

/* Reads the first line. Returns its number of bytes without the line end, or -1 with errno. */
static ssize_t read_line(int fd, char *line)
{
    size_t count = 0;
    while (count < LINE_BYTES && (count == 0 || memchr(line, '\n', count) == NULL)) {
        ssize_t got = read(fd, line + count, LINE_BYTES - count);
        if (got < 0) {
            return -1;
        }
        if (got == 0) {
            break;
        }
        count += (size_t)got;
    }
    const char *end = memchr(line, '\n', count);
    count = end != NULL ? (size_t)(end - line) : count;
    return (ssize_t)(count > 0 && end != NULL && line[count - 1] == '\r' ? count - 1 : count);
}

/* --- the terminal ----------------------------------------------------------------------------- */

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    interrupted = number;
}

/*
 * Prompts for the secret and reads it without echo. Restores the terminal afterwards, also after
 * SIGINT and SIGTERM.
 */
static ssize_t read_quietly(int fd, char *line)
{
    static const char prompt[] = "The group's secret: ";
    struct termios before;
    struct sigaction old_interrupt;
    struct sigaction old_terminate;
    struct sigaction action;
    memset(&action, 0, sizeof(action));
    action.sa_handler = on_signal; /* no SA_RESTART: it ends the read */
    if (tcgetattr(fd, &before) != 0) {
        return -1;
    }
    struct termios quiet = before;
    quiet.c_lflag &= ~(tcflag_t)(ECHO | ECHOE | ECHOK);
    quiet.c_lflag |= ECHONL;
    interrupted = 0;
    (void)sigaction(SIGINT, &action, &old_interrupt); /* cannot fail for these signals */
    (void)sigaction(SIGTERM, &action, &old_terminate);
    ssize_t count = -1;
    if (tcsetattr(fd, TCSAFLUSH, &quiet) == 0) {
        if (write(fd, prompt, sizeof(prompt) - 1) > 0) {
            count = read_line(fd, line);
        }
        int saved = errno;
        (void)tcsetattr(fd, TCSAFLUSH, &before);
        errno = saved;
    }
    (void)sigaction(SIGINT, &old_interrupt, NULL);
    (void)sigaction(SIGTERM, &old_terminate, NULL);
    if (interrupted != 0) {
        (void)raise((int)interrupted);
    }
    return count;
}

static int secret_ask(const struct cli *cli, char *line, size_t *out_count)
{
    int fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) {
        cli_complain(cli, "--group -: there is no terminal to ask for the secret: name a file");
        return CLI_USAGE;
    }
    ssize_t count = read_quietly(fd, line);
    if (count < 0) {
        cli_complain(cli, "--group -: the terminal failed: %s", strerror(errno));
    }
    (void)close(fd); /* all was read */
    *out_count = count < 0 ? 0 : (size_t)count;
    return count < 0 ? CLI_USAGE : CLI_DONE;
}

/* --- the file --------------------------------------------------------------------------------- */

static int read_file(const struct cli *cli, const char *path, char *line, size_t *out_count)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        cli_complain(cli, "--group: cannot open %s: %s", path, strerror(errno));
        return CLI_USAGE;
    }
    if (place_check_private(cli, fd, path, "--group") != CLI_DONE) {
        cli_close(fd);
        return CLI_USAGE;
    }
    ssize_t count = read_line(fd, line);
    int saved = errno;
    cli_close(fd);
    if (count < 0) {
        cli_complain(cli, "--group: cannot read %s: %s", path, strerror(saved));
        return CLI_USAGE;
    }
    *out_count = (size_t)count;
    return CLI_DONE;
}

bool secret_is_plain(const char *value)
{
    struct stat state;
    return strcmp(value, "-") != 0 && strchr(value, '/') == NULL && stat(value, &state) != 0;
}

static int read_secret(const struct cli *cli, const char *value, char *line, size_t *out_count)
{
    if (strcmp(value, "-") == 0) {
        return secret_ask(cli, line, out_count);
    }
    if (!secret_is_plain(value)) {
        return read_file(cli, value, line, out_count);
    }
    cli_complain(cli, "--group: there is no such file, so this is the secret itself; others can "
                      "read it in the list of processes: better name a file, or - to be asked");
    /* hearsay_group_new refuses a secret that is too long, by its length. */
    *out_count = strlen(value);
    memcpy(line, value, *out_count < LINE_BYTES ? *out_count : LINE_BYTES);
    return CLI_DONE;
}

int secret_group(const struct cli *cli, const char *value, struct hearsay_group **out_group)
{
    char line[LINE_BYTES];
    struct hearsay_error error;
    size_t count = 0;
    int code = read_secret(cli, value, line, &count);
    if (code == CLI_DONE && hearsay_group_new(line, count, out_group, &error) != HEARSAY_OK) {
        code = cli_report(cli, &error);
    }
    sodium_memzero(line, sizeof(line));
    return code;
}

int secret_open(const struct hearsay_group *group, struct hearsay_result *result,
                struct hearsay_content *out_content, struct hearsay_error *out_error)
{
    if (result->payload_omitted || result->payload.data == NULL) {
        return HEARSAY_OK;
    }
    struct hearsay_sealing sealed = {.id = result->id.data,
                                     .media_type = result->media_type.text,
                                     .payload = result->payload.data,
                                     .payload_bytes = result->payload.count};
    int status = hearsay_group_open(group, &sealed, out_content, out_error);
    if (status == HEARSAY_OK) {
        result->media_type = hearsay_text(out_content->media_type);
        result->payload = hearsay_bytes(out_content->payload, out_content->payload_bytes);
    }
    return status;
}
