/* SPDX-License-Identifier: Apache-2.0 */
/*
 * out: writes to standard output and standard error: text for people, with colours on a terminal,
 * and JSON for programs. Text of other people passes through text.h, which escapes control
 * characters.
 */
#ifndef CLIENT_CLI_TERM_OUT_H
#define CLIENT_CLI_TERM_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "client/hearsay.h"

struct out {
    FILE *stream;  /* borrowed */
    bool terminal; /* the stream is a terminal */
    bool colour;   /* terminal, and neither NO_COLOR nor TERM=dumb */
    size_t width;  /* columns; 0: no limit */
};

enum out_colour { OUT_PLAIN, OUT_BOLD, OUT_DIM, OUT_GREEN, OUT_YELLOW, OUT_RED };

/* Checks the stream's descriptor and NO_COLOR, TERM and COLUMNS. */
void out_init(struct out *out, FILE *stream);

/* Switches to a colour, or back with OUT_PLAIN. Does nothing where colours are off. */
void out_colour(const struct out *out, enum out_colour colour);

/* Prints the escaped form of a text of others; at most `width` columns, 0: no limit. */
void out_text(const struct out *out, const char *text, size_t width);

/*
 * Prints ASCII text that starts in `column`, and breaks it at blanks and after commas where the
 * terminal is too narrow. Further lines start in the same column. No line feed at the end.
 */
void out_fold(const struct out *out, const char *text, size_t column);

/* Prints bytes as hexadecimal digits, two a byte. */
void out_hex(const struct out *out, const uint8_t *bytes, size_t count);

/* Prints a bar of `cells` cells in steps of an eighth, and the similarity with two decimals. */
void out_similarity(const struct out *out, uint32_t millionths, size_t cells);

/* A size such as "1.4 kB"; at most 15 characters. */
void out_print_size(uint64_t bytes, char out[16]);

/* Millionths as a decimal without trailing zeros: 0, 0.75, 1. */
void out_print_millionths(uint32_t millionths, char out[16]);

/*
 * Prints one compact line of JSON and takes the reference. On a terminal all but ASCII is escaped.
 * 0, or OUT_NOMEM when `value` is NULL or memory is out; write errors stay in the stream.
 */
enum { OUT_NOMEM = 1, OUT_WRITE = 2 };
int out_json(const struct out *out, json_t *value);

/* The same as a string, owned (free); NULL when memory is out. */
char *out_json_text(json_t *value);

/* Flushes. 0, or OUT_WRITE with errno when any write since out_init failed. */
int out_flush(const struct out *out);

/* Whether the stream is a pipe or socket whose other end is closed. Keeps errno. */
bool out_has_no_reader(const struct out *out);

/* JSON values; NULL when memory is out. */
json_t *out_json_hex(const uint8_t *bytes, size_t count);
json_t *out_json_base64(const uint8_t *bytes, size_t count);
json_t *out_json_time(int64_t ms);
json_t *out_json_millionths(uint32_t millionths); /* a number from 0 to 1 */

/* Whether a payload is shown as text: its type is text/... and it is UTF-8 without NUL. */
bool out_is_text(const char *media_type, const uint8_t *payload, size_t count);

/* Sets "text" or "payload_base64". 0 or OUT_NOMEM. */
int out_json_payload(json_t *object, const char *media_type, const uint8_t *payload, size_t count);

/*
 * A result as the object that query prints: id, distance, intersection, union,
 * estimated_similarity, deposited, expires, and text, payload_base64 or payload_omitted. With
 * `typed` also type. NULL when memory is out.
 */
json_t *out_json_result(const struct hearsay_result *result, bool typed);

#endif
