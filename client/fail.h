/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fail: fills in a hearsay_error. Within libhearsay only; its functions return the public statuses
 * HEARSAY_ERR_... and describe them here.
 */
#ifndef CLIENT_FAIL_H
#define CLIENT_FAIL_H

#include "client/hearsay.h"

struct msg_error;

/* Sets status and sentence (printf-style, cut at its size). `error` may be NULL. Returns status. */
int fail_set(struct hearsay_error *error, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same with a colon and the text of an errno behind the sentence. */
int fail_set_errno(struct hearsay_error *error, int status, int errno_value, const char *format,
                   ...) __attribute__((format(printf, 4, 5)));

/* A server's refusal: HEARSAY_ERR_REFUSED. */
int fail_set_refused(struct hearsay_error *error, const struct msg_error *refusal);

/* Out of memory: HEARSAY_ERR_NOMEM. */
int fail_set_nomem(struct hearsay_error *error);

#endif
