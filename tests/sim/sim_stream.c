/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/sim_stream.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "daemon/net/loop.h"
#include "tests/sim/sim_check.h"

enum { CLOSING_MAX = 64 };

int64_t sim_stream_now_ms;

static struct sim_stream *offered;
static struct transport *closing[CLOSING_MAX];
static size_t closing_count;

static struct sim_stream *stream_of(const struct transport *transport)
{
    return transport->uv.handle.data;
}

/* --- the world's end -------------------------------------------------------------------------- */

void sim_stream_init(struct sim_stream *stream, uint32_t address)
{
    *stream = (struct sim_stream){.address = address};
    bytes_init(&stream->up, alloc_system());
}

void sim_stream_deinit(struct sim_stream *stream)
{
    SIM_CHECK(stream->transport == NULL);
    bytes_deinit(&stream->up);
}

void sim_stream_offer(struct sim_stream *stream)
{
    offered = stream;
}

/* Reading was resumed or there is more: as many as may be. */
bool sim_stream_deliver(struct sim_stream *stream, size_t most)
{
    struct transport *transport = stream->transport;

    if (transport == NULL || transport->closing || !transport->reading) {
        return false;
    }
    size_t count = stream->up.count < most ? stream->up.count : most;
    if (count == 0) {
        if (!stream->client_ended || stream->end_told || stream->up.count > 0) {
            return false;
        }
        stream->end_told = true;
        transport_pause(transport);
        transport->events->ended(transport, true);
        return true;
    }
    const size_t at_once = transport->events->reading(transport);
    count = count < at_once ? count : at_once;
    if (!transport->ending) {
        uint8_t *room = NULL;
        size_t bytes = 0;
        SIM_CHECK(frame_decoder_reserve(&transport->input, count, &room, &bytes) == 0);
        count = bytes < count ? bytes : count;
        memcpy(room, stream->up.data, count);
        frame_decoder_commit(&transport->input, count);
    }
    bytes_consume(&stream->up, count);
    if (!transport->ending) {
        transport->events->readable(transport);
    }
    return true;
}

void sim_stream_cut(struct sim_stream *stream)
{
    struct transport *transport = stream->transport;

    bytes_consume(&stream->up, stream->up.count);
    if (transport != NULL && !transport->closing) {
        transport_pause(transport);
        transport->events->ended(transport, false);
    }
}

size_t sim_stream_waiting(const struct sim_stream *stream)
{
    return stream->transport == NULL ? 0 : stream->transport->writing.count;
}

static void shut_down_when_written(struct transport *transport)
{
    if (transport->ending && !transport->shut_down && !transport->closing &&
        transport->output.count == 0 && transport->writing.count == 0) {
        transport->shut_down = true;
        stream_of(transport)->server_ended = true;
    }
}

size_t sim_stream_take(struct sim_stream *stream, size_t most, struct bytes *out)
{
    struct transport *transport = stream->transport;

    if (transport == NULL || transport->closing || transport->writing.count == 0) {
        return 0;
    }
    const size_t count = transport->writing.count < most ? transport->writing.count : most;
    SIM_CHECK(bytes_append(out, transport->writing.data, count) == 0);
    bytes_consume(&transport->writing, count);
    transport->progress_ms = sim_stream_now_ms;
    if (transport->writing.count == 0) {
        transport->write_active = false;
        transport_flush(transport);
        shut_down_when_written(transport);
        transport->events->written(transport);
    }
    return count;
}

bool sim_stream_close_all(void)
{
    const size_t count = closing_count;

    for (size_t i = 0; i < count; i++) {
        struct transport *transport = closing[i];
        struct sim_stream *stream = stream_of(transport);
        if (stream != NULL) {
            stream->server_closed = true;
            stream->transport = NULL;
        }
        frame_decoder_deinit(&transport->input);
        bytes_deinit(&transport->output);
        bytes_deinit(&transport->writing);
        transport->events->closed(transport); /* may free it */
    }
    memmove(closing, closing + count, (closing_count - count) * sizeof(closing[0]));
    closing_count -= count;
    return count > 0;
}

/* --- in the place of daemon/net/transport.c --------------------------------------------------- */

int transport_init(struct transport *transport, const struct transport_options *options)
{
    memset(transport, 0, sizeof(*transport));
    transport->events = options->events;
    transport->progress_ms = sim_stream_now_ms;
    frame_decoder_init(&transport->input, options->alloc, options->frame_bytes);
    bytes_init(&transport->output, options->alloc);
    bytes_init(&transport->writing, options->alloc);
    return 0;
}

void transport_secure(struct transport *transport, struct tls_pipe *pipe, uint8_t *scratch,
                      size_t scratch_bytes)
{
    (void)transport;
    (void)pipe;
    (void)scratch;
    (void)scratch_bytes;
    sim_fail(__FILE__, __LINE__, "no simulated listener is encrypted");
}

