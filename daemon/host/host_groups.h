/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_groups: the groups of a host's messages in epoch 0 (core/summary/groups.h), which a bridge
 * tells the other servers of the hood. A host has groups from the first time that a bridge asks for
 * them. The groups are made in slices from the index, and anew when half of their messages have
 * gone. All functions are called on the loop thread.
 */
#ifndef DAEMON_HOST_HOST_GROUPS_H
#define DAEMON_HOST_HOST_GROUPS_H

#include "daemon/host/service.h"

struct groups;

enum { HOST_GROUPS_LATER = 1 };

/*
 * From now on the host has groups, as many as its configuration says. Returns 0 if host->groups
 * has every message, HOST_GROUPS_LATER if the groups are being made, -ERR_NOMEM.
 */
int host_groups_want(struct host *host);

/* Returns the groups, which have every message. NULL: there are none yet. */
const struct groups *host_groups_now(const struct host *host);

/* A message of epoch 0 has come, or has gone. */
void host_groups_add(struct host *host, const uint64_t *filter, int64_t deposited_ms);
void host_groups_remove(struct host *host);

/* Adds `by_ms` to the times of messages, as index_shift does. */
void host_groups_shift(struct host *host, int64_t from_ms, int64_t by_ms);

/* Makes groups for a while. Call in each turn. Returns whether the next turn has more to do. */
bool host_groups_turn(struct service *service);

void host_groups_deinit(struct host *host);

#endif
