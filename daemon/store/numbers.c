/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/numbers.h"

#include <stdlib.h>
#include <string.h>

#include <sodium.h>
#include <uv.h>

#include "daemon/store/statement.h"
#include "daemon/system/keyed_hash.h"

/*
 * The messages of a host. `fresh` has the messages that came lately. A transaction adds to `fresh`
 * and marks removed messages; after a transaction, when `fresh` or the number of removed messages
 * has grown, `fresh` is merged into `old`, and the removed messages are left out.
 */
struct numbers_host {
    uint32_t host;
    struct store_run old;
    struct store_fresh fresh;
    size_t gone; /* removed messages in both */
    struct store_soonest soonest;
};

/* A message that the current transaction has removed. */
struct removal {
    int64_t seq;
    uint32_t host;
    uint32_t hash;
};

struct store_numbers {
    uint8_t secret[KEYED_HASH_KEY_BYTES];
    uv_mutex_t mutex; /* the writer's thread changes the fields below while it holds the mutex */
    struct numbers_host *hosts;
    size_t host_count;
    /* the writer's thread only */
    struct removal *removals;
    size_t removal_count;
    size_t removal_room;
    bool has_changed; /* in the current transaction */
    uint8_t hashed_id[MESSAGE_ID_BYTES];
    uint32_t hash; /* of hashed_id */
};

/* --- hosts ------------------------------------------------------------------------------------ */

static uint32_t hash_id(const struct store_numbers *numbers, const uint8_t *id)
{
    return (uint32_t)(keyed_hash(numbers->secret, id, MESSAGE_ID_BYTES) & STORE_HASH_MASK);
}

/* For the writer's thread, which looks for the id of a deposit and then adds it: hashes it once. */
static uint32_t hash_latest(struct store_numbers *numbers, const uint8_t *id)
{
    if (memcmp(numbers->hashed_id, id, MESSAGE_ID_BYTES) != 0) {
        memcpy(numbers->hashed_id, id, MESSAGE_ID_BYTES);
        numbers->hash = hash_id(numbers, id);
    }
    return numbers->hash;
}

static struct numbers_host *find_host(const struct store_numbers *numbers, uint32_t host)
{
    for (size_t i = 0; i < numbers->host_count; i++) {
        if (numbers->hosts[i].host == host) {
            return &numbers->hosts[i];
        }
    }
    return NULL;
}

/* Finds a host, or makes it. NULL: out of memory. */
static struct numbers_host *need_host(struct store_numbers *numbers, uint32_t host)
{
    struct numbers_host *found = find_host(numbers, host);

    if (found != NULL) {
        return found;
    }
    struct numbers_host *hosts =
        realloc(numbers->hosts, (numbers->host_count + 1) * sizeof(*hosts));
    if (hosts == NULL) {
        return NULL;
    }
    numbers->hosts = hosts;
    found = &hosts[numbers->host_count++];
    *found = (struct numbers_host){.host = host};
    return found;
}

static struct store_number *host_find_number(const struct numbers_host *host, uint32_t hash,
                                             int64_t seq)
{
    struct store_number *number = store_run_find(&host->old, hash, seq);

    return number != NULL ? number : store_fresh_find(&host->fresh, hash, seq);
}

static bool merge_is_due(const struct numbers_host *host)
{
    size_t most = host->old.count / 256 > 1024 ? host->old.count / 256 : 1024;

    return host->fresh.count >= most || host->gone >= most;
}

/*
 * Merges `fresh` into `old`, without the removed numbers. If there is no memory, both stay; the
 * next transaction tries again.
 */
static void merge_runs(struct numbers_host *host)
{
    if (host->gone > 0) {
        store_run_sweep(&host->old);
        store_fresh_sweep(&host->fresh, true, INT64_MAX);
        host->gone = 0;
    }
    (void)store_run_merge(&host->old, &host->fresh);
}

static bool offer_soonest(struct numbers_host *host, const struct store_number *number)
{
    return store_number_is_gone(number) ||
           store_soonest_offer(&host->soonest, store_number_soon(number));
}

static bool fill_soonest(struct numbers_host *host)
{
    bool has_memory = true;

    store_soonest_begin(&host->soonest);
    for (size_t i = 0; i < host->old.count && has_memory; i++) {
        has_memory = offer_soonest(host, &host->old.items[i]);
    }
    for (size_t i = 0; i < host->fresh.count && has_memory; i++) {
        has_memory = offer_soonest(host, &host->fresh.items[i].number);
    }
    if (has_memory) {
        store_soonest_end(&host->soonest);
    } else {
        store_soonest_clear(&host->soonest);
    }
    return has_memory;
}

