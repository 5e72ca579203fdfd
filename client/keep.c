/* SPDX-License-Identifier: Apache-2.0 */
#include "client/keep.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "client/fail.h"
#include "core/base/hash.h"

enum { HEAD_BYTES = KEEP_MAGIC_BYTES + 4, CHECKSUM_BYTES = 8 };

static void put_le(uint8_t *out, uint64_t value, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        out[i] = (uint8_t)(value >> (8 * i) & 0xff);
    }
}

static uint64_t get_le(const uint8_t *bytes, size_t count)
{
    uint64_t value = 0;
    for (size_t i = 0; i < count; i++) {
        value |= (uint64_t)bytes[i] << (8 * i);
    }
    return value;
}

void keep_put_u32(uint8_t *out, uint32_t value)
{
    put_le(out, value, 4);
}

void keep_put_u64(uint8_t *out, uint64_t value)
{
    put_le(out, value, 8);
}

int keep_append_u32(struct bytes *bytes, uint32_t value)
{
    uint8_t raw[4];
    put_le(raw, value, sizeof(raw));
    return bytes_append(bytes, raw, sizeof(raw));
}

uint32_t keep_u32(const uint8_t *bytes)
{
    return (uint32_t)get_le(bytes, 4);
}

uint64_t keep_u64(const uint8_t *bytes)
{
    return get_le(bytes, 8);
}

/* --- reading ---------------------------------------------------------------------------------- */

static int fail_system(struct hearsay_error *error, const char *what, const char *path)
{
    return fail_set_errno(error, HEARSAY_ERR_SYSTEM, errno, "cannot %s %.300s", what, path);
}

/* Reads up to the end of the file. Stops after more than `most` bytes. */
static int read_whole(int fd, const char *path, size_t most, struct bytes *out,
                      struct hearsay_error *error)
{
    for (;;) {
        enum { PIECE = 64 * 1024 };
        uint8_t *room = bytes_reserve(out, PIECE);
        if (room == NULL) {
            return fail_set_nomem(error);
        }
        ssize_t got = read(fd, room, PIECE);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return fail_system(error, "read", path);
        }
        out->count += (size_t)got;
        if (got == 0 || out->count > most) {
            return 0;
        }
    }
}

static uint32_t version_of(const struct keep_kind *kind)
{
    return kind->version != 0 ? kind->version : 1;
}

/* Checks kind, version, size and checksum of a file. */
static int keep_check(const char *path, const struct keep_kind *kind, const struct bytes *whole,
                      struct hearsay_error *error)
{
    const char *wrong = NULL;
    uint32_t known = version_of(kind);
    if (whole->count < HEAD_BYTES || memcmp(whole->data, kind->magic, KEEP_MAGIC_BYTES) != 0) {
        return fail_set(error, HEARSAY_ERR_FILE,
                        "%.300s is not a %s; it was left as it is: name another file", path,
                        kind->what);
    }
    uint32_t version = keep_u32(whole->data + KEEP_MAGIC_BYTES);
    if (version != known) {
        return fail_set(error, HEARSAY_ERR_FILE,
                        "%.300s is a %s of version %" PRIu32 ", this program knows version %" PRIu32
                        "; it was left as it is: remove it to begin anew",
                        path, kind->what, version, known);
    }
    if (whole->count < HEAD_BYTES + CHECKSUM_BYTES) {
        wrong = "it is too short";
    } else if (whole->count - HEAD_BYTES - CHECKSUM_BYTES > kind->body_bytes_max) {
        wrong = "it is too long";
    } else {
        size_t covered = whole->count - CHECKSUM_BYTES;
        if (hash_seeded(whole->data, covered, 0) != keep_u64(whole->data + covered)) {
            wrong = "its checksum does not match";
        }
    }
    if (wrong != NULL) {
        return fail_set(error, HEARSAY_ERR_FILE,
                        "%.300s is damaged (%s); it was left as it is: put back a copy, or remove "
                        "it to begin anew",
                        path, wrong);
    }
    return 0;
}

/*
 * Returns HEARSAY_ERR_FILE when the file is a regular file of this user and its group or other
 * users have any permission on the file; else 0.
 */
static int check_private(const char *path, const struct stat *info, struct hearsay_error *out_error)
{
    if (!S_ISREG(info->st_mode) || info->st_uid != geteuid() ||
        (info->st_mode & (S_IRWXG | S_IRWXO)) == 0) {
        return HEARSAY_OK;
    }
    return fail_set(out_error, HEARSAY_ERR_FILE,
                    "others may read or change %.200s (mode %04o), which has to be secret: "
                    "chmod 600 %.200s",
                    path, (unsigned)(info->st_mode & 07777), path);
}

/*
 * Reads the whole file into `whole`, which is initialised. Returns 0, KEEP_ABSENT when there is no
 * such file, or an error.
 */
static int read_file(const char *path, bool is_secret, size_t bytes_max, struct bytes *whole,
                     struct hearsay_error *out_error)
{
    /* O_NONBLOCK: opening a named pipe does not wait for a writer. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return errno == ENOENT ? KEEP_ABSENT : fail_system(out_error, "open", path);
    }
    struct stat info;
    int status = 0;
    if (fstat(fd, &info) != 0) {
        status = fail_system(out_error, "look at", path);
    } else if (!S_ISREG(info.st_mode)) {
        status = fail_set(out_error, HEARSAY_ERR_FILE, "%.300s is no regular file", path);
    } else {
        status = is_secret ? check_private(path, &info, out_error) : 0;
        status = status == 0 ? read_whole(fd, path, bytes_max, whole, out_error) : status;
    }
    (void)close(fd); /* it was only read */
    return status;
}

