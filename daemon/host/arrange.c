/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/host/arrange.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "core/base/err.h"
#include "daemon/system/container.h"
#include "daemon/system/read_pool.h"

enum {
    /*
     * A removed message counts as half a worn message, because it costs a search less
     * time than a message beside the tree.
     */
    REMOVED_WEIGHT = 2,
    FAILED_REST_MS = 60 * 1000,
    /* The budget of renewal_follow in one slice, in changes. */
    FOLLOW_BUDGET = 128
};

void arrange_tune_memory(void)
{
#ifdef __GLIBC__
    /*
     * glibc takes a block of this size or more from the system by itself, and returns it when it is
     * freed. The arrays of the nodes of a large tree are larger. The buffers of most queries are
     * smaller.
     */
    (void)mallopt(M_MMAP_THRESHOLD, 192 * 1024);
#endif
}

void arrange_init(struct arrange *arrange, struct worker *worker, uint32_t *working)
{
    memset(arrange, 0, sizeof(*arrange));
    arrange->worker = worker;
    arrange->working = working;
    arrange->not_before_ms = INT64_MIN;
    atomic_init(&arrange->stop, false);
}

/* --- on the worker ---------------------------------------------------------------------------- */

static void arrange_submit(struct arrange *arrange, enum arrange_phase phase,
                           void (*run)(struct long_work *work),
                           void (*done)(struct long_work *work))
{
    arrange->phase = phase;
    arrange->work = (struct long_work){.run = run, .done = done};
    (*arrange->working)++;
    arrange->worker->submit(arrange->worker, &arrange->work);
}

static bool is_stopped(void *context)
{
    struct arrange *arrange = context;

    return atomic_load_explicit(&arrange->stop, memory_order_relaxed);
}

/* Gives memory that was freed in small blocks back to the system. */
static void give_back(void)
{
#ifdef __GLIBC__
    (void)malloc_trim(0);
#endif
}

/* The job of the worker in both phases: first it takes over the messages, then it arranges them. */
static void run_renewal(struct long_work *work)
{
    struct arrange *arrange = CONTAINER_OF(work, struct arrange, work);
    struct index_stop stop = {is_stopped, arrange};

    /* what loading freed, before the rebuild takes as much again; once a rebuild, as it stops
     * others who take memory */
    if (arrange->gives_back && !arrange->has_given_back) {
        arrange->has_given_back = true;
        give_back();
    }
    arrange->outcome = arrange->phase == ARRANGE_TAKING ? renewal_take(arrange->renewal, &stop)
                                                        : renewal_arrange(arrange->renewal, &stop);
}

static void run_freeing(struct long_work *work)
{
    struct arrange *arrange = CONTAINER_OF(work, struct arrange, work);

    renewal_free(arrange->renewal);
    if (arrange->gives_back) {
        give_back(); /* what the rebuild freed */
    }
}

static void on_freed(struct long_work *work)
{
    struct arrange *arrange = CONTAINER_OF(work, struct arrange, work);

    (*arrange->working)--;
    arrange->renewal = NULL;
    arrange->phase = ARRANGE_IDLE;
}

/*
 * Ends the rebuild. The epoch keeps its current index. The worker frees the memory of the renewal,
 * since freeing takes too long for the loop.
 */
static void arrange_end(struct arrange *arrange)
{
    renewal_detach(arrange->renewal);
    epoch_leave(arrange->epoch);
    arrange->epoch = NULL;
    arrange_submit(arrange, ARRANGE_FREEING, run_freeing, on_freed);
}

/*
 * Counts and logs a rebuild that has failed. If memory was short, the next rebuild waits for
 * FAILED_REST_MS. If too many messages came or went during the rebuild, as in a burst, the next one
 * may begin at once, because these messages pay for it: they are at least as many as the rebuild
 * had arranged.
 */
static void note_failure(struct arrange *arrange, int outcome)
{
    const char *name = arrange->host->config.name;

    arrange->figures.failed++;
    if (outcome == RENEWAL_OVERRUN) {
        log_info("host %s: so many messages came and went while it was arranged for quick queries "
                 "that this begins again",
                 name);
        return;
    }
    arrange->not_before_ms = arrange->now_ms + FAILED_REST_MS;
    log_warning("messages of host %s are not arranged for quick queries, which will be tried "
                "again: %s",
                name, err_text(outcome));
}

