/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jsonline: reads one line of input as a JSON object with known keys. Errors name the key.
 */
#ifndef CLIENT_CLI_INPUT_JSONLINE_H
#define CLIENT_CLI_INPUT_JSONLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

enum { JSONLINE_SENTENCE_BYTES = 256, JSONLINE_LABELS_MAX = 4096 };

/* The reason when a function returned JSONLINE_WRONG. */
struct jsonline_error {
    char sentence[JSONLINE_SENTENCE_BYTES];
};

enum { JSONLINE_WRONG = 1, JSONLINE_NOMEM = 2 };

/* Sets the sentence of *out_error, cut to fit. Returns JSONLINE_WRONG. */
int jsonline_wrong(struct jsonline_error *out_error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Parses an object without repeated keys, whose keys are all among `keys` (ended by NULL). 0 with
 * *out_object owned (json_decref), JSONLINE_WRONG, JSONLINE_NOMEM.
 */
int jsonline_parse(const char *line, size_t length, const char *const *keys, json_t **out_object,
                   struct jsonline_error *out_error);

/*
 * The strings of the array under `key`, which is required: an owned array (free) of strings
 * borrowed from the object.
 */
int jsonline_labels(const json_t *object, const char *key, const char ***out_labels,
                    size_t *out_count, struct jsonline_error *out_error);

/* In all functions below an absent or null key is 0 and leaves *out unchanged. */
int jsonline_string(const json_t *object, const char *key, const char **out,
                    struct jsonline_error *out_error);
int jsonline_number(const json_t *object, const char *key, uint64_t min, uint64_t max,
                    uint64_t *out, struct jsonline_error *out_error);
/* A number from 0 to 1 in whole millionths, or the same as a string. */
int jsonline_distance(const json_t *object, const char *key, uint32_t *out,
                      struct jsonline_error *out_error);
/* Seconds as a number, or a duration as a string, "2h". */
int jsonline_seconds(const json_t *object, const char *key, uint32_t *out,
                     struct jsonline_error *out_error);
/* Exactly 2 * count hexadecimal digits; *out_found: whether the key was there. */
int jsonline_hex(const json_t *object, const char *key, uint8_t *out, size_t count, bool *out_found,
                 struct jsonline_error *out_error);
/* Base64 with padding. *out is owned (free); not NULL when the key was there. */
int jsonline_base64(const json_t *object, const char *key, uint8_t **out, size_t *out_count,
                    struct jsonline_error *out_error);

#endif
