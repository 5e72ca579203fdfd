/* SPDX-License-Identifier: Apache-2.0 */
/*
 * joint: the effect of joint sections. A union of filters has the bits of all places and of all
 * hours, so that it claims any place together with any hour. This subcommand measures how often a
 * union with a joint section still claims a wrong pair, how much of a tree a query with `contains`
 * reads, and how many wrong messages it finds.
 */
#include <stdlib.h>
#include <string.h>

#include "core/filter/bloom.h"
#include "core/profile/encode.h"
#include "tests/bench/bench.h"
#include "tests/bench/filters.h"
#include "tests/bench/stats.h"
#include "tests/reference/engines.h"

enum {
    PLACES = 2000,
    HOURS = 14 * 24, /* of two weeks */
    TRIALS = 4000,   /* unions of each size */
    STORED = 100000,
    QUERIES = 1000,
    ALL_QUERIES = 100, /* of these, also for all that is found */
    PROFILES = 4,
    K = 100,
    WORDS = 8 /* m = 512 in all of them */
};

static const struct {
    const char *key;
    const char *text;
} profiles[PROFILES] = {
    {"none", "v2:wifi=256/2,geo=96/1,time=64/1,topic=96/2"},
    {"even", "v2:wifi=256/2,geo=96/1,time=32/1,topic=96/2,joint(geo,time)=32/1"},
    {"odd", "v2:wifi=256/2,geo=96/1,time=32/1,topic=97/2,joint(geo,time)=31/1"},
    {"large", "v2:wifi=256/2,geo=65/1,time=32/1,topic=64/2,joint(geo,time)=95/1"},
};

/* A place and an hour: what queries ask for. */
struct moment {
    uint32_t place;
    uint32_t hour;
};

static void add(struct encoder *encoder, const char *label)
{
    (void)encoder_add(encoder, label, strlen(label)); /* every attribute has a section */
}

/* A geohash of 6 characters, another one for each place. */
static void place_label(uint32_t place, char *out, size_t room)
{
    static const char digits[] = "0123456789bcdefghjkmnpqrstuvwxyz";

    snprintf(out, room, "geo:u28%c%c%c", digits[place / 1024 % 32], digits[place / 32 % 32],
             digits[place % 32]);
}

static void hour_label(uint32_t hour, char *out, size_t room)
{
    snprintf(out, room, "time:2026-11-%02uT%02u", (unsigned)(hour / 24 + 1), (unsigned)(hour % 24));
}

static void encode_moment(const struct profile *profile, struct moment moment, uint64_t *filter)
{
    struct encoder encoder;
    char label[32];

    encoder_begin(&encoder, profile);
    place_label(moment.place, label, sizeof(label));
    add(&encoder, label);
    hour_label(moment.hour, label, sizeof(label));
    add(&encoder, label);
    encoder_end(&encoder, filter);
}

static struct moment random_moment(uint64_t *state)
{
    return (struct moment){.place = (uint32_t)(filters_random(state) % PLACES),
                           .hour = (uint32_t)(filters_random(state) % HOURS)};
}

/* ---- unions ---- */

/*
 * Makes a union of `size` messages. Returns whether the union claims the place of the first message
 * together with the hour of the second message. No message of the union has this pair.
 */
static bool union_claims(uint64_t *state, const struct profile *profile, uint32_t size)
{
    struct moment first = random_moment(state);
    struct moment asked = {first.place, (first.hour + 1 + random_moment(state).hour) % HOURS};
    uint64_t sum[WORDS];
    uint64_t filter[WORDS];

    if (asked.hour == first.hour) {
        asked.hour = (asked.hour + 1) % HOURS;
    }
    encode_moment(profile, first, sum);
    for (uint32_t i = 1; i < size; i++) {
        struct moment moment = random_moment(state);

        moment.place = moment.place == asked.place ? (moment.place + 1) % PLACES : moment.place;
        moment.hour = i == 1 ? asked.hour : moment.hour;
        encode_moment(profile, moment, filter);
        bloom_union(sum, sum, filter, WORDS);
    }
    encode_moment(profile, asked, filter);
    return bloom_is_subset(filter, sum, WORDS);
}

