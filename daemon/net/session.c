/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/net/session.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "core/base/err.h"
#include "daemon/limits/drops.h"
#include "daemon/net/server.h"
#include "daemon/net/session_inner.h"
#include "daemon/net/session_room.h"
#include "daemon/system/container.h"
#include "daemon/system/list.h"
#include "daemon/system/log.h"
#include "daemon/watch/watch.h"
#include "proto/codec/codec.h"

enum {
    LINGER_MS = 2000,           /* for the peer to take the last answers and end */
    STUCK_MS = 30 * 1000,       /* output that the peer takes none of */
    HANDSHAKE_MS = 2000,        /* for a TLS handshake while they are short; seen each second */
    PUSH_BYTES_MAX = 64 * 1024, /* output up to which pushes are made */
    READ_BYTES = 64 * 1024,     /* at a time, so that one busy client cannot fill a turn */
    READ_BYTES_LATER = 2 * 1024 /* of what is left for a turn: many may wait with it */
};

/* --- states ----------------------------------------------------------------------------------- */

static const bool moves[4][4] = {
    [SESSION_NEW] = {[SESSION_OPEN] = true, [SESSION_ENDING] = true, [SESSION_CLOSED] = true},
    [SESSION_OPEN] = {[SESSION_ENDING] = true, [SESSION_CLOSED] = true},
    [SESSION_ENDING] = {[SESSION_CLOSED] = true},
};

void session_move_to(struct session *session, enum session_state state)
{
    assert(moves[session->state][state]);
    (void)moves; /* where assertions are left out */
    session->state = state;
    session->since_ms = server_loop_ms(session->server);
}

bool session_takes_requests(const struct session *session)
{
    return session->state == SESSION_NEW || session->state == SESSION_OPEN;
}

/* --- lists of the server ---------------------------------------------------------------------- */

/* There may be room again; a session that reads was not kept waiting. */
static void resume_if_held(struct session *session)
{
    if (!session->transport.reading) {
        session_mark_ready(session);
    }
}

static void mark_dirty(struct session *session)
{
    if (session->is_dirty || session->state == SESSION_CLOSED) {
        return;
    }
    session->is_dirty = true;
    DL_APPEND2(session->server->dirty, session, dirty_prev, dirty_next);
}

static void leave_lists(struct session *session)
{
    if (session->is_ready && session->is_busy) {
        DL_DELETE2(session->server->busy, session, ready_prev, ready_next);
    } else if (session->is_ready) {
        DL_DELETE2(session->server->ready, session, ready_prev, ready_next);
    }
    if (session->is_dirty) {
        DL_DELETE2(session->server->dirty, session, dirty_prev, dirty_next);
    }
    session->is_ready = false;
    session->is_dirty = false;
}

/* What waits to be sent, and the pushes that are queued to be made. */
static size_t output_bytes(const struct session *session)
{
    return transport_output_bytes(&session->transport) + session->queued_bytes;
}

static void session_count_output(struct session *session)
{
    const size_t now = session->state == SESSION_CLOSED ? 0 : output_bytes(session);

    session->server->output_bytes += now;
    session->server->output_bytes -= session->counted_output;
    session->counted_output = now;
}

/* --- the end ---------------------------------------------------------------------------------- */

void session_end_handshake(struct session *session)
{
    if (session->is_shaking_hands) {
        session->is_shaking_hands = false;
        session->server->handshakes--;
        if (session->client.sender != NULL) {
            sender_end_handshake(session->client.sender);
        }
    }
}

static void free_if_unused(struct session *session)
{
    struct server *server = session->server;

    if (!session->stream_closed || session->client.work_count > 0) {
        return;
    }
    DL_DELETE(server->sessions, session);
    server->session_count--;
    server->refused_count -= session->is_refused ? 1 : 0;
    log_debug("session %" PRIu64 " is gone", session->number);
    alloc_release(server->alloc, session, 1, sizeof(*session));
    server_session_gone(server);
}

