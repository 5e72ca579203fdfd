/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose search goes on: long searches of several senders, counted in steps. The clock stands still,
 * so that a new search has all of its first steps.
 */
#include <uv.h>

#include "daemon/system/read_pool.h"
#include "tests/lib/check.h"
#include "tests/lib/handler_fixture.h"
#include "tests/lib/plain_request.h"

enum {
    MESSAGES = 80000,
    STEP = 4 * 1024,
    FIRST = 16,                                   /* steps of a new search before it queues */
    STEPS_A_PART = (MESSAGES + STEP - 1) / STEP,  /* of one part: all messages */
    STEPS_WIDE = (MESSAGES * LIMIT_PARTS) / STEP, /* of as many parts as there may be */
    OTHERS = 16,
    CONNECTIONS = 3
};

/* One connection, which counts its answers. */
struct seeker {
    struct requester client; /* first */
    unsigned answers;
    unsigned times_charged; /* with time of a thread */
};

static void on_respond(struct requester *client, const struct hearsay_response *response)
{
    assert_int_equal(response->kind, HEARSAY_RESPONSE_RESULTS);
    ((struct seeker *)(void *)client)->answers++;
}

static void on_work_ended(struct requester *client)
{
    (void)client;
}

static void on_spent(struct requester *client, uint64_t spent_ns)
{
    (void)spent_ns;
    ((struct seeker *)(void *)client)->times_charged++;
}

static const struct requester_events events = {
    .respond = on_respond, .work_ended = on_work_ended, .spent = on_spent};

/* A host with many messages, of which the queries below are shown none: nothing prunes. */
static struct handler_fixture *new_fixture(void)
{
    struct handler_fixture *fixture = handler_fixture_new();
    uint64_t filter[HANDLER_FILTER_BYTES / 8] = {0};

    handler_fixture_set(fixture, "limits", "queries_per_minute", "0");
    handler_fixture_start(fixture);
    for (uint32_t i = 0; i < MESSAGES; i++) {
        struct index_item item = {.expires_ms = INT64_MAX, .reach_ppm = LIMIT_DISTANCE_PPM - i};

        memcpy(item.id, &i, sizeof(i));
        filter[0] = UINT64_C(1) << i % 64;
        filter[1] = UINT64_C(3) << i % 61;
        assert_int_equal(index_insert(fixture->service->hosts[0].epochs[0]->index, &item, filter),
                         0);
    }
    return fixture;
}

/* A connection of the device with this number, all in one /64. */
static void connect_device(struct handler_fixture *fixture, struct seeker *seeker, uint8_t device)
{
    struct service *service = fixture->service;
    const struct sender_address address = {
        .kind = SENDER_IPV6_ON_LINK,
        .bytes = {[0] = 0xfd, [15] = device},
    };

    *seeker = (struct seeker){.client = {.events = &events}};
    assert_int_equal(senders_enter(service->senders, &address, &service->sender_limits,
                                   service_monotonic_ms(service), &seeker->client.sender),
                     0);
}

static void leave(struct seeker *seeker)
{
    senders_leave(seeker->client.sender);
    seeker->client.sender = NULL;
    seeker->client.is_gone = true;
}

static void search(struct handler_fixture *fixture, struct seeker *seeker, uint32_t parts)
{
    static const uint8_t filter[HANDLER_FILTER_BYTES] = {0xff, 0xff};
    struct hearsay_query_part part[LIMIT_PARTS] = {0};
    struct hearsay_request request = {
        .id = 9,
        .name = "query",
        .kind = HEARSAY_REQUEST_QUERY,
        .query = plain_query(part, parts, 10),
    };

    request.query.until_ms = 0; /* the messages were deposited at 0 */

    for (uint32_t p = 0; p < parts; p++) {
        part[p] = (struct hearsay_query_part){.filter = {filter, sizeof(filter)}};
    }
    handler_handle(fixture->service, &seeker->client, &request);
}

static bool take_step(struct handler_fixture *fixture)
{
    return handler_run_searches(fixture->service, STEP, UINT64_MAX);
}

/* Steps until the seeker has all its answers. */
static unsigned steps_until(struct handler_fixture *fixture, const struct seeker *seeker,
                            unsigned answers)
{
    unsigned steps = 0;

    while (seeker->answers < answers) {
        (void)take_step(fixture);
        assert_true(++steps < 1000000);
    }
    return steps;
}

static void end(struct handler_fixture *fixture)
{
    while (take_step(fixture)) {
    }
    handler_fixture_free(fixture);
}

