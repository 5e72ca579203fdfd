/* SPDX-License-Identifier: Apache-2.0 */
/*
 * derive: ids and withdraw tokens that come out the same each time the same line is imported, so
 * that a repeated import finds its own messages there and stores nothing twice.
 *
 *   id    = the first 16 bytes, token = all 32 bytes of
 *   BLAKE2b-256, keyed with the secret, over  'i' or 't' | line number, 8 bytes LE | line
 *
 * Without the secret nobody can tell which lines a message came from, or withdraw it.
 */
#ifndef CLIENT_CLI_INPUT_DERIVE_H
#define CLIENT_CLI_INPUT_DERIVE_H

#include <stddef.h>
#include <stdint.h>

#include "client/hearsay.h"

enum { DERIVE_SECRET_BYTES = 32, DERIVE_SENTENCE_BYTES = 512 };

/*
 * The secret in the file, which is made (0600, with its folders 0700) where there is none; two
 * programs that start at once end up with the same. path NULL:
 * $XDG_STATE_HOME/hearsay/import-secret, else ~/.local/state/hearsay/import-secret. 0, or
 * DERIVE_FAILED with a sentence.
 */
enum { DERIVE_FAILED = 1 };
int derive_open(const char *path, uint8_t out_secret[DERIVE_SECRET_BYTES],
                char out_sentence[DERIVE_SENTENCE_BYTES]);

/*
 * Another secret out of it, the same for the same bytes: `count` of them, at least 1. So the lines
 * of one file get other ids for each group that they are imported for.
 */
void derive_secret(uint8_t secret[DERIVE_SECRET_BYTES], const void *bytes, size_t count);

/*
 * The id and the withdraw token of line `number` (from 1), `length` bytes: the same for the same
 * secret, number and bytes, and unrelated for others. Whoever has the secret can make them.
 */
void derive_id(const uint8_t secret[DERIVE_SECRET_BYTES], uint64_t number, const char *line,
               size_t length, uint8_t out_id[HEARSAY_ID_BYTES]);
void derive_token(const uint8_t secret[DERIVE_SECRET_BYTES], uint64_t number, const char *line,
                  size_t length, uint8_t out_token[HEARSAY_TOKEN_BYTES]);

#endif
