/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peers: asks libraries for nearest neighbours what the tree and the list are asked, with the same
 * filters, in the default profile and by the default metric. First each library is asked with every
 * effort, to find the least with which it finds enough. With this one it takes turns with the
 * others: after each query, and then after each pass of all queries. Times are processor times of
 * one thread. scripts/peers builds this program. The exit status is 1 if an answer of the tree is
 * not the list's.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/filter/bloom.h"
#include "core/index/engine.h"
#include "core/index/index.h"
#include "core/profile/phi.h"
#include "tests/bench/bench.h"
#include "tests/bench/defaults.h"
#include "tests/bench/filters.h"
#include "tests/bench/options.h"
#include "tests/bench/stats.h"
#include "tests/lib/plain_query.h"
#include "tests/peers/peers.h"
#include "tests/reference/engines.h"

/*
 * ROUNDS: of turns after a query, and of turns after a pass. SLACK: by how many units of 2^-24 a
 * result may be farther than the k-th nearest, because libraries compute with floats.
 */
enum { ROUNDS = 5, SIDES_MAX = 16, NAME_BYTES = 64, SLACK = 4 };

static const struct peer *const libraries[] = {
#ifdef PEERS_HNSWLIB
    &peer_hnswlib,    &peer_hnswlib_once,
#endif
#ifdef PEERS_USEARCH
    &peer_usearch,
#endif
#ifdef PEERS_FAISS
    &peer_faiss_hnsw,
#endif
    &peer_rows,
};
enum { LIBRARIES = sizeof(libraries) / sizeof(libraries[0]) };

struct options {
    struct filters_options filters;
    struct profile profile;
    enum index_metric metric;
    uint32_t k;
    uint32_t seconds;   /* for building one index of a library */
    const char *only;   /* libraries whose names begin so, or NULL: all */
    uint32_t per_mille; /* the recall that an effort must have */
};

/* What is right: for each query of the list, how many results, and the last one's similarity. */
struct truth {
    struct similarity kth;
    size_t wanted;
};

/* One row of the table: an engine of ours or a library with one effort. */
struct side {
    char name[NAME_BYTES];
    struct index *index;   /* of ours, or NULL */
    const struct peer *of; /* of a library, or NULL */
    void *made;            /* its index */
    uint32_t effort;
    double build_s;  /* processor time */
    double bytes;    /* for each filter: of ours as they count themselves, of others the growth of
                      the process */
    double *turn_ns; /* of each query */
    double alone_ns[ROUNDS]; /* of each pass, the median of its queries */
    double recall;           /* the share of results as near as the k-th nearest */
};

struct run {
    const struct options *options;
    struct filters filters;
    struct peers_metric metric;
    struct side sides[SIDES_MAX];
    size_t count;
    struct truth *truth; /* of each query */
    double *ns;          /* room for a number of each query */
};

static int make_metric(struct run *run)
{
    const struct profile *profile = &run->options->profile;

    run->metric.is_phi = run->options->metric == INDEX_METRIC_PHI;
    run->metric.section_count = run->metric.is_phi ? profile->section_count : 1;
    run->metric.sections[0].bits = PEERS_BITS;
    if (profile->bits != PEERS_BITS || profile->section_count > PEERS_SECTIONS) {
        return bench_fail("the profile must have %u bits and at most %u sections", PEERS_BITS,
                          PEERS_SECTIONS);
    }
    for (uint32_t s = 0; run->metric.is_phi && s < profile->section_count; s++) {
        run->metric.sections[s].first_bit = profile->sections[s].first_bit;
        run->metric.sections[s].bits = profile->sections[s].bits;
    }
    return 0;
}

static const uint64_t *query_filter(const struct run *run, size_t q)
{
    return run->filters.queries.words + q * PEERS_WORDS;
}

/* The similarity of a stored filter, computed anew by what hearsay says it is. */
static struct similarity similarity_to(const struct run *run, size_t q, uint64_t number)
{
    const uint64_t *query = query_filter(run, q);
    const uint64_t *stored = filters_stored(&run->filters, number);
    struct phi_query asked;
    uint32_t shared = 0;
    uint32_t all = 0;

    for (size_t i = 0; i < PEERS_WORDS; i++) {
        shared += (uint32_t)__builtin_popcountll(query[i] & stored[i]);
        all += (uint32_t)__builtin_popcountll(query[i] | stored[i]);
    }
    if (!run->metric.is_phi) {
        return similarity_of(shared, all);
    }
    phi_ask(&asked, &run->options->profile, query);
    return phi_similarity(&asked, stored, shared);
}

