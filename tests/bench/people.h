/* SPDX-License-Identifier: Apache-2.0 */
/*
 * people: contexts as people leave them. The labels of a scan are those that libhearsay makes of
 * it: of the strongest access points, several for each one by its signal strength. Other contexts
 * have no scan: they have the label of the place, a topic, or a position.
 *
 * Strengths are real where the data has strengths. Others are made up: an access point has a mean
 * strength at a place, -92 to -50 dBm with a median of -82 as in UJIIndoorLoc, and each scan sees
 * it with an error of up to 6 dB.
 */
#pragma once

#include "tests/bench/maker.h"

/*
 * Each function makes one context. Unless `wanted` is NULL, the context is a query's, and `wanted`
 * gets one label of it. If memory is short, the function sets maker->is_short.
 */
void people_campus(struct maker *maker, struct encoder *context, struct encoder *wanted);
void people_town(struct maker *maker, struct encoder *context, struct encoder *wanted);
void people_dense(struct maker *maker, struct encoder *context, struct encoder *wanted);
void people_board(struct maker *maker, struct encoder *context, struct encoder *wanted);
void people_mixed(struct maker *maker, struct encoder *context, struct encoder *wanted);

/*
 * Makes the context of one row of UJIIndoorLoc, which the function changes: each token
 * "WAPnnn:rssi" is an access point that was seen. A copy of a row sees an access point with
 * probability 0.85, and its strength with an error of up to 6 dB.
 */
void people_row(struct maker *maker, char *row, struct encoder *context, struct encoder *wanted);

void people_free(struct people *people); /* NULL is fine */
