/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/people.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "client/hearsay.h"

enum {
    DENSE_BSSIDS = 60, /* of a place, all of them seen; the strongest become labels */
    ERROR_DB = 6,      /* most by which a scan errs */
    WEAKEST_DBM = -92,
    MEANS_DB = 42, /* from the weakest mean to the strongest */
    BSSID_TEXT = 18,
    SIGHTINGS_MAX = 256 /* of one scan */
};

struct people {
    struct hearsay_context *context;
    struct hearsay_sighting sightings[SIGHTINGS_MAX];
    char bssids[SIGHTINGS_MAX][BSSID_TEXT];
    size_t count; /* of the sightings */
};

/* Returns an empty context to work on, or NULL when memory is short. */
static struct people *begin(struct maker *maker)
{
    if (maker->people == NULL) {
        maker->people = calloc(1, sizeof(*maker->people));
    }
    struct people *people = maker->people;
    if (people == NULL ||
        (people->context == NULL && hearsay_context_new(&people->context, NULL) != HEARSAY_OK)) {
        maker->is_short = true;
        return NULL;
    }
    hearsay_context_clear(people->context);
    people->count = 0;
    return people;
}

void people_free(struct people *people)
{
    if (people != NULL) {
        hearsay_context_free(people->context);
        free(people);
    }
}

/* --- labels ----------------------------------------------------------------------------------- */

__attribute__((format(printf, 3, 4))) static void add(struct maker *maker, struct people *people,
                                                      const char *format, ...)
{
    char label[MAKER_LABEL_BYTES + 1];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(label, sizeof(label), format, arguments);
    va_end(arguments);
    if (hearsay_context_add_label(people->context, label, NULL) != HEARSAY_OK) {
        maker->is_short = true;
    }
}

static void add_here(struct maker *maker, struct people *people, uint32_t place)
{
    add(maker, people, "place:%016x", place);
}

static void add_topics(struct maker *maker, struct people *people, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        add(maker, people, "topic:t%u", maker_topic(maker));
    }
}

static void add_topics_and_hour(struct maker *maker, struct people *people)
{
    add_topics(maker, people, 1 + maker_below(maker, 3));
    add(maker, people, "time:h%u", maker_below(maker, MAKER_HOURS));
}

/*
 * As many labels as a position has: a cell that is the place's own, four smaller ones, and one of
 * eight in it. Geohashes would need coordinates, and would make filters that differ in nothing.
 */
static void add_position(struct maker *maker, struct people *people, uint32_t place)
{
    add(maker, people, "geo:p%05u", place);
    for (uint32_t i = 0; i < 4; i++) {
        add(maker, people, "geo:p%05u%u", place, i);
    }
    add(maker, people, "geo:p%05u0%u", place, maker_below(maker, 8));
}

/* Encodes the labels. `wanted` gets the first one: level 1 of the strongest access point, if any.
 */
static void end(struct maker *maker, struct people *people, struct encoder *context,
                struct encoder *wanted)
{
    size_t count = 0;

    const char *const *labels = hearsay_context_labels(people->context, &count);
    for (size_t i = 0; i < count; i++) {
        /* Without levels, an access point has its first label only. */
        if (!maker->options->levels && strncmp(labels[i], "wifi:", 5) == 0 &&
            strchr(labels[i], '@') != NULL) {
            continue;
        }
        maker_add_label(maker, context, labels[i], strlen(labels[i]));
    }
    if (wanted != NULL && count > 0) {
        maker_add_label(maker, wanted, labels[0], strlen(labels[0]));
    }
}

/* --- scans ------------------------------------------------------------------------------------ */

/* `number` is below 2^24. */
static void see(struct people *people, uint32_t number, int strength_dbm)
{
    if (people->count < SIGHTINGS_MAX) {
        char *bssid = people->bssids[people->count];

        snprintf(bssid, BSSID_TEXT, "02:00:01:%02x:%02x:%02x", number >> 16 & 0xff,
                 number >> 8 & 0xff, number & 0xff);
        people->sightings[people->count++] = (struct hearsay_sighting){bssid, strength_dbm};
    }
}

/* Adds the labels of what was seen. */
static void add_scan(struct maker *maker, struct people *people)
{
    if (hearsay_context_add_sightings(people->context, people->sightings, people->count, NULL) !=
        HEARSAY_OK) {
        maker->is_short = true;
    }
}

static int err(struct maker *maker, int strength_dbm)
{
    const int erring = strength_dbm + (int)maker_below(maker, 2 * ERROR_DB + 1) - ERROR_DB;

    return erring > -1 ? -1 : erring < HEARSAY_WIFI_DBM_MIN ? HEARSAY_WIFI_DBM_MIN : erring;
}

