/* SPDX-License-Identifier: Apache-2.0 */
/* inner: the handlers in the table of handler.c that other files define. */
#ifndef DAEMON_HANDLER_INNER_H
#define DAEMON_HANDLER_INNER_H

#include "daemon/handler/ask.h"

void handler_deposit(struct ask *ask);
void handler_withdraw(struct ask *ask);
void handler_query(struct ask *ask);
void handler_serve(struct ask *ask);
void handler_answered(struct ask *ask);
void handler_get(struct ask *ask);
void handler_export(struct ask *ask);
void handler_here(struct ask *ask);
void handler_summary(struct ask *ask);
void handler_watch(struct ask *ask);
void handler_unwatch(struct ask *ask);
void handler_report(struct ask *ask);
void handler_remove(struct ask *ask);
void handler_restore(struct ask *ask);
void handler_hide(struct ask *ask);
void handler_decisions(struct ask *ask);
void handler_wait(struct ask *ask);
void handler_reported(struct ask *ask);
void handler_ban(struct ask *ask);
void handler_unban(struct ask *ask);
void handler_bans(struct ask *ask);
void handler_accept(struct ask *ask);
void handler_notice(struct ask *ask);
void handler_check(struct ask *ask);
void handler_backup(struct ask *ask);
void handler_compact(struct ask *ask);
void handler_stats(struct ask *ask);
void handler_reload(struct ask *ask);
void handler_log_level(struct ask *ask);

/*
 * Fills `out`, which has LIMIT_NOTICES elements, with the notices of a host. Returns their number.
 * Their texts are borrowed from `rules`.
 */
size_t handler_fill_notices(const struct rules *rules, struct hearsay_house_notice *out);

/*
 * Whether the filter of a deposit, which has been checked, lacks bits of the here labels of its
 * client. The answer is false for an epoch with a key, where the daemon would have to key the
 * labels first.
 */
bool handler_lacks_here(const struct ask *ask);

/*
 * Adds here labels for the client's address to the hosts of Welcome. `hosts` has
 * service->host_count elements, in the order of service->hosts. A host gets no labels if they do
 * not fit the rest of the frame, or if memory is short. The labels are borrowed from service->arena
 * and service->hosts.
 */
void handler_here_welcome(struct service *service, const struct requester *client,
                          struct hearsay_host_info *hosts);

#endif
