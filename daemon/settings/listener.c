/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/settings/listener.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

/* Parses a numeric address of `length` bytes. */
static bool read_address(uint8_t family, const char *text, size_t length,
                         struct settings_place *place)
{
    char copy[INET6_ADDRSTRLEN];

    if (length >= sizeof(copy)) {
        return false;
    }
    memcpy(copy, text, length);
    copy[length] = '\0';
    place->family = family;
    return inet_pton(family == 6 ? AF_INET6 : AF_INET, copy, place->address) == 1;
}

/* Says why the text before the port is not an address. */
static int refuse_address(const struct settings_listener *kind,
                          const struct settings_source *source, const char *key, const char *text,
                          const char *colon)
{
    if (strchr(text, ':') != colon) {
        return settings_refuse(source,
                               "`%s`: an IPv6 address stands in brackets, such as [::1]:%u; not "
                               "`%.200s`",
                               key, kind->port, text);
    }
    return settings_refuse(
        source,
        "`%s`: `%.*s` is not a numeric address; names are not looked up, so that the program "
        "starts "
        "without a resolver: write 127.0.0.1:%u, [::1]:%u, 0.0.0.0:%u or [::]:%u",
        key, (int)(colon - text > 200 ? 200 : colon - text), text, kind->port, kind->port,
        kind->port, kind->port);
}

static int parse_place(const struct settings_listener *kind, const struct settings_source *source,
                       const char *key, const char *text, struct settings_place *place)
{
    const char *colon = strrchr(text, ':');
    const char *bracket = strrchr(text, ']');

    if (text[0] == '/') {
        return settings_parse_path(source, key, text, place->path, sizeof(place->path));
    }
    if (colon == NULL || colon < bracket || strchr(text, '/') != NULL) {
        return settings_refuse(source,
                               "`%s` must be a numeric address with a port, such as 127.0.0.1:%u, "
                               "or the path of a socket, such as %s; not `%.200s`",
                               key, kind->port, kind->socket, text);
    }
    if (!settings_parse_port(colon + 1, &place->port)) {
        return settings_refuse(
            source, "`%s`: the port must be from 0 (any free one) to 65535; not `%.200s`", key,
            colon + 1);
    }
    if (text[0] == '[' && bracket == colon - 1) {
        int length = (int)(bracket - text + 1 > 200 ? 200 : bracket - text + 1);

        return read_address(6, text + 1, (size_t)(bracket - text - 1), place)
                   ? 0
                   : settings_refuse(
                         source,
                         "`%s`: `%.*s` is not a numeric IPv6 address, such as [::1] or [::]", key,
                         length, text);
    }
    return read_address(4, text, (size_t)(colon - text), place)
               ? 0
               : refuse_address(kind, source, key, text, colon);
}

/* --- words ------------------------------------------------------------------------------------ */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Removes the words of the program from the end of `text`. Sets the field of each removed word. */
static void take_words(const struct settings_listener *kind, char *text, void *base)
{
    for (size_t i = 0; i < kind->word_count; i++) {
        const struct settings_word *word = &kind->words[i];
        size_t length = strlen(text);
        size_t end = length - strlen(word->word);

        if (length > strlen(word->word) + 1 && strcmp(text + end, word->word) == 0 &&
            is_blank(text[end - 1])) {
            while (end > 0 && is_blank(text[end - 1])) {
                end--;
            }
            text[end] = '\0';
            *(bool *)((char *)base + word->offset) = true;
            i = SIZE_MAX; /* start again with the first word of the table: the words may have any
                             order */
        }
    }
}

/* Writes all words, such as "tls, limited and gateway". */
static void list_words(const struct settings_listener *kind, char *out, size_t room)
{
    size_t used = 0;

    for (size_t i = 0; i < kind->word_count && used < room; i++) {
        const char *join = i == 0 ? "" : i + 1 == kind->word_count ? " and " : ", ";

        used += (size_t)snprintf(out + used, room - used, "%s%s", join, kind->words[i].word);
    }
}

int settings_parse_listener(const struct settings_listener *kind,
                            const struct settings_source *source, const char *key, const char *text,
                            struct settings_place *out_place, void *base)
{
    struct settings_place place = {.family = 0};
    char copy[4096];
    char words[256] = "";

    if (strlen(text) >= sizeof(copy)) {
        return settings_refuse(source, "`%s` is too long", key);
    }
    memcpy(copy, text, strlen(text) + 1);
    take_words(kind, copy, base);
    const char *blank = strpbrk(copy, " \t");
    if (copy[0] != '/' && blank != NULL) {
        list_words(kind, words, sizeof(words));
        return settings_refuse(source, "`%s`: `%.100s` may not follow an address; %s may", key,
                               blank + 1, words);
    }
    int rc = parse_place(kind, source, key, copy, &place);
    if (rc == 0) {
        *out_place = place;
    }
    return rc;
}

void settings_print_listener(const struct settings_listener *kind,
                             const struct settings_place *place, const void *base, char *out)
{
    char address[INET6_ADDRSTRLEN] = "";
    int used;

    if (place->family == 0) {
        used = snprintf(out, SETTINGS_LISTENER_BYTES, "%s", place->path);
    } else {
        (void)inet_ntop(place->family == 6 ? AF_INET6 : AF_INET, place->address, address,
                        sizeof(address)); /* has room for each address */
        used = snprintf(out, SETTINGS_LISTENER_BYTES, place->family == 6 ? "[%s]:%u" : "%s:%u",
                        address, (unsigned)place->port);
    }
    for (size_t i = 0; i < kind->word_count; i++) {
        if (*(const bool *)((const char *)base + kind->words[i].offset)) {
            used += snprintf(out + used, SETTINGS_LISTENER_BYTES - (size_t)used, " %s",
                             kind->words[i].word);
        }
    }
}
