/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of each sender at most one request is given in an iteration of the loop. (T16: one phone with
 * eight connections had eight turns of nine, and the pages of all others waited.)
 */
#include "client/web/route/ticks.h"

#include "tests/lib/check.h"

enum { CONNECTIONS = 8, GIVEN_MAX = 32 };

/* Requests are told apart by their places in `requests`, exchanges by that of their request. */
struct world {
    uv_loop_t loop;
    struct ticks ticks;
    struct http_request requests[GIVEN_MAX];
    size_t given[GIVEN_MAX]; /* the numbers of the requests, in the order in which they came */
    size_t count;
    size_t gone;
    size_t room; /* for streams */
};

static struct http_exchange *exchange_of(struct world *world, size_t number)
{
    return (struct http_exchange *)&world->requests[number]; /* never looked into */
}

static void on_request(void *context, struct http_exchange *exchange,
                       const struct http_request *request)
{
    struct world *world = context;

    assert_ptr_equal(exchange, request);
    world->room -= strcmp(request->path, "/events") == 0;
    world->given[world->count++] = (size_t)(request - world->requests);
}

static bool has_room(const void *context)
{
    return ((const struct world *)context)->room > 0;
}

static void on_gone(void *context, struct http_exchange *exchange)
{
    struct world *world = context;
    (void)exchange;

    world->gone++;
}

static void world_init(struct world *world)
{
    memset(world, 0, sizeof(*world));
    assert_int_equal(uv_loop_init(&world->loop), 0);
    world->ticks = (struct ticks){
        .request = on_request, .gone = on_gone, .has_room = has_room, .context = world};
    ticks_init(&world->ticks, &world->loop);
}

static void world_end(struct world *world)
{
    ticks_stop(&world->ticks);
    assert_int_equal(uv_run(&world->loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&world->loop), 0);
}

/* A request comes for a page, of an address of the device; 0: the device is not known. */
static void send_request(struct world *world, size_t number, uint8_t address, uint64_t device)
{
    world->requests[number].client =
        (struct http_address){.family = 4, .bytes = {192, 0, 2, address}, .device = device};
    world->requests[number].path = "/";
    ticks_request(&world->ticks, exchange_of(world, number), &world->requests[number]);
}

static void send_stream(struct world *world, size_t number, uint8_t address)
{
    world->requests[number] = (struct http_request){
        .path = "/events", .client = {.family = 4, .bytes = {192, 0, 2, address}}};
    ticks_request(&world->ticks, exchange_of(world, number), &world->requests[number]);
}

static void assert_given(const struct world *world, const size_t *numbers, size_t count)
{
    assert_int_equal(world->count, count);
    assert_memory_equal(world->given, numbers, count * sizeof(*numbers));
}

/* However many connections and addresses a device has, each tick gives one of its requests. */
TEST(a_sender_has_one_request_in_a_tick)
{
    static const size_t order[] = {0, 8, 9, 1, 10, 2, 3};
    static struct world world;

    world_init(&world);
    for (size_t i = 0; i < CONNECTIONS; i++) {
        send_request(&world, i, (uint8_t)i, 7);
    }
    send_request(&world, 8, 100, 0);
    send_request(&world, 9, 101, 0);
    send_request(&world, 10, 101, 0);
    assert_given(&world, order, 3);
    assert_int_equal(uv_run(&world.loop, UV_RUN_NOWAIT), 1); /* one of each */
    assert_given(&world, order, 5);
    (void)uv_run(&world.loop, UV_RUN_NOWAIT);
    assert_given(&world, order, 6);
    (void)uv_run(&world.loop, UV_RUN_NOWAIT);
    assert_given(&world, order, 7);
    world_end(&world);
}

/* When nothing waits, the loop ends: nothing runs for nobody. */
TEST(all_are_given)
{
    static struct world world;

    world_init(&world);
    for (size_t i = 0; i < CONNECTIONS; i++) {
        send_request(&world, i, 1, 0);
    }
    assert_int_equal(uv_run(&world.loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(world.count, CONNECTIONS);
    world_end(&world);
}

/* An answer to the board wakes the loop. */
static void on_answer(uv_timer_t *timer)
{
    (void)timer;
}

/* Of streams some begin in a tick, in the order in which they came, and only while the board has
 * room; pages do not wait for them. */
TEST(streams_wait_for_pages)
{
    enum { STREAMS = TICKS_STREAMS + 6, PAGE = STREAMS };
    static struct world world;
    uv_timer_t answer;

    world_init(&world);
    world.room = TICKS_STREAMS + 2;
    for (size_t i = 0; i < STREAMS; i++) {
        send_stream(&world, i, (uint8_t)i);
    }
    assert_int_equal(world.count, TICKS_STREAMS);
    send_request(&world, PAGE, 100, 0);
    assert_int_equal(world.given[TICKS_STREAMS], PAGE);
    (void)uv_run(&world.loop, UV_RUN_NOWAIT);
    assert_int_equal(world.count, TICKS_STREAMS + 1 + 2);
    assert_int_equal(uv_run(&world.loop, UV_RUN_DEFAULT), 0); /* it does not spin: no room */
    assert_int_equal(world.count, TICKS_STREAMS + 1 + 2);
    ticks_gone(&world.ticks, exchange_of(&world, STREAMS - 2));
    world.room = STREAMS;
    assert_int_equal(uv_timer_init(&world.loop, &answer), 0);
    assert_int_equal(uv_timer_start(&answer, on_answer, 0, 0), 0);
    (void)uv_run(&world.loop, UV_RUN_DEFAULT);
    uv_close((uv_handle_t *)&answer, NULL);
    assert_int_equal(world.count, STREAMS);
    assert_int_equal(world.given[STREAMS - 1], STREAMS - 1);
    assert_int_equal(world.gone, 0);
    world_end(&world);
}

/* Who goes while the request waits is not given; who goes later is told to the program. */
TEST(who_goes_is_not_given)
{
    static const size_t order[] = {0, 2};
    static struct world world;

    world_init(&world);
    for (size_t i = 0; i < 3; i++) {
        send_request(&world, i, 1, 0);
    }
    ticks_gone(&world.ticks, exchange_of(&world, 1));
    assert_int_equal(world.gone, 0);
    ticks_gone(&world.ticks, exchange_of(&world, 0));
    assert_int_equal(world.gone, 1);
    (void)uv_run(&world.loop, UV_RUN_DEFAULT);
    assert_given(&world, order, 2);
    send_request(&world, 3, 1, 0);
    send_request(&world, 4, 1, 0); /* waits when the program stops */
    world_end(&world);
}
