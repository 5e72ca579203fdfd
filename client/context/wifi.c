/* SPDX-License-Identifier: Apache-2.0 */
/* wifi: converts an access point to labels. A stronger signal gives more labels. */
#include <stdio.h>
#include <string.h>

#include "client/context/build.h"
#include "client/fail.h"
#include "core/base/hex.h"

/* Six bytes; separator 0: none. */
static bool read_address(const char *text, char separator, uint8_t out[6])
{
    for (size_t i = 0; i < 6; i++) {
        if (separator != 0 && i > 0 && *text++ != separator) {
            return false;
        }
        int high = hex_digit(text[0]);
        int low = hex_digit(text[1]);
        if (high < 0 || low < 0) {
            return false;
        }
        out[i] = (uint8_t)(high << 4 | low);
        text += 2;
    }
    return true;
}

bool context_parse_bssid(const char *text, size_t length, char out[CONTEXT_BSSID_BYTES])
{
    uint8_t bytes[6];
    if (length != 12 && length != 17) {
        return false;
    }
    char separator = length == 12 ? '\0' : text[2];
    if ((length == 17 && separator != ':' && separator != '-') ||
        !read_address(text, separator, bytes)) {
        return false;
    }
    static const uint8_t zeros[6];
    if ((bytes[0] & 1) != 0 || memcmp(bytes, zeros, sizeof(bytes)) == 0) {
        return false; /* a group's address, or none: no access point has it */
    }
    (void)snprintf(out, CONTEXT_BSSID_BYTES, "%02x:%02x:%02x:%02x:%02x:%02x", bytes[0], bytes[1],
                   bytes[2], bytes[3], bytes[4], bytes[5]);
    return true;
}

/*
 * Returns the number of labels of an access point: max(1, ceil((dBm + 90) / 8)), or 1 when the
 * strength is not known. The caller has checked the range of strength_dbm.
 */
static unsigned wifi_levels(int strength_dbm)
{
    if (strength_dbm == HEARSAY_WIFI_NO_STRENGTH || strength_dbm <= CONTEXT_WIFI_FLOOR) {
        return 1;
    }
    return (unsigned)(strength_dbm - CONTEXT_WIFI_FLOOR + CONTEXT_WIFI_STEP - 1) /
           CONTEXT_WIFI_STEP;
}

int context_percent_to_dbm(int percent)
{
    return -40 - (3 * (100 - percent) + 4) / 5;
}

int context_add_sighting(struct hearsay_context *context, const char *bssid, int strength_dbm,
                         struct hearsay_error *out_error)
{
    unsigned levels = wifi_levels(strength_dbm);
    int status = HEARSAY_OK;
    for (unsigned level = 1; level <= levels && status == HEARSAY_OK; level++) {
        char label[48];
        int length = level == 1 ? snprintf(label, sizeof(label), "wifi:%s", bssid)
                                : snprintf(label, sizeof(label), "wifi:%s@%u", bssid, level);
        status = context_add(context, label, (size_t)length, out_error);
    }
    return status;
}

int hearsay_context_add_wifi(struct hearsay_context *context, const char *bssid, int strength_dbm,
                             struct hearsay_error *out_error)
{
    char usual[CONTEXT_BSSID_BYTES];
    if (!context_parse_bssid(bssid, strlen(bssid), usual)) {
        return fail_set(out_error, HEARSAY_ERR_ARGUMENT,
                        "\"%.100s\" is not an access point's address such as a4:2b:8c:01:02:03",
                        bssid);
    }
    if (strength_dbm != HEARSAY_WIFI_NO_STRENGTH &&
        (strength_dbm < HEARSAY_WIFI_DBM_MIN || strength_dbm > HEARSAY_WIFI_DBM_MAX)) {
        return fail_set(out_error, HEARSAY_ERR_ARGUMENT,
                        "%s: a strength of %d is not in dBm, %d to %d", usual, strength_dbm,
                        HEARSAY_WIFI_DBM_MIN, HEARSAY_WIFI_DBM_MAX);
    }
    return context_add_sighting(context, usual, strength_dbm, out_error);
}
