/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a service starts: what the store holds is served again, and what stops a start is told.
 */
#include "core/base/err.h"
#include "tests/lib/check.h"
#include "tests/unit/service_fixture.h"

enum { SECOND_MS = 1000 };

static const uint8_t token[LIMIT_TOKEN_BYTES] = {42};

/* --- the beginning ---------------------------------------------------------------------------- */

static void drop_beta_and_restart(struct service_fixture *fixture)
{
    fixture->config.host_count = 1;
    service_fixture_restart(fixture);
}

/* What is stored is served again and counted; expired and withdrawn messages are not, nor are those
 * of a host that is gone from the configuration, which are kept for its return. */
TEST_OF(start_loads_the_store, struct service_fixture *fixture, service_fixture_setup,
        service_fixture_teardown)
{
    service_fixture_deposit(fixture, "alpha", 1, SERVICE_FIXTURE_LONG_S);
    service_fixture_deposit(fixture, "alpha", 2, 1);
    service_fixture_deposit(fixture, "alpha", 3, SERVICE_FIXTURE_LONG_S);
    service_fixture_deposit(fixture, "beta", 1, SERVICE_FIXTURE_LONG_S);
    const uint64_t bytes = fixture->service->hosts[1].usage.bytes;
    service_fixture_withdraw(fixture, "alpha", 3);
    fake_persist_commit(fixture->persist);
    service_fixture_advance(fixture, SECOND_MS);

    const char *text = service_fixture_log_of(fixture, drop_beta_and_restart);
    assert_non_null(strstr(text, "loaded 1 message\n"));
    assert_non_null(
        strstr(text, "hosts that are not configured, which are kept and not served: 1; if a"));
    assert_int_equal(fixture->service->usage.messages, 1);
    assert_int_equal(fixture->service->usage.bytes, bytes);
    assert_int_equal(service_fixture_count_found(fixture, "alpha"), 1);

    fixture->config.host_count = 2;
    service_fixture_restart(fixture);
    assert_int_equal(fixture->service->usage.messages, 2);
    assert_int_equal(fixture->service->usage.bytes, 2 * bytes);
    assert_int_equal(service_fixture_count_found(fixture, "beta"), 1);
}

#define FIXTURE_TEST(name)                                                        \
    TEST_OF(name, struct service_fixture *fixture, service_fixture_setup_stopped, \
            service_fixture_teardown)

/* A host whose messages have another profile is the configuration's fault: file and line, both
 * profiles, and what to do. */
FIXTURE_TEST(another_profile_is_refused)
{
    fake_persist_set_profile(fixture->persist, "v2:256/2");
    assert_int_equal(service_fixture_start(fixture), CONFIG_REFUSED);
    assert_null(fixture->service);
    assert_string_equal(
        fixture->reason,
        "test.conf:1: host alpha: the profile is v2:wifi=362/2,place=53/7,any=97/4 here, but "
        "its stored messages have v2:256/2; set `profile` to that of the messages, or use "
        "another data directory");
    memmove(&fixture->config.hosts[0], &fixture->config.hosts[1], sizeof(fixture->config.hosts[0]));
    assert_int_equal(service_fixture_start(fixture), CONFIG_REFUSED);
    assert_non_null(strstr(fixture->reason, "test.conf:5: host beta:")); /* its `profile` */
    fixture->config.common.file[0] = '\0';
    assert_int_equal(service_fixture_start(fixture), CONFIG_REFUSED);
    assert_non_null(strstr(fixture->reason, "configuration"));
}

/* A store that fails at the start is told with its own reason, or with the error's. */
FIXTURE_TEST(failing_store_is_told)
{
    fake_persist_fail_start(fixture->persist, -ERR_STORAGE, 0, "the disk is on fire");
    assert_int_equal(service_fixture_start(fixture), -ERR_STORAGE);
    assert_string_equal(fixture->reason, "the disk is on fire");
    fake_persist_fail_start(fixture->persist, -ERR_STORAGE, 0, NULL);
    assert_int_equal(service_fixture_start(fixture), -ERR_STORAGE);
    assert_string_equal(fixture->reason, err_text(-ERR_STORAGE));
    fake_persist_fail_start(fixture->persist, 0, -ERR_DAMAGED, "page 7 is damaged");
    assert_int_equal(service_fixture_start(fixture), -ERR_DAMAGED);
    assert_string_equal(fixture->reason, "page 7 is damaged");
    fake_persist_fail_start(fixture->persist, 0, -ERR_DAMAGED, NULL);
    assert_int_equal(service_fixture_start(fixture), -ERR_DAMAGED);
    assert_non_null(strstr(fixture->reason, "loading messages: "));
    assert_int_equal(fixture->alloc.live_blocks, 0);
}

static void mark_done(struct persist_op *op)
{
    assert_int_equal(op->outcome, PERSIST_APPLIED);
}

