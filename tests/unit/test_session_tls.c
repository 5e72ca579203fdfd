/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions over TLS that have to wait: what a read brings may be a record more than was read, and
 * a client that only sends what it may is not dropped for it.
 */
#include <openssl/ssl.h>

#include "daemon/system/list.h"
#include "tests/lib/certificate.h"
#include "tests/lib/check.h"
#include "tests/lib/server_fixture.h"

enum { RECORD_BYTES = 16 * 1024, LONG_NS = 150 * 1000, SECOND_NS = 1000 * 1000 * 1000 };

static struct certificate certificate;
static struct tls_context *client_context;

static uint64_t now_ns = SECOND_NS;
static uint64_t look_ns; /* what a look at the clock takes */

static uint64_t read_ns(void *context)
{
    (void)context;
    now_ns += look_ns;
    return now_ns;
}

struct secure_peer {
    struct peer plain; /* output is before encryption */
    struct tls_pipe *pipe;
    uint64_t number; /* of its session */
};

/* --- the client's side ------------------------------------------------------------------------ */

static void turn(struct server_fixture *fixture, int count)
{
    for (int i = 0; i < count; i++) {
        (void)uv_run(&fixture->server.loop.uv, UV_RUN_NOWAIT);
    }
}

static void send_all(const struct secure_peer *peer, const uint8_t *data, size_t count)
{
    assert_int_equal(send(peer->plain.fd, data, count, MSG_NOSIGNAL), (ssize_t)count);
}

static void send_encrypted(struct secure_peer *peer)
{
    uint8_t wire[RECORD_BYTES];
    size_t count;

    while ((count = tls_pipe_take(peer->pipe, wire, sizeof(wire))) > 0) {
        send_all(peer, wire, count);
    }
}

/* The first bytes of its output, in records of at most `record` bytes. */
static void encrypt(struct secure_peer *peer, size_t count, size_t record)
{
    while (count > 0) {
        size_t written = 0;
        const size_t some = count < record ? count : record;
        assert_int_equal(tls_pipe_write(peer->pipe, peer->plain.output.data, some, &written), 0);
        bytes_consume(&peer->plain.output, written);
        count -= written;
    }
}

static void take_what_came(struct secure_peer *peer)
{
    uint8_t wire[RECORD_BYTES];
    uint8_t plain[RECORD_BYTES];
    size_t got = 0;
    ssize_t count;
    int rc;

    while ((count = recv(peer->plain.fd, wire, sizeof(wire), MSG_DONTWAIT)) > 0) {
        assert_int_equal(tls_pipe_feed(peer->pipe, wire, (size_t)count), 0);
    }
    do {
        rc = tls_pipe_read(peer->pipe, plain, sizeof(plain), &got);
    } while (rc == 0 || rc == TLS_RECORD);
    send_encrypted(peer);
}

static void greet(struct server_fixture *fixture, struct secure_peer *peer)
{
    fixture->server.listeners[0].config.tls = true;
    const struct session *session = server_fixture_connect(fixture, &peer->plain);
    peer->number = session->number;
    assert_int_equal(tls_pipe_new(client_context, "server", &peer->pipe), 0);
    while (session->is_shaking_hands || !tls_pipe_is_open(peer->pipe)) {
        take_what_came(peer);
        turn(fixture, 1);
        if (tls_pipe_is_open(peer->pipe) && peer->plain.output.count == 0 &&
            session->state == SESSION_NEW) {
            peer_put_hello(&peer->plain);
            encrypt(peer, peer->plain.output.count, RECORD_BYTES);
            send_encrypted(peer);
        }
    }
    while (session->state != SESSION_OPEN) {
        turn(fixture, 1);
    }
    take_what_came(peer);
}

static bool is_here(const struct server_fixture *fixture, const struct secure_peer *peer)
{
    const struct session *session;

    DL_FOREACH (fixture->server.sessions.first, session) {
        if (session->number == peer->number && session->state == SESSION_OPEN) {
            return true;
        }
    }
    return false;
}

/* --- fixture ---------------------------------------------------------------------------------- */

