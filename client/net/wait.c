/* SPDX-License-Identifier: Apache-2.0 */
#include "client/net/wait.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>

#include "client/fail.h"
#include "client/now.h"

int64_t wait_deadline_ms(int timeout_ms)
{
    return now_monotonic_ms() + timeout_ms;
}

int wait_for(int fd, short events, int64_t deadline_ms, struct hearsay_error *out_error)
{
    for (;;) {
        int64_t left_ms = deadline_ms - now_monotonic_ms();
        if (left_ms < 0) {
            left_ms = 0;
        }
        struct pollfd waited = {.fd = fd, .events = events};
        int count = poll(&waited, 1, left_ms > INT_MAX ? INT_MAX : (int)left_ms);
        if (count > 0) {
            return HEARSAY_OK;
        }
        if (count == 0 && left_ms <= INT_MAX) {
            return WAIT_TIMEOUT;
        }
        if (count < 0 && errno != EINTR) {
            return fail_set_errno(out_error, HEARSAY_ERR_SYSTEM, errno, "cannot wait for a socket");
        }
    }
}
