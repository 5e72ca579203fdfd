/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inner: the handlers in the table of handler.c. Each handler sends one answer to its request,
 * immediately or later.
 */
#ifndef DAEMON_HANDLER_INNER_H
#define DAEMON_HANDLER_INNER_H

#include "daemon/handler/ask.h"

void handler_deposit(struct ask *ask);
void handler_withdraw(struct ask *ask);
void handler_query(struct ask *ask);
void handler_get(struct ask *ask);
void handler_export(struct ask *ask);
void handler_here(struct ask *ask);
void handler_summary(struct ask *ask);
void handler_watch(struct ask *ask);
void handler_unwatch(struct ask *ask);
void handler_report(struct ask *ask);
void handler_remove(struct ask *ask);
void handler_restore(struct ask *ask);
void handler_reported(struct ask *ask);
void handler_ban(struct ask *ask);
void handler_unban(struct ask *ask);
void handler_bans(struct ask *ask);
void handler_accept(struct ask *ask);
void handler_check(struct ask *ask);
void handler_backup(struct ask *ask);
void handler_compact(struct ask *ask);
void handler_stats(struct ask *ask);
void handler_reload(struct ask *ask);
void handler_log_level(struct ask *ask);

/*
 * Adds the client's here labels to each host of Welcome; `hosts` has service->host_count elements
 * in order. A host whose labels do not fit the rest of the frame gets no labels, and the next host
 * is tried. The labels are in service->arena.
 */
void handler_here_welcome(struct service *service, const struct requester *client,
                          struct msg_host *hosts);

#endif
