/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole daemon in this process, over its own store, while the n-th allocation, read, write,
 * sync, descriptor or thread fails, for n = 1, 2, 3, ... until nothing fails any more: at its
 * start, in every kind of request, in a reload and in a sweep. It never crashes and leaves nothing
 * behind; an answer is the right one, or says that something failed, or the connection is dropped;
 * what was acknowledged is there; and with the next request all is well again.
 *
 * Beyond the first dozens of places a sample of them is taken (faults_next_place). Watches are in
 * daemon_watch.c, the requests of a bridge in daemon_feed.c.
 */
#include "tests/fault/daemon_faults.h"

#include <dirent.h>
#include <sched.h>
#include <signal.h>

#include <sodium.h>

#include "core/base/err.h"
#include "proto/codec/codec.h"
#include "tests/lib/check.h"
#include "tests/lib/fault_calls.h"
#include "tests/lib/host_count.h"

/* --- requests --------------------------------------------------------------------------------- */

/* BLAKE2b-256 of the token, 32 zero bytes. */
static const uint8_t token[LIMIT_TOKEN_BYTES];
static uint8_t token_hash[LIMIT_HASH_BYTES];

/* A message that nobody has had yet. */
static struct hearsay_request new_deposit(struct faults_fixture *fixture)
{
    struct hearsay_request request = *server_fixture_deposit(50, FIRST_NEW);

    fixture->next_id++;
    memset(fixture->id, 0xee, sizeof(fixture->id));
    memcpy(fixture->id, &fixture->next_id, sizeof(fixture->next_id));
    request.deposit.id = (struct hearsay_bytes){fixture->id, sizeof(fixture->id)};
    request.deposit.withdraw_hash = (struct hearsay_bytes){token_hash, sizeof(token_hash)};
    return request;
}

/* The id of the message that a request of the operator is about. */
static struct hearsay_bytes *id_of(struct hearsay_request *request)
{
    return request->kind == HEARSAY_REQUEST_HIDE     ? &request->hide.id
           : request->kind == HEARSAY_REQUEST_REMOVE ? &request->remove.id
                                                     : &request->restore.id;
}

static struct hearsay_request make_request(struct faults_fixture *fixture,
                                           enum hearsay_request_kind kind)
{
    static uint8_t id[LIMIT_ID_BYTES];
    struct hearsay_request request = {.id = 60, .kind = kind};

    memset(id, 0, sizeof(id));
    id[0] = 3;
    switch (kind) {
    case HEARSAY_REQUEST_QUERY:
        request = *server_fixture_query(60, 5);
        request.query.max_distance_ppm = 950000; /* some of the messages that stay */
        request.query.with_payload = true;
        break;
    case HEARSAY_REQUEST_GET:
        request.get.id = (struct hearsay_bytes){id, sizeof(id)};
        break;
    case HEARSAY_REQUEST_EXPORT:
        request.export_.limit = MESSAGES; /* they were the first */
        break;
    case HEARSAY_REQUEST_BACKUP:
        request.backup.path = (struct hearsay_text){fixture->backup, strlen(fixture->backup)};
        (void)remove(fixture->backup);
        break;
    case HEARSAY_REQUEST_BAN:
        request.ban.payload_hash = (struct hearsay_bytes){token_hash, sizeof(token_hash)};
        break;
    case HEARSAY_REQUEST_UNBAN:
        request.unban.payload_hash = (struct hearsay_bytes){token_hash, sizeof(token_hash)};
        break;
    case HEARSAY_REQUEST_NOTICE:
        request.notice.text = (struct hearsay_text){"x", 1}; /* the same each time */
        break;
    case HEARSAY_REQUEST_ACCEPT:
        request.accept.mode = (struct hearsay_text){"open", 4};
        break;
    case HEARSAY_REQUEST_HIDE: /* of one that nobody has */
    case HEARSAY_REQUEST_REMOVE:
    case HEARSAY_REQUEST_RESTORE:
        id[0] = 0xfe;
        *id_of(&request) = (struct hearsay_bytes){id, sizeof(id)};
        break;
    case HEARSAY_REQUEST_REPORT:
        request.report.id = (struct hearsay_bytes){id, sizeof(id)};
        request.report.kind = HEARSAY_REPORT_OTHER_KIND;
        break;
    case HEARSAY_REQUEST_LOG_LEVEL:
        request.log_level.level = (struct hearsay_text){"error", 5};
        break;
    default:
        break;
    }
    return request;
}

