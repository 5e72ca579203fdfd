/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The works query-...: a query for the ten nearest with their payloads, from the bytes that come in
 * to the bytes that go out. The index is arranged and the payloads are in the cache, as they are
 * some minutes after the messages were left.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "tests/bench/defaults.h"
#include "tests/count/count.h"
#include "tests/count/count_server.h"
#include "tests/count/count_store.h"
#include "tests/count/requests.h"
#include "tests/reference/engines.h"

/*
 * In 30,000 to 50,000 messages at 2,000 places, the tenth nearest message is of the query's place,
 * which lets a search leave out most of them. In a town of any such number it cannot, and on a
 * board all messages are near.
 */
enum {
    MADE_UP_STORED = 50000,
    DENSE_STORED = 30000, /* its scans take long to make */
    FEW_STORED = 20000,
    COPIES = 5,
    PATH_BYTES = 4096
};

/* Puts the messages into the host as deposits do, without the store. */
static void keep_messages(struct service *service, const struct filters *filters)
{
    struct host *host = &service->hosts[0];
    int64_t now_ms = service_now_ms(service);

    for (size_t i = 0; i < filters->stored.count; i++) {
        struct requests_message made;
        struct persist_message message;

        requests_make_message(filters, i, &made);
        requests_describe(&made, now_ms - 1000000 + (int64_t)i, &message);
        message.host = host->number;
        if (service_keep(service, host, &message) != 0) {
            count_fail("message %zu is not kept", i);
        }
        service_remember_kept(service, &message);
    }
    if (index_arrange(host->epochs[0]->index, NULL) != 0) {
        count_fail("memory is short");
    }
}

/* Returns a frame for each query. */
static struct bytes *make_frames(const struct filters *filters)
{
    struct bytes *frames = calloc(filters->queries.count, sizeof(*frames));

    for (size_t i = 0; frames != NULL && i < filters->queries.count; i++) {
        bytes_init(&frames[i], alloc_system());
        requests_add_query(filters, i, &frames[i]);
    }
    if (frames == NULL) {
        count_fail("memory is short");
    }
    return frames;
}

/*
 * Asks the index itself the same queries again, and prints how many bytes of the index all of them
 * read, and how many filters they compared.
 */
static void print_reads(struct service *service, const struct filters *filters)
{
    uint64_t bytes = 0;
    uint64_t comparisons = 0;

    for (size_t i = 0; i < filters->queries.count; i++) {
        const struct index_part part = {.index = service->hosts[0].epochs[0]->index,
                                        .filter =
                                            filters->queries.words + i * filters->filter_words};
        struct index_query query = plain_index_query(&part, 1, REQUESTS_K);
        struct index_search *search = NULL;

        query.metric = bench_default_metric();
        if (index_search_new(alloc_system(), &query, &search) != 0) {
            count_fail("memory is short");
        }
        (void)index_search_step(search, UINT64_MAX, service_now_ms(service));
        bytes += search_bytes(search);
        comparisons += index_search_comparisons(search);
        index_search_free(search);
    }
    printf("bytes_read %" PRIu64 "\ncomparisons %" PRIu64 "\n", bytes, comparisons);
}

static void run_queries(const struct count_options *options, const char *workload, size_t count,
                        uint32_t copies)
{
    struct filters filters;
    struct count_server *server =
        count_server_new(options->directory, count_store_open(options->directory));

    requests_make_filters(workload, count, copies, &filters);
    keep_messages(server->server.service, &filters);
    struct bytes *frames = make_frames(&filters);
    count_begin();
    for (size_t i = 0; i < filters.queries.count; i++) {
        count_server_exchange(server, &frames[i], 1);
    }
    count_end(filters.queries.count);
    print_reads(server->server.service, &filters);
}

static void run_real(const struct count_options *options, uint32_t copies)
{
    char workload[PATH_BYTES];

    if (options->data == NULL) {
        count_fail("this work needs DATA, the directory of UJIIndoorLoc");
    }
    (void)snprintf(workload, sizeof(workload), "wifi:%s", options->data);
    run_queries(options, workload, 0, copies);
}

void count_query_campus(const struct count_options *options)
{
    run_queries(options, "campus", MADE_UP_STORED, 1);
}

void count_query_town(const struct count_options *options)
{
    run_queries(options, "town", FEW_STORED, 1);
}

void count_query_dense(const struct count_options *options)
{
    run_queries(options, "dense", DENSE_STORED, 1);
}

void count_query_mixed(const struct count_options *options)
{
    run_queries(options, "mixed", MADE_UP_STORED, 1);
}

void count_query_board(const struct count_options *options)
{
    run_queries(options, "board", FEW_STORED, 1);
}

void count_query_wifi(const struct count_options *options)
{
    run_real(options, 1);
}

void count_query_x5(const struct count_options *options)
{
    run_real(options, COPIES);
}
