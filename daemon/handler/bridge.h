/* SPDX-License-Identifier: Apache-2.0 */
/* bridge: the handlers of requests about copies of a host, in the folder bridge/. */
#ifndef DAEMON_HANDLER_BRIDGE_H
#define DAEMON_HANDLER_BRIDGE_H

#include "daemon/handler/ask.h"

void handler_changes(struct ask *ask);
void handler_apply(struct ask *ask);

#endif
