/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ids: would a cuckoo filter in front of the store save time? Compares the memory of the table of
 * ids, which the index needs anyway, with the memory of the filter. Measures how much deposits of
 * new ids read from the database, with and without marks of withdrawn messages.
 */
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "core/filter/cuckoo.h"
#include "core/index/idmap.h"
#include "daemon/store/database.h"
#include "daemon/store/log.h"
#include "daemon/store/ops.h"
#include "daemon/store/schema.h"
#include "tests/bench/child.h"
#include "tests/bench/stats.h"
#include "tests/bench/workload.h"
#include "tests/lib/fail_alloc.h"

enum { COUNT = 100000, ROUNDS = 7, SEED = 1, TRANSACTION_ROWS = 1000 };

struct ids {
    uint8_t (*id)[MESSAGE_ID_BYTES]; /* count that are there, then as many that are not */
    size_t count;
};

struct samples {
    double map_unknown_ns[BENCH_ROUNDS_MAX];
    double map_known_ns[BENCH_ROUNDS_MAX];
    double filter_unknown_ns[BENCH_ROUNDS_MAX];
    double filter_known_ns[BENCH_ROUNDS_MAX];
    double map_bits;
    double filter_bits;
    double wrong_percent;
};

/* What deposits of new ids cost the store's thread. */
struct store_cost {
    double cpu_ns;
    double page_reads; /* that were not in SQLite's cache, a deposit */
};

static uint64_t sip_hash(const void *context, const uint8_t *id)
{
    uint8_t out[crypto_shorthash_BYTES];
    uint64_t hash;

    (void)crypto_shorthash(out, id, MESSAGE_ID_BYTES, context); /* cannot fail */
    memcpy(&hash, out, sizeof(hash));
    return hash;
}

static const uint8_t *id_at(const void *context, uint32_t position)
{
    return ((const struct ids *)context)->id[position];
}

/* --- the table and the filter ----------------------------------------------------------------- */

static double ask_map(const struct idmap *map, const struct ids *ids, size_t first, size_t *found)
{
    uint32_t position;
    const int64_t start_ns = stats_cpu_ns();

    for (size_t i = first; i < first + ids->count; i++) {
        *found += idmap_find(map, ids->id[i], id_at, ids, &position) ? 1 : 0;
    }
    return (double)(stats_cpu_ns() - start_ns) / (double)ids->count;
}

static double ask_filter(const struct cuckoo *filter, const struct ids *ids, size_t first,
                         size_t *found)
{
    const int64_t start_ns = stats_cpu_ns();

    for (size_t i = first; i < first + ids->count; i++) {
        *found += cuckoo_has(filter, ids->id[i]) ? 1 : 0;
    }
    return (double)(stats_cpu_ns() - start_ns) / (double)ids->count;
}

static int fill(struct idmap *map, struct cuckoo *filter, const struct ids *ids)
{
    for (size_t i = 0; i < ids->count; i++) {
        if (idmap_reserve(map) != 0 || cuckoo_insert(filter, ids->id[i]) != 0) {
            return bench_fail("no room for id %zu", i);
        }
        idmap_insert(map, ids->id[i], (uint32_t)i);
    }
    return 0;
}

static int compare(const struct ids *ids, uint32_t rounds, struct samples *samples)
{
    uint8_t key[crypto_shorthash_KEYBYTES] = {1, 2, 3};
    struct idmap map;
    struct cuckoo filter;
    struct fail_alloc counted;
    size_t known = 0;
    size_t wrong = 0;

    idmap_init(&map, alloc_system(), SEED);
    fail_alloc_init(&counted);
    int rc = cuckoo_init(&filter, &counted.alloc, sip_hash, key, (uint32_t)ids->count);
    if (rc == 0) {
        rc = fill(&map, &filter, ids);
    }
    for (uint32_t r = 0; rc == 0 && r < rounds; r++) {
        size_t map_found = 0;

        samples->map_known_ns[r] = ask_map(&map, ids, 0, &map_found);
        samples->map_unknown_ns[r] = ask_map(&map, ids, ids->count, &map_found);
        samples->filter_known_ns[r] = ask_filter(&filter, ids, 0, &known);
        samples->filter_unknown_ns[r] = ask_filter(&filter, ids, ids->count, &wrong);
        if (map_found != ids->count || known != (r + 1) * ids->count) {
            rc = bench_fail("the table or the filter lacks an id");
        }
    }
    samples->map_bits = (double)idmap_bytes(&map) * 8 / (double)ids->count;
    samples->filter_bits = (double)counted.live_bytes * 8 / (double)filter.count;
    samples->wrong_percent = 100.0 * (double)wrong / ((double)ids->count * rounds);
    idmap_deinit(&map);
    cuckoo_deinit(&filter);
    return rc;
}

/* --- the store -------------------------------------------------------------------------------- */

static double cache_misses(sqlite3 *db)
{
    int now = 0;
    int highest = 0;

    (void)sqlite3_db_status(db, SQLITE_DBSTATUS_CACHE_MISS, &now, &highest, 0);
    return now;
}

/*
 * Applies operations to the messages first .. first + count - 1, and measures their costs without
 * the commits.
 */
