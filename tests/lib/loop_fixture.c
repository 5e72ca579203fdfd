/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/loop_fixture.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "proto/codec/codec.h"
#include "tests/lib/check.h"

enum { PATIENCE_MS = 20 * 1000, ARENA_BYTES = 8 * 1024 * 1024, READ_BYTES = 16 * 1024 };

/* --- the loop --------------------------------------------------------------------------------- */

void loop_turn(uv_loop_t *loop, int fd, short events)
{
    struct pollfd waited[] = {
        {.fd = uv_backend_fd(loop), .events = POLLIN},
        {.fd = fd, .events = events},
    };
    int timeout_ms = uv_backend_timeout(loop);

    if (timeout_ms != 0) {
        const bool has_timer = timeout_ms > 0 && timeout_ms < PATIENCE_MS;
        timeout_ms = has_timer ? timeout_ms : PATIENCE_MS;
        const int count = poll(waited, fd >= 0 ? 2 : 1, timeout_ms);
        if (count < 0) {
            assert_int_equal(errno, EINTR); /* a signal for the loop: it is in its pipe */
        } else if (count == 0 && !has_timer) {
            fail_msg("nothing happened for 20 seconds");
        }
    }
    (void)uv_run(loop, UV_RUN_NOWAIT);
}

void loop_close(uv_loop_t *loop)
{
    /* What is left must be closing: handles that are active keep uv_run from coming to an end. */
    for (unsigned turns = 0; uv_run(loop, UV_RUN_NOWAIT) != 0; turns++) {
        assert_true(turns < 1000);
    }
    assert_int_equal(uv_loop_close(loop), 0);
}

/* --- sockets ---------------------------------------------------------------------------------- */

static int connect_to(int family, const void *address, socklen_t bytes)
{
    const int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    if (connect(fd, address, bytes) != 0) { /* over loopback the backlog takes it at once */
        const int error = errno;
        (void)close(fd);
        errno = error;
        return -1;
    }
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    return fd;
}

int loop_connect_unix(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    assert_true(strlen(path) < sizeof(address.sun_path));
    memcpy(address.sun_path, path, strlen(path) + 1);
    return connect_to(AF_UNIX, &address, sizeof(address));
}

int loop_connect_tcp(const char *address, unsigned port)
{
    struct sockaddr_in in4 = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};

    if (inet_pton(AF_INET, address, &in4.sin_addr) == 1) {
        return connect_to(AF_INET, &in4, sizeof(in4));
    }
    assert_int_equal(inet_pton(AF_INET6, address, &in6.sin6_addr), 1);
    return connect_to(AF_INET6, &in6, sizeof(in6));
}

static void tcp_pair(int out_ends[2])
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof(address);
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(listener, (struct sockaddr *)&address, bytes), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &bytes), 0);
    out_ends[0] = loop_connect_tcp("127.0.0.1", ntohs(address.sin_port));
    assert_true(out_ends[0] >= 0);
    out_ends[1] = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    assert_true(out_ends[1] >= 0);
    (void)close(listener);
}

void loop_socket_pair(bool is_tcp, int out_ends[2])
{
    if (is_tcp) {
        tcp_pair(out_ends);
    } else {
        assert_int_equal(
            socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, out_ends), 0);
    }
}

/* --- files ------------------------------------------------------------------------------------ */

void loop_directory_make(char out_path[LOOP_PATH_BYTES])
{
    const char *parent = getenv("TMPDIR");

    (void)snprintf(out_path, LOOP_PATH_BYTES, "%.50s/hearsay-test-XXXXXX",
                   parent != NULL && strlen(parent) <= 50 ? parent : "/tmp");
    assert_non_null(mkdtemp(out_path));
}

void loop_directory_remove(const char *path)
{
    DIR *entries = opendir(path);
    struct dirent *entry;

    assert_non_null(entries);
    while ((entry = readdir(entries)) != NULL) {
        (void)unlinkat(dirfd(entries), entry->d_name, 0); /* not . and .. */
    }
    (void)closedir(entries);
    assert_int_equal(rmdir(path), 0);
}

size_t loop_descriptor_count(void)
{
    DIR *entries = opendir("/proc/self/fd");
    size_t count = 0;

    assert_non_null(entries);
    while (readdir(entries) != NULL) {
        count++;
    }
    (void)closedir(entries);
    return count - 3; /* . and .. and the directory itself */
}

