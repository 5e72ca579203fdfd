/* SPDX-License-Identifier: Apache-2.0 */
#include "client/net/secure.h"

#include <string.h>

#include "client/fail.h"
#include "client/keep.h"
#include "client/net/address.h"

enum { KNOWN_BYTES_MAX = 1024 * 1024 };

/* The contents of a line: nothing, a server with its pin, or an error. */
enum line_kind { LINE_EMPTY, LINE_SERVER, LINE_WRONG };

/* One line of the file. The name is borrowed. */
struct line {
    const char *begin;
    size_t length; /* with its end */
    unsigned number;
    enum line_kind kind;
    size_t name_bytes;
    uint8_t pin[TLS_PIN_BYTES];
};

static enum line_kind read_line(struct line *line, size_t length)
{
    char pin[TLS_PIN_TEXT_BYTES];
    const char *blank = memchr(line->begin, ' ', length);

    if (length == 0 || line->begin[0] == '#') {
        return LINE_EMPTY;
    }
    line->name_bytes = blank == NULL ? length : (size_t)(blank - line->begin);
    if (blank == NULL || line->name_bytes == 0 ||
        length - line->name_bytes - 1 != sizeof(pin) - 1) {
        return LINE_WRONG;
    }
    memcpy(pin, blank + 1, sizeof(pin) - 1);
    pin[sizeof(pin) - 1] = '\0';
    return tls_pin_parse(pin, line->pin) ? LINE_SERVER : LINE_WRONG;
}

/*
 * Moves `line` to the next line of the file. A zeroed `line` moves to the first one. Returns false
 * at the end of the file.
 */
static bool next_line(const struct bytes *text, struct line *line)
{
    const char *end_of_text = (const char *)text->data + text->count;
    const char *begin = line->begin == NULL ? (const char *)text->data : line->begin + line->length;
    if (begin == NULL || begin == end_of_text) {
        return false;
    }
    const char *end = memchr(begin, '\n', (size_t)(end_of_text - begin));
    size_t length = (size_t)((end == NULL ? end_of_text : end) - begin);
    line->begin = begin;
    line->length = length + (end != NULL ? 1 : 0);
    line->number++;
    line->kind = read_line(line, length);
    return true;
}

static bool is_of(const struct line *line, const char *server)
{
    return line->kind == LINE_SERVER && strlen(server) == line->name_bytes &&
           memcmp(server, line->begin, line->name_bytes) == 0;
}

static int fail_line(const char *path, const struct line *line, struct hearsay_error *error)
{
    return fail_set(error, HEARSAY_ERR_FILE,
                    "%.300s:%u: a line must be a server and the 64 hexadecimal digits of its pin; "
                    "mend it, or remove the line",
                    path, line->number);
}

/* Reads the whole file. An absent file gives an empty text. */
static int read_file(const char *path, struct bytes *out_text, struct hearsay_error *error)
{
    bytes_init(out_text, alloc_system());
    int status = keep_read_text(path, KNOWN_BYTES_MAX, out_text, error);
    return status == KEEP_ABSENT ? 0 : status;
}

int known_find(const char *path, const char *server, uint8_t out_pin[TLS_PIN_BYTES],
               struct hearsay_error *out_error)
{
    struct bytes text;
    struct line line = {.begin = NULL};
    int status = read_file(path, &text, out_error);
    int found = KNOWN_NOT;

    while (status == 0 && found == KNOWN_NOT && next_line(&text, &line)) {
        if (line.kind == LINE_WRONG) {
            status = fail_line(path, &line, out_error);
        } else if (is_of(&line, server)) {
            memcpy(out_pin, line.pin, sizeof(line.pin));
            found = 0;
        }
    }
    bytes_deinit(&text);
    return status != 0 ? status : found;
}

int hearsay_known_each(const char *path,
                       void (*take)(void *context, const char *server, const char *pin),
                       void *context, struct hearsay_error *out_error)
{
    struct bytes text;
    struct line line = {.begin = NULL};
    int status = read_file(path, &text, out_error);

    while (status == 0 && next_line(&text, &line)) {
        char pin[TLS_PIN_TEXT_BYTES];
        char server[ADDRESS_NAME_BYTES];
        if (line.kind == LINE_WRONG || line.name_bytes >= sizeof(server)) {
            status = fail_line(path, &line, out_error);
        } else if (line.kind == LINE_SERVER) {
            memcpy(server, line.begin, line.name_bytes);
            server[line.name_bytes] = '\0';
            tls_pin_print(line.pin, pin);
            take(context, server, pin);
        }
    }
    bytes_deinit(&text);
    return status;
}

/* Copies all lines except the lines of `server`. Returns 0, ERR_FILE or ERR_NOMEM. */
static int copy_others(const char *path, const struct bytes *text, const char *server,
                       struct bytes *others, struct hearsay_error *error)
{
    struct line line = {.begin = NULL};

    while (next_line(text, &line)) {
        if (line.kind == LINE_WRONG) {
            return fail_line(path, &line, error);
        }
        if (!is_of(&line, server) && bytes_append(others, line.begin, line.length) != 0) {
            return fail_set_nomem(error);
        }
    }
    return 0;
}

int hearsay_known_remove(const char *path, const char *server, bool *out_was_known,
                         struct hearsay_error *out_error)
{
    struct bytes text;
    struct bytes others;
    struct address address;
    char name[ADDRESS_NAME_BYTES];
    int status = address_parse(server, &address, out_error);

    if (status != HEARSAY_OK) {
        return status;
    }
    if (address.kind != ADDRESS_TCP) {
        return fail_set(out_error, HEARSAY_ERR_ARGUMENT,
                        "\"%.200s\" is a Unix socket, which has no key: name HOST or HOST:PORT",
                        server);
    }
    address_print(&address, name);
    bytes_init(&others, alloc_system());
    status = read_file(path, &text, out_error);
    if (status == 0) {
        status = copy_others(path, &text, name, &others, out_error);
    }
    bool was_known = others.count < text.count;
    if (status == 0 && was_known) {
        status = keep_write_text(path, &others, out_error);
    }
    if (status == 0) {
        *out_was_known = was_known;
    }
    bytes_deinit(&text);
    bytes_deinit(&others);
    return status;
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

int hearsay_certificate_pin(const char *path, char out_pin[HEARSAY_PIN_TEXT_BYTES],
                            struct hearsay_error *out_error)
{
    _Static_assert((int)HEARSAY_PIN_TEXT_BYTES == (int)TLS_PIN_TEXT_BYTES, "as it is printed");
    uint8_t pin[TLS_PIN_BYTES];
    char reason[TLS_REASON_BYTES] = "";

    if (tls_pin_of_file(path, pin, reason) != 0) {
        return fail_set(out_error, HEARSAY_ERR_FILE, "%.500s", reason);
    }
    tls_pin_print(pin, out_pin);
    return HEARSAY_OK;
}
