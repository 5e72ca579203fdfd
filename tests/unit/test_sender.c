/* SPDX-License-Identifier: Apache-2.0 */
/* Who counts as one sender, what each may do, and that nobody's limits are forgotten too early. */
#include "daemon/limits/sender.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <sodium.h>

#include "core/base/err.h"
#include "tests/lib/check.h"
#include "tests/lib/fail_alloc.h"
#include "tests/lib/rng.h"

enum { CAPACITY = 64 };

static const uint8_t key[KEYED_HASH_KEY_BYTES] = {1, 2, 3};

/* One connection and two deposits at a time; a deposit comes back after a second. */
static const struct sender_limits narrow = {
    .connections = 1,
    .rates = {[SENDER_DEPOSIT] = {.per_minute = 60, .burst = 2},
              [SENDER_QUERY] = {.per_minute = 600, .burst = 5}},
};

static struct sockaddr_storage address_of(const char *text)
{
    struct sockaddr_storage storage = {.ss_family = AF_UNIX};
    struct sockaddr_in *in4 = (struct sockaddr_in *)&storage;
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&storage;

    if (inet_pton(AF_INET, text, &in4->sin_addr) == 1) {
        in4->sin_family = AF_INET;
    } else if (inet_pton(AF_INET6, text, &in6->sin6_addr) == 1) {
        in6->sin6_family = AF_INET6;
    }
    return storage;
}

static struct sender_address sender_of(const char *peer, const char *local)
{
    const struct sockaddr_storage theirs = address_of(peer);
    const struct sockaddr_storage ours = address_of(local);
    struct sender_address address;

    sender_address_of((const struct sockaddr *)&theirs, (const struct sockaddr *)&ours, &address);
    return address;
}

static struct senders *make(uint32_t capacity)
{
    struct senders *senders = NULL;

    assert_int_equal(senders_new(alloc_system(), capacity, key, &senders), 0);
    return senders;
}

static int set_up(void **state)
{
    *state = make(CAPACITY);
    return 0;
}

static int tear_down(void **state)
{
    senders_free(*state);
    return 0;
}

#define SENDERS_TEST(name) TEST_OF(name, struct senders *senders, set_up, tear_down)

static struct sender *enter(struct senders *senders, const struct sender_address *address,
                            int64_t now_ms)
{
    struct sender *sender = NULL;

    assert_int_equal(senders_enter(senders, address, &narrow, now_ms, &sender), 0);
    return sender;
}

static bool is_refused(struct senders *senders, const struct sender_address *address,
                       int64_t now_ms)
{
    struct sender *sender = NULL;

    if (senders_enter(senders, address, &narrow, now_ms, &sender) == SENDER_REFUSED) {
        return true;
    }
    senders_leave(sender);
    return false;
}

static uint64_t deposit(struct sender *sender, int64_t now_ms)
{
    return sender_take(sender, SENDER_DEPOSIT, &narrow, 1, now_ms);
}

/* --- addresses -------------------------------------------------------------------------------- */

