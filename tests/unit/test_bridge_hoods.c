/* SPDX-License-Identifier: Apache-2.0 */
/* When hearsay-bridge wakes up by itself: for the next summary that it asks neighbours for, and for
 * the next request that ends without an answer. The wire is a fake. */
#include "client/bridge/ask/inner.h"

#include "client/bridge/wire/inner.h"
#include "tests/lib/check.h"

#define PROFILE "v2:512/4"

typedef void wire_take(void *context, const struct wire_message *message);

static bool is_joined;
static uint32_t published;

struct wire_subscription *__wrap_wire_subscribe(struct wire *wire, const char *subject,
                                                wire_take *take, void *context);
void __wrap_wire_unsubscribe(struct wire_subscription *subscription);
bool __wrap_wire_is_joined(const struct wire *wire);
bool __wrap_wire_publish(struct wire *wire, const struct wire_letter *letter);

struct wire_subscription *__wrap_wire_subscribe(struct wire *wire, const char *subject,
                                                wire_take *take, void *context)
{
    static char subscription;

    (void)wire;
    (void)subject;
    (void)take;
    (void)context;
    return (struct wire_subscription *)(void *)&subscription;
}

void __wrap_wire_unsubscribe(struct wire_subscription *subscription)
{
    (void)subscription;
}

bool __wrap_wire_is_joined(const struct wire *wire)
{
    (void)wire;
    return is_joined;
}

bool __wrap_wire_publish(struct wire *wire, const struct wire_letter *letter)
{
    (void)wire;
    (void)letter;
    published++;
    return true;
}

/* In how many milliseconds the loop wakes up; 0: never. The turn of the loop before makes it poll
 * what it waits for, without which libuv does not tell. */
static int wakes_in(uv_loop_t *loop)
{
    (void)uv_run(loop, UV_RUN_NOWAIT);
    return uv_backend_timeout(loop);
}

static void close_circles(void *context)
{
    (void)context;
}

static const struct hoods_events events = {.closes = close_circles};

TEST(test_nothing_due_wakes_nobody)
{
    static struct bridge_config config;
    static char wire;
    struct hearsay_host host = {.name = "ap1", .hood = "campus", .profile = PROFILE};
    struct hearsay_welcome welcome = {.hosts = &host, .host_count = 1};
    uv_loop_t loop;

    strcpy(config.hosts[0].name, "ap1");
    strcpy(config.hosts[0].hood, "campus");
    strcpy(config.hoods[0].name, "campus");
    config.host_count = 1;
    config.hood_count = 1;
    assert_int_equal(uv_loop_init(&loop), 0);
    struct hoods *hoods = hoods_new(&loop, &config, (struct wire *)(void *)&wire, &events, NULL);
    assert_non_null(hoods);
    assert_int_equal(wakes_in(&loop), 0);
    assert_true(hoods_meet(hoods, &welcome));
    assert_int_equal(wakes_in(&loop), 0);
    assert_int_equal(published, 0);

    is_joined = true;
    hoods_joined(hoods);
    assert_int_equal(published, 1); /* all are asked, and again after CIRCLE_AGAIN_MS */
    assert_in_range(wakes_in(&loop), CIRCLE_AGAIN_MS - 500, CIRCLE_AGAIN_MS);
    hoods_stop(hoods);
    hoods_joined(hoods);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    hoods_free(hoods);
    assert_int_equal(uv_loop_close(&loop), 0);
}

static void note_end(void *context, uint64_t tag, enum wire_outcome outcome,
                     const struct wire_message *message)
{
    uint64_t *ended = context;

    assert_int_equal(outcome, WIRE_SILENT);
    assert_null(message);
    *ended = *ended * 10 + tag;
}

static void add(struct requests *requests, uint32_t timeout_ms, uint64_t *ended, uint64_t tag)
{
    requests_add(requests, requests_next(requests, WIRE_USE_QUERIES), WIRE_USE_QUERIES, timeout_ms,
                 note_end, ended, tag);
}

TEST(test_a_request_wakes_when_it_ends)
{
    static struct requests requests;
    uint64_t ended = 0;
    uv_loop_t loop;

    assert_int_equal(uv_loop_init(&loop), 0);
    requests_init(&requests, &loop);
    add(&requests, 60000, &ended, 9);
    assert_in_range(wakes_in(&loop), 50000, 61000);
    add(&requests, 10, &ended, 2);
    add(&requests, 1, &ended, 1);
    while (ended < 12) {
        (void)uv_run(&loop, UV_RUN_ONCE);
    }
    assert_true(ended == 12 || ended == 21);
    assert_in_range(wakes_in(&loop), 50000, 61000);
    requests_stop(&requests);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&loop), 0);
}
