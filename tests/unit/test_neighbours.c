/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of the kernel about its neighbour table, byte for byte, and the table made of them.
 */
#include <errno.h>
#include <sys/socket.h>

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sodium.h>
#include <uv.h>

#include "core/base/err.h"
#include "daemon/device/devices.h"
#include "daemon/device/neighbour_table.h"
#include "tests/lib/check.h"
#include "tests/lib/fail_alloc.h"
#include "tests/lib/rng.h"

static const uint8_t key[KEYED_HASH_KEY_BYTES] = {7};
static const uint8_t link_a[6] = {2, 0, 0, 0, 0, 0xa};
static const uint8_t link_b[6] = {2, 0, 0, 0, 0, 0xb};

/* --- messages --------------------------------------------------------------------------------- */

/* A datagram, to which messages are added. */
struct datagram {
    size_t count;
    uint8_t bytes[1024];
};

static void add(struct datagram *datagram, const void *bytes, size_t count)
{
    assert_true(datagram->count + count + 3 <= sizeof(datagram->bytes));
    memcpy(datagram->bytes + datagram->count, bytes, count);
    datagram->count += count;
    while (datagram->count % 4 != 0) {
        datagram->bytes[datagram->count++] = 0;
    }
}

static void add_attribute(struct datagram *datagram, uint16_t type, const void *bytes, size_t count)
{
    struct rtattr head = {.rta_type = type, .rta_len = (uint16_t)(sizeof(head) + count)};

    add(datagram, &head, sizeof(head));
    add(datagram, bytes, count);
}

/* Adds a message with an address of 192.0.2.0/24, or of 2001:db8::/64 for family 6. */
static void add_neighbour(struct datagram *datagram, uint16_t type, uint8_t family, uint8_t last,
                          uint16_t state, const uint8_t *link)
{
    struct ndmsg about = {
        .ndm_family = family == 4 ? AF_INET : AF_INET6, .ndm_ifindex = 3, .ndm_state = state};
    struct nlmsghdr head = {.nlmsg_type = type};
    uint8_t ipv4[4] = {192, 0, 2, last};
    uint8_t ipv6[16] = {0x20, 0x01, 0x0d, 0xb8, [15] = last};
    uint32_t other = 5;
    size_t start = datagram->count;

    add(datagram, &head, sizeof(head));
    add(datagram, &about, sizeof(about));
    add_attribute(datagram, NDA_PROBES, &other, sizeof(other));
    add_attribute(datagram, NDA_DST, family == 4 ? ipv4 : ipv6, family == 4 ? 4 : 16);
    if (link != NULL) {
        add_attribute(datagram, NDA_LLADDR, link, 6);
    }
    head.nlmsg_len = (uint32_t)(datagram->count - start);
    memcpy(datagram->bytes + start, &head, sizeof(head));
}

static void add_number(struct datagram *datagram, uint16_t type, uint16_t flags, int32_t number)
{
    struct nlmsghdr head = {
        .nlmsg_type = type, .nlmsg_flags = flags, .nlmsg_len = sizeof(head) + sizeof(number)};

    add(datagram, &head, sizeof(head));
    add(datagram, &number, sizeof(number));
}

/* Reads from a copy that ends where the datagram ends, so that a sanitizer sees a byte too many. */
static enum neighbour_message next(const struct datagram *datagram, size_t *offset,
                                   struct neighbour *out)
{
    uint8_t *copy = alloc_array(alloc_system(), 1, datagram->count > 0 ? datagram->count : 1);

    assert_non_null(copy);
    memcpy(copy, datagram->bytes, datagram->count);
    enum neighbour_message message = neighbour_message_next(copy, datagram->count, offset, out);
    alloc_release(alloc_system(), copy);
    return message;
}

static enum neighbour_message first(const struct datagram *datagram, struct neighbour *out)
{
    size_t offset = 0;

    return next(datagram, &offset, out);
}

