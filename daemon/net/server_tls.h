/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server_tls: the certificate of the listeners with TLS. Loads the certificate, watches when it
 * expires, and switches TLS on for new connections.
 */
#pragma once

#include "daemon/config/config.h"
#include "daemon/net/transport.h"
#include "proto/tls/tls.h"

struct server_tls {
    struct tls_context *contexts[CONFIG_SECURITIES]; /* by enum config_security; NULL: unused */
    uint8_t *scratch; /* shared by all transports with TLS; NULL until a certificate is loaded */
    bool was_judged;  /* server_tls_tick has looked at the certificate in use */
    int64_t judged_at_ms; /* loop_ms when server_tls_tick last looked */
};

/*
 * Loads the certificate, and makes a TLS context for each kind of listener in use (`tls`,
 * `mutual-tls`). Without such a listener no certificate is loaded. Returns 0, or a negative error
 * with a sentence in out_reason (CONFIG_REASON_BYTES). On failure the certificate that was loaded
 * before stays in use.
 */
int server_tls_load(struct server_tls *tls, const struct config *config, char *out_reason);

/* Logs the pin (the hash of the public key) of the certificate, if a certificate is loaded. */
void server_tls_log_pin(const struct server_tls *tls, const struct config *config);

/* Returns the earliest expiry of the certificates in the loaded chain, as Unix time in
 * milliseconds. 0: no certificate is loaded. */
int64_t server_tls_not_after_ms(const struct server_tls *tls);

/*
 * Judges the certificate at the Unix time `now_ms`. SERVER_TLS_GOOD: the certificate expires in
 * more than two weeks, or no certificate is loaded. Otherwise a sentence is in out_sentence
 * (CONFIG_REASON_BYTES).
 */
enum server_tls_verdict { SERVER_TLS_GOOD, SERVER_TLS_ENDS_SOON, SERVER_TLS_EXPIRED };
enum server_tls_verdict server_tls_judge(const struct server_tls *tls, const struct config *config,
                                         int64_t now_ms, char *out_sentence);

/*
 * Call this function about once a second. Examines the certificate after each load, and then once a
 * day. If the certificate expires within two weeks or has expired, writes a warning to the log and
 * returns true. `loop_ms` is of any monotonic clock; `now_ms` is Unix time.
 */
bool server_tls_tick(struct server_tls *tls, const struct config *config, int64_t loop_ms,
                     int64_t now_ms);

/* Frees all; no transport may have TLS any more. */
void server_tls_deinit(struct server_tls *tls);

/* Switches TLS on for a transport that was accepted just now. Returns 0 or UV_ENOMEM. */
int server_tls_secure(struct server_tls *tls, enum config_security security,
                      struct transport *transport);
