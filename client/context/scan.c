/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan: reads the output of WiFi scanners. The first line that has one of these forms decides which
 * form the others have.
 *
 * `iw dev wlan0 scan`; only the lines with "BSS" and "signal:" are used:
 *
 *   BSS a4:2b:8c:01:02:03(on wlan0) -- associated
 *       TSF: 7134812 usec (0d, 00:00:07)
 *       signal: -54.00 dBm
 *
 * `nmcli -t -f BSSID,SIGNAL device wifi list`:
 *
 *   A4\:2B\:8C\:01\:02\:03:77
 *
 * `wpa_cli scan_results`, with tabs; a header may stand before:
 *
 *   a4:2b:8c:01:02:03	2412	-54	[WPA2-PSK-CCMP][ESS]	cafe
 *
 * `iwinfo wlan0 scan`, and with "Signal level=-54 dBm" `iwlist wlan0 scan`:
 *
 *   Cell 01 - Address: A4:2B:8C:01:02:03
 *             ESSID: "cafe"
 *             Signal: -54 dBm  Quality: 56/70
 *
 * These programs print much of what access points say of themselves, some of it as it comes. So an
 * access point that cannot be read is left out and counted, and the scan goes on.
 */
#include <string.h>

#include "client/context/build.h"
#include "client/fail.h"

enum scan_form { SCAN_UNKNOWN, SCAN_IW, SCAN_NMCLI, SCAN_WPA_CLI, SCAN_CELLS };

/* So many strengths that are all numbers of channels are channels. */
enum { CHANNELS_TOLD = 5 };

static const char not_a_scan[] = "not of a scanner that is read here: `iw dev wlan0 scan`, `nmcli "
                                 "-t -f BSSID,SIGNAL device wifi list`, "
                                 "`wpa_cli scan_results`, OpenWrt's `iwinfo wlan0 scan`, `iwlist "
                                 "wlan0 scan`";

/* A line without what ends it, or its end. */
struct piece {
    const char *text;
    size_t length;
    size_t number; /* of the line, from 1 */
};

/* The access point whose lines are being read (iw, cells). */
struct entry {
    bool is_open;
    bool is_wrong;     /* it has been counted as one that cannot be read */
    bool has_strength; /* its line was there: another one is a name's */
    bool has_beacon;   /* iw: so was the line "beacon interval" */
    bool has_later;    /* so was a line that stands behind that of the strength */
    int strength_dbm;
    uint8_t bssid[CONTEXT_BSSID_BYTES];
    struct piece first; /* its first line */
};

