/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings_value: the types of values that every program has. Parses and prints values, and words
 * refusals. Percentages and distances are stored in millionths, without floating point, so that a
 * printed value is exactly the value that was read.
 */
#pragma once

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

enum { SETTINGS_KEYS_MAX = 96, SETTINGS_FILE_BYTES = 4096, SETTINGS_NAME_BYTES = 64 };

/* What the configuration of every program begins with. It stands here, and not in options.h,
 * because the struct of a configuration is included far more often than what reads one. */
struct settings_config {
    char file[SETTINGS_FILE_BYTES]; /* "": no file was read */
    /*
     * For each key of the program's table, in their order: the line of the file that set the key
     * last; 0: none, or an option of the command line has set it since. Of sections with a label
     * only the last one counts.
     */
    unsigned key_lines[SETTINGS_KEYS_MAX];
};

enum settings_type {
    SETTINGS_TYPE_SIZE,         /* bytes: 4096, 64K, 4M, 1G; powers of 1024 */
    SETTINGS_TYPE_COUNT,        /* 100000 */
    SETTINGS_TYPE_DURATION,     /* seconds: 90s, 15m, 24h, 7d; 0 */
    SETTINGS_TYPE_MILLISECONDS, /* milliseconds: 50ms, 2s and the other units of a duration; 0 */
    SETTINGS_TYPE_PERCENT,      /* millionths: 0.5% is 5000 */
    SETTINGS_TYPE_DISTANCE,     /* millionths: 0.85 is 850000 */
    SETTINGS_TYPE_CHOICE,       /* one of several words: the number of the word */
    SETTINGS_TYPE_PATH,
    SETTINGS_TYPE_USER,  /* the name of a user of the system */
    SETTINGS_TYPE_GROUP, /* the name of a group of the system */
    SETTINGS_TYPE_NAME,  /* the name of a host, of a hood or of an access point */
    SETTINGS_TYPE_OWN    /* a type that only one program has: struct settings_own */
};

/*
 * The file and line, or the option, that a value comes from; and the buffer for the sentence if the
 * value is refused.
 */
struct settings_source {
    const char *name; /* file or option */
    unsigned line;    /* 0: none */
    char *reason;     /* SETTINGS_REASON_BYTES */
    bool collects;    /* append the sentence to `reason`, on a line of its own */
};

/*
 * Writes "name:line: sentence" into source->reason; without a line "name: sentence". Replaces
 * control characters with '?'. Returns SETTINGS_REFUSED. If source->collects is set, the sentence
 * is appended on a line of its own; the reason must be empty before the first sentence. When the
 * buffer has too little space left, further sentences are left out, and the last line says so.
 */
int settings_refuse(const struct settings_source *source, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Removes all lines of a reason except the first one. Returns how many lines were removed. */
size_t settings_reason_first(char *reason);

/*
 * Returns a phrase that says how a value of a type is written, such as "a number, or one with k or
 * M, such as 100 or 20k". Not for SETTINGS_TYPE_OWN.
 */
const char *settings_type_form(enum settings_type type);

/* Returns the type in one word, for the reference. Not for SETTINGS_TYPE_OWN. */
const char *settings_type_name(enum settings_type type);

/*
 * Parses a number of one of the types before SETTINGS_TYPE_CHOICE. Returns 0, or SETTINGS_REFUSED
 * if the text does not have the form of the type. A number beyond 64 bits becomes UINT64_MAX, which
 * is outside the range of every key.
 */
int settings_parse_number(enum settings_type type, const char *text, uint64_t *out_value);

/*
 * Writes a number in a form that settings_parse_number reads back (SETTINGS_NUMBER_BYTES).
 */
void settings_print_number(enum settings_type type, uint64_t value, char *out);

/* Parses the number of a TCP port: 0 to 65535, digits only. Returns false for another text. */
bool settings_parse_port(const char *text, uint16_t *out_port);

/*
 * Parses an absolute path. The path must fit into `room` bytes with its NUL. It may not have
 * control characters or a blank at the end, because a line of a file cannot have them. Returns 0,
 * or SETTINGS_REFUSED with a sentence that names the key `key`.
 */
int settings_parse_path(const struct settings_source *source, const char *key, const char *text,
                        char *out, size_t room);

/*
 * Whether a text of `length` bytes may be the name of a host, of a hood or of an access point: 1 to
 * SETTINGS_NAME_BYTES - 1 letters a-z, digits and inner hyphens.
 */
bool settings_is_name(const char *name, size_t length);

/*
 * Parses a name: of a host, as settings_is_name says; or of a user or a group, which has letters
 * a-z and A-Z, digits, `_`, `-` and `.`, and begins with a letter or `_`. The name fits into `room`
 * bytes with its NUL. Returns 0, or SETTINGS_REFUSED with a sentence that names the key `key`.
 */
int settings_parse_name(const struct settings_source *source, enum settings_type type,
                        const char *key, const char *text, char *out, size_t room);
