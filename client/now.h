/* SPDX-License-Identifier: Apache-2.0 */
/* now: the two clocks of libhearsay. Within libhearsay and its tests only. */
#ifndef CLIENT_NOW_H
#define CLIENT_NOW_H

#include <stdint.h>

/* The monotonic clock. It never goes back; its zero is arbitrary. Deadlines are on this clock. */
int64_t now_monotonic_ms(void);
int64_t now_monotonic_ns(void);

/* The local wall clock: Unix time. It may be wrong, and may go back. */
int64_t now_unix_ms(void);

#endif