/* All that is left is its stream, which the caller closes. */
static void leave(struct session *session)
{
    leave_lists(session);
    session_end_handshake(session);
    session_move_to(session, SESSION_CLOSED);
    session_count_output(session);
    session->client.is_gone = true;
    watch_client_gone(session->server->service, &session->client);
    if (session->client.sender != NULL) {
        senders_leave(session->client.sender);
        session->client.sender = NULL; /* it asks for nothing any more */
    }
}

void session_close(struct session *session)
{
    if (session->state != SESSION_CLOSED) {
        leave(session);
        transport_close(&session->transport);
    }
}

/* Without a word, and without the memory that TCP keeps of who was told. */
void session_reset(struct session *session)
{
    leave(session);
    transport_reset(&session->transport);
}

/* No more requests; when the last answer has gone out, the stream is ended. */
void session_end(struct session *session)
{
    if (!session_takes_requests(session)) {
        return;
    }
    session_move_to(session, SESSION_ENDING);
    transport_pause(&session->transport);
    mark_dirty(session);
}

static void end_if_answered(struct session *session)
{
    if (session->state == SESSION_ENDING && session->client.work_count == 0) {
        transport_end(&session->transport);
    }
}

/* --- answers ---------------------------------------------------------------------------------- */

void session_note_drop(const struct session *session, enum drop reason)
{
    struct server *server = session->server;

    drops_note(&server->drops, reason, session->number, server_loop_ms(server));
}

/* The client of a session that is dropped is told why when it comes again with its token. */
static void drop(struct session *session, enum msg_error_code code, const char *sentence)
{
    struct service *service = session->server->service;

    if (session->state == SESSION_OPEN || session->state == SESSION_ENDING) {
        resume_note(&service->resume, session->client.resume_token, code, sentence,
                    service_monotonic_ms(service));
    }
    session_close(session);
}

void session_give_way(struct session *session)
{
    static const char sentence[] =
        "the session was dropped because as many are open as are taken here, and this address or "
        "its network has the most of them; try again later";
    struct service *service = session->server->service;
    struct msg_response response = {.kind = MSG_RESPONSE_ERROR};

    if (session->state == SESSION_OPEN) {
        resume_note(&service->resume, session->client.resume_token, MSG_RATE_LIMITED, sentence,
                    service_monotonic_ms(service));
    }
    session_note_drop(session, DROP_ROOM);
    session->is_refused = true;
    if (++session->server->refused_count > SESSION_REFUSED_MAX) {
        session_reset(session);
        return;
    }
    msg_error_set(&response.error, MSG_RATE_LIMITED, NULL, "%s", sentence);
    response.error.retry_after_ms = SESSION_RETRY_MS;
    session_respond(&session->client, &response);
    session_end(session);
}

/* Drops it since too much waits for it, or waited too long. */
static void drop_slow_reader(struct session *session, enum drop reason)
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
    watch_note_slow(session->server->service, &session->client);
    drop(session, MSG_QUOTA, sentences[reason]);
}

void session_drop_slowest(struct session *session)
{
    drop_slow_reader(session, DROP_OUTPUT);
}

/* Without a handshake nothing that is said to the client would reach it. */
static void drop_handshake(struct session *session)
{
    session_note_drop(session, DROP_HANDSHAKE);
    session_reset(session);
}

/* What waits may be too much, of this session or of all together. */
static void drop_if_over(struct session *session)
{
    struct server *server = session->server;
    const struct config_limits *limits = &server->service->config.limits;

    if (output_bytes(session) > limits->session_output_bytes) {
        drop_slow_reader(session, DROP_UNREAD);
    } else if (server->output_bytes > limits->output_bytes) {
        server_drop_slowest(server);
    }
}

void session_check_output(struct session *session)
{
    session_count_output(session);
    if (session->state != SESSION_CLOSED) {
        drop_if_over(session);
    }
}

void session_fail(struct session *session)
{
    session_note_drop(session, DROP_FAILED);
    session_close(session);
}

