/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs searches in steps of bounded work. A search that ends within its first steps takes no turns.
 * Longer searches take turns, round robin by sender; every second step is for those that have had
 * few steps yet. Of all connections of a sender, one search at
 * a time takes turns, and the other long searches wait to begin.
 *
 * While queries come faster than the loop answers them, threads of the read_pool do the first steps
 * of most of them.
 */
#include "core/base/expiry.h"
#include "daemon/handler/handler.h"
#include "daemon/handler/query.h"
#include "daemon/system/container.h"
#include "daemon/system/list.h"
#include "proto/codec/codec.h"

enum {
    /* The work of a step, in units of index_search_step. */
    STEP_WORK = 4 * 1024,
    /*
     * A new search runs at most FIRST_STEPS steps at once. After the first step it begins no step
     * when FIRST_NS nanoseconds have passed. A search that is not over then takes turns or waits to
     * begin.
     */
    FIRST_STEPS = 16,
    FIRST_NS = 300 * 1000,
    /*
     * A search that takes turns is young for so many steps. Every second step is for young
     * searches, if there are any. So a query that nearly ends within its first steps does not wait
     * until each of many long searches has had a step.
     */
    YOUNG_STEPS = 16,
    /*
     * A query has one part or several, and each part of a search that takes turns holds memory. So
     * the number of these parts is bounded. Searches with more than FEW_PARTS parts (wide) and
     * other searches (narrow) have a bound each: wide searches cannot keep narrow searches from
     * beginning.
     */
    FEW_PARTS = 8,
    NARROW_PARTS_MAX = 128,
    WIDE_PARTS_MAX = 192
};

/* Upper bound of the output bytes of the answer. */
static size_t answer_bytes_max(const struct query_job *job)
{
    size_t frame_bytes = job->base.service->config.limits.frame_bytes;
    size_t result =
        (size_t)CODEC_RESULT_BARE_BYTES_MAX +
        (job->asked.scope == HEARSAY_SCOPE_HOOD ? LIMIT_HOST_BYTES : 0) +
        (job->base.client->is_bridge || job->base.client->is_gateway ? LIMIT_FILTER_BYTES : 0);
    size_t bare = CODEC_ENVELOPE_BYTES_MAX + job->query.k * result;

    bare += job->base.host->rules.notice_count * CODEC_NOTICE_BYTES_MAX;
    return job->asked.with_payload || bare > frame_bytes ? frame_bytes : bare;
}

void query_charge(struct query_job *job)
{
    size_t bytes = sizeof(*job) +
                   query_filter_words(job, job->query.part_count) * sizeof(uint64_t) +
                   job->query.k * sizeof(struct nearest_candidate) + job->exclude_bytes +
                   job->query.exclude_count * sizeof(*job->exclude);

    if (job->base.is_charged) {
        return;
    }
    if (job->until_ms > 0) { /* what a bridge may answer */
        bytes += job->base.service->config.limits.frame_bytes;
    }
    if (job->asked.with_payload) {
        bytes += 2 * (size_t)job->base.service->config.limits.frame_bytes +
                 job->query.k * sizeof(struct persist_entry);
    }
    job_charge(&job->base, bytes, answer_bytes_max(job));
}

static bool search_step(struct query_job *job)
{
    job->steps++;
    return index_search_step(job->search, STEP_WORK, service_now_ms(job->base.service)) !=
           INDEX_MORE;
}

static bool is_wide(const struct query_job *job)
{
    return job->query.part_count > FEW_PARTS;
}

static uint64_t *turn_of(const struct query_job *job)
{
    return requester_turn(job->base.client, job->base.sender);
}

/*
 * Whether a search may begin to take turns: no other search of its sender does, and the number of
 * parts stays within the bound for wide or for narrow searches.
 */
static bool may_begin(const struct service *service, const struct query_job *job)
{
    uint32_t most = is_wide(job) ? WIDE_PARTS_MAX : NARROW_PARTS_MAX;
    const uint64_t *turn = turn_of(job);
    uint32_t parts = job->query.part_count;
    const struct query_job *other;

    DL_FOREACH (service->searches, other) {
        if (turn_of(other) == turn) {
            return false;
        }
        parts += is_wide(other) == is_wide(job) ? other->query.part_count : 0;
    }
    return parts <= most;
}

