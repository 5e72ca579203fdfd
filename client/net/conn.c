/* SPDX-License-Identifier: Apache-2.0 */
#include "client/net/conn.h"

#include <assert.h>
#include <string.h>

#include "client/fail.h"
#include "proto/codec/codec.h"

/* Changes the state. A state changes only to the next state or to CONN_BROKEN. */
static void move_to(struct conn *conn, enum conn_state state)
{
    assert(conn->state != CONN_BROKEN && (state == CONN_BROKEN || state == conn->state + 1));
    conn->state = state;
}

int conn_break(struct conn *conn, const struct hearsay_error *reason,
               struct hearsay_error *out_error)
{
    conn->broken = *reason;
    move_to(conn, CONN_BROKEN);
    if (out_error != NULL) {
        *out_error = *reason;
    }
    return reason->status;
}

static int repeat_broken(const struct conn *conn, struct hearsay_error *out_error)
{
    if (out_error != NULL) {
        *out_error = conn->broken;
    }
    return conn->broken.status;
}

void conn_init(struct conn *conn, const struct alloc *alloc)
{
    memset(conn, 0, sizeof(*conn));
    conn->alloc = alloc;
    conn->state = CONN_FRESH;
    conn->frame_limit = LIMIT_FRAME_BYTES_MIN;
    conn->read_bytes = CONN_READ_BYTES;
    conn->flight_limit = CONN_FLIGHT_MAX;
    frame_decoder_init(&conn->input, alloc, LIMIT_FRAME_BYTES_MAX);
    bytes_init(&conn->output, alloc);
}

void conn_deinit(struct conn *conn)
{
    if (conn->alloc == NULL) {
        return;
    }
    frame_decoder_deinit(&conn->input);
    bytes_deinit(&conn->output);
    alloc_release(conn->alloc, conn->slots);
    memset(conn, 0, sizeof(*conn));
}

/*
 * Encodes the request and appends its bytes to the output. Returns HEARSAY_OK; HEARSAY_ERR_ARGUMENT
 * when the request is larger than the largest frame that the server accepts; HEARSAY_ERR_NOMEM.
 */
static int put_request(struct conn *conn, const struct hearsay_request *request,
                       struct hearsay_error *error)
{
    int rc = codec_encode_request(request, conn->frame_limit, &conn->output);
    if (rc == 0) {
        return HEARSAY_OK;
    }
    if (rc == CODEC_TOO_LARGE) {
        return fail_set(error, HEARSAY_ERR_ARGUMENT,
                        "the request is larger than the %zu bytes that the server takes",
                        conn->frame_limit);
    }
    return fail_set_nomem(error);
}

int conn_greet(struct conn *conn, const struct conn_hello *hello, struct hearsay_error *out_error)
{
    assert(conn->state == CONN_FRESH);
    struct hearsay_request request;
    memset(&request, 0, sizeof(request));
    request.id = conn->last_ticket + 1;
    request.kind = HEARSAY_REQUEST_HELLO;
    request.hello.versions[0] = LIMIT_VERSION;
    request.hello.version_count = 1;
    request.hello.agent.text = hello->agent;
    request.hello.agent.length = strlen(hello->agent);
    request.hello.resume_token = hello->resume_token;
    request.hello.on_behalf = hello->on_behalf;
    request.hello.on_behalf_local = hello->on_behalf_local;
    int status = put_request(conn, &request, out_error);
    if (status != HEARSAY_OK) {
        return status;
    }
    conn->last_ticket = request.id;
    move_to(conn, CONN_GREETING);
    return HEARSAY_OK;
}

static struct conn_slot *slot_of(const struct conn *conn, uint64_t ticket)
{
    return &conn->slots[ticket & (conn->slot_count - 1)];
}

int conn_submit(struct conn *conn, struct hearsay_request *request, uint64_t *out_ticket,
                struct hearsay_error *out_error)
{
    if (conn->state == CONN_BROKEN) {
        return repeat_broken(conn, out_error);
    }
    assert(conn->state == CONN_READY);
    if (conn_is_full(conn)) {
        return CONN_FULL;
    }
    enum hearsay_response_kind answer = codec_reply_kind(request->kind);
    if (request->kind == HEARSAY_REQUEST_HELLO || answer == HEARSAY_RESPONSE_UNKNOWN) {
        return fail_set(out_error, HEARSAY_ERR_ARGUMENT, "there is no such request");
    }
    /* This loop ends: at most half of the slots are in use. */
    uint64_t ticket = conn->last_ticket + 1;
    while (ticket == 0 || slot_of(conn, ticket)->ticket != 0) {
        ticket++;
    }
    request->id = ticket;
    int status = put_request(conn, request, out_error);
    if (status != HEARSAY_OK) {
        return status;
    }
    struct conn_slot *slot = slot_of(conn, ticket);
    slot->ticket = ticket;
    slot->kind = answer;
    slot->abandoned = false;
    promise_make(request, &slot->promise);
    conn->flight_count++;
    conn->last_ticket = ticket;
    *out_ticket = ticket;
    return HEARSAY_OK;
}

