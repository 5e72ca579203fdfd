/* SPDX-License-Identifier: Apache-2.0 */
/* user: the user that the program is while it serves, which is never root. */
#pragma once

#include "client/web/setup/config.h"

/*
 * Checks for --check-config that the user of the key `user` exists and can be told from root and
 * from others. Returns 0, also if the key is not set; or SETTINGS_REFUSED with a sentence in
 * out_reason (SETTINGS_REASON_BYTES).
 */
int user_check(const struct web_config *config, char *out_reason);

/*
 * Becomes the user of the key `user` for good, if it is set. Call this function before anything is
 * read that may be shown to guests. Returns 0; or, with a sentence in out_reason
 * (SETTINGS_REASON_BYTES), SETTINGS_REFUSED if the process would stay root or may not become the
 * user, or -ERR_SYSTEM if the system did not let it: then the process must end.
 */
int user_become(const struct web_config *config, char *out_reason);
