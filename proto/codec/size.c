/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/codec/size.h"

#include "proto/codec/codec.h"

/*
 * Returns the size of a frame without its header, given the field number of its body and the size
 * of the body.
 */
static size_t frame_bytes(uint64_t id, unsigned kind, size_t body)
{
    return size_of_number(1, id) + size_of_data(kind < 16 ? 1 : 2, body);
}

size_t codec_result_bytes(const struct hearsay_result *result)
{
    return size_of_data(1, codec_size_result(result));
}

size_t codec_results_bytes(const struct hearsay_response *response, size_t results_bytes)
{
    struct hearsay_results rest = response->results;

    rest.result_count = 0;
    return frame_bytes(response->id, response->kind, results_bytes + codec_size_results(&rest));
}

size_t codec_match_bytes(const struct hearsay_response *response)
{
    return frame_bytes(response->id, response->kind, codec_size_match(&response->match));
}