TEST(messages_are_read_in_order)
{
    struct datagram datagram = {.count = 0};
    struct neighbour neighbour;
    size_t offset = 0;

    add_neighbour(&datagram, RTM_NEWNEIGH, 4, 9, NUD_REACHABLE, link_a);
    add_number(&datagram, NLMSG_ERROR, 0, 0); /* an acknowledgement */
    add_neighbour(&datagram, RTM_NEWLINK, 4, 9, NUD_REACHABLE, link_a);
    add_neighbour(&datagram, RTM_NEWNEIGH, 6, 7, NUD_STALE, link_b);
    add_neighbour(&datagram, RTM_DELNEIGH, 6, 7, NUD_STALE, link_b);
    add_number(&datagram, NLMSG_DONE, NLM_F_MULTI, 0);

    assert_int_equal(next(&datagram, &offset, &neighbour), NEIGHBOUR_CHANGE);
    assert_int_equal(neighbour.family, 4);
    assert_int_equal(neighbour.interface, 3);
    assert_memory_equal(neighbour.bytes, "\xc0\x00\x02\x09\0\0\0\0\0\0\0\0\0\0\0\0", 16);
    assert_int_equal(neighbour.link_bytes, 6);
    assert_memory_equal(neighbour.link, link_a, 6);
    assert_int_equal(next(&datagram, &offset, &neighbour), NEIGHBOUR_CHANGE);
    assert_int_equal(neighbour.family, 6);
    assert_int_equal(neighbour.bytes[15], 7);
    assert_memory_equal(neighbour.link, link_b, 6);
    assert_int_equal(next(&datagram, &offset, &neighbour), NEIGHBOUR_CHANGE);
    assert_int_equal(neighbour.link_bytes, 0);
    assert_int_equal(next(&datagram, &offset, &neighbour), NEIGHBOUR_DUMPED);
    assert_int_equal(next(&datagram, &offset, &neighbour), NEIGHBOUR_END);
}

/* Entries of multicast, and those whose address nobody has answered for, name no device. */
TEST(only_known_states_have_a_link)
{
    static const struct {
        uint16_t state;
        bool is_known;
    } cases[] = {{NUD_INCOMPLETE, false}, {NUD_REACHABLE, true}, {NUD_STALE, true},
                 {NUD_DELAY, true},       {NUD_PROBE, true},     {NUD_FAILED, false},
                 {NUD_NOARP, false},      {NUD_PERMANENT, true}, {NUD_NONE, false}};
    static const uint8_t none[6] = {0};
    struct neighbour neighbour;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct datagram datagram = {.count = 0};
        add_neighbour(&datagram, RTM_NEWNEIGH, 4, 1, cases[i].state, link_a);
        assert_int_equal(first(&datagram, &neighbour), NEIGHBOUR_CHANGE);
        assert_int_equal(neighbour.link_bytes, cases[i].is_known ? 6 : 0);
    }
    for (int i = 0; i < 2; i++) {
        struct datagram datagram = {.count = 0};
        add_neighbour(&datagram, RTM_NEWNEIGH, 4, 1, NUD_STALE, i == 0 ? NULL : none);
        assert_int_equal(first(&datagram, &neighbour), NEIGHBOUR_CHANGE);
        assert_int_equal(neighbour.link_bytes, 0);
    }
}

static void set_about(struct datagram *datagram, const struct ndmsg *about)
{
    memcpy(datagram->bytes + sizeof(struct nlmsghdr), about, sizeof(*about));
}

TEST(other_entries_are_skipped)
{
    static const struct ndmsg others[] = {
        {.ndm_family = AF_BRIDGE, .ndm_ifindex = 3, .ndm_state = NUD_REACHABLE},
        {.ndm_family = AF_UNSPEC, .ndm_ifindex = 3, .ndm_state = NUD_REACHABLE},
        {.ndm_family = AF_INET, .ndm_ifindex = 0, .ndm_state = NUD_REACHABLE},
        {.ndm_family = AF_INET, .ndm_ifindex = -1, .ndm_state = NUD_REACHABLE},
        {.ndm_family = AF_INET,
         .ndm_ifindex = 3,
         .ndm_state = NUD_REACHABLE,
         .ndm_flags = NTF_PROXY}};
    struct neighbour neighbour;

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        struct datagram datagram = {.count = 0};
        add_neighbour(&datagram, RTM_NEWNEIGH, 4, 1, NUD_REACHABLE, link_a);
        set_about(&datagram, &others[i]);
        assert_int_equal(first(&datagram, &neighbour), NEIGHBOUR_END);
    }
}

