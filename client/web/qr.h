/* SPDX-License-Identifier: Apache-2.0 */
/* qr: QR codes, by libqrencode. */
#pragma once

#include <stdbool.h>

enum { QR_TEXT_BYTES = 512, QR_SVG_BYTES = 16 * 1024 };

/* Outcome: the text, or the code of it, is longer than its buffer. */
enum { QR_TOO_LONG = 1 };

/*
 * Writes a text as an SVG of one path, black on nothing, with the margin that readers need. The
 * text is UTF-8 and not empty. out_svg has QR_SVG_BYTES; QR_TEXT_BYTES of text always fit. 0,
 * -ERR_NOMEM or QR_TOO_LONG; after an error out_svg is undefined.
 */
int qr_svg(const char *text, char *out_svg);

/*
 * Writes a code for a terminal with light letters on dark ground: two modules a character, with
 * line feeds. As qr_svg.
 */
int qr_terminal(const char *text, char *out_text);

/*
 * Writes the text that a phone joins a WiFi by: WIFI:T:WPA;S:...;P:...;; with \ ; , : " escaped.
 * Without a password (NULL or "") the network is open. out_text has QR_TEXT_BYTES + 1. False: the
 * text is longer.
 */
bool qr_wifi_text(const char *ssid, const char *password, char *out_text);
