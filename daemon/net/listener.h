/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listener: one socket on which clients arrive, bound here or inherited from the service manager.
 */
#ifndef DAEMON_NET_LISTENER_H
#define DAEMON_NET_LISTENER_H

#include <stdbool.h>

#include <uv.h>

#include "daemon/config/config.h"
#include "daemon/system/log.h"
#include "daemon/system/notify.h"

struct server;

struct listener {
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    } uv;
    struct server *server;
    struct config_listener config; /* what it was bound to; not of one that was inherited */
    bool is_unix;
    bool is_inherited;
    bool is_on_site; /* its clients are given the keys of epochs */
    bool is_shared;  /* whoever may connect to it is an administrator: see `admin_group` */
    bool is_limited; /* local clients, too, are held to the limits of an address */
    enum config_security security;
    bool is_open;
    bool is_closing;   /* its handle is: the place is free after a turn of the loop */
    bool is_held;      /* a connection waits for listener_retry */
    bool waits_a_turn; /* and for listener_turn: there were enough, or no time for it */
    uint32_t accepted; /* in this turn */
    struct log_gate gate;
    char path[108]; /* of a Unix socket that we made and remove; "" otherwise */
};

/*
 * Binds and listens. 0; LISTENER_SKIPPED when an optional one cannot be had here; -ERR_SYSTEM with
 * a sentence in out_reason (CONFIG_REASON_BYTES) that names the address and what to do. A stale
 * Unix socket is replaced, one that somebody listens on is not. Unless 0, nothing is open, but the
 * loop may still be closing the handle: the listener stays in place, and is not bound again, until
 * the loop has had a turn. The same goes for listener_inherit and listener_close.
 */
enum { LISTENER_SKIPPED = 1 };
int listener_bind(struct listener *listener, struct server *server,
                  const struct config_listener *config, char *out_reason);

/* The same for an inherited socket; takes the descriptor. */
int listener_inherit(struct listener *listener, struct server *server,
                     const struct notify_socket *inherited, char *out_reason);

/* To be called in every turn of the loop: accepts a few connections that were kept waiting. */
void listener_turn(struct listener *listener);

/* To be called now and then: accepts what there was no memory for. */
void listener_retry(struct listener *listener);

/* Takes the words behind an address: they hold for connections from now on. */
void listener_set_words(struct listener *listener, const struct config_listener *config);

/* The words of the `listen` line of the same address, if there is one; for inherited sockets. */
void listener_adopt_words(struct listener *listener, const struct config *config);

/* Stops listening; a Unix socket's file is removed. */
void listener_close(struct listener *listener);

#endif