static int host_soonest(struct numbers_host *host, size_t place, struct store_soon *out_soon)
{
    struct store_soonest *soonest = &host->soonest;

    if (place >= soonest->count && soonest->is_cut && !fill_soonest(host)) {
        return SQLITE_NOMEM;
    }
    if (place >= soonest->count) {
        return SQLITE_DONE;
    }
    *out_soon = soonest->entries[soonest->first + place];
    return SQLITE_ROW;
}

/* --- the memory ------------------------------------------------------------------------------- */

struct store_numbers *store_numbers_new(void)
{
    struct store_numbers *numbers = calloc(1, sizeof(*numbers));

    if (numbers != NULL && uv_mutex_init(&numbers->mutex) != 0) {
        free(numbers);
        return NULL;
    }
    if (numbers != NULL) {
        keyed_hash_draw(numbers->secret);
        numbers->hash = hash_id(numbers, numbers->hashed_id);
    }
    return numbers;
}

static void clear_hosts(struct store_numbers *numbers)
{
    for (size_t i = 0; i < numbers->host_count; i++) {
        store_run_deinit(&numbers->hosts[i].old);
        store_fresh_deinit(&numbers->hosts[i].fresh);
        store_soonest_deinit(&numbers->hosts[i].soonest);
    }
    numbers->host_count = 0;
}

void store_numbers_free(struct store_numbers *numbers)
{
    if (numbers == NULL) {
        return;
    }
    clear_hosts(numbers);
    free(numbers->hosts);
    free(numbers->removals);
    uv_mutex_destroy(&numbers->mutex);
    free(numbers);
}

int store_numbers_add(struct store_numbers *numbers, uint32_t host, const uint8_t *id, int64_t seq,
                      int64_t expires_ms)
{
    uint32_t hash = hash_latest(numbers, id);
    struct store_number number = store_number_make(hash, seq, expires_ms);
    int rc = SQLITE_NOMEM;

    if (seq > STORE_NUMBER_MAX) {
        return SQLITE_FULL;
    }
    uv_mutex_lock(&numbers->mutex);
    struct numbers_host *found = need_host(numbers, host);
    if (found != NULL && store_fresh_add(&found->fresh, &number)) {
        numbers->has_changed = true;
        rc = SQLITE_OK;
    }
    uv_mutex_unlock(&numbers->mutex);
    if (rc == SQLITE_OK) {
        store_soonest_add(&found->soonest, store_number_soon(&number));
    }
    return rc;
}

static bool note_removal(struct store_numbers *numbers, const struct removal *removal)
{
    if (numbers->removal_count == numbers->removal_room) {
        size_t room = 2 * numbers->removal_room + 64;
        struct removal *removals = realloc(numbers->removals, room * sizeof(*removals));

        if (removals == NULL) {
            return false;
        }
        numbers->removals = removals;
        numbers->removal_room = room;
    }
    numbers->removals[numbers->removal_count++] = *removal;
    return true;
}

int store_numbers_remove(struct store_numbers *numbers, uint32_t host, const uint8_t *id,
                         int64_t seq)
{
    struct removal removal = {seq, host, hash_id(numbers, id)};
    struct numbers_host *found = find_host(numbers, host);
    struct store_number *number = found == NULL ? NULL : host_find_number(found, removal.hash, seq);

    if (number == NULL || store_number_is_gone(number)) {
        return SQLITE_CORRUPT;
    }
    if (!note_removal(numbers, &removal)) {
        return SQLITE_NOMEM;
    }
    uv_mutex_lock(&numbers->mutex);
    number->high |= STORE_NUMBER_GONE;
    uv_mutex_unlock(&numbers->mutex);
    found->gone++;
    numbers->has_changed = true;
    store_soonest_remove(&found->soonest, store_number_soon(number));
    return SQLITE_OK;
}

static int64_t next_number(const struct store_numbers *numbers, uint32_t host, uint32_t hash,
                           int64_t after, bool with_gone)
{
    const struct numbers_host *found = find_host(numbers, host);

    if (found == NULL) {
        return 0;
    }
    int64_t best = store_run_next(&found->old, hash, after, with_gone, INT64_MAX);
    best = store_fresh_next(&found->fresh, hash, after, with_gone, best);
    return best == INT64_MAX ? 0 : best;
}

