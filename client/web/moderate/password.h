/* SPDX-License-Identifier: Apache-2.0 */
/* password: `hearsay-web --set-password`. */
#pragma once

enum { PASSWORD_BYTES_MIN = 8, PASSWORD_BYTES_MAX = 128 };

/*
 * Asks for a password, twice on a terminal, else one line of stdin, and writes its hash into the
 * file of the moderators' page. The file is replaced whole, with owner and mode of before. 0; or
 * SETTINGS_REFUSED or -ERR_... with a line for each error in out_reason (SETTINGS_REASON_BYTES),
 * and the file is as it was.
 */
int password_set(const char *file, char *out_reason);
