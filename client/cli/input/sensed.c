/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cli/input/input.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/label_form.h"

bool sensed_given(const struct sensed *sensed)
{
    return sensed->labels.count > 0 || sensed->wifi.count > 0 || sensed->topics.count > 0 ||
           sensed->position != NULL || sensed->time != NULL || sensed->scan != NULL;
}

/* --- the single options ----------------------------------------------------------------------- */

/* BSSID or BSSID=DBM. */
static int add_wifi(const struct cli *cli, struct hearsay_context *context, const char *text)
{
    struct hearsay_error error;
    char bssid[24];
    size_t length = strcspn(text, "=");
    int strength_dbm = HEARSAY_WIFI_NO_STRENGTH;
    if (text[length] == '=') {
        const char *digits = text + length + 1;
        bool negative = *digits == '-';
        uint64_t amount = 0;
        if (number_parse(digits + (negative ? 1 : 0), 0, -HEARSAY_WIFI_DBM_MIN, &amount) != 0 ||
            (!negative && amount != 0)) {
            return cli_misuse(cli, "--wifi: \"%.80s\" has no strength in dBm from %d to %d", text,
                              HEARSAY_WIFI_DBM_MIN, HEARSAY_WIFI_DBM_MAX);
        }
        strength_dbm = -(int)amount;
    }
    /* A longer text is cut. The cut text is not a BSSID and is refused below. */
    (void)snprintf(bssid, sizeof(bssid), "%.*s", length < 23 ? (int)length : 23, text);
    if (hearsay_context_add_wifi(context, bssid, strength_dbm, &error) != HEARSAY_OK) {
        return error.status == HEARSAY_ERR_ARGUMENT ? cli_misuse(cli, "--wifi: %s", error.sentence)
                                                    : cli_report(cli, &error);
    }
    return CLI_DONE;
}

/*
 * Parses a plain decimal number and moves *text behind it. Refuses forms such as "inf" and "0x1p3".
 */
static bool read_degrees(const char **text, double *out)
{
    size_t length = strspn(*text, "+-.0123456789");
    char *end = NULL;
    double value = strtod(*text, &end); /* no locale is set, so the point is a point */
    if (length == 0 || end != *text + length) {
        return false;
    }
    *text = end;
    *out = value;
    return true;
}

static int add_position(const struct cli *cli, struct hearsay_context *context, const char *text)
{
    struct hearsay_error error;
    double latitude = 0;
    double longitude = 0;
    const char *at = text;
    bool read = read_degrees(&at, &latitude) && *at == ',';
    if (read) {
        at++;
        at += strspn(at, " "); /* as maps write it */
        read = read_degrees(&at, &longitude) && *at == '\0';
    }
    if (!read) {
        return cli_misuse(cli, "--at: \"%.80s\" is not LAT,LON in degrees such as 48.1497,11.5678",
                          text);
    }
    if (hearsay_context_add_position(context, latitude, longitude, &error) != HEARSAY_OK) {
        return error.status == HEARSAY_ERR_ARGUMENT ? cli_misuse(cli, "--at: %s", error.sentence)
                                                    : cli_report(cli, &error);
    }
    return CLI_DONE;
}

static int add_time(const struct cli *cli, struct hearsay_context *context, const char *text)
{
    int64_t ms = 0;
    if (when_parse(text, &ms) != 0) {
        uint64_t ago_ms = 0;
        if (strcmp(text, "now") != 0 &&
            (number_parse_duration(text, &ago_ms) != 0 || ago_ms > INT64_MAX / 4)) {
            return cli_misuse(cli,
                              "--time: \"%.80s\" is neither now, nor a duration such as 6h "
                              "(ago), nor a moment such as 2026-11-20T14:00Z",
                              text);
        }
        ms = clock_unix_ms() - (int64_t)ago_ms;
    }
    struct hearsay_error error;
    if (hearsay_context_add_time(context, ms, &error) != HEARSAY_OK) {
        return error.status == HEARSAY_ERR_ARGUMENT ? cli_misuse(cli, "--time: %s", error.sentence)
                                                    : cli_report(cli, &error);
    }
    return CLI_DONE;
}

/* --- the scan --------------------------------------------------------------------------------- */

static const char was_cut[] = "; the scan was cut off";

/* A scan of which nothing can be used is an answer that is missing, not a wrong command: its exit
 * code is 1. */
