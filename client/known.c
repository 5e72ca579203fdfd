/* SPDX-License-Identifier: Apache-2.0 */
#include "client/known.h"

#include <string.h>

#include "client/fail.h"
#include "client/keep.h"

enum { KNOWN_BYTES_MAX = 1024 * 1024 };

/* What is in a line: nothing, the server looked for, another one, or nonsense. */
enum line_kind { LINE_EMPTY, LINE_FOUND, LINE_OTHER, LINE_WRONG };

static enum line_kind read_line(const char *line, size_t length, const char *server,
                                uint8_t out_pin[TLS_PIN_BYTES])
{
    char pin[TLS_PIN_TEXT_BYTES];
    uint8_t other[TLS_PIN_BYTES];
    const char *blank = memchr(line, ' ', length);

    if (length == 0 || line[0] == '#') {
        return LINE_EMPTY;
    }
    const size_t name_bytes = blank == NULL ? length : (size_t)(blank - line);
    if (blank == NULL || name_bytes == 0 || length - name_bytes - 1 != sizeof(pin) - 1) {
        return LINE_WRONG;
    }
    memcpy(pin, blank + 1, sizeof(pin) - 1);
    pin[sizeof(pin) - 1] = '\0';
    const bool is_it = strlen(server) == name_bytes && memcmp(server, line, name_bytes) == 0;
    if (!tls_pin_parse(pin, is_it ? out_pin : other)) {
        return LINE_WRONG;
    }
    return is_it ? LINE_FOUND : LINE_OTHER;
}

/* The whole file; empty where there is none. */
static int read_file(const char *path, struct bytes *out_text, struct hearsay_error *error)
{
    bytes_init(out_text, alloc_system());
    const int status = keep_read_text(path, KNOWN_BYTES_MAX, out_text, error);
    return status == KEEP_ABSENT ? 0 : status;
}

int known_find(const char *path, const char *server, uint8_t out_pin[TLS_PIN_BYTES],
               struct hearsay_error *out_error)
{
    struct bytes text;
    enum line_kind kind = LINE_EMPTY;
    size_t at = 0;
    unsigned line = 0;

    int status = read_file(path, &text, out_error);
    while (status == 0 && at < text.count && kind != LINE_FOUND && kind != LINE_WRONG) {
        const char *begin = (const char *)text.data + at;
        const char *end = memchr(begin, '\n', text.count - at);
        const size_t length = end == NULL ? text.count - at : (size_t)(end - begin);
        kind = read_line(begin, length, server, out_pin);
        at += length + 1;
        line++;
    }
    bytes_deinit(&text);
    if (status == 0 && kind == LINE_WRONG) {
        return fail_set(out_error, HEARSAY_ERR_FILE,
                        "%.300s:%u: a line must be a server and the 64 hexadecimal digits of its "
                        "pin; mend it, or remove the line",
                        path, line);
    }
    return status != 0 ? status : kind == LINE_FOUND ? 0 : KNOWN_NOT;
}

int known_add(const char *path, const char *server, const uint8_t pin[TLS_PIN_BYTES],
              struct hearsay_error *out_error)
{
    struct bytes text;
    char pin_text[TLS_PIN_TEXT_BYTES];

    int status = read_file(path, &text, out_error);
    if (status != 0) {
        bytes_deinit(&text);
        return status;
    }
    tls_pin_print(pin, pin_text);
    int rc = 0;
    if (text.count > 0 && text.data[text.count - 1] != '\n') {
        rc = bytes_append(&text, "\n", 1);
    }
    rc = rc == 0 ? bytes_append(&text, server, strlen(server)) : rc;
    rc = rc == 0 ? bytes_append(&text, " ", 1) : rc;
    rc = rc == 0 ? bytes_append(&text, pin_text, strlen(pin_text)) : rc;
    rc = rc == 0 ? bytes_append(&text, "\n", 1) : rc;
    status = rc == 0 ? keep_write_text(path, &text, out_error) : fail_set_nomem(out_error);
    bytes_deinit(&text);
    return status;
}
