/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/net/transport.h"

#include <string.h>
#include <sys/socket.h>

#include "core/base/err.h"
#include "daemon/system/log.h"
#include "proto/tls/tls.h"

enum {
    THROWN_AWAY_MAX = 256 * 1024, /* bytes that are read after transport_end */
    WRITE_BYTES = 64 * 1024,      /* output that is encrypted at a time: the copy takes memory */
    RECORD_BYTES = 16 * 1024,     /* plain bytes of one record at most */
    /* Bytes of one read during a TLS handshake. The read is short: after transport_end all bytes of
     * a read are decrypted at once. */
    HANDSHAKE_READ_BYTES = 4 * 1024
};

int transport_init(struct transport *transport, const struct transport_options *options)
{
    memset(transport, 0, sizeof(*transport));
    int rc = options->is_pipe ? uv_pipe_init(options->loop, &transport->uv.pipe, 0)
                              : uv_tcp_init(options->loop, &transport->uv.tcp);
    if (rc != 0) {
        return rc;
    }
    transport->uv.handle.data = transport;
    transport->events = options->events;
    frame_decoder_init(&transport->input, options->alloc, options->frame_bytes);
    bytes_init(&transport->output, options->alloc);
    bytes_init(&transport->writing, options->alloc);
    return 0;
}

void transport_secure(struct transport *transport, struct tls_pipe *pipe, uint8_t *scratch,
                      size_t scratch_bytes)
{
    transport->tls = pipe;
    transport->scratch = scratch;
    transport->scratch_bytes = scratch_bytes;
}

bool transport_is_shaking_hands(const struct transport *transport)
{
    return transport->tls != NULL && !tls_pipe_is_open(transport->tls);
}

bool transport_tls_failed(const struct transport *transport)
{
    return transport->tls != NULL && tls_pipe_reason(transport->tls)[0] != '\0';
}

bool transport_is_flooded(const struct transport *transport)
{
    return transport->tls != NULL && tls_pipe_is_flooded(transport->tls);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *out_buf)
{
    struct transport *transport = handle->data;
    uint8_t *room = NULL;
    size_t bytes = 0;
    (void)suggested; /* always 64 KiB */

    if (!transport->reading) {
        *out_buf = uv_buf_init(NULL, 0); /* libuv reads nothing, and reports UV_ENOBUFS */
        return;
    }
    size_t most = transport->events->reading(transport);
    if (transport->tls != NULL) {
        bytes =
            transport_is_shaking_hands(transport) ? HANDSHAKE_READ_BYTES : transport->scratch_bytes;
        bytes = most < bytes ? most : bytes;
        *out_buf = uv_buf_init((char *)transport->scratch, (unsigned int)bytes);
        return;
    }
    if (frame_decoder_reserve(&transport->input, most, &room, &bytes) != 0) {
        bytes = 0; /* libuv reports UV_ENOBUFS to on_read */
    }
    *out_buf = uv_buf_init((char *)room, (unsigned int)bytes);
}

/* Counts bytes that were read after transport_end. Over the limit the transport stops reading, so
 * it does not notice that the client ends its side of the stream. */
static void throw_away(struct transport *transport, size_t count)
{
    transport->thrown_away += count;
    if (transport->thrown_away > THROWN_AWAY_MAX) {
        transport_pause(transport);
    }
}

/*
 * Decrypts at most one record of the bytes that the pipe holds. Adds the plain bytes to `input`, or
 * throws them away when the transport is ending. Returns 0 or TLS_RECORD: there may be more
 * records. Returns TLS_MORE: no complete record is left. Returns TLS_ENDED, TLS_FAILED or
 * -ERR_NOMEM: no more records can be read.
 */
static int tls_pull(struct transport *transport)
{
    uint8_t *room = transport->scratch; /* free: its bytes have been fed to the pipe */
    size_t bytes = transport->scratch_bytes;
    size_t count = 0;

    if (!transport->ending &&
        frame_decoder_reserve(&transport->input, RECORD_BYTES, &room, &bytes) != 0) {
        return -ERR_NOMEM;
    }
    int rc = tls_pipe_read(transport->tls, room, bytes, &count);
    if (rc == 0 && !transport->ending) {
        frame_decoder_commit(&transport->input, count);
    }
    if (rc == TLS_FAILED) {
        log_debug("a connection's TLS failed: %s", tls_pipe_reason(transport->tls));
    }
    return rc;
}

bool transport_pull(struct transport *transport)
{
    if (transport->tls == NULL || transport->closing) {
        return false;
    }
    bool was_shaking_hands = transport_is_shaking_hands(transport);
    int rc = tls_pull(transport);
    if (rc == 0 || rc == TLS_RECORD) {
        return true;
    }
    /* Writes the bytes of the handshake or of an alert, and the output that has waited for the
     * handshake. */
    if (was_shaking_hands || tls_pipe_waiting(transport->tls) > 0) {
        transport_flush(transport);
    }
    if (rc != TLS_MORE && !transport->closing) {
        transport_pause(transport);
        transport->events->ended(transport, rc == TLS_ENDED);
    }
    return false;
}

