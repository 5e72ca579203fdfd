/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/deposit_store.h"

#include <string.h>
#include <time.h>

#include "daemon/store/thread/sqlite.h"
#include "tests/bench/child.h"
#include "tests/bench/workload.h"

enum { BATCH = 256, SEED = 1 };

struct store {
    uv_loop_t loop;
    struct persist *persist;
    uint32_t host;
    struct persist_op ops[BATCH];
    struct workload_message messages[BATCH];
    struct persist_removed removed[BATCH];
    unsigned done;
    unsigned failed;
};

static struct store store;

static int64_t cpu_ns(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void on_done(struct persist_op *op)
{
    store.done++;
    store.failed += op->outcome != PERSIST_APPLIED;
}

static void submit(size_t count)
{
    store.done = 0;
    for (size_t i = 0; i < count; i++) {
        store.persist->interface->submit(store.persist, &store.ops[i]);
    }
    while (store.done < count) {
        (void)uv_run(&store.loop, UV_RUN_ONCE);
    }
}

/* Deposits messages. Returns the nanoseconds of CPU time that the store took, without making the
 * messages. */
static int64_t deposit(uint64_t first, uint64_t count, bool evicts)
{
    int64_t spent_ns = 0;

    for (uint64_t at = 0; at < count; at += BATCH) {
        for (size_t i = 0; i < BATCH; i++) {
            const uint64_t number = first + at + i;
            const int64_t now_ms = INT64_C(1800000000000) + (int64_t)number;
            struct persist_op *op = &store.ops[i];

            workload_make(SEED, number, &store.messages[i]);
            *op = (struct persist_op){.kind = PERSIST_DEPOSIT, .now_ms = now_ms, .done = on_done};
            workload_describe(&store.messages[i], store.host, now_ms, &op->message);
            if (evicts) {
                op->evict = PERSIST_EVICT_OLDEST;
                op->evict_messages = 1;
                op->removed = &store.removed[i];
                op->limit = 1;
            }
        }
        const int64_t start_ns = cpu_ns();
        submit(BATCH);
        spent_ns += cpu_ns() - start_ns;
    }
    return spent_ns;
}

static int open_store(const char *directory, bool is_fed)
{
    char profile[PROFILE_TEXT_MAX];
    char reason[PERSIST_REASON_BYTES] = "";
    const struct persist_sqlite_options options = {.loop = &store.loop,
                                                   .directory = directory,
                                                   .bytes_max = UINT64_C(1) << 30,
                                                   .messages_max = BENCH_COUNT_MAX};

    if (persist_sqlite_open(&options, &store.persist, reason) != 0 ||
        store.persist->interface->add_host(store.persist, "default", workload_profile, &store.host,
                                           profile, reason) != 0) {
        return bench_fail("%s", reason);
    }
    if (is_fed) {
        store.ops[0] =
            (struct persist_op){.kind = PERSIST_REPLICATE, .replicate = true, .done = on_done};
        store.ops[0].message.host = store.host;
        submit(1);
    }
    return 0;
}

int deposit_store_run(const struct bench_options *options, enum deposit_kind kind, size_t count,
                      double *out_us)
{
    const bool evicts = kind == DEPOSIT_EVICTS || kind == DEPOSIT_EVICTS_FED;
    struct child_directory directory;

    count -= count % BATCH;
    memset(&store, 0, sizeof(store));
    if (child_directory_make(&directory, options->dir) != 0) {
        return -1;
    }
    (void)uv_loop_init(&store.loop);
    int rc = open_store(directory.path, kind == DEPOSIT_PLAIN_FED || kind == DEPOSIT_EVICTS_FED);
    if (rc == 0) {
        (void)deposit(0, count, false);
        *out_us = (double)deposit(count, count, evicts) / 1e3 / (double)count;
        rc = store.failed == 0 ? 0 : bench_fail("%u deposits were not stored", store.failed);
    }
    if (store.persist != NULL) {
        store.persist->interface->close(store.persist, NULL, NULL);
        (void)uv_run(&store.loop, UV_RUN_DEFAULT);
    }
    (void)uv_loop_close(&store.loop);
    child_directory_remove(&directory);
    return rc;
}
