/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/work.h"

#include <string.h>

static void put_le(uint8_t *out, uint64_t value, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        out[i] = (uint8_t)(value >> (8 * i) & 0xff);
    }
}

static void feed_number(const struct work_hash *hash, uint64_t value, size_t count)
{
    uint8_t bytes[8];

    put_le(bytes, value, count);
    hash->feed(hash->context, bytes, count);
}

/* Feeds the length of the data in 4 little-endian bytes, then the data. */
static void feed_data(const struct work_hash *hash, const void *data, size_t count)
{
    feed_number(hash, count, 4); /* parts of one frame */
    if (count > 0) {
        hash->feed(hash->context, data, count);
    }
}

void work_feed(const struct msg_deposit *deposit, const char *host, const uint8_t *store_id,
               struct work_hash hash)
{
    static const char prefix[] = "hearsay-work-1";
    static const char text_plain[] = "text/plain";
    bool has_type = deposit->media_type.text != NULL;

    hash.feed(hash.context, prefix, sizeof(prefix) - 1);
    hash.feed(hash.context, store_id, LIMIT_ID_BYTES);
    feed_data(&hash, host, strlen(host));
    hash.feed(hash.context, deposit->id.data, LIMIT_ID_BYTES);
    feed_number(&hash, deposit->epoch, 8);
    feed_number(&hash, deposit->reach_ppm, 4);
    feed_data(&hash, deposit->filter.data, deposit->filter.count);
    feed_data(&hash, has_type ? deposit->media_type.text : text_plain,
              has_type ? deposit->media_type.length : sizeof(text_plain) - 1);
    feed_data(&hash, deposit->payload.data, deposit->payload.count);
    feed_data(&hash, deposit->withdraw_hash.data, deposit->withdraw_hash.count);
}

void work_feed_report(const uint8_t *id, const char *host, const uint8_t *store_id,
                      struct msg_bytes token, struct work_hash hash)
{
    static const char prefix[] = "hearsay-report-work-1";

    hash.feed(hash.context, prefix, sizeof(prefix) - 1);
    hash.feed(hash.context, store_id, LIMIT_ID_BYTES);
    feed_data(&hash, host, strlen(host));
    hash.feed(hash.context, id, LIMIT_ID_BYTES);
    feed_data(&hash, token.data, token.count);
}

void work_proof(const uint8_t *content_hash, uint64_t number, uint8_t *out)
{
    memcpy(out, content_hash, LIMIT_HASH_BYTES);
    put_le(out + LIMIT_HASH_BYTES, number, 8);
}

uint32_t work_zero_bits(const uint8_t *hash)
{
    uint32_t bits = 0;

    while (bits < 8 * LIMIT_HASH_BYTES && (hash[bits / 8] >> (7 - bits % 8) & 1) == 0) {
        bits++;
    }
    return bits;
}