static int apply_all(struct store_database *database, enum persist_kind kind, size_t first,
                     size_t count, struct store_cost *out)
{
    static struct workload_message messages[TRANSACTION_ROWS];
    static struct persist_op ops[TRANSACTION_ROWS];
    const double misses = cache_misses(database->db);
    int64_t spent_ns = 0;
    int rc = SQLITE_OK;

    for (size_t at = 0; at < count && rc == SQLITE_OK; at += TRANSACTION_ROWS) {
        const size_t rows = count - at < TRANSACTION_ROWS ? count - at : TRANSACTION_ROWS;
        for (size_t i = 0; i < rows; i++) {
            workload_make(SEED, first + at + i, &messages[i]);
        }
        rc = store_database_begin(database);
        const int64_t start_ns = stats_cpu_ns();
        for (size_t i = 0; i < rows && rc == SQLITE_OK; i++) {
            struct store_times times;
            ops[i] = (struct persist_op){.kind = kind, .now_ms = 1000};
            workload_describe(&messages[i], 1, 1000, &ops[i].message);
            rc = store_ops_apply(database, &ops[i], &times);
            if (rc == SQLITE_OK && ops[i].outcome != PERSIST_APPLIED) {
                return bench_fail("an operation was not applied");
            }
        }
        spent_ns += stats_cpu_ns() - start_ns;
        rc = rc == SQLITE_OK ? store_database_commit(database) : rc;
    }
    out->cpu_ns = (double)spent_ns / (double)count;
    out->page_reads = (cache_misses(database->db) - misses) / (double)count;
    return rc == SQLITE_OK ? 0 : bench_fail("store: %s", sqlite3_errmsg(database->db));
}

static int measure_store(const char *directory, size_t count, struct store_cost *without,
                         struct store_cost *with)
{
    char reason[PERSIST_REASON_BYTES] = "";
    char path[CHILD_PATH_BYTES + 32];
    sqlite3 *db = NULL;
    struct store_database database = {0};
    struct store_cost ignored;

    snprintf(path, sizeof(path), "%s/ids.db", directory);
    if (store_schema_open(path, STORE_USE_WRITER_RELAXED, STORE_PAGE_BYTES, &db, reason) != 0) {
        return bench_fail("%s", reason);
    }
    (void)sqlite3_wal_autocheckpoint(
        db, STORE_LOG_BYTES /
                (STORE_PAGE_BYTES + STORE_LOG_FRAME_HEADER_BYTES)); /* else the log only grows */
    struct store_numbers *numbers = store_numbers_new();
    if (numbers == NULL ||
        store_database_init(&database, db, numbers, (int64_t)count * 2) != SQLITE_OK) {
        store_schema_close_last(db);
        store_numbers_free(numbers);
        return bench_fail("the store cannot be set up");
    }
    int rc = apply_all(&database, PERSIST_DEPOSIT, 0, count, &ignored);
    if (rc == 0) {
        rc = apply_all(&database, PERSIST_DEPOSIT, count, count, without);
    }
    if (rc == 0) { /* as many messages are left, and as many marks are there */
        rc = apply_all(&database, PERSIST_WITHDRAW, 0, count, &ignored);
    }
    if (rc == 0) {
        rc = apply_all(&database, PERSIST_DEPOSIT, 2 * count, count, with);
    }
    store_schema_close_last(store_database_deinit(&database));
    store_numbers_free(numbers);
    return rc;
}

/* --- telling ---------------------------------------------------------------------------------- */

static void tell(struct report *report, struct samples *s, uint32_t rounds, size_t count,
                 const struct store_cost *without, const struct store_cost *with)
{
    char title[128];

    snprintf(title, sizeof(title), "%zu ids; medians of %u rounds, processor time", count,
             (unsigned)rounds);
    report_begin(report, "ids", title);
    report_figure(report, "map_bits", s->map_bits, 1, "bits", "an id in the index's table");
    report_figure(report, "filter_bits", s->filter_bits, 2, "bits", "an id in a cuckoo filter");
    report_figure(report, "wrong_percent", s->wrong_percent, 3, "%",
                  "unknown ids that the filter takes for known");
    report_figure(report, "map_unknown_ns", stats_median(s->map_unknown_ns, rounds), 0, "ns",
                  "to ask the table for an unknown id");
    report_figure(report, "filter_unknown_ns", stats_median(s->filter_unknown_ns, rounds), 0, "ns",
                  "to ask the filter for one");
    report_figure(report, "map_known_ns", stats_median(s->map_known_ns, rounds), 0, "ns",
                  "to ask the table for a known id");
    report_figure(report, "filter_known_ns", stats_median(s->filter_known_ns, rounds), 0, "ns",
                  "to ask the filter for one");
    report_figure(report, "deposit_ns", without->cpu_ns, 0, "ns",
                  "a deposit of a new id in the store, without its commit");
    report_figure(report, "deposit_reads", without->page_reads, 3, "pages", "read for it");
    report_figure(report, "deposit_marks_ns", with->cpu_ns, 0, "ns",
                  "the same with as many withdrawn ids to look for");
    report_figure(report, "deposit_marks_reads", with->page_reads, 3, "pages", "read for it");
    report_end(report);
}

int bench_ids(const struct bench_options *options, struct report *report)
{
    static struct samples samples;
    const uint32_t rounds = bench_or(options->rounds, ROUNDS);
    struct ids ids = {.count = bench_or(options->count, COUNT)};
    struct store_cost without = {0};
    struct store_cost with = {0};
    struct child_directory directory;

    ids.id = calloc(ids.count * 2, sizeof(*ids.id));
    if (ids.id == NULL) {
        return bench_fail("out of memory");
    }
    for (size_t i = 0; i < ids.count * 2; i++) {
        struct workload_message message;
        workload_make(SEED, i, &message);
        memcpy(ids.id[i], message.id, MESSAGE_ID_BYTES);
    }
    int rc = child_directory_make(&directory, options->dir);
    if (rc == 0) {
        rc = compare(&ids, rounds, &samples);
        if (rc == 0) {
            rc = measure_store(directory.path, ids.count, &without, &with);
        }
        child_directory_remove(&directory);
    }
    if (rc == 0) {
        tell(report, &samples, rounds, ids.count, &without, &with);
    }
    free(ids.id);
    return rc;
}
