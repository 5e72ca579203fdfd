/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/check.h"

enum { TESTS_MAX = 256 };

static struct check_test *first;

static bool is_before(const struct check_test *left, const struct check_test *right)
{
    const int files = strcmp(left->file, right->file);

    return files != 0 ? files < 0 : left->line < right->line;
}

void check_add(struct check_test *test)
{
    struct check_test **place = &first;

    while (*place != NULL && !is_before(test, *place)) {
        place = &(*place)->next;
    }
    test->next = *place;
    *place = test;
}

int check_run(CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
    struct CMUnitTest tests[TESTS_MAX];
    size_t count = 0;

    for (const struct check_test *test = first; test != NULL; test = test->next) {
        if (count == TESTS_MAX) {
            abort(); /* more than TESTS_MAX tests in one program */
        }
        tests[count++] = test->test;
    }
    cmocka_set_test_filter(getenv("HEARSAY_TEST"));
    return _cmocka_run_group_tests("tests", tests, count, set_up, tear_down);
}
