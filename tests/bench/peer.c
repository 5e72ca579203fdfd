/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proto/codec/codec.h"
#include "tests/bench/bench.h"
#include "tests/bench/stats.h"

enum {
    READ_BYTES = 256 * 1024,
    ASK_PATIENCE_MS = 10 * 1000,
    ARENA_BYTES = 4 * 1024 * 1024,
    POLL_MS = 200 /* between looks at the deadline */
};

/* --- connecting ------------------------------------------------------------------------------- */

int peer_connect(struct peer *peer, uint16_t port)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons(port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    const int on = 1;

    memset(peer, 0, sizeof(*peer));
    frame_decoder_init(&peer->input, alloc_system(), LIMIT_FRAME_BYTES_MAX);
    peer->descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (peer->descriptor < 0 ||
        connect(peer->descriptor, (const struct sockaddr *)&address, sizeof(address)) != 0 ||
        fcntl(peer->descriptor, F_SETFL, O_NONBLOCK) != 0) {
        return bench_fail("connecting to port %u: %s", (unsigned)port, strerror(errno));
    }
    (void)setsockopt(peer->descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)); /* only slower */
    return 0;
}

void peer_close(struct peer *peer)
{
    if (peer->descriptor > 0) {
        (void)close(peer->descriptor);
    }
    frame_decoder_deinit(&peer->input);
    memset(peer, 0, sizeof(*peer));
}

/* --- answers ---------------------------------------------------------------------------------- */

/*
 * The kind of an answer, by the tag of its body, which follows the id. Field n of wire type 2 has
 * the tag n * 8 + 2. An answer without a row is decoded to find its kind.
 */
static enum hearsay_response_kind kind_of(const uint8_t *frame, size_t length)
{
    size_t at = 0;

    if (length < 3 || frame[at++] != 0x08) {
        return HEARSAY_RESPONSE_UNKNOWN;
    }
    while (at < length && (frame[at] & 0x80) != 0) {
        at++;
    }
    if (++at >= length) {
        return HEARSAY_RESPONSE_UNKNOWN;
    }
    switch (frame[at]) {
    case 3 * 8 + 2:
        return HEARSAY_RESPONSE_DEPOSITED;
    case 4 * 8 + 2:
        return HEARSAY_RESPONSE_RESULTS;
    default:
        return HEARSAY_RESPONSE_UNKNOWN;
    }
}

static int complain(const uint8_t *frame, size_t length)
{
    struct arena arena;
    struct hearsay_response response;
    struct msg_error error = {0};

    arena_init(&arena, alloc_system(), ARENA_BYTES);
    if (codec_decode_response(frame, length, &arena, &response, &error) != 0) {
        (void)bench_fail("an answer cannot be decoded: %s", error.message);
    } else if (response.kind == HEARSAY_RESPONSE_ERROR) {
        (void)bench_fail("the server refused: %s (%s)", msg_error_name(response.error.code),
                         response.error.message);
    } else {
        (void)bench_fail("an answer of another kind came");
    }
    arena_deinit(&arena);
    return -1;
}

/* Reads once. 0 (perhaps nothing came), or -1. */
static int receive(struct peer *peer, uint64_t *in_out_bytes)
{
    uint8_t *room = NULL;
    size_t bytes = 0;

    if (frame_decoder_reserve(&peer->input, READ_BYTES, &room, &bytes) != 0) {
        return bench_fail("out of memory");
    }
    const ssize_t count = recv(peer->descriptor, room, bytes, 0);
    if (count > 0) {
        frame_decoder_commit(&peer->input, (size_t)count);
        *in_out_bytes += (uint64_t)count;
        return 0;
    }
    if (count == 0) {
        return bench_fail("the server closed the connection");
    }
    return errno == EAGAIN || errno == EINTR ? 0 : bench_fail("receiving: %s", strerror(errno));
}

/* Takes the answers that are there. */
static int take_answers(struct peer *peer, const struct peer_load *load)
{
    const uint8_t *frame = NULL;
    size_t length = 0;
    int rc;

    while ((rc = frame_next(&peer->input, &frame, &length)) == 0) {
        if (kind_of(frame, length) != load->expected) {
            return complain(frame, length);
        }
        peer->answered++;
    }
    return rc == FRAME_MORE ? 0 : bench_fail("a frame of %zu bytes came", length);
}

