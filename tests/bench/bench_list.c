/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list: how close the exact list comes to the limits of the machine. Queries to the list, a plain
 * sum over as many bytes, and a simple loop of popcounts take turns, one round of queries each.
 */
#include <stdlib.h>
#include <string.h>

#include "core/filter/bloom.h"
#include "tests/bench/bench.h"
#include "tests/bench/filters.h"
#include "tests/bench/rivals.h"
#include "tests/bench/stats.h"
#include "tests/reference/engines.h"

enum { LARGE = 1000000, SMALL = 10000, SMALL_TURNS = 20, QUERIES = 10, ROUNDS = 31, K = 10 };

/* What takes turns. */
enum side { LIST, SUM, LOOP, SIDES };

struct world {
    const struct bits_kernels *kernels;
    struct filters filters;
    struct index *list;
    struct index_item *items;
    uint16_t *cardinalities;
    uint64_t *bytes;                    /* for the sum: as many as a query reads */
    size_t byte_words;                  /* of `bytes` */
    uint64_t sum;                       /* is printed nowhere, but the compiler cannot know */
    size_t turns;                       /* over all queries, one after another, in a round */
    double ns[SIDES][BENCH_ROUNDS_MAX]; /* of a query, by rounds */
};

static const uint64_t *filter_at(const struct filters_array *array, size_t i)
{
    return array->words + i * RIVALS_FILTER_WORDS;
}

static int fill(struct world *world)
{
    const size_t count = world->filters.stored.count;

    world->items = calloc(count, sizeof(*world->items));
    world->cardinalities = calloc(count, sizeof(*world->cardinalities));
    if (world->items == NULL || world->cardinalities == NULL) {
        return bench_fail("memory is short");
    }
    if (bench_index_new(&list_engine, &world->filters.profile, world->kernels, &world->list) != 0) {
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        const uint64_t *filter = filter_at(&world->filters.stored, i);
        struct index_item *item = &world->items[i];

        *item = filters_item(i);
        world->cardinalities[i] = (uint16_t)bloom_cardinality(filter, RIVALS_FILTER_WORDS);
        if (index_insert(world->list, item, filter) != 0) {
            return bench_fail("memory is short");
        }
    }
    world->byte_words =
        count * (RIVALS_FILTER_WORDS * sizeof(uint64_t) + sizeof(uint16_t)) / sizeof(uint64_t);
    world->bytes = malloc(world->byte_words * sizeof(uint64_t));
    if (world->bytes == NULL) {
        return bench_fail("memory is short");
    }
    memset(world->bytes, 0x5a, world->byte_words * sizeof(uint64_t));
    return 0;
}

static int begin(struct world *world, size_t count)
{
    const struct filters_options options = {
        .workload = "campus", .count = count, .query_count = QUERIES, .seed = 1};
    struct profile profile;

    world->kernels = bench_kernels();
    if (world->kernels == NULL) {
        return -1;
    }
    if (bench_profile("v2:512/4", &profile) != 0) {
        return -1;
    }
    if (filters_make(&options, &profile, &world->filters) != 0) {
        return -1;
    }
    return fill(world);
}

static void end(struct world *world)
{
    index_free(world->list);
    free(world->items);
    free(world->cardinalities);
    free(world->bytes);
    filters_deinit(&world->filters);
}

/* Asks the list for the k nearest, as the daemon does, and writes their ids to `out`. */
static int ask_list(struct world *world, size_t q, uint8_t (*out)[MESSAGE_ID_BYTES])
{
    const struct index_part part = {.index = world->list,
                                    .filter = filter_at(&world->filters.queries, q)};
    const struct index_query query = plain_index_query(&part, 1, K);
    struct index_search *search = NULL;
    uint32_t count = 0;

    if (index_search_new(alloc_system(), &query, &search) != 0) {
        return bench_fail("memory is short");
    }
    (void)index_search_step(search, UINT64_MAX, 0); /* ends with this step */
    const struct nearest_candidate *found = index_search_results(search, &count);
    for (uint32_t i = 0; i < count; i++) {
        memcpy(out[i], found[i].item.id, MESSAGE_ID_BYTES);
    }
    index_search_free(search);
    return 0;
}

/* The same by the loop, without what surrounds a search. */
static int ask_loop(struct world *world, size_t q, uint8_t (*out)[MESSAGE_ID_BYTES])
{
    const struct rivals_messages messages = {
        .filters = world->filters.stored.words,
        .cardinalities = world->cardinalities,
        .items = world->items,
        .count = world->filters.stored.count,
    };
    const struct index_query query = plain_index_query(NULL, 0, K);
    struct nearest nearest;

    if (nearest_init(&nearest, alloc_system(), K, 0) != 0) {
        return bench_fail("memory is short");
    }
    struct index_probe probe = {
        .query = &query,
        .filter = filter_at(&world->filters.queries, q),
        .nearest = &nearest,
    };
    probe.cardinality = bloom_cardinality(probe.filter, RIVALS_FILTER_WORDS);
    rivals_count(&messages, &probe);
    const struct nearest_candidate *found = nearest_sort(&nearest);
    for (uint32_t i = 0; i < nearest.count; i++) {
        memcpy(out[i], found[i].item.id, MESSAGE_ID_BYTES);
    }
    nearest_deinit(&nearest);
    return 0;
}

