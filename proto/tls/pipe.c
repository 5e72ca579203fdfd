/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>

#include "core/base/err.h"
#include "proto/tls/inner.h"

enum {
    REASON_BYTES = 160,
    HEADER_BYTES = 5, /* of a record: type, version (2), length (2) */
    TYPE_FIRST = 20,  /* a record of TLS has one of the types 20 to 23: change_cipher_spec, alert,
                       * handshake, application_data */
    TYPE_LAST = 23
};

/*
 * OpenSSL may read many records in one call, as long as no record has application data. To bound
 * the work of one call, the pipe buffers the received bytes in `held` and gives OpenSSL one record
 * at a time:
 *
 *   tls_pipe_feed -> held -> wire_in -> SSL_read_ex
 */
struct tls_pipe {
    SSL *ssl;
    BIO *wire_in; /* both are ssl's */
    BIO *wire_out;
    uint8_t *held; /* owned; NULL while nothing is held */
    size_t held_start;
    size_t held_end;
    size_t record_left; /* bytes of the current record that OpenSSL has not received yet; 0: OpenSSL
                         * has the whole record, or there is no current record */
    bool record_is_whole; /* true: OpenSSL has the whole current record, and has returned no data of
                           * it */
    bool was_open;        /* the handshake was done before the current record */
    unsigned idle_records; /* since the last application data */
    bool failed;
    bool is_flooded;
    bool is_odd; /* the type of the current record is not a type of TLS */
    char reason[REASON_BYTES];
};

/*
 * Sets the name or address that the server's certificate is compared with. A name is also sent to
 * the server.
 */
