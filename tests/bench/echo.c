/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/echo.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "tests/bench/bench.h"

enum {
    READ_BYTES = 64 * 1024,
    BACKLOG = 128,
    HEADER_BYTES = 4,
    REQUEST_BYTES_MIN = 64, /* requests are larger, and what is smaller is answered as well */
    ID_TAG = 1 << 3,        /* field 1, a number; the first of every request and answer */
    ID_AT = HEADER_BYTES + 1,
    HELLO_TAG = 2 << 3 | 2 /* field 2, a message */
};

struct echo {
    uv_loop_t loop;
    uv_tcp_t listener;
    uv_signal_t terminate;
    char *welcome;
    size_t welcome_bytes;
    char *answers; /* copies behind one another, as many as one read can ask for */
    size_t answer_bytes;
    size_t answer_room; /* answers */
};

struct echo_session {
    uv_tcp_t tcp;
    struct echo *echo;
    uint8_t input[READ_BYTES];
    size_t used; /* of it; what is left is the beginning of a frame */
};

/*
 * A write that the socket did not take at once. This is rare, so a copy of the bytes is acceptable.
 */
struct echo_write {
    uv_write_t write;
    char bytes[];
};

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *out_buf)
{
    struct echo_session *session = handle->data;
    (void)suggested;

    *out_buf = uv_buf_init((char *)session->input + session->used,
                           (unsigned)(sizeof(session->input) - session->used));
}

/* --- answers ---------------------------------------------------------------------------------- */

static void on_written(uv_write_t *write, int status)
{
    struct echo_session *session = write->handle->data;

    if (status < 0 && !uv_is_closing((uv_handle_t *)&session->tcp)) {
        uv_close((uv_handle_t *)&session->tcp, on_closed);
    }
    free(write->data);
}

/* The bytes may be changed afterwards. */
static bool send_bytes(struct echo_session *session, char *bytes, size_t count)
{
    uv_stream_t *stream = (uv_stream_t *)&session->tcp;
    uv_buf_t buf = uv_buf_init(bytes, (unsigned)count);
    const int taken = uv_try_write(stream, &buf, 1);

    if (taken == (int)count) {
        return true;
    }
    if (taken < 0 && taken != UV_EAGAIN) {
        return false;
    }
    const size_t done = taken > 0 ? (size_t)taken : 0;
    struct echo_write *write = malloc(sizeof(*write) + count - done);
    if (write == NULL) {
        return false;
    }
    write->write.data = write;
    memcpy(write->bytes, bytes + done, count - done);
    buf = uv_buf_init(write->bytes, (unsigned)(count - done));
    if (uv_write(&write->write, stream, &buf, 1, on_written) == 0) {
        return true;
    }
    free(write);
    return false;
}

/* The id of a ready-made frame always has ECHO_ID_BYTES bytes. */
static void put_id(char *frame, uint32_t id)
{
    for (size_t i = 0; i < ECHO_ID_BYTES - 1; i++) {
        frame[ID_AT + i] = (char)(0x80 | (id >> 7 * i & 0x7f));
    }
    frame[ID_AT + ECHO_ID_BYTES - 1] = (char)(id >> 7 * (ECHO_ID_BYTES - 1));
}

/* --- requests --------------------------------------------------------------------------------- */

/*
 * Reads the id at the start of a request; *out_next is the byte after the id. Returns whether the
 * request has an id.
 */
static bool read_id(const uint8_t *request, size_t length, uint32_t *out_id, uint8_t *out_next)
{
    uint32_t id = 0;

    if (length == 0 || request[0] != ID_TAG) {
        return false;
    }
    for (size_t i = 0; i < ECHO_ID_BYTES && i + 2 < length; i++) {
        const uint8_t byte = request[1 + i];
        id |= (uint32_t)(byte & 0x7f) << 7 * i;
        if ((byte & 0x80) == 0) {
            *out_id = id;
            *out_next = request[2 + i];
            return true;
        }
    }
    return false;
}

static bool welcome(struct echo_session *session, uint32_t id)
{
    const struct echo *echo = session->echo;

    if (echo->welcome_bytes == 0) {
        return false;
    }
    put_id(echo->welcome, id);
    return send_bytes(session, echo->welcome, echo->welcome_bytes);
}

/*
 * Answers the complete frames that were read. Returns false if the peer is not a client of the
 * benchmark, or if there is no memory.
 */
