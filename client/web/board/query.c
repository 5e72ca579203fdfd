/* SPDX-License-Identifier: Apache-2.0 */
#include "client/web/board/query.h"

#include <stdio.h>
#include <string.h>

enum { HOUR_MS = 60 * 60 * 1000 };

const char *query_host(const char *host)
{
    return host[0] != '\0' ? host : NULL;
}

int64_t query_hour(int64_t now_ms)
{
    return now_ms / HOUR_MS;
}

static int add_place(struct hearsay_context *context, const char *place,
                     struct hearsay_error *error)
{
    char label[VIEW_PLACE_BYTES];
    int status = HEARSAY_OK;

    while (*place != '\0' && status == HEARSAY_OK) {
        size_t bytes = strcspn(place, "\n");

        if (bytes > 0 && bytes < sizeof(label)) {
            memcpy(label, place, bytes);
            label[bytes] = '\0';
            status = hearsay_context_add_label(context, label, error);
        }
        place += bytes + (place[bytes] == '\n' ? 1 : 0);
    }
    return status;
}

static int add_topics(const struct view *view, struct hearsay_context *context,
                      struct hearsay_error *error)
{
    int status = HEARSAY_OK;

    for (size_t i = 0; i < view->topic_count && status == HEARSAY_OK; i++) {
        status = hearsay_context_add_topic(context, view->topics[i], error);
    }
    return status;
}

/* Adds all labels of a view to the empty set. */
static int add_labels(const struct hearsay *server, const struct view *view,
                      struct hearsay_context *context, struct hearsay_error *error)
{
    int status = add_place(context, view->place, error);

    if (status == HEARSAY_OK) {
        status = add_topics(view, context, error);
    }
    if (view->is_now && status == HEARSAY_OK) {
        status = hearsay_context_add_time(context, hearsay_now_ms(server), error);
    }
    return status;
}

/* A filter without a bit. The profile says its size, by any label that the profile takes. */
static int empty_filter(const struct hearsay_host *host, struct hearsay_filter *out,
                        struct hearsay_error *error)
{
    static const char *const labels[] = {"topic:a", "wifi:a", "place:a", "geo:a", "time:a"};
    int status = HEARSAY_ERR_ARGUMENT;

    for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]) && status != HEARSAY_OK; i++) {
        struct hearsay_encode what = {.host = host, .labels = &labels[i], .label_count = 1};

        status = hearsay_encode(&what, out, error);
    }
    memset(out->bytes, 0, sizeof(out->bytes));
    return status;
}

static int find_host(const struct hearsay *server, const struct view *view,
                     const struct hearsay_host **out_host, struct hearsay_error *error)
{
    *out_host = hearsay_find_host(server, query_host(view->host));
    if (*out_host == NULL) {
        *error = (struct hearsay_error){.status = HEARSAY_ERR_ARGUMENT,
                                        .code = HEARSAY_CODE_UNKNOWN_HOST};
        (void)snprintf(error->sentence, sizeof(error->sentence), "there is no host \"%s\"",
                       view->host);
        return HEARSAY_ERR_ARGUMENT;
    }
    return HEARSAY_OK;
}

/* Makes the filter of the labels, with the key of an epoch or without. */
static int encode_labels(const struct hearsay_host *host, const struct hearsay_context *context,
                         bool is_keyed, struct hearsay_filter *out, struct hearsay_error *error)
{
    struct hearsay_keys keys = {.epoch_key = host->epoch.key};
    struct hearsay_encode what = {.host = host, .keys = is_keyed ? &keys : NULL};

    what.labels = hearsay_context_labels(context, &what.label_count);
    return hearsay_encode(&what, out, error);
}

static bool has_epoch(const struct hearsay_host *host)
{
    return host->epoch.number != 0 && host->epoch.has_key;
}

/* Fills the filters of both parts. */
static int encode_parts(const struct hearsay_host *host, const struct hearsay_context *context,
                        struct query_parts *parts, size_t *out_count, struct hearsay_error *error)
{
    size_t labels = 0;
    int status;

    (void)hearsay_context_labels(context, &labels);
    *out_count = has_epoch(host) ? 2 : 1;
    if (labels == 0) {
        status = empty_filter(host, &parts->filters[0], error);
        parts->filters[1] = parts->filters[0];
    } else {
        status = encode_labels(host, context, false, &parts->filters[0], error);
        if (status == HEARSAY_OK && *out_count == 2) {
            status = encode_labels(host, context, true, &parts->filters[1], error);
        }
    }
    for (size_t i = 0; i < *out_count; i++) {
        parts->parts[i] = (struct hearsay_query_part){
            .epoch = i == 0 ? 0 : host->epoch.number,
            .filter = hearsay_filter_bytes(&parts->filters[i]),
        };
    }
    return status;
}

