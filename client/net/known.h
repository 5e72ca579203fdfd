/* SPDX-License-Identifier: Apache-2.0 */
/*
 * known: the file of known servers: each server with the pin of its key, one a line of text:
 *
 *   192.168.8.1:7117 9f2b... (64 hexadecimal digits)
 *
 * Empty lines and lines that begin with # are ignored, and kept. Within libhearsay only.
 */
#ifndef CLIENT_NET_KNOWN_H
#define CLIENT_NET_KNOWN_H

#include "client/hearsay.h"
#include "proto/tls/tls.h"

/*
 * Looks a server up. 0 with *out_pin; KNOWN_NOT when the file does not list it; HEARSAY_ERR_FILE
 * (*out_error names file and line), HEARSAY_ERR_SYSTEM, HEARSAY_ERR_NOMEM. An absent file counts as
 * an empty one.
 */
enum { KNOWN_NOT = 1 };
int known_find(const char *path, const char *server, uint8_t out_pin[TLS_PIN_BYTES],
               struct hearsay_error *out_error);

/* Adds a server that the file does not list; makes an absent file (mode 0600). See keep.h. */
int known_add(const char *path, const char *server, const uint8_t pin[TLS_PIN_BYTES],
              struct hearsay_error *out_error);

#endif
