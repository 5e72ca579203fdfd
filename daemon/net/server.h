/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server: the daemon as a whole. The server has the store, the service, the loop, listeners,
 * sessions, signals and timers. Its files say how all of them start, reload and end.
 *
 *   server.c          start, run, signals, the end
 *   server_open.c     addresses, the user, sockets
 *   server_turn.c     what happens in a turn of the loop, and how much CPU time it gets
 *   server_reload.c   reads the configuration again
 *   server_control.c  functions that the service calls
 *   server_clock.c    the system's clocks
 *   server_tls.c      the certificate
 */
#pragma once

#include "daemon/config/options.h"
#include "daemon/net/listener.h"
#include "daemon/net/server_tls.h"
#include "daemon/net/session.h"
#include "daemon/system/runtime.h"

struct here_watch;

/* Twice the number of listeners that may be configured: a reload opens the new listeners before it
 * closes the old ones. */
enum { SERVER_LISTENERS = 2 * CONFIG_LISTENERS_MAX };

struct server {
    /* Each is changed by the functions of its own header. */
    struct loop loop;
    struct sessions sessions;
    struct server_tls tls;
    struct worker_uv worker;
    struct read_pool *read_pool; /* NULL: there is one processor only */
    uv_async_t task_over;        /* wakes the loop for read_pool; open if there is a read_pool */
    struct service *service;
    struct persist *persist;
    struct here_watch *here_watch;
    struct devices *devices;

    /* Written by server_open.c. */
    struct listener_home home;
    struct listener listeners[SERVER_LISTENERS]; /* one that is not open and not closing is free */
    size_t listener_count;                       /* used now or before */

    /* Written by server_reload.c after the start. */
    struct config config; /* in force */
    bool was_refused;     /* the last reload */
    int64_t read_ms;      /* Unix time of the last reload, or of the start; not the host's clock */

    /* Written by server.c. */
    struct service_control control;
    const struct alloc *alloc;
    const struct options *options; /* borrowed: to read the configuration again */
    int lock;                      /* of the data directory; -1: none */
    struct runtime runtime;        /* signals, watchdog, the filter of system calls */
    uv_prepare_t prepare;          /* before the loop waits: sends the output that waits */
    uv_check_t check;              /* after the loop has waited: a turn */
    uv_timer_t tick;
    uv_timer_t waits; /* active while something waits for a change, for copies or for a bridge */
    uint64_t tick_activity; /* loop.activity at the last tick */
    uint32_t quiet_ticks;   /* the last ones, since which there was no activity */
    int64_t sweep_due_ms;   /* by loop_now_ms: when messages that have expired are removed */
    int64_t stop_since_ms;
    bool stopping;      /* no new connections; sessions end when their requests are answered */
    bool store_closing; /* nothing is under way any more */
};

/*
 * Starts the server. Binds the TCP addresses, becomes the configured user, loads the certificate,
 * opens the data directory and the store, loads the messages, and binds the Unix sockets. Returns
 * 0, SERVER_REFUSED (the configuration is wrong; exit code 2), SERVER_STOPPED (SIGTERM or SIGINT
 * came meanwhile; it has been logged) or a negative error. On failure a
 * sentence is in out_reason (CONFIG_REASON_BYTES), and nothing is left open. Borrows `options`
 * until server_run returns.
 */
enum { SERVER_REFUSED = 1, SERVER_STOPPED = 2 };
int server_start(struct server *server, const struct options *options, const struct config *config,
                 char *out_reason);

/* server_tick.c: work that time makes due. server_start_ticks begins the ticks of a started server;
 * server_hasten_tick brings a tick forward after activity. */
void server_start_ticks(struct server *server);
void server_hasten_tick(struct server *server);

/* Serves until SIGTERM or SIGINT. Then the sessions answer the requests that they have received,
 * and end. Sessions that are left after 3.5 s, or at a second signal, are closed. Returns when the
 * store has committed all operations and is closed. */
void server_run(struct server *server);

/*
 * Runs one turn, after the loop has waited. Sessions take requests, searches do a bounded number of
 * steps, connections are accepted, output is sent, and dropped sessions are freed. The callers are
 * the loop, and tests that put a server together by hand.
 */
void server_turn(struct server *server);

/* Sends all output that waits. */
void server_flush(struct server *server);