void session_respond(struct requester *client, const struct msg_response *response)
{
    struct session *session = (struct session *)(void *)client;
    struct server *server = session->server;
    const struct config_limits *limits = &server->service->config.limits;

    if (session->state == SESSION_CLOSED) {
        return;
    }
    const int rc = codec_encode_response(response, limits->frame_bytes, &session->transport.output);
    if (rc == CODEC_TOO_LARGE && response->kind != MSG_RESPONSE_ERROR) {
        requester_refuse(client, response->id, MSG_TOO_LARGE, NULL,
                         "the answer does not fit a frame of %" PRIu32 " bytes; ask for less",
                         limits->frame_bytes);
        return;
    }
    if (rc != 0) { /* an answer that cannot be given must not be silently missing */
        session_fail(session);
        return;
    }
    if (response->kind == MSG_RESPONSE_ERROR && response->id != 0) { /* 0: of the connection */
        refusals_note(&server->refusals, response->error.code, server_loop_ms(server));
    }
    session_count_output(session);
    mark_dirty(session);
    drop_if_over(session);
}

static void on_work_ended(struct requester *client)
{
    struct session *session = (struct session *)(void *)client;

    if (session->state == SESSION_CLOSED) {
        free_if_unused(session);
    } else if (session_takes_requests(session)) {
        resume_if_held(session);
    } else {
        mark_dirty(session); /* session_flush ends it when all is answered */
    }
}

void session_push(struct session *session, const struct msg_response *response)
{
    if (session->state == SESSION_OPEN) {
        session_respond(&session->client, response);
    }
}

/* Pushes are made when they can soon go: until then they are a few numbers in a queue. */
static bool on_has_room(const struct requester *client)
{
    const struct session *session = (const struct session *)(const void *)client;
    const uint64_t most = session->server->service->config.limits.session_output_bytes / 4;
    const size_t waiting = transport_output_bytes(&session->transport);

    return session->state == SESSION_OPEN && waiting < PUSH_BYTES_MAX && waiting < most;
}

static bool on_queued(struct requester *client, size_t bytes)
{
    struct session *session = (struct session *)(void *)client;

    if (session->state != SESSION_CLOSED) {
        session->queued_bytes = bytes;
        session_count_output(session);
        drop_if_over(session);
    }
    return session->state != SESSION_CLOSED;
}

static void on_drop(struct requester *client, enum msg_error_code code, const char *sentence)
{
    struct session *session = (struct session *)(void *)client;

    session_note_drop(session, DROP_FAILED);
    drop(session, code, sentence);
}

const struct requester_events session_client_events = {
    .respond = session_respond,
    .work_ended = on_work_ended,
    .has_room = on_has_room,
    .queued = on_queued,
    .drop = on_drop,
};

/* --- the transport's events ------------------------------------------------------------------- */

static struct session *session_of(struct transport *transport)
{
    return CONTAINER_OF(transport, struct session, transport);
}

static size_t on_reading(struct transport *transport)
{
    const struct session *session = session_of(transport);
    struct server *server = session->server;
    const bool is_later = session->is_ready || server->spent_ns > SESSION_SLICE_NS;

    server->read_began_ns = service_monotonic_ns(server->service);
    return is_later ? READ_BYTES_LATER : READ_BYTES;
}

/* Served as its bytes arrive, unless it wants much, or the turn's time for that is over. */
static void on_readable(struct transport *transport)
{
    struct session *session = session_of(transport);
    const uint64_t began_ns = session->server->read_began_ns;
    const uint64_t spent_ns = session->server->spent_ns;

    session->activity_ms = server_loop_ms(session->server);
    if (session->is_ready || session_is_over_share(session, began_ns)) {
        transport_pause(transport); /* its turn comes; until then there may be no room for more */
    } else if (spent_ns <= SESSION_SLICE_NS) {
        session_process_since(session, began_ns, SESSION_SLICE_NS - spent_ns);
        return;
    } else if (transport->tls != NULL) {
        transport_pause(transport); /* until what was read is decrypted */
    } /* else there is room for another short read, and mostly it is served before that */
    session_spend(session, began_ns);
    session_mark_ready(session);
}

static bool is_done(const struct session *session)
{
    return session->client.work_count == 0 && transport_output_bytes(&session->transport) == 0;
}

