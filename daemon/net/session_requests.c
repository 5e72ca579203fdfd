/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a session takes requests from its received bytes. A session takes requests while no bound is
 * reached and its time is not used up.
 */
#include <inttypes.h>

#include "daemon/net/session_inner.h"
#include "daemon/system/list.h"
#include "proto/codec/codec.h"

enum {
    /* A request over a rate limit counts as one refusal, and as one more for each full OVER_BYTES
     * of its length. */
    OVER_BYTES = 1024,
    FRAMES_PER_WRITE = 16,        /* so that the client reads its first answers early */
    WORK_BYTES_MAX = 1024 * 1024, /* held by requests in flight; one more may go over it */
};

/* --- requests --------------------------------------------------------------------------------- */

/*
 * Whether the session may take one more request, as far as output is concerned. Two conditions:
 * less than half of the bound (session_output) waits to be sent; and the bound has space for the
 * answers of all requests in flight and one more frame. All answers may come at once, and a client
 * that reads must not be dropped because of that. The bound is at least two frames, so a session
 * without requests in flight always meets the second condition if it meets the first.
 */
static bool has_room_for_answer(const struct session *session, const struct hearsay_limits *limits)
{
    size_t waiting = transport_output_bytes(&session->transport);

    return waiting < limits->session_output_bytes / 2 &&
           waiting + session->client.answer_bytes + limits->frame_bytes <=
               limits->session_output_bytes;
}

/*
 * Long searches stop a client, so that it does not fill the memory with searches that wait. They do
 * not stop a gateway, which asks for many clients: each of those has one search at a time that
 * takes turns, and WORK_BYTES_MAX bounds the memory of all of them.
 */
static bool is_searching(const struct requester *client)
{
    return client->searches > 0 && !client->is_gateway;
}

static bool may_take_more(struct session *session)
{
    const struct service *service = session->all->service;
    const struct hearsay_limits *limits = &service->config.limits;

    if (handler_is_congested(service, &session->client)) {
        session->is_congested = true; /* until sessions_end_congestion */
        session->all->has_congested = true;
        return false;
    }
    return session->client.work_count < limits->requests_in_flight &&
           session->client.work_bytes < WORK_BYTES_MAX && !is_searching(&session->client) &&
           !session->is_held_back && has_room_for_answer(session, limits);
}

static void handle_request(struct session *session, const struct hearsay_request *request)
{
    struct service *service = session->all->service;

    if (session->state == SESSION_OPEN) {
        if (session_take_asker(session, request)) {
            handler_handle(service, &session->client, request);
            session_drop_asker(session);
        }
    } else if (request->kind != HEARSAY_REQUEST_HELLO) {
        requester_refuse(&session->client, request->id, HEARSAY_CODE_INVALID, "hello",
                         "the first request of a connection must be Hello");
        session_end(session);
    } else if (!session_take_asker(session, request)) {
        session_end(session); /* Hello has a field of its own for that */
    } else if (!session_take_on_behalf(session, request)) {
        return;
    } else if (handler_welcome(service, &session->client, request)) {
        if (session->state == SESSION_CLOSED) {
            return; /* the session was dropped */
        }
        session_move_to(session, SESSION_OPEN);
        log_debug("session %" PRIu64 " speaks version %d, %s", session->number, LIMIT_VERSION,
                  request->hello.agent.text != NULL ? request->hello.agent.text : "no agent named");
    } else {
        session_end(session);
    }
}

/* Refusals of requests over a rate limit have a rate limit of their own, because a refusal costs
 * CPU time, too. A session over this second limit takes no request until the next session_tick. */
static void hold_back_if_over(struct session *session, size_t length)
{
    struct service *service = session->all->service;
    struct requester *client = &session->client;

    if (client->is_over_rate && client->sender != NULL) {
        uint32_t cost = 1 + (uint32_t)(length / OVER_BYTES);
        session->is_held_back = sender_take(client->sender, SENDER_OVER, &service->sender_limits,
                                            cost, service_monotonic_ms(service)) > 0;
    }
}