/* --- the client ------------------------------------------------------------------------------- */

void peer_init(struct peer *peer, int fd)
{
    memset(peer, 0, sizeof(*peer));
    peer->fd = fd;
    bytes_init(&peer->output, alloc_system());
    frame_decoder_init(&peer->input, alloc_system(), LIMIT_FRAME_BYTES_MAX);
    arena_init(&peer->arena, alloc_system(), ARENA_BYTES);
}

void peer_deinit(struct peer *peer)
{
    if (peer->fd >= 0) {
        (void)close(peer->fd);
    }
    bytes_deinit(&peer->output);
    frame_decoder_deinit(&peer->input);
    arena_deinit(&peer->arena);
    memset(peer, 0, sizeof(*peer));
    peer->fd = -1;
}

void peer_put(struct peer *peer, const struct hearsay_request *request)
{
    assert_int_equal(codec_encode_request(request, LIMIT_FRAME_BYTES_MAX, &peer->output), 0);
}

void peer_put_hello(struct peer *peer)
{
    const struct hearsay_request hello = {
        .id = 1, .kind = HEARSAY_REQUEST_HELLO, .hello = {.versions = {1}, .version_count = 1}};

    peer_put(peer, &hello);
}

void peer_put_ping(struct peer *peer, uint64_t id)
{
    const struct hearsay_request ping = {.id = id, .kind = HEARSAY_REQUEST_PING};

    peer_put(peer, &ping);
}

void peer_put_bytes(struct peer *peer, const void *data, size_t count)
{
    assert_int_equal(bytes_append(&peer->output, data, count), 0);
}

void peer_send(struct peer *peer, uv_loop_t *loop)
{
    while (peer->output.count > 0) {
        const ssize_t sent =
            send(peer->fd, peer->output.data, peer->output.count, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent > 0) {
            bytes_consume(&peer->output, (size_t)sent);
        } else {
            assert_int_equal(errno, EAGAIN);
            loop_turn(loop, peer->fd, POLLOUT);
        }
    }
}

void peer_shut_down(struct peer *peer)
{
    assert_int_equal(shutdown(peer->fd, SHUT_WR), 0);
}

static bool next_response(struct peer *peer, struct hearsay_response *out_response)
{
    const uint8_t *frame = NULL;
    size_t length = 0;
    struct msg_error error;

    const int rc = frame_next(&peer->input, &frame, &length);
    if (rc == FRAME_MORE) {
        return false;
    }
    assert_int_equal(rc, 0);
    arena_reset(&peer->arena);
    assert_int_equal(codec_decode_response(frame, length, &peer->arena, out_response, &error), 0);
    return true;
}

bool peer_take(struct peer *peer, struct hearsay_response *out_response)
{
    while (!next_response(peer, out_response)) {
        uint8_t *room = NULL;
        size_t bytes = 0;
        assert_int_equal(frame_decoder_reserve(&peer->input, READ_BYTES, &room, &bytes), 0);
        const ssize_t count = recv(peer->fd, room, bytes, MSG_DONTWAIT);
        if (count < 0 && errno == EAGAIN) {
            return false;
        }
        if (count <= 0) {
            peer->ended = true;
            peer->was_reset = count < 0;
            return false;
        }
        frame_decoder_commit(&peer->input, (size_t)count);
    }
    return true;
}

bool peer_await(struct peer *peer, uv_loop_t *loop, struct hearsay_response *out_response)
{
    for (;;) {
        if (peer_take(peer, out_response)) {
            return true;
        }
        if (peer->ended) {
            return false;
        }
        /* What the test itself has set going is no event to wait for: a turn without waiting. */
        (void)uv_run(loop, UV_RUN_NOWAIT);
        if (peer_take(peer, out_response)) {
            return true;
        }
        if (!peer->ended) {
            loop_turn(loop, peer->fd, POLLIN);
        }
    }
}

void peer_await_end(struct peer *peer, uv_loop_t *loop)
{
    struct hearsay_response response;

    assert_false(peer_await(peer, loop, &response));
    assert_int_equal(frame_decoder_pending(&peer->input), 0); /* no answer was cut off */
}
