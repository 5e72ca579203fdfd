/* SPDX-License-Identifier: Apache-2.0 */
/* look: what --check-config asks the hearsayd that runs. */
#ifndef CLIENT_WEB_MAIN_LOOK_H
#define CLIENT_WEB_MAIN_LOOK_H

#include "client/web/setup/config.h"

enum { LOOK_MS = 3000 };

/*
 * Compares the configuration with that of the hearsayd at `server`: whether it is a gateway's
 * socket, whether the host is there, and whether the longest text fits; of the moderators' page
 * whether this user may moderate the host. Returns 0, or SETTINGS_REFUSED with a line for each
 * error in out_reason. out_warning gets "", or a sentence: texts of the page are limited by
 * hearsayd, or hearsayd could not be asked, and what was not checked therefore. Both have
 * SETTINGS_REASON_BYTES. Waits for LOOK_MS at most.
 */
int look_at_server(const struct web_config *config, char *out_warning, char *out_reason);

/*
 * Reads the file of `rules` as the program would: a process of root becomes the user of `user` for
 * good, and is refused without a `user`. Returns 0, or another number with a line for each error in
 * out_reason (SETTINGS_REASON_BYTES).
 */
int look_at_rules(struct web_config *config, char *out_reason);

#endif