bool transport_is_shaking_hands(const struct transport *transport)
{
    (void)transport;
    return false;
}

bool transport_tls_failed(const struct transport *transport)
{
    (void)transport;
    return false;
}

bool transport_is_flooded(const struct transport *transport)
{
    (void)transport;
    return false;
}

bool transport_pull(struct transport *transport)
{
    (void)transport;
    return false;
}

void transport_read(struct transport *transport)
{
    transport->reading = !transport->closing;
}

void transport_pause(struct transport *transport)
{
    transport->reading = false;
}

void transport_flush(struct transport *transport)
{
    if (transport->write_active || transport->closing || transport->output.count == 0) {
        return;
    }
    const struct bytes empty = transport->writing;
    transport->writing = transport->output;
    transport->output = empty;
    transport->write_active = true;
    transport->progress_ms = sim_stream_now_ms;
}

size_t transport_output_bytes(const struct transport *transport)
{
    return transport->output.count + transport->writing.count;
}

bool transport_is_stuck(struct transport *transport, int64_t now_ms, int64_t patience_ms)
{
    return transport->write_active && now_ms - transport->progress_ms > patience_ms;
}

void transport_end(struct transport *transport)
{
    if (transport->ending || transport->closing) {
        return;
    }
    transport->ending = true;
    const struct alloc *alloc = transport->input.alloc;
    const size_t limit = transport->input.limit_bytes;
    frame_decoder_deinit(&transport->input);
    frame_decoder_init(&transport->input, alloc, limit);
    transport_flush(transport);
    shut_down_when_written(transport);
    transport_read(transport);
}

void transport_close(struct transport *transport)
{
    if (transport->closing) {
        return;
    }
    transport->closing = true;
    transport->reading = false;
    SIM_CHECK(closing_count < CLOSING_MAX);
    closing[closing_count++] = transport;
    if (stream_of(transport) != NULL && stream_of(transport)->closing != NULL) {
        stream_of(transport)->closing(stream_of(transport));
    }
}

void transport_reset(struct transport *transport)
{
    transport_close(transport);
}

/* --- in the place of libuv, by the linker's --wrap -------------------------------------------- */

int __wrap_uv_accept(uv_stream_t *server, uv_stream_t *client);
int __wrap_uv_tcp_getpeername(const uv_tcp_t *handle, struct sockaddr *name, int *size);
int __wrap_uv_tcp_getsockname(const uv_tcp_t *handle, struct sockaddr *name, int *size);
int __wrap_uv_tcp_nodelay(uv_tcp_t *handle, int enable);
int __wrap_uv_tcp_keepalive(uv_tcp_t *handle, int enable, unsigned int delay);
int __wrap_uv_fileno(const uv_handle_t *handle, uv_os_fd_t *fd);
int64_t __wrap_loop_now_ms(const struct loop *loop);

int __wrap_uv_accept(uv_stream_t *server, uv_stream_t *client)
{
    struct transport *transport = (struct transport *)(void *)client; /* its first member */
    (void)server;

    transport->uv.handle.data = offered;
    offered->transport = transport;
    offered = NULL;
    return 0;
}

static void make_address(uint32_t number, struct sockaddr *out, int *size)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_addr.s_addr = htonl(number == 1 ? INADDR_LOOPBACK : UINT32_C(0x0a000000) + number),
    };

    SIM_CHECK((size_t)*size >= sizeof(address));
    memcpy(out, &address, sizeof(address));
    *size = sizeof(address);
}

int __wrap_uv_tcp_getpeername(const uv_tcp_t *handle, struct sockaddr *name, int *size)
{
    make_address(((const struct sim_stream *)handle->data)->address, name, size);
    return 0;
}

int __wrap_uv_tcp_getsockname(const uv_tcp_t *handle, struct sockaddr *name, int *size)
{
    (void)handle;
    make_address(UINT32_C(0xfffe), name, size);
    return 0;
}

int __wrap_uv_tcp_nodelay(uv_tcp_t *handle, int enable)
{
    (void)handle;
    (void)enable;
    return 0;
}

int __wrap_uv_tcp_keepalive(uv_tcp_t *handle, int enable, unsigned int delay)
{
    (void)handle;
    (void)enable;
    (void)delay;
    return 0;
}

/* Nobody is the administrator by this: the world says who is. */
int __wrap_uv_fileno(const uv_handle_t *handle, uv_os_fd_t *fd)
{
    (void)handle;
    *fd = -1;
    return UV_EBADF;
}

int64_t __wrap_loop_now_ms(const struct loop *loop)
{
    (void)loop;
    return sim_stream_now_ms;
}
