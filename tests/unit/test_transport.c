/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One stream on a loop, its other end in the test's hands: over a Unix socket pair, and over TCP
 * where the kernel behaves otherwise.
 */
#include "daemon/net/transport.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/err.h"
#include "daemon/system/container.h"
#include "tests/lib/check.h"
#include "tests/lib/fail_alloc.h"
#include "tests/lib/loop_fixture.h"

enum { FRAME_BYTES = 4096, LARGE = 1024 * 1024, READ_BYTES = 16 * 1024 };

struct fixture {
    uv_loop_t loop;
    struct fail_alloc alloc;
    struct transport transport;
    int peer; /* -1: closed */
    unsigned reading_count;
    unsigned readable_count;
    unsigned ended_clean;
    unsigned ended_badly;
    unsigned written_count;
    unsigned closed_count;
    bool close_on_end;
};

/* --- fixture ---------------------------------------------------------------------------------- */

static struct fixture *fixture_of(struct transport *transport)
{
    return CONTAINER_OF(transport, struct fixture, transport);
}

static size_t on_reading(struct transport *transport)
{
    fixture_of(transport)->reading_count++;
    return READ_BYTES;
}

static void on_readable(struct transport *transport)
{
    fixture_of(transport)->readable_count++;
}

static void on_ended(struct transport *transport, bool clean)
{
    struct fixture *fixture = fixture_of(transport);

    fixture->ended_clean += clean;
    fixture->ended_badly += !clean;
    if (fixture->close_on_end) {
        transport_close(transport);
    }
}

static void on_written(struct transport *transport)
{
    fixture_of(transport)->written_count++;
}

static void on_closed(struct transport *transport)
{
    fixture_of(transport)->closed_count++;
}

static const struct transport_events events = {on_reading, on_readable, on_ended, on_written,
                                               on_closed};

static void open_pair(struct fixture *fixture, bool is_tcp)
{
    int ends[2];

    memset(fixture, 0, sizeof(*fixture));
    fail_alloc_init(&fixture->alloc);
    assert_int_equal(uv_loop_init(&fixture->loop), 0);
    loop_socket_pair(is_tcp, ends);
    fixture->peer = ends[1];
    const struct transport_options options = {.loop = &fixture->loop,
                                              .is_pipe = !is_tcp,
                                              .events = &events,
                                              .alloc = &fixture->alloc.alloc,
                                              .frame_bytes = FRAME_BYTES};
    assert_int_equal(transport_init(&fixture->transport, &options), 0);
    const int rc = is_tcp ? uv_tcp_open(&fixture->transport.uv.tcp, ends[0])
                          : uv_pipe_open(&fixture->transport.uv.pipe, ends[0]);
    assert_int_equal(rc, 0);
}

static int setup_unix(void **state)
{
    static struct fixture fixture;

    open_pair(&fixture, false);
    *state = &fixture;
    return 0;
}

static int setup_tcp(void **state)
{
    static struct fixture fixture;

    open_pair(&fixture, true);
    *state = &fixture;
    return 0;
}

/* Whatever the test did: `closed` comes once, and then nothing is in use any more. */
static int teardown(void **state)
{
    struct fixture *fixture = *state;

    transport_close(&fixture->transport);
    transport_close(&fixture->transport);
    assert_true(fixture->closed_count <= 1); /* never within the call */
    loop_close(&fixture->loop);
    assert_int_equal(fixture->closed_count, 1);
    assert_int_equal(fixture->alloc.live_blocks, 0);
    if (fixture->peer >= 0) {
        (void)close(fixture->peer);
    }
    return 0;
}

static void turn(struct fixture *fixture, short peer_events)
{
    loop_turn(&fixture->loop, fixture->peer, peer_events);
}

