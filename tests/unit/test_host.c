/* SPDX-License-Identifier: Apache-2.0 */
/* One host: which messages it admits. */
#include "daemon/host/host.h"

#include "core/base/err.h"
#include "core/filter/bloom.h"
#include "tests/lib/fail_alloc.h"
#include "tests/lib/profile_of.h"
#include "tests/lib/rng.h"
#include "tests/reference/check.h"

enum { BITS = 512, FILTER_BYTES = BITS / 8, WORDS = BITS / 64 };

/* --- fixture ---------------------------------------------------------------------------------- */

static struct config_host make_config(void)
{
    return (struct config_host){.name = "default",
                                .profile = profile_of("v2:512/4"),
                                .messages_max = 10,
                                .bytes_max = 1000};
}

static void make_host(struct host *host, const struct config_host *config,
                      const struct alloc *alloc)
{
    assert_int_equal(host_init(host, config, 3, alloc, bits_select(BITS_SCALAR), 7), 0);
}

static struct persist_message make_message(uint8_t number, const uint8_t *filter)
{
    struct persist_message message = {
        .host = 3,
        .id = {number},
        .filter = filter,
        .filter_bytes = FILTER_BYTES,
        .media_type_bytes = 10,
        .payload_bytes = 200,
        .deposited_ms = 1000 + number,
        .expires_ms = 5000,
        .reach_ppm = 400000,
    };

    return message;
}

/* --- beginning and end ------------------------------------------------------------------------ */

TEST(a_new_host_is_empty)
{
    const struct config_host config = make_config();
    struct fail_alloc alloc;
    struct host host;

    fail_alloc_init(&alloc);
    make_host(&host, &config, &alloc.alloc);
    assert_string_equal(host.profile_text, "v2:512/4");
    assert_int_equal(host.number, 3);
    assert_int_equal(host.filter_bytes, FILTER_BYTES);
    assert_int_equal(host.filter_words, WORDS);
    assert_int_equal(index_count(host.epochs[0]->index), 0);
    assert_int_equal(host.usage.messages, 0);
    assert_int_equal(host.usage.bytes, 0);
    host_deinit(&host);
    host_deinit(&host); /* a zeroed one is fine */
    assert_int_equal(alloc.live_blocks, 0);
}

/* Whichever request for memory fails, the caller is told and nothing is left. */
TEST(no_memory_leaves_nothing)
{
    const struct config_host config = make_config();
    struct fail_alloc alloc;
    struct host host;
    int rc = -ERR_NOMEM;
    size_t n = 0;

    fail_alloc_init(&alloc);
    while (rc != 0) {
        fail_alloc_arm(&alloc, ++n);
        rc = host_init(&host, &config, 3, &alloc.alloc, bits_select(BITS_SCALAR), 7);
        assert_true(rc == 0 || rc == -ERR_NOMEM);
        assert_true(rc == 0 || alloc.live_blocks == 0);
        assert_true(rc == 0 || host.epochs[0] == NULL);
    }
    assert_true(n > 2);
    host_deinit(&host);
    assert_int_equal(alloc.live_blocks, 0);
}

/* --- messages --------------------------------------------------------------------------------- */

/* A stored message comes into the index with its times, reach and size; again, it changes nothing.
 */
TEST(admitted_messages_are_found)
{
    const struct config_host config = make_config();
    uint8_t bytes[FILTER_BYTES] = {0x81, 0, 0xff};
    uint64_t filter[WORDS];
    uint64_t found[WORDS];
    struct index_item item;
    struct host host;

    make_host(&host, &config, alloc_system());
    struct persist_message message = make_message(9, bytes);
    assert_int_equal(host_message_bytes(&message), FILTER_BYTES + 10 + 200);
    assert_int_equal(host_admit(&host, &message), 0);
    assert_int_equal(index_find(host.epochs[0]->index, message.id, &item, found), 0);
    assert_int_equal(item.deposited_ms, 1009);
    assert_int_equal(item.expires_ms, 5000);
    assert_int_equal(item.reach_ppm, 400000);
    assert_int_equal(item.bytes, FILTER_BYTES + 210);
    assert_int_equal(bloom_load(filter, BITS, bytes, sizeof(bytes)), 0);
    assert_memory_equal(found, filter, sizeof(filter));

    message.expires_ms = 6000;
    assert_int_equal(host_admit(&host, &message), 0);
    assert_int_equal(index_count(host.epochs[0]->index), 1);
    assert_int_equal(index_find(host.epochs[0]->index, message.id, &item, NULL), 0);
    assert_int_equal(item.expires_ms, 5000);
    host_deinit(&host);
}

/* A filter of another profile in the store is damage, whether shorter or longer. */
TEST(filters_of_another_profile_are_damage)
{
    static const size_t lengths[] = {0, 1, FILTER_BYTES - 1, FILTER_BYTES + 1, 2 * FILTER_BYTES};
    const struct config_host config = make_config();
    uint8_t bytes[2 * FILTER_BYTES] = {1};
    struct host host;

    make_host(&host, &config, alloc_system());
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        struct persist_message message = make_message(1, bytes);
        message.filter_bytes = lengths[i];
        assert_int_equal(host_admit(&host, &message), -ERR_DAMAGED);
    }
    assert_int_equal(index_count(host.epochs[0]->index), 0);
    host_deinit(&host);
}

/* Without memory a message is not in the index, in no part; with it, it is. */
TEST(no_memory_admits_nothing)
{
    const struct config_host config = make_config();
    uint8_t bytes[FILTER_BYTES] = {1};
    struct fail_alloc alloc;
    struct host host;
    int rc = -ERR_NOMEM;
    size_t n = 0;

    fail_alloc_init(&alloc);
    make_host(&host, &config, &alloc.alloc);
    const struct persist_message message = make_message(1, bytes);
    while (rc != 0) {
        fail_alloc_arm(&alloc, ++n);
        rc = host_admit(&host, &message);
        assert_true(rc == 0 || rc == -ERR_NOMEM);
        assert_int_equal(index_count(host.epochs[0]->index), rc == 0 ? 1 : 0);
        assert_null(check_index(host.epochs[0]->index));
    }
    assert_true(n > 1);
    host_deinit(&host);
    assert_int_equal(alloc.live_blocks, 0);
}
