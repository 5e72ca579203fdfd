/* SPDX-License-Identifier: Apache-2.0 */
/*
 * known: the file of known servers. Each line has a server and the pin of its key:
 *
 *   192.168.8.1:7117 9f2b... (64 hexadecimal digits)
 *
 * Empty lines and lines that begin with # have no meaning; they are kept when the file changes.
 * Only for files of libhearsay.
 */
#ifndef CLIENT_NET_KNOWN_H
#define CLIENT_NET_KNOWN_H

#include "client/hearsay.h"
#include "proto/tls/tls.h"

/*
 * Finds the pin of a server. Returns 0 with *out_pin; KNOWN_NOT when the file does not list the
 * server; HEARSAY_ERR_FILE for a wrong line before the line of the server (*out_error has the line
 * number), or for a file that is too large or not regular; HEARSAY_ERR_SYSTEM; HEARSAY_ERR_NOMEM.
 * An absent file counts as empty.
 */
enum { KNOWN_NOT = 1 };
int known_find(const char *path, const char *server, uint8_t out_pin[TLS_PIN_BYTES],
               struct hearsay_error *out_error);

/*
 * Adds a server that the file does not list. Creates the file (mode 0600) if there is none. Returns
 * what keep_write_text returns (client/keep.h), or HEARSAY_ERR_FILE.
 */
int known_add(const char *path, const char *server, const uint8_t pin[TLS_PIN_BYTES],
              struct hearsay_error *out_error);

#endif
