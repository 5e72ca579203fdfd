/* SPDX-License-Identifier: Apache-2.0 */
/* qr: QR codes, by libqrencode. */
#ifndef CLIENT_WEB_QR_H
#define CLIENT_WEB_QR_H

#include <stdbool.h>
#include <stddef.h>

enum { QR_TEXT_BYTES = 512, QR_SVG_BYTES = 16 * 1024 };

/* Writes a text as an SVG of one path, black on nothing, with the margin that readers need. 0,
 * -ERR_NOMEM; or QR_TOO_LONG. out_svg has QR_SVG_BYTES. */
enum { QR_TOO_LONG = 1 };
int qr_svg(const char *text, char *out_svg);

/* Writes the text that a phone joins a WiFi by: WIFI:T:WPA;S:...;P:...;; with \ ; , : " escaped.
 * Without a password the network is open. False: longer than QR_TEXT_BYTES. */
bool qr_wifi_text(const char *ssid, const char *password, char *out_text);

/* Writes a code for a terminal, two modules a character, with line feeds. 0, -ERR_NOMEM or
 * QR_TOO_LONG. out_text has QR_SVG_BYTES. */
int qr_terminal(const char *text, char *out_text);

#endif
