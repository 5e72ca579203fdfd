/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server_tls: certificates of the listeners that have encryption, and handshakes under way, which
 * are bounded: each costs far more than a request.
 */
#ifndef DAEMON_NET_SERVER_TLS_H
#define DAEMON_NET_SERVER_TLS_H

#include "daemon/config/config.h"
#include "daemon/net/transport.h"
#include "proto/tls/tls.h"

struct server_tls {
    struct tls_context *contexts[CONFIG_SECURITIES]; /* by enum config_security; NULL: unused */
    uint8_t *scratch;     /* for what any transport reads; NULL before the first */
    bool was_judged;      /* since the certificates were loaded */
    int64_t judged_at_ms; /* loop time: when server_tls_tick last did */
};

/*
 * Reads the certificates that the listeners need. 0, or negative with a sentence in out_reason
 * (CONFIG_REASON_BYTES): what was there before stays.
 */
int server_tls_load(struct server_tls *tls, const struct config *config, char *out_reason);

/* Says the pin of the certificate to the log, where there is one. */
void server_tls_log_pin(const struct server_tls *tls, const struct config *config);

/* When the certificate, or one of its chain, expires: Unix time; 0: there is no certificate. */
int64_t server_tls_not_after_ms(const struct server_tls *tls);

/*
 * Whether the certificate is good for two weeks from now_ms (Unix time) on, or there is none.
 * Otherwise a sentence about it is in out_sentence (CONFIG_REASON_BYTES).
 */
enum server_tls_verdict { SERVER_TLS_GOOD, SERVER_TLS_ENDS_SOON, SERVER_TLS_EXPIRED };
enum server_tls_verdict server_tls_judge(const struct server_tls *tls, const struct config *config,
                                         int64_t now_ms, char *out_sentence);

/*
 * To be called again and again: after certificates were loaded, and once a day, looks at when they
 * expire. Whether it wrote a warning. loop_ms: of any monotonic clock; now_ms: Unix time.
 */
bool server_tls_tick(struct server_tls *tls, const struct config *config, int64_t loop_ms,
                     int64_t now_ms);

/* No transport may be in use any more. */
void server_tls_deinit(struct server_tls *tls);

/* Puts encryption into a transport that was just accepted. 0 or UV_ENOMEM. */
int server_tls_secure(struct server_tls *tls, enum config_security security,
                      struct transport *transport);

#endif
