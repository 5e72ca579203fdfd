/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan: looks through all messages of a host in a stream, and has those overwritten that a newer
 * message of the same subject supersedes: what was superseded while no bridge of a reader ran.
 * Asks for as many messages as erase has room for.
 */
#ifndef CLIENT_BRIDGE_HUB_SCAN_H
#define CLIENT_BRIDGE_HUB_SCAN_H

#include "client/bridge/hub/erase.h"
#include "client/bridge/hub/follow.h"

struct scan;

/* All is borrowed but the texts of `source`. 0, or -ERR_NOMEM. */
int scan_new(uv_loop_t *loop, struct wire *wire, struct erase *erase,
             const struct follow_source *source, struct scan **out_scan);

/* Begins, also if a scan is under way. The hub must be there. */
void scan_begin(struct scan *scan);
void scan_go(struct scan *scan); /* erase has room again */
void scan_parted(struct scan *scan);

/* Closes the handles; scan_free may be called at once. NULL is fine. */
void scan_stop(struct scan *scan);
void scan_free(struct scan *scan);

#endif