int64_t store_numbers_next(struct store_numbers *numbers, uint32_t host, const uint8_t *id,
                           int64_t after)
{
    return next_number(numbers, host, hash_latest(numbers, id), after, false);
}

int64_t store_numbers_find(const struct store_numbers *numbers, uint32_t host, const uint8_t *id,
                           int64_t after)
{
    return next_number(numbers, host, hash_id(numbers, id), after, true);
}

void store_numbers_lock(struct store_numbers *numbers)
{
    uv_mutex_lock(&numbers->mutex);
}

void store_numbers_unlock(struct store_numbers *numbers)
{
    uv_mutex_unlock(&numbers->mutex);
}

int store_numbers_soonest(struct store_numbers *numbers, uint32_t host, size_t place,
                          struct store_soon *out_soon)
{
    struct numbers_host *found = find_host(numbers, host);

    return found == NULL ? SQLITE_DONE : host_soonest(found, place, out_soon);
}

int store_numbers_first(struct store_numbers *numbers, struct store_soon *out_soon)
{
    int rc = SQLITE_DONE;

    for (size_t i = 0; i < numbers->host_count; i++) {
        struct store_soon soon = {0};
        int found = host_soonest(&numbers->hosts[i], 0, &soon);

        if (found == SQLITE_NOMEM) {
            return found;
        }
        if (found == SQLITE_ROW && (rc == SQLITE_DONE || soon.expires_ms < out_soon->expires_ms)) {
            *out_soon = soon;
            rc = SQLITE_ROW;
        }
    }
    return rc;
}

/* --- transactions ----------------------------------------------------------------------------- */

static void forget_removals(struct store_numbers *numbers)
{
    enum { KEPT = 4096 };

    numbers->removal_count = 0;
    numbers->has_changed = false;
    if (numbers->removal_room > KEPT) { /* a long transaction needed them */
        free(numbers->removals);
        numbers->removals = NULL;
        numbers->removal_room = 0;
    }
}

void store_numbers_commit(struct store_numbers *numbers)
{
    if (!numbers->has_changed) {
        return;
    }
    uv_mutex_lock(&numbers->mutex);
    for (size_t i = 0; i < numbers->host_count; i++) {
        if (merge_is_due(&numbers->hosts[i])) {
            merge_runs(&numbers->hosts[i]);
        }
    }
    uv_mutex_unlock(&numbers->mutex);
    forget_removals(numbers);
}

void store_numbers_rollback(struct store_numbers *numbers, int64_t first)
{
    if (!numbers->has_changed) {
        return;
    }
    uv_mutex_lock(&numbers->mutex);
    for (size_t i = 0; i < numbers->removal_count; i++) {
        const struct removal *removal = &numbers->removals[i];
        struct numbers_host *host = find_host(numbers, removal->host);

        host_find_number(host, removal->hash, removal->seq)->high &= (uint16_t)~STORE_NUMBER_GONE;
        host->gone--;
    }
    for (size_t i = 0; i < numbers->host_count; i++) {
        store_fresh_sweep(&numbers->hosts[i].fresh, false, first);
        store_soonest_clear(&numbers->hosts[i].soonest);
    }
    uv_mutex_unlock(&numbers->mutex);
    forget_removals(numbers);
}

/* --- loading ---------------------------------------------------------------------------------- */

static int load_row(struct store_numbers *numbers, sqlite3_stmt *row, const char **out_detail)
{
    int64_t seq = sqlite3_column_int64(row, 0);
    int64_t host = sqlite3_column_int64(row, 1);
    const void *id = sqlite3_column_blob(row, 2);

    if (seq < 1 || seq > STORE_NUMBER_MAX || host < 0 || host > UINT32_MAX || id == NULL ||
        sqlite3_column_bytes(row, 2) != MESSAGE_ID_BYTES) {
        *out_detail = "a message has a number, a host or an id that no message can have";
        return SQLITE_CORRUPT;
    }
    struct numbers_host *found = need_host(numbers, (uint32_t)host);
    if (found == NULL || !store_run_make_room(&found->old)) {
        return SQLITE_NOMEM;
    }
    found->old.items[found->old.count++] =
        store_number_make(hash_id(numbers, id), seq, sqlite3_column_int64(row, 3));
    return SQLITE_OK;
}

