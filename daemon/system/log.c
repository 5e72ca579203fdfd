/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/system/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/label.h"

enum {
    TEXT_BYTES_MAX = 1000, /* of the text of a line, without its prefix */
    PREFIX_BYTES = 64,
    ESCAPE_BYTES = 4, /* \x1b */
};

static const struct {
    const char *name;
    int priority; /* sd-daemon(3) */
} levels[] = {
    [LOG_LEVEL_ERROR] = {"error", 3},
    [LOG_LEVEL_WARNING] = {"warning", 4},
    [LOG_LEVEL_INFO] = {"info", 6},
    [LOG_LEVEL_DEBUG] = {"debug", 7},
};

/* Atomic: the store's threads log too. */
static _Atomic int current_level = LOG_LEVEL_INFO;

void log_set_level(enum log_level level)
{
    atomic_store(&current_level, (int)level);
}

enum log_level log_get_level(void)
{
    return (enum log_level)atomic_load(&current_level);
}

const char *log_level_name(enum log_level level)
{
    return levels[level].name;
}

/* Whether standard error is the stream of the journal. systemd.exec(5) describes this check. */
static bool journal_listens(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    uintmax_t device;
    uintmax_t inode;
    struct stat status;

    return stream != NULL && sscanf(stream, "%ju:%ju", &device, &inode) == 2 &&
           fstat(STDERR_FILENO, &status) == 0 && (uintmax_t)status.st_dev == device &&
           (uintmax_t)status.st_ino == inode;
}

/* Writes the beginning of a line: the priority (such as `<6>`) or the time, and the name of the
 * level. Returns the number of bytes. */
static size_t print_prefix(enum log_level level, char *out)
{
    struct timespec now;
    struct tm parts;
    int length;

    if (journal_listens()) {
        length =
            snprintf(out, PREFIX_BYTES, "<%d>%s: ", levels[level].priority, levels[level].name);
    } else if (clock_gettime(CLOCK_REALTIME, &now) == 0 && gmtime_r(&now.tv_sec, &parts) != NULL) {
        size_t used = strftime(out, PREFIX_BYTES, "%Y-%m-%dT%H:%M:%S", &parts);

        length =
            (int)used + snprintf(out + used, PREFIX_BYTES - used,
                                 ".%03dZ %s: ", (int)(now.tv_nsec / 1000000), levels[level].name);
    } else {
        length = snprintf(out, PREFIX_BYTES, "%s: ", levels[level].name);
    }
    return length > 0 && length < PREFIX_BYTES ? (size_t)length : 0;
}

/*
 * Returns the length in bytes of the UTF-8 character at `at`. 0: the byte at `at` must be escaped,
 * because a control character (C0, delete or C1) begins there, or because the text there is not
 * well-formed UTF-8.
 */
static size_t shown_length(const unsigned char *at)
{
    bool is_control = at[0] < ' ' || at[0] == 0x7f || (at[0] == 0xc2 && at[1] < 0xa0);

    return is_control ? 0 : label_character((const char *)at, strnlen((const char *)at, 4));
}

/*
 * Copies text and escapes bytes that must not be shown. A text that would become longer than
 * TEXT_BYTES_MAX is cut between two characters or escapes, and ends in "...". Returns the length of
 * the copy, at most TEXT_BYTES_MAX.
 */
static size_t log_escape(const char *text, char *out)
{
    static const char dots[] = "...";
    size_t length = 0;
    size_t cut = 0; /* the end of the last character that "..." fits behind */
    const unsigned char *at = (const unsigned char *)text;

    while (*at != '\0') {
        size_t shown = shown_length(at);
        size_t needed = shown > 0 ? shown : ESCAPE_BYTES;

        if (length + needed > TEXT_BYTES_MAX) {
            memcpy(out + cut, dots, sizeof(dots) - 1);
            return cut + sizeof(dots) - 1;
        }
        if (shown > 0) {
            memcpy(out + length, at, shown);
            at += shown;
        } else {
            (void)snprintf(out + length, ESCAPE_BYTES + 1, "\\x%02x", *at);
            at++;
        }
        length += needed;
        if (length + sizeof(dots) - 1 <= TEXT_BYTES_MAX) {
            cut = length;
        }
    }
    return length;
}

/* Writes a line, if possible by one call of write, so that lines of different threads do not mix.
 */
static void write_line(const char *line, size_t length)
{
    while (length > 0) {
        ssize_t written = write(STDERR_FILENO, line, length);

        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return; /* there is no other place for an error */
        }
        line += written;
        length -= (size_t)written;
    }
}

bool log_gate_opens(struct log_gate *gate, int64_t now_ms, uint64_t *out_withheld)
{
    static const int64_t interval_ms = 10 * 1000;

    if (gate->opened && now_ms - gate->opened_ms < interval_ms) {
        gate->withheld++;
        return false;
    }
    *out_withheld = gate->withheld;
    *gate = (struct log_gate){.opened = true, .opened_ms = now_ms};
    return true;
}

void log_write(enum log_level level, const char *format, ...)
{
    /* Space for one byte more than the text of a line may have, and for the NUL. By the additional
     * byte log_escape notices a text that is too long. */
    char text[TEXT_BYTES_MAX + 2];
    char line[PREFIX_BYTES + TEXT_BYTES_MAX + ESCAPE_BYTES + 2];
    int saved_errno = errno;
    va_list arguments;

    if ((int)level > atomic_load(&current_level)) {
        return;
    }
    va_start(arguments, format);
    size_t length = 0;
    if (vsnprintf(text, sizeof(text), format, arguments) >= 0) {
        length = print_prefix(level, line);
        length += log_escape(text, line + length);
        line[length] = '\n';
        write_line(line, length + 1);
    }
    va_end(arguments);
    errno = saved_errno;
}