void conn_abandon(struct conn *conn, uint64_t ticket)
{
    if (conn->state != CONN_READY || ticket == 0) { /* 0: a free slot */
        return;
    }
    struct conn_slot *slot = slot_of(conn, ticket);
    if (slot->ticket == ticket && !slot->abandoned) {
        slot->abandoned = true;
        conn->abandoned_count++;
    }
}

const uint8_t *conn_output(const struct conn *conn, size_t *out_count)
{
    *out_count = conn->output.count - conn->sent;
    return *out_count > 0 ? conn->output.data + conn->sent : NULL;
}

void conn_sent(struct conn *conn, size_t count)
{
    assert(count <= conn->output.count - conn->sent);
    conn->sent += count;
    /* Removing bytes moves the remaining bytes, so bytes are not removed after every send. */
    if (conn->sent == conn->output.count || conn->sent >= CONN_OUTPUT_BYTES / 2) {
        bytes_consume(&conn->output, conn->sent);
        conn->sent = 0;
    }
}

int conn_room(struct conn *conn, uint8_t **out_room, size_t *out_count,
              struct hearsay_error *out_error)
{
    assert(conn->frame == NULL);
    if (frame_decoder_reserve(&conn->input, conn->read_bytes, out_room, out_count) != 0) {
        return fail_set_nomem(out_error);
    }
    return HEARSAY_OK;
}

void conn_filled(struct conn *conn, size_t count)
{
    frame_decoder_commit(&conn->input, count);
}

static int break_protocol(struct conn *conn, struct hearsay_error *out_error, const char *what)
{
    struct hearsay_error reason;
    (void)fail_set(&reason, HEARSAY_ERR_PROTOCOL, "this is no hearsay server, or a damaged one: %s",
                   what);
    return conn_break(conn, &reason, out_error);
}

static int break_refused(struct conn *conn, struct hearsay_error *out_error,
                         const struct msg_error *refusal)
{
    struct hearsay_error reason;
    fail_set_refused(&reason, refusal);
    return conn_break(conn, &reason, out_error);
}

