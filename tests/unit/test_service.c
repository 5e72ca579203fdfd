/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The service over a store in memory and a clock that the test sets: what its hosts share, how it
 * starts, and what it does by itself. Requests come through the handlers, as they do in the daemon.
 */
#include "daemon/host/service.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/filter/bloom.h"
#include "daemon/handler/handler.h"
#include "tests/lib/check.h"
#include "tests/lib/fail_alloc.h"
#include "tests/lib/fake_persist.h"

enum { FILTER_BYTES = 64, SECOND_MS = 1000, LONG_S = 100000, TEXT_MAX = 64 * 1024 };

struct fixture {
    struct requester client; /* first */
    struct config config;
    struct persist *persist;
    struct service *service; /* NULL: not started */
    struct fail_alloc alloc;
    int64_t wall_ms;
    int64_t monotonic_ms;
    bool synchronised; /* the wall clock, as the system says */
    struct worker *worker;
    unsigned answered;
    enum msg_response_kind last; /* of the last answer */
    enum msg_error_code code;
    uint64_t last_id;
    size_t result_count;
    char reason[CONFIG_REASON_BYTES];
};

static const uint8_t token[LIMIT_TOKEN_BYTES] = {42};

/* --- fixture ---------------------------------------------------------------------------------- */

static void on_respond(struct requester *client, const struct msg_response *response)
{
    struct fixture *fixture = (struct fixture *)(void *)client;

    fixture->answered++;
    fixture->last = response->kind;
    fixture->last_id = response->id;
    if (response->kind == MSG_RESPONSE_ERROR) {
        fixture->code = response->error.code;
    } else if (response->kind == MSG_RESPONSE_RESULTS) {
        fixture->result_count = response->results.result_count;
    }
}

static void on_work_ended(struct requester *client)
{
    (void)client;
}

static const struct requester_events events = {.respond = on_respond, .work_ended = on_work_ended};

static void read_clocks(void *context, int64_t *out_wall_ms, int64_t *out_monotonic_ms)
{
    const struct fixture *fixture = context;

    *out_wall_ms = fixture->wall_ms;
    *out_monotonic_ms = fixture->monotonic_ms;
}

static bool clock_synchronised(void *context)
{
    const struct fixture *fixture = context;

    return fixture->synchronised;
}

static int start(struct fixture *fixture)
{
    const struct service_options options = {
        .alloc = &fixture->alloc.alloc,
        .config = &fixture->config,
        .persist = fixture->persist,
        .hash_seed = 7,
        .read_clocks = read_clocks,
        .clock_synchronised = clock_synchronised,
        .clock_context = fixture,
        .worker = fixture->worker,
    };

    return handler_open(&options, &fixture->service, fixture->reason);
}

static void restart(struct fixture *fixture)
{
    handler_close(fixture->service);
    fixture->service = NULL;
    assert_int_equal(start(fixture), 0);
}

/* Two hosts, not started yet. */
static int setup_stopped(void **state)
{
    static const char text[] = "[host alpha]\nmessages = 1000\nbytes = 1M\n"
                               "[host beta]\nprofile = v1:512/4\n";
    struct fixture *fixture = calloc(1, sizeof(*fixture));

    assert_non_null(fixture);
    fixture->client.events = &events;
    fixture->wall_ms = INT64_C(1800000000000);
    fixture->synchronised = true;
    fixture->monotonic_ms = 5000;
    fail_alloc_init(&fixture->alloc);
    assert_int_equal(
        config_parse(text, sizeof(text) - 1, "test.conf", &fixture->config, fixture->reason), 0);
    (void)snprintf(fixture->config.data, sizeof(fixture->config.data), "/nowhere");
    assert_int_equal(config_finish(&fixture->config, fixture->reason), 0);
    fixture->persist = fake_persist_new();
    *state = fixture;
    return 0;
}

static int setup(void **state)
{
    (void)setup_stopped(state);
    assert_int_equal(start(*state), 0);
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;

    if (fixture->service != NULL) {
        assert_int_equal(fixture->client.work_count, 0);
        assert_int_equal(fixture->service->working, 0);
        assert_int_equal(fixture->service->writing_bytes, 0);
        handler_close(fixture->service);
    }
    handler_close(NULL);
    assert_int_equal(fixture->alloc.live_blocks, 0);
    fake_persist_free(fixture->persist);
    free(fixture);
    return 0;
}

static void advance(struct fixture *fixture, int64_t ms)
{
    fixture->wall_ms += ms;
    fixture->monotonic_ms += ms;
}

static void make_filter(uint8_t *out)
{
    memset(out, 0, FILTER_BYTES);
    out[0] = 0xff;
    out[1] = 0x0f;
}

static void make_id(uint32_t number, uint8_t *out_id)
{
    memset(out_id, 0, MESSAGE_ID_BYTES);
    memcpy(out_id, &number, sizeof(number));
}

