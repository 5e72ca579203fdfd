/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peers: asks libraries for nearest neighbours what the tree and the list are asked, with the same
 * filters. All take turns after each query; then each is asked alone. Times are processor times of
 * one thread. scripts/peers builds this program. The exit status is 1 if an answer of the tree is
 * not the list's.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/index/engine.h"
#include "core/index/index.h"
#include "tests/bench/bench.h"
#include "tests/bench/filters.h"
#include "tests/bench/options.h"
#include "tests/bench/stats.h"
#include "tests/peers/peers.h"
#include "tests/reference/engines.h"

enum { ROUNDS = 3, SIDES_MAX = 16, NAME_BYTES = 48 };

static const struct peer *const libraries[] = {
#ifdef PEERS_HNSWLIB
    &peer_hnswlib,
#endif
#ifdef PEERS_USEARCH
    &peer_usearch,
#endif
#ifdef PEERS_FAISS
    &peer_faiss_flat, &peer_faiss_hnsw,
#endif
#ifdef PEERS_RDKIT
    &peer_rdkit,
#endif
    &peer_rows,       &peer_bitbound,
};
enum { LIBRARIES = sizeof(libraries) / sizeof(libraries[0]) };

struct options {
    struct filters_options filters;
    uint32_t hashes;
    uint32_t k;
    uint32_t seconds; /* for building one index of a library */
};

/* One row of the table: an engine of ours or a library with one effort. */
struct side {
    char name[NAME_BYTES];
    struct index *index;   /* of ours, or NULL */
    const struct peer *of; /* of a library, or NULL */
    void *made;            /* its index, shared by the rows of its efforts */
    uint32_t effort;
    double build_s; /* processor time */
    double bytes;   /* for each filter: of ours as they count themselves, of others the growth of
                     the process */
    double *turn_ns;
    double alone_ns;
    uint64_t right; /* results that are as near as the k-th nearest */
    uint64_t whole; /* answers whose k-th result is as near as the k-th nearest */
};

struct run {
    const struct options *options;
    struct filters filters;
    struct side sides[SIDES_MAX];
    size_t count;
    uint64_t wanted; /* results in all answers of the list */
};

/* A similarity as a fraction: the bits that two filters share, and all bits of the two. */
struct ratio {
    uint32_t shared;
    uint32_t all;
};

static struct ratio compare_filters(const uint64_t *a, const uint64_t *b)
{
    struct ratio ratio = {0, 0};

    for (size_t i = 0; i < PEERS_WORDS; i++) {
        ratio.shared += (uint32_t)__builtin_popcountll(a[i] & b[i]);
        ratio.all += (uint32_t)__builtin_popcountll(a[i] | b[i]);
    }
    return ratio;
}

static bool is_as_near(struct ratio ratio, struct ratio as)
{
    return (uint64_t)ratio.shared * as.all >= (uint64_t)as.shared * ratio.all;
}

static size_t ask_index(struct index *index, const uint64_t *filter, uint32_t k, uint64_t *out)
{
    const struct index_part part = {.index = index, .filter = filter};
    const struct index_query query = filters_query(&part, 1, k);
    struct index_search *search = NULL;
    uint32_t count = 0;

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
    const uint64_t *filter = run->filters.queries.words + q * PEERS_WORDS;
    const uint32_t k = run->options->k;
    const int64_t begin = stats_cpu_ns();
    const size_t count = side->index != NULL
                             ? ask_index(side->index, filter, k, out)
                             : side->of->ask(side->made, filter, side->effort, k, out);

    *out_ns = (double)(stats_cpu_ns() - begin);
    return count;
}

/* Counts the right results of one answer. `kth`: the similarity of the list's last result. */
static void judge_answer(const struct run *run, struct side *side, size_t q, const uint64_t *found,
                         size_t count, struct ratio kth, size_t wanted)
{
    const uint64_t *filter = run->filters.queries.words + q * PEERS_WORDS;
    size_t right = 0;

    for (size_t i = 0; i < count; i++) {
        right += is_as_near(compare_filters(filter, filters_stored(&run->filters, found[i])), kth);
    }
    side->right += right;
    side->whole += right == wanted;
}

