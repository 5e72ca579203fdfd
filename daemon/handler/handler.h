/* SPDX-License-Identifier: Apache-2.0 */
/*
 * handler: executes requests. A session decodes a request and passes the request to handler_handle.
 * The handler changes or reads the service. The answer goes through the requester's events, either
 * at once or when the store has finished. Handlers have no sockets, no loop and no encoded bytes.
 * Each request has a file; handler.c has the table of all requests. All functions are called on the
 * loop thread.
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
 * handler_open makes a service and its watches. Its results and reasons are those of service_new.
 * handler_close frees the service and its watches; `service` may be NULL.
 */
int handler_open(const struct service_options *options, struct service **out_service,
                 char *out_reason);
void handler_close(struct service *service);

/* Executes any request but Hello. Each request gets one answer, at once or later. */
void handler_handle(struct service *service, struct requester *client,
                    const struct msg_request *request);

/*
 * Whether deposits that wait for the store or for matching hold too much memory. If so, sessions
 * read no more requests.
 */
bool handler_is_congested(const struct service *service);

/*
 * Answers Hello. Returns false if client and server have no protocol version in common. Then an
 * error was sent, and the session has to end.
 */
bool handler_welcome(struct service *service, struct requester *client,
                     const struct msg_request *request);

/* Pushes a host's new epoch to a client that has sent Hello. */
void handler_push_epoch(struct requester *client, const struct host *host);

/*
 * Continues the searches that did not end at once, round robin by sender. A step has 16,384 work
 * units (index_search_step). Runs steps until `budget` units are used up; a budget below one step
 * does nothing. Begins no step after `until_ns` (service_monotonic_ns). Returns whether unfinished
 * searches are left.
 */
bool handler_run_searches(struct service *service, uint64_t budget, uint64_t until_ns);

/* The number of searches that run in turns, and of searches that wait to begin. O(searches) */
size_t handler_searches_under_way(const struct service *service);
size_t handler_searches_waiting(const struct service *service);

#endif