/* A search among long ones of other devices has its turn as often as each of them. */
TEST(turns_go_round_by_sender)
{
    enum { NARROW = 7 /* parts, of 16 devices: all are under way, with room for one more */ };
    static struct seeker others[OTHERS][CONNECTIONS];
    struct handler_fixture *fixture = new_fixture();
    struct seeker honest;
    unsigned answered = 0;

    for (uint8_t device = 0; device < OTHERS; device++) {
        for (int i = 0; i < CONNECTIONS; i++) {
            connect_device(fixture, &others[device][i], device);
            search(fixture, &others[device][i], NARROW);
        }
    }
    assert_int_equal(handler_searches_under_way(fixture->service), OTHERS);
    connect_device(fixture, &honest, OTHERS);
    for (int i = 0; i < 100; i++) {
        (void)take_step(fixture);
    }
    search(fixture, &honest, 1);
    assert_int_equal(honest.answers, 0);
    assert_true(steps_until(fixture, &honest, 1) <= (OTHERS + 1) * STEPS_A_PART);
    for (int device = 0; device < OTHERS; device++) {
        for (int i = 0; i < CONNECTIONS; i++) {
            answered += others[device][i].answers;
        }
    }
    assert_int_equal(answered, 0); /* each of them takes more steps than it has had */
    for (int device = 0; device < OTHERS; device++) {
        for (int i = 0; i < CONNECTIONS; i++) {
            leave(&others[device][i]);
        }
    }
    leave(&honest);
    end(fixture);
}

/* Every second step is for searches that have had few steps: they do not wait for all long ones. */
TEST(young_searches_wait_less)
{
    enum { NARROW = 7, OLD = 20 /* steps of each of the others */ };
    static struct seeker others[OTHERS];
    struct handler_fixture *fixture = new_fixture();
    struct seeker honest;

    for (uint8_t device = 0; device < OTHERS; device++) {
        connect_device(fixture, &others[device], device);
        search(fixture, &others[device], NARROW);
    }
    for (int i = 0; i < OLD * OTHERS; i++) {
        (void)take_step(fixture);
    }
    connect_device(fixture, &honest, OTHERS);
    search(fixture, &honest, 1);
    assert_int_equal(honest.answers, 0);
    assert_true(steps_until(fixture, &honest, 1) <= 2 * (STEPS_A_PART - FIRST + 2));
    for (int device = 0; device < OTHERS; device++) {
        assert_int_equal(others[device].answers, 0);
        leave(&others[device]);
    }
    leave(&honest);
    end(fixture);
}

/* Many connections of one device are one sender: they share its turns. */
TEST(connections_of_a_sender_share_its_turns)
{
    static struct seeker greedy[CONNECTIONS];
    struct handler_fixture *fixture = new_fixture();
    struct seeker honest;

    for (int i = 0; i < CONNECTIONS; i++) {
        connect_device(fixture, &greedy[i], 1);
        search(fixture, &greedy[i], LIMIT_PARTS);
    }
    assert_int_equal(handler_searches_under_way(fixture->service), 1);
    connect_device(fixture, &honest, 2);
    search(fixture, &honest, LIMIT_PARTS);
    /* Every other step is its own. Summaries of groups are compared, too: an eighth more. */
    assert_true(steps_until(fixture, &honest, 1) <= 2 * STEPS_WIDE * 5 / 4);
    for (int i = 1; i < CONNECTIONS; i++) {
        assert_int_equal(greedy[i].answers, 0);
    }
    for (int i = 0; i < CONNECTIONS; i++) { /* what they have asked ends with them */
        leave(&greedy[i]);
    }
    leave(&honest);
    unsigned steps = 0;
    while (take_step(fixture)) {
        steps++;
    }
    assert_true(steps <= 2 * CONNECTIONS);
    handler_fixture_free(fixture);
}

/* A gateway asks on one connection for many devices: each of them has turns of its own. */
TEST(requests_of_a_gateway_have_the_turns_of_their_devices)
{
    static struct seeker devices[2];
    struct handler_fixture *fixture = new_fixture();
    struct seeker gateway = {.client = {.events = &events, .is_gateway = true}};

    for (uint8_t device = 0; device < 2; device++) {
        connect_device(fixture, &devices[device], device);
    }
    gateway.client.asker = devices[0].client.sender;
    for (int i = 0; i < CONNECTIONS; i++) {
        search(fixture, &gateway, LIMIT_PARTS);
    }
    assert_int_equal(handler_searches_under_way(fixture->service), 1);
    gateway.client.asker = devices[1].client.sender;
    search(fixture, &gateway, 1);
    gateway.client.asker = NULL;
    assert_int_equal(handler_searches_under_way(fixture->service), 2);
    assert_true(steps_until(fixture, &gateway, 1) <= 2 * STEPS_A_PART);
    for (int device = 0; device < 2; device++) { /* the searches keep their senders */
        leave(&devices[device]);
    }
    gateway.client.is_gone = true;
    end(fixture);
}

