/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secure: TLS over a socket, and whether to believe the other side. Within libhearsay only.
 *
 * Whom to believe, in this order: who has one of the pins that were given; who has a certificate of
 * the roots that were given; who has one of the system's roots for the server's name; who has the
 * pin that this server had before, by the file of known servers, where one met for the first time
 * is entered.
 */
#ifndef CLIENT_NET_SECURE_H
#define CLIENT_NET_SECURE_H

#include "client/hearsay.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct address;
struct secure;

/*
 * Shakes hands over the connected socket (borrowed) and decides. 0 with *out_secure owned:
 * secure_free; HEARSAY_ERR_TRUST, HEARSAY_ERR_LOST, HEARSAY_ERR_TIMEOUT, HEARSAY_ERR_ARGUMENT,
 * HEARSAY_ERR_FILE, HEARSAY_ERR_SYSTEM, HEARSAY_ERR_NOMEM. Not one byte of the protocol is sent
 * before the decision.
 */
int secure_open(int fd, const struct address *address, const struct hearsay_tls *tls,
                int64_t deadline_ms, struct secure **out_secure, struct hearsay_error *out_error);
void secure_free(struct secure *secure); /* NULL is fine */

/* How the server was believed. */
const struct hearsay_tls_info *secure_info(const struct secure *secure);

/*
 * As sock_read and sock_write: 0 with *out_count >= 1, SOCK_AGAIN, or SOCK_CLOSED with the errno,
 * which is EPROTO where the encryption failed. secure_read reads the socket a few times at most, so
 * that the caller sees its deadline pass: SOCK_AGAIN also when bytes came and none was plain.
 */
int secure_read(struct secure *secure, void *buffer, size_t count, size_t *out_count,
                int *out_errno);
int secure_write(struct secure *secure, const void *data, size_t count, size_t *out_count,
                 int *out_errno);

/* Whether encrypted bytes wait for the socket; why the encryption failed, "" if it has not. */
bool secure_wants_write(const struct secure *secure);
const char *secure_reason(const struct secure *secure);

/* Sends what is encrypted and waits: 0 when nothing waits, SOCK_AGAIN, SOCK_CLOSED. */
int secure_flush(struct secure *secure, int *out_errno);

#endif
