/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings_listener: the value of `listen`, from text and back: an address with a port or the path
 * of a socket, and words after it. Each program has its own words.
 */
#pragma once

#include "daemon/settings/value.h"

enum {
    SETTINGS_LISTENER_BYTES = 160,
    SETTINGS_SOCKET_BYTES = 108 /* as long as sun_path may be, with its NUL */
};

/* Where a program listens. */
struct settings_place {
    uint8_t family;                   /* 4 or 6; 0: a Unix socket */
    uint8_t address[16];              /* of IPv4 the first 4 bytes */
    uint16_t port;                    /* 0: any free one */
    char path[SETTINGS_SOCKET_BYTES]; /* of a Unix socket */
};

/* A word that may follow the place, and the field of type bool that it sets in a struct of the
 * program. */
struct settings_word {
    const char *word;
    size_t offset;
};

/* What the lines of one program may look like. */
struct settings_listener {
    const struct settings_word *words; /* in the order in which they are printed */
    size_t word_count;
    unsigned port;      /* for the examples in sentences */
    const char *socket; /* the same */
};

/*
 * Parses a line such as `127.0.0.1:7117`, `[::1]:7117 tls` or `/path/to/socket`. `base` is the
 * struct of the words; the fields of words that are not there stay as they are. Returns 0; or
 * SETTINGS_REFUSED with a sentence that names the key `key`, and then *out_place is unchanged.
 */
int settings_parse_listener(const struct settings_listener *kind,
                            const struct settings_source *source, const char *key, const char *text,
                            struct settings_place *out_place, void *base);

/* Writes a place with its words in the form of a configuration file (SETTINGS_LISTENER_BYTES). */
void settings_print_listener(const struct settings_listener *kind,
                             const struct settings_place *place, const void *base, char *out);
