/* SPDX-License-Identifier: Apache-2.0 */
/*
 * requester: a client as handlers and watches see it: the rights of the client, and how much work
 * is under way for the client. A session embeds a requester. Answers go through the requester's
 * events, so that handlers and watches need no sockets. All functions are called on the loop
 * thread.
 */
#pragma once

#include "daemon/host/here_map.h"
#include "daemon/limits/resume.h"

struct requester;
struct sender;
struct watcher;
struct host;

/* What the session does for its requester. */
struct requester_events {
    /*
     * Sends a response. The data that the response points to is borrowed for the call. Does nothing
     * if the client has disconnected.
     */
    void (*respond)(struct requester *client, const struct hearsay_response *response);
    /* Reports that work of the client has ended (requester_work_end). */
    void (*work_ended)(struct requester *client);
    /* Whether a push may be sent now: little output waits to be sent to the client. */
    bool (*has_room)(const struct requester *client);
    /*
     * Reports that the pushes queued for the client will take `bytes` of output, in addition to the
     * output that waits already. Returns false if the client was dropped: by this call, because a
     * limit on output is exceeded (see `drop`), or before.
     */
    bool (*queued)(struct requester *client, size_t bytes);
    /*
     * Drops the client: sets is_gone, and nothing is sent or received any more. The client, its
     * watches and its sender stay valid until the call returns to the loop. A client that was sent
     * Welcome gets `code` and `sentence` when it soon connects again with its resume token
     * (limits/resume.h).
     */
    void (*drop)(struct requester *client, enum hearsay_code code, const char *sentence);
    /* Charges the client with CPU time that another thread has spent on its request. Called only if
     * the service has a read_pool. */
    void (*spent)(struct requester *client, uint64_t spent_ns);
};

/*
 * A client. The struct must stay in place while work_count > 0, even if the client has
 * disconnected.
 */
struct requester {
    const struct requester_events *events;
    bool is_local; /* the client uses a Unix socket */
    /* the client uses a listener marked local, and gets the keys of epochs and the here labels */
    bool is_on_site;
    /*
     * the client uses a Unix socket that is no gateway's or bridge's, as the daemon's user, as
     * root, or as a member of the group admin_group
     */
    bool is_administrator;
    uint32_t uid; /* of the process at the other end of a Unix socket; else 0 */
    bool is_web;  /* the agent of Hello is hearsay-web's */
    /* the client is a gateway that speaks for itself, and may only read */
    bool is_gateway;
    bool is_bridge;     /* the client uses a bridge's listener */
    bool may_speak_for; /* the client uses a gateway's listener */
    bool is_gone;       /* the client has disconnected, and gets no answers any more */
    bool has_ended;     /* the client sends nothing any more; it may still read answers */
    /*
     * the address that decides the client's here labels: its own IP address, or the IP address for
     * which a gateway speaks. The family is 0 for other clients of Unix sockets. The address is
     * never logged or stored
     */
    struct here_address address;
    /* the sender whose rate limits apply; NULL: no limits apply, or the client is gone */
    struct sender *sender;
    /* the sender of the client for whom a gateway sends the request that is being handled; kept
     * until the handler returns. NULL: the request is the client's own */
    struct sender *asker;
    /* number of the sender's address; 0: the client is exempt from limits */
    uint32_t sender_tag;
    /* number of the sender's /64 if the /64 has limits of its own; else 0 */
    uint32_t wide_tag;
    /* the client's last request was refused because of a rate limit */
    bool is_over_rate;
    /*
     * number of the client's searches that take turns or wait to begin. Above 0 the session takes
     * no more requests; only the session of a gateway without `on_behalf` goes on
     */
    uint32_t searches;
    uint64_t turn;           /* see requester_turn */
    uint32_t writes;         /* its operations that wait for the store, if it has no sender */
    uint32_t work_count;     /* requests that are answered later, and reads of the store for the
                                client's watches */
    size_t work_bytes;       /* memory that the work holds, about */
    size_t answer_bytes;     /* output that the answers may take, about */
    struct watcher *watcher; /* its watches; NULL: it never had one */
    /* its request Wait (watch/watch.h): number of the request, and the host; 0: there is none */
    uint64_t wait_id;
    const struct host *wait_host;
    uint8_t resume_token[RESUME_TOKEN_BYTES]; /* random */
};

/*
 * Whether the client is known to be at the access point, so that the here labels of a host are
 * true for it: its listener is marked local, or it uses a Unix socket: a program of this machine,
 * or a gateway that speaks for a phone in its network.
 */
static inline bool requester_is_here(const struct requester *client)
{
    return client->is_on_site || client->is_local;
}

/* Output bytes that a job reserves for an answer without content, or for an error. A job whose
 * error may have a longer sentence reserves more. */
enum { REQUESTER_ANSWER_BYTES = 256 };

/* Sends an error as the answer to request `id`. With `id` 0 the error is about the connection. */
void requester_refuse(struct requester *client, uint64_t id, enum hearsay_code code,
                      const char *field, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/*
 * requester_work_begin counts work for the client that ends in a later turn. requester_work_end
 * takes the same work off again. `bytes` is about the memory that the work holds. `answer_bytes` is
 * about the largest output of the answer.
 */
void requester_work_begin(struct requester *client, size_t bytes, size_t answer_bytes);
void requester_work_end(struct requester *client, size_t bytes, size_t answer_bytes);

/* The sender who pays for the request that is being handled: `asker` or `sender`. NULL: nobody. */
struct sender *requester_payer(const struct requester *client);

/*
 * The number of a sender's last turn, for round robin among senders. The sender with the smallest
 * number is next; service_take_turn then gives this sender the largest number. Requests of `client`
 * without a sender (NULL), or of the shared sender (sender_turn), have a turn of the client's own.
 * The pointer is valid as long as the sender and the client.
 */
uint64_t *requester_turn(struct requester *client, struct sender *sender);
