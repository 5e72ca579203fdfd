/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session: one client's connection, from its first byte to its end. Takes frames out of the
 * transport, has them decoded, hands requests to the handlers and puts responses into the output.
 *
 * What a client may hold is bounded here: requests under way, memory for them, output not read.
 * Over a bound no more requests are taken until it has room again; a client that does not read its
 * answers is dropped.
 */
#ifndef DAEMON_NET_SESSION_H
#define DAEMON_NET_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/handler/handler.h"
#include "daemon/limits/account.h"
#include "daemon/net/transport.h"

struct listener;
struct server;

enum session_state {
    SESSION_NEW,    /* nothing but Hello is taken */
    SESSION_OPEN,   /* greeted */
    SESSION_ENDING, /* no more requests; the last answers go out */
    SESSION_CLOSED  /* the stream is closing; freed when no work is under way */
};

struct session {
    struct requester client; /* first: handlers give it back */
    struct transport transport;
    struct server *server;
    enum session_state state;
    uint64_t number;      /* for the log */
    int64_t since_ms;     /* loop time: accepted, or SESSION_ENDING since */
    int64_t activity_ms;  /* loop time: last bytes in */
    struct account spent; /* on its requests lately */
    uint64_t fresh_ns;    /* so much of what it takes counts as that of arriving, too */
    size_t counted_output;
    size_t queued_bytes;   /* of pushes that are still to be made */
    bool is_shaking_hands; /* counted in server->handshakes */
    bool peer_ended;       /* it sends no more, and may still read */
    bool stream_closed;
    bool is_refused;   /* one too many: told so, and counted apart */
    bool is_held_back; /* over its sender's rates again and again: nothing until the next second */
    bool is_ready;     /* on one of the next two lists */
    bool is_busy;      /* then: on the list of those that want much */
    bool is_dirty;
    struct session *prev, *next;             /* server->sessions */
    struct session *ready_prev, *ready_next; /* server->ready: requests wait to be taken */
    struct session *dirty_prev, *dirty_next; /* server->dirty: output waits to be sent */
};

/*
 * Accepts a connection from `listener`. One beyond the limits, of all or of its address, is told so
 * and ended, or is just closed when its address has been told so again and again. 0,
 * SESSION_REFUSED, or a libuv error (negative), when nothing is left of it.
 */
enum { SESSION_REFUSED = 1 };
int session_accept(struct server *server, struct listener *listener);

/*
 * What a session may take of a turn, and of one read. Also how much more than its share of the time
 * makes it busy.
 */
enum { SESSION_SLICE_NS = 100 * 1000 };

/* Takes one of the requests that wait, and more until slice_ns have gone. */
void session_process(struct session *session, uint64_t slice_ns);

/* Sends a push to a client that has been greeted; to others nothing. */
void session_push(struct session *session, const struct msg_response *response);

/* There may be room again for requests that were left waiting. */
void session_resume(struct session *session);

/* Sends what waits; called once in a turn of the loop. */
void session_flush(struct session *session);

/* Called every second: hello, idle, linger and stuck output have deadlines. */
void session_tick(struct session *session, int64_t now_ms);

/* The server stops: answers what was received, then ends. */
void session_stop(struct session *session);

/* Drops it since what all sessions have not read is too much. */
void session_drop_slowest(struct session *session);

/* Drops it at once. */
void session_close(struct session *session);

#endif
