/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_value: the kinds of values a key may have, from text and back, and how a refusal is
 * worded. Integers only: percentages and distances are read digit by digit into millionths, so
 * that what is printed is what was written.
 */
#ifndef DAEMON_CONFIG_VALUE_H
#define DAEMON_CONFIG_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/config/config.h"

enum config_type {
    CONFIG_TYPE_SIZE,         /* bytes: 4096, 64K, 4M, 1G; powers of 1024 */
    CONFIG_TYPE_COUNT,        /* 100000 */
    CONFIG_TYPE_DURATION,     /* seconds: 90s, 15m, 24h, 7d; 0 */
    CONFIG_TYPE_MILLISECONDS, /* milliseconds: 50ms, 2s and the other units of a duration; 0 */
    CONFIG_TYPE_PERCENT,      /* millionths: 0.5% is 5000 */
    CONFIG_TYPE_DISTANCE,     /* millionths: 0.85 is 850000 */
    CONFIG_TYPE_CHOICE,       /* one of some words: its number among them */
    CONFIG_TYPE_PATH,
    CONFIG_TYPE_USER,  /* a name of the system's users */
    CONFIG_TYPE_GROUP, /* or of its groups */
    CONFIG_TYPE_LISTENER,
    CONFIG_TYPE_LABELS,
    CONFIG_TYPE_SCHEDULE,
    CONFIG_TYPE_PROFILE
};

enum { CONFIG_NUMBER_BYTES = 32, CONFIG_LISTENER_BYTES = 160 };

/* Where a value came from, and where the sentence goes if it is refused. */
struct config_source {
    const char *name; /* file or option */
    unsigned line;    /* 0: none */
    char *reason;     /* CONFIG_REASON_BYTES */
    bool collects; /* the sentence goes behind those that are in `reason`, on a line of its own */
};

/*
 * Puts "name:line: sentence" (without a line: "name: sentence") into source->reason, control
 * characters as '?'. Returns CONFIG_REFUSED. A source that collects must begin with an empty
 * reason; what finds no room in it any more is left out, and the last line says so.
 */
int config_refuse(const struct config_source *source, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* "a size such as 64K": what the type is, and an example. */
const char *config_type_example(enum config_type type);

/* The type in one word, for the reference. */
const char *config_type_name(enum config_type type);

/*
 * Reads one of the six kinds of number. 0, or CONFIG_REFUSED when it has not the type's form. What
 * is beyond 64 bits comes out as UINT64_MAX, which no key's range reaches.
 */
int config_value_parse_number(enum config_type type, const char *text, uint64_t *out_value);

/* Writes it in the shortest form that gives it back (CONFIG_NUMBER_BYTES). */
void config_value_print_number(enum config_type type, uint64_t value, char *out);

/*
 * An absolute path that fits into `room` bytes and that a line of a file can hold. 0, or
 * CONFIG_REFUSED with the sentence; `key` is named in it.
 */
int config_value_parse_path(const struct config_source *source, const char *key, const char *text,
                            char *out, size_t room);

/* A user's or group's name (CONFIG_TYPE_USER, CONFIG_TYPE_GROUP), of what useradd takes. */
int config_value_parse_name(const struct config_source *source, enum config_type type,
                            const char *key, const char *text, char *out, size_t room);

/* The same for `127.0.0.1:7117`, `[::1]:7117 tls` and `/path/to/socket`. */
int config_value_parse_listener(const struct config_source *source, const char *key,
                                const char *value, struct config_listener *out_listener);

/* Writes a listener as it stands in a file (CONFIG_LISTENER_BYTES). */
void config_value_print_listener(const struct config_listener *listener, char *out);

#endif
