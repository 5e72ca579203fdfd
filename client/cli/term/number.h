/* SPDX-License-Identifier: Apache-2.0 */
/*
 * number: reads and prints numbers in the forms that people write.
 *
 * number_parse_*: 0, or NUMBER_REFUSED with *out_value unchanged. Signs, spaces, trailing
 * characters and empty strings are refused.
 */
#ifndef CLIENT_CLI_TERM_NUMBER_H
#define CLIENT_CLI_TERM_NUMBER_H

#include <stddef.h>
#include <stdint.h>

enum { NUMBER_REFUSED = 1 };

/* Decimal digits, min .. max. */
int number_parse(const char *text, uint64_t min, uint64_t max, uint64_t *out_value);

/*
 * A duration in milliseconds: decimal digits and a unit, ms, s, m, h, d or w (250ms, 90s, 15m, 2h,
 * 3d, 1w).
 */
int number_parse_duration(const char *text, uint64_t *out_ms);

/* Prints milliseconds in the largest unit that is exact: 250ms, 90s, 24h, 3d. */
enum { NUMBER_DURATION_BYTES = 24 };
void number_print_duration(uint64_t ms, char out[NUMBER_DURATION_BYTES]);

/*
 * A distance or similarity from 0 to 1 in millionths: at most six decimals, no floating point.
 * "0", "1", "0.75", ".5", "1.0".
 */
int number_parse_distance(const char *text, uint32_t *out_millionths);

/* The same for a JSON number; refused when it is no whole number of millionths. */
int number_round_distance(double value, uint32_t *out_millionths);

/* `count` bytes as 2 * count hexadecimal digits and a NUL. */
void number_print_hex(const uint8_t *bytes, size_t count, char *out);

/* Exactly 2 * count hexadecimal digits into `count` bytes. */
int number_parse_hex(const char *text, uint8_t *out_bytes, size_t count);

#endif
