/* SPDX-License-Identifier: Apache-2.0 */
/*
 * context_build: the inside of a struct hearsay_context, and what its parts share. The parts turn
 * what was sensed into labels, one file a topic; none does I/O or looks at a clock or a locale.
 * Within libhearsay and its tests only. The rules are in docs/contexts.md.
 */
#ifndef CLIENT_CONTEXT_BUILD_H
#define CLIENT_CONTEXT_BUILD_H

#include "client/hearsay.h"
#include "core/base/alloc.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CONTEXT_BSSID_BYTES = 18,  /* aa:bb:cc:dd:ee:ff and a NUL */
    CONTEXT_GEOHASH_MIN = 5,   /* characters of the coarsest cell, about 4.9 km */
    CONTEXT_GEOHASH_MAX = 8,   /* of the finest, about 38 m by 19 m */
    CONTEXT_CELLS_MAX = 9,     /* a cell and its neighbours */
    CONTEXT_WIFI_FLOOR = -90,  /* dBm: up to a step over it is level 1 */
    CONTEXT_WIFI_STEP = 8,     /* dB a level */
    CONTEXT_TOPIC_BYTES = 1024 /* of the text of a topic, before it is folded */
};

/* As hearsay_context_new, with an allocator (borrowed, must outlive it). */
int context_new(const struct alloc *alloc, struct hearsay_context **out_context,
                struct hearsay_error *out_error);

/* Adds a label that is known to be well-formed, `length` bytes. ERR_ARGUMENT (full), ERR_NOMEM. */
int context_add(struct hearsay_context *context, const char *label, size_t length,
                struct hearsay_error *out_error);

/* Writes the usual form of a BSSID of `length` bytes. False: it is none. */
bool context_parse_bssid(const char *text, size_t length, char out[CONTEXT_BSSID_BYTES]);

/*
 * How many labels a sighting becomes: max(1, ceil((dBm + 90) / 8)); 1 without a strength. The range
 * of strength_dbm must have been checked.
 */
unsigned context_wifi_levels(int strength_dbm);

/* Adds a sighting with a BSSID in the usual form. */
int context_add_sighting(struct hearsay_context *context, const char *bssid, int strength_dbm,
                         struct hearsay_error *out_error);

/*
 * dBm of a percentage of NetworkManager, 0 .. 100: -40 - ceil(3 (100 - percent) / 5). This inverts
 * percent = 100 - trunc(100 v / 60), v = -40 - dBm between 0 and 60, exactly (NetworkManager's
 * nm_wifi_utils_level_to_quality).
 */
int context_percent_to_dbm(int percent);

/*
 * Geohashes of `length` characters, each with a NUL: of the cell with the position, and with
 * `neighbours` of the cells around it. The range of the position must have been checked. Returns
 * how many.
 */
size_t context_geohash(double latitude, double longitude, int length, bool neighbours,
                       char out[CONTEXT_CELLS_MAX][CONTEXT_GEOHASH_MAX + 1]);

#endif
