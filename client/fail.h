/* SPDX-License-Identifier: Apache-2.0 */
/* fail: functions that fill a struct hearsay_error. Only for files of libhearsay. */
#pragma once

#include "client/hearsay.h"

struct msg_error;

/*
 * Sets the status and the sentence of *error. `format` is a format of printf; a sentence that is
 * too long is cut. `error` may be NULL. Returns `status`.
 */
int fail_set(struct hearsay_error *error, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Fills *error like fail_set, and appends a colon and the text of the errno value to the sentence.
 */
int fail_set_errno(struct hearsay_error *error, int status, int errno_value, const char *format,
                   ...) __attribute__((format(printf, 4, 5)));

/* Copies a server's refusal to *error. */
void fail_set_refused(struct hearsay_error *error, const struct msg_error *refusal);

/* Says that memory is out. Returns HEARSAY_ERR_NOMEM. */
int fail_set_nomem(struct hearsay_error *error);
