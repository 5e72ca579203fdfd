/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file that the other files of session build on: a session's states, its entries in the loop's
 * lists, its output with the bounds on output, and its end.
 */
#include <assert.h>
#include <inttypes.h>

#include "daemon/net/session_inner.h"
#include "daemon/system/container.h"
#include "daemon/system/list.h"
#include "daemon/watch/asks.h"
#include "daemon/watch/watch.h"
#include "proto/codec/codec.h"

enum {
    /* A session that uses more than a 16th (1 / SHARE) of the CPU time for a while is busy. */
    SHARE = 16,
    /* so a session that takes no requests stays busy for 24 ms at most */
    SPENT_NS_MAX = 16 * SESSION_SLICE_NS,
    REFUSED_MAX = 64 /* refused sessions that may be ending at a time */
};

struct session *session_of_client(struct requester *client)
{
    return CONTAINER_OF(client, struct session, client);
}

/* --- states ----------------------------------------------------------------------------------- */

void session_move_to(struct session *session, enum session_state state)
{
    assert(state > session->state); /* a state may be left out, but none comes back */
    session->state = state;
    session->since_ms = loop_now_ms(session->all->loop);
}

bool session_takes_requests(const struct session *session)
{
    return session->state == SESSION_NEW || session->state == SESSION_OPEN;
}

void session_add(struct sessions *all, struct session *session)
{
    session->all = all;
    session->number = ++all->total;
    session->since_ms = loop_now_ms(all->loop);
    session->activity_ms = session->since_ms;
    session->fresh_ns = SESSION_SLICE_NS;
    DL_APPEND(all->first, session);
    all->count++;
}

bool session_is_done(const struct session *session)
{
    return session->client.work_count == 0 && transport_output_bytes(&session->transport) == 0;
}

void session_begin_handshake(struct session *session)
{
    session->is_shaking_hands = true;
    session->all->handshakes++;
    if (session->client.sender != NULL) {
        sender_begin_handshake(session->client.sender);
    }
}

void session_end_handshake(struct session *session)
{
    if (session->is_shaking_hands) {
        session->is_shaking_hands = false;
        session->all->handshakes--;
        if (session->client.sender != NULL) {
            sender_end_handshake(session->client.sender);
        }
    }
}

/* --- CPU time --------------------------------------------------------------------------------- */

/* Returns the account of CPU time that the session is charged to. The account of the session's
 * sender counts all connections of the sender. A session without a sender, or of the shared sender
 * (sender_account), has an account of its own. */
static struct account *account_of(struct session *session)
{
    struct sender *sender = session->client.sender;
    struct account *account = sender != NULL ? sender_account(sender) : NULL;

    return account != NULL ? account : &session->spent;
}

bool session_is_over_share(struct session *session, uint64_t now_ns)
{
    struct account *account = account_of(session);

    account_leak(account, now_ns, SHARE);
    return account->spent_ns > SESSION_SLICE_NS;
}

/*
 * The first `fresh_ns` of CPU time of a session are also charged to new connections. Otherwise a
 * client that connects again and again would get the first slice of a new session each time.
 */
void session_spend(struct session *session, uint64_t began_ns)
{
    uint64_t now_ns = service_monotonic_ns(session->all->service);
    uint64_t took_ns = now_ns - began_ns;
    uint64_t fresh_ns = took_ns < session->fresh_ns ? took_ns : session->fresh_ns;
    struct account *account = account_of(session);

    account_leak(account, began_ns, SHARE);
    account_spend(account, now_ns, took_ns, SPENT_NS_MAX);
    session->fresh_ns -= fresh_ns;
    loop_spend(session->all->loop, took_ns);
    loop_spend_on_arrivals(session->all->loop, now_ns, fresh_ns);
}

void session_spend_elsewhere(struct session *session, uint64_t spent_ns)
{
    uint64_t now_ns = service_monotonic_ns(session->all->service);

    account_leak(account_of(session), now_ns, SHARE);
    account_spend(account_of(session), now_ns, spent_ns, SPENT_NS_MAX);
}

