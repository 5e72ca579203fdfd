/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connect: parses the server's address, connects, does the TLS handshake and exchanges greetings.
 */
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "client/call/client.h"
#include "client/fail.h"
#include "client/net/address.h"
#include "client/net/sock.h"
#include "client/net/wait.h"
#include "proto/limits.h"

enum { CONNECT_TIMEOUT_MS = 10000 };

void hearsay_connect_init(struct hearsay_connect *options)
{
    memset(options, 0, sizeof(*options));
    options->timeout_ms = CONNECT_TIMEOUT_MS;
}

static int connect_check(const struct hearsay_connect *options, const char *agent,
                         struct hearsay_error *error)
{
    if (options->timeout_ms < 0) {
        return fail_set(error, HEARSAY_ERR_ARGUMENT, "the timeout is negative");
    }
    if (options->resume_bytes > HEARSAY_RESUME_BYTES_MAX) {
        return fail_set(error, HEARSAY_ERR_ARGUMENT, "the resume token is over %d bytes",
                        HEARSAY_RESUME_BYTES_MAX);
    }
    if (strlen(agent) > LIMIT_AGENT_BYTES) {
        return fail_set(error, HEARSAY_ERR_ARGUMENT, "the agent is over %d bytes",
                        LIMIT_AGENT_BYTES);
    }
    return HEARSAY_OK;
}

int hearsay_connect(const struct hearsay_connect *options, struct hearsay **out_server,
                    struct hearsay_error *out_error)
{
    struct client_open open = {
        .alloc = alloc_system(),
        .agent = options->agent != NULL ? options->agent : "libhearsay/" HEARSAY_VERSION,
        .resume_token = options->resume_bytes > 0 ? options->resume_token : NULL,
        .resume_bytes = options->resume_bytes,
    };
    int status = connect_check(options, open.agent, out_error);
    if (status != HEARSAY_OK) {
        return status;
    }
    if (sodium_init() < 0) {
        return fail_set(out_error, HEARSAY_ERR_SYSTEM, "the system gives no random numbers");
    }
    struct address address;
    status =
        address_parse(options->server != NULL ? options->server : "127.0.0.1", &address, out_error);
    if (status != HEARSAY_OK) {
        return status;
    }
    open.deadline_ms = wait_deadline_ms(options->timeout_ms);
    status = sock_connect(&address, open.deadline_ms, &open.fd, out_error);
    if (status != HEARSAY_OK) {
        return status;
    }
    if (options->tls != NULL) {
        status =
            secure_open(open.fd, &address, options->tls, open.deadline_ms, &open.secure, out_error);
        if (status != HEARSAY_OK) {
            (void)close(open.fd); /* nothing was sent that matters */
            return status;
        }
    }
    return client_open(&open, out_server, out_error);
}
