/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Similar: finds groups of near-duplicates for an administrator, in pieces of work that are short
 * enough for the loop. One request at a time is under way.
 *
 * Messages of different epochs have nothing in common, so the request goes through the epochs of
 * the host one after another. While it finds the groups of an epoch, the epoch's index is not
 * rebuilt, and while an index is rebuilt, the request waits.
 */
#include "daemon/handler/similar.h"

#include "core/index/similar.h"
#include "daemon/handler/job.h"
#include "daemon/system/container.h"
#include "daemon/system/read_pool.h"
#include "proto/codec/codec.h"

enum {
    GROUPS_MAX = 500,
    /* upper bound for a group in a frame: tags, lengths, two ids, four numbers */
    GROUP_BYTES = 2 * (LIMIT_ID_BYTES + 2) + 4 * 11 + 4,
    WORK = 1 << 15 /* units of similar_step in a piece of work: 0.03 to 0.3 ms */
};

struct similar_job {
    struct job base; /* first */
    uint32_t within_ppm;
    struct similar_list list;
    struct similar_group groups[GROUPS_MAX];
    uint64_t messages;       /* that were compared, of all epochs so far */
    uint64_t next;           /* the least number that the next epoch may have */
    bool is_last;            /* there is no epoch of such a number */
    struct epoch *epoch;     /* the job is its user; NULL: between two epochs */
    struct similar *similar; /* NULL: between two epochs. Counts as one of epoch->walks */
    uint32_t shifts;         /* host->shifts when the epoch began */
};

/* --- an epoch --------------------------------------------------------------------------------- */

static void end_epoch(struct similar_job *job)
{
    if (job->similar != NULL) {
        similar_free(job->similar);
        job->similar = NULL;
        job->epoch->walks--;
    }
    if (job->epoch != NULL) {
        epoch_leave(job->epoch);
        job->epoch = NULL;
    }
}

/* Finds the epoch with messages whose number is the least from job->next on. NULL: there is none.
 */
static struct epoch *find_epoch(const struct similar_job *job)
{
    const struct host *host = job->base.host;
    struct epoch *found = NULL;

    for (size_t e = 0; e < host->epoch_count; e++) {
        struct epoch *epoch = host->epochs[e];

        if (!epoch->is_over && epoch->number >= job->next && index_count(epoch->index) > 0 &&
            (found == NULL || epoch->number < found->number)) {
            found = epoch;
        }
    }
    return found;
}

/* Begins the next epoch; sets job->is_last if there is none. Returns 0 or -ERR_NOMEM. */
static int begin_epoch(struct similar_job *job)
{
    const struct host *host = job->base.host;

    job->epoch = find_epoch(job);
    if (job->epoch == NULL) {
        job->is_last = true;
        return 0;
    }
    epoch_use(job->epoch);
    job->next = job->epoch->number + 1;
    job->shifts = host->shifts;
    struct similar_options options = {
        .alloc = job->base.service->alloc,
        .index = job->epoch->index,
        .bits = host->config.profile.bits,
        .within_ppm = job->within_ppm,
        .seed = host->index_options.hash_seed,
    };
    int rc = similar_new(&options, &job->list, job->epoch->number, &job->similar);
    if (rc == 0) {
        job->epoch->walks++;
    }
    return rc;
}

/* --- pieces of work --------------------------------------------------------------------------- */

/* The times of messages have moved: begins with the first epoch again. */
static void begin_again(struct similar_job *job)
{
    end_epoch(job);
    job->next = 0;
    job->messages = 0;
    job->list.count = 0;
    job->list.total = 0;
}

/* Does one piece of work. Returns 0 or -ERR_NOMEM. */
static int work_on(struct similar_job *job)
{
    if (job->epoch == NULL) {
        return begin_epoch(job);
    }
    if (job->shifts != job->base.host->shifts) {
        begin_again(job);
        return 0;
    }
    int rc = similar_step(job->similar, WORK, service_now_ms(job->base.service));
    if (rc == 0) {
        job->messages += similar_messages(job->similar);
        end_epoch(job);
    }
    return rc == SIMILAR_MORE ? 0 : rc;
}

