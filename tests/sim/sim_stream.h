/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim_stream: the network of a simulated world. sim_stream.c stands in the place of
 * daemon/net/transport.c, and of the few calls of libuv that a session makes: a stream is a buffer
 * in each direction, whose bytes move when the world says so, as many as it says. So sessions are
 * the real ones, without a loop, sockets or time of their own.
 */
#pragma once

#include "daemon/net/transport.h"

/* The network's end of a connection. The client is the world's; the server's is the transport. */
struct sim_stream {
    struct transport *transport; /* NULL: closed, or not yet accepted */
    struct bytes up;             /* sent by the client, and not yet received */
    uint32_t address;            /* 0: a Unix socket; 1: this machine's; else another's */
    bool client_ended;           /* its end comes behind what is in `up` */
    bool end_told;               /* the server has heard of it */
    bool server_ended;           /* the server's end has come behind all that was taken */
    bool server_closed;          /* nothing more comes */
    void (*closing)(struct sim_stream *stream); /* the server closes it; NULL: not looked at */
};

/* The monotonic clock, by which sessions have their deadlines. */
extern int64_t sim_stream_now_ms;

void sim_stream_init(struct sim_stream *stream, uint32_t address);
void sim_stream_deinit(struct sim_stream *stream);

/* The stream that the next uv_accept takes. */
void sim_stream_offer(struct sim_stream *stream);

/*
 * The server receives up to `most` of the bytes on their way, and after the last one the client's
 * end, if it reads. Whether anything happened.
 */
bool sim_stream_deliver(struct sim_stream *stream, size_t most);

/* The connection is cut: what was on its way is lost, and the server hears of it. */
void sim_stream_cut(struct sim_stream *stream);

/* The client receives up to `most` bytes, appended to `out`. How many. */
size_t sim_stream_take(struct sim_stream *stream, size_t most, struct bytes *out);

/* Bytes that wait for the client. */
size_t sim_stream_waiting(const struct sim_stream *stream);

/* Transports that are closing are closed: to be called between turns. Whether there were any. */
bool sim_stream_close_all(void);
