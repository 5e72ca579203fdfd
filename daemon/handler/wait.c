/* SPDX-License-Identifier: Apache-2.0 */
/* Wait: answered when a message is newly reported, or waits for review. */
#include "daemon/watch/wait.h"

#include "daemon/handler/inner.h"

void handler_wait(struct ask *ask)
{
    if (!ask_administers(ask)) {
        return;
    }
    if (wait_begin(ask->service, ask->client, ask->host, ask->request->id) != 0) {
        ask_refuse(ask, MSG_QUOTA, "wait",
                   "a connection has one wait at a time, and all together have 16");
    }
}
