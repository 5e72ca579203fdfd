/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Searches of queries, in steps of a bounded amount of work. A search that ends within its first
 * steps is answered at once. A longer one takes turns with the others: round robin by sender, one
 * search of a sender at a time, however many connections the sender has.
 */
#include "daemon/handler/query.h"

#include "daemon/handler/handler.h"
#include "daemon/system/list.h"

enum {
    /* The work of a step, in the unit of index_search_step: less than a millisecond without vector
     * instructions. */
    STEP_WORK = 16 * 1024,
    /* Steps that a new search may take before it queues, within a short time. */
    FIRST_STEPS = 4,
    FIRST_NS = 300 * 1000,
    /*
     * Each part of a search under way holds memory, and every deposit is compared with it. So the
     * parts under way are bounded: of searches with many parts, and, apart from them, of those with
     * few parts, which wide ones cannot keep waiting.
     */
    FEW_PARTS = 8,
    NARROW_PARTS_MAX = 128,
    WIDE_PARTS_MAX = 192
};

static bool step(struct query_job *job)
{
    return index_search_step(job->search, STEP_WORK, service_now_ms(job->base.service)) !=
           INDEX_MORE;
}

static bool is_wide(const struct query_job *job)
{
    return job->query.part_count > FEW_PARTS;
}

/* Whether a search may get under way, by the parts that are and by what its sender has. */
static bool may_begin(const struct service *service, const struct query_job *job)
{
    const uint32_t most = is_wide(job) ? WIDE_PARTS_MAX : NARROW_PARTS_MAX;
    const uint64_t *turn = requester_turn(job->base.client);
    uint32_t parts = job->query.part_count;
    const struct query_job *other;

    DL_FOREACH (service->searches, other) {
        if (requester_turn(other->base.client) == turn) {
            return false;
        }
        parts += is_wide(other) == is_wide(job) ? other->query.part_count : 0;
    }
    return parts <= most;
}

/* Puts a job at the end of a list of the service; its client has a search to wait for then. */
static void enlist(struct query_job *job, struct query_job **list)
{
    query_charge(job);
    job->base.client->searches++;
    DL_APPEND(*list, job);
}

/* Takes a job off its list. False: its client is gone, and the job is over. */
static bool delist(struct query_job *job, struct query_job **list)
{
    DL_DELETE(*list, job);
    job->base.client->searches--;
    if (!job->base.client->is_gone) {
        return true;
    }
    job_end(&job->base);
    return false;
}

/* Makes the search anew: an epoch's index may be another one than at the last attempt. */
static bool begin(struct query_job *job)
{
    index_search_free(job->search);
    job->search = NULL;
    for (uint32_t p = 0; p < job->query.part_count; p++) {
        job->parts[p].index = job->epochs[p]->index;
    }
    if (index_search_new(job->base.service->alloc, &job->query, &job->search) != 0) {
        job_fail_memory(&job->base);
        return false;
    }
    return true;
}

void query_search(struct query_job *job)
{
    struct service *service = job->base.service;
    const uint64_t until_ns = service_monotonic_ns(service) + FIRST_NS;
    bool is_over = false;

    job->attempts++; /* when_found may search again */
    if (!begin(job)) {
        return;
    }
    for (int i = 0; i < FIRST_STEPS && !is_over; i++) {
        if (i > 0 && service_monotonic_ns(service) >= until_ns) {
            break;
        }
        is_over = step(job);
    }
    if (is_over) {
        job->when_found(job);
    } else if (may_begin(service, job)) {
        enlist(job, &service->searches);
    } else {
        index_search_free(job->search);
        job->search = NULL;
        enlist(job, &service->waiting);
    }
}

/* Of a list, the job whose sender has waited for a turn the longest; the first of several. */
static struct query_job *next_job(struct query_job *list, const struct service *may_begin_in)
{
    struct query_job *best = NULL;
    struct query_job *job;

    DL_FOREACH (list, job) {
        if ((best == NULL ||
             *requester_turn(job->base.client) < *requester_turn(best->base.client)) &&
            (may_begin_in == NULL || may_begin(may_begin_in, job))) {
            best = job;
        }
    }
    return best;
}

/* Lets searches that wait get under way, as many as may. Called whenever one ends: as the first of
 * them always may, some search is under way while any waits. O(waiting * under way) */
static void begin_waiting(struct service *service)
{
    struct query_job *job = next_job(service->waiting, service);

    while (job != NULL) {
        if (delist(job, &service->waiting) && begin(job)) {
            enlist(job, &service->searches);
        }
        job = next_job(service->waiting, service);
    }
}

bool handler_run_searches(struct service *service, uint64_t budget, uint64_t until_ns)
{
    while (service->searches != NULL && budget >= STEP_WORK) {
        struct query_job *job = next_job(service->searches, NULL);

        budget -= STEP_WORK;
        *requester_turn(job->base.client) = ++service->turns;
        if (job->base.client->is_gone) {
            (void)delist(job, &service->searches);
            begin_waiting(service);
        } else if (step(job)) {
            (void)delist(job, &service->searches);
            job->when_found(job);
            begin_waiting(service);
        }
        if (service_monotonic_ns(service) >= until_ns) {
            break;
        }
    }
    return service->searches != NULL || service->waiting != NULL;
}

static size_t count_jobs(const struct query_job *list)
{
    const struct query_job *job;
    size_t count = 0;

    DL_COUNT(list, job, count);
    return count;
}

size_t handler_searches_under_way(const struct service *service)
{
    return count_jobs(service->searches);
}

size_t handler_searches_waiting(const struct service *service)
{
    return count_jobs(service->waiting);
}
