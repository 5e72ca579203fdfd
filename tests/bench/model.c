/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/model.h"

#include <string.h>

#include "core/filter/bloom.h"
#include "core/tree/engine.h"
#include "daemon/host/cache.h"
#include "tests/bench/bench.h"
#include "tests/bench/stats.h"
#include "tests/bench/workload.h"

static int insert_all(struct index *index, uint64_t seed, size_t count, double *out_seconds)
{
    int64_t spent_ns = 0;
    int rc = 0;

    for (size_t i = 0; i < count && rc == 0; i++) {
        struct workload_message message;
        struct index_item item = {.deposited_ms = (int64_t)i, .expires_ms = INT64_MAX};
        workload_make(seed, i, &message);
        memcpy(item.id, message.id, sizeof(item.id));
        const int64_t start_ns = stats_now_ns();
        rc = index_insert(index, &item, message.words);
        spent_ns += stats_now_ns() - start_ns;
    }
    *out_seconds = (double)spent_ns / 1e9;
    return rc;
}

int model_index(uint64_t seed, size_t count, bool in_bulk, struct model_index *out)
{
    /* What an item is: id, two times, reach, size, cardinality. */
    const double item_bytes = MESSAGE_ID_BYTES + 8 + 8 + 4 + 4 + 2;
    struct index *index = NULL;
    struct profile profile;

    workload_read_profile(&profile);
    const struct index_options options = {
        .alloc = alloc_system(),
        .profile = &profile,
        .kernels = bits_select(BITS_BEST),
    };
    int rc = index_new(&tree_engine, &options, &index);
    if (rc == 0) {
        rc = insert_all(index, seed, count, &out->seconds);
    }
    if (rc == 0 && in_bulk) {
        const int64_t start_ns = stats_now_ns();

        rc = index_arrange(index, NULL);
        out->seconds += (double)(stats_now_ns() - start_ns) / 1e9;
    }
    if (rc == 0) {
        out->bytes = (double)index_bytes(index);
        out->filters = (double)(count * bloom_bytes(profile.bits));
        out->items = (double)count * item_bytes;
    }
    index_free(index);
    return rc == 0 ? 0 : bench_fail("the index could not be filled");
}

int model_cache(uint64_t seed, size_t count, uint64_t limit_bytes, double *out_bytes)
{
    struct cache *cache = cache_new(limit_bytes);

    if (cache == NULL) {
        return bench_fail("out of memory");
    }
    for (size_t i = 0; i < count; i++) {
        struct workload_message message;
        workload_make(seed, i, &message);
        const struct cache_entry entry = {
            .payload = message.payload,
            .payload_bytes = sizeof(message.payload),
            .media_type = workload_media_type,
            .media_type_bytes = strlen(workload_media_type),
        };
        (void)cache_put(cache, 1, message.id, &entry); /* what is not kept takes no memory */
    }
    *out_bytes = (double)cache_bytes(cache);
    cache_free(cache);
    return 0;
}
