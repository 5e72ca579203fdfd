/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/own/inner.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "core/base/hash.h"
#include "daemon/system/file.h"

enum { TEXT_BYTES = 256, PATH_BYTES = 512, HEX = 2 * LIMIT_ID_BYTES };

/* hearsay-cursor 2 STORE SEQ TERM HEAD CHECKSUM */
static const char form[] = "hearsay-cursor 2 %s %" PRIu64 " %" PRIu64 " %" PRIu64;

static void path_of(const char *directory, const char *host, const char *suffix, char *out)
{
    (void)snprintf(out, PATH_BYTES, "%s/%s.cursor%s", directory, host, suffix);
}

static size_t text_of(const struct cursor *cursor, char *out)
{
    char hex[HEX + 1];

    for (size_t i = 0; i < LIMIT_ID_BYTES; i++) {
        (void)snprintf(hex + 2 * i, 3, "%02x", cursor->store_id[i]);
    }
    int length = snprintf(out, TEXT_BYTES, form, hex, cursor->seq, cursor->term, cursor->head);
    uint64_t sum = hash_seeded(out, (size_t)length, 0);
    length += snprintf(out + length, TEXT_BYTES - (size_t)length, " %016" PRIx64 "\n", sum);
    return (size_t)length;
}

static bool read_hex(const char *hex, uint8_t *out)
{
    for (size_t i = 0; i < LIMIT_ID_BYTES; i++) {
        unsigned byte;

        if (sscanf(hex + 2 * i, "%2x", &byte) != 1) {
            return false;
        }
        out[i] = (uint8_t)byte;
    }
    return true;
}

void cursor_load(const char *directory, const char *host, struct cursor *out)
{
    char path[PATH_BYTES];
    char text[TEXT_BYTES] = "";
    char again[TEXT_BYTES];
    char hex[HEX + 1] = "";
    struct cursor cursor;

    memset(out, 0, sizeof(*out));
    path_of(directory, host, "", path);
    ssize_t length = file_read(path, text, sizeof(text) - 1);
    if (length <= 0 ||
        sscanf(text, "hearsay-cursor 2 %32s %" SCNu64 " %" SCNu64 " %" SCNu64, hex, &cursor.seq,
               &cursor.term, &cursor.head) != 4 ||
        strlen(hex) != HEX || !read_hex(hex, cursor.store_id)) {
        return;
    }
    /* What was read must give the same text, checksum included. */
    if (text_of(&cursor, again) == (size_t)length && memcmp(text, again, (size_t)length) == 0) {
        *out = cursor;
    }
}

static int write_synced(const char *path, const char *text, size_t length)
{
    int rc = 0;
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (file < 0) {
        return errno;
    }
    ssize_t written = write(file, text, length);
    if (written != (ssize_t)length) {
        rc = written < 0 ? errno : ENOSPC;
    } else if (fsync(file) != 0) {
        rc = errno;
    }
    return close(file) == 0 || rc != 0 ? rc : errno;
}

int cursor_save(const char *directory, const char *host, const struct cursor *cursor)
{
    char path[PATH_BYTES];
    char fresh[PATH_BYTES];
    char text[TEXT_BYTES];
    size_t length = text_of(cursor, text);

    path_of(directory, host, "", path);
    path_of(directory, host, ".new", fresh);
    int rc = write_synced(fresh, text, length);
    if (rc == 0 && rename(fresh, path) != 0) {
        rc = errno;
    }
    return rc; /* an older file after power loss does no harm, so the directory is not synced */
}

int cursor_remove(const char *directory, const char *host)
{
    char path[PATH_BYTES];

    path_of(directory, host, "", path);
    return unlink(path) == 0 || errno == ENOENT ? 0 : errno;
}
