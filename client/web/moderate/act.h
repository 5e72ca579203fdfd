/* SPDX-License-Identifier: Apache-2.0 */
/* act: does in hearsayd what was pressed on the moderators' page. Any thread. */
#ifndef CLIENT_WEB_MODERATE_ACT_H
#define CLIENT_WEB_MODERATE_ACT_H

#include "client/web/moderate/page.h"

enum { ACT_CALL_MS = 3000 }; /* for each answer of hearsayd */

/* Does what was pressed, if it is something for hearsayd. Returns what is said about it. `host` may
 * be "". The notice may borrow from *error. */
struct desk_notice act_do(const struct desk *desk, const struct desk_act *act, const char *host,
                          struct hearsay *server, struct hearsay_error *error);

/* What is said about an error of hearsayd. The notice borrows from *error. */
struct desk_notice act_notice(const struct hearsay_error *error);

#endif
