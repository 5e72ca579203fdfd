/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server: hearsayd beside PostgreSQL with pgvector, as whole servers on one machine: the same
 * filters, payloads and number of clients, durable deposits, each its own transaction. The servers
 * take turns within a run. pgvector has no phi, so it ranks by Jaccard's distance, as hearsayd does
 * by bits; hearsayd is also asked by phi. scripts/peers starts the servers and this program.
 */
#include "tests/peers/server.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/filter/bloom.h"
#include "core/profile/phi.h"
#include "tests/bench/bench.h"
#include "tests/bench/defaults.h"
#include "tests/bench/options.h"
#include "tests/bench/stats.h"

enum {
    CLIENTS_MAX = 64,
    IN_FLIGHT = 64,  /* of all clients together */
    AT_ONCE = 500,   /* deposits of a transaction while PostgreSQL is filled */
    DEPOSITS = 2000, /* of a turn: so few that hearsayd does not rebuild its index meanwhile */
    ROUNDS = 5
};

struct options {
    struct filters_options filters;
    const char *postgres;
    const char *hearsayd;
    const char *efs; /* with commas, in rising order */
    uint32_t milliseconds;
    bool fill; /* hearsayd, and do no more */
};

static const char *const kind_names[KINDS] = {"hearsayd, by phi", "hearsayd, by bits",
                                              "PostgreSQL with pgvector", "hearsayd, deposits",
                                              "PostgreSQL with pgvector, deposits"};

struct run {
    const struct options *options;
    struct filters filters;
    struct client clients[CLIENTS_MAX];
    size_t deposited[2]; /* by hearsayd and PostgreSQL */
};

/* --- turns ------------------------------------------------------------------------------------ */

static bool is_postgres(enum kind kind)
{
    return kind == POSTGRES || kind == POSTGRES_DEPOSIT;
}

static void *work_on(void *argument)
{
    struct work *work = argument;
    const bool postgres = is_postgres(work->kind);
    size_t sent = 0;

    while (!work->failed) {
        while (sent < work->most && sent - work->done < work->window &&
               stats_now_ns() < work->deadline_ns && !work->failed) {
            const size_t number = work->first + sent * work->step;

            work->failed =
                (postgres ? server_submit_postgres : server_submit_hearsay)(work, number) != 0;
            sent++;
        }
        if (work->failed || sent == work->done) {
            break;
        }
        double unread[K];
        double *distances = work->distances == NULL
                                ? unread
                                : work->distances + (work->first + work->done * work->step) * K;
        work->failed = (postgres ? server_take_postgres(work->client->postgres, distances)
                                 : server_take_hearsay(work, distances)) != 0;
        work->done++;
    }
    return NULL;
}

/*
 * Asks with `clients` threads until `most` requests are answered or `milliseconds` have passed.
 * Writes how many are answered a second.
 */
static int take_turn(struct run *run, enum kind kind, size_t clients, size_t most,
                     uint32_t milliseconds, double *distances, double *out_rate)
{
    struct work works[CLIENTS_MAX];
    pthread_t threads[CLIENTS_MAX];
    size_t *deposited = &run->deposited[kind == POSTGRES_DEPOSIT];
    const bool deposits = kind == HEARSAY_DEPOSIT || kind == POSTGRES_DEPOSIT;
    const int64_t begin_ns = stats_now_ns();
    size_t done = 0;
    int rc = 0;

    for (size_t c = 0; c < clients; c++) {
        works[c] = (struct work){
            .filters = &run->filters,
            .client = &run->clients[c],
            .kind = kind,
            .first = (deposits ? *deposited : 0) + c,
            .step = clients,
            .most = (most - c + clients - 1) / clients,
            /* hearsayd may answer a later query first, and distances are told apart by order */
            .window = distances != NULL ? 1 : IN_FLIGHT / clients,
            .deadline_ns = begin_ns + (int64_t)milliseconds * 1000000,
            .distances = distances,
        };
        if (pthread_create(&threads[c], NULL, work_on, &works[c]) != 0) {
            (void)bench_fail("a thread could not be started");
            abort(); /* the others use this frame */
        }
    }
    for (size_t c = 0; c < clients; c++) {
        (void)pthread_join(threads[c], NULL); /* was started above */
        done += works[c].done;
        rc = works[c].failed ? -1 : rc;
    }
    *deposited += deposits ? done : 0;
    *out_rate = (double)done / ((double)(stats_now_ns() - begin_ns) / 1e9);
    return rc;
}

/* --- what is right ---------------------------------------------------------------------------- */

