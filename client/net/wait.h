/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait: waits for a file descriptor until a deadline. Deadlines are on the clock of
 * now_monotonic_ms.
 */
#pragma once

#include "client/hearsay.h"

/* Returns the deadline that is timeout_ms (0 or more) from now. */
int64_t wait_deadline_ms(int timeout_ms);

enum { WAIT_TIMEOUT = 1 }; /* a named outcome: the deadline has passed */

/*
 * Waits until poll reports one of `events` or an error condition on `fd`. The next read or write of
 * the descriptor tells which error. If the deadline has already passed, polls without waiting.
 * Returns 0, WAIT_TIMEOUT or HEARSAY_ERR_SYSTEM.
 */
int wait_for(int fd, short events, int64_t deadline_ms, struct hearsay_error *out_error);
