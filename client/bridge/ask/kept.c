/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/ask/inner.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/expiry.h"
#include "core/filter/bloom.h"

/* The parts of the block, in this order. */
struct layout {
    size_t results;
    size_t found;
    size_t filters;
    size_t bytes; /* ids, types, payloads, stored filters */
    size_t end;
};

static size_t bytes_of(const struct hearsay_result *result)
{
    return result->id.count + result->media_type.length + 1 + result->payload.count +
           result->filter.count;
}

static struct layout plan_block(const struct hearsay_results *results, uint32_t count,
                                uint32_t bits)
{
    struct layout layout = {.results = sizeof(struct kept)};

    layout.found = layout.results + count * sizeof(struct hearsay_result);
    layout.filters = layout.found + count * sizeof(struct hood_found);
    layout.bytes = layout.filters + count * bloom_words(bits) * sizeof(uint64_t);
    layout.end = layout.bytes;
    for (uint32_t i = 0; i < count; i++) {
        layout.end += bytes_of(&results->results[i]); /* parts of one letter: cannot overflow */
    }
    return layout;
}

/* Copies one result; `used` are the bytes of payloads so far. */
static void keep_result(const struct hearsay_result *from, struct kept *kept, uint8_t **at,
                        size_t payload_most)
{
    struct hearsay_result *to = &kept->results[kept->count];
    bool has_payload =
        from->payload.data != NULL && from->payload.count <= payload_most - kept->payload_bytes;

    *to = *from;
    to->host = (struct hearsay_text){kept->host, strlen(kept->host)};
    to->epoch = 0;
    to->id.data = msg_keep_bytes(at, from->id.data, from->id.count);
    to->filter.data = msg_keep_bytes(at, from->filter.data, from->filter.count);
    if (from->payload.data != NULL && !has_payload) {
        to->media_type = (struct hearsay_text){NULL, 0};
        to->payload = (struct hearsay_bytes){NULL, 0};
        to->payload_omitted = true;
        return;
    }
    if (from->media_type.text != NULL) { /* with its NUL */
        to->media_type.text =
            msg_keep_bytes(at, from->media_type.text, from->media_type.length + 1);
    }
    to->payload.data = msg_keep_bytes(at, from->payload.data, from->payload.count);
    kept->payload_bytes += from->payload.count;
}

struct kept *kept_new(const struct hearsay_results *results, uint32_t k, uint32_t bits,
                      uint32_t peer, const char *host, size_t payload_most)
{
    uint32_t count = results->result_count < k ? (uint32_t)results->result_count : k;
    struct layout layout = plan_block(results, count, bits);
    uint8_t *block = malloc(layout.end);
    struct kept *kept = (void *)block;

    if (block == NULL) {
        return NULL;
    }
    *kept = (struct kept){.peer = peer};
    msg_text_copy(kept->host, sizeof(kept->host), host, strlen(host));
    kept->results = (struct hearsay_result *)(void *)(block + layout.results);
    kept->found = (struct hood_found *)(void *)(block + layout.found);
    uint64_t *filter = (uint64_t *)(void *)(block + layout.filters);
    uint8_t *at = block + layout.bytes;

    for (uint32_t i = 0; i < count; i++) {
        const struct hearsay_result *from = &results->results[i];

        if (from->id.count != MESSAGE_ID_BYTES || from->epoch != 0 ||
            !message_times_fit(from->deposited_ms, from->expires_ms) ||
            bloom_load(filter, bits, from->filter.data, from->filter.count) != 0) {
            continue;
        }
        keep_result(from, kept, &at, payload_most);
        kept->found[kept->count] =
            (struct hood_found){.deposited_ms = from->deposited_ms, .filter = filter};
        memcpy(kept->found[kept->count++].id, from->id.data, MESSAGE_ID_BYTES);
        filter += bloom_words(bits);
    }
    return kept;
}