static struct server_fixture *start(uint32_t frame_bytes)
{
    struct server_fixture *fixture = server_fixture_new();
    struct config *config = &fixture->config;

    config->limits.frame_bytes = frame_bytes;
    config->limits.payload_bytes = 100; /* larger ones are refused, and need no store */
    server_fixture_start(fixture, true);
    struct config secured = *config;
    secured.listener_count = 1;
    secured.listeners[0].kind = CONFIG_LISTENER_TCP;
    secured.listeners[0].tls = true;
    (void)snprintf(secured.tls_certificate, sizeof(secured.tls_certificate), "%s",
                   certificate.file);
    (void)snprintf(secured.tls_key, sizeof(secured.tls_key), "%s", certificate.key_file);
    assert_int_equal(server_tls_load(&fixture->server.tls, &secured, fixture->reason), 0);
    fixture->server.service->read_ns = read_ns;
    return fixture;
}

static void finish(struct server_fixture *fixture, struct secure_peer *peer)
{
    look_ns = 0;
    tls_pipe_free(peer->pipe);
    peer_deinit(&peer->plain);
    server_fixture_await_sessions(fixture, 0);
    server_tls_deinit(&fixture->server.tls);
    server_fixture_free(fixture);
}

static void put_deposit(struct secure_peer *peer, uint64_t id, size_t payload_bytes)
{
    static const uint8_t payload[64 * 1024];
    struct hearsay_request request = *server_fixture_deposit(id, (uint8_t)id);

    request.deposit.payload = (struct hearsay_bytes){payload, payload_bytes};
    peer_put(&peer->plain, &request);
}

/* --- tests ------------------------------------------------------------------------------------ */

/*
 * Another session has had the turn's time; this one holds most of a frame and sends on. With small
 * frames and with large ones.
 */
static void who_waits_is_not_dropped(uint32_t frame_bytes, size_t payload_bytes, size_t held)
{
    struct server_fixture *fixture = start(frame_bytes);
    struct secure_peer peer = {.pipe = NULL};
    struct peer other;

    (void)server_fixture_greet(fixture, &other);
    greet(fixture, &peer);
    for (uint64_t id = 2; id < 5 || peer.plain.output.count < 100000; id++) {
        put_deposit(&peer, id, payload_bytes);
    }
    encrypt(&peer, held, 1000);
    send_encrypted(&peer);
    turn(fixture, 5);
    encrypt(&peer, peer.plain.output.count, 1000);
    peer_put_ping(&other, 2);
    now_ns += SECOND_NS; /* nobody took much lately */
    look_ns = LONG_NS;
    peer_send(&other, &fixture->server.loop.uv);
    send_encrypted(&peer);
    turn(fixture, 20);
    assert_true(is_here(fixture, &peer));
    peer_deinit(&other);
    finish(fixture, &peer);
}

TEST(test_who_waits_is_not_dropped)
{
    who_waits_is_not_dropped(16 * 1024, 200, 0);
    who_waits_is_not_dropped(16 * 1024, 10000, 9000);
    who_waits_is_not_dropped(64 * 1024, 50000, 40000);
}

/* A record waits for its last byte, which then comes with many more. */
TEST(test_a_record_more_than_was_read)
{
    static uint8_t wire[128 * 1024];
    struct server_fixture *fixture = start(64 * 1024);
    struct secure_peer peer = {.pipe = NULL};

    greet(fixture, &peer);
    put_deposit(&peer, 2, 60 * 1024);
    put_deposit(&peer, 3, 60 * 1024);
    encrypt(&peer, 59000, RECORD_BYTES);
    send_encrypted(&peer);
    turn(fixture, 5);
    encrypt(&peer, RECORD_BYTES, RECORD_BYTES);
    const size_t count = tls_pipe_take(peer.pipe, wire, sizeof(wire));
    send_all(&peer, wire, count - 1);
    turn(fixture, 5);
    wire[0] = wire[count - 1];
    encrypt(&peer, 40000, 1000);
    send_all(&peer, wire, 1 + tls_pipe_take(peer.pipe, wire + 1, sizeof(wire) - 1));
    turn(fixture, 5);
    assert_true(is_here(fixture, &peer));
    finish(fixture, &peer);
}

