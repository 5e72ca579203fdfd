/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/codec/query.h"

#include "proto/codec/form.h"
#include "proto/hearsay.pb-c.h"

/*
 * Any positive error code is accepted, because a newer server may send codes that this schema does
 * not have.
 */
static const struct map_field error_fields[] = {
    {MAP_ENUM(Error, error, code, ErrorCode, error_code), .needed = true, MAP_RANGE(1, INT32_MAX)},
    {MAP_FIELD(CHARS, Error, error, message)},
    {MAP_FIELD(CHARS, Error, error, field)},
    {MAP_FIELD(U64, Error, error, retry_after_ms)},
    {MAP_NUMBERS(Error, error, versions, version_count)},
};
const struct map codec_error_map = MAP_OF("error", error, error);

static const struct map_field query_part_fields[] = {
    {MAP_FIELD(U64, QueryPart, query_part, epoch)},
    {MAP_FIELD(BYTES, QueryPart, query_part, filter), .needed = true,
     MAP_RANGE(1, LIMIT_FILTER_BYTES)},
    {MAP_FIELD(BYTES, QueryPart, query_part, contains), MAP_RANGE(1, LIMIT_FILTER_BYTES)},
};
static const struct map query_part_map = MAP_OF("a part", query_part, query_part);

static const struct map_field slice_fields[] = {
    {MAP_FIELD(BYTES, Slice, slice, bits), .needed = true, .min = 1},
    {MAP_FIELD(U32, Slice, slice, hashes), .needed = true, MAP_RANGE(1, LIMIT_HASHES)},
    {MAP_FIELD(U64, Slice, slice, seed)},
};
static const struct map slice_map = MAP_OF("a slice", slice, slice);

/* The rows of the table for the fields of Query that come after `k`. Two tables have these rows:
 * the table of the request Query, and the table of the Query inside the request Watch. */
#define QUERY_ROWS_AFTER_K                                                                       \
    {MAP_LIST(Query, query, parts, part_count, QueryPart, query_part), .needed = true},          \
        {MAP_AS(U32, Query, max_distance, query, max_distance_ppm), .max = LIMIT_DISTANCE_PPM,   \
         .absent = LIMIT_DISTANCE_PPM},                                                          \
        {MAP_FIELD(I64, Query, query, since_ms), .absent = INT64_MIN},                           \
        {MAP_FIELD(I64, Query, query, until_ms), .absent = INT64_MAX},                           \
        {MAP_ENUM(Query, query, metric, Metric, metric),                                         \
         MAP_RANGE(MSG_METRIC_BITS, MSG_METRIC_PHI), .gap = 2, .absent = MSG_METRIC_DEFAULT},    \
        {MAP_ENUM(Query, query, order, Order, order),                                            \
         MAP_RANGE(MSG_ORDER_SIMILARITY, MSG_ORDER_NEWEST), .absent = MSG_ORDER_SIMILARITY},     \
        {MAP_LIST(Query, query, exclude, exclude_count, Slice, slice)},                          \
        {MAP_FIELD(BOOL, Query, query, with_payload)},                                           \
        {MAP_ENUM(Query, query, scope, Scope, scope), MAP_RANGE(MSG_SCOPE_HERE, MSG_SCOPE_HOOD), \
         .absent = MSG_SCOPE_HERE},                                                              \
        {MAP_FIELD(U32, Query, query, wait_ms), MAP_RANGE(1, LIMIT_WAIT_MS),                     \
         .absent = LIMIT_WAIT_MS_DEFAULT},                                                       \
        {MAP_FIELD(U64, Query, query, max_staleness_ms), .absent = -1},                          \
    {                                                                                            \
        MAP_FIELD(U32, Query, query, floor), .max = LIMIT_FLOOR                                  \
    }

static const struct map_field query_fields[] = {
    FORM_HOST(Query, query),
    {MAP_FIELD(U32, Query, query, k), .needed = true, .min = 1},
    QUERY_ROWS_AFTER_K,
};
const struct map codec_query_map = MAP_OF("query", query, query);