static void tell_unions(struct report *report, const struct profile *profile, int p)
{
    static const uint32_t sizes[] = {2, 4, 8, 16, 32, 64};

    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        uint64_t state = 1;
        uint32_t claims = 0;
        char key[64];
        char text[96];

        for (uint32_t trial = 0; trial < TRIALS; trial++) {
            claims += union_claims(&state, profile, sizes[s]);
        }
        snprintf(key, sizeof(key), "%s_union_%u_percent", profiles[p].key, (unsigned)sizes[s]);
        snprintf(text, sizeof(text), "unions of %u that claim a pair that none has",
                 (unsigned)sizes[s]);
        report_figure(report, key, 100.0 * claims / TRIALS, 1, "%", text);
    }
}

/* ---- the tree ---- */

struct search_sums {
    double comparisons;
    double bytes;
    double found; /* messages whose filter contains the pair */
    double wrong; /* of these, those that are of another place or hour */
    double ns;
    double claimed_jointly; /* comparisons for everything that is found ... */
    double claimed_apart;   /* ... and without the joint section's bits */
};

/*
 * The labels of a message at one moment: access points, geohashes of four lengths, times, topics.
 */
static void encode_message(uint64_t *state, const struct profile *profile, struct moment moment,
                           uint64_t *filter)
{
    struct encoder encoder;
    char geohash[32];
    char label[64];

    encoder_begin(&encoder, profile);
    for (uint32_t i = 0; i < 30; i++) {
        if (filters_random(state) % 100 < 55) {
            const uint32_t number = moment.place * 30 + i;

            snprintf(label, sizeof(label), "wifi:02:00:00:%02x:%02x:%02x", number >> 16 & 0xff,
                     number >> 8 & 0xff, number & 0xff);
            add(&encoder, label);
        }
    }
    place_label(moment.place, geohash, sizeof(geohash));
    snprintf(label, sizeof(label), "%.9s", geohash);
    add(&encoder, label);
    add(&encoder, geohash);
    snprintf(label, sizeof(label), "%s7", geohash);
    add(&encoder, label);
    snprintf(label, sizeof(label), "%s7q", geohash);
    add(&encoder, label);
    hour_label(moment.hour, label, sizeof(label));
    add(&encoder, label);
    snprintf(label, sizeof(label), "time:h%u", (unsigned)(moment.hour % 168));
    add(&encoder, label);
    for (uint64_t topics = 1 + filters_random(state) % 3; topics > 0; topics--) {
        snprintf(label, sizeof(label), "topic:t%u", (unsigned)(filters_random(state) % 5000));
        add(&encoder, label);
    }
    encoder_end(&encoder, filter);
}

static int fill_tree(const struct profile *profile, struct index *index, struct moment *moments)
{
    uint64_t state = 2;
    uint64_t filter[WORDS];

    for (uint32_t i = 0; i < STORED; i++) {
        const struct index_item item = filters_item(i);

        moments[i] = random_moment(&state);
        encode_message(&state, profile, moments[i], filter);
        if (index_insert(index, &item, filter) != 0) {
            return bench_fail("memory is short");
        }
    }
    return index_arrange(index, NULL) == 0 ? 0 : bench_fail("memory is short");
}

/*
 * Searches for messages that contain `wanted`. The caller frees the search. Returns NULL if there
 * is no memory.
 */
static struct index_search *search(struct index *index, const uint64_t *filter,
                                   const uint64_t *wanted, uint32_t k)
{
    const struct index_part part = {.index = index, .filter = filter, .contains = wanted};
    const struct index_query query = plain_index_query(&part, 1, k);
    struct index_search *search = NULL;

    if (index_search_new(alloc_system(), &query, &search) != 0) {
        (void)bench_fail("memory is short"); /* says so */
        return NULL;
    }
    while (index_search_step(search, UINT64_MAX, 0) == INDEX_MORE) {
    }
    return search;
}

static int ask(const struct profile *profile, struct index *index, const struct moment *moments,
               struct moment asked, struct search_sums *sums)
{
    uint64_t filter[WORDS];
    uint32_t count = 0;

    encode_moment(profile, asked, filter);
    const int64_t begin = stats_cpu_ns();
    struct index_search *asking = search(index, filter, filter, K);
    if (asking == NULL) {
        return -1;
    }
    sums->ns += (double)(stats_cpu_ns() - begin);
    const struct nearest_candidate *found = index_search_results(asking, &count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t message = 0;

        memcpy(&message, found[i].item.id, sizeof(message));
        sums->found += 1;
        sums->wrong += moments[message].place != asked.place || moments[message].hour != asked.hour;
    }
    sums->comparisons += (double)index_search_comparisons(asking);
    sums->bytes += (double)search_bytes(asking);
    index_search_free(asking);
    return 0;
}

