/* SPDX-License-Identifier: Apache-2.0 */
/* letter: turns letters between bridges into bytes, and bytes into letters; as codec.h. */
#pragma once

#include "proto/codec/codec.h"
#include "proto/letter.h"

enum { LETTER_BYTES_MAX = 1000 * 1000 /* NATS takes 1 MiB with the headers */ };

/*
 * Reads a letter. *out borrows from the arena until the arena is reset. 0; CODEC_MALFORMED or
 * CODEC_INVALID with *out_error filled; or -ERR_NOMEM. A letter of another version is INVALID.
 */
int letter_decode(const uint8_t *bytes, size_t length, struct arena *arena, struct msg_letter *out,
                  struct msg_error *out_error);

/* Appends a letter to `out`. 0; -ERR_NOMEM; or CODEC_TOO_LARGE where it would have more than
 * LETTER_BYTES_MAX, and out->count is unchanged. */
int letter_encode(const struct msg_letter *letter, struct bytes *out);
