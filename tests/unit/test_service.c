/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the hosts of a service share: quotas, group commits, searches, expiry, and a reload.
 */
#include "tests/lib/check.h"
#include "tests/unit/service_fixture.h"

enum { SECOND_MS = 1000 };

/* --- hosts ------------------------------------------------------------------------------------ */

#define FIXTURE_TEST(name) \
    TEST_OF(name, struct service_fixture *fixture, service_fixture_setup, service_fixture_teardown)

/* Each host has its own messages, caps and ids; together they have the server's. */
FIXTURE_TEST(hosts_are_apart)
{
    struct service *service = fixture->service;

    assert_ptr_equal(service_host(service, NULL), &service->hosts[0]);
    assert_ptr_equal(service_host(service, "beta"), &service->hosts[1]);
    assert_null(service_host(service, "gamma"));
    assert_null(service_host(service, ""));
    assert_ptr_equal(service_host_numbered(service, 'b'), &service->hosts[1]);
    assert_null(service_host_numbered(service, 0));

    service_fixture_deposit(fixture, "alpha", 1, SERVICE_FIXTURE_LONG_S);
    service_fixture_deposit(fixture, "alpha", 2, SERVICE_FIXTURE_LONG_S);
    service_fixture_deposit(fixture, "beta", 1,
                            SERVICE_FIXTURE_LONG_S); /* the same id is another message here */
    assert_int_equal(service->hosts[0].usage.messages, 2);
    assert_int_equal(service->hosts[1].usage.messages, 1);
    assert_int_equal(service->usage.messages, 3);
    assert_int_equal(service_fixture_count_found(fixture, "alpha"), 2);
    assert_int_equal(service_fixture_count_found(fixture, "beta"), 1);
    service_fixture_withdraw(fixture, "alpha", 1);
    fake_persist_commit(fixture->persist);
    assert_int_equal(service_fixture_count_found(fixture, "alpha"), 1);
    assert_int_equal(service_fixture_count_found(fixture, "beta"), 1);
    service_fixture_send_query(fixture, "gamma");
    assert_int_equal(fixture->code, HEARSAY_CODE_UNKNOWN_HOST);
}

/* One host that is full does not keep others from taking messages; a full server does. */
FIXTURE_TEST(quotas_of_host_and_server)
{
    struct service *service = fixture->service;

    service->hosts[0].config.messages_max = 1;
    service_fixture_deposit(fixture, "alpha", 1, SERVICE_FIXTURE_LONG_S);
    service_fixture_send_deposit(fixture, "alpha", 2, SERVICE_FIXTURE_LONG_S);
    assert_int_equal(fixture->code, HEARSAY_CODE_QUOTA);
    service_fixture_deposit(fixture, "beta", 2, SERVICE_FIXTURE_LONG_S);
    service->config.limits.messages = 2;
    fixture->code = HEARSAY_CODE_INTERNAL;
    service_fixture_send_deposit(fixture, "beta", 3, SERVICE_FIXTURE_LONG_S);
    assert_int_equal(fixture->code, HEARSAY_CODE_QUOTA);
    assert_int_equal(fake_persist_commit(fixture->persist), 0);
    service_fixture_withdraw(fixture, "alpha", 1);
    fake_persist_commit(fixture->persist);
    service_fixture_deposit(fixture, "beta", 3, SERVICE_FIXTURE_LONG_S);

    service->config.limits.messages = 100;
    service->config.limits.bytes = service->usage.bytes;
    service_fixture_send_deposit(fixture, "beta", 4, SERVICE_FIXTURE_LONG_S);
    assert_int_equal(fixture->code, HEARSAY_CODE_QUOTA);
}

/* --- acknowledgements ------------------------------------------------------------------------- */

