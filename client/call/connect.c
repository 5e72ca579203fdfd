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
    size_t behalf = options->on_behalf_bytes;
    if ((options->on_behalf == NULL) != (behalf == 0) ||
        (behalf != 0 && behalf != LIMIT_ADDRESS_BYTES_MIN && behalf != LIMIT_ADDRESS_BYTES)) {
        return fail_set(error, HEARSAY_ERR_ARGUMENT,
                        "the address that the connection speaks for has %zu bytes, not %d or %d",
                        behalf, LIMIT_ADDRESS_BYTES_MIN, LIMIT_ADDRESS_BYTES);
    }
    if (options->on_behalf_local != NULL && behalf != LIMIT_ADDRESS_BYTES) {
        return fail_set(error, HEARSAY_ERR_ARGUMENT,
                        "on_behalf_local goes with an IPv6 address in on_behalf only");
    }
    return HEARSAY_OK;
}

int hearsay_ask_for(struct hearsay *server, const uint8_t *address, size_t address_bytes,
                    const uint8_t *local, struct hearsay_error *out_error)
{
    struct hearsay_asker asker = {{NULL, 0}, {NULL, 0}};

    if (address != NULL && address_bytes != LIMIT_ADDRESS_BYTES_MIN &&
        address_bytes != LIMIT_ADDRESS_BYTES) {
        return fail_set(out_error, HEARSAY_ERR_ARGUMENT, "the address has %zu bytes, not %d or %d",
                        address_bytes, LIMIT_ADDRESS_BYTES_MIN, LIMIT_ADDRESS_BYTES);
    }
    if (local != NULL && (address == NULL || address_bytes != LIMIT_ADDRESS_BYTES)) {
        return fail_set(out_error, HEARSAY_ERR_ARGUMENT, "`local` goes with an IPv6 address only");
    }
    sodium_memzero(server->asker_bytes, sizeof(server->asker_bytes)); /* of whom it was before */
    if (address != NULL) {
        memcpy(server->asker_bytes[0], address, address_bytes);
        asker.on_behalf = (struct hearsay_bytes){server->asker_bytes[0], address_bytes};
    }
    if (local != NULL) {
        memcpy(server->asker_bytes[1], local, LIMIT_ADDRESS_BYTES);
        asker.on_behalf_local = (struct hearsay_bytes){server->asker_bytes[1], LIMIT_ADDRESS_BYTES};
    }
    server->asker = asker;
    return HEARSAY_OK;
}

/* Checks the options, parses the address, and sets all fields of *out_open except the socket and
 * TLS. *out_open borrows from `options`. */
static int connect_prepare(const struct hearsay_connect *options, struct address *out_address,
                           struct client_open *out_open, struct hearsay_error *error)
{
    const char *agent = options->agent != NULL ? options->agent : "libhearsay/" HEARSAY_VERSION;
    int status = connect_check(options, agent, error);
    if (status == HEARSAY_OK && options->tls != NULL) {
        status = secure_check(options->tls, error);
    }
    if (status != HEARSAY_OK) {
        return status;
    }
    if (sodium_init() < 0) {
        return fail_set(error, HEARSAY_ERR_SYSTEM, "the system gives no random numbers");
    }
    *out_open = (struct client_open){
        .alloc = alloc_system(),
        .is_small = options->is_small,
        .hello = {.agent = agent,
                  .resume_token =
                      hearsay_bytes(options->resume_bytes > 0 ? options->resume_token : NULL,
                                    options->resume_bytes),
                  .on_behalf = hearsay_bytes(options->on_behalf, options->on_behalf_bytes),
                  .on_behalf_local = hearsay_bytes(options->on_behalf_local, LIMIT_ADDRESS_BYTES)},
        .deadline_ms = wait_deadline_ms(options->timeout_ms),
    };
    return address_parse(options->server != NULL ? options->server : "127.0.0.1", out_address,
                         error);
}

int hearsay_connect(const struct hearsay_connect *options, struct hearsay **out_server,
                    struct hearsay_error *out_error)
{
    struct address address;
    struct client_open open;
    *out_server = NULL;
    int status = connect_prepare(options, &address, &open, out_error);
    if (status != HEARSAY_OK) {
        return status;
    }
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

int hearsay_connect_begin(const struct hearsay_connect *options, struct hearsay **out_server,
                          struct hearsay_error *out_error)
{
    struct address address;
    struct client_open open;
    *out_server = NULL;
    if (options->tls != NULL) {
        return fail_set(out_error, HEARSAY_ERR_ARGUMENT,
                        "hearsay_connect_begin does no TLS; use hearsay_connect");
    }
    int status = connect_prepare(options, &address, &open, out_error);
    if (status != HEARSAY_OK) {
        return status;
    }
    bool is_connected = false;
    status = sock_connect_begin(&address, &open.fd, &is_connected, out_error);
    if (status != HEARSAY_OK) {
        return status;
    }
    open.is_connecting = !is_connected;
    return client_begin(&open, out_server, out_error);
}