/* A stored message with a filter of the wrong length stops the start: it is damage. */
FIXTURE_TEST(damaged_message_stops_the_start)
{
    struct persist_op op = {
        .kind = PERSIST_DEPOSIT,
        .done = mark_done,
        .message = {.host = 'a',
                    .filter = token,
                    .filter_bytes = 3,
                    .media_type = "a/b",
                    .media_type_bytes = 3,
                    .payload = token,
                    .expires_ms = INT64_MAX},
    };

    fixture->persist->interface->submit(fixture->persist, &op);
    fake_persist_commit(fixture->persist);
    assert_int_equal(service_fixture_start(fixture), -ERR_DAMAGED);
    assert_non_null(strstr(fixture->reason, err_text(-ERR_DAMAGED)));
}

/* Whichever request for memory fails during the start: nothing is left, and a reason is given; or
 * the service is there, and right. */
FIXTURE_TEST(start_without_memory)
{
    int rc = -ERR_NOMEM;
    size_t n = 0;

    assert_int_equal(service_fixture_start(fixture), 0);
    for (uint32_t i = 0; i < 20; i++) {
        service_fixture_deposit(fixture, "alpha", i, SERVICE_FIXTURE_LONG_S);
    }
    handler_close(fixture->service);
    fixture->service = NULL;
    for (bool failed = true; failed;) {
        fail_alloc_arm(&fixture->alloc, ++n);
        rc = service_fixture_start(fixture);
        failed = fixture->alloc.requests >= n;
        fail_alloc_arm(&fixture->alloc, 0);
        if (rc == 0) {
            assert_int_equal(service_fixture_count_found(fixture, "alpha"), 20);
            handler_close(fixture->service);
            fixture->service = NULL;
        } else {
            assert_int_equal(rc, -ERR_NOMEM);
            assert_non_null(strstr(fixture->reason, err_text(-ERR_NOMEM)));
        }
        assert_int_equal(fixture->alloc.live_blocks, 0);
    }
    assert_int_equal(rc, 0);
    assert_true(n > 5);
}

/* Works at once, which `done` must not. */
struct eager_worker {
    struct worker worker;
    struct long_work *work; /* is done; NULL: none */
    unsigned submitted;
};

static void work_at_once(struct worker *base, struct long_work *work)
{
    struct eager_worker *worker = (struct eager_worker *)base;

    work->run(work);
    worker->work = work;
    worker->submitted++;
}

static size_t count_unarranged(const struct service_fixture *fixture, size_t host)
{
    struct index_wear wear;

    index_wear(fixture->service->hosts[host].epochs[0]->index, &wear);
    return wear.unarranged;
}

/* A start builds no tree: the service is there as soon as the messages are, which stand as they
 * came. Turns arrange them, and queries are right before, meanwhile and after. */
TEST_OF(a_start_arranges_while_it_serves, struct service_fixture *fixture, service_fixture_setup,
        service_fixture_teardown)
{
    enum { ALPHA = 60, BETA = 40 };
    struct eager_worker worker = {.worker = {.submit = work_at_once}};
    unsigned turns = 0;

    for (uint32_t i = 0; i < ALPHA; i++) {
        service_fixture_deposit(fixture, "alpha", i, SERVICE_FIXTURE_LONG_S);
    }
    for (uint32_t i = 0; i < BETA; i++) {
        service_fixture_deposit(fixture, "beta", i, SERVICE_FIXTURE_LONG_S);
    }
    fixture->worker = &worker.worker;
    service_fixture_restart(fixture);
    assert_int_equal(worker.submitted, 0);
    assert_int_equal(count_unarranged(fixture, 0), 1); /* all are equal */
    assert_int_equal(count_unarranged(fixture, 1), 1);
    while (arrange_is_active(&fixture->service->arrange)) {
        assert_int_equal(service_fixture_count_found(fixture, "alpha"), ALPHA);
        assert_int_equal(service_fixture_count_found(fixture, "beta"), BETA);
        if (!service_turn(fixture->service) && worker.work != NULL) {
            struct long_work *work = worker.work;
            worker.work = NULL;
            work->done(work);
        }
        assert_in_range(++turns, 1, 100);
    }
    assert_int_equal(count_unarranged(fixture, 0) + count_unarranged(fixture, 1), 0);
    assert_int_equal(worker.submitted, 4);
    assert_int_equal(service_fixture_count_found(fixture, "alpha"), ALPHA);
    assert_int_equal(service_fixture_count_found(fixture, "beta"), BETA);
    handler_close(fixture->service);
    fixture->service = NULL;
}

static void start_logged(struct service_fixture *fixture)
{
    assert_int_equal(service_fixture_start(fixture), 0);
}

/* HEARSAY_CPU chooses the kernels; what it does not know is said and ignored. */
FIXTURE_TEST(kernels_can_be_forced)
{
    setenv("HEARSAY_CPU", "scalar", 1);
    start_logged(fixture);
    assert_ptr_equal(fixture->service->kernels, bits_select(BITS_SCALAR));
    handler_close(fixture->service);
    setenv("HEARSAY_CPU", "abacus", 1);
    assert_non_null(
        strstr(service_fixture_log_of(fixture, start_logged), "HEARSAY_CPU is none of scalar"));
    assert_ptr_equal(fixture->service->kernels, bits_select(BITS_AVX512));
    unsetenv("HEARSAY_CPU");
}
