/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/filters.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/filter/bloom.h"
#include "tests/bench/bench.h"
#include "tests/bench/people.h"

enum {
    MADE_UP_STORED = 100000,
    MADE_UP_QUERIES = 200,
    WORDS_A_CONTEXT = 50 /* the thesis's */
};

const struct filters_options filters_standard = {
    .workload = "campus", .words_file = "/usr/share/dict/words", .seed = 1};

#define LEVELS_HELP                                                     \
    "whether a strong access point has several labels, as libhearsay\n" \
    "makes them of a scan: for wifi, campus, town, dense, mixed\n"
static const char levels_on[] = LEVELS_HELP "(default: on)";
static const char levels_off[] = LEVELS_HELP "(default: off)";

static int parse_levels(char *text, void *destination)
{
    struct filters_options *options = destination;

    if (strcmp(text, "on") != 0 && strcmp(text, "off") != 0) {
        return bench_fail("--levels takes on or off, not %s", text);
    }
    options->levels = strcmp(text, "on") == 0;
    return 0;
}

void filters_rows(struct filters_options *options, struct option_row out[FILTERS_ROWS])
{
    const struct option_row rows[FILTERS_ROWS] = {
        OPTION_TEXT("workload", "NAME", &options->workload,
                    "campus (default), town, dense, mixed, board, venue, words,\n"
                    "wifi:DIR (UJIIndoorLoc), or filters:FILE (raw filters of m / 8\n"
                    "bytes, back to back)"),
        OPTION_PARSE("levels", "on|off", parse_levels, options,
                     options->levels ? levels_on : levels_off),
        OPTION_TEXT("words", "FILE", &options->words_file,
                    "for words: a word a line (default: /usr/share/dict/words)"),
        OPTION_U32("copies", "N", &options->copies, 1, 1000,
                   "for wifi: each row N times, labels kept with probability 0.85"),
        OPTION_FLAG("noise", &options->noise, "for wifi: topics and hours besides"),
        OPTION_U64("seed", "N", &options->seed, 0, UINT64_MAX, "of what is made up (default: 1)"),
    };

    memcpy(out, rows, sizeof(rows));
}

uint64_t filters_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

const uint64_t *filters_stored(const struct filters *filters, size_t i)
{
    return filters->stored.words + i * filters->filter_words;
}

struct index_item filters_item(size_t number)
{
    struct index_item item = {.expires_ms = INT64_MAX, .reach_ppm = DISTANCE_ONE_PPM};
    uint64_t state = number;
    const uint64_t random = filters_random(&state);

    memcpy(item.id, &random, sizeof(random));
    memcpy(item.id + sizeof(random), &number, sizeof(number));
    item.deposited_ms = (int64_t)number;
    return item;
}

int filters_insert(const struct filters *filters, struct index *index, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        const struct index_item item = filters_item(i);

        if (index_insert(index, &item, filters_stored(filters, i)) != 0) {
            return bench_fail("memory is short");
        }
    }
    return 0;
}

uint32_t maker_below(struct maker *maker, uint32_t bound)
{
    return (uint32_t)(filters_random(&maker->state) % bound);
}

double maker_unit(struct maker *maker)
{
    return (double)(filters_random(&maker->state) >> 11) / 9007199254740992.0; /* 2^53 */
}

uint64_t *filters_append(struct filters_array *array, size_t words)
{
    if (array->count == array->room) {
        const size_t room = array->room == 0 ? 1024 : array->room * 2;
        uint64_t *larger = realloc(array->words, room * words * sizeof(*larger));

        if (larger == NULL) {
            return NULL;
        }
        array->words = larger;
        array->room = room;
    }
    uint64_t *filter = array->words + array->count++ * words;
    memset(filter, 0, words * sizeof(*filter));
    return filter;
}

void maker_add_label(struct maker *maker, struct encoder *context, const char *label, size_t length)
{
    if (encoder_add(context, label, length) != 0) {
        snprintf(maker->homeless, sizeof(maker->homeless), "%s", label);
    }
}