/* A deposit of the id of that number; the filters are all alike. */
static void send_deposit(struct fixture *fixture, const char *host, uint32_t number, uint32_t ttl_s)
{
    uint8_t id[MESSAGE_ID_BYTES];
    uint8_t filter[FILTER_BYTES];
    uint8_t hash[LIMIT_HASH_BYTES];
    struct msg_request request = {.id = 1000U + number, .kind = MSG_REQUEST_DEPOSIT};

    make_filter(filter);
    make_id(number, id);
    crypto_generichash(hash, sizeof(hash), token, sizeof(token), NULL, 0);
    request.deposit = (struct msg_deposit){
        .host = {host, strlen(host)},
        .id = {id, sizeof(id)},
        .filter = {filter, sizeof(filter)},
        .media_type = {"text/plain", 10},
        .payload = {(const uint8_t *)"hello", 5},
        .has_ttl = true,
        .ttl_s = ttl_s,
        .reach_ppm = LIMIT_DISTANCE_PPM,
        .withdraw_hash = {hash, sizeof(hash)},
    };
    handler_handle(fixture->service, &fixture->client, &request);
}

static void deposit(struct fixture *fixture, const char *host, uint32_t number, uint32_t ttl_s)
{
    send_deposit(fixture, host, number, ttl_s);
    assert_int_equal(fake_persist_commit(fixture->persist), 1);
    assert_int_equal(fixture->last, MSG_RESPONSE_DEPOSITED);
}

static void withdraw(struct fixture *fixture, const char *host, uint32_t number)
{
    uint8_t id[MESSAGE_ID_BYTES];
    struct msg_request request = {.id = 2, .kind = MSG_REQUEST_WITHDRAW};

    make_id(number, id);
    request.withdraw = (struct msg_withdraw){
        .host = {host, strlen(host)}, .id = {id, sizeof(id)}, .token = {token, sizeof(token)}};
    handler_handle(fixture->service, &fixture->client, &request);
}

static void send_query(struct fixture *fixture, const char *host)
{
    uint8_t filter[FILTER_BYTES];
    const struct msg_query_part part = {.filter = {filter, sizeof(filter)}};
    struct msg_request request = {.id = 77, .kind = MSG_REQUEST_QUERY};

    make_filter(filter);
    request.query = (struct msg_query){
        .host = {host, strlen(host)},
        .k = 100,
        .parts = &part,
        .part_count = 1,
        .max_distance_ppm = LIMIT_DISTANCE_PPM,
        .since_ms = INT64_MIN,
        .until_ms = INT64_MAX,
        .metric = MSG_METRIC_BITS,
        .order = MSG_ORDER_SIMILARITY,
    };
    handler_handle(fixture->service, &fixture->client, &request);
}

static size_t count_found(struct fixture *fixture, const char *host)
{
    send_query(fixture, host);
    assert_int_equal(fixture->last, MSG_RESPONSE_RESULTS);
    return fixture->result_count;
}

/* Puts messages into a host's index that are in no store: for long searches. */
static void fill_index(struct host *host, uint32_t count)
{
    const uint64_t filter[FILTER_BYTES / 8] = {1};

    for (uint32_t i = 0; i < count; i++) {
        struct index_item item = {.expires_ms = INT64_MAX, .reach_ppm = LIMIT_DISTANCE_PPM};
        memcpy(item.id, &i, sizeof(i));
        assert_int_equal(index_insert(host->epochs[0]->index, &item, filter), 0);
    }
}