/* The mean strength of access point `number` at a place, the same for the same two numbers. */
static int mean_strength(uint32_t place, uint32_t number)
{
    uint64_t state = (uint64_t)place << 32 | number;
    const double u = (double)(filters_random(&state) >> 11) / 9007199254740992.0; /* 2^53 */

    return WEAKEST_DBM + (int)(MEANS_DB * u * u);
}

/* Sees `seen` different ones of the `count` access points of a place; the first one is `first`. */
static void see_place(struct maker *maker, struct people *people, uint32_t place, uint32_t first,
                      uint32_t count, uint32_t seen)
{
    for (uint64_t done = 0; seen > 0;) {
        const uint32_t which = maker_below(maker, count);

        if ((done >> which & 1) == 0) {
            done |= UINT64_C(1) << which;
            see(people, first + which, err(maker, mean_strength(place, first + which)));
            seen--;
        }
    }
    add_scan(maker, people);
}

static void see_campus(struct maker *maker, struct people *people, uint32_t place)
{
    see_place(maker, people, place, place * MAKER_PLACE_BSSIDS, MAKER_PLACE_BSSIDS,
              12 + maker_below(maker, 9));
}

/* --- workloads -------------------------------------------------------------------------------- */

void people_campus(struct maker *maker, struct encoder *context, struct encoder *wanted)
{
    struct people *people = begin(maker);

    if (people != NULL) {
        see_campus(maker, people, maker_below(maker, MAKER_PLACES));
        add_topics_and_hour(maker, people);
        end(maker, people, context, wanted);
    }
}

void people_town(struct maker *maker, struct encoder *context, struct encoder *wanted)
{
    const uint32_t place = maker_below(maker, MAKER_PLACES);
    struct people *people = begin(maker);

    if (people != NULL) {
        see_place(maker, people, place, place * MAKER_TOWN_STEP, MAKER_TOWN_BSSIDS,
                  MAKER_TOWN_SEEN);
        end(maker, people, context, wanted);
    }
}

void people_dense(struct maker *maker, struct encoder *context, struct encoder *wanted)
{
    const uint32_t place = maker_below(maker, MAKER_PLACES);
    struct people *people = begin(maker);

    if (people != NULL) {
        see_place(maker, people, place, place * DENSE_BSSIDS, DENSE_BSSIDS, DENSE_BSSIDS);
        end(maker, people, context, wanted);
    }
}

void people_board(struct maker *maker, struct encoder *context, struct encoder *wanted)
{
    struct people *people = begin(maker);

    if (people != NULL) {
        add_here(maker, people, 0);
        if (wanted == NULL && maker_unit(maker) < 0.3) {
            add_topics(maker, people, 1);
        }
        end(maker, people, context, wanted);
    }
}

static void leave_mixed(struct maker *maker, struct people *people, uint32_t place)
{
    const double kind = maker_unit(maker);

    add_here(maker, people, place);
    if (kind >= 0.4 && kind < 0.9) {
        see_campus(maker, people, place);
    }
    if (kind >= 0.7) {
        add_topics(maker, people, kind < 0.9 ? 1 + maker_below(maker, 3) : 1);
    }
    if (kind >= 0.9) {
        add_position(maker, people, place);
    }
}

/* Readers: of a scan, of a scan and the place, of the place, of a topic; the same number of each.
 */
static void ask_mixed(struct maker *maker, struct people *people, uint32_t place)
{
    const uint32_t reader = maker_below(maker, 4);

    if (reader == 3) {
        add_topics(maker, people, 1);
        return;
    }
    if (reader != 0) {
        add_here(maker, people, place);
    }
    if (reader != 2) {
        see_campus(maker, people, place);
    }
}

void people_mixed(struct maker *maker, struct encoder *context, struct encoder *wanted)
{
    const uint32_t place = maker_below(maker, MAKER_PLACES);
    struct people *people = begin(maker);

    if (people != NULL) {
        (wanted == NULL ? leave_mixed : ask_mixed)(maker, people, place);
        end(maker, people, context, wanted);
    }
}

void people_row(struct maker *maker, char *row, struct encoder *context, struct encoder *wanted)
{
    const bool is_copy = maker->options->copies > 1 && wanted == NULL;
    struct people *people = begin(maker);

    if (people == NULL) {
        return;
    }
    for (char *token = strtok(row, "\t\n"); token != NULL; token = strtok(NULL, "\t\n")) {
        unsigned number = 0;
        int strength_dbm = 0;

        if (sscanf(token, "WAP%u:%d", &number, &strength_dbm) != 2) {
            continue;
        }
        if (!is_copy) {
            see(people, number, strength_dbm);
        } else if (maker_unit(maker) < 0.85) {
            see(people, number, err(maker, strength_dbm));
        }
    }
    add_scan(maker, people);
    if (maker->options->noise) {
        add_topics_and_hour(maker, people);
    }
    end(maker, people, context, wanted);
}
