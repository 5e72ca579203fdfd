/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches of a whole daemon, over its own store, while something fails: a client watches from the
 * beginning, with payloads, so that pages and payloads are read; and comes again, after what it
 * saw, whenever it was dropped. It is told of every message once, in order.
 * tests/fault/test_watch.c is about memory alone, with deposits that come meanwhile.
 */
#include "daemon/watch/watch.h"
#include "tests/fault/daemon_faults.h"
#include "tests/lib/check.h"
#include "tests/lib/fault_calls.h"

enum { WATCH_ID = 95, ROUNDS_MAX = 5 };

/* What one watcher has seen, over its connections. */
struct watcher {
    uint64_t last_seq;
    size_t seen;
    size_t omitted; /* payloads */
};

static void put_watch(struct peer *peer, uint64_t after_seq)
{
    struct hearsay_request request = *server_fixture_query(WATCH_ID, 1);
    struct hearsay_query query = request.query;

    query.k = 0;
    query.with_payload = true; /* everything fits: its bound is 1 */
    request.kind = HEARSAY_REQUEST_WATCH;
    request.watch = (struct msg_watch){.query = query, .after_seq = after_seq};
    peer_put(peer, &request);
}

/* The messages were deposited in the order of their numbers. */
static void take_match(struct watcher *watcher, const struct hearsay_match *match)
{
    assert_true(match->seq > watcher->last_seq);
    watcher->last_seq = match->seq;
    watcher->seen++;
    assert_int_equal(match->result.id.data[0], watcher->seen);
    watcher->omitted += match->result.payload_omitted;
    if (!match->result.payload_omitted) {
        assert_int_equal(match->result.payload.count,
                         server_fixture_deposit(1, 1)->deposit.payload.count);
        assert_memory_equal(match->result.payload.data, "the second window", 17);
    }
}

/* One connection: until all was seen, or it is dropped or refused. */
static void watch_once(struct faults_fixture *fixture, struct watcher *watcher,
                       const struct fault_case *fault, unsigned nth, bool *out_failed)
{
    struct hearsay_response response;
    struct peer peer;

    peer_init(&peer, loop_connect_unix(fixture->socket));
    assert_true(peer.fd >= 0);
    peer_put_hello(&peer);
    assert_int_equal(faults_exchange(fixture, &peer, &response), OUTCOME_ANSWERED);
    assert_int_equal(response.kind, HEARSAY_RESPONSE_WELCOME);
    put_watch(&peer, watcher->last_seq);
    if (fault != NULL) {
        fault_vfs_arm(fault->kinds, nth, fault->times);
    }
    while (watcher->seen < MESSAGES &&
           faults_exchange(fixture, &peer, &response) == OUTCOME_ANSWERED) {
        if (response.kind == HEARSAY_RESPONSE_MATCH) {
            take_match(watcher, &response.match);
        } else if (response.kind != HEARSAY_RESPONSE_WATCHING) {
            assert_true(faults_says_failure(&response));
            break;
        }
    }
    *out_failed = fault_vfs_disarm();
    peer_deinit(&peer);
}

/* Whether anything failed. */
static bool fail_watch(struct faults_fixture *fixture, const struct fault_case *fault, unsigned nth)
{
    struct watcher watcher = {.seen = 0};
    bool failed = false;
    bool again = false;

    watch_once(fixture, &watcher, fault, nth, &failed);
    assert_true(failed || (watcher.seen == MESSAGES && watcher.omitted == 0));
    for (unsigned round = 0; watcher.seen < MESSAGES; round++) { /* all is well now */
        assert_true(round < ROUNDS_MAX);
        watch_once(fixture, &watcher, NULL, 0, &again);
    }
    /* Nothing is left of it, when the daemon has noticed that the client has gone. */
    const int64_t begin_ms = faults_real_ms();
    while (fixture->server.service->watch->filter_count > 0) {
        assert_true(faults_real_ms() - begin_ms < PATIENCE_MS);
        faults_turn(fixture, &fixture->peer);
    }
    assert_int_equal(fixture->server.service->watch->counts.matches, 0);
    return failed;
}

TEST_WITH(test_watches, faults_setup_started, faults_teardown_started)
{
    for (size_t i = 0; i < FAULTS_CASES; i++) {
        unsigned nth = 1;

        while (fail_watch(*state, &faults_cases[i], nth)) {
            faults_injected++;
            nth = faults_next_place(nth);
            assert_true(nth < PLACES_MAX);
        }
    }
    print_message("%u faults so far\n", faults_injected);
}
