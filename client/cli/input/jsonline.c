/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cli/input/jsonline.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "client/cli/term/args.h"
#include "client/cli/term/out.h"

int jsonline_wrong(struct jsonline_error *out_error, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    (void)vsnprintf(out_error->sentence, sizeof(out_error->sentence), format, list);
    va_end(list);
    return JSONLINE_WRONG;
}

static int check_keys(json_t *object, const char *const *keys, struct jsonline_error *out_error)
{
    size_t count = 0;
    while (keys[count] != NULL) {
        count++;
    }
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach(object, key, value)
    {
        size_t at = 0;
        while (at < count && strcmp(keys[at], key) != 0) {
            at++;
        }
        if (at == count) {
            const char *near = args_nearest(key, keys, count);
            return jsonline_wrong(out_error, "there is no key \"%.60s\"%s%s%s", key,
                                  near != NULL ? "; did you mean \"" : "", near != NULL ? near : "",
                                  near != NULL ? "\"?" : "");
        }
    }
    return 0;
}

int jsonline_parse(const char *line, size_t length, const char *const *keys, json_t **out_object,
                   struct jsonline_error *out_error)
{
    json_error_t reason;
    json_t *object = json_loadb(line, length, JSON_REJECT_DUPLICATES, &reason);
    if (object == NULL) {
        if (json_error_code(&reason) == json_error_out_of_memory) {
            return JSONLINE_NOMEM;
        }
        return jsonline_wrong(out_error, "not JSON: %.150s (column %d)", reason.text,
                              reason.column);
    }
    int status = json_is_object(object) ? check_keys(object, keys, out_error)
                                        : jsonline_wrong(out_error, "not a JSON object");
    if (status != 0) {
        json_decref(object);
        return status;
    }
    *out_object = object;
    return 0;
}

int jsonline_labels(const json_t *object, const char *key, const char ***out_labels,
                    size_t *out_count, struct jsonline_error *out_error)
{
    const json_t *array = json_object_get(object, key);
    size_t count = json_array_size(array);
    if (!json_is_array(array)) {
        return jsonline_wrong(out_error, "\"%s\" is not an array of strings", key);
    }
    if (count == 0) {
        return jsonline_wrong(out_error, "\"%s\" is empty: give at least one, attribute:value",
                              key);
    }
    if (count > JSONLINE_LABELS_MAX) {
        return jsonline_wrong(out_error, "\"%s\" has over %d labels", key, JSONLINE_LABELS_MAX);
    }
    const char **labels = calloc(count, sizeof(*labels));
    if (labels == NULL) {
        return JSONLINE_NOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        labels[i] = json_string_value(json_array_get(array, i));
        if (labels[i] == NULL) {
            free(labels);
            return jsonline_wrong(out_error, "\"%s\" has something that is not a string", key);
        }
    }
    *out_labels = labels;
    *out_count = count;
    return 0;
}

const json_t *jsonline_present(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_null(value) ? NULL : value;
}

int jsonline_string(const json_t *object, const char *key, const char **out,
                    struct jsonline_error *out_error)
{
    const json_t *value = jsonline_present(object, key);
    if (value == NULL) {
        return 0;
    }
    if (!json_is_string(value)) {
        return jsonline_wrong(out_error, "\"%s\" is not a string", key);
    }
    *out = json_string_value(value);
    return 0;
}

int jsonline_number(const json_t *object, const char *key, uint64_t min, uint64_t max,
                    uint64_t *out, struct jsonline_error *out_error)
{
    const json_t *value = jsonline_present(object, key);
    if (value == NULL) {
        return 0;
    }
    json_int_t number = json_integer_value(value);
    if (!json_is_integer(value) || number < 0 || (uint64_t)number < min || (uint64_t)number > max) {
        return jsonline_wrong(
            out_error, "\"%s\" is not a whole number from %" PRIu64 " to %" PRIu64, key, min, max);
    }
    *out = (uint64_t)number;
    return 0;
}

int jsonline_distance(const json_t *object, const char *key, uint32_t *out,
                      struct jsonline_error *out_error)
{
    const json_t *value = jsonline_present(object, key);
    if (value == NULL) {
        return 0;
    }
    int status = json_is_string(value)   ? number_parse_distance(json_string_value(value), out)
                 : json_is_number(value) ? number_round_distance(json_number_value(value), out)
                                         : NUMBER_REFUSED;
    if (status != 0) {
        return jsonline_wrong(out_error,
                              "\"%s\" is not a number from 0 to 1 with at most six decimals", key);
    }
    return 0;
}

int jsonline_seconds(const json_t *object, const char *key, uint32_t *out,
                     struct jsonline_error *out_error)
{
    const json_t *value = jsonline_present(object, key);
    if (value == NULL) {
        return 0;
    }
    uint64_t seconds = 0;
    if (json_is_string(value)) {
        uint64_t ms = 0;
        if (number_parse_duration(json_string_value(value), &ms) == 0 && ms % 1000 == 0) {
            seconds = ms / 1000;
        }
    } else if (json_is_integer(value) && json_integer_value(value) > 0) {
        seconds = (uint64_t)json_integer_value(value);
    }
    if (seconds < 1 || seconds > UINT32_MAX) {
        return jsonline_wrong(
            out_error, "\"%s\" is neither seconds from 1 nor a duration such as \"2h\"", key);
    }
    *out = (uint32_t)seconds;
    return 0;
}

int jsonline_hex(const json_t *object, const char *key, uint8_t *out, size_t count, bool *out_found,
                 struct jsonline_error *out_error)
{
    const char *text = NULL;
    int status = jsonline_string(object, key, &text, out_error);
    if (status != 0 || text == NULL) {
        return status;
    }
    if (number_parse_hex(text, out, count) != 0) {
        return jsonline_wrong(out_error, "\"%s\" is not %zu hexadecimal digits", key, 2 * count);
    }
    *out_found = true;
    return 0;
}

int jsonline_base64(const json_t *object, const char *key, uint8_t **out, size_t *out_count,
                    struct jsonline_error *out_error)
{
    const char *text = NULL;
    int status = jsonline_string(object, key, &text, out_error);
    if (status != 0 || text == NULL) {
        return status;
    }
    size_t length = strlen(text);
    uint8_t *bytes = malloc(length / 4 * 3 + 3);
    if (bytes == NULL) {
        return JSONLINE_NOMEM;
    }
    size_t count = 0;
    const char *end = NULL;
    if (sodium_base642bin(bytes, length / 4 * 3 + 3, text, length, NULL, &count, &end,
                          sodium_base64_VARIANT_ORIGINAL) != 0 ||
        end != text + length) {
        free(bytes);
        return jsonline_wrong(out_error, "\"%s\" is not base64", key);
    }
    *out = bytes;
    *out_count = count;
    return 0;
}
