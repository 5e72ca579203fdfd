/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask: a request while its handler runs: what is asked, by whom, of which service and host. Also
 * the checks that several requests share: each answers with an error itself when it fails.
 *
 * An ask lives until its handler returns. A handler that answers later makes a job of it (job.h).
 */
#ifndef DAEMON_HANDLER_ASK_H
#define DAEMON_HANDLER_ASK_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/host/requester.h"
#include "daemon/host/service.h"
#include "proto/msg.h"

struct ask {
    struct service *service;
    struct requester *client;
    const struct msg_request *request;
    struct host *host; /* the host that the request names; NULL before ask_host found it */
};

/* Answers: sends a response, or an error with a sentence. */
void ask_respond(const struct ask *ask, const struct msg_response *response);
void ask_refuse(const struct ask *ask, enum msg_error_code code, const char *field,
                const char *format, ...) __attribute__((format(printf, 4, 5)));
void ask_refuse_memory(const struct ask *ask); /* "the server is out of memory" */

/* Whether the client is an administrator. */
bool ask_is_administrator(const struct ask *ask);

/* Finds the host of this name, and keeps it in ask->host. */
bool ask_host(struct ask *ask, const struct msg_text *name);

/* Both: an administrator's request about a host, request->admin.host. */
bool ask_administers(struct ask *ask);

/* The epoch of ask->host that has this number and is not over; NULL: refused. */
struct epoch *ask_epoch(const struct ask *ask, uint64_t number, const char *field);

/* Whether the bytes are a filter of the host's profile: its words go to out_words. */
bool ask_filter(const struct ask *ask, const struct msg_bytes *bytes, const char *field,
                uint64_t *out_words);

/* Whether the share of set bits of a filter is within these bounds, in millionths. */
bool ask_fill(const struct ask *ask, const uint64_t *filter, const char *field,
              uint32_t minimum_ppm, uint32_t maximum_ppm);

/*
 * Whether the client's sender may send this request now, within its rate limits. Takes the tokens
 * that the request costs.
 */
bool ask_pay(const struct ask *ask);

/* Whether a deposit or a report has the proof of work that is required here. */
bool ask_work(const struct ask *ask);

#endif
