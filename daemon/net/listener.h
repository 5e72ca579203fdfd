/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listener: one socket on which clients connect. The daemon has bound the socket, or the service
 * manager has passed it. A listener reports each connection to its home (struct listener_home) by a
 * callback. For the loop's thread only.
 */
#pragma once

#include <sys/types.h>

#include <uv.h>

#include "daemon/config/config.h"
#include "daemon/system/log.h"
#include "daemon/system/notify.h"

struct listener;
struct loop;

/* The data that all listeners of a server share. A listener borrows it while the listener is open
 * or closing. */
struct listener_home {
    struct loop *loop;
    /*
     * Called when a connection waits. Returns 0 when the connection was taken (uv_accept) or was
     * refused. LISTENER_LATER: the connection still waits, and listener_turn reports it again. A
     * negative libuv error is logged, at most once in ten seconds; after UV_ENOMEM listener_retry
     * reports the connection again if it still waits.
     */
    int (*accept)(struct listener *listener);
    void *context;       /* for `accept` */
    bool shares_sockets; /* whether Unix sockets, except those of gateways and bridges, belong to
                            admin_group */
    gid_t admin_group;   /* its members are administrators */
    uid_t gateway_uid;   /* uid of `gateway_user`, the only user who may connect to a gateway's
                            listener */
    uid_t bridge_uid;    /* the same for `bridge_user` and a bridge's listener */
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
    /* The configuration's line `listen` for this listener. An inherited TCP socket has the line
     * with its address. An inherited socket without such a line, and an inherited Unix socket, have
     * no words. */
    struct config_listener config;
    bool is_unix;
    bool is_inherited;
    bool is_shared; /* a Unix socket of `admin_group`: its clients are administrators */
    bool is_open;
    bool is_closing;   /* libuv still uses the handle, until a later turn of the loop */
    bool is_held;      /* a connection waits: listener_retry reports it again */
    bool waits_a_turn; /* a connection waits: listener_turn reports it again */
    uint32_t accepted; /* connections reported in this turn */
    struct log_gate gate;
    char path[108]; /* of the Unix socket that this listener made; "": none */
};

/*
 * Binds the address of `config` and listens. Replaces a Unix socket that no process listens on.
 * Returns 0, LISTENER_SKIPPED (the address is optional, and this machine does not have it), or
 * -ERR_SYSTEM with a sentence in out_reason (CONFIG_REASON_BYTES) that names the address and a
 * remedy.
 *
 * On any result but 0 nothing is open, but libuv may still be closing the handle. Until is_closing
 * is false, the struct must stay in place and must not be bound again. The same holds after
 * listener_inherit and listener_close.
 */
enum { LISTENER_SKIPPED = 1 };
int listener_bind(struct listener *listener, const struct listener_home *home,
                  const struct config_listener *config, char *out_reason);

/* Makes a listener of a socket that the service manager passed. Returns 0, or -ERR_SYSTEM with a
 * sentence in out_reason (CONFIG_REASON_BYTES). After 0 the listener owns the socket's descriptor.
 * A TCP listener takes the words (`tls`, `local`, ...) of the line in `config` that has the
 * socket's address. */
int listener_inherit(struct listener *listener, const struct listener_home *home,
                     const struct config *config, const struct inherited_socket *inherited,
                     char *out_reason);

/* Call this function in every turn of the loop. It reports a connection again that could not be
 * accepted in an earlier turn because `accept` returned LISTENER_LATER or the turn had enough new
 * connections. */
void listener_turn(struct listener *listener);

/* Call this function about once a second. It reports a connection that still waits again. */
void listener_retry(struct listener *listener);

/*
 * For an inherited TCP socket: takes the words (`local`, `tls`, ...) of the `listen` line in
 * `config` with the socket's address; without such a line there are no words. The words hold for
 * later connections.
 */
void listener_adopt_words(struct listener *listener, const struct config *config);

/* Stops listening. Removes the file of a Unix socket that this listener has made. */
void listener_close(struct listener *listener);
