/* SPDX-License-Identifier: Apache-2.0 */
/*
 * epochs: begins and ends the epochs of the hosts. An epoch becomes the current one only after the
 * store has stored it, so that messages of this epoch are found after a restart. When the time
 * kept_ms of an epoch has come, requests cannot name the epoch any more. epochs_tick then wipes its
 * key from memory. A later sweep deletes the epoch and its key from the store. The messages of the
 * epoch expire at kept_ms at the latest, and sweeps delete them, too.
 *
 * All times are measured by the host's clock. While hearsayd runs, this clock never runs backwards,
 * so an epoch that is over does not come back.
 */
#ifndef DAEMON_HOST_EPOCHS_H
#define DAEMON_HOST_EPOCHS_H

#include "daemon/host/service.h"

/*
 * Loads the stored epochs that are not over. Begins an epoch for each host that is configured to
 * have epochs and has no current epoch, or one whose time has ended, unless the host has
 * HOST_EPOCHS_MAX epochs. Returns 0, or a negative error with a reason. Blocks. Call once at the
 * start, before the messages are loaded.
 */
int epochs_load(struct service *service, char *out_reason);

/* Ends epochs whose time is over, and begins new ones. Call about once a second. */
void epochs_tick(struct service *service);

/*
 * Frees host->change, a change of the host's epochs that the store has not stored yet, if there is
 * one. The store must not be working on the operation of this change.
 */
void epochs_deinit(struct host *host);

#endif