SENDERS_TEST(what_counts_of_an_address)
{
    static const struct {
        const char *peer;
        const char *local;
        enum sender_kind kind;
        const char *same; /* counts as the same */
        const char *other;
    } rows[] = {
        {"192.0.2.7", "192.0.2.1", SENDER_IPV4, "::ffff:192.0.2.7", "192.0.2.8"},
        {"2001:db8::7", "2001:db8::1", SENDER_IPV6_ON_LINK, "2001:db8:0:0::7", "2001:db8::8"},
        {"2001:db8:1::7", "2001:db8::1", SENDER_IPV6_PREFIX, "2001:db8:1::8", "2001:db8:1:1::7"},
        {"fe80::1", "fe80::2", SENDER_IPV6_ON_LINK, "fe80::1", "fe80::3"},
        {"-", "-", SENDER_UNIX, "-", "192.0.2.7"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct sender_address address = sender_of(rows[i].peer, rows[i].local);
        const struct sender_address same = sender_of(rows[i].same, rows[i].local);
        const struct sender_address other = sender_of(rows[i].other, rows[i].local);

        assert_int_equal(address.kind, rows[i].kind);
        assert_int_equal(senders_tag(senders, &address), senders_tag(senders, &same));
        assert_int_not_equal(senders_tag(senders, &address), senders_tag(senders, &other));
    }
}

/* All addresses of a device count as one, and none of the /64 is charged besides. */
SENDERS_TEST(a_device_counts_whatever_its_address_is)
{
    struct sender_address four = sender_of("192.0.2.7", "192.0.2.1");
    struct sender_address six = sender_of("2001:db8::7", "2001:db8::1");
    struct sender_address other = sender_of("2001:db8::8", "2001:db8::1");

    sender_address_set_device(&four, 7);
    sender_address_set_device(&six, 7);
    sender_address_set_device(&other, 8);
    assert_int_equal(senders_tag(senders, &four), senders_tag(senders, &six));
    assert_int_not_equal(senders_tag(senders, &four), senders_tag(senders, &other));
    assert_int_equal(senders_wide_tag(senders, &six), 0);
    struct sender *sender = enter(senders, &six, 0);
    assert_true(is_refused(senders, &four, 0)); /* `narrow` has one connection for a sender */
    assert_false(is_refused(senders, &other, 0));
    senders_leave(sender);
}

/* Addresses on link whose device cannot be seen are one sender for each /64. */
SENDERS_TEST(a_widened_address_is_its_network)
{
    struct sender_address address = sender_of("2001:db8::7", "2001:db8::1");
    struct sender_address same = sender_of("2001:db8::8", "2001:db8::1");
    struct sender_address distant = sender_of("2001:db8::9", "2001:db8:1::1");
    struct sender_address four = sender_of("192.0.2.7", "192.0.2.1");
    uint32_t before = senders_tag(senders, &four);

    sender_address_widen(&address);
    sender_address_widen(&same);
    sender_address_widen(&four);
    assert_int_equal(senders_tag(senders, &address), senders_tag(senders, &same));
    assert_int_equal(senders_tag(senders, &address), senders_tag(senders, &distant));
    assert_int_equal(senders_wide_tag(senders, &address), 0);
    assert_int_equal(senders_tag(senders, &four), before);
}

TEST(this_machine_is_local)
{
    static const char *const local[] = {"127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1", "-"};
    static const char *const remote[] = {"128.0.0.1", "192.168.1.1", "::2", "fe80::1",
                                         "::ffff:10.0.0.1"};

    for (size_t i = 0; i < 5; i++) {
        const struct sockaddr_storage near = address_of(local[i]);
        const struct sockaddr_storage far = address_of(remote[i]);
        assert_true(sender_is_local((const struct sockaddr *)&near));
        assert_false(sender_is_local((const struct sockaddr *)&far));
    }
}

/* Without the key nobody can tell an address from its number. */
TEST(a_tag_depends_on_the_key)
{
    static const uint8_t other_key[KEYED_HASH_KEY_BYTES] = {9};
    const struct sender_address address = sender_of("192.0.2.7", "192.0.2.1");
    struct senders *one = make(CAPACITY);
    struct senders *other = NULL;

    assert_int_equal(senders_new(alloc_system(), CAPACITY, other_key, &other), 0);
    assert_int_not_equal(senders_tag(one, &address), senders_tag(other, &address));
    senders_free(one);
    senders_free(other);
}

/* --- limits ----------------------------------------------------------------------------------- */

SENDERS_TEST(connections_are_counted_by_address)
{
    const struct sender_address one = sender_of("192.0.2.7", "192.0.2.1");
    const struct sender_address other = sender_of("192.0.2.8", "192.0.2.1");
    struct sender *sender = enter(senders, &one, 0);

    assert_true(is_refused(senders, &one, 0));
    assert_false(is_refused(senders, &other, 0));
    senders_leave(sender);
    assert_false(is_refused(senders, &one, 0));
}

/* Who comes again has the bucket that it left. */
SENDERS_TEST(a_new_connection_has_the_old_bucket)
{
    const struct sender_address address = sender_of("192.0.2.7", "192.0.2.1");
    struct sender *sender = enter(senders, &address, 0);

    assert_int_equal(deposit(sender, 0), 0);
    assert_int_equal(deposit(sender, 0), 0);
    senders_leave(sender);
    sender = enter(senders, &address, 500);
    assert_int_equal(deposit(sender, 500), 500);
    assert_int_equal(sender_take(sender, SENDER_QUERY, &narrow, 1, 500), 0); /* of its own */
    senders_leave(sender);
}

/* Addresses of one /64 on link together: 16 times the rate, however many they are. */
SENDERS_TEST(a_prefix_on_link_has_a_bucket)
{
    uint32_t given = 0;

    for (int i = 0; i < 200; i++) {
        char text[32];
        (void)snprintf(text, sizeof(text), "2001:db8::1:%x", i);
        const struct sender_address address = sender_of(text, "2001:db8::1");
        struct sender *sender = enter(senders, &address, 0);
        if (deposit(sender, 0) == 0) {
            given++;
        }
        senders_leave(sender);
    }
    assert_int_equal(given, 2 * SENDERS_WIDE);
}

/* What the /64 refuses is not taken from the address. */
SENDERS_TEST(a_prefix_refuses_without_cost)
{
    const struct sender_address last = sender_of("2001:db8::ffff", "2001:db8::1");

    for (int i = 0; i < SENDERS_WIDE; i++) {
        char text[32];
        (void)snprintf(text, sizeof(text), "2001:db8::1:%x", i);
        const struct sender_address address = sender_of(text, "2001:db8::1");
        struct sender *sender = enter(senders, &address, 0);
        assert_int_equal(deposit(sender, 0), 0);
        assert_int_equal(deposit(sender, 0), 0);
        senders_leave(sender);
    }
    struct sender *sender = enter(senders, &last, 0);
    for (int i = 0; i < 10; i++) {
        assert_true(deposit(sender, 0) > 0);
    }
    assert_int_equal(deposit(sender, 1000), 0); /* the /64 has regained 16: both are its own */
    assert_int_equal(deposit(sender, 1000), 0);
    senders_leave(sender);
}

/* A guest network is one /64: it may have any number of connections, each address its own few. */
TEST(a_prefix_on_link_has_no_bound_of_connections)
{
    enum { MANY = 4 * SENDERS_WIDE };
    struct senders *senders = make(MANY + 1);
    struct sender *entered[MANY];

    for (int i = 0; i < MANY; i++) {
        char text[32];
        (void)snprintf(text, sizeof(text), "2001:db8::1:%x", i);
        const struct sender_address address = sender_of(text, "2001:db8::1");
        entered[i] = enter(senders, &address, 0);
        assert_true(is_refused(senders, &address, 0));
    }
    for (int i = 0; i < MANY; i++) {
        senders_leave(entered[i]);
    }
    senders_free(senders);
}

static void assert_has(const struct sender *sender, enum sender_use use, unsigned held,
                       unsigned by_network)
{
    struct fair_share share = sender_share(sender, use);

    assert_ptr_equal(share.holder, sender);
    assert_int_equal(share.held, held);
    assert_int_equal(share.by_network, by_network);
}

/* What an address has, and what its /64 has. */
SENDERS_TEST(shares_are_of_an_address_and_its_network)
{
    const struct sender_limits limits = {.connections = 3};
    const struct sender_address addresses[] = {
        sender_of("2001:db8::1:1", "2001:db8::1"),
        sender_of("2001:db8::1:2", "2001:db8::1"),
        sender_of("192.0.2.1", "192.0.2.9"),
    };
    enum { ONE, TWO, IPV4, COUNT };
    struct sender *of[COUNT];
    struct sender *more = NULL;

    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(senders_enter(senders, &addresses[i], &limits, 0, &of[i]), 0);
    }
    assert_int_equal(senders_enter(senders, &addresses[IPV4], &limits, 0, &more), 0);
    assert_ptr_equal(more, of[IPV4]);
    assert_has(of[ONE], SENDER_CONNECTIONS, 1, 2);
    assert_has(of[TWO], SENDER_CONNECTIONS, 1, 2);
    assert_has(of[IPV4], SENDER_CONNECTIONS, 2, 2);
    sender_begin_handshake(of[ONE]);
    assert_has(of[ONE], SENDER_HANDSHAKES, 1, 1);
    assert_has(of[TWO], SENDER_HANDSHAKES, 0, 1);
    sender_end_handshake(of[ONE]);
    assert_has(of[TWO], SENDER_HANDSHAKES, 0, 0);
    senders_leave(of[IPV4]);
    for (int i = 0; i < COUNT; i++) {
        senders_leave(of[i]);
    }
}

