/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/session.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include <utlist.h>

#include "core/err.h"
#include "daemon/container.h"
#include "daemon/log.h"
#include "daemon/server.h"
#include "daemon/session_parts.h"
#include "proto/codec.h"

enum {
    SHARE = 16, /* one that takes more than a 16th of the time is busy: server_turn */
    SPENT_NS_MAX = 16 * SESSION_SLICE_NS, /* and is so for at most a 16th of a second longer */
    OVER_BYTES = 1024,                    /* a request over its rate counts once more for each */
    FRAMES_PER_WRITE = 16, /* so that the client reads its first answers while the next are made */
    WORK_BYTES_MAX = 1024 * 1024, /* held by requests under way; one more may go over it */
    LINGER_MS = 2000,             /* for the peer to take the last answers and end */
    STUCK_MS = 30 * 1000,         /* output that the peer takes none of */
    PUSH_BYTES_MAX = 64 * 1024,   /* output up to which pushes are made */
    READ_BYTES = 64 * 1024        /* at a time, so that one busy client cannot fill a turn */
};

/* --- states ----------------------------------------------------------------------------------- */

static const bool moves[4][4] = {
    [SESSION_NEW] = {[SESSION_OPEN] = true, [SESSION_ENDING] = true, [SESSION_CLOSED] = true},
    [SESSION_OPEN] = {[SESSION_ENDING] = true, [SESSION_CLOSED] = true},
    [SESSION_ENDING] = {[SESSION_CLOSED] = true},
};

static void move_to(struct session *session, enum session_state state)
{
    assert(moves[session->state][state]);
    (void)moves; /* where assertions are left out */
    session->state = state;
    session->since_ms = server_loop_ms(session->server);
}

static bool takes_requests(const struct session *session)
{
    return session->state == SESSION_NEW || session->state == SESSION_OPEN;
}

/* --- lists of the server ---------------------------------------------------------------------- */

/* What counts is what all connections of its sender took, where limits hold for one. */
static struct account *account_of(struct session *session)
{
    struct sender *sender = session->client.sender;

    return sender != NULL ? sender_account(sender) : &session->spent;
}

/* Whether it has had more than its share lately. */
static bool is_over_share(struct session *session, uint64_t now_ns)
{
    struct account *account = account_of(session);

    account_leak(account, now_ns, SHARE);
    return account->spent_ns > SESSION_SLICE_NS;
}

static void mark_ready(struct session *session)
{
    if (session->is_ready || session->state == SESSION_CLOSED) {
        return;
    }
    session->is_ready = true;
    session->is_busy = is_over_share(session, service_monotonic_ns(session->server->service));
    if (session->is_busy) {
        DL_APPEND2(session->server->busy, session, ready_prev, ready_next);
    } else {
        DL_APPEND2(session->server->ready, session, ready_prev, ready_next);
    }
    server_wake(session->server);
}