/* Operations of both hosts that wait together are answered together, after the commit, in order. */
FIXTURE_TEST(a_group_is_answered_after_its_commit)
{
    for (uint32_t i = 0; i < 10; i++) {
        service_fixture_send_deposit(fixture, i % 2 == 0 ? "alpha" : "beta", i,
                                     SERVICE_FIXTURE_LONG_S);
        service_fixture_withdraw(fixture, i % 2 == 0 ? "alpha" : "beta", i);
        service_fixture_send_deposit(fixture, "alpha", 100 + i, SERVICE_FIXTURE_LONG_S);
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
FIXTURE_TEST(a_failed_group_changes_nothing)
{
    const struct usage none = {0};

    service_fixture_deposit(fixture, "alpha", 1, SERVICE_FIXTURE_LONG_S);
    const struct usage before = fixture->service->usage;
    for (uint32_t i = 2; i < 10; i++) {
        service_fixture_send_deposit(fixture, "beta", i, SERVICE_FIXTURE_LONG_S);
    }
    service_fixture_withdraw(fixture, "alpha", 1);
    fake_persist_fail_next(fixture->persist);
    assert_int_equal(fake_persist_commit(fixture->persist), 9);
    assert_int_equal(fixture->last, HEARSAY_RESPONSE_ERROR);
    assert_int_equal(fixture->code, HEARSAY_CODE_STORAGE);
    assert_memory_equal(&fixture->service->usage, &before, sizeof(before));
    assert_memory_equal(&fixture->service->hosts[1].usage, &none, sizeof(none));
    assert_int_equal(service_fixture_count_found(fixture, "alpha"), 1);
    assert_int_equal(service_fixture_count_found(fixture, "beta"), 0);
    service_fixture_deposit(fixture, "beta", 2, SERVICE_FIXTURE_LONG_S);
}

static void fail_often(struct service_fixture *fixture)
{
    for (unsigned i = 0; i < 5; i++) {
        service_storage_failed(fixture->service, "storage", "the disk is full");
    }
    service_fixture_advance(fixture, 11 * SECOND_MS);
    service_storage_failed(fixture->service, "storage", NULL);
}

/* Many failures in a row are two lines, of which the second counts the others. */
FIXTURE_TEST(failures_do_not_flood_the_log)
{
    const char *text = service_fixture_log_of(fixture, fail_often);
    const char *first = strstr(text, "storage: the disk is full");
    const char *second = strstr(text, "storage: failed (4 more failures");

    assert_non_null(first);
    assert_non_null(second);
    assert_null(strstr(first + 1, "storage: the disk is full"));
}

/* So much waiting for the store is congestion; as the store catches up, it is none. */
FIXTURE_TEST(congestion_is_what_waits)
{
    uint32_t count = 0;

    fixture->service->hosts[1].config.messages_max = 100000;
    while (!handler_is_congested(fixture->service, &fixture->client)) {
        service_fixture_withdraw(fixture, "beta",
                                 count++); /* of nothing: what waits is the operation */
        assert_true(count < 100000);
    }
    assert_true(fixture->service->writing_bytes > 8 * 1024 * 1024);
    assert_true(fixture->service->writing_bytes < 8 * 1024 * 1024 + 4096);
    assert_int_equal(fake_persist_commit(fixture->persist), count);
    assert_false(handler_is_congested(fixture->service, &fixture->client));
}

/* Makes the fixture's client one of a sender with this IPv4 address, without limits of rates. */
static struct sender *service_client_of(struct service_fixture *fixture, uint8_t address)
{
    const struct sender_address named = {.kind = SENDER_IPV4, .bytes = {192, 0, 2, address}};
    struct service *service = fixture->service;

    memset(service->sender_limits.rates, 0, sizeof(service->sender_limits.rates));
    assert_int_equal(senders_enter(service->senders, &named, &service->sender_limits, 0,
                                   &fixture->client.sender),
                     0);
    return fixture->client.sender;
}

/* Senders whose operations wait for the store take turns: while those of all senders hold much,
 * each may have one. Whoever has none is not stopped. */
FIXTURE_TEST(senders_take_turns_at_the_store)
{
    struct service *service = fixture->service;
    uint32_t count = 0;

    fixture->service->hosts[1].config.messages_max = 100000;
    struct sender *hostile = service_client_of(fixture, 1);
    while (!handler_is_congested(service, &fixture->client)) {
        service_fixture_withdraw(fixture, "beta", count++);
        assert_true(count < 1000);
    }
    assert_true(service->writing_bytes > 64 * 1024);
    assert_true(service->writing_bytes < 64 * 1024 + 4096);
    struct sender *honest = service_client_of(fixture, 2);
    assert_false(handler_is_congested(service, &fixture->client));
    service_fixture_withdraw(fixture, "beta", count++);
    assert_true(handler_is_congested(service, &fixture->client));
    fixture->client.sender = NULL; /* whoever has no limits waits with more */
    assert_false(handler_is_congested(service, &fixture->client));

    senders_leave(hostile); /* while its operations wait */
    assert_int_equal(fake_persist_commit(fixture->persist), count);
    assert_int_equal(sender_share(honest, SENDER_WRITES).held, 0);
    senders_leave(honest);
}

/* --- searches --------------------------------------------------------------------------------- */

/* More messages than a new search compares before it queues. */
enum { SERVICE_FIXTURE_LONG_SEARCH = 80000 };

/* A client has one long search under way at a time, over all hosts; its others wait. */
FIXTURE_TEST(one_search_of_a_client_at_a_time)
{
    unsigned turns = 0;

    service_fixture_fill_index(&fixture->service->hosts[0], SERVICE_FIXTURE_LONG_SEARCH);
    service_fixture_fill_index(&fixture->service->hosts[1], SERVICE_FIXTURE_LONG_SEARCH);
    for (unsigned i = 0; i < 30; i++) {
        service_fixture_send_query(fixture, i % 2 == 0 ? "alpha" : "beta");
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
FIXTURE_TEST(short_searches_overtake)
{
    service_fixture_fill_index(&fixture->service->hosts[0], SERVICE_FIXTURE_LONG_SEARCH);
    service_fixture_deposit(fixture, "beta", 1, SERVICE_FIXTURE_LONG_S);
    for (unsigned i = 0; i < 10; i++) {
        service_fixture_send_query(fixture, "alpha");
    }
    assert_int_equal(handler_searches_under_way(fixture->service), 1);
    assert_int_equal(service_fixture_count_found(fixture, "beta"), 1);
    while (handler_run_searches(fixture->service, 64 * 1024, UINT64_MAX)) {
    }
}

/* --- expiry ----------------------------------------------------------------------------------- */

/* Expired messages of all hosts go, slice by slice, each slice after the one before; the cache
 * forgets them; messages of hosts that are not served any more only leave the store. */
FIXTURE_TEST(sweep_goes_in_slices_over_all_hosts)
{
    struct service *service = fixture->service;
    uint8_t id[MESSAGE_ID_BYTES];
    struct persist_message cached;
    size_t slices = 0;

    for (uint32_t i = 0; i < 600; i++) {
        service_fixture_deposit(fixture, i % 2 == 0 ? "alpha" : "beta", i, 10);
    }
    service_fixture_deposit(fixture, "beta", 1000, SERVICE_FIXTURE_LONG_S);
    service_fixture_make_id(1, id);
    assert_true(service_recall(service, 'b', id, &cached));
    assert_memory_equal(cached.payload, "hello", 5);
    assert_int_equal(cached.media_type_bytes, 10);
    service_fixture_advance(fixture, 10 * SECOND_MS - 1);
    service_sweep(service);
    service_sweep(service);                                     /* one at a time */
    assert_int_equal(fake_persist_commit(fixture->persist), 2); /* it, and the clock */
    assert_int_equal(service->usage.messages, 601);

    service_fixture_advance(fixture, 1);
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
FIXTURE_TEST(failed_sweep_is_tried_again)
{
    service_fixture_deposit(fixture, "alpha", 1, 1);
    service_fixture_advance(fixture, SECOND_MS);
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
FIXTURE_TEST(marks_expire_without_effect)
{
    service_fixture_deposit(fixture, "alpha", 1, 10);
    service_fixture_deposit(fixture, "alpha", 2, SERVICE_FIXTURE_LONG_S);
    service_fixture_withdraw(fixture, "alpha", 1);
    fake_persist_commit(fixture->persist);
    service_fixture_send_deposit(fixture, "alpha", 1, 10);
    fake_persist_commit(fixture->persist);
    assert_int_equal(fixture->code, HEARSAY_CODE_ALREADY_EXISTS);
    service_fixture_advance(fixture, 10 * SECOND_MS);
    service_sweep(fixture->service);
    fake_persist_commit(fixture->persist);
    assert_int_equal(fake_persist_count(fixture->persist), 1);
    assert_int_equal(fixture->service->usage.messages, 1);
    service_fixture_deposit(fixture, "alpha", 1, 10); /* the id is free again */
}

/* When it stops, no sweep begins and none goes on; what is under way comes to its end. */
FIXTURE_TEST(stopping_sweeps_no_more)
{
    for (uint32_t i = 0; i < PERSIST_EXPIRE_MAX + 10; i++) {
        service_fixture_deposit(fixture, "alpha", i, 1);
    }
    service_fixture_advance(fixture, SECOND_MS);
    service_sweep(fixture->service);
    service_fixture_send_deposit(fixture, "beta", 1, SERVICE_FIXTURE_LONG_S);
    fixture->service->stopping = true;
    assert_true(fake_persist_commit(fixture->persist) >= 2);
    assert_int_equal(fixture->last, HEARSAY_RESPONSE_DEPOSITED);
    assert_int_equal(fixture->service->working, 0);
    service_sweep(fixture->service);
    assert_int_equal(fake_persist_commit(fixture->persist), 0);
    assert_int_equal(fixture->service->usage.messages, 10 + 1);
}

/* --- reload ----------------------------------------------------------------------------------- */

/* A reload takes effect at once: limits, hosts' caps, and the cache gives back what is over. */
FIXTURE_TEST(reload_takes_effect)
{
    struct service *service = fixture->service;
    uint8_t id[MESSAGE_ID_BYTES];
    struct persist_message cached;

    service_fixture_deposit(fixture, "alpha", 1, SERVICE_FIXTURE_LONG_S);
    service_fixture_make_id(1, id);
    assert_true(service_recall(service, 'a', id, &cached));
    fixture->config.cache_bytes = 0;
    fixture->config.limits.ttl_max_s = 5;
    fixture->config.hosts[1].messages_max = 0;
    service_reload(service, &fixture->config);
    assert_false(service_recall(service, 'a', id, &cached));
    service_fixture_send_deposit(fixture, "beta", 2, 5);
    assert_int_equal(fixture->code, HEARSAY_CODE_QUOTA);
    service_fixture_send_deposit(fixture, "alpha", 2, 6);
    assert_int_equal(fixture->code, HEARSAY_CODE_INVALID);
    service_fixture_deposit(fixture, "alpha", 2, 5);
}
