/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filters: the filters that `hearsay-bench index` stores and queries, generated or read from files.
 * The same options give the same filters on every machine.
 *
 *   campus       2,000 places of 30 BSSIDs each, 12 to 20 of them seen; 1 to 3 topics out of 5,000
 *                (Zipf), one of 168 hours
 *   town         2,000 places in a row that overlap: each has 60 BSSIDs, of which 40 are the next
 *                place's, too; 20 of them seen
 *   dense        2,000 places of 60 BSSIDs each, all of them seen, of which the strongest are left
 *   mixed        messages at the places of campus: 40 % have the place's label only, 30 % a scan
 *                besides, 20 % a scan and 1 to 3 topics besides, 10 % a topic and a position
 *                besides; readers of a scan, of a scan and the place, of the place, and of a topic
 *   board        one place: all have its label, 30 % a topic besides; readers ask for the place
 *   venue        one access point: 30 BSSIDs each seen with probability 0.7, topics and hour as in
 *                campus
 *   words        50 random words of a dictionary each (the thesis's data)
 *   wifi:DIR     UJIIndoorLoc in DIR (training.tsv.gz is stored, validation.tsv.gz is asked)
 *   filters:FILE raw filters of m / 8 bytes, back to back
 */
#pragma once

#include "tests/bench/options.h"
#include "tests/lib/plain_query.h"

struct filters_options {
    const char *workload;
    const char *queries_file; /* raw filters to ask for, or NULL: the workload's own */
    const char *words_file;   /* a word a line */
    size_t count;             /* to store; 0: as many as there are, or 100,000 made up */
    size_t query_count;       /* to ask for; 0: as many as there are, or 200 made up */
    uint32_t copies;          /* wifi: more than 1 keeps each label with probability 0.85 */
    bool noise;               /* wifi: adds topics and hour */
    bool levels;              /* scans have levels of signal strength (tests/bench/people.h) */
    uint64_t seed;
};

/* What the subcommands use without options: campus, without levels, seed 1. */
extern const struct filters_options filters_standard;

/*
 * The options that select the filters, for the table of a subcommand: --workload,
 * --levels, --words, --copies, --noise and --seed. The options write into `options`.
 */
enum { FILTERS_ROWS = 6, FILTERS_COUNT_MAX = 100000000 };
void filters_rows(struct filters_options *options, struct option_row out[FILTERS_ROWS]);

/* Filters one after another, words of the profile each. */
struct filters_array {
    uint64_t *words;
    size_t count;
    size_t room;
};

struct filters {
    struct profile profile;
    size_t filter_words;
    struct filters_array stored;
    struct filters_array queries;
    struct filters_array wanted; /* for each query, the filter of one label; empty if unknown */
};

/*
 * Fills *out. Returns 0, or -1 after a message on standard error. Call filters_deinit in both
 * cases.
 */
int filters_make(const struct filters_options *options, const struct profile *profile,
                 struct filters *out);
void filters_deinit(struct filters *filters);

/* Return stored filter number i, borrowed, and the message of this number, which never expires. */
const uint64_t *filters_stored(const struct filters *filters, size_t i);
struct index_item filters_item(size_t number);

/*
 * Inserts the messages first .. end - 1 with the stored filters. Returns 0, or -1 after a message
 * on standard error.
 */
int filters_insert(const struct filters *filters, struct index *index, size_t first, size_t end);

/* Adds a filter of zeros to an array and returns this filter, or NULL if there is no memory. */
uint64_t *filters_append(struct filters_array *array, size_t words);

/*
 * Returns the next number of splitmix64 (Steele, Lea, Flood 2014). The numbers look random, and are
 * the same on every machine.
 */
uint64_t filters_random(uint64_t *state);

/* The words of a file with one word a line. `lines` points into `text`. */
struct wordlist {
    char *text;
    char **lines;
    size_t count;
    uint64_t checksum; /* XXH3-64 of the file */
};
int wordlist_read(const char *path, struct wordlist *out); /* 0, or -1: it is said */
void wordlist_deinit(struct wordlist *list);
