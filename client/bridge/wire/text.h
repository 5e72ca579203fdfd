/* SPDX-License-Identifier: Apache-2.0 */
/* text: the lines of `hearsay-bridge status`, of at most 60 columns. */
#ifndef CLIENT_BRIDGE_WIRE_TEXT_H
#define CLIENT_BRIDGE_WIRE_TEXT_H

#include <stdint.h>
#include <stdio.h>

enum { TEXT_TIME_BYTES = 32 };

/* Writes a word of at most 10 characters ("": none) and a text behind it, in as many lines as the
 * text needs. */
void text_print(FILE *out, const char *word, const char *text);

/* Writes a time of the wall clock, in seconds, such as 2026-11-27 10:20:00 UTC. out has
 * TEXT_TIME_BYTES. */
void text_time(int64_t time_s, char *out);

#endif
