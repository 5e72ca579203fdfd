/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509err.h>

#include "core/base/err.h"
#include "proto/tls/inner.h"

/* --- sentences -------------------------------------------------------------------------------- */

/* Returns the text of the first error in OpenSSL's queue of errors, and empties the queue. Where
 * OpenSSL's words are for programmers, the text says what is wrong with the file. */
static const char *last_words(void)
{
    static const char *const plain[][2] = {
        {"no start line", "it is no PEM file with a certificate, -----BEGIN CERTIFICATE-----"},
        {"unsupported", "it is no PEM file with a key, -----BEGIN PRIVATE KEY-----"},
        {"bad decrypt",
         "it has a passphrase; `openssl pkey -in OLD -out NEW` writes a key without"},
    };
    unsigned long code = ERR_peek_error();
    const char *words = ERR_reason_error_string(code);

    if (words == NULL && ERR_SYSTEM_ERROR(code)) {
        words = strerror(ERR_GET_REASON(code));
    }
    ERR_clear_error();
    for (size_t i = 0; words != NULL && i < sizeof(plain) / sizeof(plain[0]); i++) {
        words = strcmp(words, plain[i][0]) == 0 ? plain[i][1] : words;
    }
    return words != NULL ? words : "unknown error";
}

static int context_fail(char *out_reason, const char *what, const char *file)
{
    (void)snprintf(out_reason, TLS_REASON_BYTES, "%s %s: %s", what, file, last_words());
    return -ERR_SYSTEM;
}

/* --- files ------------------------------------------------------------------------------------ */

/* Refuses a key file whose mode gives others any right, or the group the right to write. */
static int check_key_file(const char *file, char *out_reason)
{
    struct stat info;

    if (stat(file, &info) != 0) {
        (void)snprintf(out_reason, TLS_REASON_BYTES, "cannot read the key %s: %s", file,
                       strerror(errno));
        return -ERR_SYSTEM;
    }
    if ((info.st_mode & (S_IRWXO | S_IWGRP)) != 0) {
        (void)snprintf(out_reason, TLS_REASON_BYTES,
                       "others may read or change the key %s (mode %03o): run `chmod o= %s` and "
                       "`chmod g-w` on it",
                       file, (unsigned)(info.st_mode & 0777), file);
        return -ERR_SYSTEM;
    }
    return 0;
}

/* Nobody is there to type a passphrase. */
static int no_passphrase(char *buffer, int bytes, int writing, void *context)
{
    (void)buffer;
    (void)bytes;
    (void)writing;
    (void)context;
    return 0;
}

static int load_identity(SSL_CTX *context, const char *certificate, const char *key,
                         char *out_reason)
{
    SSL_CTX_set_default_passwd_cb(context, no_passphrase);
    if (SSL_CTX_use_certificate_chain_file(context, certificate) != 1) {
        return context_fail(out_reason, "cannot use the certificate", certificate);
    }
    int rc = check_key_file(key, out_reason);
    if (rc != 0) {
        return rc;
    }
    if (SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1 &&
        ERR_GET_REASON(ERR_peek_error()) != X509_R_KEY_VALUES_MISMATCH) {
        return context_fail(out_reason, "cannot use the key", key);
    }
    /* OpenSSL takes a key of another kind, for which there is no certificate then. */
    if (SSL_CTX_check_private_key(context) != 1) {
        ERR_clear_error();
        (void)snprintf(out_reason, TLS_REASON_BYTES, "the key %s is not that of the certificate %s",
                       key, certificate);
        return -ERR_SYSTEM;
    }
    return 0;
}

static int load_roots(SSL_CTX *context, const char *file, char *out_reason)
{
    return SSL_CTX_load_verify_file(context, file) == 1
               ? 0
               : context_fail(out_reason, "cannot use the certificates in", file);
}

/* --- contexts --------------------------------------------------------------------------------- */

static struct tls_context *new_context(const SSL_METHOD *method, char *out_reason)
{
    struct tls_context *context = calloc(1, sizeof(*context));

