/* SPDX-License-Identifier: Apache-2.0 */
#include "client/net/address.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/fail.h"

/* 1 .. 65535, in at most five digits. */
static bool port_is_valid(const char *text)
{
    size_t length = strlen(text);
    unsigned long value = strtoul(text, NULL, 10);
    return length <= 5 && strspn(text, "0123456789") == length && value >= 1 && value <= 65535;
}

static int set_path(const char *text, struct address *out, struct hearsay_error *error)
{
    size_t length = strlen(text);
    if (length >= sizeof(out->path)) {
        return fail_set(error, HEARSAY_ERR_ARGUMENT,
                        "the socket's path has %zu bytes, the system takes at most %zu", length,
                        sizeof(out->path) - 1);
    }
    memset(out, 0, sizeof(*out));
    out->kind = ADDRESS_UNIX;
    memcpy(out->path, text, length + 1);
    return HEARSAY_OK;
}

/* `port` is NULL for the default one. */
static int set_host(const char *text, const char *host, size_t length, const char *port,
                    struct address *out, struct hearsay_error *error)
{
    if (length == 0) {
        return fail_set(error, HEARSAY_ERR_ARGUMENT, "the server \"%s\" has no host name", text);
    }
    if (length >= sizeof(out->host)) {
        return fail_set(error, HEARSAY_ERR_ARGUMENT, "the server's name is over %zu bytes",
                        sizeof(out->host) - 1);
    }
    if (port != NULL && !port_is_valid(port)) {
        return fail_set(error, HEARSAY_ERR_ARGUMENT,
                        "the port in \"%s\" is not a number from 1 to 65535", text);
    }
    memset(out, 0, sizeof(*out));
    out->kind = ADDRESS_TCP;
    memcpy(out->host, host, length);
    if (port != NULL) {
        memcpy(out->port, port, strlen(port) + 1);
    } else {
        (void)snprintf(out->port, sizeof(out->port), "%d", HEARSAY_PORT);
    }
    return HEARSAY_OK;
}

static int parse_brackets(const char *text, struct address *out, struct hearsay_error *error)
{
    const char *close = strchr(text, ']');
    if (close == NULL) {
        return fail_set(error, HEARSAY_ERR_ARGUMENT, "the server \"%s\" lacks a ]", text);
    }
    if (close[1] != '\0' && close[1] != ':') {
        return fail_set(error, HEARSAY_ERR_ARGUMENT, "only :PORT may follow the ] in \"%s\"", text);
    }
    const char *port = close[1] == ':' ? close + 2 : NULL;
    return set_host(text, text + 1, (size_t)(close - text) - 1, port, out, error);
}

int address_parse(const char *text, struct address *out_address, struct hearsay_error *out_error)
{
    const char *slash = strchr(text, '/');
    if (slash != NULL && memchr(text, ':', (size_t)(slash - text)) != NULL) {
        return fail_set(
            out_error, HEARSAY_ERR_ARGUMENT,
            "the server \"%.200s\" is neither HOST, HOST:PORT nor a path; the name of a "
            "Unix socket is its path alone",
            text);
    }
    if (slash != NULL) {
        return set_path(text, out_address, out_error);
    }
    if (text[0] == '[') {
        return parse_brackets(text, out_address, out_error);
    }
    const char *colon = strchr(text, ':');
    if (colon == NULL || strchr(colon + 1, ':') != NULL) {
        /*
         * No colon: a host name. Two or more colons: an IPv6 address without brackets, and
         * therefore without a port.
         */
        return set_host(text, text, strlen(text), NULL, out_address, out_error);
    }
    return set_host(text, text, (size_t)(colon - text), colon + 1, out_address, out_error);
}

void address_print(const struct address *address, char out_name[ADDRESS_NAME_BYTES])
{
    bool is_ipv6 = strchr(address->host, ':') != NULL;
    (void)snprintf(out_name, ADDRESS_NAME_BYTES, is_ipv6 ? "[%s]:%s" : "%s:%s", address->host,
                   address->port);
}