static const struct map_field watch_query_fields[] = {
    FORM_HOST(Query, query),
    {MAP_FIELD(U32, Query, query, k)},
    QUERY_ROWS_AFTER_K,
};
const struct map codec_watch_query_map = MAP_OF_ROWS("query", query, query, watch_query_fields);

static const struct map_field result_fields[] = {
    FORM_ID(Result, result),
    {MAP_FIELD(U32, Result, result, intersection_count)},
    {MAP_FIELD(U32, Result, result, union_count)},
    {MAP_AS(U32, Result, distance, result, distance_ppm), .max = LIMIT_DISTANCE_PPM},
    {MAP_FIELD(I64, Result, result, deposited_ms)},
    {MAP_FIELD(I64, Result, result, expires_ms)},
    {MAP_FIELD(TEXT, Result, result, media_type), MAP_RANGE(1, LIMIT_MEDIA_TYPE_BYTES),
     .form = &codec_form_media_type},
    {MAP_FIELD(BYTES, Result, result, payload)},
    {MAP_FIELD(BOOL, Result, result, payload_omitted)},
    {MAP_FIELD(U64, Result, result, epoch)},
    {MAP_FIELD(TEXT, Result, result, host), MAP_RANGE(1, LIMIT_HOST_BYTES),
     .form = &codec_form_host},
    {MAP_FIELD(BYTES, Result, result, filter), MAP_RANGE(1, LIMIT_FILTER_BYTES)},
};
const struct map codec_result_map = MAP_OF("a result", result, result);

static const struct map_field house_notice_fields[] = {
    {MAP_FIELD(U32, HouseNotice, house_notice, number), .needed = true, .min = 1},
    {MAP_FIELD(TEXT, HouseNotice, house_notice, text), .needed = true,
     MAP_RANGE(1, LIMIT_NOTICE_BYTES), .form = &codec_form_line},
    {MAP_FIELD(TEXT, HouseNotice, house_notice, lang), MAP_RANGE(1, LIMIT_LANGUAGE_BYTES),
     .form = &codec_form_language},
    {MAP_FIELD(I64, HouseNotice, house_notice, since_ms)},
    {MAP_FIELD(I64, HouseNotice, house_notice, until_ms)},
};
const struct map codec_house_notice_map = MAP_OF("a notice", house_notice, house_notice);

static const struct map_field results_fields[] = {
    {QUERY_LIST(Results, results, results, result_count, Result, result)},
    {MAP_FIELD(U64, Results, results, comparisons)},
    {MAP_FIELD(BOOL, Results, results, exact)},
    {MAP_FIELD(BOOL, Results, results, capped)},
    {QUERY_LIST(Results, results, notices, notice_count, HouseNotice, house_notice)},
    {MAP_FIELD(BOOL, Results, results, complete)},
    {MAP_FIELD(U32, Results, results, peers)},
    {MAP_FIELD(U32, Results, results, peers_asked)},
    {MAP_FIELD(U32, Results, results, peers_silent)},
    {MAP_FIELD(U32, Results, results, peers_other)},
    {MAP_FIELD(I64, Results, results, as_of_ms)},
    {MAP_FIELD(U64, Results, results, seq)},
    {MAP_FIELD(BOOL, Results, results, bridge_away)},
    {MAP_FIELD(U32, Results, results, peers_skipped)},
};
const struct map codec_results_map = MAP_OF("results", results, results);

static const struct map_field summary_group_fields[] = {
    {MAP_FIELD(BYTES, SummaryGroup, summary_group, union_filter), .needed = true,
     MAP_RANGE(1, LIMIT_FILTER_BYTES)},
    {MAP_NUMBERS(SummaryGroup, summary_group, least, least_count)},
    {MAP_NUMBERS(SummaryGroup, summary_group, most, most_count)},
    {MAP_FIELD(U64, SummaryGroup, summary_group, count)},
    {MAP_FIELD(I64, SummaryGroup, summary_group, newest_ms)},
};
const struct map codec_summary_group_map = MAP_OF("a group", summary_group, summary_group);
