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

#include "daemon/host/service.h"
#include "daemon/limits/resume.h"
#include "proto/msg.h"

struct handler_client;

struct handler_client_events {
    /* Sends an answer; what it points to is borrowed for the call. Nothing happens when the client
     * is gone. */
    void (*respond)(struct handler_client *client, const struct msg_response *response);
    /* A piece of work that was under way is over; the last one of a gone client may free it. */
    void (*work_ended)(struct handler_client *client);
    /* Whether a push may be sent now: little waits to be sent. */
    bool (*has_room)(const struct handler_client *client);
    /* So many bytes of pushes are queued besides what waits. False: that is too much, and the
     * client is dropped. */
    bool (*queued)(struct handler_client *client, size_t bytes);
    /* Drops it at once; what was wrong is told when it comes again. */
    void (*drop)(struct handler_client *client, enum msg_error_code code, const char *sentence);
};

/*
 * Who asks, as handlers see it; embedded in a session. It must stay in place while work_count > 0,
 * also when the peer is gone.
 */
struct handler_client {
    const struct handler_client_events *events;
    bool is_local;         /* came over a Unix socket */
    bool is_on_site;       /* came by a listener marked local: is given the keys of epochs */
    bool is_administrator; /* came over a Unix socket, with our user's or root's credentials */
    bool is_gone;          /* nobody reads the answers any more */
    struct sender *sender; /* whose limits count; NULL: none do */
    uint32_t sender_tag;   /* tells senders apart; 0: exempt */
    uint32_t wide_tag;     /* of its /64, where that has bounds of its own; 0: it has none */
    bool is_over_rate;     /* its last request was refused for its sender's rates */
    uint32_t searches;     /* of several steps, under way or waiting: no more requests are taken */
    uint64_t turn;         /* see handler_turn */
    uint32_t work_count;   /* requests taken and not yet answered */
    size_t work_bytes;     /* what they hold in memory, about */
    size_t answer_bytes;   /* what their answers may take of the output, about */
    struct watcher *watcher;                  /* its watches; NULL: it never had one */
    uint8_t resume_token[RESUME_TOKEN_BYTES]; /* random */
};

/* Acts on a request other than Hello. */
void handler_handle(struct service *service, struct handler_client *client,
                    const struct msg_request *request);

/* Answers Hello; false when no version is common: an error was sent, and the connection ends. */
bool handler_welcome(struct service *service, struct handler_client *client,
                     const struct msg_request *request);

/* Tells a greeted client that a host has a new epoch. */
void handler_push_epoch(struct handler_client *client, const struct host *host);

/* Sends an error as the answer to request `id` (0: about the connection). */
void handler_refuse(struct handler_client *client, uint64_t id, enum msg_error_code code,
                    const char *field, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/*
 * Whether the client's sender may send this request now; otherwise it was answered with
 * RATE_LIMITED. Takes what the request costs.
 */
bool handler_admit(struct service *service, struct handler_client *client,
                   const struct msg_request *request);

/* Whether a deposit or report brings the proof of work that is asked for; otherwise it was refused.
 */
bool handler_check_work(const struct service *service, struct handler_client *client,
                        const struct msg_request *request, const struct host *host);

/* An answer without content, or an error. */
enum { HANDLER_ANSWER_BYTES = 256 };

/*
 * Marks the beginning and the end of work that answers later: what it holds in memory until then,
 * and what its answer may take.
 */
void handler_work_begin(struct handler_client *client, size_t bytes, size_t answer_bytes);
void handler_work_end(struct handler_client *client, size_t bytes, size_t answer_bytes);

/* The requests, one file each; called by handler_handle. */
void handler_deposit(struct service *service, struct handler_client *client,
                     const struct msg_request *request);
void handler_withdraw(struct service *service, struct handler_client *client,
                      const struct msg_request *request);
void handler_query(struct service *service, struct handler_client *client,
                   const struct msg_request *request);
void handler_get(struct service *service, struct handler_client *client,
                 const struct msg_request *request);
void handler_export(struct service *service, struct handler_client *client,
                    const struct msg_request *request);
void handler_here(struct service *service, struct handler_client *client,
                  const struct msg_request *request);
void handler_summary(struct service *service, struct handler_client *client,
                     const struct msg_request *request);
void handler_watch(struct service *service, struct handler_client *client,
                   const struct msg_request *request);
void handler_unwatch(struct service *service, struct handler_client *client,
                     const struct msg_request *request);

void handler_report(struct service *service, struct handler_client *client,
                    const struct msg_request *request);
void handler_remove(struct service *service, struct handler_client *client,
                    const struct msg_request *request);
void handler_restore(struct service *service, struct handler_client *client,
                     const struct msg_request *request);
void handler_ban(struct service *service, struct handler_client *client,
                 const struct msg_request *request);
void handler_unban(struct service *service, struct handler_client *client,
                   const struct msg_request *request);
void handler_bans(struct service *service, struct handler_client *client,
                  const struct msg_request *request);
void handler_accept(struct service *service, struct handler_client *client,
                    const struct msg_request *request);
void handler_reported(struct service *service, struct handler_client *client,
                      const struct msg_request *request);
void handler_check(struct service *service, struct handler_client *client,
                   const struct msg_request *request);
void handler_backup(struct service *service, struct handler_client *client,
                    const struct msg_request *request);
void handler_compact(struct service *service, struct handler_client *client,
                     const struct msg_request *request);
void handler_stats(struct service *service, struct handler_client *client,
                   const struct msg_request *request);
void handler_reload(struct service *service, struct handler_client *client,
                    const struct msg_request *request);
void handler_log_level(struct service *service, struct handler_client *client,
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
 * The number of the last turn that the client's sender had, for round robin by sender: whose number
 * is the smallest is next, and gets the number ++service->turns. Clients that are exempt from
 * limits, or gone, have turns of their own. Valid until the client's sender changes.
 */
uint64_t *handler_turn(struct handler_client *client);

/* Which deposits a host takes now, why ("operator", "schedule", "configuration"; static storage),
 * and until when, 0: not known. */
enum accept handler_accept_now(const struct host *host, int64_t now_ms, const char **out_source,
                               int64_t *out_until_ms);

/*
 * Whether the operator lets the host take this deposit now, and in which state it begins; answers
 * when not.
 */
bool handler_takes_deposit(struct service *service, struct handler_client *client,
                           const struct msg_request *request, const struct host *host,
                           enum persist_state *out_state);

/* Checks shared by the requests; each answers with an error itself and returns NULL or false. */
bool handler_is_administrator(struct handler_client *client, const struct msg_request *request);
struct host *handler_host(struct service *service, struct handler_client *client,
                          const struct msg_request *request, const struct msg_text *name);
struct epoch *handler_epoch(struct service *service, struct handler_client *client,
                            const struct msg_request *request, const struct host *host,
                            uint64_t number, const char *field);
bool handler_filter(struct service *service, struct handler_client *client,
                    const struct msg_request *request, const struct host *host,
                    const struct msg_bytes *bytes, const char *field, uint64_t *out_words);
bool handler_fill(struct handler_client *client, const struct msg_request *request,
                  const struct host *host, const uint64_t *filter, const char *field,
                  uint32_t minimum_ppm, uint32_t maximum_ppm);

#endif
