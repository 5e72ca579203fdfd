/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/hood_data.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client/hearsay.h"
#include "core/filter/bloom.h"
#include "core/profile/encode.h"
#include "tests/bench/bench.h"

enum {
    POINTS_MAX = 1024, /* access points of UJIIndoorLoc have smaller numbers */
    ROWS_MAX = 65536,
    LINE_BYTES = 16384,
    TOPICS = 5000,
    HOURS = 168,
    CAMPUS_PLACES = 2000,
    CAMPUS_HOSTS = 1000,
    CAMPUS_POINTS = 30, /* of a place */
    CAMPUS_STORED = 100000,
    CAMPUS_QUERIES = 1000
};

struct reader {
    const struct hood_kind *kind;
    struct hood_data *data;
    struct hearsay_context *context;
    uint64_t state;
    uint32_t numbers[POINTS_MAX]; /* of the hosts, + 1; 0: none */
};

/* An access point that a phone saw. */
struct sighting {
    uint32_t point;
    int dbm;
};

static double random_unit(struct reader *reader)
{
    return (double)(filters_random(&reader->state) >> 11) / 9007199254740992.0; /* 2^53 */
}

static int add_label(struct reader *reader, const char *name, unsigned number)
{
    char label[64];

    snprintf(label, sizeof(label), "%s%u", name, number);
    return hearsay_context_add_label(reader->context, label, NULL);
}

/* The logarithm of a topic's number is even, which is Zipf's law. */
static int add_noise(struct reader *reader)
{
    const uint64_t topics = 1 + filters_random(&reader->state) % 3;
    int status = HEARSAY_OK;

    for (uint64_t i = 0; i < topics && status == HEARSAY_OK; i++) {
        status = add_label(reader, "topic:t", (unsigned)pow(TOPICS, random_unit(reader)) - 1);
    }
    if (status == HEARSAY_OK) {
        status = add_label(reader, "time:h", (unsigned)(filters_random(&reader->state) % HOURS));
    }
    return status;
}

static int add_sighting(struct reader *reader, struct sighting seen)
{
    char bssid[32];

    snprintf(bssid, sizeof(bssid), "02:00:00:00:%02x:%02x", seen.point >> 8, seen.point & 0xff);
    return hearsay_context_add_wifi(
        reader->context, bssid, reader->kind->graded ? seen.dbm : HEARSAY_WIFI_NO_STRENGTH, NULL);
}

static int encode_context(struct reader *reader, struct filters_array *array)
{
    size_t count = 0;
    const char *const *labels = hearsay_context_labels(reader->context, &count);
    const struct hearsay_encode encode = {
        .profile = reader->kind->profile, .labels = labels, .label_count = count};
    struct hearsay_filter filter;
    struct hearsay_error error;
    uint64_t *words = filters_append(array, reader->data->words);

    if (words == NULL) {
        return bench_fail("memory is short");
    }
    if (hearsay_encode(&encode, &filter, &error) != HEARSAY_OK) {
        return bench_fail("%s", error.sentence);
    }
    return bloom_load(words, reader->data->profile.bits, filter.bytes, filter.byte_count);
}

/* The host of the strongest sighting; a query takes the strongest that has messages. */
static uint32_t choose_host(const struct reader *reader, const struct sighting *seen, size_t count,
                            bool is_query)
{
    const struct sighting *best = NULL;

    for (size_t i = 0; i < count; i++) {
        if ((best == NULL || seen[i].dbm > best->dbm) &&
            (!is_query || reader->numbers[seen[i].point] != 0)) {
            best = &seen[i];
        }
    }
    return best != NULL ? best->point : POINTS_MAX;
}

static size_t parse_row(char *row, struct sighting *out)
{
    size_t count = 0;

    for (char *token = strtok(row, "\t\n"); token != NULL; token = strtok(NULL, "\t\n")) {
        unsigned point = 0;
        int dbm = 0;

        if (sscanf(token, "WAP%u:%d", &point, &dbm) == 2 && point < POINTS_MAX) {
            out[count++] = (struct sighting){point, dbm};
        }
    }
    return count;
}

