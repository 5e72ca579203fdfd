/* SPDX-License-Identifier: Apache-2.0 */
/* clock: the clocks of this machine. */
#ifndef CLIENT_CLI_TERM_CLOCK_H
#define CLIENT_CLI_TERM_CLOCK_H

#include <stdint.h>

/* Returns the microseconds of the monotonic clock. The zero of this clock is arbitrary. */
int64_t clock_monotonic_us(void);

/* The wall clock: Unix milliseconds. */
int64_t clock_unix_ms(void);

#endif
