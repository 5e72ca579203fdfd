/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cli/input/input.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

_Static_assert(DERIVE_SECRET_BYTES == crypto_generichash_KEYBYTES, "a key of the usual size");

static int derive_fail(const struct cli *cli, const char *what, const char *path)
{
    cli_complain(cli, "cannot %s the state file %s: %s", what, path, strerror(errno));
    return CLI_USAGE;
}

/* Reads the secret from the file. Returns an exit code, or DERIVE_ABSENT when there is no file. */
enum { DERIVE_ABSENT = -1 };
static int read_secret(const struct cli *cli, const char *path, uint8_t *out_secret)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return errno == ENOENT ? DERIVE_ABSENT : derive_fail(cli, "open", path);
    }
    uint8_t bytes[DERIVE_SECRET_BYTES + 1];
    int code = place_check_private(cli, fd, path, "--state");
    ssize_t got = code == CLI_DONE ? read(fd, bytes, sizeof(bytes)) : 0;
    if (got < 0) {
        code = derive_fail(cli, "read", path);
    } else if (code == CLI_DONE && got != DERIVE_SECRET_BYTES) {
        cli_complain(cli, "%s is not a state file: it should have %d bytes", path,
                     DERIVE_SECRET_BYTES);
        code = CLI_USAGE;
    } else if (code == CLI_DONE) {
        memcpy(out_secret, bytes, DERIVE_SECRET_BYTES);
    }
    (void)close(fd); /* it was only read */
    sodium_memzero(bytes, sizeof(bytes));
    return code;
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
static int make_secret(const struct cli *cli, const char *path)
{
    char temporary[PATH_MAX];
    int written = snprintf(temporary, sizeof(temporary), "%s.XXXXXX", path);
    if (written < 0 || (size_t)written >= sizeof(temporary)) {
        errno = ENAMETOOLONG;
        return derive_fail(cli, "make", path);
    }
    place_make_folders(temporary);
    int fd = mkostemp(temporary, O_CLOEXEC); /* 0600 */
    if (fd < 0) {
        return derive_fail(cli, "make", path);
    }
    int code = CLI_DONE;
    if (!write_secret(fd)) {
        code = derive_fail(cli, "write", path);
    } else if (link(temporary, path) != 0 && errno != EEXIST) {
        code = derive_fail(cli, "make", path);
    }
    (void)close(fd);         /* fsync has said what there was to say */
    (void)unlink(temporary); /* at worst a stray file is left */
    return code;
}

int derive_open(const struct cli *cli, const char *path, uint8_t out_secret[DERIVE_SECRET_BYTES])
{
    char standard[PLACE_PATH_BYTES];
    if (sodium_init() < 0) {
        cli_complain(cli, "the system gives no random numbers");
        return CLI_USAGE;
    }
    if (path == NULL) {
        int code = place_file(cli, PLACE_STATE, "import-secret", false, standard);
        if (code == PLACE_NONE) {
            cli_complain(cli,
                         "neither XDG_STATE_HOME nor HOME is set: name a state file with --state");
        }
        if (code != CLI_DONE) {
            return CLI_USAGE;
        }
        path = standard;
    }
    int code = read_secret(cli, path, out_secret);
    if (code == DERIVE_ABSENT) {
        code = make_secret(cli, path);
        if (code == CLI_DONE) {
            code = read_secret(cli, path, out_secret);
        }
        if (code == DERIVE_ABSENT) {
            cli_complain(cli, "the state file %s was removed meanwhile", path);
            code = CLI_USAGE;
        }
    }
    return code;
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