/* The answer's bytes, where they must be the same each time; else only its kind. */
static void digest(const struct hearsay_response *response, uint8_t out[32])
{
    struct hearsay_response copy = *response;
    struct bytes bytes;

    bytes_init(&bytes, alloc_system());
    switch (response->kind) {
    case HEARSAY_RESPONSE_RESULTS:
        copy.results.comparisons = 0;
        break;
    case HEARSAY_RESPONSE_GOT:
    case HEARSAY_RESPONSE_EXPORTED:
        break;
    case HEARSAY_RESPONSE_ERROR:
        copy.error.message[0] = '\0';
        break;
    default:
        copy = (struct hearsay_response){.id = response->id, .kind = HEARSAY_RESPONSE_ERROR};
        copy.error.code = HEARSAY_CODE_INTERNAL;
        copy.error.retry_after_ms = (uint64_t)response->kind;
    }
    assert_int_equal(codec_encode_response(&copy, LIMIT_FRAME_BYTES_MAX, &bytes), 0);
    assert_int_equal(crypto_generichash(out, 32, bytes.data, bytes.count, NULL, 0), 0);
    bytes_deinit(&bytes);
}

/* One round of a request that changes nothing. Whether anything failed. */
static bool fail_question(struct faults_fixture *fixture, const struct fault_case *fault,
                          unsigned nth, enum hearsay_request_kind kind, const uint8_t right[32])
{
    struct hearsay_request request = make_request(fixture, kind);
    struct hearsay_response response;
    uint8_t found[32];

    peer_put(&fixture->peer, &request);
    fault_vfs_arm(fault->kinds, nth, fault->times);
    const enum outcome outcome = faults_exchange(fixture, &fixture->peer, &response);
    const bool failed = fault_vfs_disarm();
    assert_true(failed || outcome == OUTCOME_ANSWERED);
    if (outcome == OUTCOME_ANSWERED) {
        digest(&response, found);
        if (memcmp(found, right, 32) != 0 && !(failed && faults_says_failure(&response))) {
            fail_msg("request %d, %s, place %u: kind %d: %s", (int)kind, fault->name, nth,
                     (int)response.kind,
                     response.kind == HEARSAY_RESPONSE_ERROR ? response.error.message : "wrong");
        }
    }
    faults_reconnect_if_dropped(fixture);
    request = make_request(fixture, kind);
    faults_ask(fixture, &request, &response);
    digest(&response, found);
    assert_memory_equal(found, right, 32);
    return failed;
}

static void sweep_question(struct faults_fixture *fixture, enum hearsay_request_kind kind)
{
    const struct hearsay_request request = make_request(fixture, kind);
    struct hearsay_response response;
    uint8_t right[32];

    faults_ask(fixture, &request, &response);
    digest(&response, right);
    for (size_t i = 0; i < FAULTS_CASES; i++) {
        unsigned nth = 1;

        while (fail_question(fixture, &faults_cases[i], nth, kind, right)) {
            faults_injected++;
            nth = faults_next_place(nth);
            assert_true(nth < PLACES_MAX);
        }
    }
}