static int add_scan_text(const struct cli *cli, struct hearsay_context *context, const char *text,
                         size_t byte_count)
{
    struct hearsay_error error;
    size_t sightings = 0;
    struct hearsay_left_out before;
    struct hearsay_left_out left_out;
    struct hearsay_left_out of_json = {.weaker = 0};
    hearsay_context_left_out(context, &before);
    int status = scan_json_is(text, byte_count)
                     ? scan_json_add(context, text, byte_count, &sightings, &of_json, &error)
                     : hearsay_context_add_scan(context, text, byte_count, &sightings, &error);
    if (status != HEARSAY_OK) {
        int code = cli_report(cli, &error);
        if (status != HEARSAY_ERR_ARGUMENT) {
            return code;
        }
        cli_complain(cli,
                     "%swithout a scan, --wifi BSSID=DBM gives an access point, and --at or "
                     "--topic says where you are",
                     scan_json_is(text, byte_count)
                         ? ""
                         : "Android's `termux-wifi-scaninfo` is read, too; ");
        return CLI_NEGATIVE;
    }
    if (sightings == 0) {
        cli_complain(
            cli, "the scan saw no access point; without --scan, the rest of the context is used");
        return CLI_NEGATIVE;
    }
    hearsay_context_left_out(context, &left_out);
    if (left_out.no_address - before.no_address == sightings) {
        cli_complain(cli,
                     "no access point of the scan has an address that it can have; Android says "
                     "02:00:00:00:00:00 where the scanning app may not know the location");
        return CLI_NEGATIVE;
    }
    if (of_json.unreadable > 0) {
        cli_complain(cli, "access points left out: %zu that could not be read%s",
                     of_json.unreadable, of_json.is_cut ? was_cut : "");
    }
    return CLI_DONE;
}

static int add_scan(const struct cli *cli, struct hearsay_context *context, const char *path)
{
    int fd = cli_open(cli, path);
    if (fd < 0) {
        return CLI_USAGE;
    }
    char *text = malloc(HEARSAY_SCAN_BYTES_MAX + 1);
    ssize_t count = text != NULL ? cli_read(fd, text, HEARSAY_SCAN_BYTES_MAX + 1) : -1;
    int reason = text != NULL ? errno : ENOMEM;
    cli_close(fd);
    if (count < 0) {
        cli_complain(cli, "cannot read %s: %s", path, strerror(reason));
        free(text);
        return reason == ENOMEM ? CLI_NEGATIVE : CLI_USAGE;
    }
    int code = count > HEARSAY_SCAN_BYTES_MAX
                   ? cli_misuse(cli, "the scan has over %d bytes", HEARSAY_SCAN_BYTES_MAX)
                   : add_scan_text(cli, context, text, (size_t)count);
    free(text);
    return code;
}

void sensed_count_left_out(const struct hearsay_left_out *left_out, struct hearsay_left_out *total)
{
    total->weaker += left_out->weaker;
    total->no_address += left_out->no_address;
    total->no_strength += left_out->no_strength;
    total->unreadable += left_out->unreadable;
    total->is_cut = total->is_cut || left_out->is_cut;
}

void sensed_say_left_out(const struct cli *cli, const struct hearsay_left_out *left_out)
{
    char text[512] = "";
    size_t length = 0;
    const char *access_points = "access points left out: ";
    if (left_out->weaker > 0) {
        length += (size_t)snprintf(text, sizeof(text), "%s%zu because the others are stronger",
                                   access_points, left_out->weaker);
    }
    if (left_out->no_address > 0) {
        length += (size_t)snprintf(text + length, sizeof(text) - length,
                                   "%s%zu because no access point has such an address (Android "
                                   "says 02:00:00:00:00:00 where it hides one)",
                                   length > 0 ? ", " : access_points, left_out->no_address);
    }
    if (left_out->no_strength > 0) {
        length +=
            (size_t)snprintf(text + length, sizeof(text) - length,
                             "%sstrengths left out: %zu because they are not from %d to -1 "
                             "dBm",
                             length > 0 ? "; " : "", left_out->no_strength, HEARSAY_WIFI_DBM_MIN);
    }
    if (length > 0) {
        cli_complain(cli, "%s", text);
    }
    if (left_out->unreadable > 0) {
        cli_complain(cli, "%s%zu that could not be read, the first in line %zu of the scan%s",
                     access_points, left_out->unreadable, left_out->unreadable_line,
                     left_out->is_cut ? was_cut : "");
    }
}

/* --- all of them ------------------------------------------------------------------------------ */