/* Whether two messages have the same id. Returns an SQLite result code. */
static int compare_ids(sqlite3 *db, int64_t seq, int64_t other, bool *out_same)
{
    int64_t same = 0;
    int rc = store_query_number(db,
                                "SELECT (SELECT id FROM message WHERE seq = ?1)"
                                " = (SELECT id FROM message WHERE seq = ?2)",
                                STORE_VALUES(STORE_NUMBER(seq), STORE_NUMBER(other)), &same);

    *out_same = same != 0;
    return rc;
}

/* Sorts the loaded numbers, and compares the ids of messages with equal hashes. */
static int sort_host(struct numbers_host *host, sqlite3 *db, const char **out_detail)
{
    struct store_run *old = &host->old;
    bool is_same = false;
    int rc = SQLITE_OK;

    store_run_sort(old);
    (void)store_run_resize(old, old->count); /* or it stays larger */
    for (size_t i = 0; i < old->count && rc == SQLITE_OK; i++) {
        for (size_t j = i + 1;
             j < old->count && rc == SQLITE_OK && !is_same &&
             store_number_hash(&old->items[i]) == store_number_hash(&old->items[j]);
             j++) {
            rc = compare_ids(db, store_number_soon(&old->items[i]).seq,
                             store_number_soon(&old->items[j]).seq, &is_same);
        }
    }
    store_soonest_clear(&host->soonest);
    if (rc == SQLITE_OK && is_same) {
        *out_detail = "two messages of a host have the same id";
        rc = SQLITE_CORRUPT;
    }
    return rc;
}

static int check_host(const struct numbers_host *host, sqlite3 *db, const char **out_detail)
{
    int64_t hosts = 0;
    int rc = store_query_number(db, "SELECT count(*) FROM host WHERE host_id = ?1",
                                STORE_VALUES(STORE_NUMBER(host->host)), &hosts);

    if (rc == SQLITE_OK && hosts == 0) {
        *out_detail = "the host of a message is missing";
        rc = SQLITE_CORRUPT;
    }
    return rc;
}

static int load_rows(struct store_numbers *numbers, sqlite3 *db, const char **out_detail)
{
    sqlite3_stmt *row;
    int rc =
        store_query(db, "SELECT seq, host_id, id, expires_ms FROM message", STORE_NO_VALUES, &row);

    while (rc == SQLITE_ROW && (rc = load_row(numbers, row, out_detail)) == SQLITE_OK) {
        rc = sqlite3_step(row);
    }
    (void)sqlite3_finalize(row); /* repeats what step said */
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Exchanges the hosts of `numbers`, which the reader's thread may read, with those of `fresh`. */
static void swap_hosts(struct store_numbers *numbers, struct store_numbers *fresh)
{
    struct numbers_host *hosts = numbers->hosts;
    size_t count = numbers->host_count;

    uv_mutex_lock(&numbers->mutex);
    numbers->hosts = fresh->hosts;
    numbers->host_count = fresh->host_count;
    uv_mutex_unlock(&numbers->mutex);
    fresh->hosts = hosts;
    fresh->host_count = count;
}

int store_numbers_load(struct store_numbers *numbers, sqlite3 *db, const char **out_detail)
{
    struct store_numbers fresh = {.hosts = NULL};

    *out_detail = NULL;
    memcpy(fresh.secret, numbers->secret, sizeof(fresh.secret));
    int rc = load_rows(&fresh, db, out_detail);
    for (size_t i = 0; i < fresh.host_count && rc == SQLITE_OK; i++) {
        rc = sort_host(&fresh.hosts[i], db, out_detail);
        if (rc == SQLITE_OK) {
            rc = check_host(&fresh.hosts[i], db, out_detail);
        }
    }
    if (rc == SQLITE_OK) {
        swap_hosts(numbers, &fresh);
    }
    clear_hosts(&fresh);
    free(fresh.hosts);
    sodium_memzero(fresh.secret, sizeof(fresh.secret));
    return rc;
}

uint64_t store_numbers_count(const struct store_numbers *numbers)
{
    uint64_t count = 0;

    for (size_t i = 0; i < numbers->host_count; i++) {
        count += numbers->hosts[i].old.count;
    }
    return count;
}
