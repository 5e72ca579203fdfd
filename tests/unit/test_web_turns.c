/* SPDX-License-Identifier: Apache-2.0 */
/* Streams that come at once take turns, in the order in which they came. */
#include "client/web/route/turns.h"

#include <string.h>

#include "tests/lib/check.h"

enum { PHONES = TURNS_BURST + 50, LEFT = TURNS_BURST + 7 };

struct phone {
    struct turn turn;
    unsigned *count; /* of those whose turn has come */
    unsigned place;  /* among them, from 1; 0: not yet */
};

static void on_turn(void *context)
{
    struct phone *phone = context;

    phone->place = ++*phone->count;
}

static void all_take_turns(void **state)
{
    static struct phone phones[PHONES];
    struct turns turns;
    unsigned count = 0;
    uv_loop_t loop;

    (void)state;
    memset(&turns, 0, sizeof(turns));
    assert_int_equal(uv_loop_init(&loop), 0);
    for (unsigned i = 0; i < PHONES; i++) {
        phones[i] = (struct phone){.count = &count};
        turns_wait(&turns, &loop, &phones[i].turn, on_turn, &phones[i]);
    }
    assert_int_equal(count, TURNS_BURST); /* the clock of the loop stands still */
    turns_leave(&turns, &phones[LEFT].turn);
    turns_leave(&turns, &phones[0].turn); /* does not wait */
    while (count < PHONES - 1) {
        (void)uv_run(&loop, UV_RUN_ONCE); /* the timer runs as long as somebody waits */
    }
    for (unsigned i = 0; i < PHONES; i++) {
        assert_int_equal(phones[i].place, i == LEFT ? 0 : i < LEFT ? i + 1 : i);
    }
    turns_stop(&turns);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&loop), 0);
}

/* Who waits when the program stops may leave afterwards. */
static void turns_end(void **state)
{
    struct phone phones[TURNS_BURST + 2];
    struct turns turns;
    unsigned count = 0;
    uv_loop_t loop;

    (void)state;
    memset(&turns, 0, sizeof(turns));
    memset(phones, 0, sizeof(phones));
    assert_int_equal(uv_loop_init(&loop), 0);
    for (unsigned i = 0; i <= TURNS_BURST; i++) {
        phones[i].count = &count;
        turns_wait(&turns, &loop, &phones[i].turn, on_turn, &phones[i]);
    }
    turns_stop(&turns);
    turns_wait(&turns, &loop, &phones[TURNS_BURST + 1].turn, on_turn, &phones[TURNS_BURST + 1]);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(count, TURNS_BURST);
    turns_leave(&turns, &phones[TURNS_BURST].turn);
    turns_leave(&turns, &phones[TURNS_BURST + 1].turn);
    assert_null(turns.first);
    assert_int_equal(uv_loop_close(&loop), 0);
}

/* Who comes when the program has stopped starts no timer, and gets no turn, though nobody waits. */
static void nobody_waits_behind_the_end(void **state)
{
    struct phone phones[TURNS_BURST + 1];
    struct turns turns;
    unsigned count = 0;
    uv_loop_t loop;

    (void)state;
    memset(&turns, 0, sizeof(turns));
    memset(phones, 0, sizeof(phones));
    assert_int_equal(uv_loop_init(&loop), 0);
    turns_stop(&turns);
    for (unsigned i = 0; i <= TURNS_BURST; i++) {
        phones[i].count = &count;
        turns_wait(&turns, &loop, &phones[i].turn, on_turn, &phones[i]);
    }
    assert_false(turns.has_timer);
    assert_int_equal(count, 0);
    for (unsigned i = 0; i <= TURNS_BURST; i++) {
        turns_leave(&turns, &phones[i].turn);
    }
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&loop), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_take_turns),
        cmocka_unit_test(turns_end),
        cmocka_unit_test(nobody_waits_behind_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
