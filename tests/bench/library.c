/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/library.h"

#include <stdlib.h>
#include <string.h>

#include "tests/bench/bench.h"
#include "tests/bench/stats.h"

enum { CONNECT_MS = 10 * 1000 };

int library_connect(uint16_t port, struct hearsay **out)
{
    struct hearsay_error error;
    char address[32];

    snprintf(address, sizeof(address), "127.0.0.1:%u", (unsigned)port);
    const struct hearsay_connect options = {
        .server = address, .agent = "hearsay-bench", .timeout_ms = CONNECT_MS};
    if (hearsay_connect(&options, out, &error) == HEARSAY_OK) {
        return 0;
    }
    return bench_fail("%s: %s", address, error.sentence);
}

struct hearsay_filter *library_make_filters(uint64_t seed, size_t count)
{
    struct hearsay_filter *filters = calloc(count, sizeof(*filters));

    if (filters == NULL) {
        (void)bench_fail("out of memory");
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        struct workload_message message;
        workload_make(seed, i, &message);
        memcpy(filters[i].bytes, message.filter, message.filter_bytes);
        filters[i].byte_count = (uint32_t)message.filter_bytes;
    }
    return filters;
}

/* Query `number` of a load; `part` must live as long as it. */
static void describe(const struct library_load *load, uint64_t number,
                     struct hearsay_query_part *part, struct hearsay_query *out)
{
    *part = (struct hearsay_query_part){
        .filter = hearsay_filter_bytes(&load->filters[number % load->filter_count])};
    hearsay_query_init(out);
    out->parts = part;
    out->part_count = 1;
    out->k = WORKLOAD_K;
    out->with_payload = false;
}

static int check(const struct hearsay_results *results)
{
    if (results->result_count != WORKLOAD_K || !results->exact) {
        return bench_fail("an answer does not have the %d nearest", WORKLOAD_K);
    }
    return 0;
}

/* Asks until `window` are in flight or all are asked. */
static int submit(struct hearsay *server, const struct library_load *load, uint64_t answered,
                  uint64_t *in_out_asked)
{
    while (*in_out_asked < load->total && *in_out_asked - answered < load->window) {
        struct hearsay_query_part part;
        struct hearsay_query query;
        struct hearsay_error error;
        uint64_t ticket = 0;
        describe(load, *in_out_asked, &part, &query);
        if (hearsay_submit_query(server, &query, &ticket, &error) != HEARSAY_OK) {
            return bench_fail("asking: %s", error.sentence);
        }
        (*in_out_asked)++;
    }
    return 0;
}

static int run_pipelined(struct hearsay *server, const struct library_load *load)
{
    uint64_t asked = 0;

    for (uint64_t answered = 0; answered < load->total; answered++) {
        const struct hearsay_reply *reply = NULL;
        struct hearsay_error error;
        if (submit(server, load, answered, &asked) != 0) {
            return -1;
        }
        if (hearsay_next(server, load->patience_ms, &reply, &error) != HEARSAY_OK) {
            return bench_fail("waiting for an answer: %s", error.sentence);
        }
        if (reply->response.kind != HEARSAY_RESPONSE_RESULTS) {
            return bench_fail("the server refused: %s", reply->error.sentence);
        }
        if (check(&reply->response.results) != 0) {
            return -1;
        }
    }
    return 0;
}

static int run_singly(struct hearsay *server, const struct library_load *load)
{
    for (uint64_t i = 0; i < load->total; i++) {
        struct hearsay_query_part part;
        struct hearsay_query query;
        struct hearsay_error error;
        const struct hearsay_results *results = NULL;
        const int64_t start_ns = stats_now_ns();
        describe(load, i, &part, &query);
        if (hearsay_query(server, &query, load->patience_ms, &results, &error) != HEARSAY_OK) {
            return bench_fail("one query: %s", error.sentence);
        }
        if (load->latencies_us != NULL) {
            load->latencies_us[i] = (double)(stats_now_ns() - start_ns) / 1000;
        }
        if (check(results) != 0) {
            return -1;
        }
    }
    return 0;
}

int library_run(struct hearsay *server, const struct library_load *load, struct peer_outcome *out)
{
    const int64_t start_ns = stats_now_ns();
    const int64_t start_cpu_ns = stats_cpu_ns();
    const int rc = load->window > 1 ? run_pipelined(server, load) : run_singly(server, load);

    *out = (struct peer_outcome){
        .seconds = (double)(stats_now_ns() - start_ns) / 1e9,
        .cpu_seconds = (double)(stats_cpu_ns() - start_cpu_ns) / 1e9,
    };
    return rc;
}