/* Feeds the bytes of one read to the pipe. After transport_end only the handshake goes on: it must
 * be done before the last answers can be encrypted. */
static void receive_encrypted(struct transport *transport, size_t count)
{
    if (transport->ending) {
        throw_away(transport, count);
    }
    if (transport->ending && !transport_is_shaking_hands(transport)) {
        return;
    }
    if (tls_pipe_feed(transport->tls, transport->scratch, count) != 0) {
        transport_pause(transport);
        transport->events->ended(transport, false);
        return;
    }
    if (!transport->ending) {
        transport->events->readable(transport);
        return;
    }
    while (transport_pull(transport)) {
    }
}

/* Takes the stream out of the loop: libuv does not watch it for bytes any more. */
static void stop_watching(struct transport *transport)
{
    (void)uv_read_stop(&transport->uv.stream); /* cannot fail, by libuv's documentation */
    transport->reading = false;
    transport->watched = false;
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf)
{
    struct transport *transport = stream->data;
    (void)buf;

    if (count < 0 && !transport->reading) { /* bytes or the end came in a pause */
        stop_watching(transport);
        return;
    }
    if (count < 0) {
        stop_watching(transport);
        frame_decoder_release(&transport->input);
        transport->events->ended(transport, count == UV_EOF);
        return;
    }
    if (transport->tls != NULL) {
        if (count > 0) {
            receive_encrypted(transport, (size_t)count);
        }
        return;
    }
    if (transport->ending) {
        frame_decoder_release(&transport->input);
        throw_away(transport, (size_t)count);
        return;
    }
    frame_decoder_commit(&transport->input, (size_t)count);
    if (count > 0) {
        transport->events->readable(transport);
    }
}

void transport_read(struct transport *transport)
{
    if (transport->reading || transport->closing) {
        return;
    }
    if (!transport->watched) {
        transport->watched = uv_read_start(&transport->uv.stream, on_alloc, on_read) == 0;
    }
    transport->reading = transport->watched;
    if (!transport->reading) {
        transport->events->ended(transport, false);
    }
}

/*
 * Leaves the stream in the loop, because most pauses end before more bytes come: a client that
 * waits for its answer is served in the same turn. A uv_read_stop here, with a uv_read_start after
 * it, would cost two calls of epoll_ctl for each request. If bytes do come in a pause, they stay in
 * the socket, because on_alloc gives no memory, and on_read takes the stream out of the loop.
 */
void transport_pause(struct transport *transport)
{
    transport->reading = false;
}

static void on_shutdown(uv_shutdown_t *request, int status)
{
    (void)request;
    (void)status; /* an error: on_read gets it, too */
}

static void note_progress(struct transport *transport)
{
    transport->progress_ms = (int64_t)uv_now(transport->uv.handle.loop);
}

/* The bytes in `writing` are written. */
static void finish_write(struct transport *transport)
{
    bytes_consume(&transport->writing, transport->writing.count);
    note_progress(transport);
}

/* Shuts our side of the stream down after transport_end. libuv shuts down after the writes that it
 * has, so `output` must be empty by then. */
static void shut_down_when_written(struct transport *transport)
{
    if (!transport->ending || transport->shut_down || transport->closing ||
        transport->output.count > 0) {
        return;
    }
    transport->shut_down = true;
    if (transport->tls != NULL) {
        tls_pipe_end(transport->tls);
        transport_flush(transport);
    }
    transport->shutdown_request.data = transport;
    (void)uv_shutdown(&transport->shutdown_request, &transport->uv.stream, on_shutdown);
}

static void on_write(uv_write_t *request, int status)
{
    struct transport *transport = request->data;

    transport->write_active = false;
    finish_write(transport);
    if (transport->closing) {
        return;
    }
    if (status < 0) {
        transport->events->ended(transport, false);
        return;
    }
    transport_flush(transport);
    shut_down_when_written(transport);
    transport->events->written(transport);
}

/* Lets libuv write the bytes of `writing` that the socket did not take at once. */
static void write_rest(struct transport *transport, size_t written)
{
    uv_buf_t buf = uv_buf_init((char *)transport->writing.data + written,
                               (unsigned int)(transport->writing.count - written));

    transport->write_request.data = transport;
    int rc = uv_write(&transport->write_request, &transport->uv.stream, &buf, 1, on_write);
    if (rc != 0) {
        transport->events->ended(transport, false);
        return;
    }
    transport->write_active = true;
    transport->write_remaining = uv_stream_get_write_queue_size(&transport->uv.stream);
    note_progress(transport);
}

