/* SPDX-License-Identifier: Apache-2.0 */
/* store_error: result codes of SQLite as sentences. */
#pragma once

/* Returns a sentence for a client and the log, in static storage. */
const char *store_error_reason(int rc);

/*
 * Returns a negative ERR_ code for an SQLite result code that is an error. Writes a sentence for
 * the operator about the database at `path` into out_reason (PERSIST_REASON_BYTES). `detail` is an
 * error text of SQLite or of a check. `detail` may be NULL, and may point into out_reason.
 */
int store_error_refuse(const char *path, int rc, const char *detail, char *out_reason);