/* The worker has taken or arranged messages. */
static void on_renewal(struct long_work *work)
{
    struct arrange *arrange = CONTAINER_OF(work, struct arrange, work);

    (*arrange->working)--;
    if (arrange->stopped) {
        arrange_end(arrange);
    } else if (arrange->outcome != 0) {
        note_failure(arrange, arrange->outcome);
        arrange_end(arrange);
    } else {
        arrange->phase = arrange->phase == ARRANGE_TAKING ? ARRANGE_COPYING : ARRANGE_FOLLOWING;
    }
}

/* --- which, and when -------------------------------------------------------------------------- */

/* The counters of an epoch's index. */
static struct worth_counts counts_of(const struct epoch *epoch)
{
    struct index_use use = index_use(epoch->index);
    struct index_wear wear;

    index_wear(epoch->index, &wear);
    return (struct worth_counts){
        .messages = index_count(epoch->index),
        .worn = wear.unarranged + wear.removed / REMOVED_WEIGHT,
        .searches = use.searches,
        .comparisons = use.comparisons,
    };
}

static void arrange_begin(struct arrange *arrange, const struct host *host, struct epoch *epoch)
{
    arrange->begun_ms = arrange->now_ms;
    arrange->host = host;
    arrange->gives_back = arrange->loaded;
    arrange->has_given_back = false;
    int rc = renewal_begin(epoch->index, &arrange->renewal);
    if (rc != 0) {
        note_failure(arrange, rc);
        return;
    }
    arrange->epoch = epoch;
    epoch_use(epoch);
    arrange->phase = ARRANGE_COPYING;
    arrange->begun = counts_of(epoch);
    log_debug("host %s: arranging %zu message%s", host->config.name, index_count(epoch->index),
              index_count(epoch->index) == 1 ? "" : "s");
}

/*
 * Takes in the counters of an epoch. Returns the number of worn messages if a rebuild is due,
 * otherwise 0.
 */
static size_t due_count(const struct arrange *arrange, struct epoch *epoch)
{
    struct worth_counts counts = counts_of(epoch);

    worth_look(&epoch->worth, &counts);
    return epoch->walks == 0 && arrange->now_ms >= arrange->not_before_ms &&
                   worth_is_due(&epoch->worth, &counts)
               ? counts.worn
               : 0;
}

/*
 * The number of messages of an epoch that was loaded at the start and is not arranged yet. Returns
 * 0 for other epochs.
 */
static size_t loaded_count(const struct arrange *arrange, struct epoch *epoch)
{
    (void)arrange;
    return epoch->is_loaded ? index_count(epoch->index) : 0;
}

/*
 * Begins to rebuild the index of the epoch for which `count_of` returns the largest number. Returns
 * false if all numbers are 0.
 */
static bool begin_largest(struct arrange *arrange,
                          size_t (*count_of)(const struct arrange *, struct epoch *))
{
    const struct host *host = NULL;
    struct epoch *largest = NULL;
    size_t most = 0;

    for (size_t h = 0; h < arrange->host_count; h++) {
        for (size_t e = 0; e < arrange->hosts[h].epoch_count; e++) {
            struct epoch *epoch = arrange->hosts[h].epochs[e];
            size_t count = count_of(arrange, epoch);

            if (count > most) {
                host = &arrange->hosts[h];
                largest = epoch;
                most = count;
            }
        }
    }
    if (largest != NULL) {
        arrange_begin(arrange, host, largest);
    }
    return largest != NULL;
}

/* --- messages loaded at the start ------------------------------------------------------------- */

/*
 * Begins to rebuild the largest index that was loaded at the start and is not arranged yet. Logs a
 * line when no such index is left. Does nothing for FAILED_REST_MS after a failure.
 */
static void begin_loaded(struct arrange *arrange)
{
    if (!arrange->loaded || arrange->stopped || arrange->now_ms < arrange->not_before_ms) {
        return;
    }
    if (!begin_largest(arrange, loaded_count)) {
        arrange->loaded = false;
        log_info("all loaded messages are arranged for quick queries, after %" PRId64 " ms",
                 arrange->now_ms - arrange->loaded_ms);
    }
}

