/* SPDX-License-Identifier: Apache-2.0 */
/*
 * handler: executes requests. A session decodes a request and calls handler_handle, or
 * handler_welcome for the first Hello. The handler reads or changes the service. The answer goes
 * through the requester's events, at once or later. Handlers have no sockets and no loop. handler.c
 * has the table of all requests. All functions of this header are called on the loop thread.
 */
#pragma once

#include "daemon/host/requester.h"
#include "daemon/host/service.h"
#include "proto/msg.h"

/*
 * handler_open makes a service and its watches. Returns 0, CONFIG_REFUSED or a negative error. On
 * failure out_reason (CONFIG_REASON_BYTES) has the reason. handler_close frees the service and its
 * watches; `service` may be NULL.
 */
int handler_open(const struct service_options *options, struct service **out_service,
                 char *out_reason);
void handler_close(struct service *service);

/*
 * Executes a request of a client that was sent Welcome, and answers the request at once or later. A
 * client that has disconnected gets no answer.
 */
void handler_handle(struct service *service, struct requester *client,
                    const struct hearsay_request *request);

/*
 * Whether sessions of the client take no more requests for now: because the clock is set, because
 * more than 8 MiB of messages wait to be matched with watches, or because operations wait for the
 * store. The latter stops only clients of a sender that has such an operation itself, while all of
 * them hold more than 64 KiB of memory. So on slow storage the operations of senders take turns,
 * and whoever only reads goes on. A client without limits may wait with 8 MiB, because an import is
 * fast only if much is stored at a time.
 */
bool handler_is_congested(const struct service *service, const struct requester *client);

/*
 * Answers Hello with Welcome and returns true. If client and server have no protocol version in
 * common, sends an error and returns false: the session has to end.
 */
bool handler_welcome(struct service *service, struct requester *client,
                     const struct hearsay_request *request);

/*
 * Pushes the current epoch of a host to a client that was sent Welcome. The host must have a
 * current epoch.
 */
void handler_push_epoch(struct requester *client, const struct host *host);

/* Pushes to a client which deposits the host accepts now. */
void handler_push_accept(struct requester *client, const struct host *host, int64_t now_ms);

/* Pushes the notices of a host to a client. */
void handler_push_notices(struct requester *client, const struct host *host);

/*
 * Continues the searches that take turns, round robin by sender. Each step takes 4,096 off
 * `budget`. Runs steps until no search takes turns, `budget` is below 4,096, or `most_ns` or more
 * have passed after a step. Returns whether searches are left that take turns or wait to begin.
 */
bool handler_run_searches(struct service *service, uint64_t budget, uint64_t most_ns);

/* Answers queries that have waited for a bridge long enough, and sends queries to bridges
 * (watch/asks.h). Call in each turn. */
void handler_turn_asks(struct service *service);

/*
 * handler_searches_under_way returns the number of searches that take turns.
 * handler_searches_waiting returns the number of searches that wait to begin. O(searches)
 */
size_t handler_searches_under_way(const struct service *service);
size_t handler_searches_waiting(const struct service *service);
