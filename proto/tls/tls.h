/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls: encryption for both ends, on OpenSSL, without any I/O: bytes of the wire in and out, bytes
 * of the protocol out and in. TLS 1.3 and 1.2, no compression, no renegotiation, no resumption (a
 * session lasts for as long as its connection; nothing is to be remembered of those that ended).
 *
 * A pin is the SHA-256 of the certificate's public key (SubjectPublicKeyInfo, as RFC 7469 has it):
 * it stays the same when a certificate is renewed with the same key.
 */
#ifndef PROTO_TLS_TLS_H
#define PROTO_TLS_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TLS_PIN_BYTES = 32, TLS_PIN_TEXT_BYTES = 65, TLS_REASON_BYTES = 5120 };

/* What connections have in common: keys, and whom they trust. */
struct tls_context;

struct tls_server_options {
    const char *certificate; /* PEM file: ours, then those between it and its root */
    const char *key;         /* PEM file, without a passphrase; nobody else may read it */
    const char *client_ca; /* PEM file: clients must show a certificate of these; NULL: need not */
};

struct tls_client_options {
    const char *ca;          /* PEM file of roots; NULL: the system's */
    const char *certificate; /* PEM file of ours and its chain; NULL: none */
    const char *key;         /* its key; NULL when certificate is */
};

/*
 * Reads the files. 0 with *out_context owned: tls_context_free; or -ERR_SYSTEM or -ERR_NOMEM with a
 * sentence that names the file in out_reason (TLS_REASON_BYTES).
 */
int tls_server_new(const struct tls_server_options *options, struct tls_context **out_context,
                   char *out_reason);
int tls_client_new(const struct tls_client_options *options, struct tls_context **out_context,
                   char *out_reason);

/* Pipes that were made of it go on. NULL is fine. */
void tls_context_free(struct tls_context *context);

/*
 * When a server's own certificate expires, or the one of its chain that expires first: Unix time in
 * milliseconds.
 */
int64_t tls_context_not_after_ms(const struct tls_context *context);

/* The pin of a server's own certificate. */
void tls_context_pin(const struct tls_context *context, uint8_t out_pin[TLS_PIN_BYTES]);

/*
 * The pin of the first certificate in a PEM file. 0; or -ERR_SYSTEM with a sentence that names the
 * file in out_reason (TLS_REASON_BYTES).
 */
int tls_pin_of_file(const char *file, uint8_t out_pin[TLS_PIN_BYTES], char *out_reason);

/* 64 hexadecimal digits, and back (colons between the bytes are fine): whether it is one. */
void tls_pin_print(const uint8_t pin[TLS_PIN_BYTES], char out_text[TLS_PIN_TEXT_BYTES]);
bool tls_pin_parse(const char *text, uint8_t out_pin[TLS_PIN_BYTES]);

/* --- one connection --------------------------------------------------------------------------- */

struct tls_pipe;

/* Named outcomes of reading. */
enum {
    TLS_MORE = 1,   /* nothing to read before more bytes of the wire come */
    TLS_ENDED = 2,  /* the peer ended it in good order */
    TLS_FAILED = 3, /* final: tls_pipe_reason says why; an alert may wait to be sent */
    TLS_RECORD = 4  /* one record without application data was taken: call again for the next */
};

/*
 * After the handshake, so many records without application data may follow one another: KeyUpdates,
 * requests to renegotiate, session tickets, warnings, empty records. One more, and the pipe fails.
 * A server sends a few tickets, and either side a KeyUpdate after millions of records.
 */
enum { TLS_IDLE_RECORDS_MAX = 32 };

/*
 * server_name: whom a client wants to talk to, a name or a numeric address, for the check of the
 * certificate; NULL for a server. 0 or -ERR_NOMEM.
 */
int tls_pipe_new(struct tls_context *context, const char *server_name, struct tls_pipe **out_pipe);
void tls_pipe_free(struct tls_pipe *pipe); /* NULL is fine */

/*
 * Bytes that came over the wire; copied behind those that tls_pipe_read has not taken. 0 or
 * -ERR_NOMEM. Read until TLS_MORE before feeding again: then at most one header is held.
 */
int tls_pipe_feed(struct tls_pipe *pipe, const uint8_t *data, size_t count);

/*
 * Goes on with the handshake and takes out up to `bytes` of the protocol, bytes >= 1. 0 with
 * *out_count >= 1, a named outcome, or -ERR_NOMEM. Takes at most one whole record, so that the time
 * of a call is bounded: whoever has little time can stop between two calls.
 */
int tls_pipe_read(struct tls_pipe *pipe, uint8_t *room, size_t bytes, size_t *out_count);

/*
 * Encrypts; only when open. 0 with *out_count, which may be less than count, or TLS_FAILED.
 */
int tls_pipe_write(struct tls_pipe *pipe, const uint8_t *data, size_t count, size_t *out_count);

/* Tells the peer that this was the end; the last bytes are in the output then. */
void tls_pipe_end(struct tls_pipe *pipe);

/* Bytes for the wire: how many wait, and moving up to `bytes` of them into `room`. */
size_t tls_pipe_waiting(const struct tls_pipe *pipe);
size_t tls_pipe_take(struct tls_pipe *pipe, uint8_t *room, size_t bytes);

/* Whether the handshake is done. */
bool tls_pipe_is_open(const struct tls_pipe *pipe);

/* Whether it failed because of TLS_IDLE_RECORDS_MAX. */
bool tls_pipe_is_flooded(const struct tls_pipe *pipe);

/* Why it failed, a sentence; "" if it has not. */
const char *tls_pipe_reason(const struct tls_pipe *pipe);

/*
 * Of an open client's pipe: NULL if the certificate is good by the roots and is the server's, else
 * what is wrong with it (static storage); and its pin. It is the caller who decides.
 */
const char *tls_pipe_objection(const struct tls_pipe *pipe);
void tls_pipe_pin(const struct tls_pipe *pipe, uint8_t out_pin[TLS_PIN_BYTES]);

#endif