/* --- a client that floods --------------------------------------------------------------------- */

struct flooder {
    struct peer plain;
    SSL_CTX *context;
    SSL *ssl;
    BIO *in; /* both are ssl's */
    BIO *out;
    size_t answered; /* bytes that came since the handshake */
};

/* Sends what OpenSSL wants to send, as much as the socket takes; the rest stays in `out`. */
static void flooder_send(struct flooder *flooder)
{
    static char wire[RECORD_BYTES];
    const char *data = NULL;
    const long count = BIO_get_mem_data(flooder->out, &data);
    const size_t some = count < RECORD_BYTES ? (size_t)count : RECORD_BYTES;
    const ssize_t sent =
        some == 0 ? 0 : send(flooder->plain.fd, data, some, MSG_NOSIGNAL | MSG_DONTWAIT);

    if (sent > 0) {
        assert_int_equal(BIO_read(flooder->out, wire, (int)sent), (int)sent);
    }
}

static void flooder_hear(struct flooder *flooder, bool is_fed)
{
    static uint8_t wire[RECORD_BYTES];
    ssize_t count;

    while ((count = recv(flooder->plain.fd, wire, sizeof(wire), MSG_DONTWAIT)) > 0) {
        flooder->answered += (size_t)count;
        if (is_fed) {
            assert_int_equal(BIO_write(flooder->in, wire, (int)count), (int)count);
        }
    }
}

static const struct session *flooder_connect(struct server_fixture *fixture,
                                             struct flooder *flooder)
{
    memset(flooder, 0, sizeof(*flooder));
    fixture->server.listeners[0].config.tls = true;
    const struct session *session = server_fixture_connect(fixture, &flooder->plain);
    flooder->context = SSL_CTX_new(TLS_client_method());
    assert_non_null(flooder->context);
    flooder->ssl = SSL_new(flooder->context);
    flooder->in = BIO_new(BIO_s_mem());
    flooder->out = BIO_new(BIO_s_mem());
    SSL_set_bio(flooder->ssl, flooder->in, flooder->out);
    SSL_set_connect_state(flooder->ssl);
    while (SSL_is_init_finished(flooder->ssl) != 1 || session->is_shaking_hands) {
        (void)SSL_do_handshake(flooder->ssl);
        flooder_send(flooder);
        turn(fixture, 1);
        flooder_hear(flooder, true);
    }
    flooder->answered = 0;
    return session;
}

static void flooder_free(struct flooder *flooder)
{
    SSL_free(flooder->ssl);
    SSL_CTX_free(flooder->context);
    peer_deinit(&flooder->plain);
}

/* Bytes that TLS answered, wherever they are. */
static size_t answers(struct flooder *flooder, const struct session *session)
{
    flooder_hear(flooder, false);
    return flooder->answered + transport_output_bytes(&session->transport);
}

/*
 * KeyUpdates that ask for one in return, with a byte of data in 32 records, so that the session is
 * not dropped. While a ping of another client waits, a bounded number of them is taken: those for
 * which there is time in a turn. A record takes as long as a look at the clock, 15 us.
 */
