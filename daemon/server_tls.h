/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server_tls: certificates of the listeners that have encryption, and handshakes under way, which
 * are bounded: each costs far more than a request.
 */
#ifndef DAEMON_SERVER_TLS_H
#define DAEMON_SERVER_TLS_H

#include "daemon/config.h"
#include "daemon/transport.h"
#include "tls/tls.h"

struct server_tls {
    struct tls_context *contexts[CONFIG_SECURITIES]; /* by enum config_security; NULL: unused */
    uint8_t *scratch; /* for what any transport reads; NULL before the first */
};

/*
 * Reads the certificates that the listeners need, and says their pin to the log. 0, or negative
 * with a sentence in out_reason (CONFIG_REASON_BYTES): what was there before stays.
 */
int server_tls_load(struct server_tls *tls, const struct config *config, char *out_reason);

/* No transport may be in use any more. */
void server_tls_deinit(struct server_tls *tls);

/* Puts encryption into a transport that was just accepted. 0 or UV_ENOMEM. */
int server_tls_secure(struct server_tls *tls, enum config_security security,
                      struct transport *transport);

#endif
