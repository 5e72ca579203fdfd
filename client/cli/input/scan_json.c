/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cli/input/scan_json.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ADDRESS_LENGTH = 17 };

static int refuse(struct hearsay_error *out_error, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int refuse(struct hearsay_error *out_error, int status, const char *format, ...)
{
    va_list arguments;

    memset(out_error, 0, sizeof(*out_error));
    out_error->status = status;
    va_start(arguments, format);
    (void)vsnprintf(out_error->sentence, sizeof(out_error->sentence), format, arguments);
    va_end(arguments);
    return status;
}

bool scan_json_is(const char *text, size_t byte_count)
{
    size_t at = 0;

    while (at < byte_count && strchr(" \t\r\n", text[at]) != NULL && text[at] != '\0') {
        at++;
    }
    return at < byte_count && (text[at] == '[' || text[at] == '{');
}

/* "a4:2b:8c:01:02:03", in capitals or not. */
static bool is_address(const char *text)
{
    static const char digits[] = "0123456789abcdefABCDEF";

    if (text == NULL || strlen(text) != ADDRESS_LENGTH) {
        return false;
    }
    for (size_t i = 0; i < ADDRESS_LENGTH; i++) {
        if (i % 3 == 2 ? text[i] != ':' : strchr(digits, text[i]) == NULL) {
            return false;
        }
    }
    return true;
}

/* Termux calls the strength "rssi", ubus "signal". Absent or null: unknown. */
static bool read_sighting(const json_t *item, struct hearsay_sighting *out)
{
    const json_t *strength = json_object_get(item, "rssi");

    strength = strength != NULL ? strength : json_object_get(item, "signal");
    out->bssid = json_string_value(json_object_get(item, "bssid"));
    out->strength_dbm = HEARSAY_WIFI_NO_STRENGTH;
    if (!is_address(out->bssid)) {
        return false;
    }
    if (strength == NULL || json_is_null(strength)) {
        return true;
    }
    json_int_t dbm = json_integer_value(strength);
    /* What cannot be a strength is positive for the library, which counts it. */
    out->strength_dbm = dbm >= HEARSAY_WIFI_DBM_MIN && dbm < 0 ? (int)dbm : HEARSAY_WIFI_DBM_MAX;
    return json_is_integer(strength);
}

static int add_items(struct hearsay_context *context, const json_t *items, size_t *out_sightings,
                     size_t *out_unreadable, struct hearsay_error *out_error)
{
    struct hearsay_sighting *sightings = calloc(HEARSAY_SCAN_SIGHTINGS_MAX, sizeof(*sightings));
    size_t count = 0;
    size_t at = 0;
    json_t *item = NULL;

    if (sightings == NULL) {
        return refuse(out_error, HEARSAY_ERR_NOMEM, "out of memory");
    }
    *out_unreadable = 0;
    json_array_foreach(items, at, item)
    {
        bool is_read = count < HEARSAY_SCAN_SIGHTINGS_MAX && read_sighting(item, &sightings[count]);

        count += is_read;
        *out_unreadable += !is_read;
    }
    *out_sightings = count;
    int status = count == 0 && *out_unreadable > 0
                     ? refuse(out_error, HEARSAY_ERR_ARGUMENT,
                              "no access point of the scan has a \"bssid\" such as "
                              "\"a4:2b:8c:01:02:03\" and an \"rssi\" or "
                              "\"signal\" such as -54")
                     : hearsay_context_add_sightings(context, sightings, count, out_error);
    free(sightings);
    return status;
}

int scan_json_add(struct hearsay_context *context, const char *text, size_t byte_count,
                  size_t *out_sightings, size_t *out_unreadable, struct hearsay_error *out_error)
{
    json_error_t error;
    json_t *root = json_loadb(text, byte_count, 0, &error);
    const json_t *items = json_is_object(root) ? json_object_get(root, "results") : root;
    const char *failure = json_string_value(json_object_get(root, "API_ERROR"));
    int status;

    if (root == NULL) {
        return refuse(out_error, HEARSAY_ERR_ARGUMENT,
                      "line %d of the scan is no JSON, or the scan was cut off there: %.200s",
                      error.line, error.text);
    }
    if (failure != NULL) {
        status =
            refuse(out_error, HEARSAY_ERR_ARGUMENT, "termux-wifi-scaninfo failed: %.500s", failure);
    } else if (!json_is_array(items)) {
        status = refuse(
            out_error, HEARSAY_ERR_ARGUMENT,
            "the scan is JSON, but neither of `termux-wifi-scaninfo` nor of `ubus call iwinfo scan "
            "'{\"device\":\"wlan0\"}'`");
    } else {
        status = add_items(context, items, out_sightings, out_unreadable, out_error);
    }
    json_decref(root);
    return status;
}