/* --- the loop's lists ------------------------------------------------------------------------- */

void session_mark_ready(struct session *session)
{
    if (!session->entry.is_ready && session->state != SESSION_CLOSED) {
        uint64_t now_ns = service_monotonic_ns(session->all->service);
        loop_add_ready(session->all->loop, &session->entry, session_is_over_share(session, now_ns));
    }
}

void session_mark_ready_if_held(struct session *session)
{
    if (!session->transport.reading) {
        session_mark_ready(session);
    }
}

void session_mark_dirty(struct session *session)
{
    if (session->state != SESSION_CLOSED) {
        loop_add_dirty(session->all->loop, &session->entry);
    }
}

/* --- the end ---------------------------------------------------------------------------------- */

/* Bytes of output that wait to be sent, and of pushes that wait in queues. */
static size_t output_bytes(const struct session *session)
{
    return transport_output_bytes(&session->transport) + session->queued_bytes;
}

void session_count_output(struct session *session)
{
    size_t now = session->state == SESSION_CLOSED ? 0 : output_bytes(session);

    session->all->output_bytes += now;
    session->all->output_bytes -= session->counted_output;
    session->counted_output = now;
}

/* Closes the stream of a session and takes the session out of service. sessions_reap does the rest,
 * because a function of this session, of its watches or of its sender may be on the stack. */
static void session_leave(struct session *session,
                          void (*close_stream)(struct transport *transport))
{
    if (session->state == SESSION_CLOSED) {
        return;
    }
    loop_remove(session->all->loop, &session->entry);
    session_end_handshake(session);
    session_move_to(session, SESSION_CLOSED);
    session_count_output(session);
    session->client.is_gone = true;
    loop_add_gone(session->all->loop, &session->entry);
    close_stream(&session->transport);
}

void session_close(struct session *session)
{
    session_leave(session, transport_close);
}

void session_reset(struct session *session)
{
    session_leave(session, transport_reset);
}

static void session_free(struct session *session)
{
    struct sessions *all = session->all;

    DL_DELETE(all->first, session);
    all->count--;
    all->refused_count -= session->is_refused ? 1 : 0;
    log_debug("session %" PRIu64 " is gone", session->number);
    alloc_release(all->alloc, session);
}

void sessions_reap(struct sessions *all)
{
    struct loop_entry *entry;

    while ((entry = loop_take_gone(all->loop)) != NULL) {
        struct session *session = CONTAINER_OF(entry, struct session, entry);
        watch_client_gone(all->service, &session->client);
        asks_client_gone(all->service, &session->client);
        if (session->client.sender != NULL) {
            senders_leave(session->client.sender);
            session->client.sender = NULL;
        }
        /* A session that cannot be freed yet is added to the list `gone` again, by on_closed or
         * on_work_ended. */
        if (session->stream_closed && session->client.work_count == 0) {
            session_free(session);
        }
    }
}

void session_end(struct session *session)
{
    if (!session_takes_requests(session)) {
        return;
    }
    session_move_to(session, SESSION_ENDING);
    transport_pause(&session->transport);
    session_mark_dirty(session);
}

/* --- drops ------------------------------------------------------------------------------------ */

void session_note_drop(const struct session *session, enum drop reason)
{
    drops_note(&session->all->drops, reason, session->number, loop_now_ms(session->all->loop));
}

/* Stores why the session is dropped. The client reads the reason in the field `dropped` of Welcome
 * when it soon reconnects with its resume token. */
static void note_for_resume(const struct session *session, enum hearsay_code code,
                            const char *sentence)
{
    struct service *service = session->all->service;

    resume_note(&service->resume, session->client.resume_token, code, sentence,
                service_monotonic_ms(service));
}

void session_drop(struct session *session, enum hearsay_code code, const char *sentence)
{
    bool is_welcomed = session->state == SESSION_OPEN || session->state == SESSION_ENDING;

    if (is_welcomed && !session->is_refused) { /* session_give_way has noted it */
        note_for_resume(session, code, sentence);
    }
    session_close(session);
}

