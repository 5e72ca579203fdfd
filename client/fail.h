/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fail: fills a hearsay_error. The functions of libhearsay return the public statuses
 * HEARSAY_ERR_..., and describe them with these calls. Within libhearsay only.
 */
#ifndef CLIENT_FAIL_H
#define CLIENT_FAIL_H

#include "client/hearsay.h"

struct msg_error;

/* Sets status and sentence (as printf, cut to fit). `error` may be NULL. Returns `status`. */
int fail_set(struct hearsay_error *error, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same; appends a colon and the text of an errno. */
int fail_set_errno(struct hearsay_error *error, int status, int errno_value, const char *format,
                   ...) __attribute__((format(printf, 4, 5)));

/* Copies a server's refusal. Returns HEARSAY_ERR_REFUSED. */
int fail_set_refused(struct hearsay_error *error, const struct msg_error *refusal);

/* Says that memory is out. Returns HEARSAY_ERR_NOMEM. */
int fail_set_nomem(struct hearsay_error *error);

#endif
