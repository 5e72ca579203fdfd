/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The works query-...: a query for the ten nearest with their payloads, from the bytes that come in
 * to the bytes that go out. The index is arranged and the payloads are in the cache, as they are
 * some minutes after the messages were left.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/count/count.h"
#include "tests/count/count_server.h"
#include "tests/count/count_store.h"
#include "tests/count/requests.h"

enum { MADE_UP_STORED = 20000, COPIES = 10, PATH_BYTES = 4096 };

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
    run_queries(options, "town", MADE_UP_STORED, 1);
}

void count_query_wifi(const struct count_options *options)
{
    run_real(options, 1);
}

void count_query_x10(const struct count_options *options)
{
    run_real(options, COPIES);
}
