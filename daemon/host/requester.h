/* SPDX-License-Identifier: Apache-2.0 */
/*
 * requester: a client as the handlers and the watches see it: who asks, with which rights, and how
 * much work is under way for it. A session embeds a requester, and sends answers through the
 * requester's events. So handlers and watches need no sockets. All functions are called on the loop
 * thread.
 */
#ifndef DAEMON_HOST_REQUESTER_H
#define DAEMON_HOST_REQUESTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/limits/resume.h"
#include "proto/msg.h"

struct requester;
struct sender;
struct watcher;

/* What the session does for its requester. */
struct requester_events {
    /* Sends a response. Borrows what the response points to for the call. Does nothing when the
     * client is gone. */
    void (*respond)(struct requester *client, const struct msg_response *response);
    /* Some work of the client ended (requester_work_end). */
    void (*work_ended)(struct requester *client);
    /* Whether a push may be sent now: little output waits to be sent. */
    bool (*has_room)(const struct requester *client);
    /* Reports that pushes of `bytes` are queued besides the waiting output. False: that is over the
     * limit, and the client was dropped: see `drop`. */
    bool (*queued)(struct requester *client, size_t bytes);
    /* Drops the client: nothing is sent or received any more, and is_gone is set. The client, its
     * watches and its sender stay valid until the call returns to the loop. The client is told the
     * reason when it connects again. */
    void (*drop)(struct requester *client, enum msg_error_code code, const char *sentence);
};

/*
 * A client. It must stay in place while work_count > 0, also after the client has disconnected.
 */
struct requester {
    const struct requester_events *events;
    bool is_local;         /* it connected to a Unix socket */
    bool is_on_site;       /* it connected to a listener marked local: it gets the epochs' keys */
    bool is_administrator; /* it connected to a Unix socket, as our own user or as root */
    bool is_gone;          /* it has disconnected: nobody reads the answers any more */
    struct sender *sender; /* whose rate limits apply; NULL: none */
    uint32_t sender_tag;   /* number of the sender's address; 0: exempt from limits */
    uint32_t wide_tag;   /* number of the sender's /64, where that has limits too; 0: it has none */
    bool is_over_rate;   /* its last request was refused because of a rate limit */
    uint32_t searches;   /* its searches that run or wait: then no more requests are taken */
    uint64_t turn;       /* see requester_turn */
    uint32_t work_count; /* requests that were taken and not yet answered */
    size_t work_bytes;   /* memory that these requests hold, about */
    size_t answer_bytes; /* output that their answers may take, about */
    struct watcher *watcher;                  /* its watches; NULL: it never had one */
    uint8_t resume_token[RESUME_TOKEN_BYTES]; /* random */
};

/* An answer without content, or an error: what it may take of the output. */
enum { REQUESTER_ANSWER_BYTES = 256 };

/* Sends an error as the answer to request `id`. 0: the error is about the connection. */
void requester_refuse(struct requester *client, uint64_t id, enum msg_error_code code,
                      const char *field, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/*
 * Begins and ends work whose answer comes later: `bytes` is the memory that the work holds, and
 * `answer_bytes` the output that its answer may take.
 */
void requester_work_begin(struct requester *client, size_t bytes, size_t answer_bytes);
void requester_work_end(struct requester *client, size_t bytes, size_t answer_bytes);

/*
 * For round robin by sender: the number of the sender's last turn. The sender with the smallest
 * number is next: service_take_turn. A client without limits, and one that is
 * gone, has a turn of its own. Valid until the client's sender changes.
 */
uint64_t *requester_turn(struct requester *client);

#endif
