/* SPDX-License-Identifier: Apache-2.0 */
/*
 * handler: what a request means. Takes a decoded request, acts on the service, answers at once or
 * when the storage has spoken. Knows nothing of sockets, loops or bytes.
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

/* Acts on a request other than Hello. */
void handler_handle(struct service *service, struct requester *client,
                    const struct msg_request *request);

/* Whether deposits that wait hold too much memory: then clients have to wait with requests. */
bool handler_is_congested(const struct service *service);

/* Answers Hello; false when no version is common: an error was sent, and the connection ends. */
bool handler_welcome(struct service *service, struct requester *client,
                     const struct msg_request *request);

/* Tells a greeted client that a host has a new epoch. */
void handler_push_epoch(struct requester *client, const struct host *host);

/*
 * Whether the client's sender may send this request now; otherwise it was answered with
 * RATE_LIMITED. Takes what the request costs.
 */
bool handler_admit(struct service *service, struct requester *client,
                   const struct msg_request *request);

/* Whether a deposit or report brings the proof of work that is asked for; otherwise it was refused.
 */
bool handler_check_work(const struct service *service, struct requester *client,
                        const struct msg_request *request, const struct host *host);

/* The requests, one file each; called by handler_handle. */
void handler_deposit(struct service *service, struct requester *client,
                     const struct msg_request *request);
void handler_withdraw(struct service *service, struct requester *client,
                      const struct msg_request *request);
void handler_query(struct service *service, struct requester *client,
                   const struct msg_request *request);
void handler_get(struct service *service, struct requester *client,
                 const struct msg_request *request);
void handler_export(struct service *service, struct requester *client,
                    const struct msg_request *request);
void handler_here(struct service *service, struct requester *client,
                  const struct msg_request *request);
void handler_summary(struct service *service, struct requester *client,
                     const struct msg_request *request);
void handler_watch(struct service *service, struct requester *client,
                   const struct msg_request *request);
void handler_unwatch(struct service *service, struct requester *client,
                     const struct msg_request *request);

void handler_report(struct service *service, struct requester *client,
                    const struct msg_request *request);
void handler_remove(struct service *service, struct requester *client,
                    const struct msg_request *request);
void handler_restore(struct service *service, struct requester *client,
                     const struct msg_request *request);
void handler_ban(struct service *service, struct requester *client,
                 const struct msg_request *request);
void handler_unban(struct service *service, struct requester *client,
                   const struct msg_request *request);
void handler_bans(struct service *service, struct requester *client,
                  const struct msg_request *request);
void handler_accept(struct service *service, struct requester *client,
                    const struct msg_request *request);
void handler_reported(struct service *service, struct requester *client,
                      const struct msg_request *request);
void handler_check(struct service *service, struct requester *client,
                   const struct msg_request *request);
void handler_backup(struct service *service, struct requester *client,
                    const struct msg_request *request);
void handler_compact(struct service *service, struct requester *client,
                     const struct msg_request *request);
void handler_stats(struct service *service, struct requester *client,
                   const struct msg_request *request);
void handler_reload(struct service *service, struct requester *client,
                    const struct msg_request *request);
void handler_log_level(struct service *service, struct requester *client,
                       const struct msg_request *request);

/* Puts the here labels into Welcome's hosts (host_count of them), host by host as they fit. */
void handler_here_welcome(const struct service *service, struct msg_host *hosts);

/*
 * Goes on with searches that did not end at once, round robin by sender: does about `budget` work
 * in all (see index_search_step), in steps of 16,384 (less does nothing), and begins no step after
 * until_ns of service_monotonic_ns but the first. Returns whether some are still under way.
 */
bool handler_run_searches(struct service *service, uint64_t budget, uint64_t until_ns);

/* Searches of several steps: those that take turns, and those that wait to begin. O(n) */
size_t handler_searches_under_way(const struct service *service);
size_t handler_searches_waiting(const struct service *service);

/*
 * Whether the operator lets the host take this deposit now, and in which state it begins; answers
 * when not.
 */
bool handler_takes_deposit(struct service *service, struct requester *client,
                           const struct msg_request *request, const struct host *host,
                           enum persist_state *out_state);

/* Checks shared by the requests; each answers with an error itself and returns NULL or false. */
bool handler_is_administrator(struct requester *client, const struct msg_request *request);
struct host *handler_host(struct service *service, struct requester *client,
                          const struct msg_request *request, const struct msg_text *name);
struct epoch *handler_epoch(struct service *service, struct requester *client,
                            const struct msg_request *request, const struct host *host,
                            uint64_t number, const char *field);
bool handler_filter(struct service *service, struct requester *client,
                    const struct msg_request *request, const struct host *host,
                    const struct msg_bytes *bytes, const char *field, uint64_t *out_words);
bool handler_fill(struct requester *client, const struct msg_request *request,
                  const struct host *host, const uint64_t *filter, const char *field,
                  uint32_t minimum_ppm, uint32_t maximum_ppm);

#endif
