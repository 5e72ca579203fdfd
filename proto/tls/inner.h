/* SPDX-License-Identifier: Apache-2.0 */
/* tls_inner: types and functions that contexts and pipes share. Only this folder uses this file. */
#pragma once

#include <openssl/ssl.h>

#include "proto/tls/tls.h"

struct tls_context {
    SSL_CTX *ssl;
};

/* Writes the pin of a certificate. certificate NULL: the pin is all zero. */
void tls_inner_pin(const X509 *certificate, uint8_t out_pin[TLS_PIN_BYTES]);
