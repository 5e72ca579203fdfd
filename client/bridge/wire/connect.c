/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/wire/wire.h"

#include <string.h>

enum {
    CONNECT_MS = 2000, /* for one server, its TLS and its greeting */
    PING_MS = 10 * 1000,
    PINGS_OUT = 2, /* a connection without an answer to so many is lost */
    WRITE_MS = 2000
};

void connect_inbox(const struct bridge_config *config, char *out, size_t room)
{
    (void)snprintf(out, room, "_INBOX_%s", config->name);
}

/*
 * Returns whether libnats gives this error when the server has refused the certificate. With
 * TLS 1.3 the server looks at the certificate when the client's side of the handshake is done
 * already, and libnats has gone on: it writes its greeting and waits for a PONG. If the server
 * closes the connection before the greeting is written, SSL_write or SSL_read fails. If the server
 * closes it later, libnats 3.4 says that it expected a PONG, and libnats 3.10 that the connection
 * is closed.
 */
static bool is_refused_late(natsStatus status, const char *text)
{
    return status == NATS_CONNECTION_CLOSED ||
           (status == NATS_PROTOCOL_ERROR && strstr(text, "PONG") != NULL) ||
           (status == NATS_IO_ERROR &&
            (strstr(text, "SSL_write") != NULL || strstr(text, "SSL_read") != NULL));
}

void connect_explain(natsStatus status, char *out_error)
{
    natsStatus last = NATS_OK;
    const char *said = nats_GetLastError(&last);
    const char *text = said != NULL ? said : "";
    const char *advice = "";

    if (status == NATS_CONNECTION_AUTH_FAILED || strstr(text, "uthorization") != NULL) {
        advice = "; the hub does not know this certificate: see `cert` and setup-hub";
    } else if (strstr(text, "aximum account active connections") != NULL) {
        advice = "; too many connections have this certificate: who else has its key?";
    } else if (status == NATS_SSL_ERROR || status == NATS_SECURE_CONNECTION_REQUIRED ||
               status == NATS_SECURE_CONNECTION_WANTED) {
        advice = "; see `cert`, `key` and `ca`, and this machine's clock";
    } else if (is_refused_late(status, text)) {
        advice =
            "; the hub refuses this certificate, it seems: see `cert`, its dates and who signed it";
    } else if (status == NATS_NO_SERVER || status == NATS_TIMEOUT || status == NATS_IO_ERROR) {
        advice = "; see `nats`, and whether a server runs there";
    }
    (void)snprintf(out_error, CONNECT_ERROR_BYTES, "%s%s%.120s%s", natsStatus_GetText(status),
                   text[0] != '\0' ? ": " : "", text, advice);
}

static natsStatus set_tls(const struct bridge_config *config, natsOptions *options)
{
    if (config->ca[0] == '\0') {
        return NATS_OK;
    }
    natsStatus status = natsOptions_SetSecure(options, true);
    if (status == NATS_OK) {
        status = natsOptions_LoadCATrustedCertificates(options, config->ca);
    }
    return status == NATS_OK ? natsOptions_LoadCertificatesChain(options, config->cert, config->key)
                             : status;
}

static natsStatus set_times(natsOptions *options)
{
    natsStatus status = natsOptions_SetTimeout(options, CONNECT_MS);

    status = status == NATS_OK ? natsOptions_SetPingInterval(options, PING_MS) : status;
    status = status == NATS_OK ? natsOptions_SetMaxPingsOut(options, PINGS_OUT) : status;
    status = status == NATS_OK ? natsOptions_SetWriteDeadline(options, WRITE_MS) : status;
    return status;
}

natsStatus connect_options(const struct bridge_config *config, natsOptions **out_options,
                           char *out_error)
{
    const char *servers[BRIDGE_NATS_MAX];
    char inbox[BRIDGE_NAME_BYTES + 16];
    char name[BRIDGE_NAME_BYTES + 16];
    natsOptions *options = NULL;
    natsStatus status = natsOptions_Create(&options);

    connect_inbox(config, inbox, sizeof(inbox));
    (void)snprintf(name, sizeof(name), "hearsay-%s", config->name);
    for (size_t i = 0; i < config->nats_count; i++) {
        servers[i] = config->nats[i];
    }
    status = status == NATS_OK ? natsOptions_SetServers(options, servers, (int)config->nats_count)
                               : status;
    status = status == NATS_OK ? natsOptions_SetName(options, name) : status;
    status = status == NATS_OK ? natsOptions_SetCustomInboxPrefix(options, inbox) : status;
    /* The wire connects again itself: libnats would give up after two refusals. */
    status = status == NATS_OK ? natsOptions_SetAllowReconnect(options, false) : status;
    status = status == NATS_OK ? natsOptions_SetIgnoreDiscoveredServers(options, true) : status;
    status = status == NATS_OK ? natsOptions_UseGlobalMessageDelivery(options, true) : status;
    status = status == NATS_OK ? set_times(options) : status;
    status = status == NATS_OK ? set_tls(config, options) : status;
    if (status != NATS_OK) {
        connect_explain(status, out_error);
        natsOptions_Destroy(options);
        return status;
    }
    *out_options = options;
    return NATS_OK;
}
