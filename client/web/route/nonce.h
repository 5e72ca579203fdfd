/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nonce: tokens of forms. A token shows that this program has written the form for this address,
 * not long ago. So no other page can make a browser send the form. Nothing is stored: a token is
 * the keyed hash of the address and of the hour.
 */
#pragma once

#include "client/web/http.h"

enum { NONCE_KEY_BYTES = 32, NONCE_TEXT_BYTES = 33 };

struct nonce {
    uint8_t key[NONCE_KEY_BYTES]; /* secret */
};

/* Makes a random key. */
void nonce_init(struct nonce *nonce);

/*
 * Writes the token of an address as 32 hexadecimal digits and a NUL. `now_ms` is a monotonic clock
 * in milliseconds, at least 0. The token is right for 2 to 3 hours.
 */
void nonce_write(const struct nonce *nonce, const struct http_address *client, int64_t now_ms,
                 char *out_text);

/* Writes a key of an address, in the same form. No token is one. */
void nonce_write_key(const struct nonce *nonce, const struct http_address *client, char *out_text);

/* Whether a text is a token of this address that is right now. */
bool nonce_check(const struct nonce *nonce, const struct http_address *client, const char *text,
                 int64_t now_ms);
