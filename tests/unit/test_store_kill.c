/* SPDX-License-Identifier: Apache-2.0 */
/* kill -9 at any moment: every acknowledged message is there afterwards, and none is half there. */
#include "tests/lib/check.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/rng.h"
#include "tests/lib/store_fixture.h"

enum {
    ROUNDS = 20,
    ACKNOWLEDGED_MAX = 1500, /* of a round, before it is killed at the latest */
    IN_FLIGHT = 32,
    NUMBERS_MAX = 100000,
    LATER = 2000000
};

/* What the child tells its parent: a number, and what became of it. */
struct report {
    uint32_t number;
    uint32_t withdrawn;
};

struct slot {
    struct store_op op; /* first */
    struct child *child;
    uint32_t number;
};

struct child {
    struct store_fixture fixture;
    struct slot slots[IN_FLIGHT];
    uint32_t next;
    int out;
};

static void on_done(struct persist_op *op);

/* Each slot deposits; every fifth message is withdrawn again. */
static void submit_next(struct slot *slot)
{
    struct child *child = slot->child;

    slot->number = child->next++;
    store_make_deposit(&child->fixture, &slot->op, slot->number, 10, LATER);
    slot->op.op.done = on_done;
    child->fixture.persist->interface->submit(child->fixture.persist, &slot->op.op);
}

static void on_done(struct persist_op *op)
{
    struct slot *slot = (struct slot *)(void *)op;
    struct child *child = slot->child;
    struct report report = {slot->number, op->kind == PERSIST_WITHDRAW};

    if (op->outcome != PERSIST_APPLIED ||
        write(child->out, &report, sizeof(report)) != (ssize_t)sizeof(report)) {
        _exit(1);
    }
    if (op->kind == PERSIST_DEPOSIT && slot->number % 5 == 0 && slot->number % 7 != 0) {
        store_make_withdraw(&child->fixture, &slot->op, slot->number, 10);
        slot->op.op.done = on_done;
        child->fixture.persist->interface->submit(child->fixture.persist, &slot->op.op);
    } else {
        submit_next(slot);
    }
}

/* Never returns. */
static void run_child(const char *directory, uint32_t first, int out)
{
    struct child *child = calloc(1, sizeof(*child));

    if (child == NULL || uv_loop_init(&child->fixture.loop) != 0) {
        _exit(2);
    }
    child->fixture.options.loop = &child->fixture.loop;
    child->fixture.options.directory = directory;
    child->fixture.options.scrub_after_ms = 5;
    child->next = first;
    child->out = out;
    if (store_try_open(&child->fixture) != 0) {
        _exit(3);
    }
    for (unsigned i = 0; i < IN_FLIGHT; i++) {
        child->slots[i].child = child;
        submit_next(&child->slots[i]);
    }
    for (;;) {
        (void)uv_run(&child->fixture.loop, UV_RUN_ONCE);
    }
}

enum fate { FATE_UNKNOWN, FATE_THERE, FATE_WITHDRAWN };

/* Runs a child, kills it after so many reports, and notes all that it has acknowledged. */
static uint32_t run_round(const struct store_fixture *fixture, uint32_t first, uint32_t reports,
                          uint8_t *fates)
{
    struct report report;
    uint32_t last = first;
    uint32_t count = 0;
    int status;
    int ends[2];
    pid_t pid;

    assert_int_equal(pipe(ends), 0);
    (void)fflush(NULL);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)close(ends[0]);
        run_child(fixture->directory, first, ends[1]);
    }
    (void)close(ends[1]);
    while (read(ends[0], &report, sizeof(report)) == (ssize_t)sizeof(report)) {
        assert_true(report.number < NUMBERS_MAX);
        fates[report.number] = report.withdrawn != 0 ? FATE_WITHDRAWN : FATE_THERE;
        if (report.number > last) {
            last = report.number;
        }
        if (++count == reports) {
            assert_int_equal(kill(pid, SIGKILL), 0);
        }
    }
    (void)close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    return last + IN_FLIGHT + 1; /* what was in flight may be there, too */
}

static void assert_nothing_lost(struct store_fixture *fixture, const uint8_t *fates,
                                uint32_t *numbers)
{
    static bool found[NUMBERS_MAX];
    int count = store_replay(fixture, numbers, NUMBERS_MAX); /* proves each message's bytes */

    if (count < 0) {
        fail_msg("%s", fixture->reason);
    }
    memset(found, 0, sizeof(found));
    for (int i = 0; i < count; i++) {
        found[numbers[i]] = true;
    }
    for (uint32_t i = 0; i < NUMBERS_MAX; i++) {
        bool may_be_withdrawn = i % 5 == 0 && i % 7 != 0; /* asked for, perhaps not reported */

        if (fates[i] == FATE_THERE && !found[i] && !may_be_withdrawn) {
            fail_msg("message %u was acknowledged and is lost", i);
        }
        if (fates[i] == FATE_WITHDRAWN && found[i]) {
            fail_msg("message %u was withdrawn and is back", i);
        }
    }
}

TEST(test_kill)
{
    uint8_t *fates = calloc(NUMBERS_MAX, 1);
    uint32_t *numbers = calloc(NUMBERS_MAX, sizeof(*numbers));
    struct store_fixture fixture;
    struct rng rng;
    uint32_t next = 1;

    assert_true(fates != NULL && numbers != NULL);
    rng_init(&rng);
    store_fixture_init(&fixture);
    for (unsigned round = 0; round < ROUNDS; round++) {
        next = run_round(&fixture, next, 1 + rng_below(&rng, ACKNOWLEDGED_MAX), fates);
        /* Every other time the next child finds what this one left, not what we tidied up. */
        if (round % 2 == 0) {
            continue;
        }
        store_open(&fixture);
        assert_nothing_lost(&fixture, fates, numbers);
        store_close(&fixture);
    }
    store_fixture_deinit(&fixture);
    free(numbers);
    free(fates);
}
