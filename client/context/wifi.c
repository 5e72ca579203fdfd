/* SPDX-License-Identifier: Apache-2.0 */
/* wifi: converts an access point to labels. A stronger signal gives more labels. */
#include <stdio.h>
#include <string.h>

#include "client/context/build.h"
#include "client/fail.h"
#include "core/base/hex.h"

/* Six bytes; separator 0: none. */
static bool read_address(const char *text, char separator, uint8_t out[CONTEXT_BSSID_BYTES])
{
    for (size_t i = 0; i < CONTEXT_BSSID_BYTES; i++) {
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

bool context_parse_bssid(const char *text, size_t length, uint8_t out[CONTEXT_BSSID_BYTES])
{
    if (length != 12 && length != CONTEXT_BSSID_LENGTH) {
        return false;
    }
    char separator = length == 12 ? '\0' : text[2];
    return (length == 12 || separator == ':' || separator == '-') &&
           read_address(text, separator, out);
}

static const uint8_t hidden_address[CONTEXT_BSSID_BYTES] = {2};

bool context_is_bssid(const uint8_t bssid[CONTEXT_BSSID_BYTES])
{
    static const uint8_t zeros[CONTEXT_BSSID_BYTES];
    bool is_group = (bssid[0] & 1) != 0;

    return !is_group && memcmp(bssid, zeros, sizeof(zeros)) != 0 &&
           memcmp(bssid, hidden_address, sizeof(hidden_address)) != 0;
}

unsigned context_wifi_levels(int strength_dbm)
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

int context_add_sighting(struct hearsay_context *context, const uint8_t bssid[CONTEXT_BSSID_BYTES],
                         int strength_dbm, struct hearsay_error *out_error)
{
    unsigned levels = context_wifi_levels(strength_dbm);
    int status = HEARSAY_OK;
    for (unsigned level = 1; level <= levels && status == HEARSAY_OK; level++) {
        char label[48];
        int length = snprintf(label, sizeof(label), "wifi:%02x:%02x:%02x:%02x:%02x:%02x", bssid[0],
                              bssid[1], bssid[2], bssid[3], bssid[4], bssid[5]);
        if (level > 1) {
            length += snprintf(label + length, sizeof(label) - (size_t)length, "@%u", level);
        }
        status = context_add(context, label, (size_t)length, out_error);
    }
    return status;
}

int hearsay_context_add_wifi(struct hearsay_context *context, const char *bssid, int strength_dbm,
                             struct hearsay_error *out_error)
{
    uint8_t address[CONTEXT_BSSID_BYTES];
    bool is_address = context_parse_bssid(bssid, strlen(bssid), address);
    if (is_address && memcmp(address, hidden_address, sizeof(hidden_address)) == 0) {
        return fail_set(out_error, HEARSAY_ERR_ARGUMENT,
                        "%s is not an access point's address: Android gives it to apps that may "
                        "not know the address, which takes the permission for the precise location",
                        bssid);
    }
    if (!is_address || !context_is_bssid(address)) {
        return fail_set(out_error, HEARSAY_ERR_ARGUMENT, CONTEXT_NO_BSSID, bssid);
    }
    if (strength_dbm != HEARSAY_WIFI_NO_STRENGTH &&
        (strength_dbm < HEARSAY_WIFI_DBM_MIN || strength_dbm > HEARSAY_WIFI_DBM_MAX)) {
        return fail_set(out_error, HEARSAY_ERR_ARGUMENT,
                        "%s: a strength of %d is not in dBm, %d to %d", bssid, strength_dbm,
                        HEARSAY_WIFI_DBM_MIN, HEARSAY_WIFI_DBM_MAX);
    }
    return context_add_sighting(
        context, address, strength_dbm == 0 ? HEARSAY_WIFI_NO_STRENGTH : strength_dbm, out_error);
}