/* Lets the kernel hold little, so that a write is taken in part. */
static void shrink_buffers(struct fixture *fixture)
{
    /* TCP that has a window of a packet or less waits on its timers. */
    const bool is_tcp = fixture->transport.uv.handle.type == UV_TCP;
    uv_os_fd_t descriptor = -1;
    assert_int_equal(uv_fileno(&fixture->transport.uv.handle, &descriptor), 0);
    const int small = is_tcp ? 64 * 1024 : 4608;

    assert_int_equal(setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)), 0);
    assert_int_equal(setsockopt(fixture->peer, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
}

/* What byte `at` of the stream is: a row that does not repeat within a buffer's length. */
static uint8_t stream_byte(size_t at)
{
    return (uint8_t)(at ^ at >> 8 ^ at >> 16);
}

static void put(struct fixture *fixture, size_t from, size_t count)
{
    uint8_t *room = bytes_reserve(&fixture->transport.output, count);

    assert_non_null(room);
    for (size_t i = 0; i < count; i++) {
        room[i] = stream_byte(from + i);
    }
    fixture->transport.output.count += count;
}

/* Reads at most `most` bytes of the stream from `from` on, which must be those. How many. */
static size_t check_some(struct fixture *fixture, size_t from, size_t most)
{
    static uint8_t data[LARGE];
    const ssize_t count = recv(fixture->peer, data, most, MSG_DONTWAIT);

    if (count < 0) {
        assert_int_equal(errno, EAGAIN);
        return 0;
    }
    for (size_t i = 0; i < (size_t)count; i++) {
        if (data[i] != stream_byte(from + i)) {
            fail_msg("byte %zu is another", from + i);
        }
    }
    return (size_t)count;
}

/* Reads up to byte `end` of the stream, `most` at a time. */
static void check_up_to(struct fixture *fixture, size_t from, size_t end, size_t most)
{
    while (from < end) {
        const size_t count = check_some(fixture, from, most < end - from ? most : end - from);
        from += count;
        if (count == 0) {
            turn(fixture, POLLIN);
        }
    }
}

static void expect_end(struct fixture *fixture)
{
    char byte;
    ssize_t count;

    while ((count = recv(fixture->peer, &byte, 1, MSG_DONTWAIT)) < 0) {
        assert_int_equal(errno, EAGAIN);
        turn(fixture, POLLIN);
    }
    assert_int_equal(count, 0);
}

static void peer_writes(struct fixture *fixture, const void *data, size_t count)
{
    assert_int_equal(send(fixture->peer, data, count, MSG_NOSIGNAL), (ssize_t)count);
}

static void peer_leaves(struct fixture *fixture)
{
    (void)close(fixture->peer);
    fixture->peer = -1;
}

/* The peer is gone without a word: RST. */
static void peer_resets(struct fixture *fixture)
{
    const struct linger at_once = {.l_onoff = 1};

    assert_int_equal(setsockopt(fixture->peer, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)),
                     0);
    peer_leaves(fixture);
}

/* Over a Unix socket, over TCP, over one after the other. */
#define UNIX(name) TEST_OF(name, struct fixture *fixture, setup_unix, teardown)
#define TCP(name)  TEST_OF(name, struct fixture *fixture, setup_tcp, teardown)
#define BOTH(name) TEST_AGAIN(name##_by_tcp, name, setup_tcp, teardown, NULL) UNIX(name)

/* --- writing ---------------------------------------------------------------------------------- */

/* What the socket takes at once is through when transport_flush returns. */
BOTH(small_writes_go_at_once)
{
    transport_flush(&fixture->transport); /* nothing waits: nothing happens */
    assert_int_equal(fixture->written_count, 0);
    put(fixture, 0, 10);
    assert_int_equal(transport_output_bytes(&fixture->transport), 10);
    transport_flush(&fixture->transport);
    assert_int_equal(fixture->written_count, 1);
    assert_int_equal(transport_output_bytes(&fixture->transport), 0);
    assert_int_equal(fixture->alloc.live_blocks, 0); /* an idle stream holds no buffer */
    check_up_to(fixture, 0, 10, 10);
}

/* A write that is taken in part goes on where it stopped, and what came meanwhile follows it. */
BOTH(partial_writes_keep_the_order)
{
    size_t sent = 0;

    shrink_buffers(fixture);
    put(fixture, 0, 900000);
    transport_flush(&fixture->transport);
    assert_true(fixture->transport.write_active);
    assert_int_equal(fixture->written_count, 0);
    for (sent = 900000; sent < 1000000; sent += 1000) {
        put(fixture, sent, 1000);
        transport_flush(&fixture->transport); /* waits behind the write under way */
        assert_int_equal(transport_output_bytes(&fixture->transport), sent + 1000);
    }
    check_up_to(fixture, 0, sent, LARGE);
    while (transport_output_bytes(&fixture->transport) > 0) {
        turn(fixture, 0);
    }
    assert_false(fixture->transport.write_active);
    assert_true(fixture->written_count >= 2); /* the first part, then the rest in one go */
    assert_int_equal(fixture->ended_clean + fixture->ended_badly, 0);
}

/* A peer that takes one byte at a time gets the same stream. */
UNIX(one_byte_at_a_time)
{
    shrink_buffers(fixture);
    put(fixture, 0, 40000);
    transport_flush(&fixture->transport);
    assert_true(fixture->transport.write_active);
    check_up_to(fixture, 0, 40000, 1);
    assert_int_equal(check_some(fixture, 40000, 1), 0); /* and not a byte more */
}