TEST(answers_may_fail)
{
    static const struct {
        uint16_t type;
        uint16_t flags;
        int32_t number;
        enum neighbour_message expected;
    } cases[] = {{NLMSG_DONE, 0, 0, NEIGHBOUR_DUMPED},
                 {NLMSG_DONE, NLM_F_DUMP_INTR, 0, NEIGHBOUR_TORN},
                 {NLMSG_DONE, 0, -22, NEIGHBOUR_REFUSED},
                 {NLMSG_ERROR, 0, -16, NEIGHBOUR_REFUSED},
                 {NLMSG_ERROR, 0, 0, NEIGHBOUR_END}};
    struct neighbour neighbour;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct datagram datagram = {.count = 0};
        add_number(&datagram, cases[i].type, cases[i].flags, cases[i].number);
        assert_int_equal(first(&datagram, &neighbour), cases[i].expected);
    }
}

/* A datagram that ends too early is malformed, wherever it ends, and nothing behind it is read. */
TEST(truncated_messages_are_malformed)
{
    struct datagram whole = {.count = 0};
    struct neighbour neighbour;

    add_neighbour(&whole, RTM_NEWNEIGH, 6, 1, NUD_REACHABLE, link_a);
    for (size_t count = 1; count < whole.count; count++) {
        struct datagram part = whole;
        part.count = count;
        assert_int_equal(first(&part, &neighbour), NEIGHBOUR_MALFORMED);
    }
    struct datagram none = {.count = 0};
    assert_int_equal(first(&none, &neighbour), NEIGHBOUR_END);
}

/* Each length of the message in turn says too little or too much. */
TEST(lying_lengths_are_malformed)
{
    const size_t attributes = sizeof(struct nlmsghdr) + sizeof(struct ndmsg);
    static const uint32_t wrong[] = {0, 1, 15, 1000, UINT32_MAX, UINT32_MAX - 2};
    static const uint16_t wrong_attribute[] = {0, 1, 3, 1000, UINT16_MAX};
    struct datagram whole = {.count = 0};
    struct neighbour neighbour;

    add_neighbour(&whole, RTM_NEWNEIGH, 4, 1, NUD_REACHABLE, link_a);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct datagram datagram = whole;
        memcpy(datagram.bytes, &wrong[i], sizeof(wrong[i]));
        assert_int_equal(first(&datagram, &neighbour), NEIGHBOUR_MALFORMED);
    }
    /* NDA_PROBES, NDA_DST and NDA_LLADDR begin at 0, 8 and 16. */
    for (size_t at = attributes; at <= attributes + 16; at += 8) {
        for (size_t i = 0; i < sizeof(wrong_attribute) / sizeof(wrong_attribute[0]); i++) {
            struct datagram datagram = whole;
            memcpy(datagram.bytes + at, &wrong_attribute[i], sizeof(wrong_attribute[i]));
            assert_int_equal(first(&datagram, &neighbour), NEIGHBOUR_MALFORMED);
        }
    }
    /* An IPv4 address of 3 or 16 bytes. */
    for (uint16_t bytes = 7; bytes <= 20; bytes += 13) {
        struct datagram datagram = whole;
        memcpy(datagram.bytes + attributes + 8, &bytes, sizeof(bytes));
        assert_int_equal(first(&datagram, &neighbour), NEIGHBOUR_MALFORMED);
    }
}