static bool answer_all(struct echo_session *session)
{
    const struct echo *echo = session->echo;
    size_t at = 0;
    size_t ready = 0; /* answers not yet sent */

    while (session->used - at >= HEADER_BYTES) {
        const uint8_t *frame = session->input + at;
        const size_t length = (size_t)frame[0] << 24 | (size_t)frame[1] << 16 |
                              (size_t)frame[2] << 8 | (size_t)frame[3];
        uint32_t id = 0;
        uint8_t next = 0;
        if (length > session->used - at - HEADER_BYTES) {
            break;
        }
        if (!read_id(frame + HEADER_BYTES, length, &id, &next)) {
            return false;
        }
        at += HEADER_BYTES + length;
        if (next == HELLO_TAG) {
            if (!welcome(session, id)) {
                return false;
            }
            continue;
        }
        put_id(echo->answers + ready++ * echo->answer_bytes, id);
        if (ready == echo->answer_room) {
            if (!send_bytes(session, echo->answers, ready * echo->answer_bytes)) {
                return false;
            }
            ready = 0;
        }
    }
    session->used -= at;
    memmove(session->input, session->input + at, session->used);
    return session->used < sizeof(session->input) &&
           (ready == 0 || send_bytes(session, echo->answers, ready * echo->answer_bytes));
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf)
{
    struct echo_session *session = stream->data;
    (void)buf;

    if (count >= 0) {
        session->used += (size_t)count;
        if (answer_all(session)) {
            return;
        }
    }
    if (!uv_is_closing((uv_handle_t *)stream)) {
        uv_close((uv_handle_t *)stream, on_closed);
    }
}

/* --- serving ---------------------------------------------------------------------------------- */

static void on_connection(uv_stream_t *listener, int status)
{
    struct echo *echo = listener->data;
    struct echo_session *session = status == 0 ? calloc(1, sizeof(*session)) : NULL;

    if (session == NULL || uv_tcp_init(&echo->loop, &session->tcp) != 0) {
        free(session);
        return;
    }
    session->echo = echo;
    session->tcp.data = session;
    if (uv_accept(listener, (uv_stream_t *)&session->tcp) != 0 ||
        uv_tcp_nodelay(&session->tcp, 1) != 0 ||
        uv_read_start((uv_stream_t *)&session->tcp, on_alloc, on_read) != 0) {
        uv_close((uv_handle_t *)&session->tcp, on_closed);
    }
}

static void on_terminate(uv_signal_t *signal, int number)
{
    (void)number;
    uv_stop(signal->loop); /* the process ends right after: nothing needs to be closed */
}

static int prepare(struct echo *echo, const struct echo_frames *frames)
{
    echo->welcome_bytes = frames->welcome_bytes;
    echo->welcome = malloc(frames->welcome_bytes + 1); /* 0 bytes are no error */
    echo->answer_bytes = frames->answer_bytes;
    echo->answer_room = READ_BYTES / REQUEST_BYTES_MIN;
    echo->answers = malloc(echo->answer_room * echo->answer_bytes);
    if (echo->welcome == NULL || echo->answers == NULL) {
        return -1;
    }
    if (frames->welcome_bytes > 0) {
        memcpy(echo->welcome, frames->welcome, frames->welcome_bytes);
    }
    for (size_t i = 0; i < echo->answer_room; i++) {
        memcpy(echo->answers + i * echo->answer_bytes, frames->answer, echo->answer_bytes);
    }
    return 0;
}

int echo_serve(int listener, const struct echo_frames *frames)
{
    static struct echo echo;

    (void)signal(SIGPIPE, SIG_IGN);
    if (prepare(&echo, frames) != 0 || uv_loop_init(&echo.loop) != 0 ||
        uv_tcp_init(&echo.loop, &echo.listener) != 0 ||
        uv_tcp_open(&echo.listener, listener) != 0 ||
        uv_signal_init(&echo.loop, &echo.terminate) != 0 ||
        uv_signal_start(&echo.terminate, on_terminate, SIGTERM) != 0) {
        return bench_fail("the echo server cannot begin");
    }
    echo.listener.data = &echo;
    if (uv_listen((uv_stream_t *)&echo.listener, BACKLOG, on_connection) != 0) {
        return bench_fail("the echo server cannot listen");
    }
    (void)uv_run(&echo.loop, UV_RUN_DEFAULT); /* what is left open ends with the process */
    return 0;
}
