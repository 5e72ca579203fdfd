/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/codec/codec.h"
#include "proto/limits.h"

/*
 * The most bytes that a field takes on the wire. A tag takes one byte where the field's number is
 * below 16; Results, Match, Result, Exported, ExportedMessage and the messages of Changed
 * have only such fields. A length
 * takes at most three bytes, because a field in a frame is not longer than LIMIT_FRAME_BYTES_MAX.
 */
enum {
    SIZE_TAG = 1,
    SIZE_LENGTH = 3,
    SIZE_U32 = SIZE_TAG + 5,
    SIZE_64 = SIZE_TAG + 10,
    SIZE_BOOL = SIZE_TAG + 1,
    SIZE_ID = SIZE_TAG + SIZE_LENGTH + LIMIT_ID_BYTES,
    SIZE_DATA = SIZE_TAG + SIZE_LENGTH /* and the data themselves */
};

/* Adds two sizes. A sum that would overflow is SIZE_MAX, which fits no frame. */
static size_t size_add(size_t a, size_t b)
{
    return a > SIZE_MAX - b ? SIZE_MAX : a + b;
}

size_t codec_result_bytes_max(size_t payload_bytes, size_t media_type_bytes)
{
    size_t fixed = SIZE_DATA /* of the list */ + SIZE_ID + 4 * SIZE_U32 + 3 * SIZE_64 + SIZE_BOOL;

    return size_add(size_add(fixed + 2 * SIZE_DATA, payload_bytes), media_type_bytes);
}

size_t codec_exported_bytes_max(const struct msg_exported_message *message)
{
    size_t fixed = SIZE_DATA /* of the list */ + SIZE_ID + 3 * SIZE_64 + SIZE_U32 + 4 * SIZE_DATA;
    size_t data = size_add(message->filter.count, message->payload.count);

    fixed += message->state != 0 ? (size_t)SIZE_U32 : 0;
    fixed += message->reports != 0 ? (size_t)SIZE_U32 : 0;
    data = size_add(data, message->media_type.length);
    return size_add(size_add(fixed, data), message->withdraw_hash.count);
}

size_t codec_change_bytes_max(const struct msg_change *change)
{
    size_t size = SIZE_DATA /* of the list */ + SIZE_64;

    if (change->has_message) {
        size = size_add(size, codec_exported_bytes_max(&change->message));
    }
    if (change->has_gone) {
        size = size_add(size, SIZE_DATA + SIZE_ID + SIZE_64 + SIZE_U32);
    }
    if (change->has_rule) {
        size = size_add(size, 2 * SIZE_DATA + 2 * SIZE_U32 + 2 * SIZE_64 + SIZE_BOOL);
        size = size_add(size, change->rule.value.count);
    }
    if (change->has_decision) {
        size = size_add(size, SIZE_DATA + SIZE_ID + 2 * SIZE_64);
    }
    return size;
}

/* --- exact sizes ------------------------------------------------------------------------------ */

static size_t varint_bytes(uint64_t value)
{
    size_t count = 1;

    for (; value >= 0x80; value >>= 7) {
        count++;
    }
    return count;
}

/* Returns the size of a number field with its tag; 0 for the number 0, which is left out. */
static size_t number_bytes(uint64_t value)
{
    return value == 0 ? 0 : SIZE_TAG + varint_bytes(value);
}

/* Returns the size of a field of `size` bytes of data, with its tag and length. */
static size_t data_bytes(size_t size)
{
    return size_add(SIZE_TAG + varint_bytes(size), size);
}

static size_t result_fields_bytes(const struct msg_result *result)
{
    size_t size = data_bytes(result->id.count) + number_bytes(result->intersection_count) +
                  number_bytes(result->union_count) + number_bytes(result->distance_ppm) +
                  number_bytes((uint64_t)result->deposited_ms) +
                  number_bytes((uint64_t)result->expires_ms) + number_bytes(result->epoch) +
                  number_bytes(result->payload_omitted ? 1 : 0);

    if (result->media_type.text != NULL) {
        size = size_add(size, data_bytes(result->media_type.length));
    }
    if (result->payload.data != NULL) {
        size = size_add(size, data_bytes(result->payload.count));
    }
    if (result->host.text != NULL) {
        size = size_add(size, data_bytes(result->host.length));
    }
    if (result->filter.data != NULL) {
        size = size_add(size, data_bytes(result->filter.count));
    }
    return size;
}

size_t codec_result_bytes(const struct msg_result *result)
{
    return data_bytes(result_fields_bytes(result));
}

/*
 * Returns the size of a frame without its header. `body` is the size of the body, `tag` the size of
 * the tag of the field that holds the body.
 */
static size_t frame_bytes(uint64_t id, size_t tag, size_t body)
{
    return size_add(SIZE_TAG + varint_bytes(id) + tag - SIZE_TAG, data_bytes(body));
}

static size_t notice_bytes(const struct msg_house_notice *notice)
{
    return data_bytes(number_bytes(notice->number) + data_bytes(notice->text.length) +
                      (notice->lang.text != NULL ? data_bytes(notice->lang.length) : 0) +
                      number_bytes((uint64_t)notice->since_ms) +
                      number_bytes((uint64_t)notice->until_ms));
}

size_t codec_results_bytes(const struct msg_response *response, size_t results_bytes)
{
    const struct msg_results *results = &response->results;
    size_t rest = number_bytes(results->comparisons) + number_bytes(results->exact ? 1 : 0) +
                  number_bytes(results->capped ? 1 : 0) + number_bytes(results->complete ? 1 : 0) +
                  number_bytes(results->peers) + number_bytes(results->peers_asked) +
                  number_bytes(results->peers_silent) + number_bytes(results->peers_other) +
                  number_bytes((uint64_t)results->as_of_ms) + number_bytes(results->seq) +
                  number_bytes(results->bridge_away ? 1 : 0) + number_bytes(results->peers_skipped);

    for (size_t i = 0; i < results->notice_count; i++) {
        rest += notice_bytes(&results->notices[i]);
    }
    return frame_bytes(response->id, SIZE_TAG, size_add(results_bytes, rest));
}

size_t codec_match_bytes(const struct msg_response *response)
{
    const struct msg_match *match = &response->match;
    size_t body = size_add(number_bytes(match->watch_id) + number_bytes(match->seq),
                           codec_result_bytes(&match->result));

    return frame_bytes(response->id, SIZE_TAG + 1, body); /* its number is 16 or more */
}