/* The sender that has as many connections as it may have is found, and no other. */
SENDERS_TEST(a_full_sender_is_found)
{
    const struct sender_limits limits = {.connections = 2};
    const struct sender_address address = sender_of("192.0.2.1", "192.0.2.9");
    const struct sender_address other = sender_of("192.0.2.2", "192.0.2.9");
    struct sender *sender = NULL;

    assert_null(senders_find_full(senders, &address, &limits));
    assert_int_equal(senders_enter(senders, &address, &limits, 0, &sender), 0);
    assert_null(senders_find_full(senders, &address, &limits));
    assert_int_equal(senders_enter(senders, &address, &limits, 0, &sender), 0);
    assert_ptr_equal(senders_find_full(senders, &address, &limits), sender);
    assert_null(senders_find_full(senders, &other, &limits));
    senders_leave(sender);
    assert_null(senders_find_full(senders, &address, &limits));
    senders_leave(sender);
}

/* --- a table that is full --------------------------------------------------------------------- */

static struct sender_address numbered(uint32_t number)
{
    struct sender_address address = {.kind = SENDER_IPV4};

    memcpy(address.bytes, &number, sizeof(number));
    return address;
}

/* Nobody's bucket is forgotten for others, however many come; who finds no place shares. */
SENDERS_TEST(no_bucket_is_reset_by_others)
{
    uint32_t given = 0;

    for (uint32_t i = 0; i < CAPACITY; i++) {
        const struct sender_address address = numbered(i);
        struct sender *sender = enter(senders, &address, 0);
        assert_int_equal(deposit(sender, 0), 0);
        assert_int_equal(deposit(sender, 0), 0);
        senders_leave(sender);
    }
    for (uint32_t i = CAPACITY; i < 10 * CAPACITY; i++) {
        const struct sender_address address = numbered(i);
        struct sender *sender = enter(senders, &address, 0);
        given += deposit(sender, 0) == 0 ? 1 : 0;
        assert_null(sender_account(sender));
        senders_leave(sender);
    }
    assert_int_equal(given, 2 * SENDERS_WIDE);
    for (uint32_t i = 0; i < CAPACITY; i++) {
        const struct sender_address address = numbered(i);
        struct sender *sender = enter(senders, &address, 0);
        assert_int_equal(deposit(sender, 0), 1000);
        assert_non_null(sender_account(sender));
        senders_leave(sender);
    }
}

