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
 * Loads the epochs that the store has and that are not over, and begins a current one if the
 * configuration wants epochs. 0, or negative with a reason. Blocks; at the start only, before the
 * messages are loaded.
 */
int epochs_load(struct service *service, char *out_reason);

/* Call every second: ends epochs that are over, and begins those that are due. */
void epochs_tick(struct service *service);

/* Frees a host's change of epochs. No operation of it may be under way. */
void epochs_deinit(struct host *host);

#endif