static bool is_as_near(struct similarity similarity, struct similarity kth)
{
    const uint32_t floor = similarity_floor(kth);

    return similarity_floor(similarity) + SLACK >= floor;
}

static size_t ask_index(const struct run *run, struct index *index, const uint64_t *filter,
                        uint64_t *out)
{
    const struct index_part part = {.index = index, .filter = filter};
    struct index_query query = plain_index_query(&part, 1, run->options->k);
    struct index_search *search = NULL;
    uint32_t count = 0;

    query.metric = run->options->metric;
    if (index_search_new(alloc_system(), &query, &search) != 0) {
        return 0;
    }
    (void)index_search_step(search, UINT64_MAX, 0);
    const struct nearest_candidate *found = index_search_results(search, &count);
    for (uint32_t i = 0; i < count; i++) {
        /* filters_item writes the number there */
        memcpy(&out[i], found[i].item.id + sizeof(uint64_t), sizeof(uint64_t));
    }
    index_search_free(search);
    return count;
}

static size_t ask_side(const struct run *run, const struct side *side, size_t q, uint64_t *out,
                       double *out_ns)
{
    const uint64_t *filter = query_filter(run, q);
    const uint32_t k = run->options->k;
    const int64_t begin = stats_cpu_ns();
    const size_t count = side->index != NULL
                             ? ask_index(run, side->index, filter, out)
                             : side->of->ask(side->made, filter, side->effort, k, out);

    *out_ns = (double)(stats_cpu_ns() - begin);
    return count;
}

/* Asks one side all queries, writes the median time, and returns how many results are right. */
static size_t pass(struct run *run, const struct side *side, bool judged, double *out_median_ns)
{
    const size_t queries = run->filters.queries.count;
    uint64_t found[PEERS_K_MAX];
    size_t right = 0;

    for (size_t q = 0; q < queries; q++) {
        const size_t count = ask_side(run, side, q, found, &run->ns[q]);

        for (size_t i = 0; judged && i < count; i++) {
            right += is_as_near(similarity_to(run, q, found[i]), run->truth[q].kth);
        }
    }
    *out_median_ns = stats_median(run->ns, queries);
    return right;
}

static double recall_of(struct run *run, const struct side *side, double *out_ns)
{
    size_t wanted = 0;

    for (size_t q = 0; q < run->filters.queries.count; q++) {
        wanted += run->truth[q].wanted;
    }
    return (double)pass(run, side, true, out_ns) / (double)wanted;
}

static int find_truth(struct run *run)
{
    uint64_t found[PEERS_K_MAX];
    double ns = 0;

    for (size_t q = 0; q < run->filters.queries.count; q++) {
        const size_t count = ask_side(run, &run->sides[0], q, found, &ns);

        if (count == 0) {
            return bench_fail("the list has no answer");
        }
        run->truth[q] = (struct truth){similarity_to(run, q, found[count - 1]), count};
    }
    return 0;
}

/*
 * Asks a library with each effort, the first pass of which fills the caches, and leaves it with the
 * least that finds enough, or with the greatest.
 */
static void choose_effort(struct run *run, struct side *side)
{
    bool is_enough = false;
    double ns = 0;

    if (side->of == NULL || side->of->efforts[0] == 0) {
        side->recall = recall_of(run, side, &ns);
        return;
    }
    printf("%s, us [recall]:", side->of->name);
    for (size_t e = 0; e < PEERS_EFFORTS && side->of->efforts[e] != 0; e++) {
        struct side tried = *side;

        tried.effort = side->of->efforts[e];
        (void)pass(run, &tried, false, &ns);
        tried.recall = recall_of(run, &tried, &ns);
        printf(" %s %u %.0f [%.4f]%s", side->of->effort_name, tried.effort, ns / 1000, tried.recall,
               e + 1 < PEERS_EFFORTS ? "," : "\n");
        if (!is_enough) {
            side->effort = tried.effort;
            side->recall = tried.recall;
            is_enough = tried.recall * 1000 >= run->options->per_mille;
        }
    }
    snprintf(side->name, sizeof(side->name), "%s, %s %u", side->of->name, side->of->effort_name,
             side->effort);
    (void)fflush(stdout);
}

static void ask_in_turns(struct run *run)
{
    uint64_t found[PEERS_K_MAX];
    double ns[SIDES_MAX][ROUNDS];

    for (size_t q = 0; q < run->filters.queries.count; q++) {
        for (size_t round = 0; round < ROUNDS; round++) {
            for (size_t s = 0; s < run->count; s++) {
                (void)ask_side(run, &run->sides[s], q, found, &ns[s][round]);
            }
        }
        for (size_t s = 0; s < run->count; s++) {
            run->sides[s].turn_ns[q] = stats_median(ns[s], ROUNDS);
        }
    }
}