/* --- requests --------------------------------------------------------------------------------- */

/* Counts the frames that were sent. `count` frames from number `sent` on were to be sent. */
static void advance(struct peer *peer, const struct frames *frames, size_t bytes)
{
    size_t at = peer->first + (size_t)(peer->sent % peer->count);

    peer->partial_bytes += bytes;
    for (;;) {
        const size_t frame_bytes = frames->starts[at + 1] - frames->starts[at];
        if (peer->partial_bytes < frame_bytes) {
            return;
        }
        peer->partial_bytes -= frame_bytes;
        peer->sent++;
        if (peer->partial_bytes == 0) {
            return;
        }
        at++;
    }
}

/* Sends as much as window and socket take. */
static int send_more(struct peer *peer, const struct peer_load *load)
{
    const struct frames *frames = load->frames;

    for (;;) {
        uint64_t limit = peer->answered + load->window;
        if (limit > peer->total) {
            limit = peer->total;
        }
        if (peer->sent >= limit) {
            return 0;
        }
        const size_t at = (size_t)(peer->sent % peer->count);
        size_t run = (size_t)(limit - peer->sent);
        if (run > peer->count - at) {
            run = peer->count - at;
        }
        const size_t start = frames->starts[peer->first + at] + peer->partial_bytes;
        const size_t bytes = frames->starts[peer->first + at + run] - start;
        const ssize_t count =
            send(peer->descriptor, frames->bytes.data + start, bytes, MSG_NOSIGNAL);
        if (count < 0) {
            return errno == EAGAIN || errno == EINTR ? 0
                                                     : bench_fail("sending: %s", strerror(errno));
        }
        advance(peer, frames, (size_t)count);
        if ((size_t)count < bytes) {
            return 0;
        }
    }
}

static void divide(struct peer *peers, size_t peer_count, const struct peer_load *load)
{
    for (size_t i = 0; i < peer_count; i++) {
        struct peer *peer = &peers[i];
        peer->first = load->frames->count * i / peer_count;
        peer->count = load->frames->count * (i + 1) / peer_count - peer->first;
        peer->total = load->total * (i + 1) / peer_count - load->total * i / peer_count;
        peer->sent = 0;
        peer->answered = 0;
        peer->partial_bytes = 0;
    }
}

/* --- the run ---------------------------------------------------------------------------------- */

static int wait_and_serve(struct peer *peers, size_t peer_count, const struct peer_load *load,
                          uint64_t *in_out_bytes)
{
    struct pollfd polled[PEER_MAX];

    for (size_t i = 0; i < peer_count; i++) {
        const struct peer *peer = &peers[i];
        const bool blocked = peer->sent < peer->total && peer->sent < peer->answered + load->window;
        polled[i] = (struct pollfd){
            .fd = peer->descriptor,
            .events = (short)(POLLIN | (blocked ? POLLOUT : 0)),
        };
    }
    if (poll(polled, (nfds_t)peer_count, POLL_MS) < 0 && errno != EINTR) {
        return bench_fail("poll: %s", strerror(errno));
    }
    for (size_t i = 0; i < peer_count; i++) {
        struct peer *peer = &peers[i];
        if (polled[i].revents == 0) {
            continue;
        }
        if ((polled[i].revents & ~POLLOUT) != 0 &&
            (receive(peer, in_out_bytes) != 0 || take_answers(peer, load) != 0)) {
            return -1;
        }
        if (send_more(peer, load) != 0) {
            return -1;
        }
    }
    return 0;
}

static bool is_done(const struct peer *peers, size_t peer_count)
{
    for (size_t i = 0; i < peer_count; i++) {
        if (peers[i].answered < peers[i].total) {
            return false;
        }
    }
    return true;
}

static int run_all(struct peer *peers, size_t peer_count, const struct peer_load *load,
                   int64_t deadline_ns, uint64_t *out_bytes)
{
    for (size_t i = 0; i < peer_count; i++) {
        if (send_more(&peers[i], load) != 0) {
            return -1;
        }
    }
    while (!is_done(peers, peer_count)) {
        if (stats_now_ns() > deadline_ns) {
            return bench_fail("no answers to all requests within %lld ms",
                              (long long)load->patience_ms);
        }
        if (wait_and_serve(peers, peer_count, load, out_bytes) != 0) {
            return -1;
        }
    }
    return 0;
}