TEST(a_long_link_is_malformed)
{
    struct datagram datagram = {.count = 0};
    struct nlmsghdr head = {.nlmsg_type = RTM_NEWNEIGH};
    struct ndmsg about = {.ndm_family = AF_INET, .ndm_ifindex = 1, .ndm_state = NUD_STALE};
    uint8_t link[NEIGHBOUR_LINK_BYTES_MAX + 1] = {1};
    struct neighbour neighbour;

    add(&datagram, &head, sizeof(head));
    add(&datagram, &about, sizeof(about));
    add_attribute(&datagram, NDA_LLADDR, link, sizeof(link));
    head.nlmsg_len = (uint32_t)datagram.count;
    memcpy(datagram.bytes, &head, sizeof(head));
    assert_int_equal(first(&datagram, &neighbour), NEIGHBOUR_MALFORMED);
}

/* Whatever the bytes are, reading ends, and stays within them. */
TEST(changed_bytes_are_read_safely)
{
    struct rng rng;

    rng_init(&rng);
    for (int round = 0; round < 20000; round++) {
        struct datagram datagram = {.count = 0};
        struct neighbour neighbour;
        enum neighbour_message message;
        size_t offset = 0;

        for (uint32_t i = 0; i <= rng_below(&rng, 3); i++) {
            add_neighbour(&datagram, RTM_NEWNEIGH, rng_chance(&rng, 50) ? 4 : 6, 1, NUD_STALE,
                          link_a);
        }
        for (uint32_t i = 0; i <= rng_below(&rng, 4); i++) {
            datagram.bytes[rng_below(&rng, (uint32_t)datagram.count)] = (uint8_t)rng_next(&rng);
        }
        do {
            size_t before = offset;
            message = next(&datagram, &offset, &neighbour);
            assert_true(message == NEIGHBOUR_MALFORMED || message == NEIGHBOUR_END ||
                        offset > before);
            assert_true(offset <= datagram.count);
        } while (message != NEIGHBOUR_MALFORMED && message != NEIGHBOUR_END);
    }
}

/* --- the table -------------------------------------------------------------------------------- */

static struct neighbour neighbour_of(uint8_t family, uint8_t last, uint32_t interface,
                                     const uint8_t *link)
{
    struct neighbour neighbour = {.family = family,
                                  .bytes = {0xfe, 0x80},
                                  .interface = interface,
                                  .link_bytes = link != NULL ? 6 : 0};

    neighbour.bytes[family == 4 ? 3 : 15] = last;
    if (link != NULL) {
        memcpy(neighbour.link, link, 6);
    }
    return neighbour;
}

static struct neighbour_table *make(uint32_t entries_max)
{
    struct neighbour_table *table = NULL;

    assert_int_equal(neighbour_table_new(alloc_system(), entries_max, key, &table), 0);
    return table;
}

static void apply(struct neighbour_table *table, uint8_t family, uint8_t last, uint32_t interface,
                  const uint8_t *link)
{
    struct neighbour neighbour = neighbour_of(family, last, interface, link);

    neighbour_table_apply(table, &neighbour);
}

/* The device of an address; 0: none, or ambiguous. */
static uint64_t device_of(const struct neighbour_table *table, uint8_t family, uint8_t last,
                          uint32_t interface)
{
    struct neighbour neighbour = neighbour_of(family, last, 0, NULL);
    uint64_t device = 0;

    if (neighbour_table_find(table, family, neighbour.bytes, interface, &device) !=
        NEIGHBOUR_FOUND) {
        return 0;
    }
    assert_true(device != 0);
    return device;
}

TEST(addresses_of_a_link_are_one_device)
{
    struct neighbour_table *table = make(16);

    apply(table, 4, 1, 3, link_a);
    apply(table, 6, 1, 3, link_a);
    apply(table, 6, 2, 3, link_a);
    apply(table, 6, 3, 3, link_b);
    apply(table, 6, 4, 4, link_a); /* elsewhere the same link-layer address is another device */
    uint64_t device = device_of(table, 4, 1, 0);
    assert_true(device != 0);
    assert_int_equal(device_of(table, 6, 1, 0), device);
    assert_int_equal(device_of(table, 6, 2, 3), device);
    assert_int_not_equal(device_of(table, 6, 3, 0), device);
    assert_int_not_equal(device_of(table, 6, 4, 0), device);
    assert_int_equal(device_of(table, 6, 2, 4), 0);
    assert_int_equal(device_of(table, 4, 2, 0), 0);

    apply(table, 4, 1, 3, link_b); /* the address has moved */
    assert_int_equal(device_of(table, 4, 1, 0), device_of(table, 6, 3, 0));
    apply(table, 4, 1, 3, NULL);
    apply(table, 4, 1, 3, NULL);
    assert_int_equal(device_of(table, 4, 1, 0), 0);
    neighbour_table_free(table);
}