/*
 * Charges the client (query_charge), appends the job to a list of the service, and adds one to the
 * searches of the client.
 */
static void search_enlist(struct query_job *job, struct query_job **list)
{
    query_charge(job);
    job->base.client->searches++;
    DL_APPEND(*list, job);
}

/*
 * Removes a job from its list. If the client has disconnected, also ends the job (job_end, which
 * frees it) and returns false. The caller must not use the job then.
 */
static bool search_delist(struct query_job *job, struct query_job **list)
{
    DL_DELETE(*list, job);
    job->base.client->searches--;
    if (!job->base.client->is_gone) {
        return true;
    }
    job_end(&job->base);
    return false;
}

/*
 * Makes a search over the indexes of the query's epochs. Returns false if memory is short; the job
 * has ended then.
 */
static bool search_begin(struct query_job *job)
{
    index_search_free(job->search);
    job->search = NULL;
    for (uint32_t p = 0; p < job->query.part_count; p++) {
        job->parts[p].index = job->places[p].epoch->index;
    }
    if (index_search_new(&job->base.service->cursors.alloc, &job->query, &job->search) != 0) {
        job_fail_memory(&job->base);
        return false;
    }
    return true;
}

/* After the first steps: answers, or lets the search take turns. */
static void search_settle(struct query_job *job, bool is_over)
{
    struct service *service = job->base.service;

    if (is_over) {
        job->when_found(job);
    } else if (may_begin(service, job)) {
        job->steps = 0;
        search_enlist(job, &service->searches);
    } else {
        index_search_free(job->search);
        job->search = NULL;
        search_enlist(job, &service->waiting);
    }
}

/* A piece of a search, on a thread of the read_pool. */
static bool run_task(struct read_task *task)
{
    struct query_job *job = CONTAINER_OF(task, struct query_job, task);
    uint64_t began_ns = service_monotonic_ns(job->base.service);
    bool is_over = index_search_walk(job->search, STEP_WORK);

    job->task_steps++;
    job->task_ns += service_monotonic_ns(job->base.service) - began_ns;
    return is_over || job->task_steps == FIRST_STEPS || job->task_ns >= FIRST_NS;
}

/*
 * Gives the search to the read_pool, which does the rest of its first steps. Returns false if the
 * loop has to do them: there is no pool, its threads have enough to do, the search holds much
 * memory, or no other search was seen in this turn. A search that is alone would end later there,
 * because a thread, and then the loop, would have to wake for it.
 */
static bool search_elsewhere(struct query_job *job)
{
    struct service *service = job->base.service;
    bool is_alone = !service->has_searched && service->searching_elsewhere == 0;

    service->has_searched = true;
    if (is_alone || is_wide(job) || !read_pool_has_room(service->read_pool)) {
        return false;
    }
    service->searching_elsewhere++;
    query_charge(job);
    job->task = (struct read_task){.run = run_task};
    job->task_steps = 1;
    job->task_ns = 0;
    read_pool_put(service->read_pool, &job->task);
    return true;
}

/* Ends the searches that come back from the read_pool, or lets them take turns. */
static void search_settle_tasks(struct service *service)
{
    struct read_task *task = read_pool_take(service->read_pool);

    while (task != NULL) {
        struct query_job *job = CONTAINER_OF(task, struct query_job, task);
        struct requester *client = job->base.client;

        task = task->next;
        service->searching_elsewhere--;
        if (client->is_gone) {
            job_end(&job->base);
            continue;
        }
        client->events->spent(client, job->task_ns);
        search_settle(job, search_step(job));
    }
}

/* --- answers to a message --------------------------------------------------------------------- */

