/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conn: the client's side of the protocol, as a state machine without I/O and without a clock. Its
 * owner moves bytes between the conn and a socket.
 *
 *   FRESH --greet--> GREETING --Welcome--> READY
 *     any state ----------------------------> BROKEN (final)
 *
 * In state BROKEN, conn_submit, conn_next and conn_lose return the reason. A request in flight is
 * stored in the slot with the index (ticket mod slot_count). Tickets ascend; a ticket whose slot is
 * still in use is skipped. So finding a request takes O(1).
 */
#pragma once

#include "client/hearsay.h"
#include "client/net/promise.h"
#include "proto/arena.h"
#include "proto/bytes.h"
#include "proto/frame.h"

enum {
    CONN_FLIGHT_MAX = 1024,           /* requests in flight, whatever the server allows */
    CONN_FLIGHT_DEFAULT = 16,         /* requests in flight where the server does not say */
    CONN_OUTPUT_BYTES = 1024 * 1024,  /* most unsent bytes; then nothing is submitted */
    CONN_READ_BYTES = 64 * 1024,      /* size of one read */
    CONN_SMALL_READ_BYTES = 4 * 1024, /* size of one read of a small connection */
    /*
     * Memory limit for one decoded frame. Decoded structs can be several times larger than the
     * frame.
     */
    CONN_DECODE_BYTES = 16 * 1024 * 1024
};

/* Named outcomes. */
enum {
    CONN_MORE = 1, /* no reply yet: more bytes are needed */
    CONN_FULL = 2  /* too many requests are in flight, or too many bytes are unsent */
};

enum conn_state { CONN_FRESH, CONN_GREETING, CONN_READY, CONN_BROKEN };

struct conn_slot {
    uint64_t ticket;                 /* 0: free */
    enum hearsay_response_kind kind; /* of the reply that fits the request */
    bool abandoned;                  /* its reply will be dropped */
    struct promise promise;          /* checks the reply */
};

struct conn {
    const struct alloc *alloc; /* borrowed */
    enum conn_state state;
    struct frame_decoder input;
    const uint8_t
        *frame; /* a frame that was not decoded because memory was out; conn_next tries again */
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
    size_t read_bytes;           /* bytes of one read: CONN_READ_BYTES, or less if the program that
                                  * uses the conn sets less */
    size_t flight_limit;         /* requests in flight, whatever the server allows */
    bool takes_matches;          /* a watch was submitted: conn_next returns matches */
    bool takes_asks;             /* the request Serve was submitted: conn_next returns asks */
    bool takes_here_changes;     /* true: conn_next returns changes of here labels, because the
                                  * caller wants to know them */
    struct hearsay_error broken; /* the reason, in state BROKEN */
};

/* Allocates nothing. `alloc` is borrowed and must outlive it. */
void conn_init(struct conn *conn, const struct alloc *alloc);
void conn_deinit(struct conn *conn); /* a zeroed one is fine */

/* What Hello says, borrowed for the call of conn_greet. */
struct conn_hello {
    const char *agent;                    /* at most 127 bytes */
    struct hearsay_bytes resume_token;    /* empty: none */
    struct hearsay_bytes on_behalf;       /* 4 or 16 bytes; empty: nobody */
    struct hearsay_bytes on_behalf_local; /* 16 bytes; empty: not said */
};

/* Adds the request Hello to the output; only in state FRESH. Returns 0 or ERR_NOMEM. */
int conn_greet(struct conn *conn, const struct conn_hello *hello, struct hearsay_error *out_error);

/*
 * Adds a request to the output; only in the states READY and BROKEN. Chooses the request's id and
 * writes the id to request->id and *out_ticket. Returns 0; CONN_FULL; ERR_ARGUMENT when the request
 * is none that a client sends, or is larger than the largest frame that the server takes;
 * ERR_NOMEM; or the error that broke the connection. Unless the function returns 0, the conn does
 * not change.
 */
int conn_submit(struct conn *conn, struct hearsay_request *request, uint64_t *out_ticket,
                struct hearsay_error *out_error);

/*
 * Marks a request as abandoned: conn_next will drop its reply. Does nothing if the request is not
 * in flight.
 */
void conn_abandon(struct conn *conn, uint64_t ticket);

/*
 * Returns the unsent bytes, or NULL if all bytes are sent. *out_count is the number of unsent
 * bytes. The bytes are borrowed until the next conn_greet, conn_submit, conn_sent or conn_deinit.
 */
const uint8_t *conn_output(const struct conn *conn, size_t *out_count);

/* Removes the first `count` bytes of the output. The caller has sent these bytes. */
void conn_sent(struct conn *conn, size_t count);

/*
 * Gives a buffer of *out_count bytes for the next read. Call conn_room only after conn_next
 * returned CONN_MORE. Then call conn_filled with the number of bytes read. Returns 0 or ERR_NOMEM.
 */
int conn_room(struct conn *conn, uint8_t **out_room, size_t *out_count,
              struct hearsay_error *out_error);
void conn_filled(struct conn *conn, size_t count);

/*
 * Decodes the next reply from the bytes that were read. Returns:
 *
 *   0             *out_response is the reply and borrows from `arena`; in state GREETING the
 *                 reply is the Welcome
 *   CONN_MORE     no frame is complete
 *   ERR_PROTOCOL  the connection is broken: the server broke the protocol
 *   ERR_REFUSED   the connection is broken: the server sent the reason
 *   ERR_NOMEM     memory is out; the caller may call again later
 *   other errors  the reason why the connection was broken before
 *
 * A push is a response that answers no request; its id is 0. Four kinds of pushes are returned:
 * the start of an epoch, matches if a watch was submitted, asks if Serve was submitted, and changed
 * here labels if the caller takes them. Other pushes and the replies to abandoned requests are
 * dropped.
 */
int conn_next(struct conn *conn, struct arena *arena, struct hearsay_response *out_response,
              struct hearsay_error *out_error);

/*
 * Breaks the connection with ERR_LOST, because the server closed the socket (errno_value 0) or
 * because the socket failed with errno_value. Returns ERR_LOST, or the earlier reason if the
 * connection was already broken.
 */
int conn_lose(struct conn *conn, int errno_value, struct hearsay_error *out_error);

/*
 * Breaks a connection that is not broken yet, with a reason that the caller gives. Returns the
 * status of the reason.
 */
int conn_break(struct conn *conn, const struct hearsay_error *reason,
               struct hearsay_error *out_error);

/* Requests in flight that are not abandoned. */
size_t conn_in_flight(const struct conn *conn);

/* Whether conn_submit would return CONN_FULL. Abandoned requests count, because the server still
 * has them. */
bool conn_is_full(const struct conn *conn);