TEST(an_address_on_two_links_is_ambiguous)
{
    struct neighbour_table *table = make(16);
    struct neighbour wanted = neighbour_of(6, 1, 0, NULL);
    uint64_t device = 0;

    apply(table, 6, 1, 3, link_a);
    apply(table, 6, 1, 4, link_b);
    assert_int_equal(neighbour_table_find(table, 6, wanted.bytes, 0, &device), NEIGHBOUR_AMBIGUOUS);
    assert_int_not_equal(device_of(table, 6, 1, 3), device_of(table, 6, 1, 4));
    apply(table, 6, 1, 4, NULL);
    assert_int_equal(device_of(table, 6, 1, 0), device_of(table, 6, 1, 3));
    neighbour_table_free(table);
}

TEST(numbers_depend_on_the_key)
{
    static const uint8_t other_key[KEYED_HASH_KEY_BYTES] = {8};
    struct neighbour_table *table = make(4);
    struct neighbour_table *other = NULL;

    assert_int_equal(neighbour_table_new(alloc_system(), 4, other_key, &other), 0);
    apply(table, 4, 1, 3, link_a);
    apply(other, 4, 1, 3, link_a);
    assert_int_not_equal(device_of(table, 4, 1, 0), device_of(other, 4, 1, 0));
    neighbour_table_free(table);
    neighbour_table_free(other);
}

/* A full table takes no further address, says so, and has room again after the next filling. */
TEST(the_table_is_bounded)
{
    static const uint8_t elsewhere[8] = {0x20, 0x01};
    struct neighbour_table *table = make(8);

    for (uint8_t last = 1; last <= 200; last++) {
        apply(table, 6, last, 3, link_a);
    }
    assert_true(device_of(table, 6, 8, 0) != 0);
    assert_true(neighbour_table_is_incomplete(table));
    assert_true(neighbour_table_covers(table, elsewhere)); /* it may have been left out */
    assert_int_equal(device_of(table, 6, 9, 0), 0);

    neighbour_table_begin(table);
    assert_true(neighbour_table_is_incomplete(table));
    apply(table, 6, 1, 3, link_a);
    apply(table, 4, 9, 3, NULL);
    neighbour_table_end(table);
    assert_true(device_of(table, 6, 1, 0) != 0);
    assert_int_equal(device_of(table, 6, 2, 0), 0);
    assert_false(neighbour_table_is_incomplete(table));
    assert_false(neighbour_table_covers(table, elsewhere));
    struct neighbour own = neighbour_of(6, 77, 0, NULL);
    assert_true(neighbour_table_covers(table, own.bytes));
    apply(table, 6, 9, 3, link_b);
    assert_true(device_of(table, 6, 9, 0) != 0);
    neighbour_table_free(table);
}

TEST(connected_addresses_are_counted)
{
    struct neighbour_table *table = make(64);

    for (uint8_t last = 1; last <= 10; last++) {
        apply(table, 6, last, 3, link_a);
        apply(table, 4, last, 3, link_b);
    }
    uint64_t device = device_of(table, 6, 1, 0);
    for (uint8_t last = 1; last <= 10; last++) {
        struct neighbour wanted = neighbour_of(6, last, 0, NULL);
        assert_int_equal(neighbour_table_use(table, 6, wanted.bytes, device), last);
        assert_int_equal(neighbour_table_use(table, 6, wanted.bytes, device), 0);
    }
    apply(table, 6, 1, 3, link_a); /* the same again */
    apply(table, 6, 2, 3, NULL);
    apply(table, 6, 2, 3, link_a);
    struct neighbour wanted = neighbour_of(6, 2, 0, NULL);
    assert_int_equal(neighbour_table_use(table, 6, wanted.bytes, device), 10);
    neighbour_table_free(table);
}

