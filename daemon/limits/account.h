/* SPDX-License-Identifier: Apache-2.0 */
/*
 * account: processor time that somebody had lately. What was spent leaks away at a share of the
 * time that passes, so that whoever takes less than that share has an empty account. Nanoseconds of
 * one monotonic clock, which is the caller's.
 */
#ifndef DAEMON_LIMITS_ACCOUNT_H
#define DAEMON_LIMITS_ACCOUNT_H

#include <stdint.h>

/* Zeroed, it is empty. */
struct account {
    uint64_t spent_ns;
    uint64_t at_ns; /* when that was so */
};

/* One part in `share` (>= 1) of the time since then leaks away; a clock that went back begins anew.
 */
static inline void account_leak(struct account *account, uint64_t now_ns, uint64_t share)
{
    if (now_ns > account->at_ns) {
        uint64_t leaked_ns = (now_ns - account->at_ns) / share;

        account->spent_ns = account->spent_ns > leaked_ns ? account->spent_ns - leaked_ns : 0;
    }
    account->at_ns = now_ns;
}

/* What was spent from its last time until now_ns; the account holds no more than most_ns. */
static inline void account_spend(struct account *account, uint64_t now_ns, uint64_t spent_ns,
                                 uint64_t most_ns)
{
    uint64_t room_ns = most_ns > account->spent_ns ? most_ns - account->spent_ns : 0;

    account->spent_ns += spent_ns < room_ns ? spent_ns : room_ns;
    account->at_ns = now_ns;
}

#endif