TEST_WITH(test_questions, faults_setup_started, faults_teardown_started)
{
    /* Unban finds nothing to unban: Ban comes later, and is the same each time. */
    static const enum hearsay_request_kind kinds[] = {
        HEARSAY_REQUEST_PING,      HEARSAY_REQUEST_QUERY,   HEARSAY_REQUEST_GET,
        HEARSAY_REQUEST_EXPORT,    HEARSAY_REQUEST_SUMMARY, HEARSAY_REQUEST_HERE,
        HEARSAY_REQUEST_STATS,     HEARSAY_REQUEST_UNBAN,   HEARSAY_REQUEST_BAN,
        HEARSAY_REQUEST_BANS,      HEARSAY_REQUEST_ACCEPT,  HEARSAY_REQUEST_REMOVE,
        HEARSAY_REQUEST_RESTORE,   HEARSAY_REQUEST_REPORT,  HEARSAY_REQUEST_REPORTED,
        HEARSAY_REQUEST_CHECK,     HEARSAY_REQUEST_BACKUP,  HEARSAY_REQUEST_RELOAD,
        HEARSAY_REQUEST_LOG_LEVEL, HEARSAY_REQUEST_COMPACT, HEARSAY_REQUEST_HELLO,
        HEARSAY_REQUEST_NOTICE,    HEARSAY_REQUEST_HIDE,    HEARSAY_REQUEST_DECISIONS,
        HEARSAY_REQUEST_SIMILAR,
    };

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        sweep_question(*state, kinds[i]);
    }
    print_message("%u faults so far\n", faults_injected);
}

/* --- requests that change something ----------------------------------------------------------- */

enum { SHOWN = -1 };

/* Asks for the message fixture->id. Returns the code of the error, or SHOWN if the message comes.
 */
static int ask_state(struct faults_fixture *fixture)
{
    const struct hearsay_request request = {
        .id = 71,
        .kind = HEARSAY_REQUEST_GET,
        .get = {.id = {fixture->id, sizeof(fixture->id)}},
    };
    struct hearsay_response response;

    faults_ask(fixture, &request, &response);
    return response.kind == HEARSAY_RESPONSE_GOT ? SHOWN : (int)response.error.code;
}

static bool is_there(struct faults_fixture *fixture)
{
    int state = ask_state(fixture);

    assert_true(state == SHOWN || state == HEARSAY_CODE_NOT_FOUND);
    return state == SHOWN;
}

static bool fail_deposit(struct faults_fixture *fixture, const struct fault_case *fault,
                         unsigned nth)
{
    const struct hearsay_request request = new_deposit(fixture);
    struct hearsay_response response;
    bool acknowledged = false;
    bool refused = false;

    peer_put(&fixture->peer, &request);
    fault_vfs_arm(fault->kinds, nth, fault->times);
    const enum outcome outcome = faults_exchange(fixture, &fixture->peer, &response);
    const bool failed = fault_vfs_disarm();
    assert_true(failed || outcome == OUTCOME_ANSWERED);
    if (outcome == OUTCOME_ANSWERED) {
        acknowledged = response.kind == HEARSAY_RESPONSE_DEPOSITED && !response.deposited.duplicate;
        assert_true(acknowledged || (failed && faults_says_failure(&response)));
        refused = !acknowledged && response.error.code == HEARSAY_CODE_STORAGE;
    }
    faults_reconnect_if_dropped(fixture);
    if (acknowledged) {
        assert_true(is_there(fixture));
    } else if (refused) { /* "nothing was changed" */
        assert_false(is_there(fixture));
    }
    faults_ask(fixture, &request, &response);
    assert_int_equal(response.kind, HEARSAY_RESPONSE_DEPOSITED);
    assert_true(response.deposited.duplicate || !acknowledged);
    assert_false(response.deposited.duplicate && refused);
    assert_true(is_there(fixture));
    return failed;
}