/* Moves encrypted bytes from the pipe into `writing`. Returns 0 or -ERR_NOMEM. */
static int take_wire(struct transport *transport)
{
    size_t waiting = tls_pipe_waiting(transport->tls);

    if (waiting == 0) {
        return 0;
    }
    uint8_t *room = bytes_reserve(&transport->writing, waiting);
    if (room == NULL) {
        return -ERR_NOMEM;
    }
    transport->writing.count += tls_pipe_take(transport->tls, room, waiting);
    return 0;
}

/*
 * Encrypts up to WRITE_BYTES of `output` into `writing`, and adds the other bytes that TLS sends,
 * of the handshake or of the end. Returns 0, TLS_FAILED or -ERR_NOMEM.
 */
static int tls_send(struct transport *transport)
{
    size_t left = WRITE_BYTES;
    size_t written = 1;

    while (tls_pipe_is_open(transport->tls) && transport->output.count > 0 && left > 0 &&
           written > 0) {
        size_t some = transport->output.count < left ? transport->output.count : left;
        int rc = tls_pipe_write(transport->tls, transport->output.data, some, &written);
        if (rc != 0) {
            return rc;
        }
        bytes_consume(&transport->output, written);
        left -= written;
    }
    return take_wire(transport);
}

/* Moves `output` into `writing`; with TLS, encrypts a part of `output` into `writing`. Returns
 * whether `writing` has any bytes to write. May call `ended`. */
static bool fill_writing(struct transport *transport)
{
    if (transport->tls != NULL) {
        if (tls_send(transport) != 0) {
            transport->events->ended(transport, false);
            return false;
        }
        return transport->writing.count > 0;
    }
    if (transport->output.count == 0) {
        return false;
    }
    struct bytes empty = transport->writing;
    transport->writing = transport->output;
    transport->output = empty;
    return true;
}

void transport_flush(struct transport *transport)
{
    while (!transport->write_active && !transport->closing && fill_writing(transport)) {
        /* In most cases the socket takes all bytes at once, and no other turn of the loop is
         * needed. */
        uv_buf_t buf =
            uv_buf_init((char *)transport->writing.data, (unsigned int)transport->writing.count);
        int written = uv_try_write(&transport->uv.stream, &buf, 1);
        if (written < 0 && written != UV_EAGAIN) {
            transport->events->ended(transport, false);
            return;
        }
        if (written < 0 || (size_t)written < transport->writing.count) {
            write_rest(transport, written < 0 ? 0 : (size_t)written);
            return;
        }
        finish_write(transport);
        shut_down_when_written(transport);
        transport->events->written(transport);
    }
}

size_t transport_output_bytes(const struct transport *transport)
{
    size_t encrypted = transport->tls != NULL ? tls_pipe_waiting(transport->tls) : 0;

    return transport->output.count + transport->writing.count + encrypted;
}

bool transport_is_stuck(struct transport *transport, int64_t now_ms, int64_t patience_ms)
{
    if (!transport->write_active) {
        return false;
    }
    size_t remaining = uv_stream_get_write_queue_size(&transport->uv.stream);
    if (remaining != transport->write_remaining) {
        transport->write_remaining = remaining;
        transport->progress_ms = now_ms;
    }
    return now_ms - transport->progress_ms > patience_ms;
}

void transport_end(struct transport *transport)
{
    if (transport->ending || transport->closing) {
        return;
    }
    transport->ending = true;
    const struct alloc *alloc = transport->input.alloc;
    size_t limit = transport->input.limit_bytes;
    frame_decoder_deinit(&transport->input);
    frame_decoder_init(&transport->input, alloc, limit);
    transport_flush(transport);
    shut_down_when_written(transport);
    transport_read(transport);
}

static void on_close(uv_handle_t *handle)
{
    struct transport *transport = handle->data;

    frame_decoder_deinit(&transport->input);
    bytes_deinit(&transport->output);
    bytes_deinit(&transport->writing);
    tls_pipe_free(transport->tls);
    transport->tls = NULL;
    transport->events->closed(transport);
}

void transport_close(struct transport *transport)
{
    if (transport->closing) {
        return;
    }
    transport->closing = true;
    transport->reading = false;
    uv_close(&transport->uv.handle, on_close);
}

void transport_reset(struct transport *transport)
{
    struct linger none = {.l_onoff = 1, .l_linger = 0};
    uv_os_fd_t descriptor = -1;

    if (!transport->closing && uv_fileno(&transport->uv.handle, &descriptor) == 0) {
        /* an error is ignored: without SO_LINGER the kernel keeps TIME_WAIT, which Unix sockets do
         * not have */
        (void)setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
    }
    transport_close(transport);
}