/* One request at a time: the time of each. */
static int run_singly(struct peer *peer, const struct peer_load *load, int64_t deadline_ns,
                      uint64_t *out_bytes)
{
    const uint64_t total = peer->total;

    for (peer->total = 1; peer->total <= total; peer->total++) {
        const int64_t start_ns = stats_now_ns();
        if (run_all(peer, 1, load, deadline_ns, out_bytes) != 0) {
            return -1;
        }
        load->latencies_us[peer->total - 1] = (double)(stats_now_ns() - start_ns) / 1000;
    }
    return 0;
}

int peer_run(struct peer *peers, size_t peer_count, const struct peer_load *load,
             struct peer_outcome *out)
{
    const int64_t start_ns = stats_now_ns();
    const int64_t start_cpu_ns = stats_cpu_ns();
    const int64_t deadline_ns = start_ns + load->patience_ms * 1000000;

    if (peer_count == 0 || peer_count > PEER_MAX || load->frames->count < peer_count) {
        return bench_fail("%zu connections for %zu requests", peer_count, load->frames->count);
    }
    *out = (struct peer_outcome){0};
    divide(peers, peer_count, load);
    const int rc = load->latencies_us != NULL
                       ? run_singly(peers, load, deadline_ns, &out->bytes_in)
                       : run_all(peers, peer_count, load, deadline_ns, &out->bytes_in);
    out->seconds = (double)(stats_now_ns() - start_ns) / 1e9;
    out->cpu_seconds = (double)(stats_cpu_ns() - start_cpu_ns) / 1e9;
    return rc;
}

/* --- one request ------------------------------------------------------------------------------ */

static int exchange(struct peer *peer, const uint8_t *bytes, size_t count, struct arena *arena,
                    struct hearsay_response *out, size_t *out_bytes)
{
    const int64_t deadline_ns = stats_now_ns() + (int64_t)ASK_PATIENCE_MS * 1000000;
    struct pollfd polled = {.fd = peer->descriptor, .events = POLLIN};
    struct msg_error error = {0};
    const uint8_t *frame = NULL;
    size_t length = 0;
    uint64_t received = 0;

    if (send(peer->descriptor, bytes, count, MSG_NOSIGNAL) != (ssize_t)count) {
        return bench_fail("sending one request: %s", strerror(errno));
    }
    while (frame_next(&peer->input, &frame, &length) != 0) {
        if (stats_now_ns() > deadline_ns) {
            return bench_fail("no answer within %d ms", ASK_PATIENCE_MS);
        }
        if (poll(&polled, 1, POLL_MS) > 0 && receive(peer, &received) != 0) {
            return -1;
        }
    }
    if (out_bytes != NULL) {
        *out_bytes = length;
    }
    if (codec_decode_response(frame, length, arena, out, &error) != 0) {
        return bench_fail("an answer cannot be decoded: %s", error.message);
    }
    return 0;
}

int peer_ask(struct peer *peer, const struct frames *frames, size_t number, struct arena *arena,
             struct hearsay_response *out, size_t *out_bytes)
{
    return exchange(peer, frames->bytes.data + frames->starts[number],
                    frames->starts[number + 1] - frames->starts[number], arena, out, out_bytes);
}

int peer_greet(struct peer *peer, struct arena *arena, struct hearsay_response *out)
{
    static const char agent[] = "hearsay-bench";
    const struct hearsay_request hello = {
        .id = 1,
        .kind = HEARSAY_REQUEST_HELLO,
        .hello = {.versions = {LIMIT_VERSION}, .version_count = 1, .agent = {agent, strlen(agent)}},
    };
    struct bytes frame;

    bytes_init(&frame, alloc_system());
    int rc = codec_encode_request(&hello, LIMIT_FRAME_BYTES_MIN, &frame);
    if (rc == 0) {
        rc = exchange(peer, frame.data, frame.count, arena, out, NULL);
    }
    if (rc == 0 && out->kind != HEARSAY_RESPONSE_WELCOME) {
        rc = bench_fail("the server did not welcome us");
    }
    bytes_deinit(&frame);
    return rc == 0 ? 0 : -1;
}
