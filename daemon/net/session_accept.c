/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a session begins: which user connects, and from which address. The parts that only lasting
 * sessions need are set up last, because many connections may be refused.
 */
#include <inttypes.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <sodium.h>

#include "daemon/net/listener.h"
#include "daemon/net/session_inner.h"
#include "daemon/system/privilege.h"

enum { KEEPALIVE_S = 60 };

/* Gets the user who connected to a Unix socket. Returns false if the kernel does not know the user.
 */
static bool find_credentials(uv_stream_t *stream, struct ucred *out_peer)
{
    socklen_t size = sizeof(*out_peer);
    uv_os_fd_t descriptor = -1;

    return uv_fileno((uv_handle_t *)stream, &descriptor) == 0 &&
           getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, out_peer, &size) == 0;
}

/*
 * Whether the client of a Unix socket is an administrator. Administrators are the daemon's own
 * user, root, and all clients of a socket that belongs to the administrators' group. A client
 * on the socket of a gateway or of a bridge is no administrator. In a user namespace all unknown
 * users share the uid PRIVILEGE_UNKNOWN_UID, which may be the daemon's own uid. So a peer with that
 * uid is no administrator. Sets *out_uid if the kernel tells the user.
 */
static bool is_administrator(uv_stream_t *stream, const struct listener *listener,
                             uint32_t *out_uid)
{
    struct ucred peer;

    if (listener->config.gateway || listener->config.bridge || !find_credentials(stream, &peer)) {
        return false;
    }
    *out_uid = peer.uid;
    return peer.uid != PRIVILEGE_UNKNOWN_UID &&
           (peer.uid == geteuid() || peer.uid == 0 || listener->is_shared);
}

/*
 * Whether the client of a gateway's socket is `gateway_user`, or that of a bridge's `bridge_user`.
 * If the client is another user, logs the uid, at most one line in ten seconds. Returns false
 * without a line if the kernel does not tell the user.
 */
static bool is_guest(uv_stream_t *stream, struct listener *listener)
{
    bool is_bridge = listener->config.bridge;
    uid_t uid = is_bridge ? listener->home->bridge_uid : listener->home->gateway_uid;
    struct ucred peer;
    uint64_t withheld = 0;

    if (!find_credentials(stream, &peer)) {
        return false;
    }
    if (peer.uid == uid && peer.uid != PRIVILEGE_UNKNOWN_UID) {
        return true;
    }
    if (log_gate_opens(&listener->gate, loop_now_ms(listener->home->loop), &withheld)) {
        log_warning("user %u may not connect to %s: `%s` is user %u (%" PRIu64
                    " more since this was last said)",
                    (unsigned)peer.uid, listener->path, is_bridge ? "bridge_user" : "gateway_user",
                    (unsigned)uid, withheld);
    }
    return false;
}

/* Gets the client's address and, for an IPv6 client, the server's own address. Both are AF_UNIX for
 * a Unix socket. Returns false if the client has gone already. */
static bool find_address(const struct session *session, bool is_unix,
                         struct sockaddr_storage *out_peer, struct sockaddr_storage *out_local)
{
    const uv_tcp_t *tcp = &session->transport.uv.tcp;
    int peer_size = sizeof(*out_peer);
    int local_size = sizeof(*out_local);

    *out_peer = (struct sockaddr_storage){.ss_family = AF_UNIX};
    *out_local = *out_peer;
    if (is_unix) {
        return true;
    }
    if (uv_tcp_getpeername(tcp, (struct sockaddr *)out_peer, &peer_size) != 0) {
        return false;
    }
    /* The server's own address tells whether an IPv6 client is on link. */
    return out_peer->ss_family != AF_INET6 ||
           uv_tcp_getsockname(tcp, (struct sockaddr *)out_local, &local_size) == 0;
}

/* Stores the address of a TCP client, for the here labels of its place. */
static void note_address(struct requester *client, const struct sockaddr_storage *peer)
{
    const struct sockaddr_in *in4 = (const struct sockaddr_in *)peer;
    const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)peer;

    if (peer->ss_family == AF_INET) {
        (void)here_address_read((const uint8_t *)&in4->sin_addr, sizeof(in4->sin_addr),
                                &client->address);
    } else if (peer->ss_family == AF_INET6) {
        (void)here_address_read(in6->sin6_addr.s6_addr, sizeof(in6->sin6_addr), &client->address);
    }
}

/* Applies the limits of the connection's address, unless the address is exempt. Returns false if
 * the connection was refused or closed. */
static bool count_address(struct session *session, const struct listener *listener)
{
    struct sockaddr_storage peer;
    struct sockaddr_storage local;

    if (!find_address(session, listener->is_unix, &peer, &local)) {
        session_close(session);
        return false;
    }
    note_address(&session->client, &peer);
    return (!listener->config.limited && sender_is_local((struct sockaddr *)&peer)) ||
           session_enter_sender(session, config_security(&listener->config), &peer, &local);
}

/* Sets up a session that stays. */
static void set_up(struct session *session, const struct listener *listener)
{
    struct transport *transport = &session->transport;

    randombytes_buf(session->client.resume_token, RESUME_TOKEN_BYTES);
    session->client.is_on_site = listener->config.local;
    session->client.may_speak_for = listener->config.gateway;
    session->client.is_gateway = listener->config.gateway;
    session->client.is_bridge = listener->config.bridge;
    if (listener->is_unix) {
        session->client.is_local = true;
        session->client.is_administrator =
            is_administrator(&transport->uv.stream, listener, &session->client.uid);
    } else {
        (void)uv_tcp_nodelay(&transport->uv.tcp, 1); /* only slower without */
        /* a watching client may send nothing for hours; keepalive finds out if it is gone */
        (void)uv_tcp_keepalive(&transport->uv.tcp, 1, KEEPALIVE_S);
    }
    transport_read(transport);
}

/* Whether the new connection is within all limits. If not, the connection was refused or closed. */
static bool may_stay(struct session *session, struct listener *listener)
{
    enum config_security security = config_security(&listener->config);

    session->by_address = listener->config.by_address;
    if ((listener->config.gateway || listener->config.bridge) &&
        !is_guest(&session->transport.uv.stream, listener)) {
        session_close(session);
        return false;
    }
    return count_address(session, listener) && session_pay_connection(session, security) &&
           session_take_place(session, security);
}

int session_accept(struct sessions *all, struct listener *listener)
{
    struct transport_options options = {
        .loop = &all->loop->uv,
        .is_pipe = listener->is_unix,
        .events = &session_transport_events,
        .alloc = &all->buffers.alloc,
        .frame_bytes = all->service->config.limits.frame_bytes,
    };

    sessions_reap(all); /* the places of sessions that were dropped are free */
    struct session *session = alloc_zeroed(all->alloc, 1, sizeof(*session));
    if (session == NULL) {
        return UV_ENOMEM;
    }
    int rc = transport_init(&session->transport, &options);
    if (rc != 0) {
        alloc_release(all->alloc, session);
        return rc;
    }
    session->client.events = &session_client_events;
    session_add(all, session);
    rc = uv_accept(&listener->uv.stream, &session->transport.uv.stream);
    if (rc == 0 && !may_stay(session, listener)) {
        return SESSION_REFUSED;
    }
    rc = rc == 0 ? session_begin_tls(session, config_security(&listener->config)) : rc;
    if (rc != 0) {
        session_close(session);
        return rc;
    }
    set_up(session, listener);
    return 0;
}
