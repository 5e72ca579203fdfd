/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/config_value.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MINUTE_S = 60, HOUR_S = 60 * MINUTE_S, DAY_S = 24 * HOUR_S };

int config_refuse(const struct config_source *source, const char *format, ...)
{
    size_t used;
    va_list arguments;

    if (source->line > 0) {
        (void)snprintf(source->reason, CONFIG_REASON_BYTES, "%.400s:%u: ", source->name,
                       source->line);
    } else {
        (void)snprintf(source->reason, CONFIG_REASON_BYTES, "%.400s: ", source->name);
    }
    used = strlen(source->reason);

    va_start(arguments, format);
    /* A sentence that is cut is still the best there is to say. */
    (void)vsnprintf(source->reason + used, CONFIG_REASON_BYTES - used, format, arguments);
    va_end(arguments);

    for (char *at = source->reason; *at != '\0'; at++) {
        if ((unsigned char)*at < ' ' || *at == 0x7f) {
            *at = '?';
        }
    }
    return CONFIG_REFUSED;
}

/* --- numbers ---------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    const char *example;
    unsigned decimals; /* kept: the value is in units of 10^-decimals */
} types[] = {
    [CONFIG_TYPE_SIZE] = {"size", "a size in bytes, or with K, M or G, such as 64K", 0},
    [CONFIG_TYPE_COUNT] = {"number", "a number, such as 100", 0},
    [CONFIG_TYPE_DURATION] = {"duration", "a duration with s, m, h or d, such as 90s or 24h", 0},
    [CONFIG_TYPE_PERCENT] = {"percentage",
                             "a percentage with at most 4 decimal places, such as 0.5%", 4},
    [CONFIG_TYPE_DISTANCE] = {"distance", "a distance with at most 6 decimal places, such as 0.85",
                              6},
    [CONFIG_TYPE_CHOICE] = {"word", "one of its words", 0},
    [CONFIG_TYPE_PATH] = {"path", "an absolute path, such as /var/lib/hearsay", 0},
    [CONFIG_TYPE_USER] = {"user", "a user's name, such as hearsay", 0},
    [CONFIG_TYPE_LISTENER] = {"address", "an address and a port, such as 127.0.0.1:7117", 0},
    [CONFIG_TYPE_LABELS] = {"labels", "labels, such as geo:u281zd, wifi:a4:2b:8c:01:02:03", 0},
    [CONFIG_TYPE_SCHEDULE] = {"times and a mode", "times and a mode, such as 22:00-06:00 closed",
                              0},
    [CONFIG_TYPE_PROFILE] = {"profile", "a profile, such as v1:512/4", 0},
};

const char *config_type_example(enum config_type type)
{
    return types[type].example;
}

