/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keyed_hash: hashes for tables in memory of what clients choose. They are SipHash-2-4 with a
 * secret key, so that a client cannot choose entries whose hashes collide.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { KEYED_HASH_KEY_BYTES = 16 };

/* Draws a random key. */
void keyed_hash_draw(uint8_t out_key[KEYED_HASH_KEY_BYTES]);

/* The hash of `count` bytes. It is for memory only: it depends on the machine's order of bytes. */
uint64_t keyed_hash(const uint8_t key[KEYED_HASH_KEY_BYTES], const void *bytes, size_t count);
