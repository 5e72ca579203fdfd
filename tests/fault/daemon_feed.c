/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bridge at a whole daemon, over its own store, while something fails: Changes of an owner, whose
 * answer is the right one or says that something failed; and Apply at a copy. What Apply has
 * acknowledged is there; sent once more it changes nothing; and after a failure the same request
 * brings all that it has.
 */
#include "proto/codec/codec.h"
#include "tests/fault/daemon_faults.h"
#include "tests/lib/check.h"
#include "tests/lib/fault_calls.h"

enum { PAGE_CHANGES = 4 };

static const struct hearsay_text owner = {"default", 7};
static const struct hearsay_text copy = {"copy", 4};

static int setup_bridge(void **state)
{
    struct faults_fixture *fixture;

    (void)faults_setup(state);
    fixture = *state;
    faults_write_configuration(fixture,
                               "[host default]\nreplicate = yes\n[host copy]\nrole = replica\n");
    assert_int_equal(settings_config_load(&options_program, &fixture->options, &fixture->config,
                                          fixture->reason),
                     0);
    assert_int_equal(faults_start(fixture), 0);
    faults_connect_peer(fixture);
    faults_deposit_messages(fixture);
    return 0;
}

/* All clients are the bridge, as if their listener had the word. */
static void become_bridge(struct faults_fixture *fixture)
{
    struct session *session;

    for (session = fixture->server.sessions.first; session != NULL; session = session->next) {
        session->client.is_bridge = true;
        session->client.is_administrator = false; /* as on a socket with the word bridge */
    }
}

/* --- Changes ---------------------------------------------------------------------------------- */

/* The bytes of an answer. */
static void encode(const struct hearsay_response *response, struct bytes *out)
{
    bytes_init(out, alloc_system());
    assert_int_equal(codec_encode_response(response, LIMIT_FRAME_BYTES_MAX, out), 0);
}

static void expect_bytes(const struct hearsay_response *response, const struct bytes *right)
{
    struct bytes found;

    encode(response, &found);
    assert_int_equal(found.count, right->count);
    assert_memory_equal(found.data, right->data, right->count);
    bytes_deinit(&found);
}

static bool fail_changes(struct faults_fixture *fixture, const struct fault_case *fault,
                         unsigned nth, const struct bytes *right)
{
    const struct hearsay_request request = {
        .id = 61, .kind = HEARSAY_REQUEST_CHANGES, .changes = {.host = owner}};
    struct hearsay_response response;

    become_bridge(fixture);
    peer_put(&fixture->peer, &request);
    fault_vfs_arm(fault->kinds, nth, fault->times);
    const enum outcome outcome = faults_exchange(fixture, &fixture->peer, &response);
    const bool failed = fault_vfs_disarm();
    assert_true(failed || outcome == OUTCOME_ANSWERED);
    if (outcome == OUTCOME_ANSWERED && response.kind == HEARSAY_RESPONSE_CHANGED) {
        expect_bytes(&response, right);
    } else if (outcome == OUTCOME_ANSWERED) {
        assert_true(failed && faults_says_failure(&response));
    }
    faults_reconnect_if_dropped(fixture);
    become_bridge(fixture);
    faults_ask(fixture, &request, &response);
    expect_bytes(&response, right);
    return failed;
}

TEST_OF(test_feed_changes, struct faults_fixture *fixture, setup_bridge, faults_teardown_started)
{
    const struct hearsay_request request = {
        .id = 61, .kind = HEARSAY_REQUEST_CHANGES, .changes = {.host = owner}};
    struct hearsay_response response;
    struct bytes right;

    become_bridge(fixture);
    faults_ask(fixture, &request, &response);
    assert_int_equal(response.kind, HEARSAY_RESPONSE_CHANGED);
    assert_int_equal(response.changed.change_count, MESSAGES);
    encode(&response, &right);
    for (size_t i = 0; i < FAULTS_CASES; i++) {
        unsigned nth = 1;

        while (fail_changes(fixture, &faults_cases[i], nth, &right)) {
            faults_injected++;
            nth = faults_next_place(nth);
            assert_true(nth < PLACES_MAX);
        }
    }
    bytes_deinit(&right);
    print_message("%u faults so far\n", faults_injected);
}

/* --- Apply ------------------------------------------------------------------------------------ */

/* A request with a new message, the end of the one before, and two states of a rule. */
struct page {
    uint8_t id[LIMIT_ID_BYTES];
    uint8_t gone[LIMIT_ID_BYTES];
    struct hearsay_change changes[PAGE_CHANGES];
    struct hearsay_request request;
};