/* What `act` writes to the log, that is, to standard error. */
static const char *logged(struct fixture *fixture, void (*act)(struct fixture *fixture))
{
    static char text[TEXT_MAX];
    FILE *file = tmpfile();
    const int before = dup(STDERR_FILENO);

    assert_non_null(file);
    assert_int_equal(dup2(fileno(file), STDERR_FILENO), STDERR_FILENO);
    act(fixture);
    (void)fflush(stderr);
    assert_int_equal(dup2(before, STDERR_FILENO), STDERR_FILENO);
    (void)close(before);
    rewind(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    (void)fclose(file);
    return text;
}

/* --- hosts ------------------------------------------------------------------------------------ */

/* Each host has its own messages, caps and ids; together they have the server's. */
static void hosts_are_apart(void **state)
{
    struct fixture *fixture = *state;
    struct service *service = fixture->service;

    assert_ptr_equal(service_host(service, NULL), &service->hosts[0]);
    assert_ptr_equal(service_host(service, "beta"), &service->hosts[1]);
    assert_null(service_host(service, "gamma"));
    assert_null(service_host(service, ""));
    assert_ptr_equal(service_host_numbered(service, 'b'), &service->hosts[1]);
    assert_null(service_host_numbered(service, 0));

    deposit(fixture, "alpha", 1, LONG_S);
    deposit(fixture, "alpha", 2, LONG_S);
    deposit(fixture, "beta", 1, LONG_S); /* the same id is another message here */
    assert_int_equal(service->hosts[0].usage.messages, 2);
    assert_int_equal(service->hosts[1].usage.messages, 1);
    assert_int_equal(service->usage.messages, 3);
    assert_int_equal(count_found(fixture, "alpha"), 2);
    assert_int_equal(count_found(fixture, "beta"), 1);
    withdraw(fixture, "alpha", 1);
    fake_persist_commit(fixture->persist);
    assert_int_equal(count_found(fixture, "alpha"), 1);
    assert_int_equal(count_found(fixture, "beta"), 1);
    send_query(fixture, "gamma");
    assert_int_equal(fixture->code, MSG_UNKNOWN_HOST);
}

/* One host that is full does not keep others from taking messages; a full server does. */
static void quotas_of_host_and_server(void **state)
{
    struct fixture *fixture = *state;
    struct service *service = fixture->service;

    service->hosts[0].config.messages_max = 1;
    deposit(fixture, "alpha", 1, LONG_S);
    send_deposit(fixture, "alpha", 2, LONG_S);
    assert_int_equal(fixture->code, MSG_QUOTA);
    deposit(fixture, "beta", 2, LONG_S);
    service->config.limits.messages_max = 2;
    fixture->code = MSG_INTERNAL;
    send_deposit(fixture, "beta", 3, LONG_S);
    assert_int_equal(fixture->code, MSG_QUOTA);
    assert_int_equal(fake_persist_commit(fixture->persist), 0);
    withdraw(fixture, "alpha", 1);
    fake_persist_commit(fixture->persist);
    deposit(fixture, "beta", 3, LONG_S);

    service->config.limits.messages_max = 100;
    service->config.limits.bytes_max = service->usage.bytes;
    send_deposit(fixture, "beta", 4, LONG_S);
    assert_int_equal(fixture->code, MSG_QUOTA);
}

/* --- acknowledgements ------------------------------------------------------------------------- */

/* Operations of both hosts that wait together are answered together, after the commit, in order. */
static void a_group_is_answered_after_its_commit(void **state)
{
    struct fixture *fixture = *state;

    for (uint32_t i = 0; i < 10; i++) {
        send_deposit(fixture, i % 2 == 0 ? "alpha" : "beta", i, LONG_S);
        withdraw(fixture, i % 2 == 0 ? "alpha" : "beta", i);
        send_deposit(fixture, "alpha", 100 + i, LONG_S);
    }
    assert_int_equal(fixture->answered, 0);
    assert_int_equal(fixture->service->working, 30);
    assert_true(fixture->service->writing_bytes > 0);
    assert_int_equal(index_count(fixture->service->hosts[0].epochs[0]->index), 0);
    assert_int_equal(fake_persist_commit(fixture->persist), 30);
    assert_int_equal(fixture->answered, 30);
    assert_int_equal(fixture->last_id, 1109);
    assert_int_equal(index_count(fixture->service->hosts[0].epochs[0]->index), 10);
    assert_int_equal(index_count(fixture->service->hosts[1].epochs[0]->index), 0);
    assert_int_equal(fixture->service->usage.messages, 10);
}

/* A commit that fails leaves index, usage and store as they were, for all of its group. */
static void a_failed_group_changes_nothing(void **state)
{
    struct fixture *fixture = *state;
    const struct usage none = {0};

    deposit(fixture, "alpha", 1, LONG_S);
    const struct usage before = fixture->service->usage;
    for (uint32_t i = 2; i < 10; i++) {
        send_deposit(fixture, "beta", i, LONG_S);
    }
    withdraw(fixture, "alpha", 1);
    fake_persist_fail_next(fixture->persist);
    assert_int_equal(fake_persist_commit(fixture->persist), 9);
    assert_int_equal(fixture->last, MSG_RESPONSE_ERROR);
    assert_int_equal(fixture->code, MSG_STORAGE);
    assert_memory_equal(&fixture->service->usage, &before, sizeof(before));
    assert_memory_equal(&fixture->service->hosts[1].usage, &none, sizeof(none));
    assert_int_equal(count_found(fixture, "alpha"), 1);
    assert_int_equal(count_found(fixture, "beta"), 0);
    deposit(fixture, "beta", 2, LONG_S);
}

static void fail_often(struct fixture *fixture)
{
    for (unsigned i = 0; i < 5; i++) {
        service_storage_failed(fixture->service, "storage", "the disk is full");
    }
    advance(fixture, 11 * SECOND_MS);
    service_storage_failed(fixture->service, "storage", NULL);
}

/* Many failures in a row are two lines, of which the second counts the others. */
static void failures_do_not_flood_the_log(void **state)
{
    struct fixture *fixture = *state;
    const char *text = logged(fixture, fail_often);
    const char *first = strstr(text, "storage: the disk is full");
    const char *second = strstr(text, "storage: failed (4 more failures");

    assert_non_null(first);
    assert_non_null(second);
    assert_null(strstr(first + 1, "storage: the disk is full"));
}

/* So much waiting for the store is congestion; as the store catches up, it is none. */
static void congestion_is_what_waits(void **state)
{
    struct fixture *fixture = *state;
    uint32_t count = 0;

    fixture->service->hosts[1].config.messages_max = 100000;
    while (!handler_is_congested(fixture->service)) {
        withdraw(fixture, "beta", count++); /* of nothing: what waits is the operation */
        assert_true(count < 100000);
    }
    assert_true(fixture->service->writing_bytes > 8 * 1024 * 1024);
    assert_true(fixture->service->writing_bytes < 8 * 1024 * 1024 + 4096);
    assert_int_equal(fake_persist_commit(fixture->persist), count);
    assert_false(handler_is_congested(fixture->service));
}

/* --- searches --------------------------------------------------------------------------------- */

/* More messages than a new search compares before it queues. */
enum { LONG_SEARCH = 80000 };

/* A client has one long search under way at a time, over all hosts; its others wait. */
static void one_search_of_a_client_at_a_time(void **state)
{
    struct fixture *fixture = *state;
    unsigned turns = 0;

    fill_index(&fixture->service->hosts[0], LONG_SEARCH);
    fill_index(&fixture->service->hosts[1], LONG_SEARCH);
    for (unsigned i = 0; i < 30; i++) {
        send_query(fixture, i % 2 == 0 ? "alpha" : "beta");
    }
    assert_int_equal(handler_searches_under_way(fixture->service), 1);
    assert_int_equal(handler_searches_waiting(fixture->service), 29);
    assert_int_equal(fixture->client.searches, 30);
    assert_int_equal(fixture->answered, 0);
    while (handler_run_searches(fixture->service, 16 * 1024, UINT64_MAX)) {
        assert_int_equal(handler_searches_under_way(fixture->service), 1);
        assert_true(turns++ < 1000);
    }
    assert_int_equal(fixture->answered, 30);
    assert_int_equal(fixture->client.searches, 0);
    assert_false(handler_run_searches(fixture->service, 16 * 1024, UINT64_MAX));
}

/* A search that can be done at once does not wait behind long ones. */
static void short_searches_overtake(void **state)
{
    struct fixture *fixture = *state;

    fill_index(&fixture->service->hosts[0], LONG_SEARCH);
    deposit(fixture, "beta", 1, LONG_S);
    for (unsigned i = 0; i < 10; i++) {
        send_query(fixture, "alpha");
    }
    assert_int_equal(handler_searches_under_way(fixture->service), 1);
    assert_int_equal(count_found(fixture, "beta"), 1);
    while (handler_run_searches(fixture->service, 64 * 1024, UINT64_MAX)) {
    }
}

/* --- expiry ----------------------------------------------------------------------------------- */

/* Expired messages of all hosts go, slice by slice, each slice after the one before; the cache
 * forgets them; messages of hosts that are not served any more only leave the store. */
static void sweep_goes_in_slices_over_all_hosts(void **state)
{
    struct fixture *fixture = *state;
    struct service *service = fixture->service;
    uint8_t id[MESSAGE_ID_BYTES];
    struct persist_message cached;
    size_t slices = 0;

    for (uint32_t i = 0; i < 600; i++) {
        deposit(fixture, i % 2 == 0 ? "alpha" : "beta", i, 10);
    }
    deposit(fixture, "beta", 1000, LONG_S);
    make_id(1, id);
    assert_true(service_recall(service, 'b', id, &cached));
    assert_memory_equal(cached.payload, "hello", 5);
    assert_int_equal(cached.media_type_bytes, 10);
    advance(fixture, 10 * SECOND_MS - 1);
    service_sweep(service);
    service_sweep(service);                                     /* one at a time */
    assert_int_equal(fake_persist_commit(fixture->persist), 2); /* it, and the clock */
    assert_int_equal(service->usage.messages, 601);

    advance(fixture, 1);
    service->hosts[0].number = 'z'; /* as if alpha were not configured */
    service_sweep(service);
    while (fake_persist_commit(fixture->persist) > 0) {
        slices++;
    }
    service->hosts[0].number = 'a';
    assert_int_equal(slices, 3); /* 256 + 256 + 88 */
    assert_int_equal(fake_persist_count(fixture->persist), 1);
    assert_int_equal(service->hosts[1].usage.messages, 1);
    assert_int_equal(index_count(service->hosts[1].epochs[0]->index), 1);
    assert_int_equal(index_count(service->hosts[0].epochs[0]->index), 300);
    assert_false(service_recall(service, 'b', id, &cached));
}

/* A sweep that fails is tried again with the next; what it would have taken is still counted. */
static void failed_sweep_is_tried_again(void **state)
{
    struct fixture *fixture = *state;

    deposit(fixture, "alpha", 1, 1);
    advance(fixture, SECOND_MS);
    fake_persist_fail_next(fixture->persist);
    service_sweep(fixture->service);
    fake_persist_commit(fixture->persist);
    assert_int_equal(fixture->service->usage.messages, 1);
    assert_int_equal(fake_persist_commit(fixture->persist), 0);
    service_sweep(fixture->service);
    fake_persist_commit(fixture->persist);
    assert_int_equal(fixture->service->usage.messages, 0);
}

/* Marks of withdrawn ids go when their message's time is over, and take nothing from the usage. */
static void marks_expire_without_effect(void **state)
{
    struct fixture *fixture = *state;

    deposit(fixture, "alpha", 1, 10);
    deposit(fixture, "alpha", 2, LONG_S);
    withdraw(fixture, "alpha", 1);
    fake_persist_commit(fixture->persist);
    send_deposit(fixture, "alpha", 1, 10);
    fake_persist_commit(fixture->persist);
    assert_int_equal(fixture->code, MSG_ALREADY_EXISTS);
    advance(fixture, 10 * SECOND_MS);
    service_sweep(fixture->service);
    fake_persist_commit(fixture->persist);
    assert_int_equal(fake_persist_count(fixture->persist), 1);
    assert_int_equal(fixture->service->usage.messages, 1);
    deposit(fixture, "alpha", 1, 10); /* the id is free again */
}

/* When it stops, no sweep begins and none goes on; what is under way comes to its end. */
static void stopping_sweeps_no_more(void **state)
{
    struct fixture *fixture = *state;

    for (uint32_t i = 0; i < PERSIST_EXPIRE_MAX + 10; i++) {
        deposit(fixture, "alpha", i, 1);
    }
    advance(fixture, SECOND_MS);
    service_sweep(fixture->service);
    send_deposit(fixture, "beta", 1, LONG_S);
    fixture->service->stopping = true;
    assert_true(fake_persist_commit(fixture->persist) >= 2);
    assert_int_equal(fixture->last, MSG_RESPONSE_DEPOSITED);
    assert_int_equal(fixture->service->working, 0);
    service_sweep(fixture->service);
    assert_int_equal(fake_persist_commit(fixture->persist), 0);
    assert_int_equal(fixture->service->usage.messages, 10 + 1);
}

/* Expired messages go; how many there are then. */
static uint64_t sweep_and_count(struct fixture *fixture)
{
    service_sweep(fixture->service);
    (void)fake_persist_commit(fixture->persist);
    return fixture->service->usage.messages;
}

static void sweep_twice(struct fixture *fixture)
{
    (void)sweep_and_count(fixture);
    (void)sweep_and_count(fixture);
}

/* --- the clock -------------------------------------------------------------------------------- */

/* The clock is saved every ten minutes and when asked, one saving at a time. */
static void clock_is_saved_now_and_then(void **state)
{
    struct fixture *fixture = *state;

    service_sweep(fixture->service);
    assert_int_equal(fake_persist_commit(fixture->persist), 2);
    advance(fixture, 10 * 60 * SECOND_MS - 1);
    service_sweep(fixture->service);
    assert_int_equal(fake_persist_commit(fixture->persist), 1);
    advance(fixture, 1);
    service_sweep(fixture->service);
    service_save_clock(fixture->service); /* that one is under way */
    assert_int_equal(fake_persist_commit(fixture->persist), 2);
    service_save_clock(fixture->service);
    assert_int_equal(fixture->service->clock_saved_ms, fixture->wall_ms);
    assert_int_equal(fake_persist_commit(fixture->persist), 1);
}

/* Asked for while it is being saved with an older time, it is saved again: it was the stop. */
static void clock_is_saved_as_it_is_now(void **state)
{
    struct fixture *fixture = *state;

    service_save_clock(fixture->service);
    advance(fixture, 5);
    service_save_clock(fixture->service);
    assert_int_equal(fake_persist_commit(fixture->persist), 1);
    assert_int_equal(fake_persist_commit(fixture->persist), 1);
    assert_int_equal(fixture->service->clock_saved_ms, fixture->wall_ms);
    assert_int_equal(fake_persist_commit(fixture->persist), 0);
}

/* The clock goes on from the latest time that was saved, and is not trusted while it is ahead. */
static void clock_goes_on_over_a_restart(void **state)
{
    struct fixture *fixture = *state;
    const int64_t saved_ms = fixture->wall_ms + 3600 * SECOND_MS;

    assert_true(service_clock_trusted(fixture->service));
    fake_persist_set_clock(fixture->persist, saved_ms);
    restart(fixture);
    assert_int_equal(service_now_ms(fixture->service), saved_ms);
    assert_false(service_clock_trusted(fixture->service));
    advance(fixture, 500);
    assert_int_equal(service_now_ms(fixture->service), saved_ms + 500);
    fixture->wall_ms = saved_ms + 600;
    assert_int_equal(service_now_ms(fixture->service), saved_ms + 600);
    assert_true(service_clock_trusted(fixture->service));
}

/* What was deposited before a reboot into 1970 expires when its lifetime has passed, neither at
 * once nor never; the time without power is not counted. */
static void reboot_with_a_dead_clock(void **state)
{
    struct fixture *fixture = *state;

    deposit(fixture, "alpha", 1, 600);
    deposit(fixture, "alpha", 2, 1200);
    fake_persist_commit(fixture->persist);
    advance(fixture, 60 * SECOND_MS);
    service_save_clock(fixture->service);
    fake_persist_commit(fixture->persist);
    const int64_t saved_ms = fixture->wall_ms;
    fixture->wall_ms = 12 * SECOND_MS; /* 1970 */
    fixture->monotonic_ms = 12 * SECOND_MS;
    fixture->synchronised = false;
    restart(fixture);
    assert_int_equal(service_now_ms(fixture->service), saved_ms);
    assert_false(service_clock_trusted(fixture->service));
    assert_int_equal(sweep_and_count(fixture), 2);
    advance(fixture, 540 * SECOND_MS - 1);
    assert_int_equal(sweep_and_count(fixture), 2);
    advance(fixture, 1);
    assert_int_equal(sweep_and_count(fixture), 1);
    fixture->wall_ms = saved_ms + 3600 * SECOND_MS; /* the time is learnt: an hour without power */
    fixture->synchronised = true;
    assert_int_equal(sweep_and_count(fixture), 0);
    assert_true(service_clock_trusted(fixture->service));
}

/* Nothing is swept by a jump of more than a day until the system, or patience, confirms it; what it
 * says of it is said once. */
static void jump_waits_for_confirmation(void **state)
{
    struct fixture *fixture = *state;
    const int64_t year_ms = INT64_C(365) * 86400 * SECOND_MS;

    deposit(fixture, "alpha", 1, 600);
    deposit(fixture, "alpha", 2, LONG_S);
    fake_persist_commit(fixture->persist);
    fixture->wall_ms += year_ms;
    fixture->synchronised = false;
    const char *text = logged(fixture, sweep_twice);
    const char *told = strstr(text, "the system's clock is 365 days ahead of the store's");
    assert_non_null(told);
    assert_null(strstr(told + 30, "365 days"));
    assert_false(service_clock_trusted(fixture->service));
    assert_int_equal(fixture->service->usage.messages, 2);
    advance(fixture, 600 * SECOND_MS); /* lifetimes go on meanwhile */
    assert_int_equal(sweep_and_count(fixture), 1);
    fixture->wall_ms -= year_ms; /* somebody sees the mistake */
    assert_int_equal(sweep_and_count(fixture), 1);
    fixture->wall_ms += year_ms;
    assert_int_equal(sweep_and_count(fixture), 1);
    fixture->synchronised = true;
    assert_int_equal(sweep_and_count(fixture), 0);
    assert_true(service_clock_trusted(fixture->service));
}

/* Over a reboot, too, and with the configured patience. */
static void jump_waits_over_a_restart(void **state)
{
    struct fixture *fixture = *state;

    deposit(fixture, "alpha", 1, 600);
    fake_persist_commit(fixture->persist);
    fixture->config.clock_patience_s = 300;
    fixture->synchronised = false;
    fixture->wall_ms += INT64_C(9) * 365 * 86400 * SECOND_MS;
    fixture->monotonic_ms = 0;
    restart(fixture);
    assert_int_equal(sweep_and_count(fixture), 1);
    advance(fixture, 300 * SECOND_MS - 1);
    assert_int_equal(sweep_and_count(fixture), 1);
    advance(fixture, 1);
    assert_int_equal(sweep_and_count(fixture), 0);
}

/* --- the beginning ---------------------------------------------------------------------------- */

static void drop_beta_and_restart(struct fixture *fixture)
{
    fixture->config.host_count = 1;
    restart(fixture);
}

/* What is stored is served again and counted; expired and withdrawn messages are not, nor are those
 * of a host that is gone from the configuration, which are kept for its return. */
static void start_loads_the_store(void **state)
{
    struct fixture *fixture = *state;

    deposit(fixture, "alpha", 1, LONG_S);
    deposit(fixture, "alpha", 2, 1);
    deposit(fixture, "alpha", 3, LONG_S);
    deposit(fixture, "beta", 1, LONG_S);
    const uint64_t bytes = fixture->service->hosts[1].usage.bytes;
    withdraw(fixture, "alpha", 3);
    fake_persist_commit(fixture->persist);
    advance(fixture, SECOND_MS);

    const char *text = logged(fixture, drop_beta_and_restart);
    assert_non_null(strstr(text, "loaded 1 messages"));
    assert_non_null(strstr(text, "1 stored messages belong to hosts that are not configured"));
    assert_int_equal(fixture->service->usage.messages, 1);
    assert_int_equal(fixture->service->usage.bytes, bytes);
    assert_int_equal(count_found(fixture, "alpha"), 1);

    fixture->config.host_count = 2;
    restart(fixture);
    assert_int_equal(fixture->service->usage.messages, 2);
    assert_int_equal(fixture->service->usage.bytes, 2 * bytes);
    assert_int_equal(count_found(fixture, "beta"), 1);
}

/* A host whose messages have another profile is the configuration's fault: file and line, both
 * profiles, and what to do. */
static void another_profile_is_refused(void **state)
{
    struct fixture *fixture = *state;

    fake_persist_set_profile(fixture->persist, "v1:256/2");
    assert_int_equal(start(fixture), CONFIG_REFUSED);
    assert_null(fixture->service);
    assert_string_equal(fixture->reason,
                        "test.conf:1: host alpha: the profile is v1:512/4 here, but its stored "
                        "messages have v1:256/2; set it back, or use another data directory");
    memmove(&fixture->config.hosts[0], &fixture->config.hosts[1], sizeof(fixture->config.hosts[0]));
    assert_int_equal(start(fixture), CONFIG_REFUSED);
    assert_non_null(strstr(fixture->reason, "test.conf:5: host beta:")); /* its `profile` */
    fixture->config.file[0] = '\0';
    assert_int_equal(start(fixture), CONFIG_REFUSED);
    assert_non_null(strstr(fixture->reason, "configuration"));
}

/* A store that fails at the start is told with its own reason, or with the error's. */
static void failing_store_is_told(void **state)
{
    struct fixture *fixture = *state;

    fake_persist_fail_start(fixture->persist, -ERR_STORAGE, 0, "the disk is on fire");
    assert_int_equal(start(fixture), -ERR_STORAGE);
    assert_string_equal(fixture->reason, "the disk is on fire");
    fake_persist_fail_start(fixture->persist, -ERR_STORAGE, 0, NULL);
    assert_int_equal(start(fixture), -ERR_STORAGE);
    assert_string_equal(fixture->reason, err_text(-ERR_STORAGE));
    fake_persist_fail_start(fixture->persist, 0, -ERR_DAMAGED, "page 7 is damaged");
    assert_int_equal(start(fixture), -ERR_DAMAGED);
    assert_string_equal(fixture->reason, "page 7 is damaged");
    fake_persist_fail_start(fixture->persist, 0, -ERR_DAMAGED, NULL);
    assert_int_equal(start(fixture), -ERR_DAMAGED);
    assert_non_null(strstr(fixture->reason, "loading messages: "));
    assert_int_equal(fixture->alloc.live_blocks, 0);
}

static void mark_done(struct persist_op *op)
{
    assert_int_equal(op->outcome, PERSIST_APPLIED);
}

/* A stored message with a filter of the wrong length stops the start: it is damage. */
static void damaged_message_stops_the_start(void **state)
{
    struct fixture *fixture = *state;
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
    assert_int_equal(start(fixture), -ERR_DAMAGED);
    assert_non_null(strstr(fixture->reason, err_text(-ERR_DAMAGED)));
}

/* Whichever request for memory fails during the start: nothing is left, and a reason is given; or
 * the service is there, and right. */
static void start_without_memory(void **state)
{
    struct fixture *fixture = *state;
    int rc = -ERR_NOMEM;
    size_t n = 0;

    assert_int_equal(start(fixture), 0);
    for (uint32_t i = 0; i < 20; i++) {
        deposit(fixture, "alpha", i, LONG_S);
    }
    handler_close(fixture->service);
    fixture->service = NULL;
    for (bool failed = true; failed;) {
        fail_alloc_arm(&fixture->alloc, ++n);
        rc = start(fixture);
        failed = fixture->alloc.requests >= n;
        fail_alloc_arm(&fixture->alloc, 0);
        if (rc == 0) {
            assert_int_equal(count_found(fixture, "alpha"), 20);
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

static size_t count_unarranged(const struct fixture *fixture, size_t host)
{
    struct index_wear wear;

    index_wear(fixture->service->hosts[host].epochs[0]->index, &wear);
    return wear.unarranged;
}

/* A start builds no tree: the service is there as soon as the messages are, which stand as they
 * came. Turns arrange them, and queries are right before, meanwhile and after. */
static void a_start_arranges_while_it_serves(void **state)
{
    enum { ALPHA = 60, BETA = 40 };
    struct eager_worker worker = {.worker = {.submit = work_at_once}};
    struct fixture *fixture = *state;
    unsigned turns = 0;

    for (uint32_t i = 0; i < ALPHA; i++) {
        deposit(fixture, "alpha", i, LONG_S);
    }
    for (uint32_t i = 0; i < BETA; i++) {
        deposit(fixture, "beta", i, LONG_S);
    }
    fixture->worker = &worker.worker;
    restart(fixture);
    assert_int_equal(worker.submitted, 0);
    assert_int_equal(count_unarranged(fixture, 0), ALPHA);
    assert_int_equal(count_unarranged(fixture, 1), BETA);
    while (arrange_is_active(&fixture->service->arrange)) {
        assert_int_equal(count_found(fixture, "alpha"), ALPHA);
        assert_int_equal(count_found(fixture, "beta"), BETA);
        if (!service_turn(fixture->service) && worker.work != NULL) {
            struct long_work *work = worker.work;
            worker.work = NULL;
            work->done(work);
        }
        assert_in_range(++turns, 1, 100);
    }
    assert_int_equal(count_unarranged(fixture, 0) + count_unarranged(fixture, 1), 0);
    assert_int_equal(worker.submitted, 4);
    assert_int_equal(count_found(fixture, "alpha"), ALPHA);
    assert_int_equal(count_found(fixture, "beta"), BETA);
    handler_close(fixture->service);
    fixture->service = NULL;
}

static void start_logged(struct fixture *fixture)
{
    assert_int_equal(start(fixture), 0);
}

/* HEARSAY_CPU chooses the kernels; what it does not know is said and ignored. */
static void kernels_can_be_forced(void **state)
{
    struct fixture *fixture = *state;

    setenv("HEARSAY_CPU", "scalar", 1);
    start_logged(fixture);
    assert_ptr_equal(fixture->service->kernels, bits_select(BITS_SCALAR));
    handler_close(fixture->service);
    setenv("HEARSAY_CPU", "abacus", 1);
    assert_non_null(strstr(logged(fixture, start_logged), "HEARSAY_CPU is none of scalar"));
    assert_ptr_equal(fixture->service->kernels, bits_select(BITS_AVX512));
    unsetenv("HEARSAY_CPU");
}

/* --- reload ----------------------------------------------------------------------------------- */

/* A reload takes effect at once: limits, hosts' caps, and the cache gives back what is over. */
static void reload_takes_effect(void **state)
{
    struct fixture *fixture = *state;
    struct service *service = fixture->service;
    uint8_t id[MESSAGE_ID_BYTES];
    struct persist_message cached;

    deposit(fixture, "alpha", 1, LONG_S);
    make_id(1, id);
    assert_true(service_recall(service, 'a', id, &cached));
    fixture->config.limits.cache_bytes = 0;
    fixture->config.limits.ttl_max_s = 5;
    fixture->config.hosts[1].messages_max = 0;
    service_reload(service, &fixture->config);
    assert_false(service_recall(service, 'a', id, &cached));
    send_deposit(fixture, "beta", 2, 5);
    assert_int_equal(fixture->code, MSG_QUOTA);
    send_deposit(fixture, "alpha", 2, 6);
    assert_int_equal(fixture->code, MSG_INVALID);
    deposit(fixture, "alpha", 2, 5);
}

int main(void)
{
#define TEST(name)    cmocka_unit_test_setup_teardown(name, setup, teardown)
#define STOPPED(name) cmocka_unit_test_setup_teardown(name, setup_stopped, teardown)
    const struct CMUnitTest tests[] = {
        TEST(hosts_are_apart),
        TEST(quotas_of_host_and_server),
        TEST(a_group_is_answered_after_its_commit),
        TEST(a_failed_group_changes_nothing),
        TEST(failures_do_not_flood_the_log),
        TEST(congestion_is_what_waits),
        TEST(one_search_of_a_client_at_a_time),
        TEST(short_searches_overtake),
        TEST(sweep_goes_in_slices_over_all_hosts),
        TEST(failed_sweep_is_tried_again),
        TEST(marks_expire_without_effect),
        TEST(stopping_sweeps_no_more),
        TEST(clock_is_saved_now_and_then),
        TEST(clock_is_saved_as_it_is_now),
        TEST(clock_goes_on_over_a_restart),
        TEST(reboot_with_a_dead_clock),
        TEST(jump_waits_for_confirmation),
        TEST(jump_waits_over_a_restart),
        TEST(start_loads_the_store),
        TEST(a_start_arranges_while_it_serves),
        STOPPED(another_profile_is_refused),
        STOPPED(failing_store_is_told),
        STOPPED(damaged_message_stops_the_start),
        STOPPED(start_without_memory),
        STOPPED(kernels_can_be_forced),
        TEST(reload_takes_effect),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
