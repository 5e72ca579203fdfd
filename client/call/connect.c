/* SPDX-License-Identifier: Apache-2.0 */
/* connect: from the text of an address to a connection that has exchanged greetings. */
#include <sodium.h>
#include <string.h>
#include <unistd.h>

#include "client/call/client.h"
#include "client/fail.h"
#include "client/net/address.h"
#include "client/net/sock.h"
#include "client/net/wait.h"

int hearsay_connect_resuming(const char *server, const struct hearsay_tls *tls, const char *agent,
                             const uint8_t *token, size_t token_bytes, int timeout_ms,
                             struct hearsay **out_server, struct hearsay_error *out_error)
{
    const struct client_resume resume = {token_bytes > 0 ? token : NULL, token_bytes};
    if (timeout_ms < 0) {
        return fail_set(out_error, HEARSAY_ERR_ARGUMENT, "the timeout is negative");
    }
    if (token_bytes > HEARSAY_RESUME_BYTES_MAX) {
        return fail_set(out_error, HEARSAY_ERR_ARGUMENT, "the resume token is over %d bytes",
                        HEARSAY_RESUME_BYTES_MAX);
    }
    agent = agent != NULL ? agent : "libhearsay/" HEARSAY_VERSION;
    if (strlen(agent) > LIMIT_AGENT_BYTES) {
        return fail_set(out_error, HEARSAY_ERR_ARGUMENT, "the agent is over %d bytes",
                        LIMIT_AGENT_BYTES);
    }
    if (sodium_init() < 0) {
        return fail_set(out_error, HEARSAY_ERR_SYSTEM, "the system gives no random numbers");
    }
    struct address address;
    int status = address_parse(server != NULL ? server : "127.0.0.1", &address, out_error);
    if (status != HEARSAY_OK) {
        return status;
    }
    int64_t deadline_ms = wait_deadline_ms(timeout_ms);
    int fd = -1;
    status = sock_connect(&address, deadline_ms, &fd, out_error);
    if (status != HEARSAY_OK) {
        return status;
    }
    struct secure *secure = NULL;
    if (tls != NULL) {
        status = secure_open(fd, &address, tls, deadline_ms, &secure, out_error);
        if (status != HEARSAY_OK) {
            (void)close(fd);
            return status;
        }
    }
    return client_open_resuming(alloc_system(), fd, secure, agent, &resume, deadline_ms, out_server,
                                out_error);
}

int hearsay_connect(const char *server, const char *agent, int timeout_ms,
                    struct hearsay **out_server, struct hearsay_error *out_error)
{
    return hearsay_connect_resuming(server, NULL, agent, NULL, 0, timeout_ms, out_server,
                                    out_error);
}

void hearsay_tls_init(struct hearsay_tls *tls)
{
    memset(tls, 0, sizeof(*tls));
}

int hearsay_connect_tls(const char *server, const struct hearsay_tls *tls, const char *agent,
                        int timeout_ms, struct hearsay **out_server,
                        struct hearsay_error *out_error)
{
    return hearsay_connect_resuming(server, tls, agent, NULL, 0, timeout_ms, out_server, out_error);
}
