/* SPDX-License-Identifier: Apache-2.0 */
#include "client/web/route/names.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "client/web/form.h"

enum { PORT_HTTP = 80 };

/* The parts of a Host header. */
struct host_parts {
    char name[WEB_CONFIG_NAME_BYTES];
    uint16_t port;
    uint8_t family; /* 4 or 6: the name is a numeric address; 0: a name */
    uint8_t address[16];
};

/* Reads `:PORT`; nothing is the port of HTTP. */
static bool port_read(const char *text, uint16_t *out_port)
{
    uint64_t port = PORT_HTTP;
    bool is_right =
        *text == '\0' || (*text == ':' && form_read_number(text + 1, UINT16_MAX, &port));

    *out_port = (uint16_t)port;
    return is_right;
}

static bool host_read(const char *host, struct host_parts *out_parts)
{
    struct host_parts parts = {.family = 0};
    bool is_bracketed = host[0] == '[';
    const char *name = is_bracketed ? host + 1 : host;
    size_t bytes = strcspn(name, is_bracketed ? "]" : ":");

    if (bytes == 0 || bytes >= sizeof(parts.name) || (is_bracketed && name[bytes] != ']')) {
        return false;
    }
    memcpy(parts.name, name, bytes);
    if (is_bracketed) {
        parts.family = 6;
        if (inet_pton(AF_INET6, parts.name, parts.address) != 1) {
            return false;
        }
    } else if (inet_pton(AF_INET, parts.name, parts.address) == 1) {
        parts.family = 4;
    }
    if (!port_read(name + bytes + (is_bracketed ? 1 : 0), &parts.port)) {
        return false;
    }
    *out_parts = parts;
    return true;
}

static bool is_configured(const struct web_config *config, const char *name)
{
    for (size_t i = 0; i < config->name_count; i++) {
        if (strcasecmp(config->names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether a host stands for one place where the program listens. */
static bool place_fits(const struct names *names, const struct web_config_listener *place,
                       const struct host_parts *parts)
{
    if (!place->is_proxied && parts->port != place->port) {
        return false;
    }
    if (parts->family == 0) {
        return is_configured(names->config, parts->name) ||
               (!place->is_unix && web_address_is_loopback(place->family, place->address) &&
                strcasecmp(parts->name, "localhost") == 0);
    }
    if (place->is_unix) {
        return false;
    }
    return web_address_is_any(place->family, place->address) ||
           (place->family == parts->family &&
            memcmp(place->address, parts->address, parts->family == 4 ? 4 : 16) == 0);
}

bool names_allow_host(const struct names *names, bool is_metrics, const char *host)
{
    struct host_parts parts;

    if (host == NULL || !host_read(host, &parts)) {
        return false;
    }
    for (size_t i = 0; i < names->place_count; i++) {
        if (names->places[i].is_metrics == is_metrics &&
            place_fits(names, &names->places[i], &parts)) {
            return true;
        }
    }
    return false;
}

static bool has_proxy(const struct names *names)
{
    for (size_t i = 0; i < names->place_count; i++) {
        if (names->places[i].is_proxied) {
            return true;
        }
    }
    return false;
}

bool names_allow_origin(const struct names *names, const char *host, const char *origin)
{
    static const char http[] = "http://";
    static const char https[] = "https://";

    if (origin == NULL) {
        return true;
    }
    if (strncasecmp(origin, http, sizeof(http) - 1) == 0) {
        return strcasecmp(origin + sizeof(http) - 1, host) == 0;
    }
    return has_proxy(names) && strncasecmp(origin, https, sizeof(https) - 1) == 0 &&
           strcasecmp(origin + sizeof(https) - 1, host) == 0;
}

static void write_port(const struct web_config_listener *place, char *out_text, size_t room)
{
    out_text[0] = '\0';
    if (!place->is_proxied && place->port != PORT_HTTP) {
        (void)snprintf(out_text, room, ":%u", (unsigned)place->port);
    }
}

void names_write(const struct names *names, char *out_text)
{
    char port[8] = "";

    for (size_t i = names->place_count; i > 0; i--) { /* the first of the guests' */
        if (!names->places[i - 1].is_metrics) {
            write_port(&names->places[i - 1], port, sizeof(port));
        }
    }
    (void)snprintf(out_text, NAMES_TEXT_BYTES, "%s%s", names->config->names[0], port);
}

bool names_write_numeric(const struct names *names, char *out_text)
{
    for (size_t i = 0; i < names->place_count; i++) {
        const struct web_config_listener *place = &names->places[i];
        char address[INET6_ADDRSTRLEN];
        char port[8];

        if (place->is_proxied || place->is_metrics ||
            web_address_is_loopback(place->family, place->address) ||
            web_address_is_any(place->family, place->address) ||
            inet_ntop(place->family == 6 ? AF_INET6 : AF_INET, place->address, address,
                      sizeof(address)) == NULL) {
            continue;
        }
        write_port(place, port, sizeof(port));
        (void)snprintf(out_text, NAMES_TEXT_BYTES, place->family == 6 ? "[%s]%s" : "%s%s", address,
                       port);
        return true;
    }
    return false;
}
