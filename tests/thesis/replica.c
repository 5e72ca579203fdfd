/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hearsay-bench thesis: the list and the tree of the thesis, and the list and the tree of core,
 * with the same filters of 50 random words each. Prints what each of them answered, and what it
 * took, as lines with commas; thesis.py makes tables and plots of them. See docs/thesis.md.
 *
 * Hashes are chained as in the thesis. The first hash of a word has the seed 0; each next hash has
 * the value of the hash before as its seed. The bit is the value mod m. The hash is XXH3-64. (The
 * thesis's program hashes the string object instead of the text; this mistake is not repeated.) The
 * same seed gives the same filters on every machine, and the first N filters of a larger number are
 * the same as N filters.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/filter/bloom.h"
#include "tests/bench/bench.h"
#include "tests/bench/filters.h"
#include "tests/bench/stats.h"
#include "tests/reference/engines.h"
#include "tests/thesis/tree.h"

enum {
    WORDS_A_FILTER = 50,
    K_MAX = 3,
    SIZES_MAX = 8,
    FILTERS_MAX = 1000000,
    QUERIES_MAX = 1000,
    ROUNDS = 5,
    WORK_A_ROUND = 200000, /* filters that a list would compare */
    REPEATS_MIN = 2,
    REPEATS_MAX = 500
};

/* Who is asked; the first two are the thesis's. */
enum side { THESIS_LIST, THESIS_TREE, LIST, TREE, SIDES };

static const char *const side_names[SIDES] = {"thesis_list", "thesis_tree", "list", "tree"};

struct options {
    const char *words_file;
    uint64_t seed;
    size_t sizes[SIZES_MAX];
    size_t size_count;
    size_t queries;
};

/* The filters of one size, and who is asked about the first n of those that are stored. */
struct trial {
    const struct bits_kernels *kernels;
    struct profile profile;
    uint32_t bits;
    uint32_t hashes;
    size_t words;      /* 64-bit words of a filter */
    uint64_t *queries; /* one after another */
    uint64_t *stored;
    size_t n;
    struct thesis_tree *tree;
    struct index *indexes[SIDES]; /* of core's two, built in bulk */
};

struct answer {
    uint32_t count;
    double distances[K_MAX]; /* nearest first, each computed like thesis_distance */
    double counted;          /* comparisons as the thesis's program counts them, or NAN */
    double overlaps;         /* with filters, unions and summaries, that were computed */
};

/* ---- filters ---- */

static uint64_t *make_filters(const struct trial *trial, const struct wordlist *list, size_t count,
                              uint64_t *state)
{
    uint64_t *filters = calloc(count * trial->words, sizeof(*filters));

    for (size_t i = 0; filters != NULL && i < count * WORDS_A_FILTER; i++) {
        const char *word = list->lines[filters_random(state) % list->count];
        uint64_t value = 0;

        for (uint32_t h = 0; h < trial->hashes; h++) {
            value = hash_seeded(word, strlen(word), value);
            bloom_set(filters + i / WORDS_A_FILTER * trial->words, (uint32_t)(value % trial->bits));
        }
    }
    return filters;
}

/* ---- building ---- */

static double us_a_filter(const struct trial *trial, int64_t since_ns)
{
    return (double)(stats_cpu_ns() - since_ns) / 1000 / (double)trial->n;
}

static void print_built(const struct trial *trial, enum side side, double bytes, double build_us,
                        double bulk_us)
{
    const bool tree = side == THESIS_TREE;

    printf("built,%u,%u,%zu,%s,%.17g,%.17g,%.17g,%zu,%" PRIu64 "\n", trial->bits, trial->hashes,
           trial->n, side_names[side], bytes, build_us, bulk_us,
           tree ? trial->tree->filters + trial->tree->nodes : trial->n,
           tree ? trial->tree->tests : 0);
}

static void build_theirs(struct trial *trial)
{
    const double filters = (double)(trial->n * trial->words * sizeof(uint64_t));

    trial->tree = thesis_tree_new(trial->words);
    const int64_t begin = stats_cpu_ns();
    for (size_t i = 0; i < trial->n; i++) {
        thesis_tree_insert_as_sets(trial->tree, (uint32_t)i, trial->stored + i * trial->words);
    }
    const double us = us_a_filter(trial, begin);
    print_built(trial, THESIS_LIST, filters, NAN, NAN); /* a list needs no building */
    print_built(trial, THESIS_TREE, filters + (double)thesis_tree_bytes(trial->tree), us, NAN);
}

static int insert_all(const struct trial *trial, struct index *index)
{
    for (size_t i = 0; i < trial->n; i++) {
        const struct index_item item = filters_item(i);

        if (index_insert(index, &item, trial->stored + i * trial->words) != 0) {
            return bench_fail("memory is short");
        }
    }
    return 0;
}

/* Twice: one filter after another, to measure the cost, and in bulk, to be queried. */
static int build_ours(struct trial *trial, enum side side)
{
    const struct index_engine *engine = side == LIST ? &list_engine : &tree_engine;
    struct index **index = &trial->indexes[side];
    double us[2];

    for (int bulk = 0; bulk < 2; bulk++) {
        index_free(*index);
        *index = NULL;
        if (bench_index_new(engine, &trial->profile, trial->kernels, index) != 0) {
            return -1;
        }
        const int64_t begin = stats_cpu_ns();
        if (insert_all(trial, *index) != 0) {
            return -1;
        }
        if (bulk == 1 && index_arrange(*index, NULL) != 0) {
            return bench_fail("memory is short");
        }
        us[bulk] = us_a_filter(trial, begin);
    }
    print_built(trial, side, (double)index_bytes(*index), us[0], us[1]);
    return 0;
}

/* ---- asking ---- */

static void ask_theirs(const struct trial *trial, enum side side, const uint64_t *query, uint32_t k,
                       struct answer *out)
{
    struct thesis_hit hits[K_MAX];
    struct thesis_result result;

    if (side == THESIS_LIST) {
        thesis_list_search(trial->stored, trial->n, trial->words, query, k, hits, &result);
    } else {
        thesis_search(trial->tree, query, k, hits, &result);
    }
    out->count = result.count;
    out->counted = (double)result.counted;
    out->overlaps = (double)(result.distances + result.unions);
    for (uint32_t i = 0; i < result.count; i++) {
        out->distances[i] = hits[i].distance;
    }
}

static int ask(const struct trial *trial, enum side side, const uint64_t *query, uint32_t k,
               struct answer *out)
{
    const struct index_part part = {.index = trial->indexes[side], .filter = query};
    const struct index_query asked = plain_index_query(&part, 1, k);
    struct index_search *search = NULL;

    if (part.index == NULL) {
        ask_theirs(trial, side, query, k, out);
        return 0;
    }
    if (index_search_new(alloc_system(), &asked, &search) != 0) {
        return bench_fail("memory is short");
    }
    (void)index_search_step(search, UINT64_MAX, 0); /* no more than one step is left to be done */
    const struct nearest_candidate *found = index_search_results(search, &out->count);
    for (uint32_t i = 0; i < out->count; i++) {
        out->distances[i] = found[i].union_count == 0
                                ? 0
                                : 1 - (double)found[i].intersection / (double)found[i].union_count;
    }
    out->counted = NAN;
    out->overlaps = (double)index_search_comparisons(search);
    index_search_free(search);
    return 0;
}

static int time_round(const struct trial *trial, enum side side, const uint64_t *query, uint32_t k,
                      struct answer *answer, double *out_us)
{
    const size_t wanted = WORK_A_ROUND / trial->n;
    const size_t repeats = wanted < REPEATS_MIN   ? REPEATS_MIN
                           : wanted > REPEATS_MAX ? REPEATS_MAX
                                                  : wanted;
    const int64_t begin = stats_cpu_ns();

    for (size_t i = 0; i < repeats; i++) {
        if (ask(trial, side, query, k, answer) != 0) {
            return -1;
        }
    }
    *out_us = (double)(stats_cpu_ns() - begin) / 1000 / (double)repeats;
    return 0;
}

/* In some rounds, in which all take turns; the time is the median. */
static int ask_all(const struct trial *trial, uint32_t k, size_t q)
{
    const uint64_t *query = trial->queries + q * trial->words;
    struct answer answers[SIDES];
    double us[SIDES][ROUNDS];

    for (size_t round = 0; round < ROUNDS; round++) {
        for (int side = 0; side < SIDES; side++) {
            if (time_round(trial, (enum side)side, query, k, &answers[side], &us[side][round]) !=
                0) {
                return -1;
            }
        }
    }
    for (int side = 0; side < SIDES; side++) {
        const struct answer *answer = &answers[side];

        printf("answer,%u,%u,%zu,%u,%zu,%s,%.17g,%.17g,%.17g", trial->bits, trial->hashes, trial->n,
               k, q, side_names[side], answer->counted, answer->overlaps,
               stats_median(us[side], ROUNDS));
        for (uint32_t i = 0; i < answer->count; i++) {
            printf(",%.17g", answer->distances[i]);
        }
        printf("\n");
    }
    return 0;
}

/* ---- all of it ---- */

static void release(struct trial *trial)
{
    thesis_tree_free(trial->tree);
    trial->tree = NULL;
    for (int side = LIST; side < SIDES; side++) {
        index_free(trial->indexes[side]);
        trial->indexes[side] = NULL;
    }
}

static int measure(struct trial *trial, size_t n, size_t queries)
{
    trial->n = n;
    int rc = 0;
    build_theirs(trial);
    for (int side = LIST; rc == 0 && side < SIDES; side++) {
        rc = build_ours(trial, (enum side)side);
    }
    for (uint32_t k = 1; rc == 0 && k <= K_MAX; k += K_MAX - 1) {
        for (size_t q = 0; rc == 0 && q < queries; q++) {
            rc = ask_all(trial, k, q);
        }
    }
    release(trial);
    (void)fflush(stdout); /* a broken pipe is found when the program ends */
    return rc;
}

static int measure_size(const struct options *options, const struct wordlist *list, uint32_t bits)
{
    struct trial trial = {
        .kernels = bench_kernels(),
        .bits = bits,
        .hashes = bits / 64,
        .words = bloom_words(bits),
    };
    uint64_t state = options->seed;
    size_t most = 0;
    char text[PROFILE_TEXT_MAX];

    snprintf(text, sizeof(text), "v2:%u/%u", trial.bits, trial.hashes);
    if (trial.kernels == NULL || bench_profile(text, &trial.profile) != 0) {
        return -1;
    }
    for (size_t i = 0; i < options->size_count; i++) {
        most = options->sizes[i] > most ? options->sizes[i] : most;
    }
    state = filters_random(&state) ^ bits; /* the sizes have words of their own, as there */
    trial.queries = make_filters(&trial, list, options->queries, &state);
    trial.stored = make_filters(&trial, list, most, &state);
    int rc = trial.queries != NULL && trial.stored != NULL ? 0 : bench_fail("memory is short");
    for (size_t i = 0; rc == 0 && i < options->size_count; i++) {
        rc = measure(&trial, options->sizes[i], options->queries);
    }
    free(trial.queries);
    free(trial.stored);
    return rc;
}

/* "100,1000": numbers with commas between. */
static int parse_sizes(char *text, void *destination)
{
    struct options *options = destination;
    const char *rest = text;

    options->size_count = 0;
    while (options->size_count < SIZES_MAX && *rest >= '0' && *rest <= '9') {
        char *end = NULL;
        const unsigned long long value = strtoull(rest, &end, 10);

        if (value < 1 || value > FILTERS_MAX || (*end != '\0' && *end != ',')) {
            break;
        }
        options->sizes[options->size_count++] = (size_t)value;
        if (*end == '\0') {
            return 0;
        }
        rest = end + 1;
    }
    return bench_fail("-n takes up to %d numbers from 1 to %d with commas between, not %s",
                      SIZES_MAX, FILTERS_MAX, text);
}

static enum options_outcome read_options(int argc, char **argv, struct options *options)
{
    const struct option_row rows[] = {
        OPTION_PARSE("n", "N[,N...]", parse_sizes, options,
                     "numbers of filters, 1 to 1000000, at most 8 (default:\n"
                     "100,1000,10000,100000); ten times as many take the thesis's\n"
                     "insertion a hundred times as long"),
        OPTION_SIZE("query-count", "N", &options->queries, 1, QUERIES_MAX, "queries (default: 10)"),
        OPTION_TEXT("words", "FILE", &options->words_file,
                    "a word a line (default: /usr/share/dict/words)"),
        OPTION_U64("seed", "N", &options->seed, 0, UINT64_MAX,
                   "of the words that are chosen (default: 1)"),
    };
    const struct options_table table = {
        .command = "thesis",
        .about =
            "The thesis's list and tree beside core's, with 50 words a filter, 256 bits (d = 4)\n"
            "and 512 (d = 8), k = 1 and 3: what each answers, as lines for\n"
            "tests/thesis/thesis.py, which makes tables and plots of them.\n",
        .notes = "HEARSAY_CPU=scalar, avx2 or avx512 forces the kernels of core's engines.\n",
        .groups = {{NULL, rows, sizeof(rows) / sizeof(rows[0])}},
    };

    return options_read(&table, argc, argv);
}

int bench_thesis(int argc, char **argv)
{
    struct options options = {
        .words_file = filters_standard.words_file,
        .seed = 1,
        .sizes = {100, 1000, 10000, 100000},
        .size_count = 4,
        .queries = 10,
    };
    const enum options_outcome outcome = read_options(argc, argv, &options);
    struct wordlist list = {0};

    if (outcome != OPTIONS_RUN) {
        return outcome == OPTIONS_HELP ? 0 : -1;
    }
    int rc = wordlist_read(options.words_file, &list);
    if (rc == 0) {
        printf("words,%zu,%016" PRIx64 "\n", list.count, list.checksum);
    }
    for (uint32_t bits = 256; rc == 0 && bits <= 512; bits *= 2) {
        rc = measure_size(&options, &list, bits);
    }
    wordlist_deinit(&list);
    return rc;
}