/* Writes for each query the distance of its k-th nearest filter to out[]: the distance of phi, or
 * of Jaccard. An answer is right if none of its distances is larger. */
static void find_truth(const struct run *run, bool by_phi, double *out)
{
    const struct filters *filters = &run->filters;

    for (size_t q = 0; q < filters->queries.count; q++) {
        const uint64_t *query = filters->queries.words + q * FILTER_WORDS;
        double nearest[K];
        struct phi_query asked;

        phi_ask(&asked, &filters->profile, query);
        for (size_t i = 0; i < K; i++) {
            nearest[i] = 2;
        }
        for (size_t i = 0; i < filters->stored.count; i++) {
            const uint64_t *stored = filters_stored(filters, i);
            const uint32_t shared = bloom_intersection_count(query, stored, FILTER_WORDS);
            const struct similarity similarity =
                by_phi ? phi_similarity(&asked, stored, shared)
                       : similarity_of(shared, bloom_union_count(query, stored, FILTER_WORDS));
            double far = 1 - (double)similarity.shared / similarity.all;

            for (size_t k = 0; k < K && far < 2; k++) { /* sorted, the nearest first */
                if (far < nearest[k]) {
                    const double farther = nearest[k];

                    nearest[k] = far;
                    far = farther;
                }
            }
        }
        out[q] = nearest[K - 1];
    }
}

/*
 * Asks each query once and returns the recall, the share of results that are as near as the k-th
 * nearest, or -1.
 */
static double recall_of(struct run *run, enum kind kind, const double *truth)
{
    const size_t count = run->filters.queries.count;
    double *distances = calloc(count * K, sizeof(*distances));
    double rate = 0;
    size_t right = 0;

    if (distances == NULL || take_turn(run, kind, 1, count, WAIT_MS, distances, &rate) != 0) {
        free(distances);
        return -1;
    }
    for (size_t i = 0; i < count * K; i++) {
        right += distances[i] <= truth[i / K] + 2e-6; /* hearsayd rounds up to millionths */
    }
    free(distances);
    return (double)right / (double)(count * K);
}

/* --- filling the servers ---------------------------------------------------------------------- */

static int run_sql(struct run *run, size_t client, const char *format, unsigned value)
{
    PGconn *connection = run->clients[client].postgres;
    char text[1024];

    snprintf(text, sizeof(text), format, value);
    PGresult *result = PQexec(connection, text);
    const ExecStatusType status = PQresultStatus(result);

    PQclear(result);
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK
               ? 0
               : bench_fail("PostgreSQL: %s: %s", text, PQerrorMessage(connection));
}

static int enter_pipeline(struct run *run, size_t client)
{
    return PQenterPipelineMode(run->clients[client].postgres) == 1
               ? 0
               : bench_fail("PostgreSQL: there is no pipeline");
}

static int connect_postgres(struct run *run)
{
    for (size_t c = 0; c < CLIENTS_MAX; c++) {
        struct client *client = &run->clients[c];

        client->postgres = PQconnectdb(run->options->postgres);
        if (PQstatus(client->postgres) != CONNECTION_OK) {
            return bench_fail("PostgreSQL: %s", PQerrorMessage(client->postgres));
        }
    }
    return 0;
}

static int connect_hearsay(struct run *run)
{
    const struct hearsay_connect options = {
        .server = run->options->hearsayd, .agent = "peers", .timeout_ms = WAIT_MS};

    for (size_t c = 0; c < CLIENTS_MAX; c++) {
        struct client *client = &run->clients[c];
        struct hearsay_error error;

        if (hearsay_connect(&options, &client->hearsay, &error) != HEARSAY_OK) {
            return bench_fail("hearsayd: %s", error.sentence);
        }
    }
    return 0;
}

/* Each statement is planned once for all. */
static int prepare_all(struct run *run)
{
    int rc = 0;

    for (size_t c = 0; c < CLIENTS_MAX && rc == 0; c++) {
        rc = run_sql(run, c, "set plan_cache_mode = force_generic_plan", 0);
        rc = rc == 0
                 ? run_sql(run, c,
                           "prepare deposit(uuid, bit, bytea, bytea, int8, int8) as insert into "
                           "messages values ($1, $2, 'text/plain', $3, $4, $5, $6)",
                           0)
                 : rc;
        rc = rc == 0 ? run_sql(run, c,
                               "prepare query(bit) as select id, filter <%%> $1 as distance, "
                               "deposited, expires, media_type, payload from messages "
                               "order by filter <%%> $1 limit 10",
                               0)
                     : rc;
    }
    return rc;
}

