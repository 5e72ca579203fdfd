/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a session begins: which limits apply to its address, and whether it may stay. The parts that
 * only lasting sessions need are set up last, because thousands of connections may be refused.
 */
#include <sys/socket.h>
#include <unistd.h>

#include <sodium.h>

#include "daemon/net/listener.h"
#include "daemon/net/server_tls.h"
#include "daemon/net/session_evict.h"
#include "daemon/net/session_inner.h"
#include "daemon/system/privilege.h"

enum { KEEPALIVE_S = 60 };

/*
 * Whether the client of a Unix socket is an administrator. Administrators are the daemon's own
 * user, root, and all clients of a socket that only the administrators' group may open. In a user
 * namespace all unknown users share the uid PRIVILEGE_UNKNOWN_UID, which may be the daemon's own
 * uid. So a peer with that uid is no administrator.
 */
static bool is_administrator(uv_stream_t *stream, const struct listener *listener)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);
    uv_os_fd_t descriptor = -1;

    if (uv_fileno((uv_handle_t *)stream, &descriptor) != 0 ||
        getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
        return false;
    }
    return peer.uid != PRIVILEGE_UNKNOWN_UID &&
           (peer.uid == geteuid() || peer.uid == 0 || listener->is_shared);
}

/* Switches TLS on if the listener has TLS. Returns 0, a libuv error, or UV_EBUSY: too many
 * handshakes are under way. A handshake costs far more CPU time than a request. */
static int begin_tls(struct session *session, const struct listener *listener)
{
    enum config_security security = config_security(&listener->config);

    if (security == CONFIG_PLAIN) {
        return 0;
    }
    if (!session_evict_for_handshake(session->all, session)) {
        return UV_EBUSY;
    }
    int rc = server_tls_secure(session->all->tls, security, &session->transport);
    if (rc == 0) {
        session_begin_handshake(session);
    }
    return rc;
}

/*
 * Answers a new connection with an error and ends the session. Without an error the connection is
 * closed: if `is_told` is false, or if many refused sessions are ending already.
 */
static void refuse_new(struct session *session, const struct listener *listener, bool is_told,
                       uint64_t retry_after_ms, const char *sentence)
{
    struct msg_response response = {.kind = MSG_RESPONSE_ERROR};

    bool is_answered = session_count_refused(session) && is_told;
    refusals_note_connection(&session->all->refusals, loop_now_ms(session->all->loop));
    if (session->client.sender != NULL) {
        senders_leave(session->client.sender);
        session->client.sender = NULL; /* while it ends, it takes no place of its address */
    }
    /* With TLS the error needs a handshake. If handshakes are scarce, clients that stay come first.
     */
    if (!is_answered ||
        (config_security(&listener->config) != CONFIG_PLAIN &&
         session_handshakes_are_short(session->all)) ||
        begin_tls(session, listener) != 0) {
        session_reset(session);
        return;
    }
    msg_error_set(&response.error, MSG_RATE_LIMITED, NULL, "%s", sentence);
    response.error.retry_after_ms = retry_after_ms;
    session_respond(&session->client, &response);
    session_end(session);
}

/* Gets the addresses of both ends; AF_UNIX for a Unix socket. Returns false if the client has gone
 * already. */
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
    /* The address of our end tells which addresses are on link. Only limits of IPv6 addresses
     * depend on that. */
    return out_peer->ss_family != AF_INET6 ||
           uv_tcp_getsockname(tcp, (struct sockaddr *)out_local, &local_size) == 0;
}

/*
 * Counts the connection with the other connections of its address, unless the address is exempt.
 * Returns false if the address has too many; then the connection was refused.
 */
static bool count_address(struct session *session, const struct listener *listener)
{
    struct service *service = session->all->service;
    struct requester *client = &session->client;
    struct sockaddr_storage peer;
    struct sockaddr_storage local;
    struct sender_address address;

    if (!find_address(session, listener->is_unix, &peer, &local)) {
        session_close(session);
        return false;
    }
    if (!listener->config.limited && sender_is_local((struct sockaddr *)&peer)) {
        return true;
    }
    sender_address_of((struct sockaddr *)&peer, (struct sockaddr *)&local, &address);
    client->sender_tag = senders_tag(service->senders, &address);
    client->wide_tag = senders_wide_tag(service->senders, &address);
    int rc = senders_enter(service->senders, &address, &service->sender_limits,
                           service_monotonic_ms(service), &client->sender);
    if (rc != 0) {
        refuse_new(
            session, listener, rc == SENDER_REFUSED, SESSION_RETRY_MS,
            "as many connections of this address as are taken here are open; close one, or try "
            "again later");
    }
    return rc == 0;
}

/* Refuses a connection that was counted already. Sends no error if the address has got many errors
 * lately. */
static void refuse_counted(struct session *session, const struct listener *listener,
                           uint64_t retry_after_ms, const char *sentence)
{
    struct service *service = session->all->service;
    struct sender *sender = session->client.sender;
    bool is_told = sender == NULL || sender_take(sender, SENDER_TOLD, &service->sender_limits, 1,
                                                 service_monotonic_ms(service)) == 0;

    refuse_new(session, listener, is_told, retry_after_ms, sentence);
}

/*
 * Whether the connection may stay. A connection costs its address as many tokens as a query, and
 * the number of all sessions is bounded. Returns false if the connection was refused.
 */
static bool is_welcome(struct session *session, const struct listener *listener)
{
    struct sessions *all = session->all;
    struct service *service = all->service;
    struct sender *sender = session->client.sender;

    uint64_t wait_ms = sender == NULL ? 0
                                      : sender_take(sender, SENDER_QUERY, &service->sender_limits,
                                                    1, service_monotonic_ms(service));
    if (wait_ms > 0) {
        refuse_counted(session, listener, wait_ms,
                       "this address sends more queries than are taken here");
        return false;
    }
    if (all->count - all->refused_count > service->config.limits.sessions_max &&
        !session_evict_for(all, session)) {
        refuse_counted(session, listener, SESSION_RETRY_MS,
                       "as many connections as are taken here are open; try again");
        return false;
    }
    return true;
}

/* Sets up a session that stays. */
static void set_up(struct session *session, const struct listener *listener)
{
    struct transport *transport = &session->transport;

    randombytes_buf(session->client.resume_token, RESUME_TOKEN_BYTES);
    session->client.is_on_site = listener->config.local;
    if (listener->is_unix) {
        session->client.is_local = true;
        session->client.is_administrator = is_administrator(&transport->uv.stream, listener);
    } else {
        (void)uv_tcp_nodelay(&transport->uv.tcp, 1); /* only slower without */
        /* a watching client may send nothing for hours; keepalive finds out if it is gone */
        (void)uv_tcp_keepalive(&transport->uv.tcp, 1, KEEPALIVE_S);
    }
    transport_read(transport);
}

int session_accept(struct sessions *all, struct listener *listener)
{
    struct transport_options options = {
        .loop = &all->loop->uv,
        .is_pipe = listener->is_unix,
        .events = &session_transport_events,
        .alloc = all->alloc,
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
    if (rc == 0 && !(count_address(session, listener) && is_welcome(session, listener))) {
        return SESSION_REFUSED;
    }
    rc = rc == 0 ? begin_tls(session, listener) : rc;
    if (rc != 0) {
        session_close(session);
        return rc;
    }
    set_up(session, listener);
    return 0;
}
