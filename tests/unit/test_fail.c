/* SPDX-License-Identifier: Apache-2.0 */
#include "client/fail.h"

#include <errno.h>

#include "tests/lib/check.h"

/* Before, the text was missing with any libc but glibc, which has a strerror_r of its own. */
TEST(test_the_systems_reason_follows)
{
    struct hearsay_error error;
    char expected[256];

    for (int number = 1; number < 100; number++) {
        assert_int_equal(fail_set_errno(&error, HEARSAY_ERR_CONNECT, number, "port %d", 7117),
                         HEARSAY_ERR_CONNECT);
        (void)snprintf(expected, sizeof(expected), "port 7117: %s", strerror(number));
        assert_string_equal(error.sentence, expected);
    }
}

TEST(test_numbers_that_are_no_errors)
{
    struct hearsay_error error;

    (void)fail_set_errno(&error, HEARSAY_ERR_CONNECT, 123456, "x");
    assert_non_null(strstr(error.sentence, "x: "));
    assert_true(strlen(error.sentence) > strlen("x: "));
    assert_null(strstr(error.sentence, "null"));
}

TEST(test_a_long_sentence_is_cut)
{
    struct hearsay_error error;
    char text[2 * sizeof(error.sentence)];

    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    (void)fail_set_errno(&error, HEARSAY_ERR_CONNECT, ECONNREFUSED, "%s", text);
    assert_int_equal(strlen(error.sentence), sizeof(error.sentence) - 1);
}