TEST(test_records_take_turns)
{
    enum { PINGS = 100, ROUND = 31, ANSWER_BYTES = 27, RECORD_NS = 15 * 1000, RECORDS_MAX = 60 };
    struct server_fixture *fixture = start(16 * 1024);
    struct flooder flooder;
    static const uint8_t frame[16 * 1024] = {0, 0, 0x3f}; /* one that does not end here */
    struct peer other;
    size_t rounds = 0;
    size_t taken = 0;

    (void)server_fixture_greet(fixture, &other);
    const struct session *session = flooder_connect(fixture, &flooder);
    peer_put_hello(&flooder.plain);
    assert_true(SSL_write(flooder.ssl, flooder.plain.output.data, (int)flooder.plain.output.count) >
                0);
    look_ns = RECORD_NS;
    for (uint64_t i = 0; i < PINGS; i++) {
        struct hearsay_response response;
        while (BIO_ctrl_pending(flooder.out) < 32768) {
            for (int j = 0; j < ROUND; j++) {
                assert_int_equal(SSL_key_update(flooder.ssl, SSL_KEY_UPDATE_REQUESTED), 1);
                assert_int_equal(SSL_do_handshake(flooder.ssl), 1);
            }
            assert_int_equal(SSL_write(flooder.ssl, &frame[rounds++], 1), 1);
        }
        flooder_send(&flooder);
        peer_put_ping(&other, 2 + i);
        peer_send(&other, &fixture->server.loop.uv);
        const size_t before = answers(&flooder, session);
        assert_true(peer_await(&other, &fixture->server.loop.uv, &response));
        const size_t records = (answers(&flooder, session) - before) / ANSWER_BYTES;
        if (records > RECORDS_MAX) {
            fail_msg("%zu records were taken while a ping waited", records);
        }
        taken += records;
    }
    assert_true(taken > PINGS / 2); /* it had its share */
    look_ns = 0;
    flooder_free(&flooder);
    peer_deinit(&other);
    server_fixture_await_sessions(fixture, 0);
    server_tls_deinit(&fixture->server.tls);
    server_fixture_free(fixture);
}

/* --- the end of a certificate ----------------------------------------------------------------- */

/* The end of the certificate, which is an hour away, is said after loading and once a day. */
TEST(test_the_end_is_said_once_a_day)
{
    const int64_t day_ms = (int64_t)24 * 3600 * 1000;
    struct server_tls tls = {.scratch = NULL};
    struct config config = {.listener_count = 1};
    static char sentence[CONFIG_REASON_BYTES];

    config.listeners[0].kind = CONFIG_LISTENER_TCP;
    config.listeners[0].tls = true;
    (void)snprintf(config.tls_certificate, sizeof(config.tls_certificate), "%s", certificate.file);
    (void)snprintf(config.tls_key, sizeof(config.tls_key), "%s", certificate.key_file);
    assert_int_equal(server_tls_not_after_ms(&tls), 0);
    assert_false(server_tls_tick(&tls, &config, 0, 0)); /* there is none */
    assert_int_equal(server_tls_load(&tls, &config, sentence), 0);
    const int64_t end_ms = server_tls_not_after_ms(&tls);
    assert_true(end_ms > 0);

    assert_int_equal(server_tls_judge(&tls, &config, end_ms - 14 * day_ms - 1, sentence),
                     SERVER_TLS_GOOD);
    assert_int_equal(server_tls_judge(&tls, &config, end_ms - 14 * day_ms, sentence),
                     SERVER_TLS_ENDS_SOON);
    assert_non_null(strstr(sentence, "in 14 days"));
    assert_int_equal(server_tls_judge(&tls, &config, end_ms - 1, sentence), SERVER_TLS_ENDS_SOON);
    assert_int_equal(server_tls_judge(&tls, &config, end_ms, sentence), SERVER_TLS_EXPIRED);
    assert_non_null(strstr(sentence, certificate.file));

    assert_true(server_tls_tick(&tls, &config, 5, end_ms));
    assert_false(server_tls_tick(&tls, &config, 4 + day_ms, end_ms));
    assert_true(server_tls_tick(&tls, &config, 5 + day_ms, end_ms));
    assert_int_equal(server_tls_load(&tls, &config, sentence), 0); /* a reload */
    assert_true(server_tls_tick(&tls, &config, 6 + day_ms, end_ms));
    server_tls_deinit(&tls);
}

static int setup(void **state)
{
    const struct tls_client_options options = {NULL, NULL, NULL};
    char reason[TLS_REASON_BYTES];

    (void)state;
    certificate_make(&certificate);
    return tls_client_new(&options, &client_context, reason);
}

static int teardown(void **state)
{
    (void)state;
    tls_context_free(client_context);
    certificate_remove(&certificate);
    return 0;
}

int main(void)
{
    return check_run(setup, teardown);
}
