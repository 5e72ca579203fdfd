/* SPDX-License-Identifier: Apache-2.0 */
/* store_error: result codes of SQLite as sentences. */
#ifndef DAEMON_STORE_ERROR_H
#define DAEMON_STORE_ERROR_H

/* A sentence for a client and the log. Static storage. */
const char *store_error_reason(int rc);

/*
 * The negative ERR_ of an SQLite result, with a sentence for the operator in out_reason
 * (PERSIST_REASON_BYTES) that says what to do. `detail` is the text of SQLite or of a check; it may
 * be NULL, and may lie in out_reason.
 */
int store_error_refuse(const char *path, int rc, const char *detail, char *out_reason);

#endif