/* The bits of a moment that are of no joint section. */
static void leave_joint_out(const struct profile *profile, const uint64_t *filter, uint64_t *out)
{
    memcpy(out, filter, WORDS * sizeof(*out));
    for (uint32_t s = 0; s < profile->section_count; s++) {
        const struct profile_section *section = &profile->sections[s];

        for (uint32_t b = 0; section->kind == PROFILE_JOINT && b < section->bits; b++) {
            const uint32_t bit = section->first_bit + b;

            out[bit / 64] &= ~(UINT64_C(1) << bit % 64);
        }
    }
}

/*
 * Counts the comparisons of a query that asks a tree for all messages that contain some labels:
 * once with the bits of the joint section, and once without them. The query has no limit of
 * results, so that the search skips no message because of its distance.
 */
static int ask_for_all(const struct profile *profile, struct index *index, struct moment asked,
                       struct search_sums *sums)
{
    uint64_t filter[WORDS];
    uint64_t apart[WORDS];

    encode_moment(profile, asked, filter);
    leave_joint_out(profile, filter, apart);
    struct index_search *joint = search(index, filter, filter, STORED);
    struct index_search *without = search(index, filter, apart, STORED);
    if (joint != NULL && without != NULL) {
        sums->claimed_jointly += (double)index_search_comparisons(joint);
        sums->claimed_apart += (double)index_search_comparisons(without);
    }
    const int rc = joint != NULL && without != NULL ? 0 : -1;
    index_search_free(joint);
    index_search_free(without);
    return rc;
}

static void tell_search(struct report *report, int p, const struct search_sums *sums)
{
    const struct {
        const char *key;
        double value;
        const char *unit;
        const char *text;
    } figures[] = {
        {"comparisons", sums->comparisons / QUERIES, "/query", "contains: compared"},
        {"bytes_percent", 100 * sums->bytes / QUERIES / ((double)STORED * WORDS * 8), "%",
         "contains: bytes read, of all filters'"},
        {"us", sums->ns / QUERIES / 1000, "us/query", "contains: time"},
        {"found", sums->found / QUERIES, "/query", "contains: messages found (at most 100)"},
        {"wrong", sums->wrong / QUERIES, "/query", "contains: of another place or hour"},
        {"all_compared", sums->claimed_jointly / ALL_QUERIES, "/query",
         "everything that contains it: compared"},
        {"apart_compared", sums->claimed_apart / ALL_QUERIES, "/query",
         "  the same without the joint section's bits"},
        {"skipped_percent", 100 - 100 * sums->claimed_jointly / sums->claimed_apart, "%",
         "  skipped by the joint section alone"},
    };

    for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
        char key[64];

        snprintf(key, sizeof(key), "%s_%s", profiles[p].key, figures[i].key);
        report_figure(report, key, figures[i].value, 2, figures[i].unit, figures[i].text);
    }
}

static int search_tree(const struct profile *profile, struct search_sums *sums)
{
    struct moment *moments = malloc(STORED * sizeof(*moments));
    struct index *index = NULL;
    uint64_t state = 3;
    int rc = moments != NULL ? 0 : -1;

    rc = rc != 0 ? bench_fail("memory is short")
                 : bench_index_new(&tree_engine, profile, bits_select(BITS_BEST), &index);
    if (rc == 0) {
        rc = fill_tree(profile, index, moments);
    }
    for (uint32_t q = 0; rc == 0 && q < QUERIES; q++) {
        const struct moment asked = random_moment(&state);

        rc = ask(profile, index, moments, asked, sums);
        if (rc == 0 && q % (QUERIES / ALL_QUERIES) == 0) {
            rc = ask_for_all(profile, index, asked, sums);
        }
    }
    index_free(index);
    free(moments);
    return rc;
}

int bench_joint(const struct bench_options *options, struct report *report)
{
    (void)options; /* the sizes are what is shown */
    for (int p = 0; p < PROFILES; p++) {
        struct profile profile;
        struct search_sums sums = {0};

        if (bench_profile(profiles[p].text, &profile) != 0 || search_tree(&profile, &sums) != 0) {
            return -1;
        }
        report_begin(report, "joint", profiles[p].text);
        tell_unions(report, &profile, p);
        tell_search(report, p, &sums);
        report_end(report);
    }
    return 0;
}
