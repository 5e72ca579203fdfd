/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret: the id of a message that a phone leaves, and the code that withdraws it. Each form has a
 * random seed. Id and code are hashes of the seed and of what is sent, so the same form sent twice
 * is one message with one code, a changed text is another message, and nothing is kept here. The id
 * is public and tells nothing about the seed.
 */
#pragma once

#include "client/hearsay.h"

enum {
    SECRET_SEED_BYTES = 16,
    SECRET_CODE_BYTES = 16,
    SECRET_HEX_BYTES = 33, /* a seed or an id as digits, with NUL */
    SECRET_CODE_TEXT_BYTES = 27
};

struct secret {
    uint8_t id[HEARSAY_ID_BYTES];
    uint8_t code[SECRET_CODE_BYTES];
    uint8_t token[HEARSAY_TOKEN_BYTES]; /* of the code, for hearsayd */
};

/* Draws a seed, and writes it as SECRET_HEX_BYTES. */
void secret_draw(char *out_seed);

/* Reads 32 hexadecimal digits: a seed or an id. */
bool secret_read_hex(const char *text, uint8_t *out_bytes);
void secret_write_hex(const uint8_t *bytes, char *out_text);

/* The id and the code of what is sent: a context (a text) and a message of `bytes` bytes. */
void secret_derive(const uint8_t *seed, const char *context, const char *message, size_t bytes,
                   struct secret *out_secret);

/* The token of a code: BLAKE2b-256("hearsay web withdraw v1" | code). */
void secret_token(const uint8_t *code, uint8_t *out_token);

/* Writes a code in base32, 26 characters and NUL. */
void secret_write_code(const uint8_t *code, char *out_text);

/* Reads a code as people type it: capitals or not, with blanks, hyphens and line ends between. */
bool secret_read_code(const char *text, uint8_t *out_code);
