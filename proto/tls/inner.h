/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls_inner: what contexts and pipes share. Within tls only.
 */
#ifndef PROTO_TLS_INNER_H
#define PROTO_TLS_INNER_H

#include <openssl/ssl.h>

#include "proto/tls/tls.h"

struct tls_context {
    SSL_CTX *ssl;
};

/* The pin of a certificate; zeros where there is none. */
void tls_inner_pin(const X509 *certificate, uint8_t out_pin[TLS_PIN_BYTES]);

#endif
