/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secure: TLS on a socket, and the decision whether to trust the server. struct hearsay_tls
 * describes the rules of this decision. Only for files of libhearsay.
 */
#pragma once

#include "client/hearsay.h"
#include "proto/tls/tls.h"

struct address;
struct secure;

/* Checks the pins before anything is sent. Returns 0 or HEARSAY_ERR_ARGUMENT. */
int secure_check(const struct hearsay_tls *tls, struct hearsay_error *out_error);

/*
 * Does the TLS handshake on a connected socket, which is borrowed, and verifies the server. No byte
 * of the hearsay protocol is sent before the server is verified. Returns 0 with *out_secure owned
 * (secure_free), HEARSAY_ERR_TRUST, HEARSAY_ERR_LOST, HEARSAY_ERR_TIMEOUT, HEARSAY_ERR_ARGUMENT,
 * HEARSAY_ERR_FILE, HEARSAY_ERR_SYSTEM, HEARSAY_ERR_PROTOCOL or HEARSAY_ERR_NOMEM.
 */
int secure_open(int fd, const struct address *address, const struct hearsay_tls *tls,
                int64_t deadline_ms, struct secure **out_secure, struct hearsay_error *out_error);
void secure_free(struct secure *secure); /* NULL is fine */

/* Why the server is trusted. */
const struct hearsay_tls_info *secure_info(const struct secure *secure);

/*
 * secure_read reads plain bytes, and secure_write writes plain bytes. Both return what sock_read
 * and sock_write return: 0 with *out_count >= 1, SOCK_AGAIN, or SOCK_CLOSED with the errno; the
 * errno is EPROTO when TLS failed, ENOMEM when memory is out. One call of secure_read reads the
 * socket a bounded number of times, so that the caller can check its deadline. secure_read may
 * return SOCK_AGAIN after it has read bytes that contain no plain bytes.
 */
int secure_read(struct secure *secure, void *buffer, size_t count, size_t *out_count,
                int *out_errno);
int secure_write(struct secure *secure, const void *data, size_t count, size_t *out_count,
                 int *out_errno);

/*
 * secure_wants_write returns whether encrypted bytes are unsent. secure_reason returns why TLS
 * failed, or "" if TLS has not failed.
 */
bool secure_wants_write(const struct secure *secure);
const char *secure_reason(const struct secure *secure);

/* Sends the unsent encrypted bytes. Returns 0 when all are sent, SOCK_AGAIN or SOCK_CLOSED. */
int secure_flush(struct secure *secure, int *out_errno);

/* --- known ------------------------------------------------------------------------------------ */

/*
 * The file of known servers. Each line has a server and the pin of its key:
 *
 *   192.168.8.1:7117 9f2b... (64 hexadecimal digits)
 *
 * Empty lines and lines that begin with # have no meaning; they are kept when the file changes.
 * Only for files of libhearsay.
 */

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
