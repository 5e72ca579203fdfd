/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/limits/resume.h"

#include <stdio.h>
#include <string.h>

#include <sodium.h>

void resume_note(struct resume *resume, const uint8_t *token, enum hearsay_code code,
                 const char *sentence, int64_t monotonic_ms)
{
    struct resume_reason *reason = &resume->reasons[resume->next];

    resume->next = (resume->next + 1) % RESUME_REASONS;
    reason->is_set = true;
    memcpy(reason->token, token, RESUME_TOKEN_BYTES);
    reason->since_ms = monotonic_ms;
    reason->code = code;
    (void)snprintf(reason->sentence, sizeof(reason->sentence), "%s", sentence); /* cut: fine */
}

bool resume_take(struct resume *resume, const struct hearsay_bytes *token, int64_t monotonic_ms,
                 struct msg_error *out_error)
{
    if (token->count != RESUME_TOKEN_BYTES) {
        return false;
    }
    for (uint32_t i = 0; i < RESUME_REASONS; i++) {
        struct resume_reason *reason = &resume->reasons[i];

        if (!reason->is_set || sodium_memcmp(reason->token, token->data, RESUME_TOKEN_BYTES) != 0) {
            continue;
        }
        reason->is_set = false;
        if (monotonic_ms - reason->since_ms >= RESUME_PATIENCE_MS) {
            return false;
        }
        msg_error_set(out_error, reason->code, NULL, "%s", reason->sentence);
        return true;
    }
    return false;
}
