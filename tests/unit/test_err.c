/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/err.h"

#include <limits.h>

#include "tests/lib/check.h"

/* Every error has a text, whichever sign it comes with. */
TEST(test_every_error_has_its_text)
{
#define CHECK_TEXT(name, number, text)         \
    assert_string_equal(err_text(name), text); \
    assert_string_equal(err_text(-name), text);
    ERR_TABLE(CHECK_TEXT)
#undef CHECK_TEXT
}

TEST(test_unknown_numbers_have_a_text)
{
    static const int unknown[] = {0, 7, -7, 1000, -1000, INT_MAX, INT_MIN};

    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        assert_string_equal(err_text(unknown[i]), "unknown error");
    }
}
