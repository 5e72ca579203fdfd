/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings_value: the types of values that every program has, from text and back, and how a refusal
 * is worded. Integers only: percentages and distances are read digit by digit into millionths, so
 * that what is printed is what was written.
 */
#ifndef DAEMON_SETTINGS_VALUE_H
#define DAEMON_SETTINGS_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/system/reason.h"

enum {
    SETTINGS_REFUSED = 1, /* the outcome of a value, line or file that is wrong */
    SETTINGS_NUMBER_BYTES = 32,
    SETTINGS_LINE_BYTES_MAX = 190,
    SETTINGS_FILE_BYTES_MAX = 1024 * 1024,
    SETTINGS_REASON_BYTES = REASON_BYTES
};

enum settings_type {
    SETTINGS_TYPE_SIZE,         /* bytes: 4096, 64K, 4M, 1G; powers of 1024 */
    SETTINGS_TYPE_COUNT,        /* 100000 */
    SETTINGS_TYPE_DURATION,     /* seconds: 90s, 15m, 24h, 7d; 0 */
    SETTINGS_TYPE_MILLISECONDS, /* milliseconds: 50ms, 2s and the other units of a duration; 0 */
    SETTINGS_TYPE_PERCENT,      /* millionths: 0.5% is 5000 */
    SETTINGS_TYPE_DISTANCE,     /* millionths: 0.85 is 850000 */
    SETTINGS_TYPE_CHOICE,       /* one of some words: its number among them */
    SETTINGS_TYPE_PATH,
    SETTINGS_TYPE_USER,  /* the name of a user of the system */
    SETTINGS_TYPE_GROUP, /* the name of a group of the system */
    SETTINGS_TYPE_OWN    /* a type that only one program has: struct settings_own */
};

/* Where a value came from, and where the sentence goes if the value is refused. */
struct settings_source {
    const char *name; /* file or option */
    unsigned line;    /* 0: none */
    char *reason;     /* SETTINGS_REASON_BYTES */
    bool collects;    /* append the sentence to `reason`, on a line of its own */
};

/*
 * Puts "name:line: sentence" (without a line: "name: sentence") into source->reason, control
 * characters as '?'. Returns SETTINGS_REFUSED. A source that collects must begin with an empty
 * reason. When `reason` is full, further sentences are left out, and the last line says so.
 */
int settings_refuse(const struct settings_source *source, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Cuts a reason behind its first line. Returns how many lines there were besides. */
size_t settings_reason_first(char *reason);

/* The form of a type with an example, such as "a number, or one with k or M, such as 100 or 20k".
   Not for SETTINGS_TYPE_OWN. */
const char *settings_type_form(enum settings_type type);

/* The type in one word, for the reference. Not for SETTINGS_TYPE_OWN. */
const char *settings_type_name(enum settings_type type);

/*
 * Reads a number: a type before SETTINGS_TYPE_CHOICE. 0, or SETTINGS_REFUSED when the text does not
 * have the form of the type. A number beyond 64 bits becomes UINT64_MAX, which is outside the range
 * of every key.
 */
int settings_parse_number(enum settings_type type, const char *text, uint64_t *out_value);

/* Writes a number in the shortest form that gives it back (SETTINGS_NUMBER_BYTES). */
void settings_print_number(enum settings_type type, uint64_t value, char *out);

/*
 * Reads an absolute path that fits into `room` bytes and into a line of a file. 0, or
 * SETTINGS_REFUSED with a sentence that names `key`.
 */
int settings_parse_path(const struct settings_source *source, const char *key, const char *text,
                        char *out, size_t room);

/* The same for the name of a user or a group, in the letters that useradd accepts. */
int settings_parse_name(const struct settings_source *source, enum settings_type type,
                        const char *key, const char *text, char *out, size_t room);

#endif
