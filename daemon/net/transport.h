/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transport: one client's stream on the loop. Reads into a frame decoder, writes from a queue of
 * bytes, and closes in good order. Knows nothing of messages.
 *
 * Output is appended to `output` and goes out with transport_flush; while a write is under way the
 * next bytes gather in `output`. Memory for the handle is the owner's and may be freed only after
 * `closed`.
 */
#ifndef DAEMON_NET_TRANSPORT_H
#define DAEMON_NET_TRANSPORT_H

#include <stdbool.h>

#include <uv.h>

#include "proto/bytes.h"
#include "proto/frame.h"

struct tls_pipe;
struct transport;

struct transport_events {
    /* It is about to be read: at most how many bytes, not 0. */
    size_t (*reading)(struct transport *transport);
    /* Bytes were added to `input`, or, with encryption, transport_pull may add some. */
    void (*readable)(struct transport *transport);
    /* The peer sent its end (clean), or the stream failed. A clean end may come more than once. */
    void (*ended)(struct transport *transport, bool clean);
    void (*written)(struct transport *transport); /* a write is through; output may be short now */
    void (*closed)(struct transport *transport);  /* nothing of it is in use by the loop any more */
};

struct transport {
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    } uv;
    const struct transport_events *events;
    struct frame_decoder input;
    struct bytes output;  /* waits */
    struct bytes writing; /* with the loop until the write is through */
    struct tls_pipe *tls; /* owned; NULL: nothing is encrypted */
    uint8_t *scratch;     /* borrowed, with tls: for what is read, between two calls of nobody */
    size_t scratch_bytes;
    uv_write_t write_request;
    uv_shutdown_t shutdown_request;
    size_t write_remaining; /* as the loop said when it was last asked */
    size_t thrown_away;     /* bytes, since it is ending */
    int64_t progress_ms;    /* when the peer last took bytes, or there were none to take */
    bool reading;
    bool write_active;
    bool ending;    /* what still comes in is thrown away */
    bool shut_down; /* our end was sent, or will be after the writes under way */
    bool closing;
};

/*
 * Makes the handle, for uv_accept or uv_..._open. is_pipe: a Unix socket. frame_bytes: the limit of
 * one frame. 0 or a libuv error; after an error nothing needs closing.
 */
int transport_init(struct transport *transport, uv_loop_t *loop, bool is_pipe,
                   const struct transport_events *events, const struct alloc *alloc,
                   size_t frame_bytes);

/*
 * Encrypts all that comes and goes, from the first byte on. Takes the pipe. The scratch is borrowed
 * until `closed` and may be that of other transports of the same loop, too.
 */
void transport_secure(struct transport *transport, struct tls_pipe *pipe, uint8_t *scratch,
                      size_t scratch_bytes);

/* Whether a handshake is under way. */
bool transport_is_shaking_hands(const struct transport *transport);

/* Whether its TLS failed; and whether because of TLS_IDLE_RECORDS_MAX. */
bool transport_tls_failed(const struct transport *transport);
bool transport_is_flooded(const struct transport *transport);

/*
 * With encryption: takes at most one record of what was read, and puts its bytes of the protocol
 * into `input`. Whether there may be more to take; without encryption never. `ended` may be called
 * before this returns. To be called until it returns false before more is read; whoever has no time
 * for that pauses the transport. The cost of a call is bounded: one record, or one step of a
 * handshake.
 */
bool transport_pull(struct transport *transport);

/* Reading on and off; both may be called at any time. */
void transport_read(struct transport *transport);
void transport_pause(struct transport *transport);

/* Sends what is in `output`, unless a write is under way: then when that is through. */
void transport_flush(struct transport *transport);

/* Bytes that wait or are being written, encrypted ones too. O(1). */
size_t transport_output_bytes(const struct transport *transport);

/* Whether bytes have waited for longer than patience_ms without the peer taking any. now_ms: loop
 * time. */
bool transport_is_stuck(struct transport *transport, int64_t now_ms, int64_t patience_ms);

/*
 * Ends it gently: what is in `output` goes out, then our end of the stream; what the peer still
 * sends is thrown away until its end (`ended`), so that nothing destroys the last answers on their
 * way; but no more than 256 KiB of it, then `ended` does not come. The owner closes it after
 * `ended` or when it loses patience.
 */
void transport_end(struct transport *transport);

/* Closes it at once; `closed` comes later. Harmless when it is closing. */
void transport_close(struct transport *transport);

/* The same, and what is under way in either direction is lost: TCP resets the connection, and keeps
 * nothing of it. */
void transport_reset(struct transport *transport);

#endif
