/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jsonline: one line of input as a JSON object with known keys. Says precisely what is wrong.
 */
#ifndef CLIENT_CLI_INPUT_JSONLINE_H
#define CLIENT_CLI_INPUT_JSONLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

enum { JSONLINE_SENTENCE_BYTES = 256, JSONLINE_LABELS_MAX = 4096 };

/* What is wrong with a line, when a function here returned JSONLINE_WRONG. */
struct jsonline_error {
    char sentence[JSONLINE_SENTENCE_BYTES];
};

enum { JSONLINE_WRONG = 1, JSONLINE_NOMEM = 2 };

/* Puts a sentence into *out_error, cut where it is too long. Returns JSONLINE_WRONG. */
int jsonline_wrong(struct jsonline_error *out_error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Parses an object without repeated keys, whose keys are all among `keys` (ended by NULL). 0 with
 * *out_object owned (json_decref), JSONLINE_WRONG, JSONLINE_NOMEM.
 */
int jsonline_parse(const char *line, size_t length, const char *const *keys, json_t **out_object,
                   struct jsonline_error *out_error);

/*
 * Strings of an array under `key` that must be there, as C strings: an owned array (free) of
 * strings borrowed from the object.
 */
int jsonline_labels(const json_t *object, const char *key, const char ***out_labels,
                    size_t *out_count, struct jsonline_error *out_error);

/* All below: a key that is absent or null leaves *out untouched and is 0. */
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
/* Exactly 2 * count hexadecimal digits; *out_found says whether they were there. */
int jsonline_hex(const json_t *object, const char *key, uint8_t *out, size_t count, bool *out_found,
                 struct jsonline_error *out_error);
/* Base64 with padding; *out is owned (free) and not NULL when it was there. */
int jsonline_base64(const json_t *object, const char *key, uint8_t **out, size_t *out_count,
                    struct jsonline_error *out_error);

#endif
