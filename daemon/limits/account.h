/* SPDX-License-Identifier: Apache-2.0 */
/*
 * account: CPU time that a client, or a group of clients, has used lately. account_leak subtracts a
 * share of the time that has passed. So the account of a client that uses less than this share does
 * not grow in the long run. All times are in nanoseconds. The caller reads a monotonic clock for
 * `now_ns`.
 */
#pragma once

#include <stdint.h>

/* Zeroed, it is empty. */
struct account {
    uint64_t spent_ns;
    uint64_t at_ns; /* when that was so */
};

/* Subtracts from the account the time since the last account_leak or account_spend, divided by
 * `share` (>= 1). The account does not fall below 0. If the clock has gone back, subtracts nothing.
 */
static inline void account_leak(struct account *account, uint64_t now_ns, uint64_t share)
{
    if (now_ns > account->at_ns) {
        uint64_t leaked_ns = (now_ns - account->at_ns) / share;

        account->spent_ns = account->spent_ns > leaked_ns ? account->spent_ns - leaked_ns : 0;
    }
    account->at_ns = now_ns;
}

/* Adds `spent_ns` of CPU time, which ended at `now_ns`, but does not raise the account above
 * `most_ns`. */
static inline void account_spend(struct account *account, uint64_t now_ns, uint64_t spent_ns,
                                 uint64_t most_ns)
{
    uint64_t room_ns = most_ns > account->spent_ns ? most_ns - account->spent_ns : 0;

    account->spent_ns += spent_ns < room_ns ? spent_ns : room_ns;
    account->at_ns = now_ns;
}
