/* SPDX-License-Identifier: Apache-2.0 */
/* Form tokens hold for one address and for two to three hours; reads are limited by address. */
#include "client/web/route/nonce.h"

#include <string.h>

#include <sodium.h>

#include "client/web/route/limit.h"
#include "tests/lib/check.h"

static const int64_t hour_ms = 3600 * 1000;

static const struct http_address v4 = {.family = 4, .bytes = {10, 0, 0, 7}};
static const struct http_address v4_other = {.family = 4, .bytes = {10, 0, 0, 8}};

/* A phone on link: the same /64 at both ends. */
static struct http_address on_link(uint8_t last)
{
    struct http_address address = {
        .family = 6, .has_local = true, .bytes = {0xFD, 1}, .local = {0xFD, 1}};

    address.bytes[15] = last;
    return address;
}

static void a_token_holds_for_two_to_three_hours(void **state)
{
    struct nonce nonce;
    char text[NONCE_TEXT_BYTES];
    (void)state;

    nonce_init(&nonce);
    nonce_write(&nonce, &v4, 5 * hour_ms, text);
    assert_int_equal(strlen(text), 32);
    assert_true(nonce_check(&nonce, &v4, text, 5 * hour_ms));
    assert_true(nonce_check(&nonce, &v4, text, 8 * hour_ms - 1));
    assert_false(nonce_check(&nonce, &v4, text, 8 * hour_ms));
    assert_false(nonce_check(&nonce, &v4, text, 5 * hour_ms - 1));
    nonce_write(&nonce, &v4, 6 * hour_ms - 1, text);
    assert_true(nonce_check(&nonce, &v4, text, 8 * hour_ms - 1));
    assert_false(nonce_check(&nonce, &v4, text, 8 * hour_ms));
    nonce_write(&nonce, &v4, 0, text); /* the machine has just started */
    assert_true(nonce_check(&nonce, &v4, text, 0));
}

static void a_token_is_of_one_address_and_one_start(void **state)
{
    struct http_address v6 = {.family = 6, .bytes = {10, 0, 0, 7}};
    struct nonce nonce;
    struct nonce later;
    char text[NONCE_TEXT_BYTES];
    (void)state;

    nonce_init(&nonce);
    nonce_init(&later);
    nonce_write(&nonce, &v4, 0, text);
    assert_false(nonce_check(&nonce, &v4_other, text, 0));
    assert_false(nonce_check(&nonce, &v6, text, 0));
    assert_false(nonce_check(&later, &v4, text, 0));
    assert_false(nonce_check(&nonce, &v4, "", 0));
    text[31] = text[31] == '0' ? '1' : '0';
    assert_false(nonce_check(&nonce, &v4, text, 0));
}

static const struct bucket_rate rate = {.per_minute = 60, .burst = 3};
static struct limit limit;

static void each_address_has_its_own_bucket(void **state)
{
    (void)state;

    limit_init(&limit);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(limit_take(&limit, &v4, &rate, 1, 1000), 0);
    }
    assert_int_equal(limit_take(&limit, &v4, &rate, 1, 1000), 1000);
    assert_int_equal(limit_take(&limit, &v4_other, &rate, 1, 1000), 0);
    assert_int_equal(limit_take(&limit, &v4, &rate, 1, 2000), 0);
}

/* One machine with many addresses has 16 times the rate, not any number of times. */
static void a_network_is_bounded(void **state)
{
    int taken = 0;
    (void)state;

    limit_init(&limit);
    for (uint8_t last = 1; last < 100; last++) {
        struct http_address address = on_link(last);

        for (int i = 0; i < 3; i++) {
            taken += limit_take(&limit, &address, &rate, 1, 1000) == 0;
        }
    }
    assert_int_equal(taken, 3 * LIMIT_NETWORK);
}

/* All addresses of a device have one bucket; those whose device cannot be seen have one together.
 */
