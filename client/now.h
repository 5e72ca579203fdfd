/* SPDX-License-Identifier: Apache-2.0 */
/* now: reads the monotonic clock and the wall clock. Only for files of libhearsay and its tests. */
#pragma once

#include <stdint.h>

/*
 * The monotonic clock. This clock never goes back. Its zero is arbitrary. All deadlines of
 * libhearsay are on this clock.
 */
int64_t now_monotonic_ms(void);

/* The wall clock of this machine, as Unix time. This clock may be wrong and may go back. */
int64_t now_unix_ms(void);
