/* SPDX-License-Identifier: Apache-2.0 */
/* store_error: result codes of SQLite as sentences. */
#ifndef DAEMON_STORE_ERROR_H
#define DAEMON_STORE_ERROR_H

/* A sentence for a client and the log. Static storage. */
const char *store_error_reason(int rc);

/*
 * Converts an SQLite result code into a negative ERR_ code. Writes a sentence for the operator into
 * out_reason (PERSIST_REASON_BYTES); the sentence says what to do. `detail` is an error text of
 * SQLite or of a check. `detail` may be NULL, and may point into out_reason.
 */
int store_error_refuse(const char *path, int rc, const char *detail, char *out_reason);

#endif
