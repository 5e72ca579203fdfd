/* SPDX-License-Identifier: Apache-2.0 */
/*
 * derive: ids and withdraw tokens that are the same each time the same line is imported. So a
 * repeated import stores no message twice.
 *
 *   id    = the first 16 bytes, token = all 32 bytes of
 *   BLAKE2b-256, keyed with the secret, over  'i' or 't' | line number, 8 bytes LE | line
 *
 * Without the secret nobody can tell from which line a message came, and nobody can withdraw it.
 */
#ifndef CLIENT_CLI_INPUT_DERIVE_H
#define CLIENT_CLI_INPUT_DERIVE_H

#include <stddef.h>
#include <stdint.h>

#include "client/hearsay.h"

enum { DERIVE_SECRET_BYTES = 32, DERIVE_SENTENCE_BYTES = 512 };

/*
 * Reads the secret of the file. An absent file is made (0600, its folders 0700) with a random
 * secret; two programs that start at the same time get the same secret. path NULL:
 * $XDG_STATE_HOME/hearsay/import-secret, else ~/.local/state/hearsay/import-secret. 0, or
 * DERIVE_FAILED with a sentence.
 */
enum { DERIVE_FAILED = 1 };
int derive_open(const char *path, uint8_t out_secret[DERIVE_SECRET_BYTES],
                char out_sentence[DERIVE_SENTENCE_BYTES]);

/*
 * Replaces the secret by one derived from it and from `count` bytes, at least 1. So the lines of
 * one file get other ids for each group.
 */
void derive_secret(uint8_t secret[DERIVE_SECRET_BYTES], const void *bytes, size_t count);

/*
 * The id and the withdraw token of line `number` (from 1) with `length` bytes. The same secret,
 * number and bytes give the same result; others give an unrelated one.
 */
void derive_id(const uint8_t secret[DERIVE_SECRET_BYTES], uint64_t number, const char *line,
               size_t length, uint8_t out_id[HEARSAY_ID_BYTES]);
void derive_token(const uint8_t secret[DERIVE_SECRET_BYTES], uint64_t number, const char *line,
                  size_t length, uint8_t out_token[HEARSAY_TOKEN_BYTES]);

#endif
