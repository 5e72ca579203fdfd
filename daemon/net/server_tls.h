/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server_tls: the certificate of the listeners with TLS: loads it, watches when it expires, and
 * switches TLS on for new connections.
 */
#ifndef DAEMON_NET_SERVER_TLS_H
#define DAEMON_NET_SERVER_TLS_H

#include "daemon/config/config.h"
#include "daemon/net/transport.h"
#include "proto/tls/tls.h"

struct server_tls {
    struct tls_context *contexts[CONFIG_SECURITIES]; /* by enum config_security; NULL: unused */
    uint8_t *scratch;     /* shared by all transports with TLS; NULL before the first */
    bool was_judged;      /* server_tls_tick has looked since the certificate was loaded */
    int64_t judged_at_ms; /* loop time: when it last looked */
};

/*
 * Loads the certificate, and makes a TLS context for each kind of listener (tls, mutual-tls) in
 * use. 0; or negative with a sentence in out_reason (CONFIG_REASON_BYTES): the certificate loaded
 * before stays in use.
 */
int server_tls_load(struct server_tls *tls, const struct config *config, char *out_reason);

/* Logs the pin of the certificate, if one is loaded. */
void server_tls_log_pin(const struct server_tls *tls, const struct config *config);

/* When the certificate, or one of its chain, expires: Unix time; 0: none is loaded. */
int64_t server_tls_not_after_ms(const struct server_tls *tls);

/*
 * SERVER_TLS_GOOD: the certificate does not expire within two weeks from now_ms (Unix time), or
 * none is loaded. Otherwise a sentence is in out_sentence (CONFIG_REASON_BYTES).
 */
enum server_tls_verdict { SERVER_TLS_GOOD, SERVER_TLS_ENDS_SOON, SERVER_TLS_EXPIRED };
enum server_tls_verdict server_tls_judge(const struct server_tls *tls, const struct config *config,
                                         int64_t now_ms, char *out_sentence);

/*
 * To be called about once a second. After the certificate was loaded, and then once a day, warns in
 * the log if it expires soon. Returns whether it did. loop_ms: any monotonic clock; now_ms: Unix
 * time.
 */
bool server_tls_tick(struct server_tls *tls, const struct config *config, int64_t loop_ms,
                     int64_t now_ms);

/* Frees all; no transport may have TLS any more. */
void server_tls_deinit(struct server_tls *tls);

/* Switches TLS on for a transport that was just accepted. 0 or UV_ENOMEM. */
int server_tls_secure(struct server_tls *tls, enum config_security security,
                      struct transport *transport);

#endif
