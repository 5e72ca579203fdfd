/* SPDX-License-Identifier: Apache-2.0 */
/*
 * out: writes to standard output and standard error: text for people, with colours on a terminal,
 * and JSON for programs. Text from other users is escaped here, so that control characters do
 * not reach the terminal.
 */
#pragma once

#include <stdio.h>

#include <jansson.h>

#include "client/hearsay.h"

struct out {
    FILE *stream;  /* borrowed */
    bool terminal; /* the stream is a terminal */
    bool colour;   /* terminal, TERM is set and not "dumb", and NO_COLOR is not set */
    size_t width;  /* columns; 0: no limit */
};

enum out_colour { OUT_PLAIN, OUT_BOLD, OUT_DIM, OUT_GREEN, OUT_YELLOW, OUT_RED };

/*
 * Initialises *out: checks whether the stream is a terminal, and reads NO_COLOR, TERM and COLUMNS.
 */
void out_init(struct out *out, FILE *stream);

/* Switches to a colour, or back to normal with OUT_PLAIN. Does nothing when colours are off. */
void out_colour(const struct out *out, enum out_colour colour);

/*
 * Prints text from another user in its escaped form, in at most `width` columns; 0 means no limit.
 */
void out_text(const struct out *out, const char *text, size_t width);

/*
 * Prints ASCII text. The cursor is at the column `column`. On a terminal, breaks lines after blanks
 * and commas so that the text fits, unless a word is wider than the line. Further lines start at
 * the same column. Prints no newline at the end.
 */
void out_fold(const struct out *out, const char *text, size_t column);

/* Prints bytes as hexadecimal digits, two a byte. */
void out_hex(const struct out *out, const uint8_t *bytes, size_t count);

/*
 * Prints a similarity as a bar of `cells` cells, in steps of an eighth of a cell, and as a number
 * with two decimals, rounded down.
 */
void out_similarity(const struct out *out, uint32_t millionths, size_t cells);

/* A size such as "1.4 kB"; at most 15 characters. */
void out_print_size(uint64_t bytes, char out[16]);

/* Millionths as a decimal without trailing zeros: 0, 0.75, 1. */
void out_print_millionths(uint32_t millionths, char out[16]);

/*
 * Prints a JSON value as one line and takes over the reference to the value. On a terminal,
 * characters other than ASCII are escaped. Returns 0, or OUT_NOMEM when `value` is NULL or memory
 * is out. The stream's error flag shows write errors.
 */
enum { OUT_NOMEM = 1, OUT_WRITE = 2 };
int out_json(const struct out *out, json_t *value);

/* Returns a JSON value as the line that out_json prints to a terminal, without the line feed. The
 * caller frees the string, and keeps the reference to `value`. Returns NULL when `value` is NULL or
 * memory is out. */
char *out_json_text(json_t *value);

/* Flushes the stream. Returns 0, or OUT_WRITE when a write since out_init has failed: errno has the
 * error of the flush, or 0. */
int out_flush(const struct out *out);

/*
 * Returns whether errno is EPIPE, or the stream is a pipe or socket whose other end is closed. Does
 * not change errno.
 */
bool out_has_no_reader(const struct out *out);

/* JSON values; NULL when memory is out, or for more than HEARSAY_FILTER_BYTES_MAX bytes in
 * hexadecimal. */
json_t *out_json_hex(const uint8_t *bytes, size_t count);
json_t *out_json_base64(const uint8_t *bytes, size_t count);
json_t *out_json_time(int64_t ms);
json_t *out_json_millionths(uint32_t millionths); /* a number from 0 to 1 */

/* The media type of a stored message; text/plain if the server leaves it out. */
const char *out_media_type(const struct hearsay_text *type);

/*
 * Returns whether a payload is shown as text: its type begins with text/, and its bytes are UTF-8
 * without NUL.
 */
bool out_is_text(const char *media_type, const uint8_t *payload, size_t count);