/* Lists the first k answers that can be read. False: out of memory. */
static bool list_answers(struct query_job *job)
{
    const struct host *host = job->places[0].host;
    const struct answered *answered = answers_of(&host->answers, job->parent);
    int64_t now_ms = service_now_ms(job->base.service);
    const struct answer *answer = answered != NULL ? answered->first : NULL;

    if (job->listed == NULL) {
        job->listed = alloc_array(job->base.service->alloc, job->query.k, sizeof(*job->listed));
    }
    job->listed_count = 0;
    for (; job->listed != NULL && answer != NULL && job->listed_count < job->query.k;
         answer = answer->next) {
        struct nearest_candidate *next = &job->listed[job->listed_count];

        *next = (struct nearest_candidate){.similarity = {1, 1}, .rank = {1, 1}};
        if (host_find(host, answer->item.id, NULL, &next->item, NULL) == 0 &&
            !message_expired(next->item.expires_ms, now_ms) &&
            next->item.deposited_ms >= job->query.since_ms &&
            next->item.deposited_ms < job->query.until_ms) {
            job->listed_count++;
        }
    }
    return job->listed != NULL;
}

const struct nearest_candidate *query_found(struct query_job *job, uint32_t *out_count)
{
    if (!job->is_list) {
        return index_search_results(job->search, out_count);
    }
    *out_count = job->listed_count;
    return job->listed;
}

/* --- searches that begin ---------------------------------------------------------------------- */

void query_search(struct query_job *job)
{
    struct service *service = job->base.service;
    uint64_t until_ns = service_monotonic_ns(service) + FIRST_NS;
    bool is_over = false;

    job->attempts++; /* when_found may search again */
    if (job->is_list) {
        if (list_answers(job)) {
            job->when_found(job);
        } else {
            job_fail_memory(&job->base);
        }
        return;
    }
    if (!search_begin(job)) {
        return;
    }
    for (int i = 0; i < FIRST_STEPS && !is_over; i++) {
        if (i > 0 && service_monotonic_ns(service) >= until_ns) {
            break;
        }
        is_over = search_step(job);
        if (i == 0 && !is_over && search_elsewhere(job)) {
            return;
        }
    }
    search_settle(job, is_over);
}

/*
 * Returns the job of `list` whose sender has waited longest since its last turn; of several jobs of
 * this sender, the first one in the list. With `may_begin_in` only jobs that may begin are looked
 * at. Only jobs with fewer than `steps` steps are looked at. NULL: there is no such job.
 */
static struct query_job *next_job(struct query_job *list, const struct service *may_begin_in,
                                  uint64_t steps)
{
    struct query_job *best = NULL;
    struct query_job *job;

    DL_FOREACH (list, job) {
        if (job->steps < steps && (best == NULL || *turn_of(job) < *turn_of(best)) &&
            (may_begin_in == NULL || may_begin(may_begin_in, job))) {
            best = job;
        }
    }
    return best;
}

/*
 * Begins waiting searches until no more may begin. Called when a search no longer takes turns. If
 * no search takes turns, each waiting search may begin. O(waiting * running) for each search that
 * begins
 */
static void begin_waiting(struct service *service)
{
    struct query_job *job = next_job(service->waiting, service, UINT64_MAX);

    while (job != NULL) {
        if (search_delist(job, &service->waiting) && search_begin(job)) {
            job->steps = 0;
            search_enlist(job, &service->searches);
        }
        job = next_job(service->waiting, service, UINT64_MAX);
    }
}

bool handler_run_searches(struct service *service, uint64_t budget, uint64_t most_ns)
{
    read_pool_resume(service->read_pool);
    search_settle_tasks(service);
    service->has_searched = false;
    uint64_t began_ns = service->searches == NULL ? 0 : service_monotonic_ns(service);
    while (service->searches != NULL && budget >= STEP_WORK) {
        bool is_for_young = service->search_steps++ % 2 == 0;
        struct query_job *job =
            is_for_young ? next_job(service->searches, NULL, YOUNG_STEPS) : NULL;

        if (job == NULL) {
            job = next_job(service->searches, NULL, UINT64_MAX);
        }
        budget -= STEP_WORK;
        service_take_turn(service, turn_of(job));
        if (job->base.client->is_gone) {
            (void)search_delist(job, &service->searches);
            begin_waiting(service);
        } else if (search_step(job)) {
            (void)search_delist(job, &service->searches);
            job->when_found(job);
            begin_waiting(service);
        }
        if (service_monotonic_ns(service) - began_ns >= most_ns) {
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
