/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selects the strerror_r of POSIX. With _GNU_SOURCE, glibc declares another strerror_r, which musl
 * does not have.
 */
#undef _GNU_SOURCE
#define _POSIX_C_SOURCE 200809L
#include "client/fail.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "proto/msg.h"

static int fail_set_list(struct hearsay_error *error, int status, const char *format, va_list list)
    __attribute__((format(printf, 3, 0)));

static int fail_set_list(struct hearsay_error *error, int status, const char *format, va_list list)
{
    memset(error, 0, sizeof(*error));
    error->status = status;
    /* A sentence that is cut is still readable. */
    (void)vsnprintf(error->sentence, sizeof(error->sentence), format, list);
    return status;
}

int fail_set(struct hearsay_error *error, int status, const char *format, ...)
{
    if (error == NULL) {
        return status;
    }
    va_list list;
    va_start(list, format);
    fail_set_list(error, status, format, list);
    va_end(list);
    return status;
}

int fail_set_errno(struct hearsay_error *error, int status, int errno_value, const char *format,
                   ...)
{
    if (error == NULL) {
        return status;
    }
    va_list list;
    va_start(list, format);
    fail_set_list(error, status, format, list);
    va_end(list);

    char text[128] = "";
    size_t used = strlen(error->sentence);
    if (strerror_r(errno_value, text, sizeof(text)) != 0 && text[0] == '\0') {
        (void)snprintf(text, sizeof(text), "error %d", errno_value);
    }
    (void)snprintf(error->sentence + used, sizeof(error->sentence) - used, ": %s", text);
    return status;
}

void fail_set_refused(struct hearsay_error *error, const struct msg_error *refusal)
{
    memset(error, 0, sizeof(*error));
    error->status = HEARSAY_ERR_REFUSED;
    error->code = refusal->code;
    error->retry_after_ms = refusal->retry_after_ms;
    (void)snprintf(error->field, sizeof(error->field), "%s", refusal->field);
    const char *sentence = refusal->message;
    (void)snprintf(error->sentence, sizeof(error->sentence), "%s",
                   sentence[0] != '\0' ? sentence : "the server gave no reason");
}

int fail_set_nomem(struct hearsay_error *error)
{
    return fail_set(error, HEARSAY_ERR_NOMEM, "out of memory");
}
