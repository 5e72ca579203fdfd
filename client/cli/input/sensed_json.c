/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a context from the keys of a JSON object. */
#include <stdlib.h>

#include "client/cli/input/input.h"

/* Converts an error of libhearsay to an error of a line. */
static int sensed_json_failed(const struct hearsay_error *error, const char *key,
                              struct jsonline_error *out_error)
{
    return error->status == HEARSAY_ERR_NOMEM
               ? JSONLINE_NOMEM
               : jsonline_wrong(out_error, "\"%s\": %s", key, error->sentence);
}

/* Calls `add` for each string of the array under `key`. */
static int parse_strings(const json_t *object, const char *key, struct hearsay_context *context,
                         int (*add)(struct hearsay_context *, const char *, struct hearsay_error *),
                         struct jsonline_error *out_error)
{
    if (json_object_get(object, key) == NULL) {
        return 0;
    }
    const char **items = NULL;
    size_t count = 0;
    struct hearsay_error error;
    int status = jsonline_labels(object, key, &items, &count, out_error);
    for (size_t i = 0; i < count && status == 0; i++) {
        if (add(context, items[i], &error) != HEARSAY_OK) {
            status = sensed_json_failed(&error, key, out_error);
        }
    }
    free(items);
    return status;
}

/* Reads null or a strength in dBm. */
static int parse_strength(const char *bssid, const json_t *strength, int *out_dbm,
                          struct jsonline_error *out_error)
{
    json_int_t value = json_integer_value(strength);
    if (json_is_null(strength)) {
        *out_dbm = HEARSAY_WIFI_NO_STRENGTH;
        return 0;
    }
    if (!json_is_integer(strength) || value < HEARSAY_WIFI_DBM_MIN ||
        value > HEARSAY_WIFI_DBM_MAX) {
        return jsonline_wrong(out_error,
                              "\"wifi\": the strength of %.40s is neither null nor a whole "
                              "number of dBm from %d to %d",
                              bssid, HEARSAY_WIFI_DBM_MIN, HEARSAY_WIFI_DBM_MAX);
    }
    *out_dbm = (int)value;
    return 0;
}

static int parse_wifi(const json_t *object, struct hearsay_context *context,
                      struct jsonline_error *out_error)
{
    json_t *scan = json_object_get(object, "wifi");
    const char *bssid = NULL;
    json_t *strength = NULL;
    size_t count = 0;
    int status = 0;
    if (scan == NULL || json_is_null(scan)) {
        return 0;
    }
    if (!json_is_object(scan)) {
        return jsonline_wrong(out_error, "\"wifi\" is not an object such as "
                                         "{\"a4:2b:8c:01:02:03\": -54}");
    }
    struct hearsay_sighting *sightings = calloc(json_object_size(scan) + 1, sizeof(*sightings));
    if (sightings == NULL) {
        return JSONLINE_NOMEM;
    }
    json_object_foreach(scan, bssid, strength)
    {
        struct hearsay_sighting *sighting = &sightings[count++];
        sighting->bssid = bssid;
        status = parse_strength(bssid, strength, &sighting->strength_dbm, out_error);
        if (status != 0) {
            break;
        }
    }
    struct hearsay_error error;
    if (status == 0 &&
        hearsay_context_add_sightings(context, sightings, count, &error) != HEARSAY_OK) {
        status = sensed_json_failed(&error, "wifi", out_error);
    }
    free(sightings);
    return status;
}

static int parse_position(const json_t *object, struct hearsay_context *context,
                          struct jsonline_error *out_error)
{
    const json_t *position = jsonline_present(object, "at");
    if (position == NULL) {
        return 0;
    }
    const json_t *latitude = json_array_get(position, 0);
    const json_t *longitude = json_array_get(position, 1);
    if (json_array_size(position) != 2 || !json_is_number(latitude) || !json_is_number(longitude)) {
        return jsonline_wrong(out_error, "\"at\" is not [latitude, longitude] in degrees");
    }
    struct hearsay_error error;
    if (hearsay_context_add_position(context, json_number_value(latitude),
                                     json_number_value(longitude), &error) != HEARSAY_OK) {
        return sensed_json_failed(&error, "at", out_error);
    }
    return 0;
}

static int parse_time(const json_t *object, struct hearsay_context *context,
                      struct jsonline_error *out_error)
{
    const char *text = NULL;
    int64_t ms = 0;
    struct hearsay_error error;
    int status = jsonline_string(object, "time", &text, out_error);
    if (status != 0 || text == NULL) {
        return status;
    }
    if (when_parse(text, &ms) != 0) {
        return jsonline_wrong(out_error, "\"time\" is not a moment such as 2026-11-20T14:00Z");
    }
    if (hearsay_context_add_time(context, ms, &error) != HEARSAY_OK) {
        return sensed_json_failed(&error, "time", out_error);
    }
    return 0;
}

static int parse_all(const json_t *object, struct hearsay_context *context,
                     struct jsonline_error *out_error)
{
    int status = parse_wifi(object, context, out_error);
    if (status == 0) {
        status = parse_position(object, context, out_error);
    }
    if (status == 0) {
        status = parse_time(object, context, out_error);
    }
    if (status == 0) {
        status = parse_strings(object, "topics", context, hearsay_context_add_topic, out_error);
    }
    if (status == 0) {
        status = parse_strings(object, "labels", context, hearsay_context_add_label, out_error);
    }
    size_t count = 0;
    struct hearsay_left_out left_out;
    (void)hearsay_context_labels(context, &count);
    hearsay_context_left_out(context, &left_out);
    if (status == 0 && count == 0 && left_out.no_address > 0) {
        return jsonline_wrong(out_error, "\"wifi\": no access point can have such an address; "
                                         "Android says 02:00:00:00:00:00 where it hides one");
    }
    if (status == 0 && count == 0) {
        return jsonline_wrong(out_error, "the context is empty: give \"labels\", an array of "
                                         "strings attribute:value, or what is sensed: \"wifi\", "
                                         "\"at\", \"time\", \"topics\"");
    }
    return status;
}

int sensed_parse(const json_t *object, struct hearsay_context **out_context,
                 struct jsonline_error *out_error)
{
    static const char *const keys[] = {SENSED_KEYS, NULL};
    size_t found = 0;
    for (size_t i = 0; keys[i] != NULL; i++) {
        found += json_object_get(object, keys[i]) != NULL ? 1 : 0;
    }
    *out_context = NULL;
    if (found == 0) {
        return 0;
    }
    struct hearsay_context *context = NULL;
    if (hearsay_context_new(&context, NULL) != HEARSAY_OK) {
        return JSONLINE_NOMEM;
    }
    int status = parse_all(object, context, out_error);
    if (status != 0) {
        hearsay_context_free(context);
        return status;
    }
    *out_context = context;
    return 0;
}