static int ask(struct world *world, enum side side, size_t q)
{
    uint8_t ids[K][MESSAGE_ID_BYTES];

    switch (side) {
    case LIST:
        return ask_list(world, q, ids);
    case LOOP:
        return ask_loop(world, q, ids);
    default:
        world->sum += rivals_sum(world->bytes, world->byte_words);
        return 0;
    }
}

/* Checks that the list and the loop give the same answers. Also reads all memory once. */
static int compare(struct world *world)
{
    for (size_t q = 0; q < QUERIES; q++) {
        uint8_t by_list[K][MESSAGE_ID_BYTES] = {{0}};
        uint8_t by_loop[K][MESSAGE_ID_BYTES] = {{0}};

        if (ask_list(world, q, by_list) != 0 || ask_loop(world, q, by_loop) != 0) {
            return -1;
        }
        if (memcmp(by_list, by_loop, sizeof(by_list)) != 0) {
            return bench_fail("list and loop answer differently");
        }
    }
    return 0;
}

static int measure(struct world *world, size_t rounds)
{
    for (size_t round = 0; round < rounds; round++) {
        for (enum side side = LIST; side < SIDES; side++) {
            const int64_t begin_ns = stats_now_ns();

            for (size_t turn = 0; turn < world->turns; turn++) {
                for (size_t q = 0; q < QUERIES; q++) {
                    if (ask(world, side, q) != 0) {
                        return -1;
                    }
                }
            }
            world->ns[side][round] =
                (double)(stats_now_ns() - begin_ns) / (double)(world->turns * QUERIES);
        }
    }
    return 0;
}

/* Computes how many times as fast as another side the list is, round by round. */
static void print_ratio(struct world *world, struct report *report, enum side side, size_t rounds,
                        double goal, const char *key, const char *text)
{
    double ratios[BENCH_ROUNDS_MAX];
    char low_key[64];
    char high_key[64];

    for (size_t round = 0; round < rounds; round++) {
        ratios[round] = world->ns[side][round] / world->ns[LIST][round];
    }
    snprintf(low_key, sizeof(low_key), "%s_p10", key);
    snprintf(high_key, sizeof(high_key), "%s_p90", key);
    if (goal > 0) {
        report_goal(report, key, stats_median(ratios, rounds), goal, text);
    } else {
        report_figure(report, key, stats_median(ratios, rounds), 3, "", text);
    }
    report_figure(report, low_key, stats_percentile(ratios, rounds, 0.1), 3, "",
                  "  a tenth of the rounds is below");
    report_figure(report, high_key, stats_percentile(ratios, rounds, 0.9), 3, "",
                  "  a tenth of the rounds is above");
}

static void print(struct world *world, struct report *report, size_t rounds)
{
    const size_t count = world->filters.stored.count;
    const double bytes = (double)(world->byte_words * sizeof(uint64_t));
    const bool best = world->kernels == bits_select(BITS_BEST);

    print_ratio(world, report, SUM, rounds, best && count >= LARGE ? 0.8 : 0, "bandwidth_share",
                "list, share of the read bandwidth of one core");
    print_ratio(world, report, LOOP, rounds,
                count == SMALL && strcmp(world->kernels->name, "avx512") == 0 ? 2.5 : 0,
                "against_loop", "list, times as fast as the popcount loop");
    const double list_ns = stats_median(world->ns[LIST], rounds);
    const double sum_ns = stats_median(world->ns[SUM], rounds);
    report_figure(report, "list_us", list_ns / 1000, 2, "us", "a query of the list");
    report_figure(report, "sum_us", sum_ns / 1000, 2, "us", "a sum over as many bytes");
    report_figure(report, "loop_us", stats_median(world->ns[LOOP], rounds) / 1000, 2, "us",
                  "a query of the popcount loop");
    report_figure(report, "list_gb_s", bytes / list_ns, 1, "GB/s", "read by the list");
    report_figure(report, "sum_gb_s", bytes / sum_ns, 1, "GB/s", "read by the sum");
}

static int bench_size(const struct bench_options *options, struct report *report, size_t count,
                      size_t turns)
{
    const size_t rounds = bench_or(options->rounds, ROUNDS);
    struct world *world = calloc(1, sizeof(*world));
    char name[64];
    char title[128];

    if (world == NULL) {
        return bench_fail("memory is short");
    }
    world->turns = turns;
    int rc = begin(world, count);
    if (rc == 0) {
        rc = compare(world);
    }
    if (rc == 0) {
        rc = measure(world, rounds);
    }
    if (rc == 0) {
        snprintf(name, sizeof(name), "list_%zu_%s", count, world->kernels->name);
        snprintf(title, sizeof(title), "%zu filters of 512 bits (campus), k = %d, kernels %s",
                 count, K, world->kernels->name);
        report_begin(report, name, title);
        print(world, report, rounds);
        report_end(report);
    }
    end(world);
    free(world);
    return rc;
}

int bench_list(const struct bench_options *options, struct report *report)
{
    if (options->count != 0) {
        return bench_size(options, report, options->count,
                          options->count <= SMALL ? SMALL_TURNS : 1);
    }
    if (bench_size(options, report, SMALL, SMALL_TURNS) != 0) {
        return -1;
    }
    return bench_size(options, report, LARGE, 1);
}