/* Random changes, against a plain array. */
TEST(the_table_agrees_with_a_list)
{
    enum { LASTS = 60, INTERFACES = 3, STEPS = 20000, ROOM = 256 };
    uint8_t list[LASTS][INTERFACES] = {{0}}; /* 0: no entry, otherwise the last byte of the link */
    struct neighbour_table *table = make(ROOM);
    struct rng rng;

    rng_init(&rng);
    for (int step = 0; step < STEPS; step++) {
        uint8_t last = (uint8_t)rng_below(&rng, LASTS);
        uint8_t interface = (uint8_t)rng_below(&rng, INTERFACES);
        uint8_t link[6] = {2, [5] = (uint8_t)(1 + rng_below(&rng, 5))};
        bool is_there = rng_chance(&rng, 60);

        if (rng_chance(&rng, 1)) { /* filled again; half of the entries are still there */
            neighbour_table_begin(table);
            for (uint8_t i = 0; i < LASTS; i++) {
                for (uint8_t j = 0; j < INTERFACES; j++) {
                    uint8_t same[6] = {2, [5] = list[i][j]};
                    list[i][j] = list[i][j] != 0 && rng_chance(&rng, 50) ? list[i][j] : 0;
                    if (list[i][j] != 0) {
                        apply(table, 6, i, j + 1U, same);
                    }
                }
            }
            neighbour_table_end(table);
        }
        list[last][interface] = is_there ? link[5] : 0;
        apply(table, 6, last, interface + 1U, is_there ? link : NULL);
        for (uint8_t i = 0; i < LASTS; i++) {
            for (uint8_t j = 0; j < INTERFACES; j++) {
                uint8_t same[6] = {2, [5] = list[i][j]};
                struct neighbour expected = neighbour_of(6, i, j + 1U, same);
                uint64_t device = device_of(table, 6, i, j + 1U);
                assert_true(device ==
                            (list[i][j] == 0 ? 0 : neighbour_table_device(table, &expected)));
            }
        }
        assert_false(neighbour_table_is_incomplete(table)); /* no entry is kept beside these */
    }
    neighbour_table_free(table);
}

TEST(memory_that_runs_out)
{
    struct neighbour_table *table = NULL;
    struct fail_alloc fail;

    fail_alloc_init(&fail);
    for (size_t n = 1; n <= 3; n++) {
        fail_alloc_arm(&fail, n);
        assert_int_equal(neighbour_table_new(&fail.alloc, 8, key, &table), -ERR_NOMEM);
        assert_int_equal(fail.live_blocks, 0);
    }
    fail_alloc_arm(&fail, 0);
    assert_int_equal(neighbour_table_new(&fail.alloc, 8, key, &table), 0);
    neighbour_table_free(table);
    neighbour_table_free(NULL);
    assert_int_equal(fail.live_blocks, 0);
}

/* --- looking up ------------------------------------------------------------------------------- */

static unsigned reads;

/* A kernel of the test's own, in place of the real one while `is_there`. */
static struct {
    bool is_there;
    bool refuses;                   /* what is sent */
    bool has_lost;                  /* news: the next read says so */
    bool starts;                    /* timers are started, too */
    const struct datagram *to_read; /* by the next read; NULL: none */
    uint64_t wait_ms;               /* of the timer that was started last */
    uv_timer_t *timer;
    uv_timer_cb on_timer;
} kernel;

ssize_t __real_recvmsg(int descriptor, struct msghdr *message, int flags);
ssize_t __wrap_recvmsg(int descriptor, struct msghdr *message, int flags);
ssize_t __real_send(int descriptor, const void *bytes, size_t count, int flags);
ssize_t __wrap_send(int descriptor, const void *bytes, size_t count, int flags);
int __real_uv_timer_start(uv_timer_t *timer, uv_timer_cb callback, uint64_t wait, uint64_t repeat);
int __wrap_uv_timer_start(uv_timer_t *timer, uv_timer_cb callback, uint64_t wait, uint64_t repeat);

