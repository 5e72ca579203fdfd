/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_fixture: what the tests of sessions share: a server with a real loop and real sockets,
 * over a store in memory that commits when the test says so, and what its clients expect.
 */
#pragma once

#include "tests/lib/server_fixture.h"

/* For cmocka: a server that listens, with 8 requests of a session in flight at most. */
int session_fixture_setup(void **state);
int session_fixture_teardown(void **state);

/* Sends what the client has put. */
void session_fixture_send_all(struct server_fixture *fixture, struct peer *peer);

/* The next response is this one; an error has the words in its sentence. */
void session_fixture_expect(struct server_fixture *fixture, struct peer *peer, uint64_t id,
                            enum hearsay_response_kind kind);
void session_fixture_expect_error(struct server_fixture *fixture, struct peer *peer, uint64_t id,
                                  enum hearsay_code code, const char *sentence);

/* The server ends the stream without another response. */
void session_fixture_expect_end(struct server_fixture *fixture, struct peer *peer);

/* The client closes, and the session goes without a trace. */
void session_fixture_leave(struct server_fixture *fixture, struct peer *peer);

/* Puts deposits with the request ids 100, 101, ... */
void session_fixture_put_deposits(struct peer *peer, unsigned count);

/* Turns until so much work is under way. */
void session_fixture_await_work(struct server_fixture *fixture, uint32_t count);

/* Bytes of answers that the client does not read, put there as a handler would; < 64 KiB. */
void session_fixture_respond_bytes(struct session *session, size_t count);
