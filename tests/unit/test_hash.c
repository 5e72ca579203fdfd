/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/hash.h"

#include "tests/lib/check.h"

/* XXH3 of nothing, as xxHash publishes it; everything longer is in tests/vectors. */
TEST(test_empty_input)
{
    struct hash128 hash = hash_label("", 0);

    assert_true(hash.high64 == UINT64_C(0x99aa06d3014798d8));
    assert_true(hash.low64 == UINT64_C(0x6001c324468d497f));
    assert_true(hash_seeded("", 0, 0) == UINT64_C(0x2d06800538d394c2));
}

TEST(test_seed_matters)
{
    assert_true(hash_seeded("abc", 3, 1) == hash_seeded("abc", 3, 1));
    assert_true(hash_seeded("abc", 3, 1) != hash_seeded("abc", 3, 2));
    assert_true(hash_seeded("abc", 3, 1) != hash_seeded("abd", 3, 1));
}