ssize_t __wrap_recvmsg(int descriptor, struct msghdr *message, int flags)
{
    reads++;
    if (!kernel.is_there) {
        return __real_recvmsg(descriptor, message, flags);
    }
    if (kernel.has_lost || kernel.to_read == NULL) {
        errno = kernel.has_lost ? ENOBUFS : EAGAIN;
        kernel.has_lost = false;
        return -1;
    }
    size_t count = kernel.to_read->count;
    memcpy(message->msg_iov[0].iov_base, kernel.to_read->bytes, count);
    kernel.to_read = NULL;
    return (ssize_t)count;
}

ssize_t __wrap_send(int descriptor, const void *bytes, size_t count, int flags)
{
    if (!kernel.is_there) {
        return __real_send(descriptor, bytes, count, flags);
    }
    errno = EOPNOTSUPP;
    return kernel.refuses ? -1 : (ssize_t)count;
}

int __wrap_uv_timer_start(uv_timer_t *timer, uv_timer_cb callback, uint64_t wait, uint64_t repeat)
{
    if (!kernel.is_there) {
        return __real_uv_timer_start(timer, callback, wait, repeat);
    }
    kernel.wait_ms = wait;
    kernel.timer = timer;
    kernel.on_timer = callback;
    return kernel.starts ? __real_uv_timer_start(timer, callback, wait, repeat) : 0;
}

static void close_all(struct devices *devices, uv_loop_t *loop)
{
    devices_close(devices);
    (void)uv_run(loop, UV_RUN_DEFAULT);
    devices_free(devices);
    assert_int_equal(uv_loop_close(loop), 0);
}

/* Looks up an address, for which the news are read. Nothing is known of it. */
static void read_news(struct devices *devices)
{
    static const uint8_t ipv4[4] = {192, 0, 2, 7};
    struct device_query query = {.family = 4, .bytes = ipv4};
    uint64_t device = 0;

    assert_int_equal(devices_find(devices, &query, &device), DEVICE_NONE);
}

static void check_waits(struct devices *devices)
{
    struct datagram done = {0};
    struct datagram torn = {0};
    struct datagram refused = {0};

    add_number(&done, NLMSG_DONE, 0, 0);
    add_number(&torn, NLMSG_DONE, NLM_F_DUMP_INTR, 0);
    add_number(&refused, NLMSG_ERROR, 0, -EOPNOTSUPP);
    for (uint64_t expected = 200; expected < 60000; expected *= 2) {
        assert_int_equal(kernel.wait_ms, expected);
        kernel.on_timer(kernel.timer);
    }
    kernel.refuses = false;
    for (int i = 0; i < 3; i++) { /* an answer may refuse it, too */
        assert_int_equal(kernel.wait_ms, 60000);
        kernel.wait_ms = 0;
        kernel.on_timer(kernel.timer);
        assert_int_equal(kernel.wait_ms, 0);
        kernel.to_read = &refused;
        read_news(devices);
    }
    kernel.on_timer(kernel.timer);
    kernel.to_read = &done; /* it comes after all */
    read_news(devices);
    kernel.has_lost = true;
    read_news(devices);
    assert_int_equal(kernel.wait_ms, 200);
    for (int i = 0; i < 3; i++) { /* one that was overtaken is asked for soon, again and again */
        kernel.on_timer(kernel.timer);
        kernel.wait_ms = 0;
        kernel.to_read = &torn;
        read_news(devices);
        assert_int_equal(kernel.wait_ms, 200);
    }
    kernel.refuses = true;
    kernel.on_timer(kernel.timer);
    assert_int_equal(kernel.wait_ms, 200);
}

/* A kernel that refuses the table for good, as an emulator does, is asked less and less often. */
TEST(a_refused_table_is_asked_for_less_often)
{
    struct devices *devices = NULL;
    uv_loop_t loop;

    assert_int_equal(uv_loop_init(&loop), 0);
    kernel.is_there = true;
    kernel.refuses = true;
    assert_int_equal(devices_open(alloc_system(), &loop, key, &devices), 0);
    if (kernel.timer != NULL) { /* NULL: the system has no such sockets */
        check_waits(devices);
    }
    kernel.is_there = false;
    close_all(devices, &loop);
    if (kernel.timer == NULL) {
        skip();
    }
}

