/* SPDX-License-Identifier: Apache-2.0 */
/* reason: writes the sentence that tells an operator why a function has failed. */
#pragma once

enum { REASON_BYTES = 4096 + 1024 /* a file name and a sentence */ };

/* Writes a sentence, formatted as by printf, to out_reason (REASON_BYTES). Returns -ERR_SYSTEM. */
int reason_set(char *out_reason, const char *format, ...) __attribute__((format(printf, 2, 3)));
