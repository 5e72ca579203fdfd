/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/work.h"

#include <string.h>

static void put_le(uint8_t *out, uint64_t value, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        out[i] = (uint8_t)(value >> (8 * i) & 0xff);
    }
}

struct feeding {
    void (*feed)(void *context, const void *data, size_t count);
    void *context;
};

static void feed_number(const struct feeding *feeding, uint64_t value, size_t count)
{
    uint8_t bytes[8];

    put_le(bytes, value, count);
    feeding->feed(feeding->context, bytes, count);
}

/* A length of 4 bytes, and the data. */
static void feed_data(const struct feeding *feeding, const void *data, size_t count)
{
    feed_number(feeding, count, 4); /* parts of one frame */
    if (count > 0) {
        feeding->feed(feeding->context, data, count);
    }
}

void work_feed(const struct msg_deposit *deposit, const char *host, const uint8_t *store_id,
               void (*feed)(void *context, const void *data, size_t count), void *context)
{
    static const char prefix[] = "hearsay-work-1";
    static const char text_plain[] = "text/plain";
    struct feeding feeding = {feed, context};
    bool has_type = deposit->media_type.text != NULL;

    feed(context, prefix, sizeof(prefix) - 1);
    feed(context, store_id, LIMIT_ID_BYTES);
    feed_data(&feeding, host, strlen(host));
    feed(context, deposit->id.data, LIMIT_ID_BYTES);
    feed_number(&feeding, deposit->epoch, 8);
    feed_number(&feeding, deposit->reach_ppm, 4);
    feed_data(&feeding, deposit->filter.data, deposit->filter.count);
    feed_data(&feeding, has_type ? deposit->media_type.text : text_plain,
              has_type ? deposit->media_type.length : sizeof(text_plain) - 1);
    feed_data(&feeding, deposit->payload.data, deposit->payload.count);
    feed_data(&feeding, deposit->withdraw_hash.data, deposit->withdraw_hash.count);
}

void work_feed_report(const uint8_t *id, const char *host, const uint8_t *store_id,
                      const uint8_t *token, size_t token_bytes,
                      void (*feed)(void *context, const void *data, size_t count), void *context)
{
    static const char prefix[] = "hearsay-report-work-1";
    struct feeding feeding = {feed, context};

    feed(context, prefix, sizeof(prefix) - 1);
    feed(context, store_id, LIMIT_ID_BYTES);
    feed_data(&feeding, host, strlen(host));
    feed(context, id, LIMIT_ID_BYTES);
    feed_data(&feeding, token, token_bytes);
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
