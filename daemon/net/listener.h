/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listener: one socket on which clients connect, bound here or inherited from the service manager.
 * Reports connections to its home. For the loop's thread only.
 */
#ifndef DAEMON_NET_LISTENER_H
#define DAEMON_NET_LISTENER_H

#include <stdbool.h>
#include <sys/types.h>

#include <uv.h>

#include "daemon/config/config.h"
#include "daemon/system/log.h"
#include "daemon/system/notify.h"

struct listener;
struct loop;

/* What listeners of one server share. Borrowed while a listener is open or closing. */
struct listener_home {
    struct loop *loop;
    /*
     * A connection waits. The owner takes it with uv_accept, or refuses it: 0. LISTENER_LATER: the
     * connection stays, and listener_turn reports it again. Otherwise a libuv error; after
     * UV_ENOMEM the connection stays, and listener_retry reports it again.
     */
    int (*accept)(struct listener *listener);
    void *context;       /* for `accept` */
    bool shares_sockets; /* Unix sockets are given to the group: */
    gid_t admin_group;   /* whose members administer */
};

enum { LISTENER_LATER = 1 };

struct listener {
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    } uv;
    const struct listener_home *home;
    /* The line of `listen`. If inherited: the line of the same address; all zero without one. */
    struct config_listener config;
    bool is_unix;
    bool is_inherited;
    bool is_shared; /* every client of this socket is an administrator: see `admin_group` */
    bool is_open;
    bool is_closing;   /* libuv still uses the handle, for one turn of the loop */
    bool is_held;      /* a connection waits: listener_retry reports it again */
    bool waits_a_turn; /* a connection waits: listener_turn reports it again */
    uint32_t accepted; /* connections in this turn */
    struct log_gate gate;
    char path[108]; /* of a Unix socket that this listener made; "" otherwise */
};

/*
 * Binds and listens. 0; LISTENER_SKIPPED when an address that is optional is not on this machine;
 * -ERR_SYSTEM with a sentence in out_reason (CONFIG_REASON_BYTES) that names the address and what
 * to do. A Unix socket that no process listens on is replaced. Unless 0, nothing is open, but libuv
 * may still be closing the handle: until is_closing is false, the struct must stay in place and
 * must not be bound again. The same goes for listener_inherit and listener_close.
 */
enum { LISTENER_SKIPPED = 1 };
int listener_bind(struct listener *listener, const struct listener_home *home,
                  const struct config_listener *config, char *out_reason);

/* The same for an inherited socket; takes the descriptor. `config` is read for the words behind the
 * address. */
int listener_inherit(struct listener *listener, const struct listener_home *home,
                     const struct config *config, const struct notify_socket *inherited,
                     char *out_reason);

/* To be called in every turn of the loop: reports a connection that was to come later. */
void listener_turn(struct listener *listener);

/* To be called about once a second: reports a connection that there was no memory for. */
void listener_retry(struct listener *listener);

/*
 * For an inherited TCP socket: takes the words (`local`, `tls`, ...) of the `listen` line of the
 * same address. They hold for connections from now on.
 */
void listener_adopt_words(struct listener *listener, const struct config *config);

/* Stops listening; a Unix socket's file is removed. */
void listener_close(struct listener *listener);

#endif
