/* SPDX-License-Identifier: Apache-2.0 */
/*
 * known: servers met before, and the pins of their keys. A text file, one server a line:
 *
 *   192.168.8.1:7117 9f2b... (64 hexadecimal digits)
 *
 * Empty lines and those that begin with # are left alone. Within libhearsay only.
 */
#ifndef CLIENT_NET_KNOWN_H
#define CLIENT_NET_KNOWN_H

#include "client/hearsay.h"
#include "proto/tls/tls.h"

/*
 * Looks a server up. 0, KNOWN_NOT, or HEARSAY_ERR_FILE, HEARSAY_ERR_SYSTEM, HEARSAY_ERR_NOMEM with
 * file and line in *out_error. No file is the same as an empty one.
 */
enum { KNOWN_NOT = 1 };
int known_find(const char *path, const char *server, uint8_t out_pin[TLS_PIN_BYTES],
               struct hearsay_error *out_error);

/* Adds a server that is not known, and the file (mode 0600) where there is none; see keep.h. */
int known_add(const char *path, const char *server, const uint8_t pin[TLS_PIN_BYTES],
              struct hearsay_error *out_error);

#endif
