/* SPDX-License-Identifier: Apache-2.0 */
/*
 * build: functions that turn sensed data into labels. wifi.c, geohash.c, time.c, topic.c and scan.c
 * each handle one kind of data; sightings.c chooses the access points of a scan, and labels.c
 * stores the set of labels. None of these files does I/O or reads a clock, and labels do not depend
 * on the locale. Only for files of libhearsay and its tests. docs/contexts.md has the rules.
 */
#pragma once

#include "client/hearsay.h"
#include "core/base/alloc.h"

enum {
    CONTEXT_BSSID_BYTES = 6,
    CONTEXT_BSSID_LENGTH = 17,   /* of aa:bb:cc:dd:ee:ff */
    CONTEXT_GEOHASH_COARSE = 6,  /* characters of the own cell of about 1.2 km by 610 m */
    CONTEXT_GEOHASH_NEAREST = 7, /* of the four nearest cells, of about 153 m by 153 m */
    CONTEXT_GEOHASH_FINE = 8,    /* of the own cell of about 38 m by 19 m */
    CONTEXT_WIFI_FLOOR = -95,    /* dBm: level 1 reaches one step above it */
    CONTEXT_WIFI_STEP = 8,       /* dB a level */
    CONTEXT_TOPIC_BYTES = 1024   /* of a topic, before case folding */
};

/* The format of an error, with the text of the address. */
#define CONTEXT_NO_BSSID "\"%.100s\" is not an access point's address such as a4:2b:8c:01:02:03"

/*
 * Makes an empty context, as hearsay_context_new, but with a given allocator. The context borrows
 * the allocator until hearsay_context_free.
 */
int context_new(const struct alloc *alloc, struct hearsay_context **out_context,
                struct hearsay_error *out_error);

/* What works instead, if the line is one of a known program that the scan's reader does not read;
 * else NULL. The text has a static life. */
const char *context_foreign_scan(const char *text, size_t length);

/*
 * Adds a label of `length` bytes, which the caller has checked. Returns 0; ERR_ARGUMENT when the
 * context is full; ERR_NOMEM.
 */
int context_add(struct hearsay_context *context, const char *label, size_t length,
                struct hearsay_error *out_error);

/* Whether the context has the label of `length` bytes. */
bool context_has(struct hearsay_context *context, const char *label, size_t length);

/* What the scans of the context left out, to be counted on. */
struct hearsay_left_out *context_left_out(struct hearsay_context *context);

/* Parses the text of a BSSID, `length` bytes. Returns false when the text is no BSSID. */
bool context_parse_bssid(const char *text, size_t length, uint8_t out[CONTEXT_BSSID_BYTES]);

/*
 * Whether an access point can have the address. It cannot have that of a group, 00:00:00:00:00:00,
 * or 02:00:00:00:00:00, which Android gives to apps that may not know the address.
 */
bool context_is_bssid(const uint8_t bssid[CONTEXT_BSSID_BYTES]);

/*
 * Returns the number of labels of an access point: max(1, ceil((dBm + 95) / 8)), or 1 when the
 * strength is HEARSAY_WIFI_NO_STRENGTH. The caller has checked the range of strength_dbm.
 */
unsigned context_wifi_levels(int strength_dbm);

/* Adds the labels of one access point. strength_dbm is -127 to -1, or HEARSAY_WIFI_NO_STRENGTH. */
int context_add_sighting(struct hearsay_context *context, const uint8_t bssid[CONTEXT_BSSID_BYTES],
                         int strength_dbm, struct hearsay_error *out_error);

/*
 * The sightings of one scan, all zero at first. Access points whose address none can have are
 * counted only.
 */
struct sightings {
    uint64_t keys[HEARSAY_SCAN_SIGHTINGS_MAX]; /* what to sort by: sightings.c */
    size_t count;                              /* of them */
    size_t noted;                              /* all of them, those that are left out included */
    struct hearsay_left_out left_out;
};

/* Notes a sighting with any strength. Returns false when there are too many. */
bool sightings_note(struct sightings *sightings, const uint8_t bssid[CONTEXT_BSSID_BYTES],
                    int strength_dbm);

/* Adds the labels of the strongest access points that were noted, the strongest ones first: as many
 * access points as HEARSAY_SCAN_STRONGEST and HEARSAY_SCAN_LABELS_MAX allow. */
int sightings_add(struct sightings *sightings, struct hearsay_context *context,
                  struct hearsay_error *out_error);

/*
 * Converts a signal percentage p (0 to 100) of NetworkManager to dBm: -40 - ceil(3 (100 - p) / 5).
 * Example: 70 gives -58. This is the inverse of NetworkManager's function
 * nm_wifi_utils_level_to_quality, which computes p = 100 - trunc(100 v / 60) from v = -40 - dBm,
 * with v limited to 0 to 60.
 */
int context_percent_to_dbm(int percent);