/* --- the request ------------------------------------------------------------------------------ */

static void deinit_similar(struct job *base)
{
    struct similar_job *job = CONTAINER_OF(base, struct similar_job, base);

    end_epoch(job);
    base->service->similar = NULL;
}

static void similar_answer(struct similar_job *job)
{
    struct hearsay_similar_group groups[GROUPS_MAX];
    size_t room = job->base.service->config.limits.frame_bytes - CODEC_ENVELOPE_BYTES_MAX;
    size_t fits = job->list.count < room / GROUP_BYTES ? job->list.count : room / GROUP_BYTES;
    struct hearsay_response response = {
        .id = job->base.request_id,
        .kind = HEARSAY_RESPONSE_SIMILAR_LIST,
        .similar_list = {.groups = groups,
                         .group_count = fits,
                         .total = job->list.total,
                         .messages = job->messages},
    };

    similar_list_sort(&job->list);
    for (size_t i = 0; i < fits; i++) {
        const struct similar_group *group = &job->list.groups[i];

        groups[i] = (struct hearsay_similar_group){
            .oldest = {group->oldest.id, MESSAGE_ID_BYTES},
            .oldest_ms = group->oldest.deposited_ms,
            .newest = {group->newest.id, MESSAGE_ID_BYTES},
            .newest_ms = group->newest.deposited_ms,
            .count = group->count,
            .epoch = group->source,
        };
    }
    job_finish(&job->base, &response);
}

bool handler_run_similar(struct service *service, uint64_t most_ns)
{
    struct similar_job *job = service->similar;
    int rc = 0;

    if (job == NULL) {
        return false;
    }
    if (job->base.client->is_gone) {
        job_end(&job->base);
        return false;
    }
    read_pool_pause(service->read_pool); /* messages of the index are marked */
    if (job->base.client->has_ended) {   /* as a rule it has closed the connection */
        job_fail(&job->base, HEARSAY_CODE_INVALID, NULL,
                 "the client ended its side of the connection, which ends this search");
        return false;
    }
    if (service->stopping) {
        job_fail(&job->base, HEARSAY_CODE_SHUTTING_DOWN, NULL, "the server is shutting down");
        return false;
    }
    if (job->epoch == NULL && arrange_is_active(&service->arrange)) {
        return false; /* a turn after the rebuild goes on */
    }
    uint64_t began_ns = service_monotonic_ns(service);
    do {
        rc = work_on(job);
    } while (rc == 0 && !job->is_last && service_monotonic_ns(service) - began_ns < most_ns &&
             (job->epoch != NULL || !arrange_is_active(&service->arrange)));
    if (rc != 0) {
        job_fail_memory(&job->base);
    } else if (job->is_last) {
        similar_answer(job);
    }
    return service->similar != NULL;
}

void handler_similar(struct ask *ask)
{
    const struct hearsay_similar *asked = &ask->request->similar;
    struct service *service = ask->service;

    if (!ask_host(ask, &asked->host)) {
        return;
    }
    if (service->similar != NULL) {
        ask_refuse(ask, HEARSAY_CODE_RATE_LIMITED, NULL,
                   "similar messages are being looked for; try again when it is done");
        return;
    }
    struct similar_job *job = job_new(ask, sizeof(*job), 0);
    if (job == NULL) {
        return;
    }
    service->similar = job;
    job->base.deinit = deinit_similar;
    job->within_ppm = asked->max_distance_ppm;
    job->list.groups = job->groups;
    job->list.limit = asked->limit == 0 || asked->limit > GROUPS_MAX ? GROUPS_MAX : asked->limit;
    job_charge(&job->base, sizeof(*job), service->config.limits.frame_bytes);
}
