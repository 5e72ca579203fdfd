/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls: TLS 1.3 and 1.2 for server and client, with OpenSSL. This folder does no network I/O: the
 * caller moves the encrypted bytes in and out, and reads and writes the plain bytes. There is no
 * compression, no renegotiation and no resumption of sessions.
 *
 * A pin is the SHA-256 of a certificate's public key (SubjectPublicKeyInfo, as in RFC 7469). A
 * certificate that is renewed with the same key has the same pin.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TLS_PIN_BYTES = 32, TLS_PIN_TEXT_BYTES = 65, TLS_REASON_BYTES = 5120 };

/*
 * The settings that connections share: the key and certificate of this side, and the trusted
 * certificates.
 */
struct tls_context;

struct tls_server_options {
    const char *certificate; /* path of a PEM file with the server's certificate, then the
                              * certificates between it and the root */
    /* path of a PEM file with the key of the certificate, without a passphrase. The mode of the
     * file must give others no right, and the group no right to write */
    const char *key;
    const char *client_ca; /* path of a PEM file with the roots of the certificates that clients
                            * must show; NULL: clients need no certificate */
};

struct tls_client_options {
    const char *ca;          /* PEM file of roots; NULL: the system's */
    const char *certificate; /* path of a PEM file with the client's certificate and its chain;
                              * NULL: no certificate */
    const char *key; /* path of a PEM file with the key of the certificate, as for a server; not
                      * used when certificate is NULL */
};

/*
 * Makes a context from the files. 0 with *out_context, which the caller frees with
 * tls_context_free; or -ERR_SYSTEM or -ERR_NOMEM with a sentence in out_reason (TLS_REASON_BYTES).
 * If a file is the reason, the sentence names the file.
 */
int tls_server_new(const struct tls_server_options *options, struct tls_context **out_context,
                   char *out_reason);
int tls_client_new(const struct tls_client_options *options, struct tls_context **out_context,
                   char *out_reason);

/* Frees a context. Pipes that were made with the context stay usable. NULL is fine. */
void tls_context_free(struct tls_context *context);

/*
 * For a server's context: returns the earliest expiry of the certificates in its certificate file,
 * in Unix milliseconds.
 */
int64_t tls_context_not_after_ms(const struct tls_context *context);

/* The pin of a server's own certificate. */
void tls_context_pin(const struct tls_context *context, uint8_t out_pin[TLS_PIN_BYTES]);

/*
 * Writes the pin of the first certificate in a PEM file. 0; or -ERR_SYSTEM with a sentence in
 * out_reason (TLS_REASON_BYTES).
 */
int tls_pin_of_file(const char *file, uint8_t out_pin[TLS_PIN_BYTES], char *out_reason);

/*
 * tls_pin_print prints a pin as 64 hexadecimal digits. tls_pin_parse parses such a text, also with
 * colons between the bytes, and returns whether the text is a pin.
 */
void tls_pin_print(const uint8_t pin[TLS_PIN_BYTES], char out_text[TLS_PIN_TEXT_BYTES]);
bool tls_pin_parse(const char *text, uint8_t out_pin[TLS_PIN_BYTES]);

/* --- one connection --------------------------------------------------------------------------- */

struct tls_pipe;

/* Named outcomes of reading. */
enum {
    TLS_MORE = 1,   /* no data to read until tls_pipe_feed adds more bytes */
    TLS_ENDED = 2,  /* the peer closed the TLS session properly */
    TLS_FAILED = 3, /* the pipe has failed for good: tls_pipe_reason returns the reason; an alert
                     * may wait to be sent */
    TLS_RECORD =
        4 /* one record without application data was read: call again for the next record */
};

/*
 * The most records without application data that may follow one another after the handshake:
 * KeyUpdates, requests to renegotiate, session tickets, warnings, empty records. With one more such
 * record the pipe fails.
 */
enum { TLS_IDLE_RECORDS_MAX = 32 };

/*
 * Makes a pipe. server_name: for a client the name or numeric address of the server, with which
 * tls_pipe_objection compares the server's certificate; NULL for a server. 0 or -ERR_NOMEM.
 */
int tls_pipe_new(struct tls_context *context, const char *server_name, struct tls_pipe **out_pipe);
void tls_pipe_free(struct tls_pipe *pipe); /* NULL is fine */

/*
 * Adds `count` >= 1 bytes that came over the wire. The pipe copies the bytes. 0 or -ERR_NOMEM. Call
 * tls_pipe_read until TLS_MORE before you feed again, because the pipe's buffer has no limit.
 */
int tls_pipe_feed(struct tls_pipe *pipe, const uint8_t *data, size_t count);

/*
 * Continues the handshake, and reads up to `bytes` decrypted bytes; `bytes` >= 1. Returns 0 with
 * *out_count >= 1, one of the outcomes TLS_MORE to TLS_RECORD, or -ERR_NOMEM. To bound the CPU time
 * of one call, a call ends when it has read a whole record.
 */
int tls_pipe_read(struct tls_pipe *pipe, uint8_t *room, size_t bytes, size_t *out_count);

/*
 * Encrypts bytes of `data` and adds them to the output. The handshake must be done. 0 with the
 * number of encrypted bytes in *out_count, which may be less than `count`, or TLS_FAILED.
 */
int tls_pipe_write(struct tls_pipe *pipe, const uint8_t *data, size_t count, size_t *out_count);

/*
 * Adds the closing alert to the output, if the handshake is done and the pipe has not failed.
 * Nothing can be written afterwards.
 */
void tls_pipe_end(struct tls_pipe *pipe);

/*
 * tls_pipe_waiting returns how many bytes wait to be sent over the wire. tls_pipe_take moves up to
 * `bytes` of them into `room` and returns their number.
 */
size_t tls_pipe_waiting(const struct tls_pipe *pipe);
size_t tls_pipe_take(struct tls_pipe *pipe, uint8_t *room, size_t bytes);

/* Returns whether the handshake is done. */
bool tls_pipe_is_open(const struct tls_pipe *pipe);

/*
 * Returns whether the pipe failed because the other side sent more than TLS_IDLE_RECORDS_MAX
 * records without application data one after another.
 */
bool tls_pipe_is_flooded(const struct tls_pipe *pipe);

/*
 * Returns the reason why the pipe failed, as text that the pipe owns; "" if the pipe has not
 * failed.
 */
const char *tls_pipe_reason(const struct tls_pipe *pipe);

/*
 * For a client's pipe after the handshake. tls_pipe_objection returns NULL if OpenSSL has verified
 * the server's certificate against the trusted roots and server_name; otherwise OpenSSL's text
 * (static storage) for what is wrong with the certificate. tls_pipe_pin writes the pin of the
 * server's certificate.
 */
const char *tls_pipe_objection(const struct tls_pipe *pipe);
void tls_pipe_pin(const struct tls_pipe *pipe, uint8_t out_pin[TLS_PIN_BYTES]);
