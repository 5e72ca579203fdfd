/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan: reads the output of WiFi scanners. There are two formats. The first line that is not blank
 * decides between them.
 *
 * Output of `iw dev wlan0 scan`; only the lines with "BSS" and "signal:" are used:
 *
 *   BSS a4:2b:8c:01:02:03(on wlan0) -- associated
 *       TSF: 7134812 usec (0d, 00:00:07)
 *       signal: -54.00 dBm
 *
 * Output of `nmcli -t -f BSSID,SIGNAL device wifi list`:
 *
 *   A4\:2B\:8C\:01\:02\:03:77
 */
#include <inttypes.h>
#include <string.h>

#include "client/context/build.h"
#include "client/fail.h"

enum scan_form { SCAN_UNKNOWN, SCAN_IW, SCAN_NMCLI };

struct scan {
    struct hearsay_error *error; /* borrowed, or NULL */
    enum scan_form form;
    size_t line; /* from 1 */
    bool open;   /* iw: an access point's lines are being read */
    uint8_t bssid[CONTEXT_BSSID_BYTES];
    int strength_dbm;
    struct sightings sightings;
};

/* A line without what ends it. */
struct piece {
    const char *text;
    size_t length;
};

static bool scan_begins(const struct piece *piece, const char *prefix)
{
    size_t length = strlen(prefix);
    return piece->length >= length && memcmp(piece->text, prefix, length) == 0;
}

static void scan_skip(struct piece *piece, size_t count)
{
    piece->text += count;
    piece->length -= count;
}

static bool skip_minus(struct piece *piece)
{
    bool is_there = scan_begins(piece, "-");
    scan_skip(piece, is_there ? 1 : 0);
    return is_there;
}

static void skip_blanks(struct piece *piece)
{
    while (piece->length > 0 && (piece->text[0] == ' ' || piece->text[0] == '\t')) {
        scan_skip(piece, 1);
    }
}

/*
 * Reads a number of one to four digits, so that an int cannot overflow. Returns false for no digit
 * or more than four.
 */
static bool read_number(struct piece *piece, int *out)
{
    int value = 0;
    size_t count = 0;
    while (count < piece->length && count <= 4 && piece->text[count] >= '0' &&
           piece->text[count] <= '9') {
        value = 10 * value + (piece->text[count] - '0');
        count++;
    }
    if (count == 0 || count > 4) {
        return false;
    }
    scan_skip(piece, count);
    *out = value;
    return true;
}

static int scan_wrong(const struct scan *scan, const struct piece *line, const char *wanted)
{
    int shown = line->length < 80 ? (int)line->length : 80;
    return fail_set(scan->error, HEARSAY_ERR_ARGUMENT, "line %zu of the scan, \"%.*s\": %s",
                    scan->line, shown, line->text, wanted);
}

static int note_sighting(struct scan *scan)
{
    if (!sightings_note(&scan->sightings, scan->bssid, scan->strength_dbm)) {
        return fail_set(scan->error, HEARSAY_ERR_ARGUMENT,
                        "line %zu of the scan: over %d access points", scan->line,
                        HEARSAY_SCAN_SIGHTINGS_MAX);
    }
    return HEARSAY_OK;
}

/* --- iw --------------------------------------------------------------------------------------- */

/*
 * Reads a signal strength of iw: "-54.00 dBm", rounded to whole dBm with halves up, or "77/100",
 * which drivers without units report. iw prints a whole number and hundredths with a sign each, so
 * it writes -54.5 dBm as "-54.-50 dBm".
 */
static bool read_iw_signal(struct piece rest, int *out_dbm)
{
    int whole = 0;
    skip_blanks(&rest);
    bool negative = skip_minus(&rest);
    if (!read_number(&rest, &whole)) {
        return false;
    }
    if (!negative && scan_begins(&rest, "/100") && rest.length == 4 && whole <= 100) {
        *out_dbm = context_percent_to_dbm(whole);
        return true;
    }
    int hundredths = 0;
    if (scan_begins(&rest, ".")) {
        scan_skip(&rest, 1);
        negative = skip_minus(&rest) || negative;
        size_t before = rest.length;
        if (!read_number(&rest, &hundredths) || before - rest.length != 2) {
            return false;
        }
    }
    if (!scan_begins(&rest, " dBm") || rest.length != 4) {
        return false;
    }
    int centi = 100 * whole + hundredths;
    *out_dbm = negative ? -((centi + 49) / 100) : centi / 100;
    if (*out_dbm == HEARSAY_WIFI_NO_STRENGTH) {
        *out_dbm = HEARSAY_WIFI_DBM_MAX; /* the scan does say a strength, which cannot be either */
    }
    return true;
}

static int end_iw_sighting(struct scan *scan)
{
    if (!scan->open) {
        return HEARSAY_OK;
    }
    scan->open = false;
    return note_sighting(scan);
}