/*
 * Adds what a message must contain to the empty set: the topics that the reader has chosen. Without
 * topics it is the place, if this is all that the view asks for and one label says it. Around other
 * access points of the hood other labels say the place, so a view of the hood demands none.
 */
static int add_demands(const struct view *view, const struct hearsay_context *context,
                       struct hearsay_context *demands, struct hearsay_error *error)
{
    const char *only = hearsay_context_only_label(context);

    if (view->topic_count > 0 || view->is_hood || only == NULL) {
        return add_topics(view, demands, error);
    }
    return hearsay_context_add_label(demands, only, error);
}

/* Sets what a message must contain. *out_demands: whether there is anything. */
static int encode_demands(const struct hearsay_host *host, const struct view *view,
                          const struct hearsay_context *context, struct query_parts *parts,
                          size_t part_count, bool *out_demands, struct hearsay_error *error)
{
    struct hearsay_context *demands = NULL;
    size_t labels = 0;
    int status = hearsay_context_new(&demands, error);

    if (status != HEARSAY_OK) {
        return status;
    }
    status = add_demands(view, context, demands, error);
    (void)hearsay_context_labels(demands, &labels);
    *out_demands = labels > 0;
    for (size_t i = 0; i < part_count && labels > 0 && status == HEARSAY_OK; i++) {
        status = encode_labels(host, demands, i > 0, &parts->demands[i], error);
        parts->parts[i].contains = hearsay_filter_bytes(&parts->demands[i]);
    }
    hearsay_context_free(demands);
    return status;
}

int query_fill(const struct hearsay *server, const struct view *view, struct query_parts *parts,
               struct hearsay_query *out_query, struct hearsay_error *out_error)
{
    const struct hearsay_host *host = NULL;
    struct hearsay_context *context = NULL;
    size_t labels = 0;
    bool demands = false;
    int status = find_host(server, view, &host, out_error);

    if (status == HEARSAY_OK) {
        status = hearsay_context_new(&context, out_error);
    }
    if (status != HEARSAY_OK) {
        return status;
    }
    hearsay_query_init(out_query);
    status = add_labels(server, view, context, out_error);
    if (status == HEARSAY_OK) {
        status = encode_parts(host, context, parts, &out_query->part_count, out_error);
    }
    if (status == HEARSAY_OK) {
        status =
            encode_demands(host, view, context, parts, out_query->part_count, &demands, out_error);
    }
    (void)hearsay_context_labels(context, &labels);
    hearsay_context_free(context);
    out_query->host = hearsay_text(query_host(view->host));
    out_query->scope = view->is_hood ? HEARSAY_SCOPE_HOOD : HEARSAY_SCOPE_HERE;
    out_query->parts = parts->parts;
    out_query->max_distance_ppm = labels > 0 && !demands && !view->is_hood
                                      ? host->suggested_max_distance
                                      : HEARSAY_DISTANCE_ONE;
    return status;
}

int query_fill_context(const struct hearsay *server, const struct view *view,
                       struct hearsay_filter *out_filter, uint64_t *out_epoch,
                       struct hearsay_error *out_error)
{
    const struct hearsay_host *host = NULL;
    struct hearsay_context *context = NULL;
    int status = find_host(server, view, &host, out_error);

    if (status == HEARSAY_OK) {
        status = hearsay_context_new(&context, out_error);
    }
    if (status != HEARSAY_OK) {
        return status;
    }
    status = add_labels(server, view, context, out_error);
    if (status == HEARSAY_OK) {
        status = encode_labels(host, context, has_epoch(host), out_filter, out_error);
    }
    hearsay_context_free(context);
    *out_epoch = has_epoch(host) ? host->epoch.number : 0;
    return status;
}

int query_fill_answer(const struct hearsay *server, const struct view *view,
                      struct hearsay_filter *out_filter, struct hearsay_error *out_error)
{
    struct hearsay_encode what = {.is_answer = true};
    int status = find_host(server, view, &what.host, out_error);

    return status == HEARSAY_OK ? hearsay_encode(&what, out_filter, out_error) : status;
}
