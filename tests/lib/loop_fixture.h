/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop_fixture: a libuv loop that a test turns by hand, and the other end of its streams, in the
 * same thread. Nothing sleeps: a turn waits for an event of the loop or of the other end, and when
 * none comes for long the test fails.
 */
#pragma once

#include <uv.h>

#include "proto/arena.h"
#include "proto/bytes.h"
#include "proto/frame.h"
#include "proto/msg.h"

/*
 * Waits until the loop has something to do, or `fd` (-1: none) is ready for `events` of poll(2);
 * then the loop has one turn.
 */
void loop_turn(uv_loop_t *loop, int fd, short events);

/* Turns until every handle is closed, and closes the loop; a handle left open fails the test. */
void loop_close(uv_loop_t *loop);

/* Two ends of a stream, non-blocking: a Unix socket pair, or a TCP connection over 127.0.0.1. */
void loop_socket_pair(bool is_tcp, int out_ends[2]);

/* Connections to listening sockets, non-blocking. -1 with errno when they are refused. */
int loop_connect_unix(const char *path);
int loop_connect_tcp(const char *address, unsigned port); /* IPv4 or IPv6 */

/* A new directory under TMPDIR, else /tmp, in out_path; and away with it and the files in it. */
enum { LOOP_PATH_BYTES = 80 };
void loop_directory_make(char out_path[LOOP_PATH_BYTES]);
void loop_directory_remove(const char *path);

/* Descriptors that this process has open. */
size_t loop_descriptor_count(void);

/* --- a client, as the test plays it ----------------------------------------------------------- */

struct peer {
    int fd;
    bool ended; /* the other side sent its end, or reset the connection (was_reset) */
    bool was_reset;
    struct bytes output; /* encoded, not yet sent */
    struct frame_decoder input;
    struct arena arena; /* of the response taken last */
};

/* Takes the descriptor, which is non-blocking; -1: none, only to encode with. */
void peer_init(struct peer *peer, int fd);
void peer_deinit(struct peer *peer); /* closes it unless it is -1; twice is fine */

/* Puts a request, Hello of version 1, or bytes as they are behind what waits to be sent. */
void peer_put(struct peer *peer, const struct hearsay_request *request);
void peer_put_hello(struct peer *peer);
void peer_put_ping(struct peer *peer, uint64_t id);
void peer_put_bytes(struct peer *peer, const void *data, size_t count);

/* Sends what waits; the loop has its turns while the socket is full. */
void peer_send(struct peer *peer, uv_loop_t *loop);

/* Sends its end of the stream; it can still read. */
void peer_shut_down(struct peer *peer);

/* The next response that has come; valid until the next call. False: none (or see `ended`). */
bool peer_take(struct peer *peer, struct hearsay_response *out_response);

/* The same, and the loop has its turns until there is one. False: the stream ended. */
bool peer_await(struct peer *peer, uv_loop_t *loop, struct hearsay_response *out_response);

/* Turns until the other side has ended the stream; any response before that fails the test. */
void peer_await_end(struct peer *peer, uv_loop_t *loop);