static int take_row(struct reader *reader, char *row, bool is_query)
{
    struct hood_data *data = reader->data;
    struct filters_array *array = is_query ? &data->queries : &data->stored;
    struct sighting seen[POINTS_MAX];
    const size_t count = parse_row(row, seen);
    const uint32_t point = choose_host(reader, seen, count, is_query);
    int status = HEARSAY_OK;

    if (point == POINTS_MAX) { /* nothing was seen */
        return 0;
    }
    if (array->count == ROWS_MAX) {
        return bench_fail("there are more rows than %d", ROWS_MAX);
    }
    if (reader->numbers[point] == 0) {
        reader->numbers[point] = ++data->peer_count;
    }
    (is_query ? data->homes : data->peers)[array->count] = reader->numbers[point] - 1;
    hearsay_context_clear(reader->context);
    for (size_t i = 0; i < count && status == HEARSAY_OK; i++) {
        status = add_sighting(reader, seen[i]);
    }
    if (status == HEARSAY_OK && reader->kind->noise) {
        status = add_noise(reader);
    }
    return status == HEARSAY_OK ? encode_context(reader, array)
                                : bench_fail("a context cannot be made");
}

static int read_file(struct reader *reader, const char *directory, const char *name, bool is_query)
{
    char command[4096];
    char line[LINE_BYTES];
    int rc = 0;

    if (strchr(directory, '\'') != NULL) {
        return bench_fail("a directory with a quote in its name is not read");
    }
    snprintf(command, sizeof(command), "zcat '%s/%s'", directory, name);
    FILE *file = popen(command, "r");
    if (file == NULL) {
        return bench_fail("zcat: %s", strerror(errno));
    }
    while (fgets(line, sizeof(line), file) != NULL) {
        if (rc == 0 && line[0] != '#') {
            rc = take_row(reader, line, is_query);
        }
    }
    if (pclose(file) != 0) {
        return bench_fail("cannot read %s/%s", directory, name);
    }
    return rc;
}

static int begin_data(const char *profile, size_t rows, struct hood_data *out)
{
    memset(out, 0, sizeof(*out));
    if (bench_profile(profile, &out->profile) != 0) {
        return -1;
    }
    out->words = bloom_words(out->profile.bits);
    out->peers = calloc(rows, sizeof(*out->peers));
    out->homes = calloc(rows, sizeof(*out->homes));
    return out->peers != NULL && out->homes != NULL ? 0 : bench_fail("memory is short");
}

int hood_data_read(const char *directory, const struct hood_kind *kind, struct hood_data *out)
{
    struct reader reader = {.kind = kind, .data = out, .state = 1};
    int rc = begin_data(kind->profile, ROWS_MAX, out);

    if (rc == 0 && hearsay_context_new(&reader.context, NULL) != HEARSAY_OK) {
        rc = bench_fail("memory is short");
    }
    if (rc == 0) {
        rc = read_file(&reader, directory, "training.tsv.gz", false);
    }
    if (rc == 0) {
        rc = read_file(&reader, directory, "validation.tsv.gz", true);
    }
    hearsay_context_free(reader.context);
    return rc;
}

/* 12 to 20 of the access points of a place. */
static int make_campus_filter(struct hood_data *data, uint64_t *state, uint32_t place,
                              struct filters_array *array)
{
    uint64_t *filter = filters_append(array, data->words);
    uint64_t left = 12 + filters_random(state) % 9;
    struct encoder encoder;

    if (filter == NULL) {
        return bench_fail("memory is short");
    }
    encoder_begin(&encoder, &data->profile);
    for (uint64_t seen = 0; left > 0;) {
        const uint64_t which = filters_random(state) % CAMPUS_POINTS;
        char label[64];

        if ((seen >> which & 1) == 0) {
            const int length =
                snprintf(label, sizeof(label), "wifi:%u-%u", (unsigned)place, (unsigned)which);
            (void)encoder_add(&encoder, label, (size_t)length); /* one section takes all */
            seen |= UINT64_C(1) << which;
            left--;
        }
    }
    encoder_end(&encoder, filter);
    return 0;
}

int hood_data_campus(struct hood_data *out)
{
    uint64_t state = 1;
    int rc = begin_data("v2:512/4", CAMPUS_STORED, out);

    out->peer_count = CAMPUS_HOSTS;
    for (size_t i = 0; rc == 0 && i < CAMPUS_STORED + CAMPUS_QUERIES; i++) {
        const uint32_t place = (uint32_t)(filters_random(&state) % CAMPUS_PLACES);
        const bool is_query = i >= CAMPUS_STORED;

        (is_query ? &out->homes[i - CAMPUS_STORED] : &out->peers[i])[0] =
            place * CAMPUS_HOSTS / CAMPUS_PLACES;
        rc = make_campus_filter(out, &state, place, is_query ? &out->queries : &out->stored);
    }
    return rc;
}

void hood_data_deinit(struct hood_data *data)
{
    free(data->stored.words);
    free(data->queries.words);
    free(data->peers);
    free(data->homes);
    memset(data, 0, sizeof(*data));
}