static void take_frame(struct session *session, const uint8_t *frame, size_t length)
{
    struct sessions *all = session->all;
    struct hearsay_request request;
    struct msg_error error; /* set if rc > 0 */

    int rc = codec_decode_request(frame, length, &all->decode_arena, &request, &error);
    if (rc == 0) {
        session->client.is_over_rate = false;
        handle_request(session, &request);
        hold_back_if_over(session, length);
    } else if (rc < 0) {
        session_fail(session);
    } else {
        struct hearsay_response refusal = {
            .id = request.id, .kind = HEARSAY_RESPONSE_ERROR, .error = error};
        session_respond(&session->client, &refusal);
        if (rc == CODEC_MALFORMED || session->state == SESSION_NEW) {
            session_end(session);
        }
    }
    arena_reset(&all->decode_arena);
}

/* Answers received bytes that are not a valid frame with an error, and ends the session. */
static void refuse_stream(struct session *session, int outcome, size_t length)
{
    if (outcome == FRAME_EMPTY) {
        requester_refuse(&session->client, 0, HEARSAY_CODE_MALFORMED, NULL,
                         "a frame of length zero; a frame holds at least one byte");
    } else {
        requester_refuse(&session->client, 0, HEARSAY_CODE_MALFORMED, NULL,
                         "a frame of %zu bytes; at most %" PRIu32 " are taken here", length,
                         session->all->service->config.limits.frame_bytes);
    }
    session_end(session);
}

/* Decrypts one more record, or does one step of the handshake. Returns whether there may be more
 * bytes to decrypt. */
static bool pull_record(struct session *session)
{
    bool has_more = transport_pull(&session->transport);

    if (!transport_is_shaking_hands(&session->transport)) {
        session_end_handshake(session);
    }
    return has_more;
}

/*
 * Takes requests until no request is left, a bound is reached, or `until_ns` has come. If no
 * bound is reached, takes at least one request or one TLS record. Returns true if the time is up:
 * there may be more requests.
 */
static bool take_some(struct session *session, uint64_t until_ns)
{
    struct transport *transport = &session->transport;
    unsigned taken = 0;

    while (session_takes_requests(session) && may_take_more(session)) {
        const uint8_t *frame = NULL;
        size_t length = 0;
        if (taken > 0 && service_monotonic_ns(session->all->service) >= until_ns) {
            return true;
        }
        int outcome = frame_next(&transport->input, &frame, &length);
        if (outcome == FRAME_MORE && pull_record(session)) {
            taken++;
            continue;
        }
        if (outcome == FRAME_MORE) {
            frame_decoder_release(&transport->input);
            if (session->all->is_stopping || session->peer_ended) {
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
    if (session_takes_requests(session)) {
        transport_pause(transport); /* below the bound again: session_mark_ready */
    }
    return false;
}

void session_process_since(struct session *session, uint64_t began_ns, uint64_t slice_ns)
{
    /* Ends the watches of dropped clients before this request is handled. */
    sessions_reap(session->all);
    bool has_more = take_some(session, began_ns + slice_ns);
    session_check_output(session); /* TLS may have added records of its own */
    session_spend(session, began_ns);
    if (has_more && session->state != SESSION_CLOSED) {
        transport_pause(&session->transport);
        session_mark_ready(session);
    }
}

void session_process(struct session *session, uint64_t slice_ns)
{
    uint64_t began_ns = service_monotonic_ns(session->all->service);

    if (!session->entry.is_busy && session_is_over_share(session, began_ns)) {
        session_mark_ready(session); /* other connections of the sender used the share */
        return;
    }
    session_process_since(session, began_ns, slice_ns);
}

/* --- below a bound again ---------------------------------------------------------------------- */

void session_resume(struct session *session)
{
    if (session_takes_requests(session)) {
        session_mark_ready(session);
    }
}

void sessions_end_congestion(struct sessions *all)
{
    struct session *session;

    if (!all->has_congested) {
        return;
    }
    all->has_congested = false;
    DL_FOREACH (all->first, session) {
        if (session->is_congested && handler_is_congested(all->service, &session->client)) {
            all->has_congested = true;
        } else if (session->is_congested) {
            session->is_congested = false;
            session_resume(session);
        }
    }
}
