/* SPDX-License-Identifier: Apache-2.0 */
/*
 * build: functions that turn sensed data into labels. wifi.c, geohash.c, time.c, topic.c and scan.c
 * each handle one kind of data; labels.c stores the set of labels. None of these files does I/O or
 * reads a clock, and labels do not depend on the locale. Only for files of libhearsay and its
 * tests. docs/contexts.md has the rules.
 */
#ifndef CLIENT_CONTEXT_BUILD_H
#define CLIENT_CONTEXT_BUILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/hearsay.h"
#include "core/base/alloc.h"

enum {
    CONTEXT_BSSID_BYTES = 18,  /* aa:bb:cc:dd:ee:ff and a NUL */
    CONTEXT_GEOHASH_MIN = 5,   /* characters of the coarsest cell, about 4.9 km */
    CONTEXT_GEOHASH_MAX = 8,   /* of the finest, about 38 m by 19 m */
    CONTEXT_CELLS_MAX = 9,     /* a cell and its neighbours */
    CONTEXT_WIFI_FLOOR = -90,  /* dBm: level 1 reaches one step above it */
    CONTEXT_WIFI_STEP = 8,     /* dB a level */
    CONTEXT_TOPIC_BYTES = 1024 /* of a topic, before case folding */
};

/*
 * Makes an empty context, as hearsay_context_new, but with a given allocator. The context borrows
 * the allocator until hearsay_context_free.
 */
int context_new(const struct alloc *alloc, struct hearsay_context **out_context,
                struct hearsay_error *out_error);

/*
 * Adds a label of `length` bytes, which the caller has checked. Returns 0; ERR_ARGUMENT when the
 * context is full; ERR_NOMEM.
 */
int context_add(struct hearsay_context *context, const char *label, size_t length,
                struct hearsay_error *out_error);

/*
 * Converts a BSSID of `length` bytes to its canonical form. Returns false when the text is no
 * BSSID.
 */
bool context_parse_bssid(const char *text, size_t length, char out[CONTEXT_BSSID_BYTES]);

/* Adds the labels of one access point. `bssid` must be in canonical form. */
int context_add_sighting(struct hearsay_context *context, const char *bssid, int strength_dbm,
                         struct hearsay_error *out_error);

/*
 * Converts a signal percentage p (0 to 100) of NetworkManager to dBm: -40 - ceil(3 (100 - p) / 5).
 * Example: 70 gives -58. This is the inverse of NetworkManager's function
 * nm_wifi_utils_level_to_quality, which computes p = 100 - trunc(100 v / 60) from v = -40 - dBm,
 * with v limited to 0 to 60.
 */
int context_percent_to_dbm(int percent);

#endif
