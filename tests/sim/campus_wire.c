/* SPDX-License-Identifier: Apache-2.0 */
/* campus_wire: queries and answers as frames, and back. */
#include <string.h>

#include "core/filter/bloom.h"
#include "tests/sim/campus.h"

enum { FILTER_BYTES = 8 * WORDS };

void wire_encode_query(const struct index_query *query, struct similarity floor, struct bytes *out)
{
    static uint8_t filters[2 * PARTS_MAX][FILTER_BYTES];
    struct hearsay_query_part parts[PARTS_MAX] = {{0}};
    const struct hearsay_request request = {.id = 1,
                                            .kind = HEARSAY_REQUEST_QUERY,
                                            .query = {.k = query->k,
                                                      .parts = parts,
                                                      .part_count = query->part_count,
                                                      .max_distance_ppm = query->max_distance_ppm,
                                                      .since_ms = query->since_ms,
                                                      .until_ms = query->until_ms,
                                                      .metric = query->metric == INDEX_METRIC_BITS
                                                                    ? HEARSAY_METRIC_BITS
                                                                    : HEARSAY_METRIC_PHI,
                                                      .order = HEARSAY_ORDER_SIMILARITY,
                                                      .scope = HEARSAY_SCOPE_HERE,
                                                      .wait_ms = LIMIT_WAIT_MS_DEFAULT,
                                                      .max_staleness_ms = UINT64_MAX,
                                                      .floor = similarity_floor(floor)}};

    for (uint32_t p = 0; p < query->part_count; p++) {
        bloom_store(query->parts[p].filter, campus.profile.bits, filters[p]);
        parts[p].filter = (struct hearsay_bytes){filters[p], FILTER_BYTES};
        if (query->parts[p].contains != NULL) {
            bloom_store(query->parts[p].contains, campus.profile.bits, filters[PARTS_MAX + p]);
            parts[p].contains = (struct hearsay_bytes){filters[PARTS_MAX + p], FILTER_BYTES};
        }
    }
    SIM_CHECK(codec_encode_request(&request, LIMIT_FRAME_BYTES_MAX, out) == 0);
}

void wire_decode_query(const struct bytes *frame, struct arena *arena, struct index_query *query,
                       struct index_part *parts, uint64_t (*filters)[WORDS],
                       struct similarity *floor)
{
    struct hearsay_request request;
    struct msg_error error;

    SIM_CHECK(codec_decode_request(frame->data + LIMIT_FRAME_HEADER_BYTES,
                                   frame->count - LIMIT_FRAME_HEADER_BYTES, arena, &request,
                                   &error) == 0);
    const struct hearsay_query *asked = &request.query;
    *query = (struct index_query){
        .parts = parts,
        .part_count = (uint32_t)asked->part_count,
        .k = asked->k,
        .max_distance_ppm = asked->max_distance_ppm,
        .since_ms = asked->since_ms,
        .until_ms = asked->until_ms,
        .metric = asked->metric == HEARSAY_METRIC_BITS ? INDEX_METRIC_BITS : INDEX_METRIC_PHI};
    *floor = similarity_of_floor(asked->floor);
    for (size_t p = 0; p < asked->part_count; p++) {
        const struct hearsay_query_part *part = &asked->parts[p];
        uint64_t *wanted = filters[PARTS_MAX + p];

        SIM_CHECK(bloom_load(filters[p], campus.profile.bits, part->filter.data,
                             part->filter.count) == 0);
        parts[p] = (struct index_part){.filter = filters[p]};
        if (part->contains.count > 0) {
            SIM_CHECK(bloom_load(wanted, campus.profile.bits, part->contains.data,
                                 part->contains.count) == 0);
            parts[p].contains = wanted;
        }
    }
}

void wire_encode_answer(const struct hood_found *found, uint32_t count,
                        const struct hood_answer *answer, struct bytes *out)
{
    static uint8_t filters[ANSWER_MAX][FILTER_BYTES];
    static struct hearsay_result results[ANSWER_MAX];
    const struct hearsay_response response = {
        .id = 1,
        .kind = HEARSAY_RESPONSE_RESULTS,
        .results = {.results = results, .result_count = count, .exact = true, .seq = answer->seq}};

    for (uint32_t i = 0; i < count; i++) {
        bloom_store(found[i].filter, campus.profile.bits, filters[i]);
        results[i] = (struct hearsay_result){.id = {found[i].id, MESSAGE_ID_BYTES},
                                             .union_count = 1,
                                             .deposited_ms = found[i].deposited_ms,
                                             .expires_ms = INT64_MAX,
                                             .filter = {filters[i], FILTER_BYTES}};
    }
    SIM_CHECK(codec_encode_response(&response, LIMIT_FRAME_BYTES_MAX, out) == 0);
}

uint32_t wire_decode_answer(const struct bytes *frame, struct arena *arena, struct hood_found *out,
                            struct hood_answer *answer)
{
    static uint64_t filters[ANSWER_MAX][WORDS];
    struct hearsay_response response;
    struct msg_error error;

    SIM_CHECK(codec_decode_response(frame->data + LIMIT_FRAME_HEADER_BYTES,
                                    frame->count - LIMIT_FRAME_HEADER_BYTES, arena, &response,
                                    &error) == 0);
    answer->seq = response.results.seq;
    for (size_t i = 0; i < response.results.result_count; i++) {
        const struct hearsay_result *result = &response.results.results[i];

        SIM_CHECK(bloom_load(filters[i], campus.profile.bits, result->filter.data,
                             result->filter.count) == 0);
        out[i] = (struct hood_found){.deposited_ms = result->deposited_ms, .filter = filters[i]};
        memcpy(out[i].id, result->id.data, sizeof(out[i].id));
    }
    return (uint32_t)response.results.result_count;
}