/* What holds much memory is bounded; a search of one part begins though all that is taken. */
TEST(wide_searches_leave_room_for_narrow_ones)
{
    enum { MANY = 6, WIDE = 3 };
    static struct seeker others[MANY];
    struct handler_fixture *fixture = new_fixture();
    struct seeker honest;

    for (uint8_t device = 0; device < MANY; device++) {
        connect_device(fixture, &others[device], device);
        search(fixture, &others[device], LIMIT_PARTS);
    }
    assert_int_equal(handler_searches_under_way(fixture->service), WIDE);
    assert_int_equal(handler_searches_waiting(fixture->service), MANY - WIDE);
    connect_device(fixture, &honest, MANY);
    search(fixture, &honest, 1);
    assert_int_equal(handler_searches_under_way(fixture->service), WIDE + 1);
    assert_true(steps_until(fixture, &honest, 1) <= (WIDE + 1) * STEPS_A_PART);
    for (int i = 0; i < MANY; i++) {
        (void)steps_until(fixture, &others[i], 1); /* all begin, and end */
        leave(&others[i]);
    }
    leave(&honest);
    end(fixture);
}

/* A new search has some steps at once, whoever else searches; most end in them. */
TEST(new_searches_have_their_first_steps_at_once)
{
    static struct seeker others[OTHERS];
    struct handler_fixture *fixture = new_fixture();
    struct index *index = fixture->service->hosts[0].epochs[0]->index;
    struct seeker honest;

    for (uint8_t device = 0; device < OTHERS; device++) {
        connect_device(fixture, &others[device], device);
        search(fixture, &others[device], LIMIT_PARTS);
    }
    connect_device(fixture, &honest, OTHERS);
    search(fixture, &honest, 1);
    assert_int_equal(honest.answers, 0);
    (void)steps_until(fixture, &honest, 1);
    for (uint32_t i = FIRST * STEP - STEP; i < MESSAGES; i++) {
        uint8_t id[MESSAGE_ID_BYTES] = {0};

        memcpy(id, &i, sizeof(i));
        assert_int_equal(index_remove(index, id, NULL), 0);
    }
    search(fixture, &honest, 1);
    assert_int_equal(honest.answers, 2);
    for (int i = 0; i < OTHERS; i++) {
        leave(&others[i]);
    }
    leave(&honest);
    end(fixture);
}

/* --- beside the loop -------------------------------------------------------------------------- */

static void wake(void *context)
{
    uv_sem_post(context);
}

/* Lets the loop wait until a search comes back from a thread, and has a turn. */
static void wait_for_thread(struct handler_fixture *fixture, uv_sem_t *woken)
{
    read_pool_await(fixture->service->read_pool);
    uv_sem_wait(woken);
    (void)take_step(fixture);
}

/*
 * The first search of a turn stays on the loop. A second one goes to a thread, unless it holds much
 * memory; its client is charged with the time, and a client that has left gets no answer.
 */
TEST(further_searches_go_to_a_thread)
{
    static struct seeker seekers[4];
    struct handler_fixture *fixture = new_fixture();
    struct service *service = fixture->service;
    uv_sem_t woken;

    assert_int_equal(uv_sem_init(&woken, 0), 0);
    service->read_pool = read_pool_new(alloc_system(), 1, wake, &woken);
    assert_non_null(service->read_pool);
    for (uint8_t device = 0; device < 4; device++) {
        connect_device(fixture, &seekers[device], device);
    }
    search(fixture, &seekers[0], 1);
    assert_int_equal(service->searching_elsewhere, 0);
    read_pool_pause(service->read_pool);
    search(fixture, &seekers[1], LIMIT_PARTS);
    assert_int_equal(service->searching_elsewhere, 0);
    search(fixture, &seekers[2], 1);
    search(fixture, &seekers[3], 1);
    assert_int_equal(service->searching_elsewhere, 2);
    assert_int_equal(seekers[2].client.searches, 0); /* its session takes further requests */
    assert_int_equal(seekers[2].client.work_count, 1);
    leave(&seekers[3]);
    while (service->searching_elsewhere > 0) {
        wait_for_thread(fixture, &woken);
    }
    assert_int_equal(seekers[2].times_charged, 1);
    assert_int_equal(seekers[3].times_charged, 0);
    assert_int_equal(seekers[3].client.work_count, 0);
    for (int i = 0; i < 3; i++) { /* these are long: they take turns on the loop */
        (void)steps_until(fixture, &seekers[i], 1);
        leave(&seekers[i]);
    }
    assert_int_equal(seekers[3].answers, 0);
    read_pool_free(service->read_pool);
    service->read_pool = NULL;
    uv_sem_destroy(&woken);
    end(fixture);
}
