/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session: one client's connection, from its first byte to its end. A session takes frames out of
 * the transport, has them decoded, hands requests to the handlers and puts responses into the
 * output.
 *
 *   session_state.c     states, output, drops, the end; the other files call this one
 *   session_evict.c     which session is dropped when there are too many
 *   session_requests.c  when a session takes requests, and for how long
 *   session.c           what the transport, the handlers and the clock report
 *   session_accept.c    a new connection: its user, its addresses, its set-up
 *   session_admit.c     the limits that a new connection must keep, and its refusal
 *
 * Three figures of a session are bounded: requests in flight, the memory of these requests, and
 * output that the client has not read. At a bound the session stops taking requests until it is
 * below the bound again. A client is dropped if too much output waits for it, or if output waits
 * and the client reads none of it for 30 s, or for 2 s at the end of the session.
 *
 * What a callback may hold, and what it may free. The callbacks of a session are the functions of
 * session_client_events (handlers and watches call them) and of session_transport_events (the
 * transport calls them).
 *
 *   - A callback may use the session, its requester, its watches and its sender until it returns.
 *     It may drop the session, or another session. It frees none of them.
 *   - session_close, session_reset, session_drop and session_fail close the stream and move the
 *     session to SESSION_CLOSED at once. From then on nothing is sent or received.
 *   - Only sessions_reap frees sessions. Until then a dropped session stays valid. The loop calls
 *     sessions_reap once a turn; a session calls it before it takes requests, and session_accept
 *     calls it before it accepts a connection.
 *   - Work for a client that ends in a later turn may hold the requester until requester_work_end:
 *     sessions_reap frees a session only when its stream is closed and it has no such work. When
 *     sessions_reap has handled a closed session, its requester has no watches and no sender.
 *
 * For the loop's thread only.
 */
#pragma once

#include "daemon/handler/handler.h"
#include "daemon/limits/drops.h"
#include "daemon/net/loop.h"
#include "daemon/net/transport.h"
#include "daemon/system/block_pool.h"
#include "proto/arena.h"

struct devices;
struct here_change;
struct listener;
struct server_tls;

/* All sessions of a server, and what they share. */
struct sessions {
    /* Borrowed; set by sessions_init. */
    struct loop *loop;
    const struct alloc *alloc;
    struct service *service;
    struct server_tls *tls;

    struct devices *devices; /* borrowed; set by server.c. NULL: limits count addresses */

    /* Written by session_state.c, and `refusals` also by session_admit.c. */
    struct session *first; /* in the order in which they came */
    size_t count;          /* of the list */
    size_t refused_count;  /* sessions that are ending because they were refused or gave way */
    uint64_t total;        /* since the start */
    size_t output_bytes; /* that wait to be sent, with pushes in queues, of all sessions together */
    uint32_t handshakes; /* TLS handshakes under way */
    struct drops drops;  /* for the figures and the log */
    struct refusals refusals; /* for the figures */

    /* Written by session_requests.c. */
    struct arena decode_arena; /* holds one request at a time */
    bool has_congested;        /* a session may have is_congested */

    /* Written by session.c. */
    struct block_pool buffers; /* of `alloc`: the input and output of the sessions */
    bool is_stopping;          /* a session ends when it has answered all received requests */
};

enum session_state {
    SESSION_NEW,    /* nothing but Hello is taken */
    SESSION_OPEN,   /* greeted */
    SESSION_ENDING, /* takes no more requests; the last answers go out */
    SESSION_CLOSED  /* the stream is closing or closed; see sessions_reap */
};