/* There may be room again; a session that reads was not kept waiting. */
static void resume_if_held(struct session *session)
{
    if (!session->transport.reading) {
        mark_ready(session);
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

static void count_output(struct session *session)
{
    const size_t now = session->state == SESSION_CLOSED ? 0 : output_bytes(session);

    session->server->output_bytes += now;
    session->server->output_bytes -= session->counted_output;
    session->counted_output = now;
}

/* --- the end ---------------------------------------------------------------------------------- */

/* It is done, or will never be. */
static void end_handshake(struct session *session)
{
    if (session->is_shaking_hands) {
        session->is_shaking_hands = false;
        session->server->handshakes--;
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
    end_handshake(session);
    move_to(session, SESSION_CLOSED);
    count_output(session);
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
    if (!takes_requests(session)) {
        return;
    }
    move_to(session, SESSION_ENDING);
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

/* Drops a session that cannot be told why: it learns it when it comes again with its token. */
static void drop(struct session *session, enum msg_error_code code, const char *sentence)
{
    struct service *service = session->server->service;

    if (session->state == SESSION_OPEN || session->state == SESSION_ENDING) {
        resume_note(&service->resume, session->client.resume_token, code, sentence,
                    service_monotonic_ms(service));
    }
    session_close(session);
}

static void drop_slow_reader(struct session *session)
{
    log_info("session %" PRIu64 " dropped: it does not read its answers (%zu bytes wait)",
             session->number, output_bytes(session));
    watch_note_slow(session->server->service, &session->client);
    drop(session, MSG_QUOTA,
         "the session was dropped because it did not read what was sent: more waited than "
         "session_output_bytes of Welcome allows, or it waited too long");
}

void session_drop_slowest(struct session *session)
{
    watch_note_slow(session->server->service, &session->client);
    drop(session, MSG_QUOTA,
         "the session was dropped because what all clients had not read was more than the server "
         "keeps, and it had left the most");
}

/* What waits may be too much, of this session or of all together. */
static void drop_if_over(struct session *session)
{
    struct server *server = session->server;
    const struct config_limits *limits = &server->service->config.limits;

    if (output_bytes(session) > limits->session_output_bytes) {
        drop_slow_reader(session);
    } else if (server->output_bytes > limits->output_bytes) {
        server_drop_slowest(server);
    }
}

void session_respond(struct handler_client *client, const struct msg_response *response)
{
    struct session *session = (struct session *)(void *)client;
    struct server *server = session->server;
    const struct config_limits *limits = &server->service->config.limits;

    if (session->state == SESSION_CLOSED) {
        return;
    }
    const int rc = codec_encode_response(response, limits->frame_bytes, &session->transport.output);
    if (rc == CODEC_TOO_LARGE && response->kind != MSG_RESPONSE_ERROR) {
        handler_refuse(client, response->id, MSG_TOO_LARGE, NULL,
                       "the answer does not fit a frame of %" PRIu32 " bytes; ask for less",
                       limits->frame_bytes);
        return;
    }
    if (rc != 0) { /* an answer that cannot be given must not be silently missing */
        log_warning("session %" PRIu64 " dropped: %s", session->number, err_text(rc));
        session_close(session);
        return;
    }
    count_output(session);
    mark_dirty(session);
    drop_if_over(session);
}

static void on_work_ended(struct handler_client *client)
{
    struct session *session = (struct session *)(void *)client;

    if (session->state == SESSION_CLOSED) {
        free_if_unused(session);
    } else if (takes_requests(session)) {
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
static bool on_has_room(const struct handler_client *client)
{
    const struct session *session = (const struct session *)(const void *)client;
    const uint64_t most = session->server->service->config.limits.session_output_bytes / 4;
    const size_t waiting = transport_output_bytes(&session->transport);

    return session->state == SESSION_OPEN && waiting < PUSH_BYTES_MAX && waiting < most;
}

static bool on_queued(struct handler_client *client, size_t bytes)
{
    struct session *session = (struct session *)(void *)client;

    if (session->state != SESSION_CLOSED) {
        session->queued_bytes = bytes;
        count_output(session);
        drop_if_over(session);
    }
    return session->state != SESSION_CLOSED;
}

static void on_drop(struct handler_client *client, enum msg_error_code code, const char *sentence)
{
    struct session *session = (struct session *)(void *)client;

    log_warning("session %" PRIu64 " dropped: %s", session->number, sentence);
    drop(session, code, sentence);
}

const struct handler_client_events session_client_events = {
    .respond = session_respond,
    .work_ended = on_work_ended,
    .has_room = on_has_room,
    .queued = on_queued,
    .drop = on_drop,
};

/* --- requests --------------------------------------------------------------------------------- */

/*
 * Whether the answers under way and one more would still fit the output: they may come all at
 * once, and a client that reads must not be dropped for it. An empty session always has room for
 * one, since its output is at least two frames.
 */
static bool has_room_for_answer(const struct session *session, const struct config_limits *limits)
{
    const size_t waiting = transport_output_bytes(&session->transport);

    return waiting < limits->session_output_bytes / 2 &&
           waiting + session->client.answer_bytes + limits->frame_bytes <=
               limits->session_output_bytes;
}

static bool may_take_more(struct session *session)
{
    const struct service *service = session->server->service;
    const struct config_limits *limits = &service->config.limits;

    if (service_is_congested(service)) {
        session->server->was_congested = true; /* and it resumes us when it no longer is */
        return false;
    }
    return session->client.work_count < limits->requests_in_flight &&
           session->client.work_bytes < WORK_BYTES_MAX && session->client.searches == 0 &&
           !session->is_held_back && has_room_for_answer(session, limits);
}

static void act(struct session *session, const struct msg_request *request)
{
    struct service *service = session->server->service;

    if (session->state == SESSION_OPEN) {
        handler_handle(service, &session->client, request);
    } else if (request->kind != MSG_REQUEST_HELLO) {
        handler_refuse(&session->client, request->id, MSG_INVALID, "hello",
                       "the first request of a connection must be Hello");
        session_end(session);
    } else if (handler_welcome(service, &session->client, request)) {
        if (session->state == SESSION_CLOSED) {
            return; /* dropped: there was no memory for the Welcome */
        }
        move_to(session, SESSION_OPEN);
        log_debug("session %" PRIu64 " speaks version %d, %s", session->number, LIMIT_VERSION,
                  request->hello.agent.text != NULL ? request->hello.agent.text : "no agent named");
    } else {
        session_end(session);
    }
}

/* What is over a rate has to be read to be refused: that has a rate, too. Then nothing more is read
 * until the next second. */
static void hold_back_if_over(struct session *session, size_t length)
{
    struct service *service = session->server->service;
    struct handler_client *client = &session->client;

    if (client->is_over_rate && client->sender != NULL) {
        const uint32_t cost = 1 + (uint32_t)(length / OVER_BYTES);
        session->is_held_back = sender_take(client->sender, SENDER_OVER, &service->sender_limits,
                                            cost, service_monotonic_ms(service)) > 0;
    }
}

static void take_frame(struct session *session, const uint8_t *frame, size_t length)
{
    struct server *server = session->server;
    struct msg_request request;
    struct msg_response refusal = {.kind = MSG_RESPONSE_ERROR};

    const int rc =
        codec_decode_request(frame, length, &server->decode_arena, &request, &refusal.error);
    if (rc == 0) {
        session->client.is_over_rate = false;
        act(session, &request);
        hold_back_if_over(session, length);
    } else if (rc < 0) {
        log_warning("session %" PRIu64 " dropped: %s", session->number, err_text(rc));
        session_close(session);
    } else {
        refusal.id = request.id;
        session_respond(&session->client, &refusal);
        if (rc == CODEC_MALFORMED || session->state == SESSION_NEW) {
            session_end(session);
        }
    }
    arena_reset(&server->decode_arena);
}

/* The stream cannot be read any further: says why, and ends. */
static void refuse_stream(struct session *session, int outcome, size_t length)
{
    if (outcome == FRAME_EMPTY) {
        handler_refuse(&session->client, 0, MSG_MALFORMED, NULL,
                       "a frame of length zero; a frame holds at least one byte");
    } else {
        handler_refuse(&session->client, 0, MSG_MALFORMED, NULL,
                       "a frame of %zu bytes; at most %" PRIu32 " are taken here", length,
                       session->server->service->config.limits.frame_bytes);
    }
    session_end(session);
}

/*
 * Takes requests until there are none, until it may not take more, or for a slice of time. Whether
 * there may be more to take.
 */
static bool take_some(struct session *session, uint64_t until_ns)
{
    struct transport *transport = &session->transport;
    unsigned taken = 0;

    while (takes_requests(session) && may_take_more(session)) {
        const uint8_t *frame = NULL;
        size_t length = 0;
        if (taken > 0 && service_monotonic_ns(session->server->service) >= until_ns) {
            return true;
        }
        const int outcome = frame_next(&transport->input, &frame, &length);
        if (outcome == FRAME_MORE) {
            frame_decoder_release(&transport->input);
            if (session->server->stopping || session->peer_ended) {
                session_end(session);
            } else {
                transport_read(transport);
            }
            return false;
        }
        if (outcome != 0) {
            refuse_stream(session, outcome, length);
        } else {
            take_frame(session, frame, length);
        }
        taken++;
        if (taken % FRAMES_PER_WRITE == 0) {
            transport_flush(transport);
        }
    }
    transport_pause(transport); /* session_process is called again when there is room */
    return false;
}

/* What it takes as a newcomer is reckoned as part of arriving, too: else who comes and goes would
 * have a new session's first slice again and again. */
static void spend(struct session *session, uint64_t began_ns)
{
    const uint64_t now_ns = service_monotonic_ns(session->server->service);
    const uint64_t took_ns = now_ns - began_ns;
    const uint64_t fresh_ns = took_ns < session->fresh_ns ? took_ns : session->fresh_ns;
    struct account *account = account_of(session);

    account_leak(account, began_ns, SHARE);
    account_spend(account, now_ns, took_ns, SPENT_NS_MAX);
    session->fresh_ns -= fresh_ns;
    session->server->spent_ns += took_ns;
    server_spend_on_arrivals(session->server, now_ns, fresh_ns);
}

static void process_since(struct session *session, uint64_t began_ns, uint64_t slice_ns)
{
    const bool has_more = take_some(session, began_ns + slice_ns);

    spend(session, began_ns);
    if (has_more && session->state != SESSION_CLOSED) {
        transport_pause(&session->transport);
        mark_ready(session);
    }
}

void session_process(struct session *session, uint64_t slice_ns)
{
    const uint64_t began_ns = service_monotonic_ns(session->server->service);

    if (!session->is_busy && is_over_share(session, began_ns)) {
        mark_ready(session); /* others of its sender had the share since */
        return;
    }
    process_since(session, began_ns, slice_ns);
}

/* --- the transport's events ------------------------------------------------------------------- */

static struct session *session_of(struct transport *transport)
{
    return CONTAINER_OF(transport, struct session, transport);
}

static size_t on_reading(struct transport *transport)
{
    struct session *session = session_of(transport);
    struct server *server = session->server;

    server->read_began_ns = service_monotonic_ns(server->service);
    return READ_BYTES;
}

static void on_readable(struct transport *transport)
{
    struct session *session = session_of(transport);
    const uint64_t began_ns = session->server->read_began_ns;

    end_handshake(session); /* no request comes before it is done */
    session->activity_ms = server_loop_ms(session->server);
    if (session->is_ready || is_over_share(session, began_ns)) {
        transport_pause(transport); /* its turn comes; until then there may be no room for more */
    } else if (session->server->spent_ns <= SESSION_SLICE_NS) {
        process_since(session, began_ns, SESSION_SLICE_NS);
        return;
    }
    spend(session, began_ns);
    mark_ready(session);
}

static bool is_done(const struct session *session)
{
    return session->client.work_count == 0 && transport_output_bytes(&session->transport) == 0;
}

static void on_ended(struct transport *transport, bool clean)
{
    struct session *session = session_of(transport);

    session->peer_ended = true;
    if (!clean || (session->state == SESSION_ENDING && is_done(session))) {
        session_close(session);
    } else if (takes_requests(session)) {
        mark_ready(session); /* what it asked before its end is answered */
    }
}

static void on_written(struct transport *transport)
{
    struct session *session = session_of(transport);

    count_output(session);
    if (watch_client_has_room(session->server->service, &session->client)) {
        server_wake(session->server); /* the loop may be about to wait */
    }
    if (takes_requests(session)) {
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
    handler_refuse(&session->client, 0, MSG_INVALID, NULL, "%s", sentence);
    session_end(session);
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
    if (transport_is_stuck(&session->transport, now_ms, is_ending ? LINGER_MS : STUCK_MS)) {
        drop_slow_reader(session);
    } else if (session->state == SESSION_NEW &&
               now_ms - session->since_ms >= (int64_t)limits->hello_timeout_s * 1000) {
        time_out(session, "no Hello came in time");
    } else if (session->state == SESSION_OPEN && limits->idle_timeout_s > 0 && is_done(session) &&
               !watch_is_watching(&session->client) &&
               now_ms - session->activity_ms >= (int64_t)limits->idle_timeout_s * 1000) {
        time_out(session, "nothing was asked for too long");
    } else if (is_ending && is_done(session) && now_ms - session->since_ms >= LINGER_MS) {
        session_close(session);
    }
}

void session_resume(struct session *session)
{
    if (takes_requests(session)) {
        mark_ready(session);
    }
}

void session_stop(struct session *session)
{
    if (takes_requests(session)) {
        mark_ready(session); /* session_process takes what was received, then ends it */
    }
}
