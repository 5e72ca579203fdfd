/* SPDX-License-Identifier: Apache-2.0 */
#include "client/web/route/secret.h"

#include <string.h>

#include <sodium.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

enum { CODE_CHARACTERS = SECRET_CODE_TEXT_BYTES - 1, CHARACTER_BITS = 5 };

void secret_draw(char *out_seed)
{
    uint8_t seed[SECRET_SEED_BYTES];

    randombytes_buf(seed, sizeof(seed));
    secret_write_hex(seed, out_seed);
}

bool secret_read_hex(const char *text, uint8_t *out_bytes)
{
    uint8_t bytes[SECRET_SEED_BYTES];
    size_t count = strlen(text);

    if (count != SECRET_HEX_BYTES - 1 ||
        sodium_hex2bin(bytes, sizeof(bytes), text, count, NULL, &count, NULL) != 0 ||
        count != sizeof(bytes)) {
        return false;
    }
    memcpy(out_bytes, bytes, sizeof(bytes));
    return true;
}

void secret_write_hex(const uint8_t *bytes, char *out_text)
{
    (void)sodium_bin2hex(out_text, SECRET_HEX_BYTES, bytes, SECRET_SEED_BYTES);
}

static void hash_string(crypto_generichash_state *state, const char *text)
{
    /* With its NUL, so that two texts never run together. */
    (void)crypto_generichash_update(state, (const unsigned char *)text, strlen(text) + 1);
}

void secret_derive(const uint8_t *seed, const char *context, const char *message, size_t bytes,
                   struct secret *out_secret)
{
    crypto_generichash_state state;

    /* No call fails: all lengths are within the bounds of BLAKE2b. */
    (void)crypto_generichash_init(&state, NULL, 0, sizeof(out_secret->id));
    hash_string(&state, "hearsay web id v1");
    (void)crypto_generichash_update(&state, seed, SECRET_SEED_BYTES);
    hash_string(&state, context);
    (void)crypto_generichash_update(&state, (const unsigned char *)message, bytes);
    (void)crypto_generichash_final(&state, out_secret->id, sizeof(out_secret->id));

    (void)crypto_generichash_init(&state, NULL, 0, sizeof(out_secret->code));
    hash_string(&state, "hearsay web code v1");
    (void)crypto_generichash_update(&state, seed, SECRET_SEED_BYTES);
    (void)crypto_generichash_update(&state, out_secret->id, sizeof(out_secret->id));
    (void)crypto_generichash_final(&state, out_secret->code, sizeof(out_secret->code));
    secret_token(out_secret->code, out_secret->token);
}

void secret_token(const uint8_t *code, uint8_t *out_token)
{
    static const char label[] = "hearsay web withdraw v1";
    uint8_t text[sizeof(label) - 1 + SECRET_CODE_BYTES];

    memcpy(text, label, sizeof(label) - 1);
    memcpy(text + sizeof(label) - 1, code, SECRET_CODE_BYTES);
    hearsay_hash(text, sizeof(text), out_token);
}

void secret_write_code(const uint8_t *code, char *out_text)
{
    for (size_t i = 0; i < CODE_CHARACTERS; i++) {
        unsigned value = 0;

        for (size_t bit = i * CHARACTER_BITS; bit < (i + 1) * CHARACTER_BITS; bit++) {
            size_t byte = bit / 8;

            value = value << 1 |
                    (byte < SECRET_CODE_BYTES ? (unsigned)(code[byte] >> (7 - bit % 8)) & 1 : 0);
        }
        out_text[i] = alphabet[value];
    }
    out_text[CODE_CHARACTERS] = '\0';
}

/* The value of a character; -1: none. Digits that look like letters are read as these. */
static int character_value(char c)
{
    if (c >= 'a' && c <= 'z') {
        return c - 'a';
    }
    if (c >= 'A' && c <= 'Z') {
        return c - 'A';
    }
    if (c >= '2' && c <= '7') {
        return c - '2' + 26;
    }
    return c == '0' ? 'O' - 'A' : c == '1' ? 'I' - 'A' : -1;
}

bool secret_read_code(const char *text, uint8_t *out_code)
{
    uint8_t code[SECRET_CODE_BYTES] = {0};
    size_t bit = 0;

    for (; *text != '\0'; text++) {
        int value = character_value(*text);

        if (strchr(" -\r\n", *text) != NULL) {
            continue;
        }
        if (value < 0 || bit == (size_t)CODE_CHARACTERS * CHARACTER_BITS) {
            return false;
        }
        for (int i = CHARACTER_BITS - 1; i >= 0; i--, bit++) {
            if ((value >> i & 1) != 0 && bit / 8 < sizeof(code)) {
                code[bit / 8] |= (uint8_t)(0x80u >> bit % 8);
            }
        }
    }
    if (bit != (size_t)CODE_CHARACTERS * CHARACTER_BITS) {
        return false;
    }
    memcpy(out_code, code, sizeof(code));
    return true;
}