/*
 * The `accept` function of all listeners. The context of struct listener_home is the server.
 * Returns LISTENER_LATER if new connections have used their share of the CPU time; 0 if
 * session_accept has accepted or refused the connection; or a negative libuv error.
 */
int server_accept(struct listener *listener);

/*
 * Reads the configuration again, opens the new listeners and closes the removed ones. Returns 0,
 * CONFIG_REFUSED or a negative error. On failure the old configuration stays, and the reason is in
 * out_reason (CONFIG_REASON_BYTES). Writes the result to the log and to the service manager.
 */
int server_reload(struct server *server, char *out_reason);

/* Sets read_ms to the present time. Called at the start and after a reload. */
void server_note_read(struct server *server);

/* Warns in the log when the certificate expires within two weeks or has expired. Call about once a
 * second. Looks once after the certificate was loaded, and then once a day. */
void server_check_certificate(struct server *server, const struct config *config);

/*
 * Returns the functions of the server that the service and the handlers call: to add figures, to
 * reload, and to report a new epoch, a new host, or a change of what gateways are told of a host.
 */
struct service_control server_control_new(struct server *server);

/* Pushes to gateways which deposits each host accepts, and its notices, where they have changed.
 * `context` is the server. Called once a second, and when an operator has changed one of them. */
void server_tell_gateways(void *context);

/* The server_clock functions read the system's clocks. struct service_options has pointers to them,
 * and describes them; `context` is unused. */

int64_t server_clock_wall_ms(void *context);
int64_t server_clock_monotonic_ms(void *context);

/* Whether the kernel's state says that a program such as an NTP client keeps the system's clock
 * synchronised. */
bool server_clock_is_synchronised(void *context);

/* A monotonic clock in nanoseconds, for latencies. */
uint64_t server_clock_ns(void *context);

/* --- server_open ------------------------------------------------------------------------------ */

/*
 * Opens the server's listeners at the start and at a reload. At the start, the process
 * becomes the configured user after the TCP addresses are bound and before the Unix sockets are. No
 * connection is accepted before the loop runs.
 */

/*
 * Sets server->home, the data that all listeners share. Declared for tests that put a server
 * together by hand.
 */
void server_open_home(struct server *server);

/*
 * Takes the service manager's sockets. If there are none, binds the configured TCP addresses (ports
 * below 1024 usually need root). Then becomes the configured user for good, if one is configured.
 * Returns 0, CONFIG_REFUSED (the configuration is wrong) or a negative error. On failure a sentence
 * is in out_reason (CONFIG_REASON_BYTES).
 */
int server_open_addresses(struct server *server, char *out_reason);

/* Binds the configured Unix sockets, as the configured user. Returns 0, or a negative error with a
 * sentence in out_reason (CONFIG_REASON_BYTES). A server without any open listener is an error,
 * too. */
int server_open_sockets(struct server *server, char *out_reason);

/* The result of server_listen_prepare: what a reload does to each listener. The arrays have the
 * indexes of server->listeners. */
struct server_listen {
    /* The line of the new configuration that has the listener; NULL: server_listen_commit closes
     * the listener, unless it is inherited. */
    const struct config_listener *claims[SERVER_LISTENERS];
    bool is_new[SERVER_LISTENERS];
};

/*
 * Opens the listeners of the configuration `fresh` that are not open yet. Leaves out an optional
 * address that this machine does not have. Returns 0; the caller then passes *out_listen, which
 * borrows from `fresh`, to server_listen_commit or to server_listen_cancel. Or returns a negative
 * error with a sentence in out_reason (CONFIG_REASON_BYTES); then no listener stays open that was
 * not open before. If the service manager passed sockets, they stay open, and no TCP address is
 * opened.
 */
int server_listen_prepare(struct server *server, const struct config *fresh,
                          struct server_listen *out_listen, char *out_reason);

/* Closes the listeners that server_listen_prepare has opened. */
void server_listen_cancel(struct server *server, const struct server_listen *listen);

/* Closes the listeners that the configuration `fresh` does not have, except inherited ones. Gives
 * the other listeners, except inherited Unix sockets, the words behind the address (`tls`, `local`,
 * ...) of their lines in `fresh`. */
void server_listen_commit(struct server *server, const struct config *fresh,
                          const struct server_listen *listen);
