/* SPDX-License-Identifier: Apache-2.0 */
/* The checks that a new session must pass. A session that fails a check is refused. */
#include <netinet/in.h>
#include <string.h>

#include "daemon/device/devices.h"
#include "daemon/net/server_tls.h"
#include "daemon/net/session_inner.h"

int session_begin_tls(struct session *session, enum config_security security)
{
    if (security == CONFIG_PLAIN) {
        return 0;
    }
    session_begin_handshake(session);
    int rc = session_evict_for_handshake(session->all, session)
                 ? server_tls_secure(session->all->tls, security, &session->transport)
                 : UV_EBUSY;
    if (rc != 0) {
        session_end_handshake(session);
    }
    return rc;
}

/*
 * Answers a new connection with an error and ends the session. Resets the connection without an
 * error if `is_told` is false, or if many refused sessions are ending already. With TLS, also
 * resets the connection if handshakes are scarce or no handshake can begin.
 */
static void refuse_new(struct session *session, enum config_security security, bool is_told,
                       uint64_t retry_after_ms, const char *sentence)
{
    struct hearsay_response response = {.kind = HEARSAY_RESPONSE_ERROR};

    bool is_answered = session_count_refused(session) && is_told;
    refusals_note_connection(&session->all->refusals, loop_now_ms(session->all->loop));
    if (session->client.sender != NULL) {
        senders_leave(session->client.sender);
        session->client.sender = NULL; /* while it ends, it takes no place of its address */
    }
    /* With TLS the client can read the error only after a handshake. If handshakes are scarce,
     * clients that stay get them, and this connection is reset. */
    if (!is_answered || (security != CONFIG_PLAIN && session_handshakes_are_short(session->all)) ||
        session_begin_tls(session, security) != 0) {
        session_reset(session);
        return;
    }
    msg_error_set(&response.error, HEARSAY_CODE_RATE_LIMITED, NULL, "%s", sentence);
    response.error.retry_after_ms = retry_after_ms;
    session_respond(&session->client, &response);
    session_end(session);
}

/* Finds out what counts as the sender of a connection: the device behind the address where the
 * kernel knows the device, otherwise what sender_address_of says. */
static void find_sender(const struct session *session, const struct sockaddr *peer,
                        const struct sockaddr *local, struct sender_address *out_address)
{
    struct device_query query;
    uint64_t device = 0;

    sender_address_of(peer, local, out_address);
    if (session->by_address) {
        return;
    }
    device_query_of(peer, local, &query);
    switch (devices_find(session->all->devices, &query, &device)) {
    case DEVICE_FOUND:
        sender_address_set_device(out_address, device);
        break;
    case DEVICE_HIDDEN:
        sender_address_widen(out_address);
        break;
    case DEVICE_NONE:
        break;
    }
}

bool session_enter_sender(struct session *session, enum config_security security,
                          const struct sockaddr_storage *peer, const struct sockaddr_storage *local)
{
    struct service *service = session->all->service;
    struct requester *client = &session->client;
    struct sender_limits limits = service->sender_limits;
    struct sender_address address;

    find_sender(session, (const struct sockaddr *)peer, (const struct sockaddr *)local, &address);
    client->sender_tag = senders_tag(service->senders, &address);
    client->wide_tag = senders_wide_tag(service->senders, &address);
    const struct sender *full = senders_find_full(service->senders, &address, &limits);
    if (full != NULL && session_evict_idle_of(session->all, full)) {
        limits.connections = UINT32_MAX; /* the dropped one counts until it has ended */
    }
    int rc = senders_enter(service->senders, &address, &limits, service_monotonic_ms(service),
                           &client->sender);
    if (rc != 0) {
        refuse_new(
            session, security, rc == SENDER_REFUSED, SESSION_RETRY_MS,
            "as many connections of this address as are taken here are open; close one, or try "
            "again later");
    }
    return rc == 0;
}

/* Refuses a connection that was counted already. Sends no error if the address has got many errors
 * lately. */
static void refuse_counted(struct session *session, enum config_security security,
                           uint64_t retry_after_ms, const char *sentence)
{
    struct service *service = session->all->service;
    struct sender *sender = session->client.sender;
    bool is_told = sender == NULL || sender_take(sender, SENDER_TOLD, &service->sender_limits, 1,
                                                 service_monotonic_ms(service)) == 0;

    refuse_new(session, security, is_told, retry_after_ms, sentence);
}

bool session_pay_connection(struct session *session, enum config_security security)
{
    struct service *service = session->all->service;
    struct sender *sender = session->client.sender;

    uint64_t wait_ms = sender == NULL ? 0
                                      : sender_take(sender, SENDER_QUERY, &service->sender_limits,
                                                    1, service_monotonic_ms(service));
    if (wait_ms > 0) {
        refuse_counted(session, security, wait_ms,
                       "this address sends more queries than are taken here");
    }
    return wait_ms == 0;
}

