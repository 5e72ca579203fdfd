/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resume: why sessions were dropped that could not be told, remembered for a while under their
 * tokens, so that they learn it when they come again. Bounded: the oldest reason goes first.
 */
#ifndef DAEMON_LIMITS_RESUME_H
#define DAEMON_LIMITS_RESUME_H

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
    enum msg_error_code code;
    char sentence[RESUME_SENTENCE_BYTES];
};

/* All zero: empty. */
struct resume {
    struct resume_reason reasons[RESUME_REASONS];
    uint32_t next; /* the oldest, which is overwritten */
};

/* Remembers a reason; the sentence is copied, and cut if it is long. */
void resume_note(struct resume *resume, const uint8_t *token, enum msg_error_code code,
                 const char *sentence, int64_t monotonic_ms);

/* Whether there is a reason for the token that a client sent; told once. */
bool resume_take(struct resume *resume, const struct msg_bytes *token, int64_t monotonic_ms,
                 struct msg_error *out_error);

#endif
