/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transport: one client's stream, TCP or Unix, plain or TLS. Reads bytes into a frame decoder and
 * writes bytes from a buffer. Knows nothing of messages.
 *
 * The owner appends to `output` and calls transport_flush. While a write is under way, the next
 * bytes gather in `output`. The transport is embedded in memory of its owner, who may free that
 * memory only after `closed`.
 *
 * For the loop's thread only. An event may close the transport.
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
    /* A read begins. Returns how many bytes it may read at most, not 0. */
    size_t (*reading)(struct transport *transport);
    /* Bytes were added to `input`. With TLS: transport_pull may add some. */
    void (*readable)(struct transport *transport);
    /* clean: the client has ended its side of the stream; may be called more than once. Otherwise
     * reading or writing has failed. */
    void (*ended)(struct transport *transport, bool clean);
    /* A write is done. */
    void (*written)(struct transport *transport);
    /* After transport_close: libuv does not use the transport any more. */
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
    uint8_t *scratch;     /* borrowed, with TLS only: the buffer of one read of encrypted bytes */
    size_t scratch_bytes;
    uv_write_t write_request;
    uv_shutdown_t shutdown_request;
    size_t write_remaining; /* bytes that libuv had still to write, when last asked */
    size_t thrown_away;     /* bytes read and thrown away since transport_end */
    int64_t progress_ms;    /* loop time: when the client last took bytes, or none waited */
    bool reading;           /* reads are on */
    bool write_active;      /* libuv has `writing` */
    bool ending;            /* transport_end was called: bytes that come in are thrown away */
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

/* Makes the handle, for uv_accept or uv_..._open. 0, or a libuv error: then nothing needs closing.
 */
int transport_init(struct transport *transport, const struct transport_options *options);

/*
 * Switches TLS on, before the first byte. Takes the pipe. Borrows the scratch until `closed`; all
 * transports of a loop may share one.
 */
void transport_secure(struct transport *transport, struct tls_pipe *pipe, uint8_t *scratch,
                      size_t scratch_bytes);

/* Whether a TLS handshake is under way. */
bool transport_is_shaking_hands(const struct transport *transport);

/* Whether TLS has failed for any reason; whether because of TLS_IDLE_RECORDS_MAX. */
bool transport_tls_failed(const struct transport *transport);
bool transport_is_flooded(const struct transport *transport);

/*
 * With TLS: decrypts at most one record of what was read, or does one step of the handshake, and
 * adds the bytes to `input`. Returns whether there may be more; without TLS always false. `ended`
 * may be called before this returns. The owner calls this until it returns false before more is
 * read, or else pauses the transport.
 */
bool transport_pull(struct transport *transport);

/* Switches reads on and off. Both may be called at any time. transport_read may call `ended`. */
void transport_read(struct transport *transport);
void transport_pause(struct transport *transport);

/* Writes `output`, now or when the write under way is done. May call `written` and `ended`. */
void transport_flush(struct transport *transport);

/* Bytes that wait or are being written, before and after encryption. O(1). */
size_t transport_output_bytes(const struct transport *transport);

/* Whether bytes have waited for more than patience_ms and the client took none. now_ms: loop time.
 */
bool transport_is_stuck(struct transport *transport, int64_t now_ms, int64_t patience_ms);

/*
 * Ends the stream gently: writes `output`, then ends our side. Bytes that the client still sends
 * are read and thrown away until it ends its side (`ended`), since unread bytes would make the
 * kernel reset the connection and lose the last answers. After 256 KiB of them reads stop, and
 * `ended` does not come. The owner calls transport_close after `ended`, or after a timeout.
 */
void transport_end(struct transport *transport);

/* Closes the stream at once; `closed` comes in a later turn of the loop. Twice is fine. */
void transport_close(struct transport *transport);

/* The same, but TCP resets the connection: bytes under way in both directions are lost, and the
 * kernel keeps no TIME_WAIT state. */
void transport_reset(struct transport *transport);

#endif
