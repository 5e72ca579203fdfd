/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secure: TLS over a socket, and the decision whether to trust the server (struct hearsay_tls has
 * the rules). Within libhearsay only.
 */
#ifndef CLIENT_NET_SECURE_H
#define CLIENT_NET_SECURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/hearsay.h"

struct address;
struct secure;

/*
 * Does the TLS handshake over a connected socket (borrowed) and verifies the server. 0 with
 * *out_secure owned: secure_free; HEARSAY_ERR_TRUST, HEARSAY_ERR_LOST, HEARSAY_ERR_TIMEOUT,
 * HEARSAY_ERR_ARGUMENT, HEARSAY_ERR_FILE, HEARSAY_ERR_SYSTEM, HEARSAY_ERR_NOMEM. No byte of the
 * protocol is sent before the server is verified.
 */
int secure_open(int fd, const struct address *address, const struct hearsay_tls *tls,
                int64_t deadline_ms, struct secure **out_secure, struct hearsay_error *out_error);
void secure_free(struct secure *secure); /* NULL is fine */

/* Why the server is trusted. */
const struct hearsay_tls_info *secure_info(const struct secure *secure);

/*
 * As sock_read and sock_write: 0 with *out_count >= 1, SOCK_AGAIN, or SOCK_CLOSED with the errno,
 * which is EPROTO where TLS failed. secure_read reads the socket a bounded number of times, so that
 * a server cannot hold the caller beyond its deadline. SOCK_AGAIN can mean that bytes were read and
 * held no application data.
 */
int secure_read(struct secure *secure, void *buffer, size_t count, size_t *out_count,
                int *out_errno);
int secure_write(struct secure *secure, const void *data, size_t count, size_t *out_count,
                 int *out_errno);

/* Whether encrypted bytes are unsent; why TLS failed, "" if it has not. */
bool secure_wants_write(const struct secure *secure);
const char *secure_reason(const struct secure *secure);

/* Sends encrypted bytes that are unsent. 0 when none are left, SOCK_AGAIN, SOCK_CLOSED. */
int secure_flush(struct secure *secure, int *out_errno);

#endif