__attribute__((format(printf, 3, 4))) static void add(struct maker *maker, struct encoder *context,
                                                      const char *format, ...)
{
    char label[MAKER_LABEL_BYTES + 1];
    va_list arguments;

    va_start(arguments, format);
    const int length = vsnprintf(label, sizeof(label), format, arguments);
    va_end(arguments);
    if (length > 0 && length <= MAKER_LABEL_BYTES) {
        maker_add_label(maker, context, label, (size_t)length);
    }
}

static void add_bssid(struct maker *maker, struct encoder *context, uint32_t number)
{
    add(maker, context, "wifi:02:00:00:%02x:%02x:%02x", number >> 16 & 0xff, number >> 8 & 0xff,
        number & 0xff);
}

static void prepare_topics(struct maker *maker)
{
    double sum = 0;

    for (uint32_t i = 0; i < MAKER_TOPICS; i++) {
        maker->topic_share[i] = sum += 1.0 / (i + 1);
    }
    for (uint32_t i = 0; i < MAKER_TOPICS; i++) {
        maker->topic_share[i] /= sum;
    }
}

uint32_t maker_topic(struct maker *maker)
{
    const double point = maker_unit(maker);
    uint32_t low = 0;
    uint32_t high = MAKER_TOPICS - 1;

    while (low < high) {
        const uint32_t middle = (low + high) / 2;

        if (maker->topic_share[middle] < point) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void add_topics_and_hour(struct maker *maker, struct encoder *context)
{
    const uint32_t topics = 1 + maker_below(maker, 3);

    for (uint32_t i = 0; i < topics; i++) {
        add(maker, context, "topic:t%u", maker_topic(maker));
    }
    add(maker, context, "time:h%u", maker_below(maker, MAKER_HOURS));
}

/*
 * Each generator makes one context. Unless `wanted` is NULL, `wanted` gets one label of the
 * context.
 */

static void make_words(struct maker *maker, struct encoder *context, struct encoder *wanted)
{
    for (uint32_t i = 0; i < WORDS_A_CONTEXT; i++) {
        const char *word = maker->words.lines[maker_below(maker, (uint32_t)maker->words.count)];

        add(maker, context, "word:%s", word);
        if (i == 0 && wanted != NULL) {
            add(maker, wanted, "word:%s", word);
        }
    }
}

static void make_venue(struct maker *maker, struct encoder *context, struct encoder *wanted)
{
    for (uint32_t i = 0; i < MAKER_PLACE_BSSIDS; i++) {
        if (maker_unit(maker) < 0.7) {
            add_bssid(maker, context, i);
        }
    }
    if (wanted != NULL) {
        add(maker, wanted, "topic:t%u", maker_topic(maker));
    }
    add_topics_and_hour(maker, context);
}

/* Adds `left` different ones of `count` BSSIDs from `first` on; one of the `count` is wanted. */
static void add_place(struct maker *maker, uint32_t first, uint32_t count, uint32_t left,
                      struct encoder *context, struct encoder *wanted)
{
    if (wanted != NULL) {
        add_bssid(maker, wanted, first + maker_below(maker, count));
    }
    for (uint64_t seen = 0; left > 0;) {
        const uint32_t which = maker_below(maker, count);

        if ((seen >> which & 1) == 0) {
            seen |= UINT64_C(1) << which;
            add_bssid(maker, context, first + which);
            left--;
        }
    }
}

static void make_campus(struct maker *maker, struct encoder *context, struct encoder *wanted)
{
    const uint32_t first = maker_below(maker, MAKER_PLACES) * MAKER_PLACE_BSSIDS;
    const uint32_t seen = 12 + maker_below(maker, 9);

    add_place(maker, first, MAKER_PLACE_BSSIDS, seen, context, wanted);
    add_topics_and_hour(maker, context);
}

static void make_town(struct maker *maker, struct encoder *context, struct encoder *wanted)
{
    const uint32_t first = maker_below(maker, MAKER_PLACES) * MAKER_TOWN_STEP;

    add_place(maker, first, MAKER_TOWN_BSSIDS, MAKER_TOWN_SEEN, context, wanted);
}

typedef void generator(struct maker *maker, struct encoder *context, struct encoder *wanted);

static int generate(struct maker *maker, generator *make)
{
    const struct filters_options *options = maker->options;
    struct filters *out = maker->out;
    const size_t stored = options->count != 0 ? options->count : MADE_UP_STORED;
    const size_t queries = options->query_count != 0 ? options->query_count : MADE_UP_QUERIES;
    struct encoder context;
    struct encoder label;

    for (size_t i = 0; i < stored; i++) {
        uint64_t *filter = filters_append(&out->stored, out->filter_words);

        if (filter == NULL) {
            return bench_fail("memory is short");
        }
        encoder_begin(&context, &out->profile);
        make(maker, &context, NULL);
        encoder_end(&context, filter);
    }
    for (size_t i = 0; i < queries; i++) {
        uint64_t *filter = filters_append(&out->queries, out->filter_words);
        uint64_t *wanted = filters_append(&out->wanted, out->filter_words);

        if (filter == NULL || wanted == NULL) {
            return bench_fail("memory is short");
        }
        encoder_begin(&context, &out->profile);
        encoder_begin(&label, &out->profile);
        make(maker, &context, &label);
        encoder_end(&context, filter);
        encoder_end(&label, wanted);
    }
    return 0;
}

/* Encodes one row of UJIIndoorLoc: each token "WAPnnn:rssi" is an access point that was seen. */
static void add_row(struct maker *maker, char *row, struct encoder *context, struct encoder *wanted)
{
    const bool thin = maker->options->copies > 1 && wanted == NULL;
    bool first = true;

    for (char *token = strtok(row, "\t\n"); token != NULL; token = strtok(NULL, "\t\n")) {
        char *colon = strchr(token, ':');

        if (strncmp(token, "WAP", 3) != 0 || colon == NULL) {
            continue;
        }
        *colon = '\0';
        if (first && wanted != NULL) {
            add(maker, wanted, "wifi:%s", token);
        }
        first = false;
        if (!thin || maker_unit(maker) < 0.85) {
            add(maker, context, "wifi:%s", token);
        }
    }
    if (maker->options->noise) {
        add_topics_and_hour(maker, context);
    }
}

/* Encodes each row `copies` times; the copies of all rows alternate. Leaves out empty contexts. */
static int read_rows(struct maker *maker, const char *directory, const char *name, uint32_t copies,
                     struct filters_array *array, struct filters_array *wanted, size_t most)
{
    const size_t words = maker->out->filter_words;
    char command[4096];
    char line[16384];
    char row[16384];
    struct encoder context;
    struct encoder wanted_context;

    if (strchr(directory, '\'') != NULL) {
        return bench_fail("a directory with a quote in its name is not read");
    }
    snprintf(command, sizeof(command), "zcat '%s/%s'", directory, name);
    for (uint32_t copy = 0; copy < copies; copy++) {
        FILE *file = popen(command, "r");

        if (file == NULL) {
            return bench_fail("zcat: %s", strerror(errno));
        }
        while (fgets(line, sizeof(line), file) != NULL && (most == 0 || array->count < most)) {
            uint64_t *filter = line[0] == '#' ? NULL : filters_append(array, words);
            uint64_t *label =
                filter == NULL || wanted == NULL ? NULL : filters_append(wanted, words);

            if (filter == NULL) {
                continue;
            }
            memcpy(row, line, sizeof(row));
            encoder_begin(&context, &maker->out->profile);
            encoder_begin(&wanted_context, &maker->out->profile);
            (maker->options->levels ? people_row : add_row)(maker, row, &context,
                                                            label != NULL ? &wanted_context : NULL);
            encoder_end(&context, filter);
            if (label != NULL) {
                encoder_end(&wanted_context, label);
            }
            if (bloom_cardinality(filter, words) == 0) {
                array->count--;
                if (label != NULL) {
                    wanted->count--;
                }
            }
        }
        if (pclose(file) != 0 && (most == 0 || array->count < most)) {
            return bench_fail("cannot read %s/%s", directory, name);
        }
    }
    return 0;
}

static int read_wifi(struct maker *maker, const char *directory)
{
    const struct filters_options *options = maker->options;
    struct filters *out = maker->out;
    int rc =
        read_rows(maker, directory, "training.tsv.gz", options->copies > 1 ? options->copies : 1,
                  &out->stored, NULL, options->count);

    if (rc == 0) {
        rc = read_rows(maker, directory, "validation.tsv.gz", 1, &out->queries, &out->wanted,
                       options->query_count);
    }
    return rc;
}

static int read_raw(struct maker *maker, const char *path, size_t most, struct filters_array *array)
{
    const uint32_t bits = maker->out->profile.bits;
    uint8_t bytes[PROFILE_BYTES_MAX];
    FILE *file = fopen(path, "rb");
    int rc = 0;

    if (file == NULL) {
        return bench_fail("cannot read %s: %s", path, strerror(errno));
    }
    while (rc == 0 && (most == 0 || array->count < most) &&
           fread(bytes, 1, bits / 8, file) == bits / 8) {
        uint64_t *filter = filters_append(array, maker->out->filter_words);

        if (filter == NULL || bloom_load(filter, bits, bytes, bits / 8) != 0) {
            rc = bench_fail("memory is short");
        }
    }
    (void)fclose(file); /* it was only read */
    return rc == 0 && array->count == 0 ? bench_fail("%s has no filter", path) : rc;
}

/* If a file has no queries, every n-th of its stored filters is a query. */
static int ask_for_stored(struct maker *maker)
{
    struct filters *out = maker->out;
    const size_t words = out->filter_words;
    const size_t step = out->stored.count / MADE_UP_QUERIES + 1;

    for (size_t i = 0; i < out->stored.count; i += step) {
        uint64_t *filter = filters_append(&out->queries, words);

        if (filter == NULL) {
            return bench_fail("memory is short");
        }
        memcpy(filter, out->stored.words + i * words, words * sizeof(*filter));
    }
    return 0;
}

/* Workloads without data, with and without levels of signal strength. */
static const struct {
    const char *name;
    generator *levels;
    generator *plain;
} generators[] = {
    {"campus", people_campus, make_campus}, {"town", people_town, make_town},
    {"dense", people_dense, people_dense},  {"mixed", people_mixed, people_mixed},
    {"board", people_board, people_board},  {"venue", make_venue, make_venue},
};

static int make_all(struct maker *maker)
{
    const char *workload = maker->options->workload;

    if (strcmp(workload, "words") == 0) {
        const int rc = wordlist_read(maker->options->words_file, &maker->words);

        return rc == 0 ? generate(maker, make_words) : rc;
    }
    for (size_t i = 0; i < sizeof(generators) / sizeof(generators[0]); i++) {
        if (strcmp(workload, generators[i].name) == 0) {
            return generate(maker,
                            maker->options->levels ? generators[i].levels : generators[i].plain);
        }
    }
    if (strncmp(workload, "wifi:", 5) == 0) {
        return read_wifi(maker, workload + 5);
    }
    if (strncmp(workload, "filters:", 8) == 0) {
        const int rc = read_raw(maker, workload + 8, maker->options->count, &maker->out->stored);

        return rc == 0 && maker->options->queries_file == NULL ? ask_for_stored(maker) : rc;
    }
    return bench_fail("there is no workload %s", workload);
}

int filters_make(const struct filters_options *options, const struct profile *profile,
                 struct filters *out)
{
    struct maker *maker = calloc(1, sizeof(*maker));

    memset(out, 0, sizeof(*out));
    if (maker == NULL) {
        return bench_fail("memory is short");
    }
    out->profile = *profile;
    out->filter_words = bloom_words(profile->bits);
    maker->options = options;
    maker->out = out;
    maker->state = options->seed;
    prepare_topics(maker);
    int rc = make_all(maker);
    if (rc == 0 && options->queries_file != NULL) {
        out->queries.count = 0;
        out->wanted.count = 0;
        rc = read_raw(maker, options->queries_file, options->query_count, &out->queries);
    }
    if (rc == 0 && maker->is_short) {
        rc = bench_fail("memory is short");
    }
    if (rc == 0 && maker->homeless[0] != '\0') {
        rc = bench_fail("the profile has no section for %s", maker->homeless);
    }
    wordlist_deinit(&maker->words);
    people_free(maker->people);
    free(maker);
    return rc;
}

void filters_deinit(struct filters *filters)
{
    free(filters->stored.words);
    free(filters->queries.words);
    free(filters->wanted.words);
    memset(filters, 0, sizeof(*filters));
}