static bool fail_withdrawal(struct faults_fixture *fixture, const struct fault_case *fault,
                            unsigned nth)
{
    const struct hearsay_request deposit = new_deposit(fixture);
    const struct hearsay_request request = {
        .id = 80,
        .kind = HEARSAY_REQUEST_WITHDRAW,
        .withdraw = {.id = {fixture->id, sizeof(fixture->id)}, .token = {token, sizeof(token)}},
    };
    struct hearsay_response response;
    bool acknowledged = false;
    bool refused = false;

    faults_ask(fixture, &deposit, &response);
    assert_int_equal(response.kind, HEARSAY_RESPONSE_DEPOSITED);
    peer_put(&fixture->peer, &request);
    fault_vfs_arm(fault->kinds, nth, fault->times);
    const enum outcome outcome = faults_exchange(fixture, &fixture->peer, &response);
    const bool failed = fault_vfs_disarm();
    assert_true(failed || outcome == OUTCOME_ANSWERED);
    if (outcome == OUTCOME_ANSWERED) {
        acknowledged = response.kind == HEARSAY_RESPONSE_WITHDRAWN;
        assert_true(acknowledged || (failed && faults_says_failure(&response)));
        refused = !acknowledged;
    }
    faults_reconnect_if_dropped(fixture);
    assert_false(acknowledged && is_there(fixture));
    assert_false(refused && !is_there(fixture));
    faults_ask(fixture, &request, &response);
    assert_true(response.kind == HEARSAY_RESPONSE_WITHDRAWN ||
                (!refused && response.error.code == HEARSAY_CODE_NOT_FOUND));
    assert_false(is_there(fixture));
    return failed;
}

/* An act of the operator, and what `get` says before it, and after it. */
struct act {
    enum hearsay_request_kind kind;
    enum hearsay_response_kind done;
    int before;
    int after;
};

/* The acts on one message, in this order. */
static const struct act acts[] = {
    {HEARSAY_REQUEST_HIDE, HEARSAY_RESPONSE_HIDDEN, SHOWN, HEARSAY_CODE_NOT_FOUND},
    {HEARSAY_REQUEST_RESTORE, HEARSAY_RESPONSE_RESTORED, HEARSAY_CODE_NOT_FOUND, SHOWN},
    {HEARSAY_REQUEST_REMOVE, HEARSAY_RESPONSE_REMOVED, SHOWN, HEARSAY_CODE_REMOVED},
    {HEARSAY_REQUEST_RESTORE, HEARSAY_RESPONSE_RESTORED, HEARSAY_CODE_REMOVED, SHOWN},
};

/*
 * An act fails at a place. What was acknowledged is so, what was refused has not happened, and a
 * second attempt succeeds, unless the act has happened.
 */
static bool fail_act(struct faults_fixture *fixture, const struct fault_case *fault, unsigned nth,
                     const struct act *act)
{
    struct hearsay_request request = {.id = 81, .kind = act->kind};
    struct hearsay_response response;
    bool acknowledged = false;
    bool refused = false;

    *id_of(&request) = (struct hearsay_bytes){fixture->id, sizeof(fixture->id)};
    peer_put(&fixture->peer, &request);
    fault_vfs_arm(fault->kinds, nth, fault->times);
    const enum outcome outcome = faults_exchange(fixture, &fixture->peer, &response);
    const bool failed = fault_vfs_disarm();
    assert_true(failed || outcome == OUTCOME_ANSWERED);
    if (outcome == OUTCOME_ANSWERED) {
        acknowledged = response.kind == act->done;
        if (!acknowledged && !(failed && faults_says_failure(&response))) {
            fail_msg("act %d, %s, place %u, %s: kind %d: %s", (int)act->kind, fault->name, nth,
                     failed ? "failed" : "did not fail", (int)response.kind,
                     response.kind == HEARSAY_RESPONSE_ERROR ? response.error.message : "wrong");
        }
        refused = !acknowledged && response.error.code == HEARSAY_CODE_STORAGE;
    }
    faults_reconnect_if_dropped(fixture);
    const int now = ask_state(fixture);
    assert_true(now == act->after || (!acknowledged && now == act->before));
    assert_false(refused && now == act->after);
    faults_ask(fixture, &request, &response);
    assert_true(response.kind == act->done ||
                (now == act->after && response.kind == HEARSAY_RESPONSE_ERROR &&
                 response.error.code == HEARSAY_CODE_INVALID));
    assert_int_equal(ask_state(fixture), act->after);
    return failed;
}

