/* SPDX-License-Identifier: Apache-2.0 */
/* The ids of messages that the operator has removed, in memory. */
#include "daemon/host/host.h"

#include "core/base/err.h"
#include "tests/lib/check.h"
#include "tests/lib/fail_alloc.h"

static const uint8_t *id_of(uint32_t number)
{
    static uint8_t id[MESSAGE_ID_BYTES];

    memcpy(id, &number, sizeof(number));
    return id;
}

/* An id is known until its message would have expired, to the millisecond. */
TEST(test_until_expiry)
{
    struct removed removed = {.list = NULL};

    assert_false(removed_has(&removed, id_of(1), 0));
    assert_int_equal(removed_put(&removed, alloc_system(), id_of(1), 100), 0);
    assert_true(removed_has(&removed, id_of(1), 99));
    assert_false(removed_has(&removed, id_of(1), 100));
    assert_false(removed_has(&removed, id_of(2), 0));
    assert_int_equal(removed_put(&removed, alloc_system(), id_of(1), 300), 0); /* another message */
    assert_true(removed_has(&removed, id_of(1), 299));
    assert_int_equal(removed.count, 1);
    removed_deinit(&removed, alloc_system());
    removed_deinit(&removed, alloc_system());
}

/* Of more than REMOVED_KEPT those are known that expire last. */
TEST(test_bound)
{
    struct removed removed = {.list = NULL};

    for (uint32_t i = 0; i < REMOVED_KEPT + 10; i++) {
        assert_int_equal(removed_put(&removed, alloc_system(), id_of(i), 1000 + i), 0);
    }
    for (uint32_t i = 0; i < REMOVED_KEPT + 10; i++) {
        assert_int_equal(removed_has(&removed, id_of(i), 0), i >= 10);
    }
    removed_deinit(&removed, alloc_system());
}

TEST(test_no_memory)
{
    struct removed removed = {.list = NULL};
    struct fail_alloc fail;

    fail_alloc_init(&fail);
    fail_alloc_arm(&fail, 1);
    assert_int_equal(removed_put(&removed, &fail.alloc, id_of(1), 100), -ERR_NOMEM);
    assert_false(removed_has(&removed, id_of(1), 0));
    assert_int_equal(removed_put(&removed, &fail.alloc, id_of(1), 100), 0);
    removed_deinit(&removed, &fail.alloc);
}