void session_fail(struct session *session)
{
    session_note_drop(session, DROP_FAILED);
    session_close(session);
}

void session_drop_slow_reader(struct session *session, enum drop reason)
{
    static const char *const sentences[DROPS] = {
        [DROP_UNREAD] = "the session was dropped because it did not read what was sent: more "
                        "waited than session_output_bytes of Welcome allows",
        [DROP_STUCK] = "the session was dropped because it did not read what was sent: it took "
                       "none of what waited for too long",
        [DROP_OUTPUT] = "the session was dropped because what all clients had not read was more "
                        "than the server keeps, and it had left the most",
    };

    session_note_drop(session, reason);
    watch_note_slow(session->all->service, &session->client);
    session_drop(session, HEARSAY_CODE_QUOTA, sentences[reason]);
}

bool session_count_refused(struct session *session)
{
    session->is_refused = true;
    return ++session->all->refused_count <= REFUSED_MAX;
}

void session_give_way(struct session *session)
{
    static const char sentence[] =
        "the session was dropped because as many are open as are taken here, in all or of this "
        "address, and this address or its network has the most of them; try again later";
    struct hearsay_response response = {.kind = HEARSAY_RESPONSE_ERROR};

    if (session->state == SESSION_OPEN) {
        note_for_resume(session, HEARSAY_CODE_RATE_LIMITED, sentence);
    }
    session_note_drop(session, DROP_EVICTED);
    if (!session_count_refused(session)) {
        session_reset(session);
        return;
    }
    msg_error_set(&response.error, HEARSAY_CODE_RATE_LIMITED, NULL, "%s", sentence);
    response.error.retry_after_ms = SESSION_RETRY_MS;
    session_respond(&session->client, &response);
    session_end(session);
}

/* --- output ----------------------------------------------------------------------------------- */

/* The session with the most output is dropped. */
static void drop_slowest(struct sessions *all)
{
    struct session *session;
    struct session *slowest = NULL;

    DL_FOREACH (all->first, session) {
        if (slowest == NULL || session->counted_output > slowest->counted_output) {
            slowest = session;
        }
    }
    if (slowest != NULL && slowest->counted_output > 0) {
        session_drop_slow_reader(slowest, DROP_OUTPUT);
    }
}

void session_check_output(struct session *session)
{
    struct sessions *all = session->all;
    const struct hearsay_limits *limits = &all->service->config.limits;

    session_count_output(session);
    if (session->state == SESSION_CLOSED) {
        return;
    }
    if (output_bytes(session) > limits->session_output_bytes) {
        session_drop_slow_reader(session, DROP_UNREAD);
    } else if (all->output_bytes > all->service->config.output_bytes) {
        drop_slowest(all);
    }
}

void session_respond(struct requester *client, const struct hearsay_response *response)
{
    struct session *session = session_of_client(client);
    struct sessions *all = session->all;
    const struct hearsay_limits *limits = &all->service->config.limits;

    if (session->state == SESSION_CLOSED) {
        return;
    }
    int rc = codec_encode_response(response, limits->frame_bytes, &session->transport.output);
    if (rc == CODEC_TOO_LARGE && response->kind != HEARSAY_RESPONSE_ERROR) {
        requester_refuse(client, response->id, HEARSAY_CODE_TOO_LARGE, NULL,
                         "the answer does not fit a frame of %" PRIu32 " bytes; ask for less",
                         limits->frame_bytes);
        return;
    }
    if (rc != 0) {
        session_fail(session); /* otherwise the client would wait for this answer for ever */
        return;
    }
    /* Not counted: errors of the connection (id 0), and a bridge that is told to ask again because
     * what it asked for is still being made. */
    if (response->kind == HEARSAY_RESPONSE_ERROR && response->id != 0 &&
        (response->error.code != HEARSAY_CODE_RATE_LIMITED || !client->is_bridge ||
         client->is_over_rate)) {
        refusals_note(&all->refusals, response->error.code, loop_now_ms(all->loop));
    }
    session_mark_dirty(session);
    session_check_output(session);
}
