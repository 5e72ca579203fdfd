/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jsonline: parses one line of input as a JSON object with known keys. An error about a value names
 * its key.
 */
#pragma once

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

/* Sets the sentence of *out_error; a sentence that is too long is cut. Returns JSONLINE_WRONG. */
int jsonline_wrong(struct jsonline_error *out_error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Parses an object without repeated keys. All its keys must be in the array `keys`, which ends with
 * NULL. Returns 0 with *out_object owned (json_decref), JSONLINE_WRONG or JSONLINE_NOMEM.
 */
int jsonline_parse(const char *line, size_t length, const char *const *keys, json_t **out_object,
                   struct jsonline_error *out_error);

/*
 * Gets the 1 to JSONLINE_LABELS_MAX strings of the array under `key`; the key is required.
 * *out_labels is an owned array (free); its strings are borrowed from the object.
 */
int jsonline_labels(const json_t *object, const char *key, const char ***out_labels,
                    size_t *out_count, struct jsonline_error *out_error);

/* Returns the value, or NULL when the key is absent or its value is null. */
const json_t *jsonline_present(const json_t *object, const char *key);

/*
 * The functions below return 0 and leave *out unchanged when the key is absent or its value is
 * null.
 */
int jsonline_string(const json_t *object, const char *key, const char **out,
                    struct jsonline_error *out_error);
int jsonline_number(const json_t *object, const char *key, uint64_t min, uint64_t max,
                    uint64_t *out, struct jsonline_error *out_error);
/* Gets a number from 0 to 1, given as a JSON number or as a string, and converts it to millionths.
 * Refuses a number that is not a whole number of millionths. */
int jsonline_distance(const json_t *object, const char *key, uint32_t *out,
                      struct jsonline_error *out_error);
/* Gets a whole number of seconds from 1 to UINT32_MAX: a JSON number, or a duration as a string
 * such as "2h". */
int jsonline_seconds(const json_t *object, const char *key, uint32_t *out,
                     struct jsonline_error *out_error);
/* Gets `count` bytes from a string of exactly 2 * count hexadecimal digits. Sets *out_found when
 * the key has a value. */
int jsonline_hex(const json_t *object, const char *key, uint8_t *out, size_t count, bool *out_found,
                 struct jsonline_error *out_error);
/* Decodes a string in Base64 with padding. The caller frees *out, which is not NULL when the key
 * has a value. */
int jsonline_base64(const json_t *object, const char *key, uint8_t **out, size_t *out_count,
                    struct jsonline_error *out_error);
