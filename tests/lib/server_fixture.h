/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server_fixture: a server put together by hand, for tests of sessions and listeners: a real loop
 * and real sockets over a store in memory and a clock that the test sets. It has no timers and no
 * signals: the test calls session_tick, and says when the store commits. The sessions' memory comes
 * from an allocator that can be told to fail.
 */
#pragma once

#include "daemon/net/server.h"
#include "tests/lib/fail_alloc.h"
#include "tests/lib/fake_clock.h"
#include "tests/lib/fake_persist.h"
#include "tests/lib/loop_fixture.h"

struct server_fixture {
    struct server server;
    struct config config;
    struct persist *persist;
    struct fail_alloc alloc;
    const struct alloc *service_alloc; /* borrowed: of the service; before the start */
    struct fake_clock clock;
    char directory[LOOP_PATH_BYTES]; /* "": none was made */
    char path[LOOP_PATH_BYTES + 16]; /* for a Unix socket, in that directory */
    char reason[CONFIG_REASON_BYTES];
};

/* Owned; server_fixture_free. Its configuration is at the defaults and may be changed. */
struct server_fixture *server_fixture_new(void);

/* Makes `directory` and sets `path`, which a start with a listener does by itself. */
void server_fixture_make_directory(struct server_fixture *fixture);

/* The loop and the service; with `listens`, a listener on the Unix socket, too. */
void server_fixture_start(struct server_fixture *fixture, bool listens);

/*
 * Commits what waits, closes what is open, and checks that nothing is left: no session, no work, no
 * handle, no memory.
 */
void server_fixture_free(struct server_fixture *fixture);

/* One turn of the loop; waits for it or for `peer` (NULL: none) to have something to read. */
void server_fixture_turn(struct server_fixture *fixture, const struct peer *peer);

/* Connects to the Unix socket, and turns until the session is there, which is returned. */
struct session *server_fixture_connect(struct server_fixture *fixture, struct peer *out_peer);

/* The same, and Hello is answered. */
struct session *server_fixture_greet(struct server_fixture *fixture, struct peer *out_peer);

/* Turns until so many sessions are left. */
void server_fixture_await_sessions(struct server_fixture *fixture, size_t count);

/* A deposit, and a query with k = 10, of a filter that begins at bit `number`; static storage. */
const struct hearsay_request *server_fixture_deposit(uint64_t id, uint8_t number);
const struct hearsay_request *server_fixture_query(uint64_t id, uint8_t number);