static int set_server_name(SSL *ssl, const char *name)
{
    X509_VERIFY_PARAM *wanted = SSL_get0_param(ssl);

    if (X509_VERIFY_PARAM_set1_ip_asc(wanted, name) == 1) {
        return 0; /* an address: no name is sent */
    }
    ERR_clear_error();
    X509_VERIFY_PARAM_set_hostflags(wanted, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    if (X509_VERIFY_PARAM_set1_host(wanted, name, 0) != 1 ||
        SSL_set_tlsext_host_name(ssl, name) != 1) {
        ERR_clear_error();
        return -ERR_NOMEM;
    }
    return 0;
}

int tls_pipe_new(struct tls_context *context, const char *server_name, struct tls_pipe **out_pipe)
{
    struct tls_pipe *pipe = calloc(1, sizeof(*pipe));
    BIO *in = BIO_new(BIO_s_mem());
    BIO *out = BIO_new(BIO_s_mem());

    if (pipe != NULL) {
        pipe->ssl = SSL_new(context->ssl);
    }
    if (pipe == NULL || pipe->ssl == NULL || in == NULL || out == NULL) {
        BIO_free(in);
        BIO_free(out);
        tls_pipe_free(pipe);
        ERR_clear_error();
        return -ERR_NOMEM;
    }
    (void)BIO_set_mem_eof_return(in, -1); /* empty is not the end */
    (void)BIO_set_mem_eof_return(out, -1);
    SSL_set_bio(pipe->ssl, in, out);
    pipe->wire_in = in;
    pipe->wire_out = out;
    if (server_name == NULL) {
        SSL_set_accept_state(pipe->ssl);
    } else {
        SSL_set_connect_state(pipe->ssl);
        if (set_server_name(pipe->ssl, server_name) != 0) {
            tls_pipe_free(pipe);
            return -ERR_NOMEM;
        }
    }
    *out_pipe = pipe;
    return 0;
}

void tls_pipe_free(struct tls_pipe *pipe)
{
    if (pipe != NULL) {
        SSL_free(pipe->ssl);
        free(pipe->held);
        free(pipe);
    }
}

/* --- what went wrong -------------------------------------------------------------------------- */

/* Plain sentences for some of OpenSSL's errors. */
static const struct {
    int reason; /* OpenSSL's */
    const char *sentence;
} known_reasons[] = {
    {SSL_R_WRONG_VERSION_NUMBER, "the other side does not speak TLS"},
    {SSL_R_HTTP_REQUEST, "the other side speaks HTTP, not TLS"},
    {SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE, "the client showed no certificate"},
    {SSL_R_CERTIFICATE_VERIFY_FAILED, "the certificate is not one of those that are trusted"},
    {SSL_R_UNSUPPORTED_PROTOCOL, "the other side speaks only versions of TLS before 1.2"},
    {SSL_R_TLSV1_ALERT_PROTOCOL_VERSION, "the other side speaks other versions of TLS"},
    {SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED, "the server asks for a client's certificate"},
    {SSL_R_TLSV1_ALERT_UNKNOWN_CA, "the other side does not trust who signed our certificate"},
    {SSL_R_SSLV3_ALERT_BAD_CERTIFICATE, "the other side refuses our certificate"},
    {SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED, "our certificate has expired, says the other side"},
};

static int set_failed(struct tls_pipe *pipe)
{
    unsigned long code = ERR_peek_error();
    const char *words = ERR_reason_error_string(code);

    for (size_t i = 0; i < sizeof(known_reasons) / sizeof(known_reasons[0]); i++) {
        if (ERR_GET_LIB(code) == ERR_LIB_SSL && ERR_GET_REASON(code) == known_reasons[i].reason) {
            words = known_reasons[i].sentence;
        }
    }
    ERR_clear_error();
    pipe->failed = true;
    (void)snprintf(pipe->reason, sizeof(pipe->reason), "%s",
                   words != NULL ? words : "the connection broke");
    return TLS_FAILED;
}

/* Sets the pipe to failed, with a reason of this file. */
static int fail_with(struct tls_pipe *pipe, const char *sentence)
{
    pipe->failed = true;
    (void)snprintf(pipe->reason, sizeof(pipe->reason), "%s", sentence);
    return TLS_FAILED;
}

/* The outcome of an OpenSSL call that moved no bytes. */
static int outcome_of(struct tls_pipe *pipe, int returned)
{
    switch (SSL_get_error(pipe->ssl, returned)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE: /* never, of memory */
        ERR_clear_error();
        return TLS_MORE;
    case SSL_ERROR_ZERO_RETURN:
        ERR_clear_error();
        return TLS_ENDED;
    default:
        return set_failed(pipe);
    }
}

/* --- bytes ------------------------------------------------------------------------------------ */

int tls_pipe_feed(struct tls_pipe *pipe, const uint8_t *data, size_t count)
{
    size_t waiting = pipe->held_end - pipe->held_start;

    if (count > SIZE_MAX - waiting) {
        return -ERR_NOMEM;
    }
    uint8_t *held = malloc(waiting + count);
    if (held == NULL) {
        return -ERR_NOMEM;
    }
    if (waiting > 0) {
        memcpy(held, pipe->held + pipe->held_start, waiting);
    }
    memcpy(held + waiting, data, count);
    free(pipe->held);
    pipe->held = held;
    pipe->held_start = 0;
    pipe->held_end = waiting + count;
    return 0;
}

static void release_held(struct tls_pipe *pipe)
{
    if (pipe->held_start == pipe->held_end) {
        free(pipe->held);
        pipe->held = NULL;
        pipe->held_start = 0;
        pipe->held_end = 0;
    }
}

/*
 * Gives OpenSSL those bytes of the current record that are in `held`; without a current record the
 * next record begins. 0, TLS_MORE when no bytes can be given, or -ERR_NOMEM.
 */
static int give_record(struct tls_pipe *pipe)
{
    const uint8_t *next = pipe->held + pipe->held_start;
    size_t available = pipe->held_end - pipe->held_start;
    size_t written = 0;

    if (available == 0 || (pipe->record_left == 0 && available < HEADER_BYTES)) {
        return TLS_MORE;
    }
    if (pipe->record_left == 0) {
        pipe->record_left = HEADER_BYTES + ((size_t)next[3] << 8 | next[4]);
        pipe->is_odd = next[0] < TYPE_FIRST || next[0] > TYPE_LAST;
    }
    size_t some = available < pipe->record_left ? available : pipe->record_left;
    if (BIO_write_ex(pipe->wire_in, next, some, &written) != 1 || written != some) {
        ERR_clear_error();
        return -ERR_NOMEM;
    }
    pipe->held_start += some;
    pipe->record_left -= some;
    pipe->record_is_whole = pipe->record_left == 0;
    release_held(pipe);
    return 0;
}

/*
 * Called when OpenSSL has read a whole record without application data. After the handshake, counts
 * such records since the last application data, and fails the pipe when they are more than
 * TLS_IDLE_RECORDS_MAX.
 */
static int end_record(struct tls_pipe *pipe)
{
    pipe->record_is_whole = false;
    if (!pipe->was_open) { /* a record of the handshake, perhaps the last one */
        pipe->was_open = tls_pipe_is_open(pipe);
        return TLS_RECORD;
    }
    if (++pipe->idle_records <= TLS_IDLE_RECORDS_MAX) {
        return TLS_RECORD;
    }
    pipe->is_flooded = true;
    return fail_with(pipe,
                     "the other side sends records without application data, again and again");
}

int tls_pipe_read(struct tls_pipe *pipe, uint8_t *room, size_t bytes, size_t *out_count)
{
    for (;;) {
        if (pipe->failed) {
            return TLS_FAILED;
        }
        int returned = SSL_read_ex(pipe->ssl, room, bytes, out_count);
        if (returned == 1) {
            pipe->record_is_whole = false;
            pipe->idle_records = 0;
            return 0;
        }
        int outcome = outcome_of(pipe, returned);
        if (outcome != TLS_MORE) {
            return outcome;
        }
        if (pipe->is_odd) { /* the length of an SSLv2 record, which OpenSSL may accept, is at
                             * another place, so the pipe refuses all other types */
            return fail_with(pipe, "the other side does not speak TLS");
        }
        if (pipe->record_is_whole) {
            return end_record(pipe);
        }
        outcome = give_record(pipe);
        if (outcome != 0) {
            return outcome;
        }
    }
}

int tls_pipe_write(struct tls_pipe *pipe, const uint8_t *data, size_t count, size_t *out_count)
{
    *out_count = 0;
    if (pipe->failed) {
        return TLS_FAILED;
    }
    if (count == 0) {
        return 0;
    }
    int returned = SSL_write_ex(pipe->ssl, data, count, out_count);
    if (returned == 1) {
        return 0;
    }
    return outcome_of(pipe, returned) == TLS_MORE ? 0 : set_failed(pipe);
}

void tls_pipe_end(struct tls_pipe *pipe)
{
    if (!pipe->failed && tls_pipe_is_open(pipe)) {
        (void)SSL_shutdown(pipe->ssl); /* what the peer says to it is not waited for */
        ERR_clear_error();
    }
}

size_t tls_pipe_waiting(const struct tls_pipe *pipe)
{
    return BIO_ctrl_pending(pipe->wire_out);
}

size_t tls_pipe_take(struct tls_pipe *pipe, uint8_t *room, size_t bytes)
{
    size_t taken = 0;

    if (bytes == 0 || BIO_read_ex(pipe->wire_out, room, bytes, &taken) != 1) {
        return 0;
    }
    return taken;
}

/* --- the other side --------------------------------------------------------------------------- */

bool tls_pipe_is_open(const struct tls_pipe *pipe)
{
    return SSL_is_init_finished(pipe->ssl) == 1;
}

bool tls_pipe_is_flooded(const struct tls_pipe *pipe)
{
    return pipe->is_flooded;
}

const char *tls_pipe_reason(const struct tls_pipe *pipe)
{
    return pipe->reason;
}

const char *tls_pipe_objection(const struct tls_pipe *pipe)
{
    long result = SSL_get_verify_result(pipe->ssl);

    return result == X509_V_OK ? NULL : X509_verify_cert_error_string(result);
}

void tls_pipe_pin(const struct tls_pipe *pipe, uint8_t out_pin[TLS_PIN_BYTES])
{
    tls_inner_pin(SSL_get0_peer_certificate(pipe->ssl), out_pin);
}
