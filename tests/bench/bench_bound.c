/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hearsay-bench bound: how much any tree with unions can leave out. For some messages, spread over
 * the store, it makes the best group that a tree could have: of the messages that are nearest to
 * this one, the one that adds the fewest bits to the union joins, one after another. No tree can
 * make such a group around each message, so that none can leave out more. A group passes, and a
 * search has to read it, if its bound by phi is not below the k-th nearest message.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/popcount.h"
#include "core/filter/bloom.h"
#include "tests/bench/bench.h"
#include "tests/bench/defaults.h"
#include "tests/bench/filters.h"

enum { GROUP = 8, SIZES = 4, NEAREST = 48, GROUPS = 200, QUERIES = 60, K = 10 };

/* A group has its messages in the order in which they joined; the first 2^i are a group of size i.
 */
struct best_group {
    size_t members[GROUP];
};

/* What is known of the first 2^i members of a group. */
struct united {
    uint64_t whole[PROFILE_WORDS_MAX];
    struct phi_range ranges[PROFILE_SECTIONS_MAX];
};

struct bound_run {
    struct filters filters;
    struct united *groups[SIZES];
    double set[SIZES];       /* set bits of a union on average */
    double passing[SIZES];   /* groups that pass, of all queries */
    double fine;             /* the same of groups of GROUP, by their unions in the section of which
                              * the query has most bits, and by each message in the others */
    double nearest[3];       /* phi of the 1st, the K-th and the 10 K-th */
    struct best_group *best; /* GROUPS */
};

static uint32_t shared_bits(const uint64_t *a, const uint64_t *b, size_t words)
{
    uint32_t count = 0;

    for (size_t w = 0; w < words; w++) {
        count += popcount_word(a[w] & b[w]);
    }
    return count;
}

/* Finds the messages nearest to one by Jaccard's similarity, but none that is equal to it. */
static size_t find_nearest(const struct filters *filters, size_t centre, size_t *out)
{
    double similarity[NEAREST];
    size_t found = 0;
    const size_t words = filters->filter_words;
    const uint64_t *filter = filters_stored(filters, centre);
    const uint32_t set = bloom_cardinality(filter, words);

    for (size_t i = 0; i < filters->stored.count; i++) {
        const uint64_t *other = filters_stored(filters, i);
        const uint32_t shared = shared_bits(filter, other, words);
        const uint32_t all = set + bloom_cardinality(other, words) - shared;
        const double share = all == 0 ? 1 : (double)shared / all;

        if (shared == all || (found == NEAREST && share <= similarity[found - 1])) {
            continue;
        }
        size_t at = found < NEAREST ? found++ : found - 1;
        for (; at > 0 && similarity[at - 1] < share; at--) {
            similarity[at] = similarity[at - 1];
            out[at] = out[at - 1];
        }
        similarity[at] = share;
        out[at] = i;
    }
    return found;
}

static void form(const struct filters *filters, size_t centre, struct best_group *out)
{
    const size_t words = filters->filter_words;
    uint64_t whole[PROFILE_WORDS_MAX];
    size_t near[NEAREST];
    size_t left = find_nearest(filters, centre, near);

    memcpy(whole, filters_stored(filters, centre), words * sizeof(*whole));
    out->members[0] = centre;
    for (size_t m = 1; m < GROUP; m++) {
        size_t best = 0;
        uint32_t least = UINT32_MAX;

        for (size_t c = 0; c < left; c++) {
            const uint64_t *filter = filters_stored(filters, near[c]);
            const uint32_t added =
                bloom_cardinality(filter, words) - shared_bits(whole, filter, words);

            if (added < least) {
                least = added;
                best = c;
            }
        }
        out->members[m] = left > 0 ? near[best] : centre;
        bloom_union(whole, whole, filters_stored(filters, out->members[m]), words);
        if (left > 0) {
            near[best] = near[--left];
        }
    }
}

static void unite(const struct filters *filters, const size_t *members, size_t count,
                  struct united *out)
{
    uint16_t counts[PROFILE_SECTIONS_MAX];

    memset(out, 0, sizeof(*out));
    for (size_t m = 0; m < count; m++) {
        const uint64_t *filter = filters_stored(filters, members[m]);

        bloom_union(out->whole, out->whole, filter, filters->filter_words);
        phi_count(&filters->profile, filter, counts);
        for (uint32_t s = 0; s < filters->profile.section_count; s++) {
            struct phi_range *range = &out->ranges[s];

            range->least = m == 0 || counts[s] < range->least ? counts[s] : range->least;
            range->most = counts[s] > range->most ? counts[s] : range->most;
        }
    }
}

static void note_shared(const struct phi_query *asked, const uint64_t *query, struct united *group)
{
    uint64_t both[PROFILE_WORDS_MAX];

    bloom_intersection(both, query, group->whole, PROFILE_WORDS_MAX);
    for (uint32_t s = 0; s < asked->count; s++) {
        const struct phi_section *section = &asked->sections[s];

        group->ranges[section->number].shared =
            bloom_union_count_range(both, both, section->first_bit, section->bits);
    }
}

static bool passes(const struct phi_query *asked, const struct phi_range *ranges, uint32_t floor)
{
    struct similarity bound;

    return phi_bound(asked, ranges, floor, &bound);
}