struct scan {
    enum scan_form form;
    struct entry entry;
    bool expects_strength;      /* an entry before had one */
    bool expects_beacon;        /* the first entry of iw had that line */
    size_t percents, channels;  /* nmcli: strengths but for 100; of these, numbers of channels */
    bool is_of_channels;        /* nmcli: a number is above 100, so all are those of channels */
    struct hearsay_error wrong; /* the first thing that could not be read */
    bool is_foreign;            /* that is a line of another program, and what works instead */
    struct sightings sightings;
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

static bool scan_has(const struct piece *piece, const char *part)
{
    return memmem(piece->text, piece->length, part, strlen(part)) != NULL;
}

/* Moves behind `prefix` if the piece begins with it. */
static bool skip_text(struct piece *piece, const char *prefix)
{
    bool is_there = scan_begins(piece, prefix);
    scan_skip(piece, is_there ? strlen(prefix) : 0);
    return is_there;
}

static void skip_blanks(struct piece *piece)
{
    while (piece->length > 0 && (piece->text[0] == ' ' || piece->text[0] == '\t')) {
        scan_skip(piece, 1);
    }
}

/* Moves behind the next tab. Returns false if there is none. */
static bool skip_field(struct piece *piece)
{
    const char *tab = memchr(piece->text, '\t', piece->length);
    scan_skip(piece, tab != NULL ? (size_t)(tab + 1 - piece->text) : piece->length);
    return tab != NULL;
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

/* Reads an address, as all but nmcli print it. */
static bool read_address(struct piece *piece, uint8_t out[CONTEXT_BSSID_BYTES])
{
    if (piece->length < CONTEXT_BSSID_LENGTH ||
        !context_parse_bssid(piece->text, CONTEXT_BSSID_LENGTH, out)) {
        return false;
    }
    scan_skip(piece, CONTEXT_BSSID_LENGTH);
    return true;
}

/*
 * Reads a strength: "-54.00 dBm", rounded to whole dBm with halves up, or "77/100", which drivers
 * without units report. iw prints a whole number and hundredths with a sign each, so it writes
 * -54.5 dBm as "-54.-50 dBm".
 */
static bool read_strength(struct piece *piece, int *out_dbm)
{
    int whole = 0;
    int hundredths = 0;
    bool negative = skip_text(piece, "-");
    if (!read_number(piece, &whole)) {
        return false;
    }
    if (!negative && whole <= 100 && skip_text(piece, "/100")) {
        *out_dbm = context_percent_to_dbm(whole);
        return true;
    }
    if (skip_text(piece, ".")) {
        negative = skip_text(piece, "-") || negative;
        size_t before = piece->length;
        if (!read_number(piece, &hundredths) || before - piece->length != 2) {
            return false;
        }
    }
    if (!skip_text(piece, " dBm")) {
        return false;
    }
    int centi = 100 * whole + hundredths;
    *out_dbm = negative ? -((centi + 49) / 100) : centi / 100;
    if (*out_dbm == HEARSAY_WIFI_NO_STRENGTH) {
        *out_dbm = HEARSAY_WIFI_DBM_MAX; /* the scan does say a strength, which cannot be either */
    }
    return true;
}

/* --- what is read, and what cannot be --------------------------------------------------------- */

static void note_wrong(struct scan *scan, const struct piece *line, const char *wanted)
{
    int shown = line->length < 80 ? (int)line->length : 80;
    (void)fail_set(&scan->wrong, HEARSAY_ERR_ARGUMENT, "line %zu of the scan, \"%.*s\": %s",
                   line->number, shown, line->text, wanted);
}

/* Counts an access point that cannot be read. */
static void leave_out(struct scan *scan, const struct piece *line, const char *wanted)
{
    struct hearsay_left_out *left_out = &scan->sightings.left_out;
    if (left_out->unreadable++ == 0) {
        left_out->unreadable_line = line->number;
        note_wrong(scan, line, wanted);
    }
}

/* Counts a line that has not the form of the scan, or none. The sentence is about the first one
 * that tells which program has printed it, because titles of tables may be in any language. */
static void leave_foreign_out(struct scan *scan, const struct piece *line, const char *wanted)
{
    const char *instead = context_foreign_scan(line->text, line->length);
    leave_out(scan, line, wanted);
    if (instead != NULL && !scan->is_foreign) {
        scan->is_foreign = true;
        note_wrong(scan, line, instead);
    }
}

static void note_sighting(struct scan *scan, const struct piece *line,
                          const uint8_t bssid[CONTEXT_BSSID_BYTES], int strength_dbm)
{
    if (!sightings_note(&scan->sightings, bssid, strength_dbm)) {
        leave_out(scan, line, "there are over 1,024 access points, and those before are read");
    }
}

/* --- iw and cells: several lines for each access point ---------------------------------------- */

static void leave_entry_out(struct scan *scan, const struct piece *line, const char *wanted)
{
    if (!scan->entry.is_wrong) {
        scan->entry.is_wrong = true;
        leave_out(scan, line, wanted);
    }
}

/*
 * Notes the access point whose lines have ended. Of iw one that lacks a line that the first one has
 * is no access point but part of a name: a device may call itself by a line feed and a line of iw,
 * and iw prints names of WPS as they are. Such a name is too short for all lines.
 */
static void end_entry(struct scan *scan, bool is_cut)
{
    struct entry *entry = &scan->entry;
    if (!entry->is_open) {
        return;
    }
    entry->is_open = false;
    if (scan->sightings.noted == 0 && !entry->is_wrong) {
        scan->expects_beacon = entry->has_beacon;
    }
    if (is_cut && scan->expects_strength && !entry->has_strength) {
        scan->sightings.left_out.is_cut = true;
        leave_entry_out(scan, &entry->first,
                        "the scan ends within an access point: it was cut off");
    } else if (scan->expects_beacon && !entry->has_beacon) {
        leave_entry_out(scan, &entry->first, "this access point lacks most of its lines");
    }
    if (!entry->is_wrong) {
        scan->expects_strength = scan->expects_strength || entry->has_strength;
        note_sighting(scan, &entry->first, entry->bssid, entry->strength_dbm);
    }
}

static void note_later_line(struct entry *entry, const struct piece *line)
{
    entry->has_later = entry->has_later || scan_begins(line, "SSID:") ||
                       scan_begins(line, "last seen:") || scan_begins(line, "Encryption");
}

static void begin_entry(struct scan *scan, const struct piece *line)
{
    end_entry(scan, false);
    scan->entry =
        (struct entry){.is_open = true, .strength_dbm = HEARSAY_WIFI_NO_STRENGTH, .first = *line};
}

/* A strength, up to the end of the piece or a blank. */
static void take_strength(struct scan *scan, const struct piece *line, struct piece rest,
                          const char *wanted)
{
    struct entry *entry = &scan->entry;
    if (entry->has_strength) {
        return;
    }
    skip_blanks(&rest);
    entry->has_strength = true;
    if (skip_text(&rest, "unknown")) {
        return; /* iwinfo */
    }
    if (!read_strength(&rest, &entry->strength_dbm) || (rest.length > 0 && rest.text[0] != ' ')) {
        leave_entry_out(scan, line, wanted);
    }
}

static void read_iw_line(struct scan *scan, const struct piece *line)
{
    struct entry *entry = &scan->entry;
    struct piece rest = *line;
    if (skip_text(&rest, "BSS ")) {
        begin_entry(scan, line);
        if (!read_address(&rest, entry->bssid) ||
            (rest.length > 0 && rest.text[0] != '(' && rest.text[0] != ' ')) {
            leave_entry_out(scan, line,
                            "not an access point's address such as "
                            "\"BSS a4:2b:8c:01:02:03(on wlan0)\"");
        }
        return;
    }
    skip_blanks(&rest);
    note_later_line(entry, &rest);
    if (entry->is_open && skip_text(&rest, "signal:")) {
        take_strength(scan, line, rest, "not a strength such as \"signal: -54.00 dBm\"");
    } else if (entry->is_open && !entry->has_strength && scan_begins(&rest, "beacon interval:")) {
        entry->has_beacon = true; /* iw prints it before the strength */
    }
}

static void read_cell_line(struct scan *scan, const struct piece *line)
{
    static const char wanted[] = "not a strength such as \"Signal: -54 dBm\"";
    struct piece rest = *line;
    skip_blanks(&rest);
    if (skip_text(&rest, "Cell ")) {
        int number = 0;
        begin_entry(scan, line);
        if (!read_number(&rest, &number) || !skip_text(&rest, " - Address: ") ||
            !read_address(&rest, scan->entry.bssid)) {
            leave_entry_out(scan, line,
                            "not an access point's address such as "
                            "\"Cell 01 - Address: A4:2B:8C:01:02:03\"");
        }
        return;
    }
    if (!scan->entry.is_open) {
        return;
    }
    note_later_line(&scan->entry, &rest);
    if (scan_begins(&rest, "Quality")) { /* iwlist has both in one line */
        const char *signal = memmem(rest.text, rest.length, "Signal", strlen("Signal"));
        scan_skip(&rest, signal != NULL ? (size_t)(signal - rest.text) : 0);
    }
    if (skip_text(&rest, "Signal: ") || skip_text(&rest, "Signal level=") ||
        skip_text(&rest, "Signal level:")) {
        take_strength(scan, line, rest, wanted);
    }
}

/* --- nmcli and wpa_cli: a line for each access point ------------------------------------------ */

/* Whether a percentage is also the number of a channel of 2.4 or 5 GHz. 100 is both too often to
 * tell anything. */
static bool is_channel(int percent)
{
    return (percent >= 1 && percent <= 14) || (percent >= 36 && percent <= 64 && percent % 4 == 0);
}

/*
 * "A4\:2B\:8C\:01\:02\:03:77" without its backslashes, which escape the colons of the address; "":
 * no such line. In "76:A4\:2B\:8C\:01\:02\:03" other colons are escaped: the columns are in another
 * order.
 */
static struct piece without_backslashes(const struct piece *line, char *room, size_t room_bytes)
{
    struct piece plain = {room, 0, line->number};
    bool is_escaped = line->length > 2 && line->text[2] == '\\';
    for (size_t i = 0; i < line->length; i++) {
        bool is_backslash = line->text[i] == '\\';
        bool is_due = is_escaped && i < CONTEXT_BSSID_LENGTH + 5 && i % 4 == 2;
        if (is_backslash != is_due || plain.length == room_bytes) {
            return (struct piece){room, 0, line->number};
        }
        if (!is_backslash) {
            room[plain.length++] = line->text[i];
        }
    }
    return plain;
}

static void read_nmcli_line(struct scan *scan, const struct piece *line)
{
    char room[CONTEXT_BSSID_LENGTH + 8];
    uint8_t bssid[CONTEXT_BSSID_BYTES];
    struct piece rest = without_backslashes(line, room, sizeof(room));
    int strength_dbm = HEARSAY_WIFI_NO_STRENGTH;
    if (!read_address(&rest, bssid)) {
        leave_foreign_out(scan, line, not_a_scan);
        return;
    }
    if (rest.length > 0) {
        int percent = 0;
        bool has_zero = rest.length > 2 && rest.text[1] == '0'; /* as part of an address */
        if (!skip_text(&rest, ":") || !read_number(&rest, &percent) || rest.length != 0 ||
            has_zero) {
            leave_out(scan, line, "the strength is not a number from 0 to 100");
            return;
        }
        scan->percents += percent != 100;
        scan->channels += is_channel(percent);
        if (percent > 100) {
            scan->is_of_channels = true;
            return;
        }
        strength_dbm = context_percent_to_dbm(percent);
    }
    note_sighting(scan, line, bssid, strength_dbm);
}

static void read_wpa_cli_line(struct scan *scan, const struct piece *line)
{
    uint8_t bssid[CONTEXT_BSSID_BYTES];
    struct piece rest = *line;
    int strength = 0;
    if (scan_begins(line, "Selected interface") || scan_begins(line, "bssid / ")) {
        return;
    }
    if (!read_address(&rest, bssid) || !skip_field(&rest) || !skip_field(&rest)) {
        leave_foreign_out(
            scan, line,
            "not an access point such as \"a4:2b:8c:01:02:03<tab>2412<tab>-54<tab>...\"");
        return;
    }
    bool negative = skip_text(&rest, "-");
    if (!read_number(&rest, &strength) || rest.length == 0 || rest.text[0] != '\t') {
        scan->sightings.left_out.is_cut = rest.length == 0;
        leave_out(scan, line,
                  rest.length == 0 ? "the scan ends within an access point: it was cut off"
                                   : "the third field is not a strength in dBm such as -54");
        return;
    }
    strength = strength == HEARSAY_WIFI_NO_STRENGTH ? HEARSAY_WIFI_DBM_MAX : strength;
    note_sighting(scan, line, bssid, negative ? -strength : strength);
}

/* --- all of them ------------------------------------------------------------------------------ */

static enum scan_form form_of(const struct piece *line)
{
    char room[CONTEXT_BSSID_LENGTH + 8];
    uint8_t bssid[CONTEXT_BSSID_BYTES];
    struct piece rest = *line;
    if (scan_begins(line, "BSS ")) {
        return SCAN_IW;
    }
    if (scan_begins(line, "Selected interface") || scan_begins(line, "bssid / ") ||
        (read_address(&rest, bssid) && scan_begins(&rest, "\t"))) {
        return SCAN_WPA_CLI;
    }
    rest = without_backslashes(line, room, sizeof(room));
    if (read_address(&rest, bssid)) {
        return SCAN_NMCLI;
    }
    rest = *line;
    skip_blanks(&rest);
    return scan_begins(&rest, "Cell ") || scan_has(line, "Scan completed") ||
                   scan_has(line, "No scan results")
               ? SCAN_CELLS
               : SCAN_UNKNOWN;
}

static void read_line(struct scan *scan, struct piece line)
{
    static void (*const readers[])(struct scan *, const struct piece *) = {
        [SCAN_IW] = read_iw_line,
        [SCAN_NMCLI] = read_nmcli_line,
        [SCAN_WPA_CLI] = read_wpa_cli_line,
        [SCAN_CELLS] = read_cell_line,
    };
    if (line.length > HEARSAY_SCAN_LINE_BYTES_MAX) {
        line.length = HEARSAY_SCAN_LINE_BYTES_MAX;
        leave_out(scan, &line, "too long, over 4096 bytes");
        return;
    }
    if (line.length > 0 && line.text[line.length - 1] == '\r') {
        line.length--;
    }
    struct piece rest = line;
    skip_blanks(&rest);
    if (rest.length == 0) {
        return;
    }
    if (scan->form == SCAN_UNKNOWN) {
        scan->form = form_of(&line);
    }
    if (scan->form == SCAN_UNKNOWN) {
        leave_foreign_out(scan, &line, not_a_scan);
    } else {
        readers[scan->form](scan, &line);
    }
}

/* Whether nothing of the scan can be used. Then the reason is in *out_error. */
static bool is_refused(const struct scan *scan, struct hearsay_error *out_error)
{
    if (scan->is_of_channels ||
        (scan->channels >= CHANNELS_TOLD && scan->channels == scan->percents)) {
        (void)fail_set(out_error, HEARSAY_ERR_ARGUMENT,
                       "the scan has channels where strengths should be; ask for "
                       "`nmcli -t -f BSSID,SIGNAL device wifi list`");
        return true;
    }
    if (scan->sightings.noted == 0 && scan->sightings.left_out.unreadable > 0) {
        (void)fail_set(out_error, HEARSAY_ERR_ARGUMENT, "%s", scan->wrong.sentence);
        return true;
    }
    return false;
}

/* With a byte order mark, or with two ASCII characters first. */
static bool is_utf16(const char *text, size_t byte_count)
{
    bool has_mark =
        byte_count >= 2 && (memcmp(text, "\xFF\xFE", 2) == 0 || memcmp(text, "\xFE\xFF", 2) == 0);
    return has_mark ||
           (byte_count >= 4 && (text[0] == '\0') == (text[2] == '\0') &&
            (text[1] == '\0') == (text[3] == '\0') && (text[0] == '\0') != (text[1] == '\0'));
}

int hearsay_context_add_scan(struct hearsay_context *context, const char *text, size_t byte_count,
                             size_t *out_sightings, struct hearsay_error *out_error)
{
    static const char byte_order_mark[] = "\xEF\xBB\xBF"; /* some editors write it */
    struct scan scan = {.form = SCAN_UNKNOWN};
    size_t at = 0;
    size_t number = 0;
    if (byte_count >= 3 && memcmp(text, byte_order_mark, 3) == 0) {
        at = 3;
    }
    if (byte_count > HEARSAY_SCAN_BYTES_MAX) {
        return fail_set(out_error, HEARSAY_ERR_ARGUMENT, "the scan has over %d bytes",
                        HEARSAY_SCAN_BYTES_MAX);
    }
    if (is_utf16(text, byte_count)) {
        return fail_set(out_error, HEARSAY_ERR_ARGUMENT,
                        "the scan is in UTF-16, as Windows' PowerShell writes files; write it in "
                        "UTF-8, there with `| Out-File -Encoding utf8 FILE`");
    }
    while (at < byte_count) {
        const char *newline = memchr(text + at, '\n', byte_count - at);
        size_t length = newline != NULL ? (size_t)(newline - (text + at)) : byte_count - at;
        read_line(&scan, (struct piece){text + at, length, ++number});
        at += length + 1;
    }
    end_entry(&scan, byte_count > 0 && (text[byte_count - 1] != '\n' || !scan.entry.has_later));
    if (is_refused(&scan, out_error)) {
        return HEARSAY_ERR_ARGUMENT;
    }
    if (out_sightings != NULL) {
        *out_sightings = scan.sightings.noted;
    }
    return sightings_add(&scan.sightings, context, out_error);
}
