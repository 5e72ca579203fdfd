/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hearsay-bench epochs: one query over many epochs, beside one tree with the same messages. The
 * contexts are those of the other subcommands (20 access points of 60 in a town). Each message
 * belongs to an epoch, and its labels are keyed with the key of this epoch. The query has one part
 * for each epoch, keyed in the same way. The one tree has the plain labels. The answers are
 * compared with the answers of lists.
 */
#include <stdlib.h>
#include <string.h>

#include "client/context/context.h"
#include "core/filter/bloom.h"
#include "proto/limits.h"
#include "tests/bench/bench.h"
#include "tests/bench/filters.h"
#include "tests/bench/stats.h"
#include "tests/reference/engines.h"

enum {
    PLACES = 2000,
    NEIGHBOURS = 60,
    PLACE_STEP = 20,
    LABELS = 20,
    LABEL_BYTES = 24,
    ROUNDS = 5,
    CHECKED = 50 /* queries whose answers are compared with the lists' */
};

struct options {
    struct profile profile;
    size_t messages;
    size_t queries;
    size_t epochs;
    uint32_t k;
    bool skewed; /* the newest epoch has half of the messages, the one before half of the rest, ...
                  */
    bool json;
};

struct context {
    char text[LABELS][LABEL_BYTES];
    const char *labels[LABELS];
};

struct run {
    const struct options *options;
    const struct bits_kernels *kernels;
    struct index *whole;              /* plain labels, one tree */
    struct index *trees[LIMIT_PARTS]; /* keyed, one for each epoch */
    struct index *lists[LIMIT_PARTS]; /* the same messages */
    uint8_t keys[LIMIT_PARTS][HEARSAY_KEY_BYTES];
    uint64_t random;
    size_t differing; /* answers that are not those of the lists */
    double whole_bytes;
    double merged_bytes;
    double list_ns; /* of all queries to the lists */
};

/* --- contexts --------------------------------------------------------------------------------- */

static void make_context(uint64_t *random, struct context *out)
{
    const uint64_t place = filters_random(random) % PLACES * PLACE_STEP;
    uint64_t seen = 0;

    for (size_t i = 0; i < LABELS;) {
        const uint64_t neighbour = filters_random(random) % NEIGHBOURS;
        if ((seen >> neighbour & 1) != 0) {
            continue;
        }
        seen |= UINT64_C(1) << neighbour;
        const uint64_t point = place + neighbour;
        (void)snprintf(out->text[i], LABEL_BYTES, "wifi:02:00:00:%02x:%02x:%02x",
                       (unsigned)(point >> 16 & 0xff), (unsigned)(point >> 8 & 0xff),
                       (unsigned)(point & 0xff));
        out->labels[i] = out->text[i];
        i++;
    }
}

/* key NULL: the plain labels. */
static int encode(const struct run *run, const struct context *context, const uint8_t *key,
                  uint64_t *out_words)
{
    const struct hearsay_keys keys = {.epoch_key = key};
    struct hearsay_filter filter;

    if (context_encode(&run->options->profile, &keys, context->labels, LABELS, &filter, NULL) !=
            HEARSAY_OK ||
        bloom_load(out_words, filter.bits, filter.bytes, filter.byte_count) != 0) {
        return bench_fail("the profile takes no labels of wifi");
    }
    return 0;
}

/* --- indexes ---------------------------------------------------------------------------------- */

static int new_index(const struct run *run, const struct index_engine *engine, struct index **out)
{
    return bench_index_new(engine, &run->options->profile, run->kernels, out);
}

static size_t draw_epoch(struct run *run)
{
    const uint64_t random = filters_random(&run->random);
    size_t epoch = 0;

    if (!run->options->skewed) {
        return (size_t)(random % run->options->epochs);
    }
    while (epoch + 1 < run->options->epochs && (random >> epoch & 1) != 0) {
        epoch++;
    }
    return epoch;
}

static int add_message(struct run *run, size_t number)
{
    const struct index_item item = filters_item(number);
    const size_t epoch = draw_epoch(run);
    uint64_t plain[PROFILE_WORDS_MAX];
    uint64_t keyed[PROFILE_WORDS_MAX];
    struct context context;

    make_context(&run->random, &context);
    if (encode(run, &context, NULL, plain) != 0 ||
        encode(run, &context, run->keys[epoch], keyed) != 0) {
        return -1;
    }
    if (index_insert(run->whole, &item, plain) != 0 ||
        index_insert(run->trees[epoch], &item, keyed) != 0 ||
        index_insert(run->lists[epoch], &item, keyed) != 0) {
        return bench_fail("memory is short");
    }
    return 0;
}