static int add_labels(const struct cli *cli, struct hearsay_context *context,
                      const struct sensed *sensed)
{
    struct hearsay_error error;
    for (size_t i = 0; i < sensed->topics.count; i++) {
        if (hearsay_context_add_topic(context, sensed->topics.items[i], &error) != HEARSAY_OK) {
            return cli_report(cli, &error);
        }
    }
    for (size_t i = 0; i < sensed->labels.count; i++) {
        char sentence[LABEL_FORM_SENTENCE_BYTES];
        const char *label = sensed->labels.items[i];
        if (hearsay_context_add_label(context, label, &error) != HEARSAY_OK) {
            return cli_report(cli, &error);
        }
        if (label_form_check(label, strlen(label), sentence) != 0) {
            cli_complain(cli, "--label %.80s: %s", label, sentence);
        }
    }
    return CLI_DONE;
}

static int add_all(const struct cli *cli, struct hearsay_context *context,
                   const struct sensed *sensed)
{
    int code = CLI_DONE;
    for (size_t i = 0; i < sensed->wifi.count && code == CLI_DONE; i++) {
        code = add_wifi(cli, context, sensed->wifi.items[i]);
    }
    if (code == CLI_DONE && sensed->scan != NULL) {
        code = add_scan(cli, context, sensed->scan);
    }
    if (code == CLI_DONE && sensed->position != NULL) {
        code = add_position(cli, context, sensed->position);
    }
    if (code == CLI_DONE && sensed->time != NULL) {
        code = add_time(cli, context, sensed->time);
    }
    return code == CLI_DONE ? add_labels(cli, context, sensed) : code;
}

int sensed_read_some(const struct cli *cli, const struct sensed *sensed,
                     struct hearsay_context **out_context)
{
    struct hearsay_error error;
    struct hearsay_context *context = NULL;
    if (hearsay_context_new(&context, &error) != HEARSAY_OK) {
        return cli_report(cli, &error);
    }
    int code = add_all(cli, context, sensed);
    if (code != CLI_DONE) {
        hearsay_context_free(context);
        return code;
    }
    struct hearsay_left_out left_out;
    hearsay_context_left_out(context, &left_out);
    sensed_say_left_out(cli, &left_out);
    *out_context = context;
    return CLI_DONE;
}

int sensed_read(const struct cli *cli, const struct sensed *sensed,
                struct hearsay_context **out_context)
{
    struct hearsay_context *context = NULL;
    size_t count = 0;
    int code = sensed_read_some(cli, sensed, &context);
    if (code != CLI_DONE) {
        return code;
    }
    (void)hearsay_context_labels(context, &count);
    if (count == 0) {
        hearsay_context_free(context);
        return cli_misuse(cli, "the context is empty: give at least one -l LABEL, attribute:value, "
                               "or what is sensed, such as --wifi or --scan");
    }
    *out_context = context;
    return CLI_DONE;
}

/* Prints the labels from number `first` on that were added for the user. */
static void say_added(const struct cli *cli, const struct hearsay_context *context, size_t first)
{
    enum { SHOWN = 3 };
    size_t count = 0;
    const char *const *labels = hearsay_context_labels(context, &count);
    char text[SHOWN * 250 + 40] = "";
    for (size_t i = first; i < count && i < first + SHOWN; i++) {
        size_t used = strlen(text);
        (void)snprintf(text + used, sizeof(text) - used, "%s%s", i > first ? ", " : "", labels[i]);
    }
    if (count > first + SHOWN) {
        size_t used = strlen(text);
        (void)snprintf(text + used, sizeof(text) - used, " and %zu more labels",
                       count - first - SHOWN);
    }
    if (count > first) {
        cli_complain(cli, "at %s", text);
    }
}

int sensed_add_here(const struct cli *cli, const struct hearsay_host *host, bool may_be_empty,
                    struct hearsay_context *context)
{
    struct hearsay_error error;
    size_t before = 0;
    size_t count = 0;
    (void)hearsay_context_labels(context, &before);
    if (hearsay_context_add_here(context, host, &error) != HEARSAY_OK) {
        return cli_report(cli, &error);
    }
    (void)hearsay_context_labels(context, &count);
    if (count == 0 && !may_be_empty) {
        return cli_misuse(cli, "the server does not say what is around here: give at least one "
                               "-l LABEL, attribute:value, or what is sensed, such as --wifi or "
                               "--scan");
    }
    say_added(cli, context, before);
    return CLI_DONE;
}

int sensed_encode(const struct cli *cli, const struct hearsay_host *host,
                  const struct hearsay_keys *keys, const struct hearsay_context *context,
                  struct hearsay_filter *out_filter)
{
    struct hearsay_error error;
    struct hearsay_encode encode = {.host = host, .keys = keys};
    encode.labels = hearsay_context_labels(context, &encode.label_count);
    return hearsay_encode(&encode, out_filter, &error) == HEARSAY_OK ? CLI_DONE
                                                                     : cli_report(cli, &error);
}
