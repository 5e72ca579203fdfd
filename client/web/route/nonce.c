/* SPDX-License-Identifier: Apache-2.0 */
#include "client/web/route/nonce.h"

#include <string.h>

#include <sodium.h>

enum {
    HOUR_MS = 3600 * 1000,
    HOURS_RIGHT = 3, /* this hour and the two before */
    HOUR_OF_KEY = -1,
    HASH_BYTES = 16
};

void nonce_init(struct nonce *nonce)
{
    randombytes_buf(nonce->key, sizeof(nonce->key));
}

static void write_hour(const struct nonce *nonce, const struct http_address *client, int64_t hour,
                       char *out_text)
{
    uint8_t text[1 + sizeof(client->bytes) + 8] = {client->family};
    uint8_t hash[HASH_BYTES];

    memcpy(text + 1, client->bytes, client->family == 4 ? 4 : sizeof(client->bytes));
    for (int i = 0; i < 8; i++) {
        text[sizeof(text) - 8 + (size_t)i] = (uint8_t)((uint64_t)hour >> (8 * i));
    }
    /* Cannot fail: all lengths are within the bounds of BLAKE2b. */
    (void)crypto_generichash(hash, sizeof(hash), text, sizeof(text), nonce->key,
                             sizeof(nonce->key));
    (void)sodium_bin2hex(out_text, NONCE_TEXT_BYTES, hash, sizeof(hash));
}

void nonce_write(const struct nonce *nonce, const struct http_address *client, int64_t now_ms,
                 char *out_text)
{
    write_hour(nonce, client, now_ms / HOUR_MS, out_text);
}

void nonce_write_key(const struct nonce *nonce, const struct http_address *client, char *out_text)
{
    write_hour(nonce, client, HOUR_OF_KEY, out_text);
}

bool nonce_check(const struct nonce *nonce, const struct http_address *client, const char *text,
                 int64_t now_ms)
{
    char right[NONCE_TEXT_BYTES];

    if (strlen(text) != NONCE_TEXT_BYTES - 1) {
        return false;
    }
    for (int64_t age = 0; age < HOURS_RIGHT && age <= now_ms / HOUR_MS; age++) {
        write_hour(nonce, client, now_ms / HOUR_MS - age, right);
        if (sodium_memcmp(right, text, NONCE_TEXT_BYTES - 1) == 0) {
            return true;
        }
    }
    return false;
}