int keep_read(const char *path, const struct keep_kind *kind, struct bytes *out_body,
              struct hearsay_error *out_error)
{
    struct bytes whole;
    bytes_init(&whole, out_body->alloc);
    int status = read_file(path, kind->is_secret,
                           kind->body_bytes_max + HEAD_BYTES + CHECKSUM_BYTES, &whole, out_error);
    if (status == 0) {
        status = keep_check(path, kind, &whole, out_error);
    }
    if (status == 0 && bytes_append(out_body, whole.data + HEAD_BYTES,
                                    whole.count - HEAD_BYTES - CHECKSUM_BYTES) != 0) {
        status = fail_set_nomem(out_error);
    }
    bytes_deinit(&whole);
    return status;
}

int keep_open(struct keep_file *out_file, const char *path, const struct keep_kind *kind,
              struct hearsay_error *out_error)
{
    out_file->kind = kind;
    bytes_init(&out_file->body, alloc_system());
    out_file->path = strdup(path);
    if (out_file->path == NULL) {
        return fail_set_nomem(out_error);
    }
    int status = keep_read(path, kind, &out_file->body, out_error);
    if (status == 0 && kind->record_bytes > 0 && out_file->body.count % kind->record_bytes != 0) {
        return fail_set(out_error, HEARSAY_ERR_FILE, "%.300s is damaged; it was left as it is",
                        path);
    }
    return status;
}

void keep_close(struct keep_file *file)
{
    if (file->body.count > 0 && file->kind->is_secret) {
        sodium_memzero(file->body.data, file->body.count);
    }
    bytes_deinit(&file->body);
    free(file->path);
}

int keep_read_text(const char *path, size_t bytes_max, struct bytes *out_text,
                   struct hearsay_error *out_error)
{
    int status = read_file(path, false, bytes_max, out_text, out_error);
    if (status == 0 && out_text->count > bytes_max) {
        return fail_set(out_error, HEARSAY_ERR_FILE, "%.300s is over %zu bytes", path, bytes_max);
    }
    return status;
}

/* --- writing ---------------------------------------------------------------------------------- */

static bool write_all(int fd, const uint8_t *data, size_t count)
{
    while (count > 0) {
        ssize_t written = write(fd, data, count);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written < 0) {
            return false;
        }
        data += written;
        count -= (size_t)written;
    }
    return fsync(fd) == 0;
}

/*
 * Syncs the folder of the file, so that the new name survives a power cut. Errors are ignored: the
 * contents of the file are already on storage.
 */
static void sync_folder(const char *path)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t length = slash != NULL ? (size_t)(slash - path) + 1 : 0;
    if (length >= sizeof(folder)) {
        return;
    }
    memcpy(folder, path, length);
    folder[length] = '\0';
    int fd = open(length > 0 ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        (void)fsync(fd); /* see above */
        (void)close(fd);
    }
}

static int keep_replace(const char *path, const struct bytes *whole, struct hearsay_error *error)
{
    char temporary[PATH_MAX];
    int written = snprintf(temporary, sizeof(temporary), "%s.XXXXXX", path);
    if (written < 0 || (size_t)written >= sizeof(temporary)) {
        errno = ENAMETOOLONG;
        return fail_system(error, "write", path);
    }
    int fd = mkostemp(temporary, O_CLOEXEC); /* 0600 */
    if (fd < 0) {
        return fail_system(error, "write beside", path);
    }
    int status = 0;
    if (!write_all(fd, whole->data, whole->count)) {
        status = fail_system(error, "write", path);
    } else if (rename(temporary, path) != 0) {
        status = fail_system(error, "replace", path);
    }
    (void)close(fd); /* fsync has said what there was to say */
    if (status != 0) {
        (void)unlink(temporary); /* at worst a stray file is left */
        return status;
    }
    sync_folder(path);
    return 0;
}

int keep_write_text(const char *path, const struct bytes *text, struct hearsay_error *out_error)
{
    /* If `path` is a symbolic link to a file, that file is replaced, and the link stays. */
    char *target = realpath(path, NULL);
    int status = keep_replace(target != NULL ? target : path, text, out_error);
    free(target);
    return status;
}

int keep_write(const char *path, const struct keep_kind *kind, const struct bytes *body,
               struct hearsay_error *out_error)
{
    struct bytes whole;
    uint8_t checksum[CHECKSUM_BYTES];
    bytes_init(&whole, body->alloc);
    int rc = bytes_append(&whole, kind->magic, KEEP_MAGIC_BYTES);
    rc = rc == 0 ? keep_append_u32(&whole, version_of(kind)) : rc;
    rc = rc == 0 && body->count > 0 ? bytes_append(&whole, body->data, body->count) : rc;
    if (rc == 0) {
        keep_put_u64(checksum, hash_seeded(whole.data, whole.count, 0));
        rc = bytes_append(&whole, checksum, sizeof(checksum));
    }
    int status = rc == 0 ? keep_write_text(path, &whole, out_error) : fail_set_nomem(out_error);
    bytes_deinit(&whole);
    return status;
}