static void devices_have_a_bucket(void **state)
{
    int taken[3] = {0, 0, 0};
    (void)state;

    limit_init(&limit);
    for (uint8_t last = 1; last < 100; last++) {
        struct http_address clients[3] = {on_link(last), on_link(last), on_link(last)};

        clients[0].device = 7;
        clients[1].device = 8;
        clients[2].is_hidden = true;
        for (int i = 0; i < 3; i++) {
            taken[i] += limit_take(&limit, &clients[i], &rate, 1, 1000) == 0;
        }
    }
    struct http_address four = v4;
    four.device = 7;
    assert_true(limit_take(&limit, &four, &rate, 1, 1000) > 0);
    assert_int_equal(limit_take(&limit, &v4, &rate, 1, 1000), 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(taken[i], 3);
    }
}

/* From further away an address of IPv6 costs nothing to change: the /64 counts. */
static void addresses_from_away_count_by_network(void **state)
{
    int taken = 0;
    (void)state;

    limit_init(&limit);
    for (uint8_t last = 1; last < 100; last++) {
        struct http_address address = on_link(last);

        address.local[0] = 0x20;
        taken += limit_take(&limit, &address, &rate, 1, 1000) == 0;
    }
    assert_int_equal(taken, 3);
}

/* More addresses than there are entries share one bucket; those that are known keep theirs. */
static void a_full_table_is_shared(void **state)
{
    int taken = 0;
    int more = 0;
    (void)state;

    limit_init(&limit);
    for (uint32_t i = 0; i < 8 * LIMIT_ADDRESSES; i++) {
        struct http_address address = {
            .family = 4,
            .bytes = {11, (uint8_t)(i >> 16), (uint8_t)(i >> 8), (uint8_t)i},
        };
        taken += limit_take(&limit, &address, &rate, 1, 1000) == 0;
    }
    assert_true(taken <= LIMIT_ADDRESSES + 3 * LIMIT_NETWORK);
    assert_true(taken > LIMIT_ADDRESSES / 2);
    for (uint32_t i = 0; i < LIMIT_ADDRESSES; i++) { /* a minute later all have room again */
        struct http_address address = {.family = 4,
                                       .bytes = {12, 0, (uint8_t)(i >> 8), (uint8_t)i}};

        more += limit_take(&limit, &address, &rate, 1, 1000 + 60000) == 0;
    }
    assert_true(more > LIMIT_ADDRESSES / 2);
}

/* 5,000 phones come back at once after a power cut: each has a bucket. */
static void a_festival_has_room(void **state)
{
    (void)state;
    limit_init(&limit);
    for (uint32_t i = 0; i < 5000; i++) {
        struct http_address address = {
            .family = 4,
            .bytes = {11, 0, (uint8_t)(i >> 8), (uint8_t)i},
        };
        assert_int_equal(limit_take(&limit, &address, &rate, 1, 1000), 0);
    }
}

static void no_rate_is_no_limit(void **state)
{
    static const struct bucket_rate none = {.per_minute = 0, .burst = 1};
    (void)state;

    limit_init(&limit);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(limit_take(&limit, &v4, &none, 1, 1000), 0);
    }
}

/* The hash of an address goes when the bucket is full again, and not before. */
static void full_buckets_are_forgotten(void **state)
{
    static const struct limit_entry none[LIMIT_ADDRESSES];
    (void)state;

    limit_init(&limit);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(limit_take(&limit, &v4, &rate, 1, 1000), 0);
    }
    limit_tidy(&limit, 3999); /* a token comes each second */
    assert_int_equal(limit_take(&limit, &v4, &rate, 3, 3999), 1);
    limit_tidy(&limit, 4000);
    assert_memory_equal(limit.entries, none, sizeof(none));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_holds_for_two_to_three_hours),
        cmocka_unit_test(a_token_is_of_one_address_and_one_start),
        cmocka_unit_test(each_address_has_its_own_bucket),
        cmocka_unit_test(a_network_is_bounded),
        cmocka_unit_test(addresses_from_away_count_by_network),
        cmocka_unit_test(a_full_table_is_shared),
        cmocka_unit_test(a_festival_has_room),
        cmocka_unit_test(devices_have_a_bucket),
        cmocka_unit_test(no_rate_is_no_limit),
        cmocka_unit_test(full_buckets_are_forgotten),
    };
    return sodium_init() < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
