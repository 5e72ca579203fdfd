/* SPDX-License-Identifier: Apache-2.0 */
/* What was spent leaks away at a share of the time, and never counts for more than the most. */
#include "daemon/limits/account.h"

#include "tests/lib/check.h"

enum { SHARE = 4, MOST = 1000 };

TEST(what_was_spent_leaks_away)
{
    struct account account = {0};

    account_spend(&account, 100, 60, MOST);
    assert_int_equal(account.spent_ns, 60);
    account_leak(&account, 140, SHARE);
    assert_int_equal(account.spent_ns, 50);
    account_leak(&account, 140, SHARE);
    assert_int_equal(account.spent_ns, 50);
    account_leak(&account, 340, SHARE);
    assert_int_equal(account.spent_ns, 0);
    account_leak(&account, UINT64_MAX, SHARE);
    assert_int_equal(account.spent_ns, 0);
}

TEST(no_more_than_the_most)
{
    struct account account = {0};

    account_spend(&account, 10, MOST - 1, MOST);
    account_spend(&account, 20, UINT64_MAX, MOST);
    assert_int_equal(account.spent_ns, MOST);
    account_spend(&account, 30, 5, MOST / 2); /* a lower most takes nothing back */
    assert_int_equal(account.spent_ns, MOST);
}

/* Tests and emulators have such clocks; nobody is let off, and nothing is stuck for it. */
TEST(a_clock_that_goes_back)
{
    struct account account = {0};

    account_spend(&account, 1000000, 100, MOST);
    account_leak(&account, 400, SHARE);
    assert_int_equal(account.spent_ns, 100);
    account_leak(&account, 800, SHARE);
    assert_int_equal(account.spent_ns, 0);
}

/* Whoever takes less than the share in the long run never has more than one helping. */
TEST(a_steady_taker)
{
    struct account modest = {0};
    struct account greedy = {0};
    uint64_t now_ns = 0;

    for (int i = 0; i < 1000; i++) {
        now_ns += 100;
        account_leak(&modest, now_ns, SHARE);
        account_leak(&greedy, now_ns, SHARE);
        account_spend(&modest, now_ns, 100 / SHARE - 1, MOST);
        account_spend(&greedy, now_ns, 100 / SHARE + 1, MOST);
    }
    assert_true(modest.spent_ns <= 100 / SHARE);
    assert_true(greedy.spent_ns >= MOST - 2);
}