    if (context != NULL) {
        context->ssl = SSL_CTX_new(method);
    }
    if (context == NULL || context->ssl == NULL ||
        SSL_CTX_set_min_proto_version(context->ssl, TLS1_2_VERSION) != 1) {
        tls_context_free(context);
        ERR_clear_error();
        (void)snprintf(out_reason, TLS_REASON_BYTES, "no memory for TLS");
        return NULL;
    }
    SSL_CTX_set_options(context->ssl, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION |
                                          SSL_OP_NO_TICKET | SSL_OP_CIPHER_SERVER_PREFERENCE |
                                          SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_mode(context->ssl, SSL_MODE_ENABLE_PARTIAL_WRITE |
                                       SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                       SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_session_cache_mode(context->ssl, SSL_SESS_CACHE_OFF);
    (void)SSL_CTX_set_num_tickets(context->ssl, 0);
    return context;
}

int tls_server_new(const struct tls_server_options *options, struct tls_context **out_context,
                   char *out_reason)
{
    struct tls_context *context = new_context(TLS_server_method(), out_reason);

    if (context == NULL) {
        return -ERR_NOMEM;
    }
    int rc = load_identity(context->ssl, options->certificate, options->key, out_reason);
    if (rc == 0 && options->client_ca != NULL) {
        rc = load_roots(context->ssl, options->client_ca, out_reason);
        SSL_CTX_set_verify(context->ssl, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    }
    if (rc != 0) {
        tls_context_free(context);
        return rc;
    }
    *out_context = context;
    return 0;
}

int tls_client_new(const struct tls_client_options *options, struct tls_context **out_context,
                   char *out_reason)
{
    struct tls_context *context = new_context(TLS_client_method(), out_reason);
    int rc = 0;

    if (context == NULL) {
        return -ERR_NOMEM;
    }
    /*
     * The handshake goes on whatever certificate the server shows. The caller decides with
     * tls_pipe_objection.
     */
    SSL_CTX_set_verify(context->ssl, SSL_VERIFY_NONE, NULL);
    if (options->ca != NULL) {
        rc = load_roots(context->ssl, options->ca, out_reason);
    } else {
        (void)SSL_CTX_set_default_verify_paths(context->ssl); /* none: nothing is trusted */
        ERR_clear_error();
    }
    if (rc == 0 && options->certificate != NULL) {
        rc = load_identity(context->ssl, options->certificate, options->key, out_reason);
    }
    if (rc != 0) {
        tls_context_free(context);
        return rc;
    }
    *out_context = context;
    return 0;
}

void tls_context_free(struct tls_context *context)
{
    if (context != NULL) {
        SSL_CTX_free(context->ssl); /* counted: pipes hold it, too */
        free(context);
    }
}

/* --- validity --------------------------------------------------------------------------------- */

/* Converts a time to Unix milliseconds. A time before 1970 and a missing time are 0. */
static int64_t unix_ms(const ASN1_TIME *time)
{
    ASN1_TIME *epoch = ASN1_TIME_set(NULL, 0);
    int days = 0;
    int seconds = 0;

    if (epoch == NULL || time == NULL || ASN1_TIME_diff(&days, &seconds, epoch, time) != 1 ||
        days < 0 || seconds < 0) {
        days = 0;
        seconds = 0;
    }
    ASN1_TIME_free(epoch);
    ERR_clear_error();
    return ((int64_t)days * 86400 + seconds) * 1000;
}

int64_t tls_context_not_after_ms(const struct tls_context *context)
{
    STACK_OF(X509) *chain = NULL;
    int64_t first_ms = unix_ms(X509_get0_notAfter(SSL_CTX_get0_certificate(context->ssl)));

    (void)SSL_CTX_get0_chain_certs(context->ssl, &chain);
    for (int i = 0; i < sk_X509_num(chain); i++) { /* NULL has -1 */
        int64_t one_ms = unix_ms(X509_get0_notAfter(sk_X509_value(chain, i)));
        first_ms = one_ms < first_ms ? one_ms : first_ms;
    }
    return first_ms;
}

/* --- pins ------------------------------------------------------------------------------------- */

void tls_inner_pin(const X509 *certificate, uint8_t out_pin[TLS_PIN_BYTES])
{
    unsigned char *key = NULL;
    int bytes = certificate == NULL ? -1 : i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &key);
    unsigned digest_bytes = 0;

    memset(out_pin, 0, TLS_PIN_BYTES);
    if (bytes > 0) {
        (void)EVP_Digest(key, (size_t)bytes, out_pin, &digest_bytes, EVP_sha256(), NULL);
    }
    OPENSSL_free(key);
}

void tls_context_pin(const struct tls_context *context, uint8_t out_pin[TLS_PIN_BYTES])
{
    tls_inner_pin(SSL_CTX_get0_certificate(context->ssl), out_pin);
}

int tls_pin_of_file(const char *file, uint8_t out_pin[TLS_PIN_BYTES], char *out_reason)
{
    BIO *input = BIO_new_file(file, "r");
    X509 *certificate = input != NULL ? PEM_read_bio_X509(input, NULL, NULL, NULL) : NULL;
    int rc = 0;

    if (certificate == NULL) {
        rc = context_fail(out_reason, "cannot read a certificate in", file);
    } else {
        tls_inner_pin(certificate, out_pin);
    }
    X509_free(certificate);
    BIO_free(input);
    return rc;
}
