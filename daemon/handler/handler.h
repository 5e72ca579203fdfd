/* SPDX-License-Identifier: Apache-2.0 */
/*
 * handler: what each request does. A session passes a decoded request in. The handler acts on the
 * service and answers through the requester's events, at once or after the store has done its part.
 * There are no sockets, no loop and no encoded bytes here. One file a request; handler.c has the
 * table of all. On the loop thread.
 */
#ifndef DAEMON_HANDLER_HANDLER_H
#define DAEMON_HANDLER_HANDLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/host/requester.h"
#include "daemon/host/service.h"
#include "proto/msg.h"

/*
 * Makes a service that can take requests: service_new with its watches. Outcomes, reason and rules
 * are those of service_new. handler_close frees both; NULL is fine.
 */
int handler_open(const struct service_options *options, struct service **out_service,
                 char *out_reason);
void handler_close(struct service *service);

/* Handles a request other than Hello. Answers it once, now or later. */
void handler_handle(struct service *service, struct requester *client,
                    const struct msg_request *request);

/* Whether deposits that wait hold too much memory: then clients have to wait with requests. */
bool handler_is_congested(const struct service *service);

/* Answers Hello. False: client and server have no version in common; an error was sent, and the
 * session has to end. */
bool handler_welcome(struct service *service, struct requester *client,
                     const struct msg_request *request);

/* Pushes a host's new epoch to a client that has been greeted. */
void handler_push_epoch(struct requester *client, const struct host *host);

/*
 * Continues searches that did not end at once, round robin by sender. Does steps of 16,384 work
 * units (see index_search_step) until `budget` is used up; a smaller budget does nothing. After
 * until_ns of service_monotonic_ns it begins no other step. Returns whether searches are left.
 */
bool handler_run_searches(struct service *service, uint64_t budget, uint64_t until_ns);

/* Searches that take turns, and searches that wait to begin. O(n) */
size_t handler_searches_under_way(const struct service *service);
size_t handler_searches_waiting(const struct service *service);

#endif