/* Once their buckets are full again they make room. */
SENDERS_TEST(the_idle_are_forgotten)
{
    for (uint32_t i = 0; i < 100 * CAPACITY; i++) {
        const struct sender_address address = numbered(i);
        const int64_t now_ms = (int64_t)i * 100; /* each needs 1 s for its one deposit */
        struct sender *sender = enter(senders, &address, now_ms);
        assert_int_equal(deposit(sender, now_ms), 0);
        assert_int_equal(deposit(sender, now_ms), 0);
        assert_true(deposit(sender, now_ms) > 0); /* of its own: not of the shared bucket */
        senders_leave(sender);
    }
}

/* The largest block of an allocator. */
struct spy {
    struct alloc alloc;
    uint8_t *block;
    size_t bytes;
};

static void *spy_resize(void *context, void *block, size_t bytes)
{
    struct spy *spy = context;
    void *made = alloc_system()->resize(NULL, block, bytes);

    if (bytes > spy->bytes) {
        spy->block = made;
        spy->bytes = bytes;
    }
    return made;
}

static bool spy_sees(const struct spy *spy, uint32_t tag)
{
    for (size_t i = 0; i + sizeof(tag) <= spy->bytes; i++) {
        if (memcmp(spy->block + i, &tag, sizeof(tag)) == 0) {
            return true;
        }
    }
    return false;
}

