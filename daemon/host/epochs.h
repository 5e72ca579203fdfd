/* SPDX-License-Identifier: Apache-2.0 */
/*
 * epochs: when epochs of the hosts begin and end. An epoch is the current one only when the store
 * has it, so that what was deposited in it can be found after a restart; one whose keeping is over
 * is out of reach at once, its key is wiped here and its row goes with the next sweep of the store,
 * like the messages.
 *
 * By the host's clock, which never runs backwards: no epoch begins twice, and none comes back.
 */
#ifndef DAEMON_HOST_EPOCHS_H
#define DAEMON_HOST_EPOCHS_H

#include "daemon/host/service.h"

/*
 * The epochs that the store has and that are still kept, and a current one where the configuration
 * wants some. 0, or negative with a reason. Blocks; for start-up, before messages are loaded.
 */
int epochs_load(struct service *service, char *out_reason);

/* To be called every second: ends what is over and begins what is due. */
void epochs_tick(struct service *service);

/* Frees what is under way for a host; the store has let go of it. */
void epochs_deinit(struct service *service, struct host *host);

#endif
