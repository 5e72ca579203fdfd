/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/session_fixture.h"

#include "tests/lib/check.h"

int session_fixture_setup(void **state)
{
    struct server_fixture *fixture = server_fixture_new();

    fixture->config.limits.requests_in_flight = 8;
    server_fixture_start(fixture, true);
    *state = fixture;
    return 0;
}

int session_fixture_teardown(void **state)
{
    server_fixture_free(*state);
    return 0;
}

void session_fixture_send_all(struct server_fixture *fixture, struct peer *peer)
{
    peer_send(peer, &fixture->server.loop.uv);
}

void session_fixture_expect(struct server_fixture *fixture, struct peer *peer, uint64_t id,
                            enum hearsay_response_kind kind)
{
    struct hearsay_response response;

    assert_true(peer_await(peer, &fixture->server.loop.uv, &response));
    assert_int_equal(response.id, id);
    assert_int_equal(response.kind, kind);
}

void session_fixture_expect_error(struct server_fixture *fixture, struct peer *peer, uint64_t id,
                                  enum hearsay_code code, const char *sentence)
{
    struct hearsay_response response;

    assert_true(peer_await(peer, &fixture->server.loop.uv, &response));
    assert_int_equal(response.id, id);
    assert_int_equal(response.kind, HEARSAY_RESPONSE_ERROR);
    assert_int_equal(response.error.code, code);
    if (strstr(response.error.message, sentence) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", response.error.message, sentence);
    }
}

void session_fixture_expect_end(struct server_fixture *fixture, struct peer *peer)
{
    peer_await_end(peer, &fixture->server.loop.uv);
    assert_false(peer->was_reset);
}

void session_fixture_leave(struct server_fixture *fixture, struct peer *peer)
{
    const size_t count = fixture->server.sessions.count;

    peer_deinit(peer);
    server_fixture_await_sessions(fixture, count - 1);
}

void session_fixture_put_deposits(struct peer *peer, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        peer_put(peer, server_fixture_deposit(100 + i, (uint8_t)(i + 1)));
    }
}

void session_fixture_await_work(struct server_fixture *fixture, uint32_t count)
{
    while (fixture->server.service->working < count) {
        server_fixture_turn(fixture, NULL);
    }
    assert_int_equal(fixture->server.service->working, count);
}

void session_fixture_respond_bytes(struct session *session, size_t count)
{
    static const uint8_t payload[64 * 1024];
    static const uint8_t id[MESSAGE_ID_BYTES] = {1};
    const struct hearsay_response got = {
        .id = 6,
        .kind = HEARSAY_RESPONSE_GOT,
        .got = {.id = {id, sizeof(id)},
                .media_type = {"text/plain", 10},
                .payload = {payload, count}},
    };

    session->client.events->respond(&session->client, &got);
}
