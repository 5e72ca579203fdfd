/* SPDX-License-Identifier: Apache-2.0 */
/*
 * number: parses and prints numbers in the forms that people write.
 *
 * number_parse_* return 0, or NUMBER_REFUSED with *out_value unchanged (number_parse_hex may have
 * changed *out_bytes). They refuse signs, spaces, trailing characters and empty strings.
 */
#ifndef CLIENT_CLI_TERM_NUMBER_H
#define CLIENT_CLI_TERM_NUMBER_H

#include <stddef.h>
#include <stdint.h>

enum { NUMBER_REFUSED = 1 };

/* Decimal digits, min .. max. */
int number_parse(const char *text, uint64_t min, uint64_t max, uint64_t *out_value);

/*
 * Parses a duration: decimal digits and one of the units ms, s, m, h, d and w. Examples: 250ms,
 * 90s, 15m, 2h, 3d, 1w. Writes milliseconds.
 */
int number_parse_duration(const char *text, uint64_t *out_ms);

/*
 * Prints a duration in the largest of the units d, h, m, s and ms that gives a whole number: 250ms,
 * 90s, 24h, 3d. Days are used for 48 hours and more.
 */
enum { NUMBER_DURATION_BYTES = 24 };
void number_print_duration(uint64_t ms, char out[NUMBER_DURATION_BYTES]);

/*
 * Parses a distance or similarity from 0 to 1 that is a whole number of millionths: "0", "1",
 * "0.75", ".5", "1.0". Writes millionths. Uses no floating point.
 */
int number_parse_distance(const char *text, uint32_t *out_millionths);

/*
 * Converts a JSON number from 0 to 1 to millionths. Refuses a value that is not a whole number of
 * millionths (rounding errors of a double are allowed).
 */
int number_round_distance(double value, uint32_t *out_millionths);

/* Prints `count` bytes as 2 * count hexadecimal digits and a NUL. */
void number_print_hex(const uint8_t *bytes, size_t count, char *out);

/* Parses exactly 2 * count hexadecimal digits into `count` bytes. */
int number_parse_hex(const char *text, uint8_t *out_bytes, size_t count);

#endif