static size_t conn_clamp(size_t value, size_t low, size_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* Welcome, or the refusal of Hello. */
static int accept_greeting(struct conn *conn, const struct hearsay_response *response,
                           struct hearsay_error *out_error)
{
    if (response->kind == HEARSAY_RESPONSE_ERROR) {
        return break_refused(conn, out_error, &response->error);
    }
    if (response->id != conn->last_ticket || response->kind != HEARSAY_RESPONSE_WELCOME) {
        return break_protocol(conn, out_error, "its first answer is not the Welcome");
    }
    const struct msg_welcome *welcome = &response->welcome;
    if (welcome->version != LIMIT_VERSION) {
        return break_protocol(conn, out_error, "it chose a version that was not offered");
    }
    if (welcome->host_count == 0 || welcome->store_id.count != LIMIT_ID_BYTES) {
        return break_protocol(conn, out_error, "its Welcome lacks hosts or the store's id");
    }
    size_t flight = welcome->limits.requests_in_flight;
    flight = conn_clamp(flight == 0 ? CONN_FLIGHT_DEFAULT : flight, 1, conn->flight_limit);
    size_t slot_count = 2;
    while (slot_count < 2 * flight) {
        slot_count *= 2;
    }
    conn->slots = alloc_zeroed(conn->alloc, slot_count, sizeof(*conn->slots));
    if (conn->slots == NULL) {
        return fail_set_nomem(out_error);
    }
    conn->slot_count = slot_count;
    conn->flight_max = flight;
    conn->frame_limit =
        conn_clamp(welcome->limits.frame_bytes, LIMIT_FRAME_BYTES_MIN, LIMIT_FRAME_BYTES_MAX);
    conn->input.limit_bytes = conn->frame_limit;
    move_to(conn, CONN_READY);
    return HEARSAY_OK;
}

static bool is_wanted_push(const struct conn *conn, enum hearsay_response_kind kind)
{
    return conn->state == CONN_READY &&
           (kind == HEARSAY_RESPONSE_EPOCH_CHANGED || kind == HEARSAY_RESPONSE_ACCEPT_CHANGED ||
            kind == HEARSAY_RESPONSE_NOTICES_CHANGED ||
            (kind == HEARSAY_RESPONSE_MATCH && conn->takes_matches) ||
            (kind == HEARSAY_RESPONSE_ASK && conn->takes_asks) ||
            (kind == HEARSAY_RESPONSE_HERE_CHANGED && conn->takes_here_changes));
}

/*
 * Checks a decoded response. Returns 0 when the caller gets the response; CONN_MORE when the
 * response is dropped; ERR_NOMEM when the Welcome cannot be taken for want of memory; or the error
 * that broke the connection.
 */
static int accept_reply(struct conn *conn, const struct hearsay_response *response,
                        struct hearsay_error *out_error)
{
    if (response->id == 0) {
        /* A push of the server, or an error about the whole connection. */
        if (response->kind == HEARSAY_RESPONSE_ERROR) {
            return break_refused(conn, out_error, &response->error);
        }
        return is_wanted_push(conn, response->kind) ? HEARSAY_OK : CONN_MORE;
    }
    if (conn->state == CONN_GREETING) {
        return accept_greeting(conn, response, out_error);
    }
    struct conn_slot *slot = slot_of(conn, response->id);
    if (slot->ticket != response->id) {
        return break_protocol(conn, out_error, "it answered a question that nobody asked");
    }
    if (response->kind != HEARSAY_RESPONSE_ERROR && response->kind != slot->kind) {
        return break_protocol(conn, out_error, "its answer does not fit the question");
    }
    const char *lie =
        response->kind == HEARSAY_RESPONSE_ERROR ? NULL : promise_broken(&slot->promise, response);
    if (lie != NULL) {
        struct hearsay_error reason;
        (void)fail_set(&reason, HEARSAY_ERR_PROTOCOL, "the server is not to be believed: it %s",
                       lie);
        return conn_break(conn, &reason, out_error);
    }
    bool abandoned = slot->abandoned;
    memset(slot, 0, sizeof(*slot));
    conn->flight_count--;
    conn->abandoned_count -= abandoned ? 1 : 0;
    return abandoned ? CONN_MORE : HEARSAY_OK;
}

/*
 * Sets conn->frame to the next frame. Returns 0, CONN_MORE, or the error that broke the connection.
 */
static int take_frame(struct conn *conn, struct hearsay_error *out_error)
{
    if (conn->frame != NULL) {
        return HEARSAY_OK;
    }
    switch (frame_next(&conn->input, &conn->frame, &conn->frame_length)) {
    case 0:
        return HEARSAY_OK;
    case FRAME_MORE:
        conn->frame = NULL;
        frame_decoder_release(&conn->input); /* the buffer has the texts of the last answer */
        return CONN_MORE;
    case FRAME_EMPTY:
        conn->frame = NULL;
        return break_protocol(conn, out_error, "it sent an empty frame");
    default:
        conn->frame = NULL;
        return break_protocol(conn, out_error, "it sent a frame over the limit");
    }
}

int conn_next(struct conn *conn, struct arena *arena, struct hearsay_response *out_response,
              struct hearsay_error *out_error)
{
    if (conn->state == CONN_BROKEN) {
        return repeat_broken(conn, out_error);
    }
    for (;;) {
        int status = take_frame(conn, out_error);
        if (status != HEARSAY_OK) {
            return status;
        }
        struct hearsay_response response;
        struct msg_error refusal;
        memset(&response, 0, sizeof(response));
        memset(&refusal, 0, sizeof(refusal));
        int rc = codec_decode_response(conn->frame, conn->frame_length, arena, &response, &refusal);
        if (rc < 0 && !arena->refused) {
            return fail_set_nomem(out_error); /* conn->frame stays, for another try */
        }
        if (rc != 0) {
            return break_protocol(conn, out_error,
                                  refusal.message[0] != '\0' ? refusal.message
                                                             : "its answer cannot be read");
        }
        status = accept_reply(conn, &response, out_error);
        if (status == HEARSAY_ERR_NOMEM) {
            return status;
        }
        conn->frame = NULL;
        if (status == HEARSAY_OK) {
            *out_response = response;
        }
        if (status != CONN_MORE) {
            return status;
        }
        arena_reset(arena);
    }
}

int conn_lose(struct conn *conn, int errno_value, struct hearsay_error *out_error)
{
    if (conn->state == CONN_BROKEN) {
        return repeat_broken(conn, out_error);
    }
    struct hearsay_error reason;
    if (errno_value != 0) {
        (void)fail_set_errno(&reason, HEARSAY_ERR_LOST, errno_value, "the connection broke");
    } else if (frame_decoder_pending(&conn->input) > 0) {
        (void)fail_set(&reason, HEARSAY_ERR_LOST,
                       "the server closed the connection in the middle of an answer");
    } else if (conn->state == CONN_GREETING) {
        (void)fail_set(&reason, HEARSAY_ERR_LOST,
                       "the server closed the connection without a word; it may want TLS");
    } else {
        (void)fail_set(&reason, HEARSAY_ERR_LOST, "the server closed the connection");
    }
    return conn_break(conn, &reason, out_error);
}

size_t conn_in_flight(const struct conn *conn)
{
    return conn->flight_count - conn->abandoned_count;
}

bool conn_is_full(const struct conn *conn)
{
    return conn->state == CONN_READY && (conn->flight_count >= conn->flight_max ||
                                         conn->output.count - conn->sent > CONN_OUTPUT_BYTES);
}
