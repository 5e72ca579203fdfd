/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cli/input/input.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ADDRESS_LENGTH = 17 };

static int refuse_scan(struct hearsay_error *out_error, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int refuse_scan(struct hearsay_error *out_error, int status, const char *format, ...)
{
    va_list arguments;

    memset(out_error, 0, sizeof(*out_error));
    out_error->status = status;
    va_start(arguments, format);
    (void)vsnprintf(out_error->sentence, sizeof(out_error->sentence), format, arguments);
    va_end(arguments);
    return status;
}

/* The bytes of the mark of UTF-8 that some editors write in front. */
static size_t count_mark(const char *text, size_t byte_count)
{
    return byte_count >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
}

bool scan_json_is(const char *text, size_t byte_count)
{
    size_t at = count_mark(text, byte_count);

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

/*
 * Copies the scan without what could only be in names, which are not read: bytes beyond ASCII,
 * control characters and \u escapes. ubus prints a name as the access point sends it, so one that
 * is not UTF-8 would cost the whole scan. NULL: no memory. The caller frees it.
 */
static char *without_names(const char *text, size_t byte_count)
{
    char *plain = malloc(byte_count + 1);
    bool is_escaped = false;

    for (size_t i = 0; i < byte_count && plain != NULL; i++) {
        bool is_ascii = (text[i] >= ' ' && (unsigned char)text[i] < 0x7f) || text[i] == '\n';

        plain[i] = is_ascii ? text[i] : ' ';
        if (is_escaped && text[i] == 'u') {
            plain[i] = '/'; /* of \ and u: an escape of one character */
        }
        is_escaped = text[i] == '\\' && !is_escaped;
    }
    return plain;
}

/*
 * Reads the objects behind the first `[` of a text that is no JSON as a whole, because it was cut
 * off or one of them is none. Returns an array with null for each place that cannot be read; NULL:
 * there is no `[`. Nested objects that cannot be read could take long, so it gives up after some.
 */
static json_t *read_objects(const char *text, size_t byte_count)
{
    const char *end = text + byte_count;
    const char *at = memchr(text, '[', byte_count);
    json_t *items = at != NULL ? json_array() : NULL;
    json_error_t error;

    for (size_t wrong = 0; at != NULL && wrong < 100;) {
        at = memchr(at, '{', (size_t)(end - at));
        if (at == NULL) {
            break;
        }
        json_t *item = json_loadb(at, (size_t)(end - at), JSON_DISABLE_EOF_CHECK, &error);
        at += item != NULL ? error.position : 1;
        wrong += item == NULL;
        (void)json_array_append_new(items, item != NULL ? item : json_null());
    }
    return items;
}

/* null: unknown. A fraction is rounded to whole dBm, halves up. What cannot be a strength is 0 for
 * the library, which counts it. */
static int strength_of(const json_t *strength)
{
    double dbm = json_number_value(strength);

    if (json_is_null(strength)) {
        return HEARSAY_WIFI_NO_STRENGTH;
    }
    return dbm >= HEARSAY_WIFI_DBM_MIN && dbm < 0
               ? HEARSAY_WIFI_DBM_MIN + (int)(dbm - HEARSAY_WIFI_DBM_MIN + 0.5)
               : HEARSAY_WIFI_DBM_MAX;
}

/* Termux calls the strength "rssi", ubus "signal". */
static bool read_sighting(const json_t *item, struct hearsay_sighting *out)
{
    const json_t *strength = json_object_get(item, "rssi");

    strength = strength != NULL ? strength : json_object_get(item, "signal");
    out->bssid = json_string_value(json_object_get(item, "bssid"));
    out->strength_dbm = strength_of(strength);
    return is_address(out->bssid) && (json_is_number(strength) || json_is_null(strength));
}

static int add_items(struct hearsay_context *context, const json_t *items, size_t *out_sightings,
                     struct hearsay_left_out *out_left_out, struct hearsay_error *out_error)
{
    struct hearsay_sighting *sightings = calloc(HEARSAY_SCAN_SIGHTINGS_MAX, sizeof(*sightings));
    size_t count = 0;
    size_t at = 0;
    json_t *item = NULL;

    if (sightings == NULL) {
        return refuse_scan(out_error, HEARSAY_ERR_NOMEM, "out of memory");
    }
    out_left_out->unreadable = 0;
    json_array_foreach(items, at, item)
    {
        bool is_read = count < HEARSAY_SCAN_SIGHTINGS_MAX && read_sighting(item, &sightings[count]);

        count += is_read;
        out_left_out->unreadable += !is_read;
    }
    *out_sightings = count;
    int status = count == 0 && out_left_out->unreadable > 0
                     ? refuse_scan(out_error, HEARSAY_ERR_ARGUMENT,
                                   "no access point of the scan has a \"bssid\" such as "
                                   "\"a4:2b:8c:01:02:03\" and an \"rssi\" or "
                                   "\"signal\" such as -54")
                     : hearsay_context_add_sightings(context, sightings, count, out_error);
    free(sightings);
    return status;
}

/* Reads what the text has, which is an array of access points or has one. */
static int add_json(struct hearsay_context *context, const char *text, size_t byte_count,
                    size_t *out_sightings, struct hearsay_left_out *out_left_out,
                    struct hearsay_error *out_error)
{
    json_error_t error;
    json_t *root = json_loadb(text, byte_count, 0, &error);
    bool is_whole = root != NULL;
    root = is_whole ? root : read_objects(text, byte_count);
    out_left_out->is_cut =
        !is_whole && json_is_null(json_array_get(root, json_array_size(root) - 1));
    const json_t *items = json_is_object(root) ? json_object_get(root, "results") : root;
    const char *failure = json_string_value(json_object_get(root, "API_ERROR"));
    int status = HEARSAY_ERR_ARGUMENT;

    if (failure != NULL) {
        status = refuse_scan(out_error, HEARSAY_ERR_ARGUMENT, "termux-wifi-scaninfo failed: %.500s",
                             failure);
    } else if (json_object_get(root, "SPAirPortDataType") != NULL) {
        status =
            refuse_scan(out_error, HEARSAY_ERR_ARGUMENT,
                        "what macOS says of WiFi is not read, and it hides most addresses; if it "
                        "shows some, give each with its strength in dBm");
    } else if (is_whole && !json_is_array(items)) {
        status = refuse_scan(
            out_error, HEARSAY_ERR_ARGUMENT,
            "the scan is JSON, but neither of `termux-wifi-scaninfo` nor of `ubus call iwinfo scan "
            "'{\"device\":\"wlan0\"}'`");
    } else if (items != NULL) {
        status = add_items(context, items, out_sightings, out_left_out, out_error);
    }
    if (!is_whole && status == HEARSAY_ERR_ARGUMENT) {
        status =
            refuse_scan(out_error, HEARSAY_ERR_ARGUMENT,
                        "line %d of the scan is no JSON, or the scan was cut off there: %.200s",
                        error.line, error.text);
    }
    json_decref(root);
    return status;
}

int scan_json_add(struct hearsay_context *context, const char *text, size_t byte_count,
                  size_t *out_sightings, struct hearsay_left_out *out_left_out,
                  struct hearsay_error *out_error)
{
    size_t mark = count_mark(text, byte_count);
    *out_left_out = (struct hearsay_left_out){.weaker = 0};
    char *plain = without_names(text + mark, byte_count - mark);
    int status = plain != NULL ? add_json(context, plain, byte_count - mark, out_sightings,
                                          out_left_out, out_error)
                               : refuse_scan(out_error, HEARSAY_ERR_NOMEM, "out of memory");

    free(plain);
    return status;
}