/* All acts on a new message. Whether anything failed. */
static bool fail_acts(struct faults_fixture *fixture, const struct fault_case *fault, unsigned nth)
{
    const struct hearsay_request deposit = new_deposit(fixture);
    struct hearsay_response response;
    bool failed = false;

    faults_ask(fixture, &deposit, &response);
    assert_int_equal(response.kind, HEARSAY_RESPONSE_DEPOSITED);
    for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++) {
        failed = fail_act(fixture, fault, nth, &acts[i]) || failed;
    }
    return failed;
}

TEST_OF(test_changes, struct faults_fixture *fixture, faults_setup_started, faults_teardown_started)
{
    for (size_t i = 0; i < FAULTS_CASES; i++) {
        unsigned nth = 1;

        for (; fail_deposit(fixture, &faults_cases[i], nth); nth = faults_next_place(nth)) {
            assert_true(nth < PLACES_MAX);
            faults_injected++;
        }
        for (nth = 1; fail_withdrawal(fixture, &faults_cases[i], nth);
             nth = faults_next_place(nth)) {
            assert_true(nth < PLACES_MAX);
            faults_injected++;
        }
        for (nth = 1; fail_acts(fixture, &faults_cases[i], nth); nth = faults_next_place(nth)) {
            assert_true(nth < PLACES_MAX);
            faults_injected++;
        }
    }
    print_message("%u faults so far\n", faults_injected);
}

/* --- connections ------------------------------------------------------------------------------ */

/* Somebody new, while another one stays. */
static bool fail_connection(struct faults_fixture *fixture, const struct fault_case *fault,
                            unsigned nth)
{
    struct hearsay_response response;
    struct peer peer;

    peer_init(&peer, loop_connect_unix(fixture->socket));
    assert_true(peer.fd >= 0);
    peer_put_hello(&peer);
    fault_vfs_arm(fault->kinds, nth, fault->times);
    /* One that waits to be accepted waits for a tick, which may fail again. */
    if (fault->times == FAULT_FOR_EVER) {
        for (unsigned i = 0; i < 3; i++) {
            peer_send(&peer, &fixture->server.loop.uv);
            fault_vfs_exempt(false);
            (void)uv_run(&fixture->server.loop.uv, UV_RUN_NOWAIT);
            fault_vfs_exempt(true);
        }
    }
    bool failed = false;
    if (fault->times == FAULT_FOR_EVER) {
        failed = fault_vfs_disarm();
    }
    const enum outcome outcome = faults_exchange(fixture, &peer, &response);
    failed = fault_vfs_disarm() || failed;
    if (outcome == OUTCOME_ANSWERED) {
        assert_true(response.kind == HEARSAY_RESPONSE_WELCOME ||
                    (failed && faults_says_failure(&response)));
    } else {
        assert_true(failed);
    }
    peer_deinit(&peer);
    /* The one who was there has noticed nothing, and new ones are welcome. */
    const struct hearsay_request ping = {.id = 90, .kind = HEARSAY_REQUEST_PING};
    faults_ask(fixture, &ping, &response);
    assert_int_equal(response.kind, HEARSAY_RESPONSE_PONG);
    return failed;
}