static int build(struct run *run)
{
    const size_t epochs = run->options->epochs;
    int rc = new_index(run, &tree_engine, &run->whole);

    for (size_t e = 0; e < epochs && rc == 0; e++) {
        for (size_t i = 0; i < HEARSAY_KEY_BYTES; i++) {
            run->keys[e][i] = (uint8_t)filters_random(&run->random);
        }
        rc = new_index(run, &tree_engine, &run->trees[e]);
        if (rc == 0) {
            rc = new_index(run, &list_engine, &run->lists[e]);
        }
    }
    for (size_t i = 0; i < run->options->messages && rc == 0; i++) {
        rc = add_message(run, i);
    }
    if (rc == 0 && index_arrange(run->whole, NULL) != 0) {
        rc = bench_fail("memory is short");
    }
    for (size_t e = 0; e < epochs && rc == 0; e++) {
        if (index_arrange(run->trees[e], NULL) != 0 || index_arrange(run->lists[e], NULL) != 0) {
            rc = bench_fail("memory is short");
        }
    }
    return rc;
}

/* --- queries ---------------------------------------------------------------------------------- */

/* Asks once; the search is the caller's. */
static int ask(const struct run *run, const struct index_part *parts, size_t count,
               struct index_search **out_search, double *out_ns)
{
    const struct index_query query = plain_index_query(parts, count, run->options->k);
    const int64_t begin = stats_cpu_ns();

    if (index_search_new(alloc_system(), &query, out_search) != 0) {
        return bench_fail("memory is short");
    }
    (void)index_search_step(*out_search, UINT64_MAX, 0);
    *out_ns = (double)(stats_cpu_ns() - begin);
    return 0;
}

static void compare(struct run *run, struct index_search *one, struct index_search *other)
{
    uint32_t count = 0;
    uint32_t expected_count = 0;
    const struct nearest_candidate *found = index_search_results(one, &count);
    const struct nearest_candidate *expected = index_search_results(other, &expected_count);
    bool same = count == expected_count;

    for (uint32_t i = 0; same && i < count; i++) {
        same = memcmp(found[i].item.id, expected[i].item.id, MESSAGE_ID_BYTES) == 0;
    }
    run->differing += !same;
}

/* One query, ROUNDS times over both; the medians. */
static int measure_query(struct run *run, bool check, double *out_whole_ns, double *out_merged_ns)
{
    const size_t epochs = run->options->epochs;
    uint64_t plain[PROFILE_WORDS_MAX];
    static uint64_t keyed[LIMIT_PARTS][PROFILE_WORDS_MAX];
    struct index_part whole = {.index = run->whole, .filter = plain};
    struct index_part merged[LIMIT_PARTS] = {{NULL, NULL, NULL}};
    struct index_part listed[LIMIT_PARTS] = {{NULL, NULL, NULL}};
    struct index_search *searches[3] = {NULL, NULL, NULL};
    double whole_ns[ROUNDS];
    double merged_ns[ROUNDS];
    double list_ns = 0;
    struct context context;
    int rc = 0;

    make_context(&run->random, &context);
    rc = encode(run, &context, NULL, plain);
    for (size_t e = 0; e < epochs && rc == 0; e++) {
        rc = encode(run, &context, run->keys[e], keyed[e]);
        merged[e] = (struct index_part){.index = run->trees[e], .filter = keyed[e]};
        listed[e] = (struct index_part){.index = run->lists[e], .filter = keyed[e]};
    }
    for (size_t r = 0; r < ROUNDS && rc == 0; r++) {
        rc = ask(run, &whole, 1, &searches[0], &whole_ns[r]);
        if (rc == 0) {
            rc = ask(run, merged, epochs, &searches[1], &merged_ns[r]);
        }
        if (rc == 0 && r == 0) {
            run->whole_bytes += (double)search_bytes(searches[0]);
            run->merged_bytes += (double)search_bytes(searches[1]);
        }
        if (rc == 0 && r == 0 && check) {
            rc = ask(run, listed, epochs, &searches[2], &list_ns);
            run->list_ns += list_ns;
            compare(run, searches[1], searches[2]);
        }
        for (size_t s = 0; s < 3; s++) {
            index_search_free(searches[s]);
            searches[s] = NULL;
        }
    }
    if (rc == 0) {
        *out_whole_ns = stats_median(whole_ns, ROUNDS);
        *out_merged_ns = stats_median(merged_ns, ROUNDS);
    }
    return rc;
}