const char *config_type_name(enum config_type type)
{
    return types[type].name;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* value * factor + more, UINT64_MAX where that does not fit. */
static uint64_t multiply_add(uint64_t value, uint64_t factor, uint64_t more)
{
    return value > (UINT64_MAX - more) / factor ? UINT64_MAX : value * factor + more;
}

/*
 * Digits, and for decimals > 0 a point and at most that many digits more. Returns what follows, or
 * NULL where there is no such number.
 */
static const char *read_decimal(const char *text, unsigned decimals, uint64_t *out_value)
{
    uint64_t value = 0;
    unsigned left = decimals;

    if (!is_digit(*text)) {
        return NULL;
    }
    for (; is_digit(*text); text++) {
        value = multiply_add(value, 10, (uint64_t)(*text - '0'));
    }
    if (*text == '.') {
        text++;
        if (!is_digit(*text)) {
            return NULL;
        }
        for (; is_digit(*text); text++) {
            if (left == 0) {
                return NULL;
            }
            value = multiply_add(value, 10, (uint64_t)(*text - '0'));
            left--;
        }
    }
    for (; left > 0; left--) {
        value = multiply_add(value, 10, 0);
    }
    *out_value = value;
    return text;
}

/* What the suffix multiplies by; 0 for one that the type does not have. */
static uint64_t suffix_factor(enum config_type type, const char *suffix, uint64_t value)
{
    if (suffix[0] != '\0' && suffix[1] != '\0') {
        return 0;
    }
    switch (type) {
    case CONFIG_TYPE_SIZE:
        switch (suffix[0]) {
        case '\0':
            return 1;
        case 'K':
        case 'k':
            return UINT64_C(1) << 10;
        case 'M':
        case 'm':
            return UINT64_C(1) << 20;
        case 'G':
        case 'g':
            return UINT64_C(1) << 30;
        default:
            return 0;
        }
    case CONFIG_TYPE_DURATION:
        switch (suffix[0]) {
        case '\0':
            return value == 0 ? 1 : 0; /* only nothing has no unit */
        case 's':
            return 1;
        case 'm':
            return MINUTE_S;
        case 'h':
            return HOUR_S;
        case 'd':
            return DAY_S;
        default:
            return 0;
        }
    case CONFIG_TYPE_PERCENT:
        return suffix[0] == '%' ? 1 : 0;
    default:
        return suffix[0] == '\0' ? 1 : 0;
    }
}

int config_value_parse_number(enum config_type type, const char *text, uint64_t *out_value)
{
    uint64_t value;
    uint64_t factor;
    const char *suffix = read_decimal(text, types[type].decimals, &value);

    if (suffix == NULL) {
        return CONFIG_REFUSED;
    }
    factor = suffix_factor(type, suffix, value);
    if (factor == 0) {
        return CONFIG_REFUSED;
    }
    *out_value = multiply_add(value, factor, 0);
    return 0;
}

/* Millionths in units of 10^-decimals, without zeros at the end. */
static void print_decimal(uint64_t value, unsigned decimals, const char *suffix, char *out)
{
    uint64_t scale = 1;

    for (unsigned i = 0; i < decimals; i++) {
        scale *= 10;
    }
    while (decimals > 0 && value % 10 == 0) {
        value /= 10;
        scale /= 10;
        decimals--;
    }
    if (decimals == 0) {
        (void)snprintf(out, CONFIG_NUMBER_BYTES, "%" PRIu64 "%s", value, suffix);
    } else {
        (void)snprintf(out, CONFIG_NUMBER_BYTES, "%" PRIu64 ".%0*" PRIu64 "%s", value / scale,
                       (int)decimals, value % scale, suffix);
    }
}

void config_value_print_number(enum config_type type, uint64_t value, char *out)
{
    static const struct {
        uint64_t bytes;
        const char *suffix;
    } sizes[] = {{UINT64_C(1) << 30, "G"}, {UINT64_C(1) << 20, "M"}, {UINT64_C(1) << 10, "K"}};
    static const struct {
        uint64_t seconds;
        uint64_t from; /* 24h reads better than 1d, 60 minutes not better than 1h */
        const char *suffix;
    } durations[] = {{DAY_S, 2 * DAY_S, "d"}, {HOUR_S, HOUR_S, "h"}, {MINUTE_S, MINUTE_S, "m"}};

    if (type == CONFIG_TYPE_SIZE) {
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            if (value > 0 && value % sizes[i].bytes == 0) {
                (void)snprintf(out, CONFIG_NUMBER_BYTES, "%" PRIu64 "%s", value / sizes[i].bytes,
                               sizes[i].suffix);
                return;
            }
        }
    }
    if (type == CONFIG_TYPE_DURATION) {
        for (size_t i = 0; i < sizeof(durations) / sizeof(durations[0]); i++) {
            if (value >= durations[i].from && value % durations[i].seconds == 0) {
                (void)snprintf(out, CONFIG_NUMBER_BYTES, "%" PRIu64 "%s",
                               value / durations[i].seconds, durations[i].suffix);
                return;
            }
        }
        (void)snprintf(out, CONFIG_NUMBER_BYTES, "%" PRIu64 "%s", value, value > 0 ? "s" : "");
        return;
    }
    print_decimal(value, types[type].decimals, type == CONFIG_TYPE_PERCENT ? "%" : "", out);
}

/* --- paths and listeners ---------------------------------------------------------------------- */

int config_value_parse_path(const struct config_source *source, const char *key, const char *text,
                            char *out, size_t room)
{
    size_t length = strlen(text);

    if (text[0] != '/') {
        return config_refuse(source,
                             "`%s` must be an absolute path, one that begins with /; not `%.200s`",
                             key, text);
    }
    if (length >= room) {
        return config_refuse(source, "`%s` is a path of %zu bytes; at most %zu fit", key, length,
                             room - 1);
    }
    for (size_t i = 0; i < length; i++) {
        /* A file's line ends at a line feed, and its comment begins at a blank with a semicolon. */
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f ||
            (text[i] == ' ' && (text[i + 1] == ';' || text[i + 1] == '\0'))) {
            return config_refuse(source,
                                 "`%s` may not contain control characters, a blank before a "
                                 "semicolon or one at the end",
                                 key);
        }
    }
    memcpy(out, text, length + 1);
    return 0;
}

int config_value_parse_user(const struct config_source *source, const char *key, const char *text,
                            char *out, size_t room)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789-.";
    const size_t length = strlen(text);

    if (length >= room || text[0] == '-' || text[0] == '.' || is_digit(text[0]) ||
        strspn(text, letters) != length) {
        return config_refuse(source, "`%s` must be %s, of at most %zu letters; not `%.200s`", key,
                             types[CONFIG_TYPE_USER].example, room - 1, text);
    }
    memcpy(out, text, length + 1);
    return 0;
}

/* 0 .. 65535, digits only. */
static bool read_port(const char *text, uint16_t *out_port)
{
    uint64_t value;
    const char *rest = read_decimal(text, 0, &value);

    if (rest == NULL || *rest != '\0' || value > UINT16_MAX) {
        return false;
    }
    *out_port = (uint16_t)value;
    return true;
}

/* The address as the system writes it, so that two spellings of one address compare equal. */
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

