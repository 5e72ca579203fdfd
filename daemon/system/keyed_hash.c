/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/system/keyed_hash.h"

#include <string.h>

#include <sodium.h>

_Static_assert(KEYED_HASH_KEY_BYTES == crypto_shorthash_KEYBYTES, "the key is SipHash's");
_Static_assert(crypto_shorthash_BYTES == sizeof(uint64_t), "the hash is SipHash's");

void keyed_hash_draw(uint8_t out_key[KEYED_HASH_KEY_BYTES])
{
    crypto_shorthash_keygen(out_key);
}

uint64_t keyed_hash(const uint8_t key[KEYED_HASH_KEY_BYTES], const void *bytes, size_t count)
{
    uint8_t digest[crypto_shorthash_BYTES];
    uint64_t hash;

    (void)crypto_shorthash(digest, bytes, count, key); /* cannot fail */
    memcpy(&hash, digest, sizeof(hash));
    return hash;
}