/* No hash of an address stays in memory longer than its limits count. */
TEST(tidying_forgets_hashes)
{
    static const struct sender_limits limits = {.connections = 2, .rates = {{60, 2}, {60, 2}}};
    struct spy spy = {.alloc = {.resize = spy_resize, .context = &spy}};
    const struct sender_address phone = sender_of("2001:db8::7", "2001:db8::1");
    struct senders *senders = NULL;
    struct sender *sender = NULL;

    assert_int_equal(senders_new(&spy.alloc, CAPACITY, key, &senders), 0);
    const uint32_t tags[] = {senders_tag(senders, &phone), senders_wide_tag(senders, &phone)};
    assert_int_equal(senders_enter(senders, &phone, &limits, 1000, &sender), 0);
    senders_tidy(senders, &limits, 1000);
    assert_true(spy_sees(&spy, tags[0]) && spy_sees(&spy, tags[1])); /* it is connected */
    assert_int_equal(sender_take(sender, SENDER_DEPOSIT, &limits, 2, 1000), 0);
    senders_leave(sender);
    senders_tidy(senders, &limits, 2999); /* two seconds bring two tokens */
    assert_true(spy_sees(&spy, tags[0]));
    senders_tidy(senders, &limits, 3000);
    assert_false(spy_sees(&spy, tags[0]) || spy_sees(&spy, tags[1]));
    senders_free(senders);
}

/* Makes senders, of whom `count` have connected and left. */
static void come_and_go(struct spy *spy, const struct sender_limits *limits, uint32_t count,
                        struct senders **out_senders)
{
    assert_int_equal(senders_new(&spy->alloc, (size_t)2 * count, key, out_senders), 0);
    for (uint32_t i = 0; i < count; i++) {
        const struct sender_address address = numbered(i);
        struct sender *sender = NULL;

        assert_int_equal(senders_enter(*out_senders, &address, limits, 1000, &sender), 0);
        senders_leave(sender);
    }
}

/* Each call of senders_tidy looks at a part of a large table. After enough calls no sender is left.
 */
TEST(tidying_goes_on_where_it_was)
{
    enum { MANY = 10000, CALLS = 4, LOOKED = 16 };
    static const struct sender_limits limits = {.connections = 2, .rates = {{60, 2}, {60, 2}}};
    struct spy spy = {.alloc = {.resize = spy_resize, .context = &spy}};
    struct senders *senders = NULL;
    uint32_t seen = 0;

    come_and_go(&spy, &limits, MANY, &senders);
    for (int call = 0; call < 2 * CALLS; call++) {
        senders_tidy(senders, &limits, 1000);
        seen = 0;
        for (uint32_t i = 0; i < LOOKED; i++) {
            const struct sender_address address = numbered(i * (MANY / LOOKED));
            seen += spy_sees(&spy, senders_tag(senders, &address)) ? 1 : 0;
        }
        assert_true(call > 0 || seen > 0);
    }
    assert_int_equal(seen, 0);
    senders_free(senders);
}

/* A daemon without requests calls senders_tidy less often. It must not forget senders later for
 * that. */