/* Why what stands before the port is not an address. */
static int refuse_address(const struct config_source *source, const char *key, const char *text,
                          const char *colon)
{
    if (strchr(text, ':') != colon) {
        return config_refuse(source,
                             "`%s`: an IPv6 address stands in brackets, such as [::1]:7117; not "
                             "`%.200s`",
                             key, text);
    }
    return config_refuse(source,
                         "`%s`: `%.*s` is not a numeric address; names are not looked up, so that "
                         "the daemon starts without a resolver: write 127.0.0.1:7117, [::1]:7117, "
                         "0.0.0.0:7117 or [::]:7117",
                         key, (int)(colon - text > 200 ? 200 : colon - text), text);
}

static int parse_place(const struct config_source *source, const char *key, const char *text,
                       struct config_listener *out_listener)
{
    struct config_listener listener = {.kind = CONFIG_LISTENER_TCP};
    const char *colon = strrchr(text, ':');
    const char *bracket = strrchr(text, ']');
    int result;

    if (text[0] == '/') {
        listener.kind = CONFIG_LISTENER_UNIX;
        result = config_value_parse_path(source, key, text, listener.path, sizeof(listener.path));
        if (result == 0) {
            *out_listener = listener;
        }
        return result;
    }
    if (colon == NULL || colon < bracket) {
        return config_refuse(source,
                             "`%s` must be an address with a port, such as 127.0.0.1:7117, or the "
                             "path of a socket, such as /run/hearsay/socket; not `%.200s`",
                             key, text);
    }
    if (!read_port(colon + 1, &listener.port)) {
        return config_refuse(source,
                             "`%s`: the port must be from 0 (any free one) to 65535; not `%.200s`",
                             key, colon + 1);
    }
    if (text[0] == '[' && bracket == colon - 1) {
        if (!read_address(AF_INET6, text + 1, (size_t)(bracket - text - 1), &listener)) {
            return config_refuse(
                source, "`%s`: `%.*s` is not a numeric IPv6 address, such as [::1] or [::]", key,
                (int)(bracket - text + 1 > 200 ? 200 : bracket - text + 1), text);
        }
    } else if (!read_address(AF_INET, text, (size_t)(colon - text), &listener)) {
        return refuse_address(source, key, text, colon);
    }
    *out_listener = listener;
    return 0;
}

/* The words that may follow an address, and what each sets. */
static const struct {
    const char *word;
    size_t offset;
} listener_words[] = {
    {"tls", offsetof(struct config_listener, tls)},
    {"mutual-tls", offsetof(struct config_listener, mutual_tls)},
    {"limited", offsetof(struct config_listener, limited)},
    {"local", offsetof(struct config_listener, local)},
};
enum { LISTENER_WORDS = sizeof(listener_words) / sizeof(listener_words[0]) };

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

/* Takes known words off the end of `text`, and sets what they say. */
static void take_words(char *text, struct config_listener *listener)
{
    for (size_t i = 0; i < LISTENER_WORDS; i++) {
        const size_t length = strlen(text);
        const size_t word = strlen(listener_words[i].word);

        if (length > word + 1 && strcmp(text + length - word, listener_words[i].word) == 0 &&
            is_space(text[length - word - 1])) {
            size_t end = length - word;
            while (end > 0 && is_space(text[end - 1])) {
                end--;
            }
            text[end] = '\0';
            *(bool *)((char *)listener + listener_words[i].offset) = true;
            i = SIZE_MAX; /* from the first one again: they stand in any order */
        }
    }
}

int config_value_parse_listener(const struct config_source *source, const char *key,
                                const char *text, struct config_listener *out_listener)
{
    char place[CONFIG_PATH_BYTES];
    struct config_listener words = {.limited = false};
    struct config_listener listener;

    if (strlen(text) >= sizeof(place)) {
        return config_refuse(source, "`%s` is too long", key);
    }
    memcpy(place, text, strlen(text) + 1);
    take_words(place, &words);
    const char *blank = strpbrk(place, " \t");
    if (place[0] != '/' && blank != NULL) {
        return config_refuse(source,
                             "`%s`: `%.100s` may not follow an address; tls, mutual-tls, "
                             "limited and local may",
                             key, blank + 1);
    }
    const int result = parse_place(source, key, place, &listener);
    if (result == 0 && listener.kind == CONFIG_LISTENER_UNIX && (words.tls || words.mutual_tls)) {
        return config_refuse(source, "`%s`: a Unix socket needs no tls", key);
    }
    if (result == 0) {
        listener.tls = words.tls;
        listener.mutual_tls = words.mutual_tls;
        listener.limited = words.limited;
        listener.local = words.local;
        *out_listener = listener;
    }
    return result;
}

enum config_security config_security(const struct config_listener *listener)
{
    return listener->mutual_tls ? CONFIG_MUTUAL_TLS : listener->tls ? CONFIG_TLS : CONFIG_PLAIN;
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

void config_value_print_listener(const struct config_listener *listener, char *out)
{
    print_place(listener, out);
    for (size_t i = 0; i < LISTENER_WORDS; i++) {
        if (*(const bool *)((const char *)listener + listener_words[i].offset)) {
            const size_t used = strlen(out);
            (void)snprintf(out + used, CONFIG_LISTENER_BYTES - used, " %s", listener_words[i].word);
        }
    }
}
