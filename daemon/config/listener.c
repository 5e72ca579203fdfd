/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/config/listener.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

/*
 * Parses a numeric address, and stores the address in the system's spelling, so that equal
 * addresses have equal texts.
 */
static bool read_address(int family, const char *text, size_t length,
                         struct config_listener *listener)
{
    char copy[CONFIG_ADDRESS_BYTES];
    unsigned char binary[sizeof(struct in6_addr)];

    if (length >= sizeof(copy)) {
        return false;
    }
    memcpy(copy, text, length);
    copy[length] = '\0';
    return inet_pton(family, copy, binary) == 1 &&
           inet_ntop(family, binary, listener->address, sizeof(listener->address)) != NULL;
}

/* Says why the text before the port is not an address. */
static int refuse_address(const struct settings_source *source, const char *key, const char *text,
                          const char *colon)
{
    if (strchr(text, ':') != colon) {
        return settings_refuse(source,
                               "`%s`: an IPv6 address stands in brackets, such as [::1]:7117; not "
                               "`%.200s`",
                               key, text);
    }
    return settings_refuse(
        source,
        "`%s`: `%.*s` is not a numeric address; names are not looked up, so that "
        "the daemon starts without a resolver: write 127.0.0.1:7117, [::1]:7117, "
        "0.0.0.0:7117 or [::]:7117",
        key, (int)(colon - text > 200 ? 200 : colon - text), text);
}

static int parse_place(const struct settings_source *source, const char *key, const char *text,
                       struct config_listener *out_listener)
{
    struct config_listener listener = {.kind = CONFIG_LISTENER_TCP};
    const char *colon = strrchr(text, ':');
    const char *bracket = strrchr(text, ']');
    int rc;

    if (text[0] == '/') {
        listener.kind = CONFIG_LISTENER_UNIX;
        rc = settings_parse_path(source, key, text, listener.path, sizeof(listener.path));
        if (rc == 0) {
            *out_listener = listener;
        }
        return rc;
    }
    if (colon == NULL || colon < bracket) {
        return settings_refuse(
            source,
            "`%s` must be an address with a port, such as 127.0.0.1:7117, or the "
            "path of a socket, such as /run/hearsay/socket; not `%.200s`",
            key, text);
    }
    if (!settings_parse_port(colon + 1, &listener.port)) {
        return settings_refuse(
            source, "`%s`: the port must be from 0 (any free one) to 65535; not `%.200s`", key,
            colon + 1);
    }
    if (text[0] == '[' && bracket == colon - 1) {
        if (!read_address(AF_INET6, text + 1, (size_t)(bracket - text - 1), &listener)) {
            return settings_refuse(
                source, "`%s`: `%.*s` is not a numeric IPv6 address, such as [::1] or [::]", key,
                (int)(bracket - text + 1 > 200 ? 200 : bracket - text + 1), text);
        }
    } else if (!read_address(AF_INET, text, (size_t)(colon - text), &listener)) {
        return refuse_address(source, key, text, colon);
    }
    *out_listener = listener;
    return 0;
}

/*
 * The words that may follow an address, and the field of struct config_listener that each word
 * sets.
 */
static const struct {
    const char *word;
    size_t offset;
} listener_words[] = {
    {"tls", offsetof(struct config_listener, tls)},
    {"mutual-tls", offsetof(struct config_listener, mutual_tls)},
    {"limited", offsetof(struct config_listener, limited)},
    {"local", offsetof(struct config_listener, local)},
    {"freebind", offsetof(struct config_listener, freebind)},
    {"gateway", offsetof(struct config_listener, gateway)},
    {"bridge", offsetof(struct config_listener, bridge)},
    {"senders=address", offsetof(struct config_listener, by_address)},
};
enum { LISTENER_WORDS = sizeof(listener_words) / sizeof(listener_words[0]) };

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

/*
 * Removes the words of listener_words from the end of `text`. Sets the field of each removed word.
 */
static void take_words(char *text, struct config_listener *listener)
{
    for (size_t i = 0; i < LISTENER_WORDS; i++) {
        size_t length = strlen(text);
        size_t word = strlen(listener_words[i].word);

        if (length > word + 1 && strcmp(text + length - word, listener_words[i].word) == 0 &&
            is_space(text[length - word - 1])) {
            size_t end = length - word;
            while (end > 0 && is_space(text[end - 1])) {
                end--;
            }
            text[end] = '\0';
            *(bool *)((char *)listener + listener_words[i].offset) = true;
            i = SIZE_MAX; /* start again with the first word of the table: the words may have any
                             order */
        }
    }
}

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
    char place[CONFIG_PATH_BYTES];
    struct config_listener words = {.limited = false};
    struct config_listener listener;

    if (strlen(text) >= sizeof(place)) {
        return settings_refuse(source, "`%s` is too long", key);
    }
    memcpy(place, text, strlen(text) + 1);
    take_words(place, &words);
    const char *blank = strpbrk(place, " \t");
    if (place[0] != '/' && blank != NULL) {
        return settings_refuse(source,
                               "`%s`: `%.100s` may not follow an address; tls, mutual-tls, "
                               "limited, local, freebind, gateway, bridge and senders=address may",
                               key, blank + 1);
    }
    int rc = parse_place(source, key, place, &listener);
    if (rc != 0) {
        return rc;
    }
    listener.tls = words.tls;
    listener.mutual_tls = words.mutual_tls;
    listener.limited = words.limited;
    listener.local = words.local;
    listener.freebind = words.freebind;
    listener.gateway = words.gateway;
    listener.bridge = words.bridge;
    listener.by_address = words.by_address;
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

uint32_t config_sessions_of_address(const struct config_limits *limits)
{
    uint32_t eighth = limits->sessions_max / 8 > 0 ? limits->sessions_max / 8 : 1;

    return limits->sessions_per_address < eighth ? limits->sessions_per_address : eighth;
}

static void print_place(const struct config_listener *listener, char *out)
{
    if (listener->kind == CONFIG_LISTENER_UNIX) {
        (void)snprintf(out, CONFIG_LISTENER_BYTES, "%s", listener->path);
    } else if (strchr(listener->address, ':') != NULL) {
        (void)snprintf(out, CONFIG_LISTENER_BYTES, "[%s]:%u", listener->address,
                       (unsigned)listener->port);
    } else {
        (void)snprintf(out, CONFIG_LISTENER_BYTES, "%s:%u", listener->address,
                       (unsigned)listener->port);
    }
}

void config_listener_print(const struct config_listener *listener, char *out)
{
    print_place(listener, out);
    for (size_t i = 0; i < LISTENER_WORDS; i++) {
        if (*(const bool *)((const char *)listener + listener_words[i].offset)) {
            size_t used = strlen(out);
            (void)snprintf(out + used, CONFIG_LISTENER_BYTES - used, " %s", listener_words[i].word);
        }
    }
}