/*
 * Sets a key of an object, or appends to an array, and takes over the reference to `value`. When
 * `value` is NULL or memory is out, frees the object or array and sets its pointer to NULL. With a
 * pointer to NULL, only frees `value`.
 */
void out_json_set(json_t **object, const char *key, json_t *value);
void out_json_append(json_t **array, json_t *value);

/* Sets "text" or "payload_base64" as out_json_set does. */
void out_json_payload(json_t **object, const char *media_type, const uint8_t *payload,
                      size_t count);

/* A notice as JSON. Its member "notice", which no message has, is the number. NULL: no memory. */
json_t *out_json_notice(const struct hearsay_house_notice *notice);

/*
 * Converts a result to the JSON object that the query command prints, with the keys id, distance,
 * intersection, union, deposited and expires, and at most one of text,
 * payload_base64 and payload_omitted. If `typed` is set, also with the key type if the media type
 * is known. Returns NULL when memory is out.
 */
json_t *out_json_result(const struct hearsay_result *result, bool typed);

/* Returns an answer as --batch prints it, with the results of `array`, which it takes over. */
json_t *out_json_results(const struct hearsay_results *results, json_t *array);

/* Returns what --hood prints behind the results: how many hosts were asked. */
json_t *out_json_asked(const struct hearsay_results *results);

/* --- clock ------------------------------------------------------------------------------------ */

/* The clocks of this machine. */

/* Returns the microseconds of the monotonic clock. The zero of this clock is arbitrary. */
int64_t clock_monotonic_us(void);

/* The wall clock: Unix milliseconds. */
int64_t clock_unix_ms(void);

/* --- number ----------------------------------------------------------------------------------- */

/*
 * Parses and prints numbers in the forms that people write.
 *
 * number_parse_* return 0, or NUMBER_REFUSED with *out_value unchanged (number_parse_hex may have
 * changed *out_bytes). They refuse signs, spaces, trailing characters and empty strings.
 */

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

/* --- progress --------------------------------------------------------------------------------- */

/*
 * Shows a progress bar with rate and remaining time on standard error, if standard error
 * is a terminal.
 */

struct progress {
    const struct out *err; /* borrowed */
    uint64_t total_bytes;  /* of the input; 0: not known */
    int64_t began_ms;      /* monotonic, as all times here */
    int64_t drawn_ms;
    bool drawn; /* the bar is on the terminal now */
};

/* fd: the input; a file's size becomes total_bytes. */
void progress_init(struct progress *progress, const struct out *err, int fd, int64_t now_ms);

/*
 * Draws the bar, at most once in 200 ms. `bytes` is the number of bytes of the input that are done,
 * `messages` the number of messages.
 */
void progress_show(struct progress *progress, uint64_t bytes, uint64_t messages, int64_t now_ms);

/* Removes the bar. Call it before anything else is written to standard error. */
void progress_hide(struct progress *progress);

/* --- text ------------------------------------------------------------------------------------- */

/* Escapes text from other users for a terminal, as core/base/terminal.h says. */

/* Returns whether all bytes are UTF-8 without NUL. */
bool text_is_utf8(const char *bytes, size_t length);

/* Removes bytes that are not UTF-8, such as the half of a character that was cut. */
void text_drop_invalid(char *text);

/*
 * Prints the escaped form of the text. `width` is the largest number of columns, 0 means no limit.
 * Longer text is cut and ends with an ellipsis. Returns the number of columns printed. The stream's
 * error flag shows write errors.
 */
size_t text_print(FILE *stream, const char *bytes, size_t length, size_t width);

/* Counts the columns of the escaped form of the text. Stops counting just above `limit`. */
size_t text_columns(const char *bytes, size_t length, size_t limit);

/* Prints the escaped form of the text, without a limit of columns. Newlines and tabs are printed
 * unchanged. */
void text_print_lines(FILE *stream, const char *bytes, size_t length);

/* --- when ------------------------------------------------------------------------------------- */

/*
 * Prints and parses times in UTC, and prints time spans. Reads no clock. Uses 64 bits, also
 * where time_t has 32 bits.
 */

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
