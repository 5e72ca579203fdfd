/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transport: one client's stream, TCP or Unix, plain or TLS. A transport reads bytes into a frame
 * decoder and writes bytes from a buffer. It does not know messages.
 *
 * The owner appends bytes to `output` and calls transport_flush. While a write is under way, new
 * bytes collect in `output`. The transport is embedded in memory of the owner. The owner may free
 * this memory from the event `closed` on.
 *
 * For the loop's thread only. An event may close the transport.
 */
#pragma once

#include <uv.h>

#include "proto/bytes.h"
#include "proto/frame.h"

struct tls_pipe;
struct transport;

struct transport_events {
    /* Called when a read begins. Returns the maximum number of bytes of this read, at least 1. */
    size_t (*reading)(struct transport *transport);
    /* Called when bytes were added to `input`. With TLS: called when transport_pull may add bytes.
     */
    void (*readable)(struct transport *transport);
    /* Called when the stream has ended; may be called more than once. `clean`: the client has ended
     * its side of the stream. Not `clean`: reading, writing or TLS has failed, or memory is short.
     */
    void (*ended)(struct transport *transport, bool clean);
    /* Called when all bytes of a write were written. */
    void (*written)(struct transport *transport);
    /* Called after transport_close or transport_reset, when libuv does not use the transport any
     * more. */
    void (*closed)(struct transport *transport);
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
    struct bytes output;  /* waits to be written */
    struct bytes writing; /* libuv has it until the write is done */
    struct tls_pipe *tls; /* owned; NULL: plain */
    /* The buffer of one read of encrypted bytes. Borrowed; only with TLS. */
    uint8_t *scratch;
    size_t scratch_bytes;
    uv_write_t write_request;
    uv_shutdown_t shutdown_request;
    size_t write_remaining; /* bytes that libuv had still to write, when last asked */
    size_t thrown_away;     /* bytes read since transport_end */
    int64_t progress_ms;    /* loop time when the client last took bytes, or a write began */
    bool reading;           /* reads are on */
    bool watched;           /* libuv watches for bytes: while reads are on, and in short pauses */
    bool write_active;      /* libuv has `writing` */
    bool ending;            /* transport_end was called: received bytes are thrown away */
    bool shut_down;         /* our side of the stream ends after the writes under way */
    bool closing;           /* transport_close was called */
};

struct transport_options {
    uv_loop_t *loop;
    bool is_pipe;                          /* a Unix socket; otherwise TCP */
    const struct transport_events *events; /* borrowed, as the loop and the allocator are */
    const struct alloc *alloc;
    size_t frame_bytes; /* limit of one frame */
};

/* Makes libuv's handle. The caller then passes the handle to uv_accept, uv_tcp_open or
 * uv_pipe_open. Returns 0, or a libuv error; after an error there is nothing to close. */
int transport_init(struct transport *transport, const struct transport_options *options);

/*
 * Switches TLS on, before the first byte. Owns `pipe` from then on. Borrows `scratch` until
 * `closed`; all transports of a loop may share one `scratch`.
 */
void transport_secure(struct transport *transport, struct tls_pipe *pipe, uint8_t *scratch,
                      size_t scratch_bytes);

/* Whether a TLS handshake is under way. */
bool transport_is_shaking_hands(const struct transport *transport);

/* transport_tls_failed: whether TLS has failed for any reason. transport_is_flooded: whether TLS
 * has failed because the client has sent more than TLS_IDLE_RECORDS_MAX records without data in a
 * row. */
bool transport_tls_failed(const struct transport *transport);
bool transport_is_flooded(const struct transport *transport);

/*
 * With TLS: decrypts at most one record of the read bytes, or does one step of the handshake. Adds
 * the plain bytes to `input`; throws them away after transport_end. Returns whether there may be
 * more; without TLS always false. May call `ended` and `written` before it returns. The owner
 * repeats the call until the result is false, or pauses the transport; only then may more bytes be
 * read.
 */
bool transport_pull(struct transport *transport);

/* transport_read switches reads on, and may call `ended`. transport_pause switches reads off. Both
 * may be called at any time. */
void transport_read(struct transport *transport);
void transport_pause(struct transport *transport);

/* Writes `output`, at once or when the write under way is done. May call `written` and `ended`. */
void transport_flush(struct transport *transport);

/* The number of bytes that wait or are being written, before and after encryption. O(1). */
size_t transport_output_bytes(const struct transport *transport);

/* Whether bytes have waited for more than `patience_ms` while the client took none. `now_ms` is the
 * loop's time. */
bool transport_is_stuck(struct transport *transport, int64_t now_ms, int64_t patience_ms);

/*
 * Ends the stream gently: writes `output`, and then ends our side. Until the client ends its side
 * (`ended`), received bytes are read and, except those of a TLS handshake, thrown away: unread
 * bytes could make the kernel reset the connection and lose the last answers. After more than 256
 * KiB of such bytes the transport stops reading, and does not report that the client ends its side.
 * The owner calls transport_close after `ended`, or after a timeout.
 */
void transport_end(struct transport *transport);

/* Closes the stream at once. The event `closed` comes after this call has returned. May be called
 * twice. */
void transport_close(struct transport *transport);

/* Closes the stream at once, and resets a TCP connection: bytes under way in both directions may be
 * lost, and the kernel keeps no TIME_WAIT state. May be called where transport_close may be called.
 */
void transport_reset(struct transport *transport);