/* Bytes that wait count until they are through, also those that the loop has. */
BOTH(output_is_counted)
{
    shrink_buffers(fixture);
    put(fixture, 0, LARGE);
    transport_flush(&fixture->transport);
    assert_int_equal(transport_output_bytes(&fixture->transport), LARGE);
    put(fixture, LARGE, 5);
    assert_int_equal(transport_output_bytes(&fixture->transport), LARGE + 5);
    check_up_to(fixture, 0, LARGE + 5, LARGE);
    while (transport_output_bytes(&fixture->transport) > 0) {
        turn(fixture, 0);
    }
}

/* Stuck is who has taken nothing for the whole time, not who is slow. */
BOTH(stuck_is_without_progress)
{
    int64_t now_ms;

    assert_false(transport_is_stuck(&fixture->transport, INT64_MAX / 2, 1)); /* nothing waits */
    shrink_buffers(fixture);
    put(fixture, 0, LARGE);
    transport_flush(&fixture->transport);
    now_ms = (int64_t)uv_now(&fixture->loop);
    assert_false(transport_is_stuck(&fixture->transport, now_ms + 1000, 1000));
    assert_true(transport_is_stuck(&fixture->transport, now_ms + 1001, 1000));

    const size_t before = uv_stream_get_write_queue_size(&fixture->transport.uv.stream);
    size_t read = 0;
    while (uv_stream_get_write_queue_size(&fixture->transport.uv.stream) == before) {
        read += check_some(fixture, read, 1000);
        turn(fixture, POLLIN);
    }
    assert_false(transport_is_stuck(&fixture->transport, now_ms + 5000, 1000));
    assert_false(transport_is_stuck(&fixture->transport, now_ms + 6000, 1000));
    assert_true(transport_is_stuck(&fixture->transport, now_ms + 6001, 1000));
}

/*
 * Writing to a peer that is gone is told as a failure, at once or when the loop finds out. TCP
 * hears of it with the next segment only.
 */
UNIX(writing_to_nobody_fails)
{
    peer_leaves(fixture);
    put(fixture, 0, 10);
    transport_flush(&fixture->transport);
    assert_int_equal(fixture->ended_badly, 1);
    assert_int_equal(fixture->written_count, 0);
}