static int ask_in_turns(struct run *run)
{
    uint64_t found[PEERS_K_MAX];
    double ns[SIDES_MAX][ROUNDS];

    for (size_t q = 0; q < run->filters.queries.count; q++) {
        struct ratio kth = {0, 0};
        size_t wanted = 0;

        for (size_t round = 0; round < ROUNDS; round++) {
            for (size_t s = 0; s < run->count; s++) {
                const size_t count = ask_side(run, &run->sides[s], q, found, &ns[s][round]);

                if (round == 0 && s == 0) {
                    if (count == 0) {
                        return bench_fail("the list has no answer");
                    }
                    wanted = count;
                    run->wanted += count;
                    kth = compare_filters(run->filters.queries.words + q * PEERS_WORDS,
                                          filters_stored(&run->filters, found[count - 1]));
                }
                if (round == 0) {
                    judge_answer(run, &run->sides[s], q, found, count, kth, wanted);
                }
            }
        }
        for (size_t s = 0; s < run->count; s++) {
            run->sides[s].turn_ns[q] = stats_median(ns[s], ROUNDS);
        }
    }
    return 0;
}

static int ask_alone(struct run *run)
{
    const size_t count = run->filters.queries.count;
    uint64_t found[PEERS_K_MAX];
    double *ns = calloc(count, sizeof(*ns));

    for (size_t s = 0; ns != NULL && s < run->count; s++) {
        for (int round = 0; round < 2; round++) { /* the first one fills the caches */
            for (size_t q = 0; q < count; q++) {
                (void)ask_side(run, &run->sides[s], q, found, &ns[q]);
            }
        }
        run->sides[s].alone_ns = stats_median(ns, count);
    }
    free(ns);
    return ns != NULL ? 0 : bench_fail("memory is short");
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

static struct side *add_side(struct run *run, const struct side *from)
{
    struct side *side = &run->sides[run->count++];

    *side = *from;
    side->turn_ns = calloc(run->filters.queries.count, sizeof(*side->turn_ns));
    return side->turn_ns != NULL ? side : NULL;
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
    return add_side(run, &side) != NULL ? 0 : bench_fail("memory is short");
}

/* Adds a row for each effort. A library that is too slow is left out, and the table says so. */
static int add_library(struct run *run, const struct peer *peer)
{
    const size_t count = run->filters.stored.count;
    const double bytes = resident_bytes();
    struct side side = {.of = peer, .build_s = process_cpu_s()};

    side.made = peer->build(filters_stored(&run->filters, 0), count, run->options->seconds);
    side.build_s = process_cpu_s() - side.build_s;
    if (side.made == NULL) {
        printf("%s: left out, not built within %u s\n", peer->name, run->options->seconds);
        return 0;
    }
    side.bytes = (resident_bytes() - bytes) / (double)count;
    for (size_t e = 0; e == 0 || (e < PEERS_EFFORTS && peer->efforts[e] != 0); e++) {
        side.effort = peer->efforts[e];
        if (side.effort != 0) {
            snprintf(side.name, sizeof(side.name), "%s %u", peer->name, side.effort);
        } else {
            snprintf(side.name, sizeof(side.name), "%s", peer->name);
        }
        if (add_side(run, &side) == NULL) {
            return bench_fail("memory is short");
        }
    }
    return 0;
}

static void print_table(struct run *run)
{
    const size_t queries = run->filters.queries.count;
    double list_ns = 0;

    printf("\n%s, N = %zu, %u bits, d = %u, k = %u, %zu queries, kernels %s\n\n",
           run->options->filters.workload, run->filters.stored.count, PEERS_BITS,
           run->options->hashes, run->options->k, queries, bench_kernels()->name);
    printf("| | us in turns | / list | us alone | / list | recall | k-th right | build, s of CPU | "
           "bytes |\n|---|---|---|---|---|---|---|---|---|\n");
    for (size_t s = 0; s < run->count; s++) {
        struct side *side = &run->sides[s];
        const double ns = stats_median(side->turn_ns, queries);

        list_ns = s == 0 ? ns : list_ns;
        printf("| %s | %.1f | %.3f | %.1f | %.3f | %.3f | %.0f %% | %.1f | %.0f |\n", side->name,
               ns / 1000, ns / list_ns, side->alone_ns / 1000,
               side->alone_ns / run->sides[0].alone_ns, (double)side->right / (double)run->wanted,
               100 * (double)side->whole / (double)queries, side->build_s, side->bytes);
    }
}

static void free_sides(struct run *run)
{
    for (size_t s = 0; s < run->count; s++) {
        struct side *side = &run->sides[s];
        const bool is_last = s + 1 == run->count || run->sides[s + 1].made != side->made;

        if (side->made != NULL && is_last) {
            side->of->destroy(side->made);
        }
        index_free(side->index);
        free(side->turn_ns);
    }
}

static int measure(struct run *run)
{
    int rc = add_engine(run, &list_engine);

    rc = rc == 0 ? add_engine(run, &tree_engine) : rc;
    for (size_t i = 0; rc == 0 && i < LIBRARIES; i++) {
        rc = add_library(run, libraries[i]);
    }
    rc = rc == 0 ? ask_in_turns(run) : rc;
    rc = rc == 0 ? ask_alone(run) : rc;
    if (rc == 0) {
        print_table(run);
        if (run->sides[1].whole != run->filters.queries.count) {
            rc = bench_fail("the tree's answers are not the list's");
        }
    }
    return rc;
}

static enum options_outcome read_options(int argc, char **argv, struct options *options)
{
    struct option_row filter_rows[FILTERS_ROWS];
    const struct option_row rows[] = {
        {.name = "n",
         .value = "N",
         .size = &options->filters.count,
         .least = 1,
         .most = FILTERS_COUNT_MAX,
         .help = "filters to store"},
        {.name = "query-count",
         .value = "N",
         .size = &options->filters.query_count,
         .least = 1,
         .most = FILTERS_COUNT_MAX,
         .help = "queries (default: 100)"},
        {.name = "d",
         .value = "D",
         .u32 = &options->hashes,
         .least = 1,
         .most = PROFILE_HASHES_MAX,
         .help = "hashes of a label (default: 4)"},
        {.name = "k",
         .value = "K",
         .u32 = &options->k,
         .least = 1,
         .most = PEERS_K_MAX,
         .help = "answers wanted (default: 10)"},
        {.name = "seconds",
         .value = "N",
         .u32 = &options->seconds,
         .least = 1,
         .most = 86400,
         .help = "leaves out a library that needs longer to build (default: 150)"},
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
    struct options options = {.filters = filters_standard, .hashes = 4, .k = 10, .seconds = 150};
    struct run run = {.options = &options};
    struct profile profile;
    char text[PROFILE_TEXT_MAX];

    /* A constant threshold: otherwise the index of a library could take room that an earlier one
     * left, and would not count. */
    (void)mallopt(M_MMAP_THRESHOLD, 128 * 1024);
    options.filters.query_count = 100;
    const enum options_outcome outcome = read_options(argc, argv, &options);
    if (outcome != OPTIONS_RUN) {
        return outcome == OPTIONS_HELP ? 0 : 2;
    }
    snprintf(text, sizeof(text), "v1:%u/%u", PEERS_BITS, options.hashes);
    int rc = bench_profile(text, &profile);
    rc = rc == 0 ? filters_make(&options.filters, &profile, &run.filters) : rc;
    rc = rc == 0 ? measure(&run) : rc;
    free_sides(&run);
    filters_deinit(&run.filters);
    return rc == 0 ? 0 : 1;
}