TEST(tidying_does_more_after_a_rest)
{
    enum { MANY = 10000 };
    static const struct sender_limits limits = {.connections = 2, .rates = {{60, 2}, {60, 2}}};
    struct spy spy = {.alloc = {.resize = spy_resize, .context = &spy}};
    struct senders *senders = NULL;

    come_and_go(&spy, &limits, MANY, &senders);
    senders_tidy(senders, &limits, 1000);
    senders_tidy(senders, &limits, 41000);
    for (uint32_t i = 0; i < MANY; i += MANY / 16) {
        const struct sender_address address = numbered(i);

        assert_false(spy_sees(&spy, senders_tag(senders, &address)));
    }
    senders_free(senders);
}

/* Random comings and goings: connections are counted right, and nothing is left over. */
TEST(random_comings_and_goings)
{
    enum { ADDRESSES = 40, HELD = 30, STEPS = 20000 };
    struct senders *senders = make(24); /* not enough */
    const struct sender_limits limits = {.connections = 3, .rates = {{600, 4}, {600, 4}}};
    struct sender *held[HELD] = {NULL};
    struct rng rng;

    rng_init(&rng);
    for (int64_t step = 0; step < STEPS; step++) {
        const uint32_t at = rng_below(&rng, HELD);
        char text[40];

        if (held[at] != NULL) {
            (void)sender_take(held[at], SENDER_DEPOSIT, &limits, 1 + rng_below(&rng, 3), step * 10);
            if (rng_chance(&rng, 50)) {
                senders_leave(held[at]);
                held[at] = NULL;
            }
            continue;
        }
        (void)snprintf(text, sizeof(text), "2001:db8:%x::%x", rng_below(&rng, 3),
                       rng_below(&rng, ADDRESSES));
        const struct sender_address address = sender_of(text, "2001:db8:1::1");
        (void)senders_enter(senders, &address, &limits, step * 10, &held[at]);
    }
    for (uint32_t i = 0; i < HELD; i++) {
        if (held[i] != NULL) {
            senders_leave(held[i]);
        }
    }
    /* All can be forgotten: as many new ones as there are places come in. */
    for (uint32_t i = 0; i < 24; i++) {
        const struct sender_address address = numbered(i);
        struct sender *sender = NULL;
        assert_int_equal(senders_enter(senders, &address, &limits, STEPS * 100, &sender), 0);
        assert_int_equal(sender_take(sender, SENDER_DEPOSIT, &limits, 4, STEPS * 100), 0);
        assert_non_null(sender_account(sender)); /* a place of its own */
    }
    senders_free(senders);
}

/* Who comes again and again is not told each time; others are, and so is it after a while. */
SENDERS_TEST(who_was_told_is_cut_off)
{
    const struct sender_limits limits = {
        .connections = 1,
        .rates = {[SENDER_TOLD] = {.per_minute = 60, .burst = 3}},
    };
    const struct sender_address one = sender_of("192.0.2.1", "192.0.2.9");
    const struct sender_address other = sender_of("192.0.2.2", "192.0.2.9");
    struct sender *first = NULL;
    struct sender *second = NULL;
    struct sender *none = NULL;

    assert_int_equal(senders_enter(senders, &one, &limits, 0, &first), 0);
    assert_int_equal(senders_enter(senders, &other, &limits, 0, &second), 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(senders_enter(senders, &one, &limits, i, &none), SENDER_REFUSED);
    }
    for (int i = 0; i < 50; i++) {
        assert_int_equal(senders_enter(senders, &one, &limits, 3 + i, &none), SENDER_CUT_OFF);
    }
    assert_int_equal(senders_enter(senders, &other, &limits, 60, &none), SENDER_REFUSED);
    assert_int_equal(senders_enter(senders, &one, &limits, 1000, &none), SENDER_REFUSED);
    assert_int_equal(senders_enter(senders, &one, &limits, 1001, &none), SENDER_CUT_OFF);
    senders_leave(first);
    assert_int_equal(senders_enter(senders, &one, &limits, 1002, &first), 0);
    senders_leave(first);
    senders_leave(second);
    assert_null(none);
}

/* As many as there are, by the smaller of the bucket and the one of the /64; all can be given back.
 */