/* In large transactions and before there is an index of distances, because that is fastest. */
static int fill_postgres(struct run *run)
{
    static const char *const before[] = {
        "create extension vector",
        "create extension pg_prewarm",
        "create table messages (id uuid primary key, filter bit(512) not null, media_type text "
        "not null, payload bytea not null, withdraw_hash bytea, deposited int8 not null, expires "
        "int8 not null)",
    };
    static const char *const after[] = {
        "set maintenance_work_mem = '1GB'",
        "create index nearest on messages using hnsw (filter bit_jaccard_ops) "
        "with (m = 16, ef_construction = 128)",
        "vacuum analyze messages",
        "select pg_prewarm('messages'), pg_prewarm('nearest'), pg_prewarm('messages_pkey')",
        "checkpoint",
    };
    PGconn *connection = run->clients[0].postgres;
    double ignored[K];
    int rc = 0;

    for (size_t i = 0; i < sizeof(before) / sizeof(before[0]) && rc == 0; i++) {
        rc = run_sql(run, 0, before[i], 0);
    }
    rc = rc == 0 ? prepare_all(run) : rc;
    for (size_t i = 0; i < run->filters.stored.count && rc == 0; i += AT_ONCE) {
        rc = run_sql(run, 0, "begin", 0);
        rc = rc == 0 ? enter_pipeline(run, 0) : rc;
        for (size_t j = i; j < i + AT_ONCE && j < run->filters.stored.count && rc == 0; j++) {
            rc = server_send_insert(connection, &run->filters, j);
        }
        rc = rc == 0 && PQpipelineSync(connection) == 1 ? server_take_postgres(connection, ignored)
                                                        : -1;
        (void)PQexitPipelineMode(connection); /* all was read */
        rc = rc == 0 ? run_sql(run, 0, "commit", 0) : rc;
    }
    const int64_t begin_ns = stats_now_ns();
    for (size_t i = 0; i < sizeof(after) / sizeof(after[0]) && rc == 0; i++) {
        rc = run_sql(run, 0, after[i], 0);
    }
    printf("PostgreSQL: index made and read in %.1f s\n",
           (double)(stats_now_ns() - begin_ns) / 1e9);
    return rc;
}

/* The caller starts hearsayd anew afterwards, so that it arranges all of its index. */
static int fill_hearsayd(struct run *run)
{
    double rate = 0;
    const int rc = connect_hearsay(run);

    return rc == 0
               ? take_turn(run, HEARSAY_DEPOSIT, 4, run->filters.stored.count, WAIT_MS, NULL, &rate)
               : rc;
}

/* --- measuring -------------------------------------------------------------------------------- */

static int set_ef(struct run *run, unsigned ef)
{
    int rc = 0;

    for (size_t c = 0; c < CLIENTS_MAX && rc == 0; c++) {
        (void)PQexitPipelineMode(run->clients[c].postgres); /* nothing is in flight */
        rc = run_sql(run, c, "set hnsw.ef_search = %u", ef);
        rc = rc == 0 ? enter_pipeline(run, c) : rc;
    }
    return rc;
}

/* Finds the least ef with a recall of 0.99. */
static int choose_ef(struct run *run, const double *truth)
{
    const char *text = run->options->efs;
    double recall = 0;

    while (*text != '\0' && recall < 0.99) {
        char *end = NULL;
        const unsigned ef = (unsigned)strtoul(text, &end, 10);

        if (end == text || set_ef(run, ef) != 0) {
            return bench_fail("--efs takes numbers with commas between them");
        }
        recall = recall_of(run, POSTGRES, truth);
        if (recall < 0) {
            return -1;
        }
        printf("PostgreSQL, ef_search %u: recall %.4f\n", ef, recall);
        text = *end == ',' ? end + 1 : end;
    }
    return 0;
}

static int print_turns(struct run *run, const enum kind *kinds, size_t count, size_t clients,
                       size_t most)
{
    double rates[KINDS][ROUNDS];

    for (size_t round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < count; i++) {
            if (take_turn(run, kinds[i], clients, most, run->options->milliseconds, NULL,
                          &rates[kinds[i]][round]) != 0) {
                return -1;
            }
        }
    }
    for (size_t i = 0; i < count; i++) {
        const double median = stats_median(rates[kinds[i]], ROUNDS); /* sorts */

        printf("| %s | %zu | %.0f | %.0f to %.0f |\n", kind_names[kinds[i]], clients, median,
               rates[kinds[i]][0], rates[kinds[i]][ROUNDS - 1]);
    }
    (void)fflush(stdout);
    return 0;
}

