/* SPDX-License-Identifier: Apache-2.0 */
#include "client/web/setup/types.h"

#include <arpa/inet.h>
#include <string.h>

#include <sodium.h>

#include "client/web/setup/config.h"

/* --- listeners -------------------------------------------------------------------------------- */

bool web_address_is_loopback(uint8_t family, const uint8_t *address)
{
    static const uint8_t loopback6[16] = {[15] = 1};

    return family == 4 ? address[0] == 127 : memcmp(address, loopback6, sizeof(loopback6)) == 0;
}

bool web_address_is_any(uint8_t family, const uint8_t *address)
{
    static const uint8_t any[16];

    return memcmp(address, any, family == 4 ? 4 : sizeof(any)) == 0;
}

/* Whether guests reach the address, at any port. */
static bool is_of_guests(const struct web_config_listener *listeners, size_t count,
                         const struct web_config_listener *own)
{
    for (size_t i = 0; i < count; i++) {
        const struct web_config_listener *other = &listeners[i];

        if (!other->is_metrics && !other->is_unix && other->family == own->family &&
            (web_address_is_any(other->family, other->address) ||
             memcmp(other->address, own->address, sizeof(own->address)) == 0)) {
            return true;
        }
    }
    return false;
}

int web_metrics_check(const struct web_config_listener *listeners, size_t count,
                      const struct settings_source *source)
{
    char text[WEB_CONFIG_LISTENER_BYTES];
    size_t metrics = 0;

    for (size_t i = 0; i < count; i++) {
        const struct web_config_listener *own = &listeners[i];

        metrics += own->is_metrics;
        if (own->is_metrics && !web_address_is_loopback(own->family, own->address) &&
            is_of_guests(listeners, count, own)) {
            web_listener_print(own, text);
            return settings_refuse(source,
                                   "`listen`: %s: guests reach their page at this address: name "
                                   "127.0.0.1 or an address of the management network",
                                   text);
        }
    }
    return metrics < count ? 0
                           : settings_refuse(source, "`listen`: all lines are for metrics: add one "
                                                     "without the word metrics, for phones");
}

static const struct settings_word words[] = {
    {"proxied", offsetof(struct web_config_listener, is_proxied)},
    {"metrics", offsetof(struct web_config_listener, is_metrics)},
    {"freebind", offsetof(struct web_config_listener, is_freebind)},
    {"senders=address", offsetof(struct web_config_listener, by_address)},
};

static const struct settings_listener grammar = {words, sizeof(words) / sizeof(words[0]), 7118,
                                                 "/run/hearsay-web/http.sock"};

/* What may stand behind an address of metrics, and which address may not. */
static int metrics_check(const struct settings_source *source, const char *key,
                         const struct web_config_listener *listener)
{
    char text[WEB_CONFIG_LISTENER_BYTES];

    web_listener_print(listener, text);
    if (listener->is_unix || listener->is_proxied) {
        return settings_refuse(source,
                               "`%s`: metrics are for an address and a port without a proxy, such "
                               "as 127.0.0.1:9118 metrics; not `%.160s`",
                               key, text);
    }
    if (web_address_is_any(listener->family, listener->address)) {
        return settings_refuse(source,
                               "`%s`: %s would be every address, the guests' ones too: name "
                               "127.0.0.1 or one of the management network",
                               key, text);
    }
    return 0;
}

static int listener_parse(const struct settings_source *source, const char *key, const char *value,
                          struct web_config_listener *out_listener)
{
    struct web_config_listener listener = {.is_unix = false};
    struct settings_place place;
    int rc = settings_parse_listener(&grammar, source, key, value, &place, &listener);

    if (rc != 0) {
        return rc;
    }
    listener.is_unix = place.family == 0;
    listener.family = place.family;
    listener.port = place.port;
    memcpy(listener.address, place.address, sizeof(listener.address));
    memcpy(listener.path, place.path, sizeof(listener.path));
    if (listener.is_metrics && metrics_check(source, key, &listener) != 0) {
        return SETTINGS_REFUSED;
    }
    if (listener.is_unix && listener.is_freebind) {
        return settings_refuse(source, "`%s`: freebind is for addresses, not for a Unix socket",
                               key);
    }
    if (listener.is_unix && !listener.is_proxied) {
        return settings_refuse(source,
                               "`%s`: a Unix socket tells no addresses of phones: write proxied "
                               "behind %s, and have the proxy send X-Forwarded-For",
                               key, listener.path);
    }
    if (listener.is_proxied && !listener.is_unix &&
        !web_address_is_loopback(listener.family, listener.address)) {
        return settings_refuse(source,
                               "`%s`: proxied is for a proxy on this machine, at an address such "
                               "as 127.0.0.1:7118 or a Unix socket: anybody who reaches `%.100s` "
                               "could say any address",
                               key, value);
    }
    *out_listener = listener;
    return 0;
}