static int read_iw_line(struct scan *scan, const struct piece *line)
{
    struct piece rest = *line;
    if (scan_begins(line, "BSS ")) {
        int status = end_iw_sighting(scan);
        if (status != HEARSAY_OK) {
            return status;
        }
        scan_skip(&rest, strlen("BSS "));
        size_t length = rest.length < CONTEXT_BSSID_LENGTH ? rest.length : CONTEXT_BSSID_LENGTH;
        bool ended = rest.length == length || rest.text[length] == '(' || rest.text[length] == ' ';
        if (!ended || !context_parse_bssid(rest.text, length, scan->bssid)) {
            return scan_wrong(scan, line,
                              "not an access point's address such as "
                              "\"BSS a4:2b:8c:01:02:03(on wlan0)\"");
        }
        scan->open = true;
        scan->strength_dbm = HEARSAY_WIFI_NO_STRENGTH;
        return HEARSAY_OK;
    }
    skip_blanks(&rest);
    if (scan->open && scan_begins(&rest, "signal:")) {
        scan_skip(&rest, strlen("signal:"));
        if (!read_iw_signal(rest, &scan->strength_dbm)) {
            return scan_wrong(scan, line, "not a strength such as \"signal: -54.00 dBm\"");
        }
    }
    return HEARSAY_OK;
}

/* --- nmcli ------------------------------------------------------------------------------------ */

static int read_nmcli_line(struct scan *scan, const struct piece *line)
{
    static const char wanted[] = "neither of iw (\"BSS a4:2b:8c:01:02:03(on wlan0)\") nor of "
                                 "nmcli -t -f BSSID,SIGNAL (\"A4\\:2B\\:8C\\:01\\:02\\:03:77\")";
    char plain[CONTEXT_BSSID_LENGTH + 8];
    struct piece rest = {plain, 0};
    for (size_t i = 0; i < line->length; i++) {
        if (line->text[i] == '\\') {
            continue; /* a backslash escapes a colon within the BSSID */
        }
        if (rest.length == sizeof(plain)) {
            return scan_wrong(scan, line, wanted);
        }
        plain[rest.length++] = line->text[i];
    }
    if (rest.length < CONTEXT_BSSID_LENGTH ||
        !context_parse_bssid(plain, CONTEXT_BSSID_LENGTH, scan->bssid)) {
        return scan_wrong(scan, line, wanted);
    }
    scan_skip(&rest, CONTEXT_BSSID_LENGTH);
    scan->strength_dbm = HEARSAY_WIFI_NO_STRENGTH;
    if (rest.length > 0) {
        int percent = 0;
        bool parted = scan_begins(&rest, ":");
        scan_skip(&rest, 1);
        if (!parted || !read_number(&rest, &percent) || rest.length != 0 || percent > 100) {
            return scan_wrong(scan, line, "the strength is not a number from 0 to 100");
        }
        scan->strength_dbm = context_percent_to_dbm(percent);
    }
    return note_sighting(scan);
}

/* --- both ------------------------------------------------------------------------------------- */

static int read_line(struct scan *scan, struct piece line)
{
    if (line.length > HEARSAY_SCAN_LINE_BYTES_MAX) {
        line.length = HEARSAY_SCAN_LINE_BYTES_MAX;
        return scan_wrong(scan, &line, "too long, over 4096 bytes");
    }
    if (line.length > 0 && line.text[line.length - 1] == '\r') {
        line.length--;
    }
    struct piece rest = line;
    skip_blanks(&rest);
    if (rest.length == 0) {
        return HEARSAY_OK;
    }
    if (scan->form == SCAN_UNKNOWN) {
        scan->form = scan_begins(&line, "BSS ") ? SCAN_IW : SCAN_NMCLI;
    }
    return scan->form == SCAN_IW ? read_iw_line(scan, &line) : read_nmcli_line(scan, &line);
}

int hearsay_context_add_scan(struct hearsay_context *context, const char *text, size_t byte_count,
                             size_t *out_sightings, struct hearsay_error *out_error)
{
    if (byte_count > HEARSAY_SCAN_BYTES_MAX) {
        return fail_set(out_error, HEARSAY_ERR_ARGUMENT, "the scan has over %d bytes",
                        HEARSAY_SCAN_BYTES_MAX);
    }
    struct scan scan = {.error = out_error};
    size_t at = 0;
    while (at < byte_count) {
        const char *newline = memchr(text + at, '\n', byte_count - at);
        size_t length = newline != NULL ? (size_t)(newline - (text + at)) : byte_count - at;
        scan.line++;
        int status = read_line(&scan, (struct piece){text + at, length});
        if (status != HEARSAY_OK) {
            return status;
        }
        at += length + 1;
    }
    int status = end_iw_sighting(&scan);
    if (status == HEARSAY_OK) {
        status = sightings_add(&scan.sightings, context, out_error);
    }
    if (status == HEARSAY_OK && out_sightings != NULL) {
        *out_sightings = scan.sightings.noted;
    }
    return status;
}