static void make_page(struct faults_fixture *fixture, struct page *page)
{
    const struct hearsay_deposit *like = &server_fixture_deposit(1, FIRST_NEW)->deposit;
    const int64_t now_ms = service_now_ms(fixture->server.service);
    const uint32_t last = fixture->next_id++;

    memset(page, 0, sizeof(*page));
    memcpy(page->gone, &last, sizeof(last));
    memcpy(page->id, &fixture->next_id, sizeof(fixture->next_id));
    page->changes[0] = (struct hearsay_change){.has_message = true,
                                               .message = {.id = {page->id, LIMIT_ID_BYTES},
                                                           .filter = like->filter,
                                                           .payload = like->payload,
                                                           .deposited_ms = now_ms,
                                                           .expires_ms = now_ms + 3600000,
                                                           .reach_ppm = LIMIT_DISTANCE_PPM}};
    page->changes[1] = (struct hearsay_change){.has_gone = true,
                                               .gone = {.id = {page->gone, LIMIT_ID_BYTES},
                                                        .until_ms = now_ms + 3600000,
                                                        .why = HEARSAY_WAS_WITHDRAWN}};
    for (int i = 0; i < 2; i++) { /* newer than all before, by the number */
        page->changes[2 + i] =
            (struct hearsay_change){.has_rule = true,
                                    .rule = {.kind = PERSIST_ACCEPT,
                                             .number = (uint32_t)i,
                                             .created_ms = (int64_t)fixture->next_id * 2 + i}};
    }
    page->request = (struct hearsay_request){.id = 62, .kind = HEARSAY_REQUEST_APPLY};
    page->request.apply = (struct hearsay_apply){.host = copy,
                                                 .changes = page->changes,
                                                 .change_count = PAGE_CHANGES,
                                                 .as = HEARSAY_AS_REPLICA};
}

/* Whether the copy has the message, by `get`. */
static bool copy_has(struct faults_fixture *fixture, const uint8_t *id)
{
    const struct hearsay_request request = {
        .id = 63, .kind = HEARSAY_REQUEST_GET, .get = {.host = copy, .id = {id, LIMIT_ID_BYTES}}};
    struct hearsay_response response;

    faults_ask(fixture, &request, &response);
    assert_true(response.kind == HEARSAY_RESPONSE_GOT ||
                response.error.code == HEARSAY_CODE_NOT_FOUND);
    return response.kind == HEARSAY_RESPONSE_GOT;
}

static bool fail_apply(struct faults_fixture *fixture, const struct fault_case *fault, unsigned nth)
{
    struct hearsay_response response;
    struct page page;
    bool is_acknowledged = false;

    make_page(fixture, &page);
    become_bridge(fixture);
    peer_put(&fixture->peer, &page.request);
    fault_vfs_arm(fault->kinds, nth, fault->times);
    const enum outcome outcome = faults_exchange(fixture, &fixture->peer, &response);
    const bool failed = fault_vfs_disarm();
    assert_true(failed || outcome == OUTCOME_ANSWERED);
    if (outcome == OUTCOME_ANSWERED) {
        is_acknowledged = response.kind == HEARSAY_RESPONSE_APPLIED;
        assert_true(is_acknowledged || (failed && faults_says_failure(&response)));
        assert_true(!is_acknowledged || response.applied.conflicts == 0);
    }
    faults_reconnect_if_dropped(fixture);
    become_bridge(fixture);
    /* Memory may have run out after the store had the message: then the next start finds it. */
    const bool is_there = copy_has(fixture, page.id);
    assert_true(is_there || !is_acknowledged || failed);
    assert_false(is_acknowledged && copy_has(fixture, page.gone));
    faults_ask(fixture, &page.request, &response);
    assert_int_equal(response.kind, HEARSAY_RESPONSE_APPLIED);
    assert_true(!is_acknowledged || response.applied.changed == 0);
    assert_true(copy_has(fixture, page.id) || failed);
    assert_false(copy_has(fixture, page.gone));
    return failed;
}

TEST_OF(test_feed_apply, struct faults_fixture *fixture, setup_bridge, faults_teardown_started)
{
    for (size_t i = 0; i < FAULTS_CASES; i++) {
        for (unsigned nth = 1; fail_apply(fixture, &faults_cases[i], nth);
             nth = faults_next_place(nth)) {
            faults_injected++;
            assert_true(nth < PLACES_MAX);
        }
    }
    print_message("%u faults so far\n", faults_injected);
}