void arrange_loaded(struct arrange *arrange, const struct host *hosts, size_t host_count,
                    int64_t now_ms)
{
    if (arrange->worker == NULL) {
        return;
    }
    arrange->hosts = hosts;
    arrange->host_count = host_count;
    arrange->loaded_ms = now_ms;
    for (size_t h = 0; h < host_count; h++) {
        for (size_t e = 0; e < hosts[h].epoch_count; e++) {
            struct epoch *epoch = hosts[h].epochs[e];

            epoch->is_loaded = index_count(epoch->index) > 0;
            arrange->loaded |= epoch->is_loaded;
        }
    }
}

/* --- on the loop ------------------------------------------------------------------------------ */

/* Logs a rebuild with its reason. */
static void log_rebuild(const struct arrange *arrange)
{
    const struct worth_counts *begun = &arrange->begun;
    uint64_t excess = arrange->epoch->worth.excess;
    char reason[128];

    if (arrange->epoch->is_loaded) {
        (void)snprintf(reason, sizeof(reason), "the store was loaded at the start");
    } else if (begun->worn == begun->messages) {
        (void)snprintf(reason, sizeof(reason), "it was the first time");
    } else {
        (void)snprintf(reason, sizeof(reason),
                       "%zu had come or gone since the last time, and queries had compared %" PRIu64
                       " too many",
                       begun->worn, excess);
    }
    log_info("host %s: arranged %zu message%s for quick queries in %" PRId64 " ms, because %s",
             arrange->host->config.name, begun->messages, begun->messages == 1 ? "" : "s",
             arrange->figures.last_ms, reason);
}

static void arrange_finish(struct arrange *arrange)
{
    struct arrange_figures *figures = &arrange->figures;

    figures->done++;
    figures->last_ms = arrange->now_ms - arrange->begun_ms;
    struct worth_counts counts = counts_of(arrange->epoch);
    log_rebuild(arrange);
    worth_rebuilt(&arrange->epoch->worth, &arrange->begun, &counts);
    arrange->epoch->is_loaded = false;
    arrange_end(arrange);
}

bool arrange_is_active(const struct arrange *arrange)
{
    return arrange->phase != ARRANGE_IDLE || arrange->loaded;
}

bool arrange_turn(struct arrange *arrange, int64_t now_ms)
{
    int outcome;

    arrange->now_ms = now_ms;
    switch (arrange->phase) {
    case ARRANGE_IDLE:
        begin_loaded(arrange);
        return arrange->phase == ARRANGE_COPYING;
    case ARRANGE_COPYING:
        outcome = renewal_copy(arrange->renewal);
        if (outcome == RENEWAL_FULL) {
            arrange_submit(arrange, ARRANGE_TAKING, run_renewal, on_renewal);
            return false;
        }
        if (outcome == 0) {
            arrange_submit(arrange, ARRANGE_ARRANGING, run_renewal, on_renewal);
        }
        break;
    case ARRANGE_FOLLOWING:
        read_pool_pause(arrange->host->read_pool); /* at the end the indexes are exchanged */
        outcome = renewal_follow(arrange->renewal, FOLLOW_BUDGET);
        if (outcome == 0) {
            arrange_finish(arrange);
        }
        break;
    default:
        return false;
    }
    if (outcome != 0 && outcome != RENEWAL_MORE) {
        note_failure(arrange, outcome);
        arrange_end(arrange);
    }
    return outcome == RENEWAL_MORE;
}

void arrange_stop(struct arrange *arrange)
{
    arrange->stopped = true;
    arrange->loaded = false;
    atomic_store_explicit(&arrange->stop, true, memory_order_relaxed);
    if (arrange->phase == ARRANGE_COPYING || arrange->phase == ARRANGE_FOLLOWING) {
        arrange_end(arrange);
    }
}

bool arrange_tick(struct arrange *arrange, const struct host *hosts, size_t host_count,
                  int64_t now_ms)
{
    arrange->now_ms = now_ms;
    if (arrange->worker == NULL || arrange->stopped) {
        return false;
    }
    arrange->hosts = hosts;
    arrange->host_count = host_count;
    if (arrange->phase == ARRANGE_IDLE) {
        begin_loaded(arrange);
    }
    if (arrange->phase == ARRANGE_IDLE) {
        (void)begin_largest(arrange, due_count);
    }
    return arrange->phase == ARRANGE_COPYING || arrange->phase == ARRANGE_FOLLOWING;
}
