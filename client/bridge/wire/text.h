/* SPDX-License-Identifier: Apache-2.0 */
/* text: the lines of `hearsay-bridge status`, of at most 60 columns. */
#ifndef CLIENT_BRIDGE_WIRE_TEXT_H
#define CLIENT_BRIDGE_WIRE_TEXT_H

#include <stdio.h>

/* Writes a word of at most 10 characters ("": none) and a text behind it, in as many lines as the
 * text needs. */
void text_print(FILE *out, const char *word, const char *text);

#endif