SENDERS_TEST(most_of_the_tokens)
{
    const struct sender_limits many = {
        .connections = 20,
        .rates = {[SENDER_QUERY] = {.per_minute = 60, .burst = 100}},
    };
    struct sender *all[20];

    for (size_t i = 0; i < 20; i++) {
        char text[] = "2001:db8::100";
        text[11] = (char)('0' + i / 10);
        text[12] = (char)('0' + i % 10);
        const struct sender_address one = sender_of(text, "2001:db8::1");
        assert_int_equal(senders_enter(senders, &one, &many, 0, &all[i]), 0);
    }
    assert_int_equal(sender_take_most(all[0], SENDER_QUERY, &many, 0, 0), 0);
    assert_int_equal(sender_take_most(all[0], SENDER_QUERY, &many, 37, 0), 37);
    assert_int_equal(sender_take_most(all[0], SENDER_QUERY, &many, UINT32_MAX, 0), 63);
    assert_int_equal(sender_take_most(all[0], SENDER_QUERY, &many, 5, 0), 0);
    assert_int_equal(sender_take_most(all[0], SENDER_QUERY, &many, 5, 3000), 3); /* one a second */
    for (size_t i = 1; i < 16; i++) {
        assert_int_equal(sender_take_most(all[i], SENDER_QUERY, &many, 200, 0), 100);
    }
    assert_int_equal(sender_take_most(all[16], SENDER_QUERY, &many, 100, 3000),
                     45); /* of the /64 */
    sender_give(all[16], SENDER_QUERY, &many, 45, 3000);
    assert_int_equal(sender_take_most(all[17], SENDER_QUERY, &many, 100, 3000), 45);
    sender_give(all[0], SENDER_QUERY, &many, 1000, 3000); /* no bucket has more than its burst */
    assert_int_equal(sender_take_most(all[0], SENDER_QUERY, &many, 1000, 3000), 100);
    assert_int_equal(sender_take(all[0], SENDER_QUERY, &many, 1, 3000), 1000);
    for (size_t i = 0; i < 20; i++) {
        senders_leave(all[i]);
    }
}

/* A kept sender and its /64 stay, though they have no connection and full buckets. */
TEST(who_is_kept_is_not_forgotten)
{
    const struct sender_address near = sender_of("2001:db8::7", "2001:db8::1");
    const struct sender_address far = sender_of("192.0.2.1", "192.0.2.9");
    struct senders *senders = make(2);
    struct sender *sender = enter(senders, &near, 0);

    assert_int_equal(sender_take(sender, SENDER_QUERY, &narrow, 4, 0), 0);
    sender_keep(sender);
    senders_leave(sender);
    senders_tidy(senders, &narrow, 3600000);
    assert_ptr_equal(enter(senders, &near, 3600000), sender); /* the same, with the same /64 */
    senders_leave(sender);
    for (int i = 0; i < 3; i++) {
        struct sender *other = enter(senders, &far, 3600000);
        assert_null(sender_turn(other)); /* there is no place: the shared sender */
        senders_leave(other);
    }
    sender_give(sender, SENDER_QUERY, &narrow, 4, 3600000);
    sender_release(sender);
    struct sender *other = enter(senders, &far, 3600000);
    assert_non_null(sender_turn(other));
    senders_leave(other);
    senders_free(senders);
}

TEST(memory_that_runs_out)
{
    struct fail_alloc alloc;
    struct senders *senders = NULL;
    int rc = -ERR_NOMEM;

    fail_alloc_init(&alloc);
    for (unsigned n = 1; rc != 0; n++) {
        fail_alloc_arm(&alloc, n);
        rc = senders_new(&alloc.alloc, CAPACITY, key, &senders);
        assert_true(rc == 0 || (rc == -ERR_NOMEM && senders == NULL));
        assert_true(rc == 0 || alloc.live_blocks == 0);
    }
    senders_free(senders);
    senders_free(NULL);
    assert_int_equal(alloc.live_blocks, 0);
}

int main(void)
{
    if (sodium_init() < 0) {
        return 1;
    }
    return check_run(NULL, NULL);
}