struct session {
    struct requester client;
    struct transport transport;
    struct loop_entry entry;
    struct sessions *all;
    struct session *prev, *next; /* all->first */
    enum session_state state;
    uint64_t number;        /* for the log */
    int64_t since_ms;       /* loop time: when `state` began */
    int64_t activity_ms;    /* loop time: when bytes last came in */
    struct account spent;   /* CPU time that its requests took lately */
    uint64_t fresh_ns;      /* rest of its first slice: also charged to new connections */
    uint64_t read_began_ns; /* time when the read began that the event `readable` reports
                               (service_monotonic_ns) */
    size_t counted_output;  /* its part of all->output_bytes */
    size_t queued_bytes;    /* of pushes that are still to be made */
    bool is_shaking_hands;  /* counted in all->handshakes */
    bool peer_ended;    /* the client has ended its side of the stream, or the stream has failed */
    bool stream_closed; /* libuv does not use the transport any more */
    bool is_refused;    /* counted in all->refused_count */
    bool by_address;    /* its listener has senders=address: limits count the address */
    /* Requests of the session's sender were refused too often because of rate limits. The session
     * takes no request until the next session_tick. */
    bool is_held_back;
    bool is_congested; /* it has stopped taking requests because of handler_is_congested */
};

/* --- all sessions ----------------------------------------------------------------------------- */

/* Borrows `loop`, `alloc`, `service` and `tls`. */
void sessions_init(struct sessions *all, struct loop *loop, const struct alloc *alloc,
                   struct service *service, struct server_tls *tls);

/* Frees the shared parts. No session may be left. A struct that is all zero is allowed. */
void sessions_deinit(struct sessions *all);

/*
 * Cleans up after closed sessions. Ends their watches, takes them off the counts of their senders,
 * and frees each session whose stream is closed and that has no work under way. The loop calls this
 * function in each turn. The functions that take requests or accept a connection call it first. No
 * other function of a closed session may be on the stack. O(closed sessions)
 */
void sessions_reap(struct sessions *all);

/*
 * Sends the new here labels to each client that was sent Welcome and whose labels have changed, and
 * to each gateway that speaks for itself.
 */
void sessions_push_here(struct sessions *all, const struct here_change *change);

/*
 * When a session has something to do without a word of its client, at the earliest, such as to end
 * because of idle_timeout; by loop_now_ms. At most `now_ms`: at the next tick. INT64_MAX: never.
 */
int64_t sessions_due_ms(const struct sessions *all, int64_t now_ms);

/* To be called once a second, or when sessions_due_ms says so: see session_tick. */
void sessions_tick(struct sessions *all, int64_t now_ms);

/*
 * Called when the server stops. Each session answers the requests that it has received, and then
 * ends.
 */
void sessions_stop(struct sessions *all);

/* Closes all sessions at once. */
void sessions_close(struct sessions *all);

/* Sessions that have stopped taking requests because of handler_is_congested go on if it says no
 * any more. O(1) if there are none, O(sessions) otherwise. */
void sessions_end_congestion(struct sessions *all);

/* --- one session ------------------------------------------------------------------------------ */

/*
 * Accepts the connection that waits at `listener`. Returns 0; SESSION_REFUSED; or a negative libuv
 * error, after which the connection is closed or still waits. A connection is refused if it exceeds
 * a limit of its address, if there are too many sessions and none may be dropped for it
 * (session_evict), or if its user may not use a gateway's listener. A refused client gets an
 * error, or its connection is closed without one.
 */
enum { SESSION_REFUSED = 1 };
int session_accept(struct sessions *all, struct listener *listener);

/*
 * CPU time in nanoseconds for which a session takes requests at a time. A session is busy while its
 * account of recent CPU time holds more than this.
 */
enum { SESSION_SLICE_NS = 100 * 1000 };

/*
 * Takes requests for `slice_ns` nanoseconds of CPU time, and at least one request if no bound is
 * reached. If other sessions have used the CPU time of the sender, takes none: the session then
 * waits in loop->busy.
 */
void session_process(struct session *session, uint64_t slice_ns);

/* Call this function when the session may be below its bounds again. A session that takes requests
 * goes on in the next turn. */
void session_resume(struct session *session);

/* Sends the output that waits. Ends the stream of a session that is ending and has no work under
 * way. */
void session_flush(struct session *session);

/* Call this function once a second with the loop's time. It checks the timeouts of a TLS handshake,
 * of Hello, of idle clients, of ending sessions, and of output that the client does not take. */
void session_tick(struct session *session, int64_t now_ms);

/* Closes the stream at once. Does nothing for a session that is closed already. */
void session_close(struct session *session);
