/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conn: the client's side of the protocol as a state machine. Bytes in, bytes out, no I/O, no
 * clock: its owner moves the bytes between it and a socket.
 *
 *   FRESH --greet--> GREETING --Welcome--> READY
 *     any of them --------------------------> BROKEN (final; every call tells why)
 *
 * What is under way lies in a table at (ticket mod capacity). Tickets count upwards and skip a
 * place that is still taken, so a lookup is O(1).
 */
#ifndef CLIENT_NET_CONN_H
#define CLIENT_NET_CONN_H

#include "client/hearsay.h"
#include "client/net/promise.h"
#include "proto/arena.h"
#include "proto/bytes.h"
#include "proto/frame.h"
#include "proto/msg.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CONN_FLIGHT_MAX = 1024,          /* requests under way, whatever the server allows */
    CONN_FLIGHT_DEFAULT = 16,        /* where the server does not say */
    CONN_OUTPUT_BYTES = 1024 * 1024, /* unsent; beyond it nothing is submitted */
    CONN_READ_BYTES = 64 * 1024,     /* wanted of one read */
    /* A frame of the largest size, taken apart: every entry costs a few times its wire size. */
    CONN_DECODE_BYTES = 16 * 1024 * 1024
};

/* Named outcomes. */
enum {
    CONN_MORE = 1, /* no reply yet: more bytes are needed */
    CONN_FULL = 2  /* too much is under way, or waits to be sent */
};

enum conn_state { CONN_FRESH, CONN_GREETING, CONN_READY, CONN_BROKEN };

struct conn_slot {
    uint64_t ticket;             /* 0: free */
    enum msg_response_kind kind; /* the reply that fits */
    bool abandoned;              /* nobody waits for it any more */
    struct promise promise;      /* about the reply */
};

struct conn {
    const struct alloc *alloc; /* borrowed */
    enum conn_state state;
    struct frame_decoder input;
    const uint8_t *frame; /* taken out of input and not yet decoded, for want of memory */
    size_t frame_length;
    struct bytes output;
    size_t sent;             /* of output's bytes */
    struct conn_slot *slots; /* owned; slot_count of them, a power of two; NULL until READY */
    size_t slot_count;
    size_t flight_max;
    size_t flight_count;    /* with those abandoned */
    size_t abandoned_count; /* of these */
    uint64_t last_ticket;
    size_t frame_limit;          /* of what we send */
    const uint8_t *resume_token; /* for Hello, borrowed until conn_greet; NULL: none */
    size_t resume_bytes;
    bool takes_matches;          /* a watch was submitted */
    struct hearsay_error broken; /* why, in state BROKEN */
};

/* Allocates nothing. `alloc` is borrowed and must outlive it. */
void conn_init(struct conn *conn, const struct alloc *alloc);
void conn_deinit(struct conn *conn); /* a zeroed one is fine */

/* Puts Hello into the output; in state FRESH only. agent: at most 127 bytes. 0 or ERR_NOMEM. */
int conn_greet(struct conn *conn, const char *agent, struct hearsay_error *out_error);

/*
 * Puts a request into the output, in state READY; its id is chosen here and written to request->id
 * and *out_ticket. 0, CONN_FULL, ERR_ARGUMENT (larger than a frame), ERR_NOMEM, or why the
 * connection is broken. Unless 0, nothing has changed.
 */
int conn_submit(struct conn *conn, struct msg_request *request, uint64_t *out_ticket,
                struct hearsay_error *out_error);

/* Says that nobody waits for that reply any more: it will be dropped. */
void conn_abandon(struct conn *conn, uint64_t ticket);

/* Unsent bytes, borrowed until the next call; *out_count 0 where there are none. */
const uint8_t *conn_output(const struct conn *conn, size_t *out_count);

/* Says that the first `count` of them were sent. */
void conn_sent(struct conn *conn, size_t count);

/*
 * Room to read into, *out_count bytes; only after conn_next returned CONN_MORE. Then say how many
 * were filled. 0 or ERR_NOMEM.
 */
int conn_room(struct conn *conn, uint8_t **out_room, size_t *out_count,
              struct hearsay_error *out_error);
void conn_filled(struct conn *conn, size_t count);

/*
 * The next reply out of the bytes read: 0 with *out_response, which borrows from `arena`; in state
 * GREETING this is the Welcome. CONN_MORE. Else the connection is broken and why: ERR_PROTOCOL,
 * ERR_REFUSED; or ERR_NOMEM, which may be tried again. With id 0 are returned: that an epoch has
 * begun, and matches once a watch was submitted; other pushes and abandoned replies are dropped.
 */
int conn_next(struct conn *conn, struct arena *arena, struct msg_response *out_response,
              struct hearsay_error *out_error);

/* The peer closed (errno_value 0) or the socket failed. The connection is broken: ERR_LOST. */
int conn_lose(struct conn *conn, int errno_value, struct hearsay_error *out_error);

/* Breaks the connection for a reason of the owner's. Returns its status. */
int conn_break(struct conn *conn, const struct hearsay_error *reason,
               struct hearsay_error *out_error);

/* Requests under way whose replies somebody waits for. */
size_t conn_in_flight(const struct conn *conn);

#endif
