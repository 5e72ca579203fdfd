/* SPDX-License-Identifier: Apache-2.0 */
/*
 * when: prints and parses times in UTC, and prints time spans. Reads no clock. Uses 64 bits, also
 * where time_t has 32 bits.
 */
#ifndef CLIENT_CLI_TERM_WHEN_H
#define CLIENT_CLI_TERM_WHEN_H

#include <stddef.h>
#include <stdint.h>

enum { WHEN_BYTES = 40 }; /* size of any text below */

/*
 * Prints Unix milliseconds as ISO 8601 in UTC, such as 2026-11-20T14:05:09.123Z. Accepts any
 * int64_t.
 */
void when_print(int64_t ms, char out[WHEN_BYTES]);

/*
 * Parses YYYY-MM-DDThh:mm[:ss[.fff]]Z, with years 0000 to 9999 and a fraction of one to three
 * digits. Returns 0 or WHEN_REFUSED.
 */
enum { WHEN_REFUSED = 1 };
int when_parse(const char *text, int64_t *out_ms);

/*
 * Returns later_ms - earlier_ms. Returns INT64_MAX or INT64_MIN when the difference overflows: a
 * server may send any times.
 */
int64_t when_difference(int64_t later_ms, int64_t earlier_ms);

/*
 * Prints a time span in one unit, rounded down: "now" for less than a second, then 42s, 5m, 3h,
 * 12d.
 */
void when_print_span(int64_t ms, char out[WHEN_BYTES]);

#endif
