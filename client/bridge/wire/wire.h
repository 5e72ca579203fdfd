/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire: the connection to the hub, a cluster of NATS servers, on the loop. Connects in the
 * background, and again for ever after it was lost. Only the files of this folder, and those of
 * client/bridge/hub/ that make streams, use libnats.
 *
 * libnats calls back on threads of its own. Those callbacks touch no state but the queue of the
 * wire: what arrives is handed to the loop, in the order of arrival. All functions are called on
 * the loop, and all callbacks run there.
 */
#pragma once

#include <stdio.h>

#include <nats/nats.h>
#include <uv.h>

#include "client/bridge/setup/config.h"

enum {
    WIRE_REQUESTS_MAX = 1024,              /* that wait for an answer */
    WIRE_RESERVED = WIRE_REQUESTS_MAX / 4, /* of these for each use; see enum wire_use */
    WIRE_SUBJECT_BYTES = 256,
    WIRE_ERROR_BYTES = 256
};

struct wire;
struct wire_subscription;

/* A message from the hub, borrowed until the callback returns. */
struct wire_message {
    const char *subject;
    const char *reply; /* where an answer goes; "": nowhere */
    const uint8_t *data;
    size_t size;
    void *handle; /* of libnats; for wire_header */
};

/* A header of the message; NULL: it has none of this name. Borrowed as the message. */
const char *wire_header(const struct wire_message *message, const char *name);

/* A header to send. */
struct wire_pair {
    const char *name;
    const char *value;
};

/*
 * What a request is for. Of the requests that wait, WIRE_RESERVED of each use have a place of their
 * own; what is left is for any use. So no use keeps another one from its requests.
 */
enum wire_use { WIRE_USE_OTHER, WIRE_USE_STATES, WIRE_USE_QUERIES, WIRE_USES };

/* What is sent. */
struct wire_letter {
    enum wire_use use; /* of wire_request only */
    const char *subject;
    const char *reply;             /* NULL: none */
    const struct wire_pair *pairs; /* headers, pair_count of them */
    size_t pair_count;
    const void *data;
    size_t size;
};

struct wire_events {
    void (*joined)(void *context); /* connected; subscriptions are there again */
    void (*parted)(void *context); /* the connection is lost; requests have ended with WIRE_LOST */
};

/* `config` and `events` are borrowed. Connecting begins at once. No callback runs before the
 * function returns. 0, or -ERR_NOMEM. */
int wire_new(uv_loop_t *loop, const struct bridge_config *config, const struct wire_events *events,
             void *context, struct wire **out_wire);

/* Ends requests without their callbacks, parts, and closes all handles. No callback runs any more.
 * The loop must run until the handles are closed; then wire_free. */
void wire_stop(struct wire *wire);
void wire_free(struct wire *wire); /* NULL is fine */

bool wire_is_joined(const struct wire *wire);

/* Messages on a subject, which may have * and >, come to `take`, after each reconnecting too. NULL:
 * no memory. */
struct wire_subscription *
wire_subscribe(struct wire *wire, const char *subject,
               void (*take)(void *context, const struct wire_message *message), void *context);
void wire_unsubscribe(struct wire_subscription *subscription); /* NULL is fine */

/*
 * wire_renew tells the servers anew that somebody listens: a server may have forgotten it for other
 * servers or accounts (2.9.10, after servers were killed). A server passes on only the first
 * subscription of a subject, so the new one has a queue group of its own, which only this bridge
 * and this time has. Until wire_renewed the old one stays, because servers may have sent something
 * to its group: what arrives meanwhile comes twice.
 */
void wire_renew(struct wire_subscription *subscription);
void wire_renewed(struct wire_subscription *subscription);

/* Sends without waiting. False: there is no connection, or it does not take more now; nothing was
 * sent. */
bool wire_publish(struct wire *wire, const struct wire_letter *letter);

/* How a request has ended. */
enum wire_outcome {
    WIRE_ANSWERED,
    WIRE_NOBODY, /* nobody listens on the subject; the servers say so to bridges at the hub only */
    WIRE_SILENT, /* no answer in time; also what rights forbid */
    WIRE_LOST    /* the connection was lost */
};

/*
 * Sends with a reply subject below the own inbox, and calls `done` once, with the message where
 * WIRE_ANSWERED. `done` is not called before the function returns. False: not sent, as
 * wire_publish, or there is no place for a request of this use. wire_forget: `done` of requests
 * with this context is not called any more.
 */
typedef void wire_done(void *context, uint64_t tag, enum wire_outcome outcome,
                       const struct wire_message *message);
bool wire_request(struct wire *wire, const struct wire_letter *letter, uint32_t timeout_ms,
                  wire_done *done, void *context, uint64_t tag);
void wire_forget(struct wire *wire, const void *context);

/* For `status`, and for Prometheus. */
void wire_print_status(const struct wire *wire, FILE *out);
/* `refused`: errors besides, heads and states that the hub did not store. */
void wire_print_metrics(const struct wire *wire, uint64_t refused, FILE *out);

/* --- connect ---------------------------------------------------------------------------------- */

/* Options of libnats for the hub of a configuration. */

enum { CONNECT_ERROR_BYTES = 256 };

/*
 * Makes the options: servers, TLS with the own certificate, the own inbox prefix; without
 * reconnecting. NATS_OK with *out_options, which the caller destroys; else with a sentence in
 * out_error (CONNECT_ERROR_BYTES).
 */
natsStatus connect_options(const struct bridge_config *config, natsOptions **out_options,
                           char *out_error);

/* Writes a sentence about the last error of this thread, with what to look at. */
void connect_explain(natsStatus status, char *out_error);

/* The own inbox: _INBOX_NAME. */
void connect_inbox(const struct bridge_config *config, char *out, size_t room);

/* --- text ------------------------------------------------------------------------------------- */

/* The lines of `hearsay-bridge status`, of at most 60 columns, and of its metrics. */

enum { TEXT_TIME_BYTES = 32 };

/* Writes a word of at most 10 characters ("": none) and a text behind it, made as by printf, in as
 * many lines as the text needs. Of a text over 511 bytes the rest is left out. */
void text_print(FILE *out, const char *word, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Writes a time of the wall clock, in seconds, such as 2026-11-27 10:20:00 UTC. out has
 * TEXT_TIME_BYTES. */
void text_time(int64_t time_s, char *out);

/* Writes a figure for Prometheus, with its type ("gauge" or "counter"). `name` is without the
 * hearsay_bridge_ that it gets. */
void text_metric(FILE *out, const char *name, const char *type, uint64_t value);

/* --- ack -------------------------------------------------------------------------------------- */

/* What JetStream answers to a message that it was to store. */

enum { ACK_TEXT_BYTES = 128, ACK_WRONG_SEQUENCE = 10071 };

struct ack {
    uint64_t seq;              /* in the stream; 0 with an error */
    int code;                  /* JetStream's number; 0: stored */
    uint64_t last;             /* with ACK_WRONG_SEQUENCE: the last sequence of the subject */
    char text[ACK_TEXT_BYTES]; /* with an error: what JetStream says */
};

/* False: the bytes are no such answer. */
bool ack_read(const void *bytes, size_t size, struct ack *out);
