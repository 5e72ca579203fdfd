/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock of a service: it is saved with the store, goes on over a restart, and does not jump
 * before the system says that it is right.
 */
#include "tests/lib/check.h"
#include "tests/unit/service_fixture.h"

enum { SECOND_MS = 1000, DAY_S = 24 * 3600 };

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

#define FIXTURE_TEST(name) \
    TEST_OF(name, struct service_fixture *fixture, service_fixture_setup, service_fixture_teardown)

/* The clock is saved every ten minutes and when asked, one saving at a time. */
FIXTURE_TEST(clock_is_saved_now_and_then)
{
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
FIXTURE_TEST(clock_is_saved_as_it_is_now)
{
    service_save_clock(fixture->service);
    service_fixture_advance(fixture, 5);
    service_save_clock(fixture->service);
    assert_int_equal(fake_persist_commit(fixture->persist), 1);
    assert_int_equal(fake_persist_commit(fixture->persist), 1);
    assert_int_equal(fixture->service->clock_saved_ms, fixture->clock.wall_ms);
    assert_int_equal(fake_persist_commit(fixture->persist), 0);
}

/* The clock goes on from the latest time that was saved, and is not trusted while it is ahead. */
FIXTURE_TEST(clock_goes_on_over_a_restart)
{
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
FIXTURE_TEST(reboot_with_a_dead_clock)
{
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
FIXTURE_TEST(jump_waits_for_confirmation)
{
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
    (void)sweep_and_count(fixture);                /* saves the clock, too */
    assert_int_equal(sweep_and_count(fixture), 1); /* the other one was left in this run */
    assert_true(service_clock_trusted(fixture->service));
}

/* Over a reboot, too, and with the configured patience. */
FIXTURE_TEST(jump_waits_over_a_restart)
{
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

/* --- the clock is set ------------------------------------------------------------------------- */

/* A machine without a clock starts, in 1970. */
static void boot_in_1970(struct service_fixture *fixture)
{
    fixture->clock.wall_ms = 600 * SECOND_MS;
    fixture->clock.monotonic_ms = 12 * SECOND_MS;
    fixture->clock.is_synchronised = false;
    service_fixture_restart(fixture);
}

/* It learns the time. */
static void learn_time(struct service_fixture *fixture, int64_t now_ms)
{
    fixture->clock.wall_ms = now_ms;
    fixture->clock.is_synchronised = true;
    sweep_twice(fixture);
    sweep_twice(fixture);
}

static struct index_item item_of(const struct service_fixture *fixture, uint32_t number)
{
    uint8_t id[MESSAGE_ID_BYTES];
    struct index_item item = {.deposited_ms = 0};

    service_fixture_make_id(number, id);
    assert_int_equal(host_find(&fixture->service->hosts[0], id, NULL, &item, NULL), 0);
    return item;
}

static const int64_t in_2027_ms = INT64_C(1800000000000);

/* What was left in 1970 keeps its age and its lifetime when the clock is set, and after that. */
FIXTURE_TEST(messages_move_with_the_clock)
{
    boot_in_1970(fixture);
    service_fixture_deposit(fixture, "alpha", 1, 600);
    service_fixture_advance(fixture, 60 * SECOND_MS);
    assert_false(service_clock_trusted(fixture->service));
    learn_time(fixture, in_2027_ms);
    assert_true(service_now_ms(fixture->service) == in_2027_ms);
    assert_true(service_clock_trusted(fixture->service));
    assert_int_equal(service_fixture_count_found(fixture, "alpha"), 1);
    assert_true(item_of(fixture, 1).deposited_ms == in_2027_ms - 60 * SECOND_MS);
    assert_true(item_of(fixture, 1).expires_ms == in_2027_ms + 540 * SECOND_MS);
    service_fixture_restart(fixture);
    assert_true(item_of(fixture, 1).expires_ms == in_2027_ms + 540 * SECOND_MS);
    service_fixture_advance(fixture, 540 * SECOND_MS - 1);
    assert_int_equal(sweep_and_count(fixture), 1);
    service_fixture_advance(fixture, 1);
    assert_int_equal(sweep_and_count(fixture), 0);
}

static void nothing_follows(struct persist_op *op)
{
    assert_int_equal(op->outcome, PERSIST_APPLIED);
}

/* So does a notice with an end, also if a start without the time comes between; and then it ends.
 */
FIXTURE_TEST(notices_move_with_the_clock)
{
    boot_in_1970(fixture);
    struct persist_rule rule = {.host = fixture->service->hosts[0].number,
                                .kind = PERSIST_NOTICE,
                                .value = (const uint8_t *)"de\0x",
                                .value_bytes = 4,
                                .number = 1,
                                .created_ms = service_now_ms(fixture->service),
                                .until_ms = service_now_ms(fixture->service) + 600 * SECOND_MS};
    struct persist_op op = {.kind = PERSIST_RULE_PUT, .rule = &rule, .done = nothing_follows};
    fixture->persist->interface->submit(fixture->persist, &op);
    service_hold_clock(fixture->service, service_now_ms(fixture->service));
    (void)fake_persist_commit(fixture->persist);
    boot_in_1970(fixture);
    service_fixture_advance(fixture, 60 * SECOND_MS);
    learn_time(fixture, in_2027_ms);
    for (int i = 0; i < 2; i++) {
        const struct rules *rules = &fixture->service->hosts[0].rules;

        assert_int_equal(rules->notice_count, 1);
        assert_true(rules->notices[0]->until_ms > in_2027_ms);
        assert_true(rules->notices[0]->until_ms <= in_2027_ms + 600 * SECOND_MS);
        service_fixture_restart(fixture);
    }
    service_fixture_advance(fixture, 600 * SECOND_MS);
    (void)sweep_and_count(fixture);
    service_fixture_restart(fixture);
    assert_int_equal(fixture->service->hosts[0].rules.notice_count, 0);
}

/* The operator removes message 1; `fixture` starts again. When it will be destroyed. */
static int64_t remove_and_boot(struct service_fixture *fixture)
{
    struct persist_op op = {.kind = PERSIST_WITHHOLD,
                            .now_ms = service_now_ms(fixture->service),
                            .message = {.host = fixture->service->hosts[0].number},
                            .done = nothing_follows};

    service_fixture_make_id(1, op.message.id);
    op.message.destroy_ms = op.now_ms + DAY_S * SECOND_MS;
    fixture->persist->interface->submit(fixture->persist, &op);
    service_hold_clock(fixture->service, service_now_ms(fixture->service));
    (void)fake_persist_commit(fixture->persist);
    boot_in_1970(fixture);
    return op.message.destroy_ms;
}

/* Message 1 is destroyed then: in memory, and in the store. */
static void assert_destroyed_at(struct service_fixture *fixture, int64_t destroy_ms)
{
    uint8_t id[MESSAGE_ID_BYTES];

    service_fixture_make_id(1, id);
    for (int i = 0; i < 2; i++) {
        const struct moderated *moderated =
            moderation_find(&fixture->service->hosts[0].moderation, id);
        assert_non_null(moderated);
        assert_true(moderated->destroy_ms == destroy_ms);
        service_fixture_restart(fixture);
    }
}

/* What was removed while the clock was trusted does not stay longer because of a later run. */
FIXTURE_TEST(trusted_removals_do_not_move)
{
    service_fixture_deposit(fixture, "alpha", 1, SERVICE_FIXTURE_LONG_S);
    (void)fake_persist_commit(fixture->persist);
    const int64_t destroy_ms = remove_and_boot(fixture);
    service_fixture_advance(fixture, SECOND_MS);
    service_fixture_deposit(fixture, "alpha", 2, 3600);
    const int64_t expires_ms = item_of(fixture, 2).expires_ms;
    const int64_t now_ms = service_now_ms(fixture->service);
    learn_time(fixture, now_ms + 7200 * SECOND_MS);
    assert_true(item_of(fixture, 2).expires_ms == expires_ms + 7200 * SECOND_MS);
    assert_destroyed_at(fixture, destroy_ms);
}

/* What was removed while nobody knew the time moves, if only it does, and over a restart. */
FIXTURE_TEST(removals_move_with_the_clock)
{
    service_fixture_deposit(fixture, "alpha", 1, SERVICE_FIXTURE_LONG_S);
    service_save_clock(fixture->service);
    (void)fake_persist_commit(fixture->persist);
    service_fixture_advance(fixture, 60 * SECOND_MS);
    boot_in_1970(fixture);
    service_fixture_advance(fixture, SECOND_MS);
    const int64_t destroy_ms = remove_and_boot(fixture);
    const int64_t now_ms = service_now_ms(fixture->service);
    learn_time(fixture, now_ms + 7200 * SECOND_MS);
    assert_true(service_now_ms(fixture->service) == now_ms + 7200 * SECOND_MS);
    assert_destroyed_at(fixture, destroy_ms + 7200 * SECOND_MS);
}

/* Several starts without the time: nobody knows when their messages came, so all of them move. What
 * came while the clock was trusted grows older by the jump. */
FIXTURE_TEST(messages_move_over_starts_without_the_time)
{
    service_fixture_deposit(fixture, "alpha", 1, 3600);
    service_save_clock(fixture->service);
    (void)fake_persist_commit(fixture->persist);
    for (uint32_t number = 2; number <= 4; number++) {
        service_fixture_advance(fixture, 60 * SECOND_MS);
        boot_in_1970(fixture);
        service_fixture_advance(fixture, SECOND_MS);
        service_fixture_deposit(fixture, "alpha", number, 3600);
    }
    assert_int_equal(sweep_and_count(fixture), 4);
    learn_time(fixture, in_2027_ms + INT64_C(7200) * SECOND_MS);
    assert_int_equal(sweep_and_count(fixture), 3);
    assert_true(item_of(fixture, 4).deposited_ms == service_now_ms(fixture->service));
    assert_true(item_of(fixture, 2).deposited_ms ==
                service_now_ms(fixture->service) - 2 * SECOND_MS);
}

/* A step of up to a minute moves nothing; of more than a minute, what was left before. */
FIXTURE_TEST(small_steps_move_nothing)
{
    service_fixture_deposit(fixture, "alpha", 1, 600);
    const struct index_item before = item_of(fixture, 1);
    learn_time(fixture, fixture->clock.wall_ms + 60 * SECOND_MS);
    assert_true(item_of(fixture, 1).expires_ms == before.expires_ms);
    assert_true(service_now_ms(fixture->service) == fixture->clock.wall_ms);
    learn_time(fixture, fixture->clock.wall_ms + 60 * SECOND_MS + 1);
    assert_true(item_of(fixture, 1).expires_ms == before.expires_ms + 60 * SECOND_MS + 1);
    assert_true(service_now_ms(fixture->service) == fixture->clock.wall_ms);
}

/* Without storage nothing moves, not the clock either: it is tried again in ten minutes. */
FIXTURE_TEST(clock_is_set_when_the_store_can)
{
    service_fixture_deposit(fixture, "alpha", 1, 3600);
    const int64_t expires_ms = item_of(fixture, 1).expires_ms;
    const int64_t now_ms = fixture->clock.wall_ms;
    fixture->clock.wall_ms += 7200 * SECOND_MS;
    service_sweep(fixture->service);
    assert_true(handler_is_congested(fixture->service, &fixture->client));
    fake_persist_fail_next(fixture->persist);
    (void)fake_persist_commit(fixture->persist);
    assert_false(handler_is_congested(fixture->service, &fixture->client));
    assert_true(service_now_ms(fixture->service) == now_ms);
    assert_false(service_clock_trusted(fixture->service));
    service_fixture_advance(fixture, 600 * SECOND_MS - 1);
    sweep_twice(fixture);
    assert_true(item_of(fixture, 1).expires_ms == expires_ms);
    service_fixture_advance(fixture, 1);
    sweep_twice(fixture);
    assert_true(item_of(fixture, 1).expires_ms == expires_ms + 7200 * SECOND_MS);
    assert_true(service_now_ms(fixture->service) == fixture->clock.wall_ms);
}

/* Many deposits in one millisecond ask the system about its clock once; a later one asks again. */
FIXTURE_TEST(system_is_asked_once_a_millisecond)
{
    const unsigned before = fixture->clock.asked;

    for (int i = 0; i < 1000; i++) {
        service_hold_clock(fixture->service, service_now_ms(fixture->service));
    }
    assert_int_equal(fixture->clock.asked, before + 1);
    service_fixture_advance(fixture, 1);
    service_hold_clock(fixture->service, service_now_ms(fixture->service));
    assert_int_equal(fixture->clock.asked, before + 2);
}

/* The store refuses to save from when on messages move, and then the power goes: the next deposit
 * has saved it. */
FIXTURE_TEST(moving_is_saved_again_after_a_failure)
{
    boot_in_1970(fixture);
    service_hold_clock(fixture->service, service_now_ms(fixture->service));
    fake_persist_fail_next(fixture->persist);
    (void)fake_persist_commit(fixture->persist);
    service_fixture_deposit(fixture, "alpha", 1, 600);
    service_hold_clock(fixture->service, service_now_ms(fixture->service));
    (void)fake_persist_commit(fixture->persist);
    boot_in_1970(fixture);
    learn_time(fixture, in_2027_ms);
    assert_true(item_of(fixture, 1).expires_ms == in_2027_ms + 600 * SECOND_MS);
}