/* A datagram about one address of 10.0.0.0/8. */
static void add_numbered(struct datagram *datagram, uint16_t number)
{
    struct ndmsg about = {.ndm_family = AF_INET, .ndm_ifindex = 3, .ndm_state = NUD_REACHABLE};
    struct nlmsghdr head = {.nlmsg_type = RTM_NEWNEIGH,
                            .nlmsg_len = sizeof(head) + sizeof(about) + 8 + 4 + sizeof(link_a) + 2};
    uint8_t ipv4[4] = {10, 0, (uint8_t)(number >> 8), (uint8_t)number};

    add(datagram, &head, sizeof(head));
    add(datagram, &about, sizeof(about));
    add_attribute(datagram, NDA_DST, ipv4, sizeof(ipv4));
    add_attribute(datagram, NDA_LLADDR, link_a, sizeof(link_a));
}

static void check_loss_of_full_table(struct devices *devices)
{
    struct datagram done = {0};

    for (uint16_t i = 0; i <= NEIGHBOUR_ENTRIES_MAX; i++) {
        struct datagram one = {0};

        add_numbered(&one, i);
        kernel.to_read = &one;
        read_news(devices);
    }
    add_number(&done, NLMSG_DONE, 0, 0);
    kernel.to_read = &done;
    read_news(devices);
    if (kernel.timer == NULL) { /* the system has no such sockets */
        return;
    }
    assert_int_equal(uv_timer_get_due_in(kernel.timer), 60000); /* it is full */
    kernel.has_lost = true;
    read_news(devices);
    assert_int_equal(uv_timer_get_due_in(kernel.timer), 200);
}

/* News that were lost are asked for soon, even while a table that was too large waits. */
TEST(a_loss_does_not_wait_for_a_full_table)
{
    struct devices *devices = NULL;
    uv_loop_t loop;

    assert_int_equal(uv_loop_init(&loop), 0);
    kernel.is_there = true;
    kernel.refuses = false;
    kernel.starts = true;
    kernel.timer = NULL;
    assert_int_equal(devices_open(alloc_system(), &loop, key, &devices), 0);
    check_loss_of_full_table(devices);
    kernel.is_there = false;
    kernel.starts = false;
    close_all(devices, &loop);
    if (kernel.timer == NULL) {
        skip();
    }
}

/* An address that has no entry is looked for in the news of the kernel, which costs a system call.
 * Those of loopback, such as phones behind a proxy of this machine, never have one. */
TEST(loopback_is_not_looked_up)
{
    static const uint8_t ipv4[][4] = {{192, 0, 2, 7}, {127, 0, 0, 1}, {127, 9, 8, 7}};
    static const uint8_t ipv6[][16] = {{0xfd, [15] = 1}, {[15] = 1}};
    struct devices *devices = NULL;
    uv_loop_t loop;
    uint64_t device = 0;

    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(devices_open(alloc_system(), &loop, key, &devices), 0);
    reads = 0;
    for (size_t i = 1; i < 3; i++) {
        struct device_query query = {.family = 4, .bytes = ipv4[i]};
        assert_int_equal(devices_find(devices, &query, &device), DEVICE_NONE);
    }
    struct device_query query = {.family = 6, .bytes = ipv6[1], .local = ipv6[1]};
    assert_int_equal(devices_find(devices, &query, &device), DEVICE_NONE);
    assert_int_equal(reads, 0);
    query = (struct device_query){.family = 4, .bytes = ipv4[0]};
    assert_int_equal(devices_find(devices, &query, &device), DEVICE_NONE);
    query = (struct device_query){.family = 6, .bytes = ipv6[0]};
    assert_int_equal(devices_find(devices, &query, &device), DEVICE_NONE);
    assert_true(reads >= 2 || reads == 0); /* 0: the system gives no table */
    close_all(devices, &loop);
}

int main(void)
{
    if (sodium_init() < 0) {
        return 1;
    }
    return check_run(NULL, NULL);
}