/* Each side asks all queries twice, of which the second pass counts; then comes the next side. */
static void ask_alone(struct run *run)
{
    for (size_t round = 0; round < ROUNDS; round++) {
        for (size_t s = 0; s < run->count; s++) {
            (void)pass(run, &run->sides[s], false, &run->sides[s].alone_ns[round]);
            (void)pass(run, &run->sides[s], false, &run->sides[s].alone_ns[round]);
        }
    }
}

/* Returns the resident bytes of the process; 0 if they cannot be read. */
static double resident_bytes(void)
{
    unsigned long all = 0;
    unsigned long resident = 0;

    (void)malloc_trim(0); /* there may be nothing to give back */
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL) {
        return 0;
    }
    if (fscanf(file, "%lu %lu", &all, &resident) != 2) {
        resident = 0;
    }
    (void)fclose(file); /* it was only read */
    return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

static double process_cpu_s(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now); /* cannot fail */
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int add_side(struct run *run, const struct side *from)
{
    struct side *side = &run->sides[run->count++];

    *side = *from;
    side->turn_ns = calloc(run->filters.queries.count, sizeof(*side->turn_ns));
    return side->turn_ns != NULL ? 0 : bench_fail("memory is short");
}

static int add_engine(struct run *run, const struct index_engine *engine)
{
    struct side side = {.build_s = process_cpu_s()};
    const size_t count = run->filters.stored.count;

    snprintf(side.name, sizeof(side.name), "**%s**", engine->name);
    if (bench_index_new(engine, &run->filters.profile, bench_kernels(), &side.index) != 0) {
        return -1;
    }
    if (filters_insert(&run->filters, side.index, 0, count) != 0 ||
        index_arrange(side.index, NULL) != 0) {
        return bench_fail("%s: memory is short", engine->name);
    }
    side.build_s = process_cpu_s() - side.build_s;
    side.bytes = (double)index_bytes(side.index) / (double)count;
    return add_side(run, &side);
}

/* A library that is too slow is left out, and it is said. */
static int add_library(struct run *run, const struct peer *peer)
{
    const size_t count = run->filters.stored.count;
    const double bytes = resident_bytes();
    struct side side = {.of = peer, .build_s = process_cpu_s()};

    side.made =
        peer->build(&run->metric, filters_stored(&run->filters, 0), count, run->options->seconds);
    side.build_s = process_cpu_s() - side.build_s;
    if (side.made == NULL) {
        printf("%s: left out: not built within %u s, or without use here\n", peer->name,
               run->options->seconds);
        return 0;
    }
    side.bytes = (resident_bytes() - bytes) / (double)count;
    snprintf(side.name, sizeof(side.name), "%s", peer->name);
    return add_side(run, &side);
}

static void print_table(struct run *run)
{
    const size_t queries = run->filters.queries.count;
    const double list_alone_ns = stats_median(run->sides[0].alone_ns, ROUNDS);
    const double list_ns = stats_median(run->sides[0].turn_ns, queries);

    printf("\n| | us in turns | / list | us alone | / list | recall | build, s of CPU | bytes |\n"
           "|---|---|---|---|---|---|---|---|\n");
    for (size_t s = 0; s < run->count; s++) {
        struct side *side = &run->sides[s];
        const double ns = stats_median(side->turn_ns, queries);
        const double alone_ns = stats_median(side->alone_ns, ROUNDS);

        printf("| %s | %.1f | %.3f | %.1f | %.3f | %.4f | %.1f | %.0f |\n", side->name, ns / 1000,
               ns / list_ns, alone_ns / 1000, alone_ns / list_alone_ns, side->recall, side->build_s,
               side->bytes);
    }
}

static void print_head(const struct run *run)
{
    char profile[PROFILE_TEXT_MAX];

    profile_print(&run->options->profile, profile);
    printf("\n%s, levels %s, N = %zu, %s, by %s, k = %u, %zu queries, kernels %s\n",
           run->options->filters.workload, run->options->filters.levels ? "on" : "off",
           run->filters.stored.count, profile, run->metric.is_phi ? "phi" : "bits", run->options->k,
           run->filters.queries.count, bench_kernels()->name);
}

static void free_sides(struct run *run)
{
    for (size_t s = 0; s < run->count; s++) {
        struct side *side = &run->sides[s];

        if (side->made != NULL) {
            side->of->destroy(side->made);
        }
        index_free(side->index);
        free(side->turn_ns);
    }
    free(run->truth);
    free(run->ns);
}