static int listener_add(const struct settings_source *source, const struct settings_key *key,
                        void *base, const char *value)
{
    struct web_config *config = base;
    struct web_config_listener listener;

    if (config->listener_count == HTTP_LISTENERS_MAX) {
        return settings_refuse(source, "`%s`: there may be at most %d", key->name,
                               HTTP_LISTENERS_MAX);
    }
    int rc = listener_parse(source, key->name, value, &listener);
    if (rc == 0) {
        config->listeners[config->listener_count++] = listener;
    }
    return rc;
}

void web_listener_print(const struct web_config_listener *listener, char *out)
{
    struct settings_place place = {.family = listener->family, .port = listener->port};

    memcpy(place.address, listener->address, sizeof(place.address));
    memcpy(place.path, listener->path, sizeof(place.path));
    settings_print_listener(&grammar, &place, listener, out);
}

static void listeners_print(const struct settings_key *key, const void *base, FILE *out)
{
    const struct web_config *config = base;
    char text[WEB_CONFIG_LISTENER_BYTES];

    for (size_t i = 0; i < config->listener_count; i++) {
        web_listener_print(&config->listeners[i], text);
        (void)fprintf(out, "%s = %s\n", key->name, text);
    }
}

const struct settings_own web_type_listener = {
    .name = "address",
    .form = "a numeric address with a port, such as 192.168.8.1:80",
    .set = listener_add,
    .print = listeners_print,
};

/* --- names ------------------------------------------------------------------------------------ */

/* A name of the DNS in small letters, such as hearsay.lan. */
static bool is_name(const char *text)
{
    size_t length = strlen(text);

    return length > 0 && length < WEB_CONFIG_NAME_BYTES && text[0] != '.' && text[0] != '-' &&
           text[length - 1] != '.' && text[length - 1] != '-' && strstr(text, "..") == NULL &&
           strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789.-") == length;
}

static int name_add(const struct settings_source *source, const struct settings_key *key,
                    void *base, const char *value)
{
    struct web_config *config = base;

    if (config->name_count == WEB_CONFIG_NAMES_MAX) {
        return settings_refuse(source, "`%s`: there may be at most %d", key->name,
                               WEB_CONFIG_NAMES_MAX);
    }
    if (!is_name(value)) {
        return settings_refuse(source,
                               "`%s` must be a name of letters a-z, digits, hyphens and dots, such "
                               "as hearsay.lan, without a port; not `%.160s`",
                               key->name, value);
    }
    memcpy(config->names[config->name_count++], value, strlen(value) + 1);
    return 0;
}

static void names_print(const struct settings_key *key, const void *base, FILE *out)
{
    const struct web_config *config = base;

    for (size_t i = 0; i < config->name_count; i++) {
        (void)fprintf(out, "%s = %s\n", key->name, config->names[i]);
    }
}

const struct settings_own web_type_name = {
    .name = "name",
    .form = "a name such as hearsay.lan",
    .set = name_add,
    .print = names_print,
};

/* --- texts ------------------------------------------------------------------------------------ */

static int text_set(const struct settings_source *source, const struct settings_key *key,
                    void *base, const char *value)
{
    size_t length = strlen(value);
    char *field = (char *)base + key->offset;

    if (length >= key->width) {
        return settings_refuse(source, "`%s` may have %zu bytes at most, and has %zu", key->name,
                               key->width - 1, length);
    }
    memset(field, 0, key->width);
    memcpy(field, value, length);
    return 0;
}

static void text_print(const struct settings_key *key, const void *base, FILE *out)
{
    const char *field = (const char *)base + key->offset;

    if (field[0] != '\0') {
        (void)fprintf(out, "%s = %s\n", key->name, field);
    }
}

const struct settings_own web_type_text = {
    .name = "text",
    .form = "a text",
    .set = text_set,
    .print = text_print,
};

static int rules_add(const struct settings_source *source, const struct settings_key *key,
                     void *base, const char *value)
{
    struct web_config *config = base;
    size_t used = strlen(config->rules);
    size_t length = strlen(value);

    if (config->rules_file[0] != '\0' || (value[0] == '/' && used > 0)) {
        return settings_refuse(source, "`%s` must be lines, or the path of one file; not both",
                               key->name);
    }
    if (value[0] == '/') {
        return settings_parse_path(source, key->name, value, config->rules_file,
                                   sizeof(config->rules_file));
    }
    if (used + length + 2 > sizeof(config->rules)) {
        return settings_refuse(source, "`%s`: all lines together may have %zu bytes", key->name,
                               sizeof(config->rules) - 1);
    }
    memcpy(config->rules + used, value, length);
    memcpy(config->rules + used + length, "\n", 2);
    return 0;
}