TEST_OF(test_connections, struct faults_fixture *fixture, faults_setup_started,
        faults_teardown_started)
{
    /* Who had to wait is accepted at the next tick: at once. */
    uv_timer_set_repeat(&fixture->server.tick, 1);
    assert_int_equal(uv_timer_again(&fixture->server.tick), 0);
    for (size_t i = 0; i < FAULTS_CASES; i++) {
        /* libuv goes on accepting for as long as it fails; a real system gives it the descriptor
           that it keeps for this and has closed. */
        if (faults_cases[i].kinds == FAULT_DESCRIPTOR && faults_cases[i].times == FAULT_FOR_EVER) {
            continue;
        }
        for (unsigned nth = 1; fail_connection(fixture, &faults_cases[i], nth);
             nth = faults_next_place(nth)) {
            assert_true(nth < PLACES_MAX);
            faults_injected++;
        }
    }
    print_message("%u faults so far\n", faults_injected);
}

/* --- reload and sweep ------------------------------------------------------------------------- */

/* All of a configuration is taken, or nothing of it. */
static bool fail_reload(struct faults_fixture *fixture, const struct fault_case *fault,
                        unsigned nth)
{
    struct server *server = &fixture->server;
    const bool was_low = server->service->config.limits.k_max == 7;
    int rc;

    faults_write_configuration(fixture, was_low ? "k = 8\npayload = 3K\n" : "k = 7\n");
    fault_vfs_arm(fault->kinds, nth, fault->times);
    fault_vfs_exempt(false);
    rc = server_reload(server, fixture->reason);
    fault_vfs_exempt(true);
    const bool failed = fault_vfs_disarm();
    const struct hearsay_limits *limits = &server->service->config.limits;
    const bool is_low = limits->k_max == 7;
    assert_true(rc == 0 || failed);
    assert_true(rc == 0 ? is_low != was_low : is_low == was_low);
    assert_true(rc == 0 || fixture->reason[0] != '\0');
    assert_int_equal(server->config.limits.k_max, limits->k_max);
    assert_true(limits->payload_bytes == (limits->k_max == 8 ? 3072U : 4096U));
    assert_int_equal(server_reload(server, fixture->reason), 0);
    return failed;
}

TEST_WITH(test_reload, faults_setup_started, faults_teardown_started)
{
    for (size_t i = 0; i < FAULTS_CASES; i++) {
        for (unsigned nth = 1; fail_reload(*state, &faults_cases[i], nth);
             nth = faults_next_place(nth)) {
            assert_true(nth < PLACES_MAX);
            faults_injected++;
        }
    }
    print_message("%u faults so far\n", faults_injected);
}

static void await_sweep(struct faults_fixture *fixture)
{
    const int64_t begin_ms = faults_real_ms();

    while (fixture->server.service->sweeping) {
        assert_true(faults_real_ms() - begin_ms < PATIENCE_MS);
        faults_turn(fixture, &fixture->peer);
    }
}

/* What has expired is shown to nobody, swept or not; and the next sweep takes it out. */
static bool fail_sweep(struct faults_fixture *fixture, const struct fault_case *fault, unsigned nth)
{
    struct service *service = fixture->server.service;
    struct hearsay_response response;

    for (unsigned i = 0; i < EXPIRING; i++) {
        struct hearsay_request request = new_deposit(fixture);

        request.deposit.has_ttl_s = true;
        request.deposit.ttl_s = 1;
        faults_ask(fixture, &request, &response);
        assert_int_equal(response.kind, HEARSAY_RESPONSE_DEPOSITED);
    }
    faults_clock_offset_s += 10;
    fault_vfs_arm(fault->kinds, nth, fault->times);
    fault_vfs_exempt(false);
    service_sweep(service);
    fault_vfs_exempt(true);
    await_sweep(fixture);
    const bool failed = fault_vfs_disarm();
    faults_reconnect_if_dropped(fixture);
    assert_false(is_there(fixture));
    service_sweep(service);
    await_sweep(fixture);
    assert_int_equal(service->usage.messages, MESSAGES);
    assert_int_equal(host_count(service_host(service, NULL)), MESSAGES);
    return failed;
}