static int measure(struct run *run)
{
    static const enum kind queries[] = {HEARSAY_PHI, HEARSAY_BITS, POSTGRES};
    static const enum kind deposits[] = {HEARSAY_DEPOSIT, POSTGRES_DEPOSIT};
    static const size_t clients[] = {4, 16};
    const size_t count = run->filters.stored.count;
    double *by_phi = calloc(run->filters.queries.count, sizeof(*by_phi));
    double *by_bits = calloc(run->filters.queries.count, sizeof(*by_bits));
    int rc =
        by_phi != NULL && by_bits != NULL ? connect_postgres(run) : bench_fail("memory is short");

    run->deposited[0] = run->deposited[1] = count;
    if (rc == 0) {
        find_truth(run, true, by_phi);
        find_truth(run, false, by_bits);
        rc = fill_postgres(run);
    }
    if (rc == 0) {
        fprintf(stderr, "peers: the servers are filled\n");
        rc = connect_hearsay(run); /* not before, since it closes what is idle for long */
    }
    if (rc == 0) {
        const double phi_recall = recall_of(run, HEARSAY_PHI, by_phi);
        const double bits_recall = recall_of(run, HEARSAY_BITS, by_bits);

        printf("hearsayd: recall %.4f by phi, %.4f by bits\n", phi_recall, bits_recall);
        rc = phi_recall < 0 || bits_recall < 0 ? -1 : choose_ef(run, by_bits);
    }
    printf("\n| | clients | a second | least and most |\n|---|---|---|---|\n");
    for (size_t c = 0; c < sizeof(clients) / sizeof(clients[0]) && rc == 0; c++) {
        rc = print_turns(run, queries, 3, clients[c], SIZE_MAX / 2);
    }
    rc = rc == 0 ? print_turns(run, deposits, 2, CLIENTS_MAX, DEPOSITS) : rc;
    free(by_phi);
    free(by_bits);
    return rc;
}

static enum options_outcome read_options(int argc, char **argv, struct options *options)
{
    struct option_row filter_rows[FILTERS_ROWS];
    const struct option_row rows[] = {
        OPTION_SIZE("n", "N", &options->filters.count, K, FILTERS_COUNT_MAX,
                    "filters to store (default: 100000 made up, or all there are)"),
        OPTION_TEXT("hearsayd", "SERVER", &options->hearsayd,
                    "for libhearsay: an empty one, or one that --fill has filled"),
        OPTION_TEXT("postgres", "CONNINFO", &options->postgres, "an empty database, for libpq"),
        OPTION_TEXT("efs", "N[,N...]", &options->efs,
                    "what is tried for hnsw.ef_search, in rising order"),
        OPTION_FLAG("fill", &options->fill, "only fill hearsayd"),
        OPTION_U32("milliseconds", "N", &options->milliseconds, 1, WAIT_MS,
                   "of a turn (default: 500)"),
    };
    const struct options_table table = {
        .command = "server",
        .about = "hearsayd beside PostgreSQL with pgvector. docs/notes/peers.md\n",
        .groups = {{"Filters", filter_rows, FILTERS_ROWS},
                   {"Measurement", rows, sizeof(rows) / sizeof(rows[0])}},
    };

    filters_rows(&options->filters, filter_rows);
    return options_read(&table, argc, argv);
}

int main(int argc, char **argv)
{
    struct options options = {.filters = filters_standard,
                              .efs = "20,30,40,50,60,80,100,125,150,200,250,300,400,600,1000",
                              .milliseconds = 500};
    struct run run = {.options = &options};
    struct profile profile;

    options.filters.levels = true;
    options.filters.query_count = 200;
    const enum options_outcome outcome = read_options(argc, argv, &options);
    if (outcome != OPTIONS_RUN) {
        return outcome == OPTIONS_HELP ? 0 : 2;
    }
    if (options.postgres == NULL || options.hearsayd == NULL) {
        return bench_fail("--postgres and --hearsayd are needed") != 0 ? 2 : 0;
    }
    bench_default_profile(&profile);
    int rc = filters_make(&options.filters, &profile, &run.filters);
    rc = rc == 0 ? (options.fill ? fill_hearsayd : measure)(&run) : rc;
    for (size_t c = 0; c < CLIENTS_MAX; c++) {
        hearsay_close(run.clients[c].hearsay);
        PQfinish(run.clients[c].postgres);
    }
    filters_deinit(&run.filters);
    return rc == 0 ? 0 : 1;
}
