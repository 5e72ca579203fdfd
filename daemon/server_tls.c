/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/server_tls.h"

#include <stdlib.h>
#include <string.h>

#include "core/err.h"
#include "daemon/log.h"

/* With one record more, which may wait for its end, still less than one read of plain bytes. */
enum { SCRATCH_BYTES = 32 * 1024 };

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

static void log_pin(const struct config *config, const struct tls_context *context)
{
    uint8_t pin[TLS_PIN_BYTES];
    char text[TLS_PIN_TEXT_BYTES];

    tls_context_pin(context, pin);
    tls_pin_print(pin, text);
    log_info("TLS with %s, pin %s", config->tls_certificate, text);
}

int server_tls_load(struct server_tls *tls, const struct config *config, char *out_reason)
{
    struct tls_context *fresh[CONFIG_SECURITIES] = {NULL};
    const struct tls_context *any = NULL;
    int rc = 0;

    for (int i = CONFIG_TLS; i < CONFIG_SECURITIES && rc == 0; i++) {
        const struct tls_server_options options = {
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
    if (rc == 0 && any != NULL) {
        log_pin(config, any);
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