static void print(struct run *run, double *whole_ns, double *merged_ns, double *ratios)
{
    const struct options *options = run->options;
    const size_t n = options->queries;
    const size_t checked = n < CHECKED ? n : CHECKED;
    const double ratio = stats_median(ratios, n);
    const double whole = stats_median(whole_ns, n);
    const double merged = stats_median(merged_ns, n);

    if (options->json) {
        printf("{\"messages\":%zu,\"epochs\":%zu,\"skewed\":%s,\"k\":%u,\"m\":%u,"
               "\"whole_ns_median\":%.0f,\"merged_ns_median\":%.0f,\"ratio_of_medians\":%.3f,"
               "\"ratio_median\":%.3f,\"ratio_p90\":%.3f,\"whole_bytes\":%.0f,"
               "\"merged_bytes\":%.0f,\"lists_ns\":%.0f,\"differing\":%zu,\"checked\":%zu,"
               "\"cpu\":\"%s\"}\n",
               options->messages, options->epochs, options->skewed ? "true" : "false", options->k,
               options->profile.bits, whole, merged, merged / whole, ratio,
               stats_percentile(ratios, n, 0.9), run->whole_bytes / (double)n,
               run->merged_bytes / (double)n, run->list_ns / (double)checked, run->differing,
               checked, run->kernels->name);
        return;
    }
    printf("%zu messages, %zu epochs%s, m = %u, k = %u, %s, %zu queries\n", options->messages,
           options->epochs, options->skewed ? " (skewed)" : "", options->profile.bits, options->k,
           run->kernels->name, n);
    printf("  one tree                 %8.1f us %10.0f bytes read\n", whole / 1000,
           run->whole_bytes / (double)n);
    printf("  merged over the epochs   %8.1f us %10.0f bytes read\n", merged / 1000,
           run->merged_bytes / (double)n);
    printf("  as lists                 %8.1f us\n", run->list_ns / (double)checked / 1000);
    printf("  merged / one tree        %8.2f of the medians, %.2f median, %.2f at 90 %%\n",
           merged / whole, ratio, stats_percentile(ratios, n, 0.9));
    printf("  answers unlike the lists' %7zu of %zu\n", run->differing, checked);
}

static int measure(struct run *run)
{
    const size_t n = run->options->queries;
    double *whole_ns = calloc(n, sizeof(*whole_ns));
    double *merged_ns = calloc(n, sizeof(*merged_ns));
    double *ratios = calloc(n, sizeof(*ratios));
    int rc =
        whole_ns == NULL || merged_ns == NULL || ratios == NULL ? bench_fail("memory is short") : 0;

    for (size_t q = 0; q < n && rc == 0; q++) {
        rc = measure_query(run, q < CHECKED, &whole_ns[q], &merged_ns[q]);
        if (rc == 0) {
            ratios[q] = merged_ns[q] / whole_ns[q];
        }
    }
    if (rc == 0) {
        print(run, whole_ns, merged_ns, ratios);
        rc = run->differing == 0 ? 0 : bench_fail("an answer is wrong");
    }
    free(whole_ns);
    free(merged_ns);
    free(ratios);
    return rc;
}

/* --- options ---------------------------------------------------------------------------------- */

static enum options_outcome read_options(int argc, char **argv, struct options *options)
{
    const struct option_row rows[] = {
        OPTION_SIZE("n", "N", &options->messages, 1, FILTERS_COUNT_MAX, "messages (100000)"),
        OPTION_SIZE("epochs", "N", &options->epochs, 1, LIMIT_PARTS, "epochs (24)"),
        OPTION_FLAG("skewed", &options->skewed,
                    "half of the messages lie in one epoch, half of the rest in the\n"
                    "next, and so on"),
        OPTION_SIZE("queries", "N", &options->queries, 1, 1000000, "queries (200)"),
        OPTION_U32("k", "K", &options->k, 1, BENCH_K_MAX, "nearest messages asked for (10)"),
        OPTION_PROFILE("profile", "PROFILE", &options->profile,
                       "how labels become filters (v2:512/4)"),
        OPTION_FLAG("json", &options->json, "one JSON object"),
    };
    const struct options_table table = {
        .command = "epochs",
        .about = "One query over many epochs beside one tree with the same messages.\n",
        .groups = {{NULL, rows, sizeof(rows) / sizeof(rows[0])}},
    };

    return options_read(&table, argc, argv);
}

int bench_epochs(int argc, char **argv)
{
    struct options options = {.messages = 100000, .queries = 200, .epochs = 24, .k = 10};
    struct run run = {.options = &options, .random = 7117};

    if (bench_profile("v2:512/4", &options.profile) != 0) {
        return -1;
    }
    const enum options_outcome outcome = read_options(argc, argv, &options);
    if (outcome != OPTIONS_RUN) {
        return outcome == OPTIONS_HELP ? 0 : -1;
    }
    run.kernels = bench_kernels();
    int rc = run.kernels == NULL ? -1 : 0;
    if (rc == 0) {
        rc = build(&run);
    }
    if (rc == 0) {
        rc = measure(&run);
    }
    index_free(run.whole);
    for (size_t e = 0; e < LIMIT_PARTS; e++) {
        index_free(run.trees[e]);
        index_free(run.lists[e]);
    }
    return rc;
}
