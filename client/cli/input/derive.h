/* SPDX-License-Identifier: Apache-2.0 */
/*
 * derive: derives message ids and withdraw tokens for import. With the same secret and line number,
 * the same line gets the same id and token. So a repeated import does not store a message that is
 * already there again.
 *
 *   hash  = BLAKE2b-256, keyed with the secret, of: letter | line number, 8 bytes LE | line
 *   id    = the first 16 bytes of the hash with the letter 'i'
 *   token = the 32 bytes of the hash with the letter 't'
 *
 * Without the secret nobody can tell from an id which line it was derived from, and nobody can
 * compute the token.
 */
#ifndef CLIENT_CLI_INPUT_DERIVE_H
#define CLIENT_CLI_INPUT_DERIVE_H

#include <stddef.h>
#include <stdint.h>

#include "client/cli/base/cli.h"

enum { DERIVE_SECRET_BYTES = 32 };

/*
 * Reads the secret from the file at `path`. `path` NULL is $XDG_STATE_HOME/hearsay/import-secret,
 * else ~/.local/state/hearsay/import-secret. If the file does not exist, creates it with a random
 * secret (mode 0600, new folders 0700). Two programs that create the file at the same time get the
 * same secret. Returns CLI_DONE, or CLI_USAGE after printing the error.
 */
int derive_open(const struct cli *cli, const char *path, uint8_t out_secret[DERIVE_SECRET_BYTES]);

/*
 * Replaces the secret by a secret derived from the old secret and from `count` bytes, count >= 1.
 * Import calls this function with bytes that depend on the key of a group, so that the same line
 * gets another id in each group.
 */
void derive_secret(uint8_t secret[DERIVE_SECRET_BYTES], const void *bytes, size_t count);

/*
 * Derive the id and the withdraw token of a line. `number` is the line's number, from 1; `length`
 * is its size in bytes. The same secret, number and line give the same result.
 */
void derive_id(const uint8_t secret[DERIVE_SECRET_BYTES], uint64_t number, const char *line,
               size_t length, uint8_t out_id[HEARSAY_ID_BYTES]);
void derive_token(const uint8_t secret[DERIVE_SECRET_BYTES], uint64_t number, const char *line,
                  size_t length, uint8_t out_token[HEARSAY_TOKEN_BYTES]);

#endif