static int build_all(struct run *run)
{
    const char *only = run->options->only;
    int rc = add_engine(run, &list_engine);

    rc = rc == 0 ? add_engine(run, &tree_engine) : rc;
    for (size_t i = 0; rc == 0 && i < LIBRARIES; i++) {
        if (only == NULL || strncmp(only, libraries[i]->name, strlen(only)) == 0) {
            rc = add_library(run, libraries[i]);
        }
    }
    return rc;
}

static int measure(struct run *run)
{
    const size_t queries = run->filters.queries.count;

    run->truth = calloc(queries, sizeof(*run->truth));
    run->ns = calloc(queries, sizeof(*run->ns));
    if (run->truth == NULL || run->ns == NULL || queries == 0) {
        return bench_fail(queries == 0 ? "there is nothing to ask" : "memory is short");
    }
    print_head(run);
    if (build_all(run) != 0) {
        return -1;
    }
    fprintf(stderr, "peers: all is built\n");
    if (find_truth(run) != 0) {
        return -1;
    }
    for (size_t s = 0; s < run->count; s++) {
        choose_effort(run, &run->sides[s]);
    }
    ask_in_turns(run);
    ask_alone(run);
    print_table(run);
    return run->sides[1].recall < 1 ? bench_fail("the tree's answers are not the list's") : 0;
}

static int parse_metric(char *text, void *destination)
{
    enum index_metric *metric = destination;

    if (strcmp(text, "phi") != 0 && strcmp(text, "bits") != 0) {
        return bench_fail("--metric takes phi or bits, not %s", text);
    }
    *metric = strcmp(text, "phi") == 0 ? INDEX_METRIC_PHI : INDEX_METRIC_BITS;
    return 0;
}

static enum options_outcome read_options(int argc, char **argv, struct options *options)
{
    struct option_row filter_rows[FILTERS_ROWS];
    const struct option_row rows[] = {
        OPTION_SIZE("n", "N", &options->filters.count, 1, FILTERS_COUNT_MAX,
                    "filters to store (default: 100000 made up, or all there are)"),
        OPTION_TEXT("queries", "FILE", &options->filters.queries_file,
                    "raw filters to ask for (default: the workload's own)"),
        OPTION_SIZE("query-count", "N", &options->filters.query_count, 1, FILTERS_COUNT_MAX,
                    "queries (default: 500)"),
        OPTION_PROFILE("profile", "PROFILE", &options->profile,
                       "how labels become filters, of 512 bits (default: hearsayd's)"),
        OPTION_PARSE("metric", "phi|bits", parse_metric, &options->metric,
                     "of the similarity (default: that of a query)"),
        OPTION_U32("k", "K", &options->k, 1, PEERS_K_MAX, "answers wanted (default: 10)"),
        OPTION_U32("recall", "N", &options->per_mille, 1, 1000,
                   "how many of 1,000 results an effort must find (default: 999)"),
        OPTION_TEXT("only", "NAME", &options->only,
                    "libraries whose names begin so beside the list and the tree,\n"
                    "such as hnswlib"),
        OPTION_U32("seconds", "N", &options->seconds, 1, 86400,
                   "leaves out a library that needs longer to build (default: 150)"),
    };
    const struct options_table table = {
        .command = "peers",
        .about = "The tree and the list beside libraries. docs/notes/peers.md\n",
        .groups = {{"Filters", filter_rows, FILTERS_ROWS},
                   {"Measurement", rows, sizeof(rows) / sizeof(rows[0])}},
    };

    filters_rows(&options->filters, filter_rows);
    return options_read(&table, argc, argv);
}

int main(int argc, char **argv)
{
    struct options options = {
        .filters = filters_standard, .k = 10, .seconds = 150, .per_mille = 999};
    struct run run = {.options = &options};

    /* A constant threshold: otherwise the index of a library could take room that an earlier one
     * left, and would not count. */
    (void)mallopt(M_MMAP_THRESHOLD, 128 * 1024);
    options.filters.query_count = 500;
    options.filters.levels = true;
    options.metric = bench_default_metric();
    bench_default_profile(&options.profile);
    const enum options_outcome outcome = read_options(argc, argv, &options);
    if (outcome != OPTIONS_RUN) {
        return outcome == OPTIONS_HELP ? 0 : 2;
    }
    int rc = make_metric(&run);
    rc = rc == 0 ? filters_make(&options.filters, &options.profile, &run.filters) : rc;
    rc = rc == 0 ? measure(&run) : rc;
    free_sides(&run);
    filters_deinit(&run.filters);
    return rc == 0 ? 0 : 1;
}
