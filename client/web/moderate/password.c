/* SPDX-License-Identifier: Apache-2.0 */
#include "client/web/moderate/password.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <sodium.h>

#include "client/web/setup/options.h"
#include "core/base/err.h"
#include "daemon/settings/table.h"

enum { LINE_BYTES = PASSWORD_BYTES_MAX + 3, KEY_LINE_BYTES = WEB_CONFIG_HASH_BYTES + 16 };

/* --- asking ----------------------------------------------------------------------------------- */

/* Reads a line of stdin without its end. False: there is none, or it is too long. */
static bool read_line(char *out_line)
{
    if (fgets(out_line, LINE_BYTES, stdin) == NULL) {
        out_line[0] = '\0';
        return false;
    }
    out_line[strcspn(out_line, "\r\n")] = '\0';
    return strlen(out_line) <= PASSWORD_BYTES_MAX;
}

/* Asks on the terminal, which shows nothing of the answer. ^C is part of the answer, so that the
 * terminal is never left like this. */
static bool ask_line(const char *prompt, char *out_line)
{
    struct termios before;

    if (tcgetattr(STDIN_FILENO, &before) != 0) {
        return read_line(out_line);
    }
    struct termios quiet = before;
    quiet.c_lflag &= ~(tcflag_t)(ECHO | ECHOE | ECHOK | ISIG);
    quiet.c_lflag |= ECHONL;
    (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet); /* drops what was typed before the prompt */
    (void)fprintf(stderr, "%s: ", prompt);
    bool is_read = read_line(out_line);
    (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
    return is_read;
}

static int ask_password(const struct settings_source *source, char *out_password)
{
    char again[LINE_BYTES] = "";
    bool is_right = ask_line("Password of the moderators' page", out_password);
    bool is_same = true;

    if (is_right && isatty(STDIN_FILENO) != 0) {
        is_same = ask_line("The same again", again) && strcmp(out_password, again) == 0;
    }
    sodium_memzero(again, sizeof(again));
    if (!is_right || strlen(out_password) < PASSWORD_BYTES_MIN) {
        return settings_refuse(source, "a password has %d to %d bytes in one line; nothing changed",
                               PASSWORD_BYTES_MIN, PASSWORD_BYTES_MAX);
    }
    return is_same ? 0 : settings_refuse(source, "the two differ; nothing changed");
}

/* --- the file --------------------------------------------------------------------------------- */

/* The first line that begins with a word; NULL: there is none. */
static const char *line_find(const char *text, const char *word)
{
    const char *line = text;

    while (*line != '\0') {
        if (strncmp(line + strspn(line, " \t"), word, strlen(word)) == 0) {
            return line;
        }
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    return NULL;
}

/* Puts a line into the text of a file: in the place of the one before, else first in its section,
 * else at the end. NULL: no memory. */
static char *put_line(const char *text, const char *line)
{
    const char *old = line_find(text, "password");
    const char *heading = line_find(text, "[moderate]");
    const char *from = old != NULL ? old : text + strlen(text);
    const char *between = old != NULL ? "" : "\n[moderate]\n";
    size_t room = strlen(text) + strlen(line) + sizeof("\n[moderate]\n\n");
    char *out = malloc(room);

    if (old == NULL && heading != NULL) {
        from = heading + strcspn(heading, "\n");
        between = "\n";
    }
    const char *rest = old != NULL ? old + strcspn(old, "\n") : from;
    if (out != NULL) {
        (void)snprintf(out, room, "%.*s%s%s%s%s", (int)(from - text), text, between, line,
                       *rest == '\0' ? "\n" : "", rest);
    }
    return out;
}

/* Writes a file beside the one that is there, with its owner and mode. 0, or an errno. */
static int write_beside(int descriptor, const struct stat *old, const char *text)
{
    size_t bytes = strlen(text);
    FILE *out = fdopen(descriptor, "w");

    if (out == NULL) {
        (void)close(descriptor);
        return errno;
    }
    bool is_written = fchown(descriptor, old->st_uid, old->st_gid) == 0 &&
                      fchmod(descriptor, old->st_mode & 07777) == 0 &&
                      fwrite(text, 1, bytes, out) == bytes && fflush(out) == 0 &&
                      fsync(descriptor) == 0;
    int rc = is_written ? 0 : errno;
    return fclose(out) == 0 || rc != 0 ? rc : errno;
}

static int replace_file(const struct settings_source *source, const char *file, const char *text)
{
    char target[PATH_MAX]; /* where `file` is a link, the link stays */
    char beside[PATH_MAX + 8];
    struct stat old;

    if (realpath(file, target) == NULL || stat(target, &old) != 0) {
        return settings_refuse(source, "cannot be found: %s", strerror(errno));
    }
    (void)snprintf(beside, sizeof(beside), "%s.XXXXXX", target);
    int descriptor = mkstemp(beside);
    int rc = descriptor >= 0 ? write_beside(descriptor, &old, text) : errno;
    if (rc == 0 && rename(beside, target) != 0) {
        rc = errno;
    }
    if (rc != 0) {
        (void)unlink(beside);
        return settings_refuse(source, "cannot be written: %s; nothing changed", strerror(rc));
    }
    return 0;
}

/* Writes the hash into the file, if the file is right with it. */
static int write_hash(const struct settings_source *source, const char *file, const char *hash)
{
    struct web_config *config = malloc(sizeof(*config));
    char line[KEY_LINE_BYTES];
    char *old = NULL;
    char *fresh = NULL;
    size_t length = 0;

    (void)snprintf(line, sizeof(line), "password = %s", hash);
    int rc = config != NULL ? settings_read(file, &old, &length, source->reason) : -ERR_NOMEM;
    if (rc == 0) {
        old[length < SETTINGS_FILE_BYTES_MAX ? length : SETTINGS_FILE_BYTES_MAX] = '\0';
        fresh = put_line(old, line);
        rc = fresh == NULL ? -ERR_NOMEM
                           : settings_config_parse(&moderate_program, fresh, strlen(fresh), file,
                                                   config, source->reason);
    }
    rc = rc == 0 ? replace_file(source, file, fresh) : rc;
    free(old);
    free(fresh);
    free(config);
    return rc;
}

int password_set(const char *file, char *out_reason)
{
    struct settings_source source = {.name = file, .reason = out_reason};
    char password[LINE_BYTES];
    char hash[crypto_pwhash_STRBYTES];

    if (access(file, R_OK | W_OK) != 0) {
        return settings_refuse(&source, "cannot be read and written: %s", strerror(errno));
    }
    int rc = ask_password(&source, password);
    if (rc == 0 && crypto_pwhash_str(hash, password, strlen(password), WEB_CONFIG_HASH_PASSES,
                                     WEB_CONFIG_HASH_MEMORY) != 0) {
        rc = settings_refuse(&source, "there are not %d MiB of memory for the hash",
                             WEB_CONFIG_HASH_MEMORY / 1024 / 1024);
    }
    sodium_memzero(password, sizeof(password));
    return rc == 0 ? write_hash(&source, file, hash) : rc;
}
