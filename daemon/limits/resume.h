/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resume: stores why sessions were dropped. A reason is stored under the session's resume token. A
 * client that connects with this token within RESUME_PATIENCE_MS gets the reason, once. The last
 * RESUME_REASONS reasons are stored.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "proto/msg.h"

enum {
    RESUME_TOKEN_BYTES = 16,
    RESUME_SENTENCE_BYTES = 160,
    RESUME_REASONS = 128,
    RESUME_PATIENCE_MS = 15 * 60 * 1000
};

struct resume_reason {
    bool is_set;
    uint8_t token[RESUME_TOKEN_BYTES]; /* random */
    int64_t since_ms;                  /* monotonic */
    enum hearsay_code code;
    char sentence[RESUME_SENTENCE_BYTES];
};

/* All zero: empty. */
struct resume {
    struct resume_reason reasons[RESUME_REASONS];
    uint32_t next; /* the place of the next reason */
};

/* Stores a reason under a token. The sentence is copied, and cut to RESUME_SENTENCE_BYTES with its
 * NUL. */
void resume_note(struct resume *resume, const uint8_t *token, enum hearsay_code code,
                 const char *sentence, int64_t monotonic_ms);

/* Looks up and removes the reason that is stored under a token of a client. Returns true with the
 * reason in *out_error. Returns false if there is none, or if it was stored RESUME_PATIENCE_MS ago
 * or earlier. */
bool resume_take(struct resume *resume, const struct hearsay_bytes *token, int64_t monotonic_ms,
                 struct msg_error *out_error);
