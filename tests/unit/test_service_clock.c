/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock of a service: it is saved with the store, goes on over a restart, and does not jump
 * before the system says that it is right.
 */
#include "daemon/host/service.h"

#include <string.h>

#include "tests/lib/check.h"
#include "tests/unit/service_fixture.h"

enum { SECOND_MS = 1000 };

/* Expired messages go; how many there are then. */
static uint64_t sweep_and_count(struct service_fixture *fixture)
{
    service_sweep(fixture->service);
    (void)fake_persist_commit(fixture->persist);
    return fixture->service->usage.messages;
}

static void sweep_twice(struct service_fixture *fixture)
{
    (void)sweep_and_count(fixture);
    (void)sweep_and_count(fixture);
}

/* --- the clock -------------------------------------------------------------------------------- */

/* The clock is saved every ten minutes and when asked, one saving at a time. */
static void clock_is_saved_now_and_then(void **state)
{
    struct service_fixture *fixture = *state;

    service_sweep(fixture->service);
    assert_int_equal(fake_persist_commit(fixture->persist), 2);
    service_fixture_advance(fixture, 10 * 60 * SECOND_MS - 1);
    service_sweep(fixture->service);
    assert_int_equal(fake_persist_commit(fixture->persist), 1);
    service_fixture_advance(fixture, 1);
    service_sweep(fixture->service);
    service_save_clock(fixture->service); /* that one is under way */
    assert_int_equal(fake_persist_commit(fixture->persist), 2);
    service_save_clock(fixture->service);
    assert_int_equal(fixture->service->clock_saved_ms, fixture->clock.wall_ms);
    assert_int_equal(fake_persist_commit(fixture->persist), 1);
}

/* Asked for while it is being saved with an older time, it is saved again: it was the stop. */
static void clock_is_saved_as_it_is_now(void **state)
{
    struct service_fixture *fixture = *state;

    service_save_clock(fixture->service);
    service_fixture_advance(fixture, 5);
    service_save_clock(fixture->service);
    assert_int_equal(fake_persist_commit(fixture->persist), 1);
    assert_int_equal(fake_persist_commit(fixture->persist), 1);
    assert_int_equal(fixture->service->clock_saved_ms, fixture->clock.wall_ms);
    assert_int_equal(fake_persist_commit(fixture->persist), 0);
}

/* The clock goes on from the latest time that was saved, and is not trusted while it is ahead. */
static void clock_goes_on_over_a_restart(void **state)
{
    struct service_fixture *fixture = *state;
    const int64_t saved_ms = fixture->clock.wall_ms + 3600 * SECOND_MS;

    assert_true(service_clock_trusted(fixture->service));
    fake_persist_set_clock(fixture->persist, saved_ms);
    service_fixture_restart(fixture);
    assert_int_equal(service_now_ms(fixture->service), saved_ms);
    assert_false(service_clock_trusted(fixture->service));
    service_fixture_advance(fixture, 500);
    assert_int_equal(service_now_ms(fixture->service), saved_ms + 500);
    fixture->clock.wall_ms = saved_ms + 600;
    assert_int_equal(service_now_ms(fixture->service), saved_ms + 600);
    assert_true(service_clock_trusted(fixture->service));
}

/* What was deposited before a reboot into 1970 expires when its lifetime has passed, neither at
 * once nor never; the time without power is not counted. */
static void reboot_with_a_dead_clock(void **state)
{
    struct service_fixture *fixture = *state;

    service_fixture_deposit(fixture, "alpha", 1, 600);
    service_fixture_deposit(fixture, "alpha", 2, 1200);
    fake_persist_commit(fixture->persist);
    service_fixture_advance(fixture, 60 * SECOND_MS);
    service_save_clock(fixture->service);
    fake_persist_commit(fixture->persist);
    const int64_t saved_ms = fixture->clock.wall_ms;
    fixture->clock.wall_ms = 12 * SECOND_MS; /* 1970 */
    fixture->clock.monotonic_ms = 12 * SECOND_MS;
    fixture->clock.is_synchronised = false;
    service_fixture_restart(fixture);
    assert_int_equal(service_now_ms(fixture->service), saved_ms);
    assert_false(service_clock_trusted(fixture->service));
    assert_int_equal(sweep_and_count(fixture), 2);
    service_fixture_advance(fixture, 540 * SECOND_MS - 1);
    assert_int_equal(sweep_and_count(fixture), 2);
    service_fixture_advance(fixture, 1);
    assert_int_equal(sweep_and_count(fixture), 1);
    fixture->clock.wall_ms =
        saved_ms + 3600 * SECOND_MS; /* the time is learnt: an hour without power */
    fixture->clock.is_synchronised = true;
    assert_int_equal(sweep_and_count(fixture), 0);
    assert_true(service_clock_trusted(fixture->service));
}

/* Nothing is swept by a jump of more than a day until the system, or patience, confirms it; what it
 * says of it is said once. */
static void jump_waits_for_confirmation(void **state)
{
    struct service_fixture *fixture = *state;
    const int64_t year_ms = INT64_C(365) * 86400 * SECOND_MS;

    service_fixture_deposit(fixture, "alpha", 1, 600);
    service_fixture_deposit(fixture, "alpha", 2, SERVICE_FIXTURE_LONG_S);
    fake_persist_commit(fixture->persist);
    fixture->clock.wall_ms += year_ms;
    fixture->clock.is_synchronised = false;
    const char *text = service_fixture_log_of(fixture, sweep_twice);
    const char *told = strstr(text, "the system's clock is 365 days ahead of the store's");
    assert_non_null(told);
    assert_null(strstr(told + 30, "365 days"));
    assert_false(service_clock_trusted(fixture->service));
    assert_int_equal(fixture->service->usage.messages, 2);
    service_fixture_advance(fixture, 600 * SECOND_MS); /* lifetimes go on meanwhile */
    assert_int_equal(sweep_and_count(fixture), 1);
    fixture->clock.wall_ms -= year_ms; /* somebody sees the mistake */
    assert_int_equal(sweep_and_count(fixture), 1);
    fixture->clock.wall_ms += year_ms;
    assert_int_equal(sweep_and_count(fixture), 1);
    fixture->clock.is_synchronised = true;
    assert_int_equal(sweep_and_count(fixture), 0);
    assert_true(service_clock_trusted(fixture->service));
}

/* Over a reboot, too, and with the configured patience. */
static void jump_waits_over_a_restart(void **state)
{
    struct service_fixture *fixture = *state;

    service_fixture_deposit(fixture, "alpha", 1, 600);
    fake_persist_commit(fixture->persist);
    fixture->config.clock_patience_s = 300;
    fixture->clock.is_synchronised = false;
    fixture->clock.wall_ms += INT64_C(9) * 365 * 86400 * SECOND_MS;
    fixture->clock.monotonic_ms = 0;
    service_fixture_restart(fixture);
    assert_int_equal(sweep_and_count(fixture), 1);
    service_fixture_advance(fixture, 300 * SECOND_MS - 1);
    assert_int_equal(sweep_and_count(fixture), 1);
    service_fixture_advance(fixture, 1);
    assert_int_equal(sweep_and_count(fixture), 0);
}

int main(void)
{
#define TEST(name) \
    cmocka_unit_test_setup_teardown(name, service_fixture_setup, service_fixture_teardown)
    const struct CMUnitTest tests[] = {
        TEST(clock_is_saved_now_and_then),  TEST(clock_is_saved_as_it_is_now),
        TEST(clock_goes_on_over_a_restart), TEST(reboot_with_a_dead_clock),
        TEST(jump_waits_for_confirmation),  TEST(jump_waits_over_a_restart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
