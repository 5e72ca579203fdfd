/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/net/server_tls.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/err.h"

/* Size of the buffer for one read of encrypted bytes. These bytes and an incomplete record of about
 * 16 KiB from earlier reads are together less than the 64 KiB of a read without TLS. */
enum { SCRATCH_BYTES = 32 * 1024 };

static const int64_t DAY_MS = (int64_t)24 * 3600 * 1000;

_Static_assert((int)TLS_REASON_BYTES <= (int)CONFIG_REASON_BYTES, "a sentence fits");

static const char *path_or_null(const char *path)
{
    return path[0] != '\0' ? path : NULL;
}

static bool is_wanted(const struct config *config, enum config_security security)
{
    for (size_t i = 0; i < config->listener_count; i++) {
        if (config_security(&config->listeners[i]) == security) {
            return true;
        }
    }
    return false;
}

/* Returns any TLS context: all contexts have the same certificate. NULL: no certificate is loaded.
 */
static const struct tls_context *any_context(const struct server_tls *tls)
{
    for (int i = CONFIG_TLS; i < CONFIG_SECURITIES; i++) {
        if (tls->contexts[i] != NULL) {
            return tls->contexts[i];
        }
    }
    return NULL;
}

void server_tls_log_pin(const struct server_tls *tls, const struct config *config)
{
    const struct tls_context *context = any_context(tls);
    uint8_t pin[TLS_PIN_BYTES];
    char text[TLS_PIN_TEXT_BYTES];

    if (context != NULL) {
        tls_context_pin(context, pin);
        tls_pin_print(pin, text);
        log_info("TLS with %s, pin %s", config->tls_certificate, text);
    }
}

int64_t server_tls_not_after_ms(const struct server_tls *tls)
{
    const struct tls_context *context = any_context(tls);

    return context != NULL ? tls_context_not_after_ms(context) : 0;
}

enum server_tls_verdict server_tls_judge(const struct server_tls *tls, const struct config *config,
                                         int64_t now_ms, char *out_sentence)
{
    enum { SOON_DAYS = 14 };
    int64_t end_ms = server_tls_not_after_ms(tls);
    time_t end = (time_t)(end_ms / 1000);
    int64_t left_ms = end_ms - now_ms;
    char date[32] = "?";
    struct tm parts;

    if (any_context(tls) == NULL || left_ms > SOON_DAYS * DAY_MS) {
        return SERVER_TLS_GOOD;
    }
    if (gmtime_r(&end, &parts) != NULL) {
        (void)strftime(date, sizeof(date), "%Y-%m-%d %H:%M UTC", &parts);
    }
    if (left_ms <= 0) {
        (void)snprintf(out_sentence, CONFIG_REASON_BYTES,
                       "the certificate %s expired on %s: clients that check it refuse this "
                       "server; renew it with the same key, so that its pin stays",
                       config->tls_certificate, date);
        return SERVER_TLS_EXPIRED;
    }
    (void)snprintf(out_sentence, CONFIG_REASON_BYTES,
                   "the certificate %s expires on %s, in %" PRId64
                   " days: renew it with the same key, so that its pin stays",
                   config->tls_certificate, date, left_ms / DAY_MS);
    return SERVER_TLS_ENDS_SOON;
}

bool server_tls_tick(struct server_tls *tls, const struct config *config, int64_t loop_ms,
                     int64_t now_ms)
{
    char sentence[CONFIG_REASON_BYTES];

    if (tls->was_judged && loop_ms - tls->judged_at_ms < DAY_MS) {
        return false;
    }
    tls->was_judged = true;
    tls->judged_at_ms = loop_ms;
    if (server_tls_judge(tls, config, now_ms, sentence) == SERVER_TLS_GOOD) {
        return false;
    }
    log_warning("%s", sentence);
    return true;
}

int server_tls_load(struct server_tls *tls, const struct config *config, char *out_reason)
{
    struct tls_context *fresh[CONFIG_SECURITIES] = {NULL};
    const struct tls_context *any = NULL;
    int rc = 0;

    for (int i = CONFIG_TLS; i < CONFIG_SECURITIES && rc == 0; i++) {
        struct tls_server_options options = {
            .certificate = config->tls_certificate,
            .key = config->tls_key,
            .client_ca = i == CONFIG_MUTUAL_TLS ? path_or_null(config->tls_client_ca) : NULL,
        };
        if (is_wanted(config, (enum config_security)i)) {
            rc = tls_server_new(&options, &fresh[i], out_reason);
            any = fresh[i];
        }
    }
    if (rc == 0 && any != NULL && tls->scratch == NULL) {
        tls->scratch = malloc(SCRATCH_BYTES);
        if (tls->scratch == NULL) {
            (void)snprintf(out_reason, CONFIG_REASON_BYTES, "out of memory");
            rc = -ERR_NOMEM;
        }
    }
    for (int i = CONFIG_TLS; i < CONFIG_SECURITIES; i++) {
        tls_context_free(rc == 0 ? tls->contexts[i] : fresh[i]);
        if (rc == 0) {
            tls->contexts[i] = fresh[i];
        }
    }
    if (rc == 0) {
        tls->was_judged = false;
    }
    return rc;
}

void server_tls_deinit(struct server_tls *tls)
{
    for (int i = CONFIG_TLS; i < CONFIG_SECURITIES; i++) {
        tls_context_free(tls->contexts[i]);
    }
    free(tls->scratch);
    memset(tls, 0, sizeof(*tls));
}

int server_tls_secure(struct server_tls *tls, enum config_security security,
                      struct transport *transport)
{
    struct tls_pipe *pipe;

    if (tls_pipe_new(tls->contexts[security], NULL, &pipe) != 0) {
        return UV_ENOMEM;
    }
    transport_secure(transport, pipe, tls->scratch, SCRATCH_BYTES);
    return 0;
}