bool session_take_place(struct session *session, enum config_security security)
{
    struct sessions *all = session->all;

    if (all->count - all->refused_count > all->service->config.limits.sessions &&
        !session_evict_for(all, session)) {
        refuse_counted(session, security, SESSION_RETRY_MS,
                       "as many connections as are taken here are open; try again");
        return false;
    }
    return true;
}

/* --- gateways --------------------------------------------------------------------------------- */

/* Writes 4 or 16 bytes as a socket address. */
static void write_address(const struct hearsay_bytes *bytes, struct sockaddr_storage *out_address)
{
    struct sockaddr_in in4 = {.sin_family = AF_INET};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};

    *out_address = (struct sockaddr_storage){.ss_family = AF_UNSPEC};
    if (bytes->count == sizeof(in4.sin_addr)) {
        memcpy(&in4.sin_addr, bytes->data, sizeof(in4.sin_addr));
        memcpy(out_address, &in4, sizeof(in4));
    } else if (bytes->count == sizeof(in6.sin6_addr)) {
        memcpy(&in6.sin6_addr, bytes->data, sizeof(in6.sin6_addr));
        memcpy(out_address, &in6, sizeof(in6));
    }
}

static const char no_gateway[] =
    "only a gateway may speak for others, on a `listen` line of the server with the word gateway";
static const char no_address[] = "on_behalf is 4 or 16 bytes, the address of one client";

static bool refuse_on_behalf(struct session *session, uint64_t id, const char *sentence)
{
    requester_refuse(&session->client, id, HEARSAY_CODE_INVALID, "on_behalf", "%s", sentence);
    session_end(session);
    return false;
}

bool session_take_on_behalf(struct session *session, const struct hearsay_request *request)
{
    const struct hearsay_hello *hello = &request->hello;
    struct requester *client = &session->client;
    struct sockaddr_storage peer;
    struct sockaddr_storage local;

    if (hello->on_behalf.count == 0 && hello->on_behalf_local.count == 0) {
        return true;
    }
    if (!client->may_speak_for) {
        return refuse_on_behalf(session, request->id, no_gateway);
    }
    if (!here_address_read(hello->on_behalf.data, hello->on_behalf.count, &client->address)) {
        return refuse_on_behalf(session, request->id, no_address);
    }
    client->is_gateway = false;
    write_address(&hello->on_behalf, &peer);
    write_address(&hello->on_behalf_local, &local);
    return session_enter_sender(session, CONFIG_PLAIN, &peer, &local) &&
           session_pay_connection(session, CONFIG_PLAIN);
}

/* Why a request may not have on_behalf; NULL: it may. */
static const char *fault_of_asker(const struct requester *client,
                                  const struct hearsay_request *request)
{
    struct here_address address;

    if (!client->may_speak_for) {
        return no_gateway;
    }
    if (!client->is_gateway) {
        return "Hello has said already for whom this connection speaks; a request with on_behalf "
               "of "
               "its own needs a connection whose Hello has none";
    }
    switch (request->kind) {
    case HEARSAY_REQUEST_QUERY:
    case HEARSAY_REQUEST_GET:
    case HEARSAY_REQUEST_HERE:
    case HEARSAY_REQUEST_SUMMARY:
        break;
    default:
        return "only query, get, here and summary have on_behalf; to write for a client, open a "
               "connection whose Hello has on_behalf";
    }
    return here_address_read(request->asker.on_behalf.data, request->asker.on_behalf.count,
                             &address)
               ? NULL
               : no_address;
}

bool session_take_asker(struct session *session, const struct hearsay_request *request)
{
    const struct hearsay_asker *asker = &request->asker;
    struct service *service = session->all->service;
    struct requester *client = &session->client;
    struct sender_address address;
    struct sockaddr_storage peer;
    struct sockaddr_storage local;

    if ((asker->on_behalf.count == 0 && asker->on_behalf_local.count == 0) ||
        request->kind == HEARSAY_REQUEST_UNKNOWN) {
        return true;
    }
    const char *fault = fault_of_asker(client, request);
    if (fault != NULL) {
        requester_refuse(client, request->id, HEARSAY_CODE_INVALID, "on_behalf", "%s", fault);
        return false;
    }
    write_address(&asker->on_behalf, &peer);
    write_address(&asker->on_behalf_local, &local);
    find_sender(session, (const struct sockaddr *)&peer, (const struct sockaddr *)&local, &address);
    client->asker = senders_keep(service->senders, &address, &service->sender_limits,
                                 service_monotonic_ms(service));
    return true;
}

void session_drop_asker(struct session *session)
{
    if (session->client.asker != NULL) {
        sender_release(session->client.asker);
        session->client.asker = NULL;
    }
}
