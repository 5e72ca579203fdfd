/* SPDX-License-Identifier: Apache-2.0 */
/*
 * maker: what the generators of filters.c and people.c share while they make filters. Only for
 * these two files.
 */
#pragma once

#include "core/profile/encode.h"
#include "tests/bench/filters.h"

enum {
    MAKER_TOPICS = 5000,
    MAKER_HOURS = 168,
    MAKER_LABEL_BYTES = 240,
    MAKER_PLACES = 2000,
    MAKER_PLACE_BSSIDS = 30,
    MAKER_TOWN_STEP = 20, /* BSSIDs from a place of a town to the next place */
    MAKER_TOWN_BSSIDS = 60,
    MAKER_TOWN_SEEN = 20
};

struct people;

/* What a generator needs while it works. */
struct maker {
    const struct filters_options *options;
    struct filters *out;
    struct people *people; /* owned; NULL: no context of people was made so far */
    struct wordlist words;
    double topic_share[MAKER_TOPICS]; /* of the topics up to each one */
    uint64_t state;
    bool is_short;                        /* memory was short */
    char homeless[MAKER_LABEL_BYTES + 1]; /* a label that the profile has no section for; else "" */
};

/* The next random numbers: 0 .. bound - 1; 0 .. 1; a topic by Zipf's law. */
uint32_t maker_below(struct maker *maker, uint32_t bound);
double maker_unit(struct maker *maker);
uint32_t maker_topic(struct maker *maker);

/* Adds a label of `length` bytes to a filter. A label without a section is kept in `homeless`. */
void maker_add_label(struct maker *maker, struct encoder *context, const char *label,
                     size_t length);
