/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory: the resident memory of a stored message, measured in the daemon's process before and
 * after, and with the same parts in this process.
 */
#include "daemon/config/config.h"
#include "tests/bench/alone.h"
#include "tests/bench/memory_map.h"
#include "tests/bench/model.h"
#include "tests/bench/stage.h"

enum { COUNT = 100000, IN_FLIGHT = 2000, SEED = 1 };

struct measured {
    struct memory_map empty;   /* a new daemon */
    struct memory_map filled;  /* after the deposits */
    struct memory_map started; /* another daemon that loaded them */
    struct model_index index;
    double cache_bytes;
    double sqlite_bytes;
};

static int fill(const struct bench_options *options, const char *directory,
                const struct frames *frames, struct measured *out)
{
    static struct stage stage;
    struct peer_outcome outcome = {0};

    int rc = stage_begin(&stage, options, directory, 1);
    if (rc == 0) {
        rc = memory_map_read(stage.child.pid, &out->empty);
    }
    if (rc == 0) {
        rc = stage_deposit(&stage, frames, IN_FLIGHT, &outcome);
    }
    if (rc == 0) {
        rc = memory_map_read(stage.child.pid, &out->filled);
    }
    stage_end(&stage);
    return rc;
}

static int start_again(const struct bench_options *options, const char *directory,
                       struct measured *out)
{
    struct child child;

    int rc = child_start_daemon(&child, options->hearsayd, directory);
    if (rc == 0) {
        rc = child_wait_until_arranged(&child);
    }
    if (rc == 0) {
        rc = memory_map_read(child.pid, &out->started);
    }
    child_stop(&child);
    return rc;
}

static int run_models(const char *directory, size_t count, struct measured *out)
{
    static struct config config;
    struct alone_outcome alone = {0};

    config_defaults(&config);
    if (model_index(SEED, count, false, &out->index) != 0 ||
        model_cache(SEED, count, config.cache_bytes, &out->cache_bytes) != 0 ||
        alone_deposit(directory, SEED, count, &alone) != 0) {
        return -1;
    }
    out->sqlite_bytes = alone.memory_bytes;
    return 0;
}

static void tell_part(struct report *report, const char *key, double bytes, size_t count,
                      const char *text)
{
    report_figure(report, key, bytes / (double)count, 1, "bytes/message", text);
}

static void tell(struct report *report, const struct measured *found, size_t count)
{
    const double growth = found->filled.total - found->empty.total;
    const double known = found->index.bytes + found->cache_bytes + found->sqlite_bytes;
    const double table = found->index.bytes - found->index.filters - found->index.items;
    char title[128];

    snprintf(title, sizeof(title), "%zu messages of 512 bits with payloads of 200 bytes", count);
    report_begin(report, "memory", title);
    report_figure(report, "empty_mib", found->empty.total / 1048576, 1, "MiB",
                  "resident, no messages");
    report_figure(report, "filled_mib", found->filled.total / 1048576, 1, "MiB",
                  "resident, after the deposits");
    report_figure(report, "started_mib", found->started.total / 1048576, 1, "MiB",
                  "resident, another daemon that loaded them");
    tell_part(report, "growth", growth, count, "growth by the deposits");
    tell_part(report, "index", found->index.bytes, count, "  index, as it counts itself");
    tell_part(report, "index_filters", found->index.filters, count, "    filters");
    tell_part(report, "index_items", found->index.items, count,
              "    ids, times, reach, sizes, cardinalities");
    tell_part(report, "index_rest", table, count, "    table of ids, unions, unused room");
    tell_part(report, "cache", found->cache_bytes, count,
              "  payload cache (bounded, not a cost each)");
    tell_part(report, "sqlite", found->sqlite_bytes, count,
              "  SQLite's page cache and statements (bounded)");
    tell_part(report, "rest", growth - known, count,
              "  rest: allocator, buffers, second connection, code");
    tell_part(report, "loaded_growth", found->started.total - found->empty.total, count,
              "growth of the daemon that loaded them");
    tell_part(report, "grown_heap", found->filled.heap - found->empty.heap, count,
              "growth by the deposits, by mapping: heap");
    tell_part(report, "grown_anonymous", found->filled.anonymous - found->empty.anonymous, count,
              "  large blocks and threads' heaps");
    tell_part(report, "grown_shared", found->filled.shared - found->empty.shared, count,
              "  the index of the database's log");
    tell_part(report, "grown_files", found->filled.files - found->empty.files, count,
              "  code that was not used before");
    report_end(report);
}

int bench_memory(const struct bench_options *options, struct report *report)
{
    struct measured found = {0};
    struct child_directory directory;
    struct frames frames = {0};

    if (child_directory_make(&directory, options->dir) != 0) {
        return -1;
    }
    int rc = frames_make_deposits(&frames, SEED, bench_or(options->count, COUNT));
    if (rc == 0) {
        rc = fill(options, directory.path, &frames, &found);
    }
    if (rc == 0) {
        rc = start_again(options, directory.path, &found);
    }
    if (rc == 0) {
        rc = run_models(directory.path, frames.count, &found);
    }
    if (rc == 0) {
        tell(report, &found, frames.count);
    }
    frames_deinit(&frames);
    child_directory_remove(&directory);
    return rc;
}