TEST_WITH(test_sweep, faults_setup_started, faults_teardown_started)
{
    for (size_t i = 0; i < FAULTS_CASES; i++) {
        for (unsigned nth = 1; fail_sweep(*state, &faults_cases[i], nth);
             nth = faults_next_place(nth)) {
            assert_true(nth < PLACES_MAX);
            faults_injected++;
        }
    }
    print_message("%u faults so far\n", faults_injected);
}

/* --- start-up --------------------------------------------------------------------------------- */

static size_t thread_count(void)
{
    DIR *entries = opendir("/proc/self/task");
    size_t count = 0;

    while (readdir(entries) != NULL) {
        count++;
    }
    (void)closedir(entries);
    return count;
}

static void empty_store(const struct faults_fixture *fixture)
{
    static const char *const names[] = {"messages.db", "messages.db-wal", "messages.db-shm"};
    char path[LOOP_PATH_BYTES + 32];

    for (size_t i = 0; i < 3; i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", fixture->directory, names[i]);
        (void)remove(path);
    }
}

/* It starts, or says why it does not and leaves nothing open. */
static bool fail_start(struct faults_fixture *fixture, const struct fault_case *fault, unsigned nth,
                       bool is_new)
{
    const size_t descriptors = loop_descriptor_count();
    const size_t threads = thread_count();

    if (is_new) {
        empty_store(fixture);
    }
    fixture->reason[0] = '\0';
    fault_vfs_arm(fault->kinds, nth, fault->times);
    fault_vfs_exempt(false);
    const int rc = faults_start(fixture);
    fault_vfs_exempt(true);
    const bool failed = fault_vfs_disarm();
    if (rc == 0) {
        faults_stop(fixture);
    } else {
        assert_true(failed);
        assert_true(fixture->reason[0] != '\0');
    }
    /* A loop that could not be made has kept what it had by then, in libuv. */
    if (loop_descriptor_count() != descriptors &&
        (rc == 0 || strncmp(fixture->reason, "event loop", 10) != 0)) {
        fail_msg("%s, place %u: %zu descriptors, not %zu; %s", fault->name, nth,
                 loop_descriptor_count(), descriptors, fixture->reason);
    }
    while (thread_count() > threads) {
        (void)sched_yield(); /* the kernel lists a thread for a moment after it was joined */
    }
    return failed;
}

static void sweep_start(struct faults_fixture *fixture, bool is_new)
{
    for (size_t i = 0; i < FAULTS_CASES; i++) {
        for (unsigned nth = 1; fail_start(fixture, &faults_cases[i], nth, is_new);
             nth = faults_next_place(nth)) {
            assert_true(nth < PLACES_MAX);
            faults_injected++;
        }
        assert_int_equal(faults_start(fixture), 0);
        assert_int_equal(fixture->server.service->usage.messages, is_new ? 0 : MESSAGES);
        faults_stop(fixture);
    }
}

TEST_OF(test_start, struct faults_fixture *fixture, faults_setup, faults_teardown)
{
    assert_int_equal(faults_start(fixture), 0);
    faults_connect_peer(fixture);
    faults_deposit_messages(fixture);
    peer_deinit(&fixture->peer);
    faults_stop(fixture);
    sweep_start(fixture, false);
    sweep_start(fixture, true);
    print_message("%u faults in all\n", faults_injected);
}

int main(void)
{
    (void)signal(SIGPIPE, SIG_IGN); /* as in main.c */
    fault_vfs_exempt(true);
    fault_vfs_install();
    fault_vfs_skip_syncs();
    fault_calls_install();
    if (sodium_init() < 0) {
        return 1;
    }
    (void)crypto_generichash(token_hash, sizeof(token_hash), token, sizeof(token), NULL, 0);
    log_set_level(LOG_LEVEL_ERROR);
    return check_run(NULL, NULL);
}
