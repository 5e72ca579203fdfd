/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/config/options.h"

#include <arpa/inet.h>
#include <string.h>

static const struct settings_word words[] = {
    {"tls", offsetof(struct config_listener, tls)},
    {"mutual-tls", offsetof(struct config_listener, mutual_tls)},
    {"limited", offsetof(struct config_listener, limited)},
    {"local", offsetof(struct config_listener, local)},
    {"freebind", offsetof(struct config_listener, freebind)},
    {"gateway", offsetof(struct config_listener, gateway)},
    {"bridge", offsetof(struct config_listener, bridge)},
    {"senders=address", offsetof(struct config_listener, by_address)},
};

static const struct settings_listener grammar = {words, sizeof(words) / sizeof(words[0]), 7117,
                                                 "/run/hearsay/socket"};

/*
 * Returns a sentence if a word after the address is not allowed for this kind of listener, or not
 * together with another word. NULL: all words are allowed.
 */
static const char *broken_rule(const struct config_listener *listener)
{
    if (listener->kind == CONFIG_LISTENER_TCP) {
        return listener->gateway  ? "gateway is for a Unix socket, such as "
                                    "/run/hearsay-web/gateway.sock"
               : listener->bridge ? "bridge is for a Unix socket, such as "
                                    "/run/hearsay-bridge/bridge.sock"
                                  : NULL;
    }
    if (listener->tls || listener->mutual_tls) {
        return "a Unix socket needs no tls";
    }
    if (listener->freebind) {
        return "freebind is for addresses, not for a Unix socket";
    }
    if (listener->bridge && (listener->gateway || listener->limited || listener->local)) {
        return "bridge excludes gateway, limited and local: a bridge speaks for no client, has no "
               "limits of an address, and gets no keys of epochs";
    }
    if (listener->by_address && !listener->gateway) {
        return "senders=address is for addresses and for gateway sockets: the clients of another "
               "Unix socket have no address";
    }
    return listener->gateway && listener->limited ? "gateway and limited exclude each other: a "
                                                    "gateway names the address of each client, "
                                                    "and that address is limited"
                                                  : NULL;
}

int config_listener_parse(const struct settings_source *source, const char *key, const char *text,
                          struct config_listener *out_listener)
{
    struct config_listener listener = {.kind = CONFIG_LISTENER_UNIX};
    struct settings_place place;
    int rc = settings_parse_listener(&grammar, source, key, text, &place, &listener);

    if (rc != 0) {
        return rc;
    }
    if (place.family == 0) {
        memcpy(listener.path, place.path, sizeof(listener.path));
    } else {
        /* The system's spelling, so that equal addresses have equal texts. */
        listener.kind = CONFIG_LISTENER_TCP;
        listener.port = place.port;
        (void)inet_ntop(place.family == 6 ? AF_INET6 : AF_INET, place.address, listener.address,
                        sizeof(listener.address)); /* has room for each address */
    }
    const char *rule = broken_rule(&listener);
    if (rule != NULL) {
        return settings_refuse(source, "`%s`: %s", key, rule);
    }
    *out_listener = listener;
    return 0;
}

bool config_has_bridge(const struct config *config)
{
    for (size_t i = 0; i < config->listener_count; i++) {
        if (config->listeners[i].bridge) {
            return true;
        }
    }
    return false;
}

bool config_listener_same_place(const struct config_listener *a, const struct config_listener *b)
{
    return a->kind == b->kind && a->port == b->port && strcmp(a->address, b->address) == 0 &&
           strcmp(a->path, b->path) == 0;
}

enum config_security config_security(const struct config_listener *listener)
{
    return listener->mutual_tls ? CONFIG_MUTUAL_TLS : listener->tls ? CONFIG_TLS : CONFIG_PLAIN;
}

uint32_t config_sessions_of_address(const struct hearsay_limits *limits)
{
    uint32_t eighth = limits->sessions / 8 > 0 ? limits->sessions / 8 : 1;

    return limits->sessions_per_address < eighth ? limits->sessions_per_address : eighth;
}

void config_listener_print(const struct config_listener *listener, char *out)
{
    struct settings_place place = {.port = listener->port};

    if (listener->kind == CONFIG_LISTENER_UNIX) {
        memcpy(place.path, listener->path, sizeof(place.path));
    } else {
        place.family = strchr(listener->address, ':') != NULL ? 6 : 4;
        (void)inet_pton(place.family == 6 ? AF_INET6 : AF_INET, listener->address, place.address);
    }
    settings_print_listener(&grammar, &place, listener, out);
}