static void rules_print(const struct settings_key *key, const void *base, FILE *out)
{
    const struct web_config *config = base;
    const char *line = config->rules;

    if (config->rules_file[0] != '\0') {
        (void)fprintf(out, "%s = %s\n", key->name, config->rules_file);
        return;
    }
    while (*line != '\0') {
        size_t length = strcspn(line, "\n") + 1; /* each has one behind it */

        (void)fprintf(out, "%s = %.*s", key->name, (int)length, line);
        line += length;
    }
}

const struct settings_own web_type_rules = {
    .name = "text",
    .form = "a text",
    .set = rules_add,
    .print = rules_print,
};

static int topics_set(const struct settings_source *source, const struct settings_key *key,
                      void *base, const char *value)
{
    struct web_config *config = base;
    char why[TOPICS_WHY_BYTES];

    return topics_read(value, &config->topics, why)
               ? 0
               : settings_refuse(source, "`%s`: %s", key->name, why);
}

static void topics_print(const struct settings_key *key, const void *base, FILE *out)
{
    const struct topics *topics = &((const struct web_config *)base)->topics;

    for (size_t i = 0; i < topics->count; i++) {
        (void)fprintf(out, i == 0 ? "%s = %s" : "%s%s", i == 0 ? key->name : ", ",
                      topics->all[i].text);
    }
    (void)fputs(topics->count > 0 ? "\n" : "", out);
}

const struct settings_own web_type_topics = {
    .name = "topics",
    .form = "topics with commas between, such as coffee, help",
    .set = topics_set,
    .print = topics_print,
};

/* --- who may moderate ------------------------------------------------------------------------- */

bool web_prefix_has(const struct web_config_prefix *prefix, uint8_t family, const uint8_t *address)
{
    size_t whole = prefix->bits / 8;
    uint8_t mask = (uint8_t)(0xff00 >> prefix->bits % 8);

    return prefix->family == family && memcmp(prefix->address, address, whole) == 0 &&
           (mask == 0 || ((prefix->address[whole] ^ address[whole]) & mask) == 0);
}

/* Reads ADDRESS or ADDRESS/BITS. */
static bool prefix_read(const char *value, struct web_config_prefix *out_prefix)
{
    struct web_config_prefix prefix = {.family = strchr(value, ':') != NULL ? 6 : 4};
    uint16_t most = prefix.family == 6 ? 128 : 32;
    uint16_t bits = most;
    char address[INET6_ADDRSTRLEN] = "";
    size_t length = strcspn(value, "/");

    if (length >= sizeof(address) ||
        (value[length] == '/' && !settings_parse_port(value + length + 1, &bits))) {
        return false;
    }
    memcpy(address, value, length);
    prefix.bits = (uint8_t)bits;
    *out_prefix = prefix;
    return bits >= 1 && bits <= most &&
           inet_pton(prefix.family == 6 ? AF_INET6 : AF_INET, address, out_prefix->address) == 1;
}

static int prefix_add(const struct settings_source *source, const struct settings_key *key,
                      void *base, const char *value)
{
    struct web_config *config = base;
    struct web_config_prefix prefix;

    if (config->allow_count == WEB_CONFIG_PREFIXES_MAX) {
        return settings_refuse(source, "`%s`: there may be at most %d", key->name,
                               WEB_CONFIG_PREFIXES_MAX);
    }
    if (!prefix_read(value, &prefix)) {
        return settings_refuse(source,
                               "`%s` must be a numeric address, or one with how many of its bits "
                               "count, from 1 on, such as 10.0.7.0/24 or fd00:7::/64; not `%.160s`",
                               key->name, value);
    }
    config->allow[config->allow_count++] = prefix;
    return 0;
}

static void prefixes_print(const struct settings_key *key, const void *base, FILE *out)
{
    const struct web_config *config = base;
    char address[INET6_ADDRSTRLEN] = "";

    for (size_t i = 0; i < config->allow_count; i++) {
        const struct web_config_prefix *prefix = &config->allow[i];

        (void)inet_ntop(prefix->family == 6 ? AF_INET6 : AF_INET, prefix->address, address,
                        sizeof(address)); /* has room for each address */
        (void)fprintf(out, "%s = %s/%u\n", key->name, address, (unsigned)prefix->bits);
    }
}

const struct settings_own web_type_prefix = {
    .name = "network",
    .form = "an address, or one with how many of its bits count, such as 10.0.7.0/24",
    .set = prefix_add,
    .print = prefixes_print,
};

static int hash_set(const struct settings_source *source, const struct settings_key *key,
                    void *base, const char *value)
{
    if (crypto_pwhash_str_needs_rehash(value, WEB_CONFIG_HASH_PASSES, WEB_CONFIG_HASH_MEMORY) !=
        0) {
        return settings_refuse(source,
                               "`%s` must be the line that `hearsay-web --set-password` writes, "
                               "not the password itself",
                               key->name);
    }
    return text_set(source, key, base, value);
}

const struct settings_own web_type_hash = {
    .name = "hash",
    .form = "the line that hearsay-web --set-password writes",
    .set = hash_set,
    .print = text_print,
};
