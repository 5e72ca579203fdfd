/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/own/inner.h"

#include <stdlib.h>

#include "core/base/err.h"
#include "proto/codec/letter.h"

enum { ROOM_SAID_MS = 3600 * 1000 }; /* from one line about a decision without room to the next */

/* The changes are kept as the letter of a page. */
struct apply_job {
    struct apply_job *next;
    struct bytes letter;
    enum hearsay_apply_as as;
    bool restored;
    apply_done *done;
    void *context;
    size_t count; /* of all changes */
    size_t begin; /* what is before it is settled */
    size_t span;  /* of the request that is made next, or is under way */
};

static void free_job(struct apply_job *job)
{
    bytes_deinit(&job->letter);
    free(job);
}

static int submit_job(struct apply *apply, const struct apply_job *job, struct arena *arena)
{
    struct msg_letter letter;
    struct msg_error error;
    struct hearsay_error refusal;

    if (letter_decode(job->letter.data, job->letter.count, arena, &letter, &error) != 0) {
        return HEARSAY_ERR_NOMEM; /* the letter is our own */
    }
    struct hearsay_request request = {.kind = HEARSAY_REQUEST_APPLY,
                                      .apply = {.host = hearsay_text(apply->host),
                                                .changes = letter.page.changes + job->begin,
                                                .change_count = job->span,
                                                .as = job->as,
                                                .restored = job->restored}};
    return hearsay_submit(link_server(apply->link), &request, &apply->ticket, &refusal);
}

static void end_job(struct apply *apply, bool is_applied, const char *why)
{
    struct apply_job *job = apply->first;

    apply->first = job->next;
    apply->count--;
    if (job->done != NULL) {
        job->done(job->context, is_applied, why);
    }
    free_job(job);
}

static void fail_job(struct apply *apply, const char *why)
{
    apply->refused++;
    log_warning("host %s: hearsayd does not take what the hub says: %s", apply->host, why);
    end_job(apply, false, why);
}

/* The changes of the request are too many for one frame, or one of them is not taken. */
static void split_job(struct apply *apply, struct apply_job *job, const char *why)
{
    uint64_t withheld;

    if (job->span > 1) {
        job->span /= 2;
        return;
    }
    job->begin++;
    apply->refused++;
    if (log_gate_opens(&apply->gate, (int64_t)(uv_hrtime() / 1000000), &withheld)) {
        log_warning("host %s: a change of the hub is left out, as hearsayd does not take it: %s",
                    apply->host, why);
    }
}

/* The next request of the first job; false: no request is made, and another look is needed. */
static bool send_part(struct apply *apply)
{
    struct apply_job *job = apply->first;
    struct arena arena;

    arena_init(&arena, alloc_system(), CODEC_RESPONSE_ARENA_BYTES + 2 * job->letter.count);
    int rc = submit_job(apply, job, &arena);
    arena_deinit(&arena);
    if (rc == HEARSAY_OK) {
        link_submitted(apply->link);
        return true;
    }
    apply->ticket = 0;
    if (rc == HEARSAY_ERR_ARGUMENT && job->span > 0) {
        split_job(apply, job, "it is larger than the frame that hearsayd takes");
        if (job->begin == job->count) {
            end_job(apply, true, "");
        }
    } else {
        fail_job(apply, "a request could not be made");
    }
    return false;
}

static void send_next(struct apply *apply)
{
    while (apply->link != NULL && apply->ticket == 0 && apply->first != NULL) {
        if (send_part(apply)) {
            return;
        }
    }
}

int apply_push(struct apply *apply, const struct hearsay_change *changes, size_t count,
               enum hearsay_apply_as as, bool restored, apply_done *done, void *context)
{
    struct msg_letter letter = {.kind = MSG_LETTER_PAGE,
                                .page = {.changes = changes, .change_count = count}};
    struct apply_job *job;

    if (apply->count == APPLY_JOBS_MAX) {
        return APPLY_FULL;
    }
    job = calloc(1, sizeof(*job));
    if (job == NULL) {
        return -ERR_NOMEM;
    }
    bytes_init(&job->letter, alloc_system());
    if (letter_encode(&letter, &job->letter) != 0) {
        free_job(job);
        return -ERR_NOMEM;
    }
    job->as = as;
    job->restored = restored;
    job->done = done;
    job->context = context;
    job->count = count;
    job->span = count;
    if (apply->first == NULL) {
        apply->first = job;
    } else {
        apply->last->next = job;
    }
    apply->last = job;
    apply->count++;
    send_next(apply);
    return 0;
}

void apply_greeted(struct apply *apply, struct link *link)
{
    apply->link = link;
    apply->ticket = 0;
    send_next(apply);
}

void apply_lost(struct apply *apply)
{
    apply->link = NULL;
    apply->ticket = 0;
}

/* What an operator decided at a copy waits there, and comes again with each head of the host. */
static void count_no_room(struct apply *apply, const struct apply_job *job, uint32_t count)
{
    uint64_t now_ms = uv_hrtime() / 1000000;

    if (job->as != HEARSAY_AS_OPERATOR) {
        apply->no_room += count;
    } else if (count > 0 && now_ms >= apply->room_said_ms) {
        apply->room_said_ms = now_ms + ROOM_SAID_MS;
        log_warning("host %s: a notice or a ban of an operator at a copy waits there until another "
                    "one is lifted: the host has as many as it may have",
                    apply->host);
    }
}

bool apply_take_reply(struct apply *apply, const struct hearsay_reply *reply)
{
    struct apply_job *job = apply->first;

    if (apply->ticket == 0 || reply->response.id != apply->ticket || job == NULL) {
        return false;
    }
    apply->ticket = 0;
    if (reply->response.kind == HEARSAY_RESPONSE_APPLIED) {
        count_no_room(apply, job, reply->response.applied.no_room);
        job->begin += job->span;
        job->span *= 2;
        job->span = job->span < job->count - job->begin ? job->span : job->count - job->begin;
    } else if (job->span > 0 && feed_is_about_change(&reply->error)) {
        split_job(apply, job, reply->error.sentence);
    } else {
        fail_job(apply, reply->error.sentence);
        send_next(apply);
        return true;
    }
    if (job->begin == job->count) {
        end_job(apply, true, "");
    }
    send_next(apply);
    return true;
}

void apply_clear(struct apply *apply)
{
    while (apply->first != NULL) {
        struct apply_job *next = apply->first->next;

        free_job(apply->first);
        apply->first = next;
    }
    apply->count = 0;
    apply->ticket = 0;
}
