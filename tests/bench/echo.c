/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/echo.h"

#include "tests/bench/bench.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

enum { READ_BYTES = 64 * 1024, BACKLOG = 128, HEADER_BYTES = 4 };

struct echo {
    uv_loop_t loop;
    uv_tcp_t listener;
    uv_signal_t terminate;
    /* As many answers behind one another as one read can ask for; what is written is never copied.
     */
    char *answers;
    size_t answer_bytes;
    size_t answer_room; /* answers */
};

struct echo_session {
    uv_tcp_t tcp;
    struct echo *echo;
    char input[READ_BYTES]; /* a frame is not kept: only how much of it is still to come */
    size_t skip_bytes;      /* of the frame under way */
    unsigned char header[HEADER_BYTES];
    size_t header_used;
};

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *out_buf)
{
    struct echo_session *session = handle->data;
    (void)suggested;

    *out_buf = uv_buf_init(session->input, sizeof(session->input));
}

/* Frames that end within these bytes. */
static size_t count_frames(struct echo_session *session, const char *bytes, size_t count)
{
    size_t frames = 0;

    while (count > 0) {
        if (session->header_used < HEADER_BYTES) {
            session->header[session->header_used++] = (unsigned char)*bytes++;
            count--;
            if (session->header_used == HEADER_BYTES)
                session->skip_bytes = (size_t)session->header[0] << 24 |
                                      (size_t)session->header[1] << 16 |
                                      (size_t)session->header[2] << 8 | session->header[3];
            continue;
        }
        const size_t part = session->skip_bytes < count ? session->skip_bytes : count;
        bytes += part;
        count -= part;
        session->skip_bytes -= part;
        if (session->skip_bytes == 0) {
            session->header_used = 0;
            frames++;
        }
    }
    return frames;
}

static void on_written(uv_write_t *write, int status)
{
    struct echo_session *session = write->data;

    if (status < 0 && !uv_is_closing((uv_handle_t *)&session->tcp))
        uv_close((uv_handle_t *)&session->tcp, on_closed);
    free(write);
}

static bool answer(struct echo_session *session, size_t frames)
{
    struct echo *echo = session->echo;

    while (frames > 0) {
        const size_t some = frames < echo->answer_room ? frames : echo->answer_room;
        uv_buf_t buf = uv_buf_init(echo->answers, (unsigned)(some * echo->answer_bytes));
        frames -= some;
        /* Mostly the socket takes it all at once; only what it does not take is queued. */
        const int taken = uv_try_write((uv_stream_t *)&session->tcp, &buf, 1);
        if (taken == (int)buf.len)
            continue;
        if (taken < 0 && taken != UV_EAGAIN)
            return false;
        if (taken > 0) {
            buf.base += taken;
            buf.len -= (size_t)taken;
        }
        uv_write_t *write = malloc(sizeof(*write));
        if (write == NULL)
            return false;
        write->data = session;
        if (uv_write(write, (uv_stream_t *)&session->tcp, &buf, 1, on_written) != 0) {
            free(write);
            return false;
        }
    }
    return true;
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf)
{
    struct echo_session *session = stream->data;

    if (count >= 0 && answer(session, count_frames(session, buf->base, (size_t)count)))
        return;
    if (!uv_is_closing((uv_handle_t *)stream))
        uv_close((uv_handle_t *)stream, on_closed);
}

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
        uv_read_start((uv_stream_t *)&session->tcp, on_alloc, on_read) != 0)
        uv_close((uv_handle_t *)&session->tcp, on_closed);
}

static void on_terminate(uv_signal_t *signal, int number)
{
    (void)number;
    uv_stop(signal->loop); /* the process ends right after: nothing needs to be closed */
}

static int prepare_answers(struct echo *echo, const uint8_t *bytes, size_t count)
{
    echo->answer_bytes = count;
    echo->answer_room = READ_BYTES / HEADER_BYTES / 16; /* requests are larger than 64 bytes */
    echo->answers = malloc(echo->answer_room * count);
    if (echo->answers == NULL)
        return -1;
    for (size_t i = 0; i < echo->answer_room; i++)
        memcpy(echo->answers + i * count, bytes, count);
    return 0;
}

int echo_serve(int listener, const uint8_t *answer_frame, size_t answer_bytes)
{
    static struct echo echo;

    (void)signal(SIGPIPE, SIG_IGN);
    if (prepare_answers(&echo, answer_frame, answer_bytes) != 0 || uv_loop_init(&echo.loop) != 0 ||
        uv_tcp_init(&echo.loop, &echo.listener) != 0 ||
        uv_tcp_open(&echo.listener, listener) != 0 ||
        uv_signal_init(&echo.loop, &echo.terminate) != 0 ||
        uv_signal_start(&echo.terminate, on_terminate, SIGTERM) != 0)
        return bench_fail("the echo server cannot begin");
    echo.listener.data = &echo;
    if (uv_listen((uv_stream_t *)&echo.listener, BACKLOG, on_connection) != 0)
        return bench_fail("the echo server cannot listen");
    (void)uv_run(&echo.loop, UV_RUN_DEFAULT); /* what is left open ends with the process */
    return 0;
}
