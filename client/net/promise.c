/* SPDX-License-Identifier: Apache-2.0 */
#include "client/net/promise.h"

#include <stdlib.h>
#include <string.h>

void promise_make(const struct hearsay_request *request, struct promise *out_promise)
{
    memset(out_promise, 0, sizeof(*out_promise));
    out_promise->kind = request->kind;
    if (request->kind == HEARSAY_REQUEST_GET && request->get.id.count == LIMIT_ID_BYTES) {
        memcpy(out_promise->id, request->get.id.data, LIMIT_ID_BYTES);
    } else if (request->kind == HEARSAY_REQUEST_EXPORT) {
        out_promise->most = request->export_.limit;
    } else if (request->kind == HEARSAY_REQUEST_QUERY) {
        out_promise->most = request->query.k;
        out_promise->max_distance_ppm = request->query.max_distance_ppm;
        out_promise->since_ms = request->query.since_ms;
        out_promise->until_ms = request->query.until_ms;
        out_promise->metric = request->query.metric;
        out_promise->order = request->query.order;
        out_promise->with_payload = request->query.with_payload;
        out_promise->is_hood = request->query.scope == HEARSAY_SCOPE_HOOD;
    }
}

/* --- results ---------------------------------------------------------------------------------- */

static int compare_ids(const struct hearsay_result *a, const struct hearsay_result *b)
{
    return memcmp(a->id.data, b->id.data, LIMIT_ID_BYTES);
}

/* Compares the ids; of equal ids the hosts, which only results of a hood have. */
static int compare_messages(const struct hearsay_result *a, const struct hearsay_result *b)
{
    int order = compare_ids(a, b);

    return order != 0 || a->host.text == NULL || b->host.text == NULL
               ? order
               : strcmp(a->host.text, b->host.text);
}

static int compare_references(const void *a, const void *b)
{
    const struct hearsay_result *const *first = a;
    const struct hearsay_result *const *second = b;

    return compare_messages(*first, *second);
}

/*
 * Returns whether two results are the same message: the same id, at the same host. When memory is
 * out, returns false without a check.
 */
static bool has_twins(const struct hearsay_results *results)
{
    const struct hearsay_result **sorted = calloc(results->result_count, sizeof(*sorted));
    bool found = false;

    if (sorted == NULL) {
        return false;
    }
    for (size_t i = 0; i < results->result_count; i++) {
        sorted[i] = &results->results[i];
    }
    qsort(sorted, results->result_count, sizeof(*sorted), compare_references);
    for (size_t i = 1; i < results->result_count && !found; i++) {
        found = compare_messages(sorted[i - 1], sorted[i]) == 0;
    }
    free(sorted);
    return found;
}

/*
 * Returns -1 when `a` is nearer than `b` by the query's metric, 1 when `b` is nearer, else 0. Two
 * empty filters have similarity 1.
 */
static int compare_nearness(const struct promise *promise, const struct hearsay_result *a,
                            const struct hearsay_result *b)
{
    if (promise->metric == HEARSAY_METRIC_PHI) { /* rounded: equal ones may not be */
        return a->distance_ppm < b->distance_ppm ? -1 : a->distance_ppm > b->distance_ppm ? 1 : 0;
    }
    uint64_t shared_a = a->union_count == 0 ? 1 : a->intersection_count;
    uint64_t shared_b = b->union_count == 0 ? 1 : b->intersection_count;
    uint64_t left = shared_a * (b->union_count == 0 ? 1 : b->union_count);
    uint64_t right = shared_b * (a->union_count == 0 ? 1 : a->union_count);

    return left > right ? -1 : left < right ? 1 : 0;
}

/* Returns whether the result `b` may follow the result `a` in an answer. Messages of several hosts
 * may have the same id, and follow in any order. has_twins finds a message that was sent twice. */
static bool is_in_order(const struct promise *promise, const struct hearsay_result *a,
                        const struct hearsay_result *b)
{
    if (promise->order == HEARSAY_ORDER_SIMILARITY) {
        int nearness = compare_nearness(promise, a, b);
        if (nearness != 0 || promise->metric != HEARSAY_METRIC_BITS) {
            return nearness <= 0;
        }
    }
    return a->deposited_ms != b->deposited_ms ? a->deposited_ms > b->deposited_ms
                                              : compare_ids(a, b) <= 0;
}

static const char *results_broken(const struct promise *promise,
                                  const struct hearsay_results *results)
{
    if (results->result_count > promise->most) {
        return "sent more results than were asked for";
    }
    for (size_t i = 0; i < results->result_count; i++) {
        const struct hearsay_result *one = &results->results[i];
        /*
         * Distances are rounded to whole millionths. Rounding cannot move a distance above the
         * limit, which is also a whole number of millionths.
         */
        if (one->distance_ppm > promise->max_distance_ppm) {
            return "sent a result that is further away than was asked for";
        }
        if (one->deposited_ms < promise->since_ms ||
            (one->deposited_ms >= promise->until_ms && promise->until_ms != INT64_MAX)) {
            return "sent a result of another time than was asked for";
        }
        if (promise->is_hood && one->host.text == NULL) {
            return "sent a result without its host";
        }
        if (!promise->is_hood && one->host.text != NULL) {
            return "sent the host of a result, though one host was asked";
        }
        if (!promise->with_payload && one->payload.data != NULL) {
            return "sent a payload that was not asked for";
        }
        if (i > 0 && !is_in_order(promise, one - 1, one)) {
            return "sent results in another order than was asked for";
        }
    }
    return results->result_count > 1 && has_twins(results) ? "sent a result twice" : NULL;
}

const char *promise_broken(const struct promise *promise, const struct hearsay_response *response)
{
    switch (promise->kind) {
    case HEARSAY_REQUEST_GET:
        return memcmp(response->got.id.data, promise->id, LIMIT_ID_BYTES) == 0
                   ? NULL
                   : "sent another message than the one that was asked for";
    case HEARSAY_REQUEST_QUERY:
        return results_broken(promise, &response->results);
    case HEARSAY_REQUEST_EXPORT:
        return promise->most > 0 && response->exported.message_count > promise->most
                   ? "sent more messages than were asked for"
                   : NULL;
    case HEARSAY_REQUEST_WATCH:
        return response->watching.watch_id == 0 ? "began a watch without a number" : NULL;
    default:
        return NULL;
    }
}
