/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls_none: the functions of proto/tls/tls.h for a build without OpenSSL, except those in pin.c.
 * Making a context fails. No pipe can be made without a context, so the functions below "never
 * called" abort.
 */
#pragma GCC diagnostic ignored "-Wunused-parameter"
/* NOLINTBEGIN(misc-unused-parameters): the parameters are those of the header */

#include <stdio.h>
#include <stdlib.h>

#include "core/base/err.h"
#include "proto/tls/tls.h"

static int none_none(char *out_reason)
{
    (void)snprintf(out_reason, TLS_REASON_BYTES, "this program was built without TLS");
    return -ERR_SYSTEM;
}

int tls_server_new(const struct tls_server_options *options, struct tls_context **out_context,
                   char *out_reason)
{
    return none_none(out_reason);
}

int tls_client_new(const struct tls_client_options *options, struct tls_context **out_context,
                   char *out_reason)
{
    return none_none(out_reason);
}

int tls_pin_of_file(const char *file, uint8_t out_pin[TLS_PIN_BYTES], char *out_reason)
{
    return none_none(out_reason);
}

void tls_context_free(struct tls_context *context)
{
}

void tls_pipe_free(struct tls_pipe *pipe)
{
}

/* --- never called ----------------------------------------------------------------------------- */

int64_t tls_context_not_after_ms(const struct tls_context *context)
{
    abort();
}

void tls_context_pin(const struct tls_context *context, uint8_t out_pin[TLS_PIN_BYTES])
{
    abort();
}

int tls_pipe_new(struct tls_context *context, const char *server_name, struct tls_pipe **out_pipe)
{
    abort();
}

int tls_pipe_feed(struct tls_pipe *pipe, const uint8_t *data, size_t count)
{
    abort();
}

int tls_pipe_read(struct tls_pipe *pipe, uint8_t *room, size_t bytes, size_t *out_count)
{
    abort();
}

int tls_pipe_write(struct tls_pipe *pipe, const uint8_t *data, size_t count, size_t *out_count)
{
    abort();
}

void tls_pipe_end(struct tls_pipe *pipe)
{
    abort();
}

size_t tls_pipe_waiting(const struct tls_pipe *pipe)
{
    abort();
}

size_t tls_pipe_take(struct tls_pipe *pipe, uint8_t *room, size_t bytes)
{
    abort();
}

bool tls_pipe_is_open(const struct tls_pipe *pipe)
{
    abort();
}

bool tls_pipe_is_flooded(const struct tls_pipe *pipe)
{
    abort();
}

const char *tls_pipe_reason(const struct tls_pipe *pipe)
{
    abort();
}

const char *tls_pipe_objection(const struct tls_pipe *pipe)
{
    abort();
}

void tls_pipe_pin(const struct tls_pipe *pipe, uint8_t out_pin[TLS_PIN_BYTES])
{
    abort();
}
/* NOLINTEND(misc-unused-parameters) */
