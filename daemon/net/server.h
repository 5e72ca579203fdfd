/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server: the loop and what hangs on it: listeners, sessions, signals, timers, and the order in
 * which all of that ends.
 *
 * A turn of the loop: what came in was read by its session; then sessions whose requests wait have
 * their turn, searches go on by a bounded number of steps, connections that were kept waiting are
 * taken, and all output of the turn is sent.
 */
#ifndef DAEMON_NET_SERVER_H
#define DAEMON_NET_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <uv.h>

#include "daemon/config/options.h"
#include "daemon/host/service.h"
#include "daemon/limits/account.h"
#include "daemon/limits/drops.h"
#include "daemon/limits/refusals.h"
#include "daemon/net/listener.h"
#include "daemon/net/server_tls.h"
#include "daemon/net/session.h"
#include "daemon/system/worker_uv.h"

struct here_watch;

/* Twice as many as may be open: a reload opens the new ones before it closes the old ones. */
enum { SERVER_LISTENERS = 2 * CONFIG_LISTENERS_MAX };

struct server {
    uv_loop_t loop;
    const struct alloc *alloc;
    const struct options *options; /* borrowed: to read the configuration again */
    struct config config;          /* as it was taken last */
    struct persist *persist;
    struct service *service;
    struct here_watch *here_watch;
    struct worker_uv worker;
    int lock;            /* of the data directory; -1: none */
    bool shares_sockets; /* with the administrators' group, admin_group */
    gid_t admin_group;

    struct listener listeners[SERVER_LISTENERS]; /* those not open, and not closing, are free */
    size_t listener_count;                       /* places in use, or used before */

    const char *unfiltered; /* why system calls are not filtered; NULL: they are */

    struct server_tls tls;
    uint32_t handshakes; /* of TLS, under way */

    struct session *sessions;
    struct session *ready; /* requests wait to be taken */
    struct session *busy;  /* the same, of sessions that want much: see server_turn */
    struct session *dirty; /* output waits to be sent */
    size_t session_count;
    size_t refused_count;    /* of these: told that they are too many, and ending */
    struct account arrivals; /* what connections took: accepting, refusing, their first requests */
    uint64_t session_number;
    size_t output_bytes;    /* of all sessions */
    uint64_t read_began_ns; /* from the session that is being read */
    uint64_t spent_ns;      /* on requests since the last turn */
    struct arena decode_arena;

    uv_prepare_t prepare; /* before the loop waits: sends what timers left */
    uv_check_t check;     /* after it waited: a turn */
    uv_idle_t idle;       /* runs while a turn left work, so that the loop does not wait */
    uv_timer_t arrival;   /* when there is time for a connection again; data: it is there */
    uv_timer_t tick;
    uv_timer_t watchdog;
    uv_signal_t terminate[2];
    uv_signal_t reload;
    uint64_t tick_count;
    int64_t stop_since_ms;
    bool was_congested;
    struct drops drops;
    struct refusals refusals;
    bool stopping;                  /* no one new, no new requests */
    bool store_closing;             /* nothing is under way any more */
    bool closing;                   /* the handles are */
    struct service_control control; /* what administrators ask of us */
};

/*
 * Binds the TCP addresses, becomes the configured user, opens the data directory and the store,
 * loads the messages, and binds the Unix sockets. 0, or
 * SERVER_REFUSED when the configuration is at fault (exit code 2), or negative; both with a
 * sentence in out_reason (CONFIG_REASON_BYTES). After a failure nothing is left open.
 */
enum { SERVER_REFUSED = 1 };
int server_start(struct server *server, const struct options *options, const struct config *config,
                 char *out_reason);

/* Serves until SIGTERM or SIGINT, and until all is answered, committed and closed after it. */
void server_run(struct server *server);

/*
 * What happens once in a turn of the loop, after it waited: sessions that are ready take requests,
 * searches go on by a bounded number of steps, all output is sent. Called by the loop, and by tests
 * that have put a server together by hand.
 */
void server_turn(struct server *server);

/* Sends all output that waits. */
void server_flush(struct server *server);

/*
 * Reads the configuration again, opens the listeners that are new and closes those that are not
 * there any more: all of it is taken (0), or nothing (CONFIG_REFUSED, -ERR_NOMEM)
 * and why is in out_reason (CONFIG_REASON_BYTES). Says so in the log and to the service manager.
 */
int server_reload(struct server *server, char *out_reason);

/* Fills server->control: see server_control.c. */
void server_init_control(struct server *server);

/* Sends a response with id 0 to all who have been greeted. */
void server_push(struct server *server, const struct msg_response *response);

/* --- for sessions ----------------------------------------------------------------------------- */

/* The loop's time, monotonic. */
int64_t server_loop_ms(const struct server *server);

/* Some session is ready: the next turn comes without waiting. */
void server_wake(struct server *server);

/*
 * Connections together get a part of the time only, so that those who come again and again do not
 * take it from those who are here. Whether there is some left; when not, the next turn comes when
 * there is.
 */
bool server_takes_arrivals(struct server *server);

/* spent_ns were spent on somebody who arrives, until now_ns. */
void server_spend_on_arrivals(struct server *server, uint64_t now_ns, uint64_t spent_ns);

/* All output together is over its cap: drops the session that holds the most of it. */
void server_drop_slowest(struct server *server);

/* A session was freed. */
void server_session_gone(struct server *server);

#endif
