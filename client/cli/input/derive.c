/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cli/input/derive.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "client/cli/base/place.h"

_Static_assert(DERIVE_SECRET_BYTES == crypto_generichash_KEYBYTES, "a key of the usual size");

static int derive_fail(char *out_sentence, const char *what, const char *path)
{
    (void)snprintf(out_sentence, DERIVE_SENTENCE_BYTES, "%s %.300s: %s", what, path,
                   strerror(errno));
    return DERIVE_FAILED;
}

static int default_path(char out_path[PLACE_PATH_BYTES], char *out_sentence)
{
    int rc = place_path(PLACE_STATE, "hearsay/import-secret", out_path);
    if (rc == 0) {
        return 0;
    }
    (void)snprintf(out_sentence, DERIVE_SENTENCE_BYTES, "%s",
                   rc == PLACE_NONE
                       ? "neither XDG_STATE_HOME nor HOME is set: name a state file with --state"
                       : "the state file's path is too long");
    return DERIVE_FAILED;
}

/*
 * Reads the secret from the file. Returns 0, DERIVE_FAILED, or DERIVE_ABSENT when the file does not
 * exist.
 */
enum { DERIVE_ABSENT = 2 };
static int read_secret(const char *path, uint8_t *out_secret, char *out_sentence)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return errno == ENOENT ? DERIVE_ABSENT
                               : derive_fail(out_sentence, "cannot open the state file", path);
    }
    struct stat state;
    uint8_t bytes[DERIVE_SECRET_BYTES + 1];
    bool is_private = fstat(fd, &state) != 0 || place_is_private(&state);
    ssize_t got = is_private ? read(fd, bytes, sizeof(bytes)) : 0;
    int status = 0;
    if (!is_private) {
        (void)snprintf(out_sentence, DERIVE_SENTENCE_BYTES,
                       "others may read or change the state file %.200s, which has to be secret: "
                       "chmod 600 %.200s",
                       path, path);
        status = DERIVE_FAILED;
    } else if (got < 0) {
        status = derive_fail(out_sentence, "cannot read the state file", path);
    } else if (got != DERIVE_SECRET_BYTES) {
        (void)snprintf(out_sentence, DERIVE_SENTENCE_BYTES,
                       "%.300s is not a state file: it should have %d bytes", path,
                       DERIVE_SECRET_BYTES);
        status = DERIVE_FAILED;
    } else {
        memcpy(out_secret, bytes, DERIVE_SECRET_BYTES);
    }
    (void)close(fd); /* it was only read */
    sodium_memzero(bytes, sizeof(bytes));
    return status;
}

static bool write_secret(int fd)
{
    uint8_t secret[DERIVE_SECRET_BYTES];
    randombytes_buf(secret, sizeof(secret));
    bool written = write(fd, secret, sizeof(secret)) == (ssize_t)sizeof(secret) && fsync(fd) == 0;
    sodium_memzero(secret, sizeof(secret));
    return written;
}

/*
 * Writes a new secret to a temporary file and links it to `path`. If another program has created
 * the file at the same time, its secret stays. In both cases the file is complete.
 */
static int make_secret(const char *path, char *out_sentence)
{
    char temporary[PATH_MAX];
    int written = snprintf(temporary, sizeof(temporary), "%s.XXXXXX", path);
    if (written < 0 || (size_t)written >= sizeof(temporary)) {
        errno = ENAMETOOLONG;
        return derive_fail(out_sentence, "cannot make the state file", path);
    }
    place_make_folders(temporary);
    int fd = mkostemp(temporary, O_CLOEXEC); /* 0600 */
    if (fd < 0) {
        return derive_fail(out_sentence, "cannot make the state file", path);
    }
    int status = 0;
    if (!write_secret(fd)) {
        status = derive_fail(out_sentence, "cannot write the state file", path);
    } else if (link(temporary, path) != 0 && errno != EEXIST) {
        status = derive_fail(out_sentence, "cannot make the state file", path);
    }
    (void)close(fd);         /* fsync has said what there was to say */
    (void)unlink(temporary); /* at worst a stray file is left */
    return status;
}

int derive_open(const char *path, uint8_t out_secret[DERIVE_SECRET_BYTES],
                char out_sentence[DERIVE_SENTENCE_BYTES])
{
    char standard[PLACE_PATH_BYTES];
    if (sodium_init() < 0) {
        (void)snprintf(out_sentence, DERIVE_SENTENCE_BYTES, "the system gives no random numbers");
        return DERIVE_FAILED;
    }
    if (path == NULL) {
        if (default_path(standard, out_sentence) != 0) {
            return DERIVE_FAILED;
        }
        path = standard;
    }
    int status = read_secret(path, out_secret, out_sentence);
    if (status == DERIVE_ABSENT) {
        status = make_secret(path, out_sentence);
        if (status == 0) {
            status = read_secret(path, out_secret, out_sentence);
        }
        if (status == DERIVE_ABSENT) {
            (void)snprintf(out_sentence, DERIVE_SENTENCE_BYTES, "%.300s was removed meanwhile",
                           path);
        }
    }
    return status == 0 ? 0 : DERIVE_FAILED;
}

void derive_secret(uint8_t secret[DERIVE_SECRET_BYTES], const void *bytes, size_t count)
{
    uint8_t other[DERIVE_SECRET_BYTES];
    (void)crypto_generichash(other, sizeof(other), bytes, count, secret, DERIVE_SECRET_BYTES);
    memcpy(secret, other, sizeof(other));
    sodium_memzero(other, sizeof(other));
}

static void derive_derive(const uint8_t *secret, uint8_t kind, uint64_t number, const char *line,
                          size_t length, uint8_t out[32])
{
    uint8_t head[9] = {kind};
    for (size_t i = 0; i < 8; i++) {
        head[1 + i] = (uint8_t)(number >> (8 * i));
    }
    crypto_generichash_state state;
    /* These fail for sizes out of range only. */
    (void)crypto_generichash_init(&state, secret, DERIVE_SECRET_BYTES, 32);
    (void)crypto_generichash_update(&state, head, sizeof(head));
    (void)crypto_generichash_update(&state, (const unsigned char *)line, length);
    (void)crypto_generichash_final(&state, out, 32);
}

void derive_id(const uint8_t secret[DERIVE_SECRET_BYTES], uint64_t number, const char *line,
               size_t length, uint8_t out_id[HEARSAY_ID_BYTES])
{
    uint8_t hash[32];
    derive_derive(secret, 'i', number, line, length, hash);
    memcpy(out_id, hash, HEARSAY_ID_BYTES);
}

void derive_token(const uint8_t secret[DERIVE_SECRET_BYTES], uint64_t number, const char *line,
                  size_t length, uint8_t out_token[HEARSAY_TOKEN_BYTES])
{
    derive_derive(secret, 't', number, line, length, out_token);
}