TCP(peer_leaves_during_a_write)
{
    fixture->close_on_end = true;
    shrink_buffers(fixture);
    put(fixture, 0, LARGE);
    transport_flush(&fixture->transport);
    assert_true(fixture->transport.write_active);
    peer_resets(fixture);
    while (fixture->closed_count == 0) {
        turn(fixture, 0);
    }
    assert_int_equal(fixture->ended_badly, 1);
    assert_int_equal(fixture->written_count, 0);
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Bytes arrive in the decoder, whole frames come out, and nothing is read before it is asked for.
 */
BOTH(reading_fills_the_decoder)
{
    const uint8_t *frame = NULL;
    size_t length = 0;

    peer_writes(fixture, "\0\0\0\3ab", 6);
    (void)uv_run(&fixture->loop, UV_RUN_NOWAIT);
    assert_int_equal(fixture->readable_count, 0);
    transport_read(&fixture->transport);
    transport_read(&fixture->transport); /* harmless */
    while (fixture->readable_count == 0) {
        turn(fixture, 0);
    }
    assert_int_equal(frame_next(&fixture->transport.input, &frame, &length), FRAME_MORE);
    peer_writes(fixture, "c", 1);
    while (fixture->readable_count == 1) {
        turn(fixture, 0);
    }
    assert_int_equal(frame_next(&fixture->transport.input, &frame, &length), 0);
    assert_int_equal(length, 3);
    assert_memory_equal(frame, "abc", 3);
}

/* A paused stream takes nothing from the socket; resumed, it has missed nothing. */
BOTH(pause_holds_the_peer)
{
    transport_pause(&fixture->transport); /* not reading yet: harmless */
    transport_read(&fixture->transport);
    peer_writes(fixture, "\0\0\0\3", 4);
    while (fixture->readable_count == 0) {
        turn(fixture, 0);
    }
    transport_pause(&fixture->transport);
    transport_pause(&fixture->transport);
    peer_writes(fixture, "abc", 3);
    (void)uv_run(&fixture->loop, UV_RUN_NOWAIT);
    (void)uv_run(&fixture->loop, UV_RUN_NOWAIT);
    assert_int_equal(frame_decoder_pending(&fixture->transport.input), 4);

    transport_read(&fixture->transport);
    while (fixture->readable_count == 1) {
        turn(fixture, 0);
    }
    assert_int_equal(frame_decoder_pending(&fixture->transport.input), 7);
}

/* A pause during which no byte comes costs no system call: libuv keeps watching the stream. */
BOTH(short_pause_leaves_stream_watched)
{
    transport_read(&fixture->transport);
    transport_pause(&fixture->transport);
    assert_true(uv_is_active(&fixture->transport.uv.handle));
    (void)uv_run(&fixture->loop, UV_RUN_NOWAIT);
    assert_true(uv_is_active(&fixture->transport.uv.handle));
    transport_read(&fixture->transport);
    peer_writes(fixture, "a", 1);
    while (fixture->readable_count == 0) {
        turn(fixture, 0);
    }
    assert_int_equal(frame_decoder_pending(&fixture->transport.input), 1);
}

/* If bytes come in a pause, libuv stops watching: the loop must not be woken for them again and
 * again. The end of the stream, too, waits until reads are on again. */
BOTH(long_pause_stops_watching)
{
    transport_read(&fixture->transport);
    transport_pause(&fixture->transport);
    peer_writes(fixture, "a", 1);
    assert_int_equal(shutdown(fixture->peer, SHUT_WR), 0);
    while (uv_is_active(&fixture->transport.uv.handle)) {
        turn(fixture, 0);
    }
    assert_int_equal(fixture->reading_count, 0);
    assert_int_equal(fixture->readable_count + fixture->ended_clean + fixture->ended_badly, 0);

    transport_read(&fixture->transport);
    while (fixture->ended_clean == 0) {
        turn(fixture, 0);
    }
    assert_int_equal(frame_decoder_pending(&fixture->transport.input), 1);
}

/* Pipes take no more than they hold: a paused reader is felt by the peer. */
BOTH(pause_bounds_what_is_buffered)
{
    static const uint8_t zeroes[LARGE];
    size_t sent = 0;
    ssize_t count;

    transport_read(&fixture->transport);
    transport_pause(&fixture->transport);
    while ((count = send(fixture->peer, zeroes, sizeof(zeroes), MSG_NOSIGNAL)) > 0) {
        sent += (size_t)count;
        (void)uv_run(&fixture->loop, UV_RUN_NOWAIT);
    }
    assert_int_equal(errno, EAGAIN);
    assert_true(sent > 0);
    assert_int_equal(fixture->readable_count, 0);
    assert_null(fixture->transport.input.buffer);
}

/* No more is read at a time than the owner says, who is asked before. */
BOTH(a_read_is_bounded)
{
    static const uint8_t zeroes[READ_BYTES + 1];

    peer_writes(fixture, zeroes, sizeof(zeroes));
    transport_read(&fixture->transport);
    while (frame_decoder_pending(&fixture->transport.input) < sizeof(zeroes)) {
        turn(fixture, 0);
    }
    assert_true(fixture->readable_count >= 2);
    assert_true(fixture->reading_count >= fixture->readable_count);
}

/* The peer's end is told as a clean one, after all its bytes; we can still write. */
BOTH(half_close_leaves_the_other_half)
{
    peer_writes(fixture, "\0\0\0\1x", 5);
    assert_int_equal(shutdown(fixture->peer, SHUT_WR), 0);
    transport_read(&fixture->transport);
    while (fixture->ended_clean == 0) {
        turn(fixture, 0);
    }
    assert_int_equal(fixture->readable_count, 1);
    assert_int_equal(frame_decoder_pending(&fixture->transport.input), 5);
    assert_false(fixture->transport.reading);
    put(fixture, 0, 100);
    transport_flush(&fixture->transport);
    check_up_to(fixture, 0, 100, 100);
    assert_int_equal(fixture->ended_badly, 0);

    transport_read(&fixture->transport); /* the end is told again to who asks again */
    while (fixture->ended_clean == 1) {
        turn(fixture, 0);
    }
}

/* Unix sockets know no reset. */
TCP(reset_is_a_failure)
{
    transport_read(&fixture->transport);
    peer_resets(fixture);
    while (fixture->ended_badly == 0) {
        turn(fixture, 0);
    }
    assert_int_equal(fixture->ended_clean, 0);
    assert_int_equal(fixture->readable_count, 0);
}

/* Without memory to read into the stream fails; it does not spin. */
BOTH(no_memory_to_read_is_a_failure)
{
    fail_alloc_arm(&fixture->alloc, 1);
    peer_writes(fixture, "\0\0\0\1x", 5);
    transport_read(&fixture->transport);
    while (fixture->ended_badly == 0) {
        turn(fixture, 0);
    }
    assert_false(fixture->transport.reading);
    assert_int_equal(fixture->readable_count, 0);
    (void)uv_run(&fixture->loop, UV_RUN_NOWAIT);
    assert_int_equal(fixture->ended_badly, 1);
}

/* --- the end ---------------------------------------------------------------------------------- */

/* A gentle end: all that waits goes out, then our end; what the peer sends meanwhile is dropped. */
BOTH(end_sends_what_waits)
{
    shrink_buffers(fixture);
    transport_read(&fixture->transport);
    put(fixture, 0, 900000);
    transport_flush(&fixture->transport);
    put(fixture, 900000, 50000);
    transport_end(&fixture->transport);
    transport_end(&fixture->transport);
    peer_writes(fixture, "\0\0\0\1x", 5);
    check_up_to(fixture, 0, 950000, LARGE);
    expect_end(fixture);
    assert_int_equal(fixture->closed_count, 0); /* it waits for the peer's end */
    assert_int_equal(fixture->readable_count, 0);
    assert_int_equal(frame_decoder_pending(&fixture->transport.input), 0);
    assert_int_equal(shutdown(fixture->peer, SHUT_WR), 0);
    while (fixture->ended_clean == 0) {
        turn(fixture, 0);
    }
    assert_int_equal(fixture->ended_badly, 0);
}

/* A stream that has nothing to say is ended at once, and drops what was buffered. */
BOTH(end_without_output)
{
    transport_read(&fixture->transport);
    peer_writes(fixture, "\0\0\0\3ab", 6);
    while (fixture->readable_count == 0) {
        turn(fixture, 0);
    }
    transport_end(&fixture->transport);
    assert_int_equal(fixture->alloc.live_blocks, 0);
    expect_end(fixture);
}

/* Who goes on and on after our end is not listened to for ever. */
BOTH(what_is_thrown_away_is_bounded)
{
    static const uint8_t zeroes[LARGE];
    size_t sent = 0;

    transport_end(&fixture->transport);
    while (fixture->transport.reading) {
        const ssize_t count = send(fixture->peer, zeroes, sizeof(zeroes), MSG_NOSIGNAL);
        sent += count > 0 ? (size_t)count : 0;
        (void)uv_run(&fixture->loop, UV_RUN_NOWAIT);
    }
    assert_true(sent >= 256 * 1024); /* a pipeline's rest is taken */
    assert_true(fixture->transport.thrown_away <= 256 * 1024 + READ_BYTES);
    expect_end(fixture);
    assert_int_equal(fixture->ended_clean + fixture->ended_badly, 0);
}

/* A peer that resets after our end is no error that anybody waits for. */
TCP(reset_after_end)
{
    put(fixture, 0, 100);
    transport_end(&fixture->transport);
    peer_resets(fixture);
    while (fixture->ended_badly + fixture->ended_clean == 0) {
        turn(fixture, 0);
    }
    transport_end(&fixture->transport);
}

/* Closing while writes are queued cancels them: `closed` comes once, `written` never. */
BOTH(close_with_writes_queued)
{
    shrink_buffers(fixture);
    put(fixture, 0, LARGE);
    transport_flush(&fixture->transport);
    assert_true(fixture->transport.write_active);
    put(fixture, LARGE, 1000);
    transport_close(&fixture->transport);
    assert_int_equal(fixture->closed_count, 0);
    transport_flush(&fixture->transport); /* harmless on a closing one, as are the others */
    transport_read(&fixture->transport);
    transport_pause(&fixture->transport);
    transport_end(&fixture->transport);
    while (fixture->closed_count == 0) {
        turn(fixture, 0);
    }
    assert_int_equal(fixture->written_count, 0);
    assert_int_equal(fixture->ended_clean + fixture->ended_badly, 0);
    assert_int_equal(fixture->alloc.live_blocks, 0);
}

/* Closed from within its own events, as owners do. */
BOTH(close_from_an_event)
{
    fixture->close_on_end = true;
    transport_read(&fixture->transport);
    peer_leaves(fixture);
    while (fixture->closed_count == 0) {
        turn(fixture, 0);
    }
    assert_int_equal(fixture->ended_clean, 1);
}

int main(void)
{
    (void)signal(SIGPIPE, SIG_IGN);
    return check_run(NULL, NULL);
}
