/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conn: the client's side of the protocol as a state machine. It takes bytes and gives bytes,
 * without I/O or clock; its owner moves the bytes between it and a socket.
 *
 *   FRESH --greet--> GREETING --Welcome--> READY
 *     any state ----------------------------> BROKEN (final; every call returns the reason)
 *
 * A request in flight is in slot (ticket mod slot_count). Tickets count upwards and skip a slot
 * that is still used, so a lookup is O(1).
 */
#ifndef CLIENT_NET_CONN_H
#define CLIENT_NET_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/hearsay.h"
#include "client/net/promise.h"
#include "proto/arena.h"
#include "proto/bytes.h"
#include "proto/frame.h"
#include "proto/msg.h"

enum {
    CONN_FLIGHT_MAX = 1024,          /* requests in flight, whatever the server allows */
    CONN_FLIGHT_DEFAULT = 16,        /* requests in flight where the server does not say */
    CONN_OUTPUT_BYTES = 1024 * 1024, /* most unsent bytes; then nothing is submitted */
    CONN_READ_BYTES = 64 * 1024,     /* size of one read */
    /* Memory for one decoded frame of the largest size: structs are several times the wire size. */
    CONN_DECODE_BYTES = 16 * 1024 * 1024
};

/* Named outcomes. */
enum {
    CONN_MORE = 1, /* no reply yet: more bytes are needed */
    CONN_FULL = 2  /* too many requests are in flight, or too many bytes unsent */
};

enum conn_state { CONN_FRESH, CONN_GREETING, CONN_READY, CONN_BROKEN };

struct conn_slot {
    uint64_t ticket;             /* 0: free */
    enum msg_response_kind kind; /* of the reply that fits the request */
    bool abandoned;              /* its reply will be dropped */
    struct promise promise;      /* checks the reply */
};

struct conn {
    const struct alloc *alloc; /* borrowed */
    enum conn_state state;
    struct frame_decoder input;
    const uint8_t *frame; /* not decoded yet for lack of memory: conn_next tries again */
    size_t frame_length;
    struct bytes output;
    size_t sent;             /* the first bytes of output, already sent */
    struct conn_slot *slots; /* owned; slot_count of them, a power of two; NULL until READY */
    size_t slot_count;
    size_t flight_max;
    size_t flight_count;    /* abandoned ones included */
    size_t abandoned_count; /* of flight_count */
    uint64_t last_ticket;
    size_t frame_limit;          /* largest frame that the server takes */
    const uint8_t *resume_token; /* for Hello, borrowed until conn_greet; NULL: none */
    size_t resume_bytes;
    bool takes_matches;          /* a watch was submitted: conn_next returns matches */
    struct hearsay_error broken; /* the reason, in state BROKEN */
};

/* Allocates nothing. `alloc` is borrowed and must outlive it. */
void conn_init(struct conn *conn, const struct alloc *alloc);
void conn_deinit(struct conn *conn); /* a zeroed one is fine */

/* Puts Hello into the output; in state FRESH only. agent: at most 127 bytes. 0 or ERR_NOMEM. */
int conn_greet(struct conn *conn, const char *agent, struct hearsay_error *out_error);

/*
 * Puts a request into the output, in state READY. Chooses its id and writes it to request->id and
 * *out_ticket. 0, CONN_FULL, ERR_ARGUMENT (larger than a frame), ERR_NOMEM, or the reason why the
 * connection is broken. Unless it returns 0, nothing has changed.
 */
int conn_submit(struct conn *conn, struct msg_request *request, uint64_t *out_ticket,
                struct hearsay_error *out_error);

/* The caller does not want that reply any more: conn_next will drop it. */
void conn_abandon(struct conn *conn, uint64_t ticket);

/* Unsent bytes, borrowed until the next call; *out_count 0 where there are none. */
const uint8_t *conn_output(const struct conn *conn, size_t *out_count);

/* Removes the first `count` unsent bytes: they were sent. */
void conn_sent(struct conn *conn, size_t count);

/*
 * A buffer to read into, *out_count bytes; only after conn_next returned CONN_MORE. Call
 * conn_filled with the number of bytes read. 0 or ERR_NOMEM.
 */
int conn_room(struct conn *conn, uint8_t **out_room, size_t *out_count,
              struct hearsay_error *out_error);
void conn_filled(struct conn *conn, size_t count);

/*
 * Decodes the next reply out of the bytes read. 0 with *out_response, which borrows from `arena`;
 * in state GREETING this is the Welcome. CONN_MORE when no frame is complete. ERR_PROTOCOL or
 * ERR_REFUSED: the connection is broken now. ERR_NOMEM: call again later.
 *
 * Of the server's pushes (id 0) it returns the start of an epoch, and matches once a watch was
 * submitted. Other pushes and abandoned replies are dropped.
 */
int conn_next(struct conn *conn, struct arena *arena, struct msg_response *out_response,
              struct hearsay_error *out_error);

/* The server closed the socket (errno_value 0), or the socket failed. Breaks the connection:
 * ERR_LOST. */
int conn_lose(struct conn *conn, int errno_value, struct hearsay_error *out_error);

/* Breaks the connection with the caller's reason. Returns the reason's status. */
int conn_break(struct conn *conn, const struct hearsay_error *reason,
               struct hearsay_error *out_error);

/* Requests in flight that are not abandoned. */
size_t conn_in_flight(const struct conn *conn);

#endif