/* Whether a group passes by its union in the main section and by one of its messages in others. */
static bool passes_finely(const struct bound_run *run, const struct phi_query *asked,
                          const uint64_t *query, size_t g, uint32_t floor)
{
    uint32_t main = 0;
    bool any = false;

    for (uint32_t s = 1; s < asked->count; s++) {
        main = asked->sections[s].set > asked->sections[main].set ? s : main;
    }
    for (size_t m = 0; m < GROUP && !any; m++) {
        struct united one;

        unite(&run->filters, &run->best[g].members[m], 1, &one);
        note_shared(asked, query, &one);
        one.ranges[asked->sections[main].number] =
            run->groups[SIZES - 1][g].ranges[asked->sections[main].number];
        any = passes(asked, one.ranges, floor);
    }
    return any;
}

static int descending(const void *a, const void *b)
{
    const uint32_t one = *(const uint32_t *)a;
    const uint32_t other = *(const uint32_t *)b;

    return one < other ? 1 : one > other ? -1 : 0;
}

/* Returns the phi of the K-th nearest message. `sorted` has room for all messages. */
static uint32_t find_floor(struct bound_run *run, const struct phi_query *asked,
                           const uint64_t *query, uint32_t *sorted)
{
    const struct filters *filters = &run->filters;
    const size_t count = filters->stored.count;

    for (size_t i = 0; i < count; i++) {
        const uint64_t *filter = filters_stored(filters, i);

        sorted[i] =
            phi_similarity(asked, filter, shared_bits(query, filter, filters->filter_words)).shared;
    }
    qsort(sorted, count, sizeof(*sorted), descending);
    for (size_t n = 0, at = 1; n < 3; n++, at *= K) {
        run->nearest[n] += (double)sorted[(at < count ? at : count) - 1] / PHI_ONE;
    }
    return sorted[(K < count ? K : count) - 1];
}

static void ask(struct bound_run *run, size_t q, uint32_t *sorted)
{
    uint64_t query[PROFILE_WORDS_MAX] = {0};
    struct phi_query asked;

    memcpy(query, run->filters.queries.words + q * run->filters.filter_words,
           run->filters.filter_words * sizeof(*query));
    phi_ask(&asked, &run->filters.profile, query);
    const uint32_t floor = find_floor(run, &asked, query, sorted);
    for (size_t g = 0; g < GROUPS; g++) {
        for (size_t i = 0; i < SIZES; i++) {
            note_shared(&asked, query, &run->groups[i][g]);
            run->passing[i] += passes(&asked, run->groups[i][g].ranges, floor);
        }
        run->fine += passes_finely(run, &asked, query, g, floor);
    }
}

static int measure(struct bound_run *run)
{
    const struct filters *filters = &run->filters;
    const size_t count = filters->stored.count;
    const size_t queries = filters->queries.count;
    uint32_t *sorted = calloc(count, sizeof(*sorted));

    run->best = calloc(GROUPS, sizeof(*run->best));
    for (size_t i = 0; i < SIZES; i++) {
        run->groups[i] = calloc(GROUPS, sizeof(*run->groups[i]));
        if (run->groups[i] == NULL || run->best == NULL || sorted == NULL) {
            free(sorted);
            return bench_fail("memory is short");
        }
    }
    for (size_t g = 0; g < GROUPS; g++) {
        form(filters, g * count / GROUPS, &run->best[g]);
        for (size_t i = 0; i < SIZES; i++) {
            struct united *group = &run->groups[i][g];

            unite(filters, run->best[g].members, (size_t)1 << i, group);
            run->set[i] += bloom_cardinality(group->whole, filters->filter_words);
        }
    }
    for (size_t q = 0; q < queries; q++) {
        ask(run, q, sorted);
    }
    free(sorted);
    return 0;
}

static void print(const struct bound_run *run, const char *workload)
{
    const double queries = (double)run->filters.queries.count;
    const double asked = queries * GROUPS;

    printf("%s, %zu messages, %.0f queries: phi of the 1st %.2f, of the %dth %.2f, of the %dth "
           "%.2f\n"
           "best group of    1          2          4          8   8, and messages in other "
           "sections\nset bits  ",
           workload, run->filters.stored.count, queries, run->nearest[0] / queries, K,
           run->nearest[1] / queries, K * K, run->nearest[2] / queries);
    for (size_t i = 0; i < SIZES; i++) {
        printf("%8.0f   ", run->set[i] / GROUPS);
    }
    printf("\npass      ");
    for (size_t i = 0; i < SIZES; i++) {
        printf("%8.2f %% ", 100 * run->passing[i] / asked);
    }
    printf("%8.2f %%\n", 100 * run->fine / asked);
}

int bench_bound(int argc, char **argv)
{
    struct filters_options options = filters_standard;
    struct option_row rows[FILTERS_ROWS];
    struct bound_run run = {.best = NULL};
    struct profile profile;

    options.levels = true;
    options.query_count = QUERIES;
    filters_rows(&options, rows);
    const struct options_table table = {
        .command = "bound",
        .about = "How much any tree with unions can leave out: docs/notes/tree.md\n",
        .groups = {{"Filters", rows, FILTERS_ROWS}},
    };
    const enum options_outcome outcome = options_read(&table, argc, argv);
    if (outcome != OPTIONS_RUN) {
        return outcome == OPTIONS_REFUSED ? -1 : 0;
    }
    bench_default_profile(&profile);
    int rc = filters_make(&options, &profile, &run.filters);
    if (rc == 0 && (run.filters.stored.count == 0 || run.filters.queries.count == 0)) {
        rc = bench_fail("there is nothing to store or to ask");
    }
    rc = rc == 0 ? measure(&run) : rc;
    if (rc == 0) {
        print(&run, options.workload);
    }
    for (size_t i = 0; i < SIZES; i++) {
        free(run.groups[i]);
    }
    free(run.best);
    filters_deinit(&run.filters);
    return rc;
}
