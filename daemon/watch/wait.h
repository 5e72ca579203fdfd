/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait: the requests Wait, which are answered when a message of a host is new for the operator. A
 * message is new from its first report, or its deposit for review, until an answer counts it. After
 * a start all messages about which the operator has not decided are new.
 */
#ifndef DAEMON_WATCH_WAIT_H
#define DAEMON_WATCH_WAIT_H

#include "daemon/host/requester.h"
#include "daemon/host/service.h"

/*
 * Begins a request Wait with the number `id`, and answers it at once if a message is new already.
 * Returns 0. Returns WAIT_FULL if the client, or all clients together, have too many.
 */
enum { WAIT_FULL = 1 };
int wait_begin(struct service *service, struct requester *client, struct host *host, uint64_t id);

/* Answers all requests Wait of the host if a message is new. O(1) if none is. */
void wait_tell(struct service *service, struct host *host);

/* Ends the client's request Wait, if there is one, without an answer. */
void wait_end(struct service *service, struct requester *client);

#endif