/* Whoever floods with records learns that when it comes again. */
static void drop_flooder(struct session *session)
{
    session_note_drop(session, DROP_RECORDS);
    drop(session, MSG_INVALID,
         "the session was dropped because it sent more TLS records without application data than "
         "are taken in a row");
}

static void on_ended(struct transport *transport, bool clean)
{
    struct session *session = session_of(transport);

    session->peer_ended = true;
    if (transport_is_flooded(transport)) {
        drop_flooder(session);
        return;
    }
    if (transport_tls_failed(transport)) {
        session_note_drop(session, DROP_TLS);
    }
    if (!clean || (session->state == SESSION_ENDING && is_done(session))) {
        session_close(session);
    } else if (session_takes_requests(session)) {
        session_mark_ready(session); /* what it asked before its end is answered */
    }
}

static void on_written(struct transport *transport)
{
    struct session *session = session_of(transport);

    session_count_output(session);
    if (watch_client_has_room(session->server->service, &session->client)) {
        server_wake(session->server); /* the loop may be about to wait */
    }
    if (session_takes_requests(session)) {
        resume_if_held(session);
    } else if (session->peer_ended && is_done(session)) {
        session_close(session);
    }
}

static void on_closed(struct transport *transport)
{
    struct session *session = session_of(transport);

    session->stream_closed = true;
    free_if_unused(session);
}

const struct transport_events session_transport_events = {
    .reading = on_reading,
    .readable = on_readable,
    .ended = on_ended,
    .written = on_written,
    .closed = on_closed,
};

void session_flush(struct session *session)
{
    transport_flush(&session->transport);
    end_if_answered(session);
}

/* --- deadlines -------------------------------------------------------------------------------- */

static void time_out(struct session *session, const char *sentence)
{
    requester_refuse(&session->client, 0, MSG_INVALID, NULL, "%s", sentence);
    session_end(session);
}

/* Whether the handshake, or Hello, has had its time; a refused client has less. */
static bool is_late(const struct session *session, int64_t now_ms)
{
    const int64_t hello_ms =
        (int64_t)session->server->service->config.limits.hello_timeout_s * 1000;
    const int64_t most_ms = session->state == SESSION_ENDING ? LINGER_MS : hello_ms;

    return session->state != SESSION_OPEN && now_ms - session->since_ms >= most_ms;
}

void session_tick(struct session *session, int64_t now_ms)
{
    const struct config_limits *limits = &session->server->service->config.limits;
    const bool is_ending = session->state == SESSION_ENDING;

    if (session->state == SESSION_CLOSED) {
        return;
    }
    if (session->is_held_back) {
        session->is_held_back = false;
        resume_if_held(session);
    }
    if (session->is_shaking_hands && now_ms - session->since_ms >= HANDSHAKE_MS &&
        session_room_handshakes_are_short(session->server)) {
        drop_handshake(session);
    } else if (transport_is_stuck(&session->transport, now_ms, is_ending ? LINGER_MS : STUCK_MS)) {
        drop_slow_reader(session, DROP_STUCK);
    } else if (is_late(session, now_ms) && transport_is_shaking_hands(&session->transport)) {
        drop_handshake(session);
    } else if (is_late(session, now_ms) && session->state == SESSION_NEW) {
        session_note_drop(session, DROP_HELLO);
        time_out(session, "no Hello came in time");
    } else if (session->state == SESSION_OPEN && limits->idle_timeout_s > 0 && is_done(session) &&
               !watch_is_watching(&session->client) &&
               now_ms - session->activity_ms >= (int64_t)limits->idle_timeout_s * 1000) {
        session_note_drop(session, DROP_IDLE);
        time_out(session, "nothing was asked for too long");
    } else if (is_ending && is_done(session) && now_ms - session->since_ms >= LINGER_MS) {
        session_close(session);
    }
}

void session_resume(struct session *session)
{
    if (session_takes_requests(session)) {
        session_mark_ready(session);
    }
}

void session_stop(struct session *session)
{
    if (session_takes_requests(session)) {
        session_mark_ready(session); /* session_process takes what was received, then ends it */
    }
}
